#!/usr/bin/env bats
# Many dead waiters at the front of the queue, as when a host dies: the living
# ones behind them are found, and run in order.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_queue_test; }
teardown() {
	end_monitor
	end_test
}

# A server that still has the connection of a dead waiter gives it the ring.
are_disconnected() {
	local pid names
	names=" $(cli client list | grep -o 'name=[^ ]*' | tr '\n' ' ')"
	[[ $names == *' name=rlockrun:'* ]] || return 1
	for pid in "${DEAD[@]}"; do
		[[ $names != *" name=rlockrun:$pid "* ]] || return 1
	done
}

@test "a head that comes leaves all others asleep" {
	holds A
	for n in B C D E; do
		enqueue "$n"
	done
	monitor
	touch go.A
	wait_for_file B.started
	catch_up
	[[ $(grep -c 'lua\] "RPUSH"' "$MONITOR") == 1 ]]
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A B C D E" && -z $(keys_left) ]]
}

@test "ten waiters at the front are killed: the living start, in order" {
	local n
	holds A
	for n in {1..10}; do
		start "$RLOCKRUN" -k "$KEY" touch ran
	done
	wait_until are_queued 10
	DEAD=("${STARTED[@]:1}")
	for n in B C D; do
		enqueue "$n"
	done
	kill -KILL "${DEAD[@]}"
	wait_until are_disconnected
	touch go.A
	exits_with 0 "${STARTED[0]}"
	wait_for_file B.started
	touch go
	for n in 11 12 13; do
		exits_with 0 "${STARTED[n]}"
	done
	[[ $(paste -sd ' ' order) == "A B C D" && ! -e ran && ! -e overlaps ]]
	only_bells_left
}

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

# enqueue_dead COUNT: waiters that are to be killed, until they are in the queue.
enqueue_dead() {
	local n before
	before=${#STARTED[@]}
	for ((n = 0; n < $1; n++)); do
		start "$RLOCKRUN" -k "$KEY" touch ran
	done
	WAIT_SECONDS=60 wait_until are_queued "$1"
	DEAD=("${STARTED[@]:before}")
}

# A server that still has the connection of a dead waiter gives it the ring.
kill_dead() {
	kill -KILL "${DEAD[@]}"
	wait_until are_disconnected
}

are_disconnected() {
	local pid names
	names=" $(cli client list | grep -o 'name=[^ ]*' | tr '\n' ' ')"
	[[ $names == *' name=rlockrun:'* ]] || return 1
	for pid in "${DEAD[@]}"; do
		[[ $names != *" name=rlockrun:$pid "* ]] || return 1
	done
}

# All that were started but the dead end well.
living_end_well() {
	local pid
	for pid in "${STARTED[@]}"; do
		[[ " ${DEAD[*]:-} " == *" $pid "* ]] || exits_with 0 "$pid"
	done
}

# living_run_in_order NAMES: from the end of A on, whose pid is a. The dead have
# run nothing.
living_run_in_order() {
	touch go.A
	exits_with 0 "$a"
	wait_for_file B.started
	touch go
	living_end_well
	[[ $(paste -sd ' ' order) == "$1" && ! -e ran && ! -e overlaps ]]
	only_bells_left
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

# A server that cannot reply to the first of two writes does not read the other.
# bats test_tags=native
@test "the head and those behind it are notified in one write" {
	need_strace
	not_over tls
	start strace -f -qq -s 9000 -o trace -e trace=sendto "$RLOCKRUN" -k "$KEY" sh ./turn A
	wait_for_file A.started
	for n in B C D; do
		enqueue "$n"
	done
	touch go
	all_end_well
	[[ $(grep -c ':rlk:m:any' trace) == 1 ]]
	[[ $(grep ':rlk:m:any' trace | grep -o '"EVAL\|EVAL\\r' | wc -l) == 2 ]]
}

@test "ten waiters at the front are killed: the living start, in order" {
	holds A
	a=$PID
	enqueue_dead 10
	for n in B C D; do
		enqueue "$n"
	done
	kill_dead
	living_run_in_order "A B C D"
}

# bats test_tags=night
@test "120 waiters at the front are killed: the living start, in order" {
	holds A
	a=$PID
	enqueue_dead 120
	for n in B C D E; do
		enqueue "$n"
	done
	kill_dead
	living_run_in_order "A B C D E"
}

# bats test_tags=night
@test "the living between dead waiters run in the order in which they came" {
	holds A
	a=$PID
	enqueue_dead 5
	killed=("${DEAD[@]}")
	enqueue B
	for n in {1..5}; do
		start "$RLOCKRUN" -k "$KEY" touch ran
		wait_until is_queued "$PID"
		killed+=("$PID")
	done
	for n in C D E; do
		enqueue "$n"
	done
	DEAD=("${killed[@]}")
	kill_dead
	living_run_in_order "A B C D E"
}


#!/usr/bin/env bats
# Readers, writers and permits in the queue: in which order they start, what they
# report, and what that costs.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue
load ../helpers/kinds

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_kinds_test; }
teardown() {
	end_monitor
	end_test
}

# --- order ------------------------------------------------------------------------

rung_are() {
	catch_up
	[[ $(grep -c 'lua\] "RPUSH"' "$MONITOR") == "$1" ]]
}

@test "12 readers behind a writer start together, and are woken in one burst" {
	own_server
	holds W
	for n in {1..12}; do
		start "$RLOCKRUN" -k "$KEY" -s -- sh ./turn "R$n"
	done
	wait_until are_queued 12
	# No heartbeat is to find the lock free, and nobody counts as rung.
	kill -STOP "${STARTED[@]:1}"
	outlive_all "${STARTED[@]:1}"
	monitor
	touch go.W
	exits_with 0 "${STARTED[0]}"
	first=$(cli zrange "$Q" 0 0)
	first=${first#s:*:}
	kill -CONT "${first%%@*}"
	wait_until rung_are 12
	kill -CONT "${STARTED[@]:1}"
	wait_until eval '(($(ls | grep -c "^R.*started") == 12))'
	catch_up
	# None waits for another's end: all are in their turn now.
	[[ $(grep -c '^-' log) == 1 ]]
	members 12
	rung_are 12
	# The first by the writer, all others in one command of the first.
	[[ $(grep '"EVAL\(SHA\)\?"' "$MONITOR" | grep -c ' "[0-9]*" "'"$Q"'" "'"$L"'" ') == 2 ]]
	touch go
	all_end_well
	[[ -z $(keys_left) ]]
}

# bats test_tags=smoke
@test "permits: all that fit are woken together" {
	holds W
	for n in {1..5}; do
		enqueue "P$n" -p 3
	done
	monitor
	touch go.W
	wait_until has_started P1 P2 P3
	catch_up
	members 3
	are_queued 2
	touch go.P2
	wait_for_file P4.started
	[[ ! -e P5.started ]]
	touch go
	all_end_well
	[[ $(together log) != *together* && $(together log) == *"P 3"* && -z $(keys_left) ]]
}

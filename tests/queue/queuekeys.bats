#!/usr/bin/env bats
# Keys beside a lock that hold something else, or garbage: they are replaced or
# passed over, and exclusion and order are as ever.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_queue_test; }
teardown() { end_test; }

@test "a queue that becomes a list while they wait: they come back to their places" {
	holds A
	enqueue B
	enqueue C
	cli eval 'redis.call("DEL", KEYS[1], KEYS[2]) redis.call("RPUSH", KEYS[1], "x")' 2 "$Q" "$L"
	wait_until is_queued "${STARTED[2]}"
	wait_until is_queued "${STARTED[1]}"
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A B C" && ! -e overlaps && -z $(keys_left) ]]
}

# --- garbage in line ------------------------------------------------------------

@test "a member that rlockrun names to the next holder is no way into its keys" {
	start "$RLOCKRUN" -k "$KEY" -- sh ./turn A
	wait_for_file order
	now=$(cli --raw time | head -n 1)
	evil="x:}victim{aaaaaaaaaaaaaaaaaaaaaaaaaaaa:1@h"
	cli zadd "$Q" 1 "$evil"
	cli zadd "$L" $((now * 1000 + 19000)) "$evil"
	touch go
	exits_with 0 "$PID"
	[[ -z $(cli --raw keys '*victim') ]]
	cli del "$Q" "$L"
	cli --raw keys "*$KEY*" | grep ':m:' >bells || true
	while read -r bell; do cli del "$bell"; done <bells
}

#!/usr/bin/env bats
# Keys beside a lock that hold something else, or garbage: they are replaced or
# passed over, and exclusion and order are as ever.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	I="{$KEY}:rlk:i"
}
teardown() { end_test; }

# come_in_order: a holder, three who wait and one who does not; nothing is said but
# that they wait.
come_in_order() {
	local n
	rm -f order go* ./*.started
	STARTED=()
	holds A
	run -75 rl -n touch ran
	[[ $output == *"\"$KEY\" is held by "* ]]
	for n in 1 2 3; do
		enqueue "$n"
	done
	touch go
	all_end_well
	run -1 grep -v '; waiting\|: acquired after' err.*
	[[ $(paste -sd ' ' order) == "A 1 2 3" && ! -e overlaps && ! -e ran && -z $(keys_left) ]]
}

@test "a queue of another type is replaced" {
	local key damage
	for key in "$Q" "$L"; do
		for damage in 'set %s x' 'rpush %s x' 'hset %s x y'; do
			# shellcheck disable=SC2059,SC2046 # several words
			cli $(printf "$damage" "$key") >/dev/null
			come_in_order
		done
	done
}

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

@test "without doorbells that can be rung waiters poll" {
	start "$RLOCKRUN" -k "$KEY" -- sh ./turn A
	wait_for_file order
	start "$RLOCKRUN" -k "$KEY" -- sh ./turn B
	wait_until are_queued 1
	member=$(cli --raw zrange "$Q" 0 0)
	member=${member#x:}
	cli set "{$KEY}:rlk:m:${member%%:*}" garbage
	wait_until grep -q "the queue cannot be used: error from .*: WRONGTYPE " err.2
	start "$RLOCKRUN" -k "$KEY" -- sh ./turn C
	wait_until are_queued 2
	touch go
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ $(paste -sd ' ' order) == "A B C" && ! -e overlaps && -z $(keys_left) ]]
}

# --- garbage in line ------------------------------------------------------------

@test "a head whose name is too long for a reply counts as dead" {
	now=$(cli --raw time | head -n 1)
	for size in 1024 100000; do
		garbage=$(printf "%0${size}d" 0)
		cli zadd "$Q" 1 "$garbage"
		cli zadd "$L" "$((now * 1000 + 19000))" "$garbage"
		run -0 rl -n true
		[[ -z $output && -z $(keys_left) ]]
	done
}

@test "a head that is alive for too long counts as dead" {
	for score in 99999999999999 1e300 +inf -inf 0 -1; do
		cli zadd "$Q" -inf garbage
		cli zadd "$L" "$score" garbage
		run -0 rl -n true
	done
	cli zadd "$Q" 1 garbage
	run -0 rl -n true
	[[ -z $(keys_left) ]]
}

# Not so many that a busy server is silent for longer than a run awaits a reply: then a
# try that it gave up may be granted after its end, for a ttl.
@test "a queue with 10,000 names that are none is cleared" {
	cli eval 'for i = 1, 10000 do redis.call("ZADD", KEYS[1], i, i) end' 1 "$Q"
	run -0 rl -n true
	[[ -z $output && -z $(keys_left) ]]
}

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

# --- garbage about the holder ---------------------------------------------------

@test "a record of another type, or of none, is a foreign holder" {
	for type in 'set x' 'rpush x' 'zadd 1 x'; do
		cli set "$KEY" token PX 60000
		read -r command value <<<"$type"
		# shellcheck disable=SC2086 # several words
		cli "$command" "$I" $value
		run -75 rl -n true
		[[ $output == "rlockrun: \"$KEY\" is held by another client (not a rlockrun); command not started" ]]
		cli del "$KEY"
		run -0 rl -n true
		[[ -z $output && -z $(keys_left) ]]
	done
}

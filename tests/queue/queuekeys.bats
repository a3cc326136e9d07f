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

# has_left: nothing in the queue says that somebody waits.
has_left() { [[ $(cli exists "$Q" "$L") == 0 ]]; }

# enqueued [OPTION...]: a rlockrun that waits behind another client.
enqueued() {
	cli set "$KEY" other
	start "$RLOCKRUN" -k "$KEY" "$@" touch ran
	wait_until grep -q '; waiting' "$ERR"
	[[ $(cli zcard "$Q") == 1 && $(cli zcard "$L") == 1 ]]
}

@test "a waiter that an error ends for good leaves the queue" {
	for option in -x --shared --once-per=1h; do
		enqueued "$option"
		cli hset "{$KEY}hash" a b
		cli rename "{$KEY}hash" "$KEY"
		exits_with 76 "$PID"
		has_left
		[[ ! -e ran && $(cli hget "$KEY" a) == b ]]
		cli del "$KEY"
	done
}

@test "a waiter that is refused leaves the queue" {
	not_over cluster
	cli acl setuser "$KEY" on '>secret' '~*' +@all
	enqueued --user "$KEY" --password-file <(echo secret)
	cli acl setuser "$KEY" -set
	cli del "$KEY"
	exits_with 77 "$PID"
	has_left
	[[ ! -e ran ]]
	cli acl deluser "$KEY"
}

@test "a waiter that goes on without the queue leaves it" {
	not_over cluster
	for rule in -zrange -zrank -hmget; do
		cli acl setuser "$KEY" reset on '>secret' '~*' +@all
		enqueued --user "$KEY" --password-file <(echo secret)
		cli acl setuser "$KEY" "$rule"
		wait_until has_left
		wait_until grep -q 'the queue cannot be used' "$ERR"
		cli del "$KEY"
		exits_with 0 "$PID"
		[[ -e ran ]]
		rm ran
	done
	cli acl deluser "$KEY"
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

# told RECORD: what -n says of a holder that has this record, behind its fence.
told() {
	cli set "$KEY" token PX 60000
	cli hset "$I" h "token 17 $1" >/dev/null
	run -75 rl -n touch ran
	[[ ${#lines[@]} == 1 && $output != *[[:cntrl:]]* ]]
	cli del "$KEY" "$I"
}

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

@test "a record with control characters, newlines, and much of it" {
	local now long
	now=$(server_ms)
	long=$(printf %0100000d 0)
	told "$now run 0 "$'1\n2 a\nrlockrun:%20all%20is%20well\r\e[2J\x9b \x07\xc2\x85 - -'
	[[ $output == *'is held by a\nrlockrun: all is well\x0d\x1b[2J\x9b (pid ?, \x07\xc2\x85) since '* ]]
	told "$now run 0 1 a%0Arlockrun:%1B%0D%9B%00 %07%C2%85 - -"
	[[ $output == *'is held by a\nrlockrun:\x1b\x0d\x9b'*' (pid 1, \x07\xc2\x85) since '* ]]
	told "$now run 0 $long $long $long - -"
	((${#output} < 1200))
	told "$now run 0 %x %s%n%s%n %n - -"
	[[ $output == *'is held by %s%n%s%n (pid ?, %n) since '* ]]
	told "$now"
	[[ $output == *'is held by '* ]]
}

@test "a record with a time that is none" {
	for since in nan inf -inf 1e300 -1e300 x '' 0x10 99999999999999999999 -1; do
		told "$since run 0 1 h u - -"
		[[ $output == "rlockrun: \"$KEY\" is held by "* ]]
	done
}

@test "a fence that is no number one can count on is not counted on" {
	for fence in nan -nan inf -inf 1e300 -1e300 0x7fffffffffffffff 9007199254740992 \
		99999999999999999999 ' 12 ' ''; do
		cli hset "$I" f "$fence"
		run -0 rl sh -c 'echo "$RLOCKRUN_FENCE"'
		first=$output
		run -0 rl sh -c 'echo "$RLOCKRUN_FENCE"'
		echo "'$fence': $first, $output"
		[[ $first =~ ^[0-9]{16}$ && $output =~ ^[0-9]{16}$ ]]
		((output > first && output < 1 << 53)) || return
	done
}

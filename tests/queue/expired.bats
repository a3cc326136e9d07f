#!/usr/bin/env bats
# Thousands of expired entries beside a lock: no single call holds the server for
# long, and none grants or refuses the lock because of entries it has not seen.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/queue

setup() {
	begin_test
	own_server
	write_turn
	Q="{$KEY}:rlk:q"
	L="{$KEY}:rlk:l"
	I="{$KEY}:rlk:i"
	N="{$KEY}:rlk:n"
	export RLOCKRUN A_JOB
}
teardown() {
	end_monitor
	end_test
}

# fill KEY COUNT SCORE [PREFIX [SUFFIX]]: members of a sorted set, each a token
# between those.
fill() {
	cli eval 'for i = 1, ARGV[1] do
		redis.call("ZADD", KEYS[1], ARGV[2], ARGV[3]
			.. string.format("%08d-0000-4000-8000-000000000000", i) .. ARGV[4])
		end' 1 "$1" "$2" "$3" "${4:-}" "${5:-}" >/dev/null
}

# fill_records COUNT: of the holders that fill() makes.
fill_records() {
	cli eval 'for i = 1, ARGV[1] do
		redis.call("HSET", KEYS[1],
			string.format("%08d-0000-4000-8000-000000000000", i), "1 - 1 1 h u")
		end' 1 "$I" "$1" >/dev/null
}

# fill_lock COUNT [PREFIX]: with expired holders.
fill_lock() {
	fill "$KEY" "$1" $(($(server_ms) - 5000)) "${2:-}"
	cli pexpire "$KEY" 600000
}

# calls_are_short CALLS: since `monitor` there were so many calls of scripts of NAME
# at least, and none made the server work through more than a few thousand words of
# commands.
calls_are_short() {
	local calls most
	catch_up
	end_monitor
	read -r calls most < <(awk '$4 ~ /^"EVAL(SHA)?"$/ { calls++; words = 0 }
		$3 == "lua]" { words += NF; if (words > most) most = words }
		END { print calls + 0, most + 0 }' "$MONITOR")
	echo "$calls calls, $most words in the longest"
	((calls >= $1 && most <= 8000))
}

# --- the queue ---------------------------------------------------------------

@test "5,000 dead waiters are removed in steps, also with -n" {
	fill "$Q" 5000 1 x: :1@h
	monitor
	run -0 rl -n true
	[[ -z $output ]]
	calls_are_short 10
	[[ -z $(keys_left) ]]
}

@test "members that are no waiters cost no more" {
	cli eval 'for i = 1, 1500 do
		redis.call("ZADD", KEYS[1], i % 3 == 0 and "+inf" or "-inf", i)
		redis.call("ZADD", KEYS[2], i % 2 == 0 and "+inf" or "-inf", i) end' 2 "$Q" "$L" >/dev/null
	monitor
	run -0 rl -n true
	[[ -z $output ]]
	calls_are_short 3
	[[ -z $(keys_left) ]]
}

@test "one call removes fewer members if they are long" {
	cli eval 'for i = 1, 500 do
		redis.call("ZADD", KEYS[1], i, string.rep("x", 20000) .. i) end' 1 "$Q" >/dev/null
	cli config resetstat
	run -0 rl -n true
	[[ -z $output && -z $(keys_left) ]]
	calls=$(cli info commandstats | sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p')
	((calls >= 8))
}

@test "a lock that is held is busy at once, whatever the queue holds" {
	holds A
	fill "$Q" 5000 1 x: :1@h
	monitor
	run -75 rl -n touch ran
	[[ $output == *"is held by"* && ! -e ran ]]
	catch_up
	end_monitor
	[[ $(grep -c '\] "EVAL\(SHA\)\?" ' "$MONITOR") == 1 ]]
	cli del "$Q"
	touch go
	all_end_well
}

@test "a release rings the waiter behind 2,000 dead ones, and the order is kept" {
	holds A
	enqueue B
	enqueue C
	# No heartbeat is to find the lock free.
	kill -STOP "${STARTED[@]:1}"
	fill "$Q" 2000 1 x: :1@h
	monitor
	touch go.A
	exits_with 0 "${STARTED[0]}"
	calls_are_short 4
	grep -q 'lua\] "RPUSH" "{'"$KEY"'}:rlk:m:' "$MONITOR"
	kill -CONT "${STARTED[1]}"
	wait_for_file B.started
	kill -CONT "${STARTED[2]}"
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A B C" && ! -e overlaps && -z $(keys_left) ]]
	run ! grep -E 'confirm|lost' err.1
}

@test "a call that reaches its limit grants nothing, and keeps the place in the queue" {
	holds A
	monitor
	enqueue B
	catch_up
	fill "$Q" 2000 1 x: :1@h
	ticket=$(cli --raw zrange "$Q" -1 -1 withscores | tail -n 1)
	kill -STOP "$PID"
	cli del "$KEY" >/dev/null
	answers=
	for _ in {1..8}; do
		run -0 "$HELPERS/again" "$MONITOR" "$SUITE_DIR/s" EVAL/8 1
		answers+=" ${lines[0]}"
		[[ ${lines[0]} == -1 ]] || break
		[[ $(cli exists "$KEY") == 0 ]]
		[[ $(cli --raw zrange "$Q" -1 -1 withscores | tail -n 1) == "$ticket" ]]
		member=$(cli --raw zrange "$Q" -1 -1)
		(($(cli --raw zscore "$L" "$member") > $(server_ms) + 10000))
	done
	[[ $answers == " -1 -1 -1"*" 1" ]]
	kill -CONT "$PID"
	touch go
	exits_with 79 "${STARTED[0]}"
	exits_with 0 "$PID"
}

@test "a newcomer that waits has its place from its first call on" {
	fill "$Q" 2000 1 x: :1@h
	monitor
	run -0 rl true
	catch_up
	fill "$Q" 2000 1 x: :1@h
	run -0 "$HELPERS/again" "$MONITOR" "$SUITE_DIR/s" EVAL/8 1
	[[ ${lines[0]} == -1 && $(cli --raw zrange "$Q" -1 -1) == *@* ]]
	[[ $(cli --raw zrange "$L" -1 -1) == "$(cli --raw zrange "$Q" -1 -1)" ]]
	cli flushall
}

@test "a reader joins others across 1,000 that wait, and no more" {
	for count in 1000 1001; do
		cli eval 'for i = 1, ARGV[1] do
			local name = "s:" .. i .. ":1@h"
			redis.call("ZADD", KEYS[1], i, name)
			redis.call("ZADD", KEYS[2], ARGV[2], name) end' 2 "$Q" "$L" "$count" $(($(server_ms) + 19000)) >/dev/null
		rl -s -n touch "ran.$count" || [[ $count == 1001 ]]
	done
	[[ -e ran.1000 && ! -e ran.1001 ]]
	cli del "$Q" "$L"
}

# --- holders that have expired -------------------------------------------------

@test "5,000 expired permits are removed in steps, with their records" {
	fill_lock 5000
	fill_records 5000
	monitor
	run -0 rl -n -p 3 true
	[[ -z $output ]]
	calls_are_short 10
	[[ -z $(keys_left) ]]
}

@test "expired readers and permits are gone before another kind holds the lock" {
	fill_lock 5000 s:
	monitor
	run -0 rl -n -p 3 sh -c 'redis-cli -s "$0" zcard "$KEY"' "$SUITE_DIR/s"
	[[ $output == 1 ]]
	calls_are_short 5
	fill_lock 5000
	run -0 rl -n sh -c 'redis-cli -s "$0" type "$KEY"' "$SUITE_DIR/s"
	[[ $output == string && -z $(keys_left) ]]
}

@test "beside live holders, expired ones neither count nor take several calls" {
	fill_lock 5000
	holds A -p 2
	monitor
	run -0 rl -n -p 2 true
	holds B -p 2
	run -75 rl -n -p 2 touch ran
	[[ $output == *" 2 "* && ! -e ran ]]
	calls_are_short 3
	run -1 grep -c '"-1"' err.1
	touch go
	all_end_well
}

@test "a release frees the lock of expired holders, too" {
	holds A -p 2
	fill_lock 5000
	monitor
	touch go
	exits_with 0 "$PID"
	[[ ! -s err.1 && $(cli exists "$KEY") == 0 ]]
	calls_are_short 5
	[[ $(keys_left) == "$I" ]]
}

@test "a record with 5,000 fields is freed in the background" {
	fill_records 5000
	monitor
	run -0 rl -n true
	catch_up
	grep -q 'lua\] "UNLINK" "'"$I"'"' "$MONITOR"
	[[ -z $(keys_left) ]]
}

# --- nested runs -----------------------------------------------------------------

# outlived: a nested run outlives its outer run, whose release is answered first.
outlived() {
	cat >leave <<-'END'
		setsid "$RLOCKRUN" -k "$KEY" sh ./turn inner </dev/null >/dev/null 2>inner.err &
		echo $! >inner.pid
		exec "$A_JOB" until:inner.started until:go.outer
	END
	start "$RLOCKRUN" -k "$KEY" -- sh ./leave
	wait_for_file inner.started
}

@test "5,000 expired nested runs: freed by the first call, removed in steps" {
	fill "$N" 5000 1 01234567-0000-4000-8000-000000000000:
	monitor
	run -0 rl true
	[[ -z $output ]]
	calls_are_short 3 # ten that a busy machine may not have time for
	[[ $(cli exists "$KEY") == 0 ]]
	grep -m 1 -A 20 '"EVALSHA".* "9" ' "$MONITOR" | grep -q 'lua\] "DEL" "'"$KEY"'"'
}

# A release removes for a second at most, so on a busy machine the next ones go on.
is_swept() {
	rl true
	[[ -z $(keys_left) ]]
}

@test "garbage and expired runs hide no nested run that is alive" {
	outlived
	fill "$N" 5000 1 01234567-0000-4000-8000-000000000000:
	fill "$N" 1500 $(($(server_ms) + 10000)) 12345678-0000-4000-8000-000000000000:
	fill "$N" 1500 +inf 23456789-0000-4000-8000-000000000000:
	cli zadd "$N" +inf ''
	monitor
	touch go.outer
	exits_with 0 "$PID"
	[[ $(cli exists "$KEY") == 1 ]]
	# Those in front of the nested run were removed until it was found.
	(($(cli zcount "$N" '(1' '(+inf') < 1000))
	run -75 rl -n touch ran
	touch go
	wait_until gone "$(<inner.pid)"
	calls_are_short 3
	[[ $(cli exists "$KEY") == 0 && ! -e ran && ! -s inner.err ]]
	wait_until is_swept
}

@test "nested runs of many other holders hide none of ours" {
	holds A -p 2000
	fill "$KEY" 1500 $(($(server_ms) + 60000))
	cat >leave <<-'END'
		setsid "$RLOCKRUN" -k "$KEY" -p 2000 sh ./turn inner </dev/null >/dev/null 2>inner.err &
		echo $! >inner.pid
		exec "$A_JOB" until:inner.started until:go.outer
	END
	start "$RLOCKRUN" -k "$KEY" -p 2000 -- sh ./leave
	wait_for_file inner.started
	fill "$N" 1500 $(($(server_ms) + 10000)) '' :run
	token=$(cut -d: -f1 <<<"$(cli --raw zrange "$N" 1500 1500)")
	[[ -n $token ]]
	touch go.outer
	exits_with 0 "$PID"
	[[ -n $(cli zscore "$KEY" "$token") ]]
	touch go.inner
	wait_until gone "$(<inner.pid)"
	[[ -z $(cli zscore "$KEY" "$token") && ! -s inner.err ]]
	(($(cli zcard "$N") >= 1500))
	touch go
	exits_with 0 "${STARTED[0]}"
}

# --- who looks, and who takes away ---------------------------------------------

@test "status counts nested runs behind 2,000 expired ones" {
	outlived
	fill "$N" 2000 1 01234567-0000-4000-8000-000000000000:
	run -0 --separate-stderr "$RLOCKRUN" --status --json -k "$KEY"
	[[ $output == *'"nested":1'* || $output == *'"nested": 1'* ]]
	touch go go.outer
	exits_with 0 "$PID"
	wait_until gone "$(<inner.pid)"
}

@test "force-release works in steps, too, and looks at 5,000 holders at most" {
	fill "$Q" 5000 1 x: :1@h
	fill_lock 5000
	fill "$KEY" 3 $(($(server_ms) + 60000)) live
	monitor
	run -0 "$RLOCKRUN" --force-release --yes -k "$KEY"
	[[ ${#lines[@]} == 1 && $output == *"released, it was held by"* ]]
	calls_are_short 8
	[[ $(cli exists "$KEY" "$Q") == 0 ]]
	fill "$KEY" 30000 $(($(server_ms) + 60000))
	cli pexpire "$KEY" 600000
	monitor
	run -0 "$RLOCKRUN" --force-release --yes -k "$KEY"
	[[ ${lines[1]} == *": 26000 others still hold it; release it again" ]]
	calls_are_short 2
	cli del "$KEY"
}

# --- access rules and servers ----------------------------------------------------

# The access rules that the manual recommended before UNLINK was used.
earlier_rules='+eval +time +get +pttl +hmget +set +del +hset +pexpire +zrange
	+zscore +zrank +zcount +zadd +zrem +rpush +blpop +client|setname'

@test "the access rules of earlier manuals are enough" {
	# shellcheck disable=SC2086 # several words
	cli acl setuser locker on '>v' "~$KEY" "~{$KEY}:rlk:*" $earlier_rules
	export RLOCKRUN_REDIS=unix://locker:v@$SUITE_DIR/s
	fill "$Q" 3000 1 x: :1@h
	fill "$N" 3000 1 01234567-0000-4000-8000-000000000000:
	fill_records 3000
	monitor
	run -0 rl -n true
	[[ -z $output ]]
	calls_are_short 6
	[[ -z $(keys_left) ]]
	holds A
	fill "$Q" 3000 1 x: :1@h
	enqueue B
	enqueue C
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A B C" && -z $(keys_left) ]]
	run -1 grep -hv "; waiting\|: acquired after" err.*
}

# bats test_tags=night
@test "the access rules of earlier manuals are enough for all kinds" {
	# shellcheck disable=SC2086 # several words
	cli acl setuser locker on '>v' "~$KEY" "~{$KEY}:rlk:*" $earlier_rules +zcard +hget +hdel
	export RLOCKRUN_REDIS=unix://locker:v@$SUITE_DIR/s
	for options in -x -s '-p 2'; do
		fill_lock 3000
		fill_records 3000
		fill "$N" 3000 1 01234567-0000-4000-8000-000000000000:
		fill "$Q" 3000 1 x: :1@h
		# shellcheck disable=SC2086 # several words
		run -5 rl $options sh -c '"$RLOCKRUN" -k "$KEY" "$@" sh -c "exit 5"' - $options
		[[ -z $output && $(cli exists "$KEY" "$Q" "$N") == 0 ]]
	done
}

@test "of several servers, those that have expired entries left are asked again" {
	urls=$RLOCKRUN_REDIS
	for i in 1 2; do
		start_server "$PWD/more.$i"
		urls+=" unix://$PWD/more.$i/s"
	done
	export RLOCKRUN_REDIS=$urls RLOCKRUN_MIN_UPTIME=0
	fill_lock 3000
	redis-cli -s more.1/s set "$KEY" foreign PX 60000
	run -0 rl -n true
	[[ -z $output ]]
	fill_lock 3000
	redis-cli -s more.2/s set "$KEY" foreign PX 60000
	run -75 rl -n touch ran
	[[ ! -e ran ]]
	for i in 1 2; do stop_server "$PWD/more.$i"; done
}


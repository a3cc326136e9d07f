#!/usr/bin/env bats
# Thousands of expired entries beside a lock: whoever comes next removes them, and
# neither waits for them nor is refused because of them.
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
		local token = string.format("%08d-0000-4000-8000-000000000000", i)
		redis.call("HSET", KEYS[1], "h:" .. token, token .. " 1 1 run 3 1 h u - -")
		end' 1 "$I" "$1" >/dev/null
}

# fill_lock COUNT [PREFIX]: with expired holders.
fill_lock() {
	fill "$KEY" "$1" $(($(server_ms) - 5000)) "${2:-}"
	cli pexpire "$KEY" 600000
}

# fill_queue COUNT: with dead waiters.
fill_queue() {
	fill "$Q" "$1" 1 x: :1@h
	fill "$L" "$1" 1 x: :1@h
}

# --- the queue ---------------------------------------------------------------

@test "5,000 dead waiters are removed by whoever comes next, also with -n" {
	fill_queue 5000
	run -0 rl -n true
	[[ -z $output && -z $(keys_left) ]]
	fill_queue 5000
	run -0 rl true
	[[ -z $output && -z $(keys_left) ]]
}

@test "a reader joins others across 1,000 that wait, and no more" {
	for count in 1000 1001; do
		cli eval 'for i = 1, ARGV[1] do
			local name = string.format("s:%08d-0000-4000-8000-000000000000:1@h", i)
			redis.call("ZADD", KEYS[1], i, name)
			redis.call("ZADD", KEYS[2], ARGV[2], name) end' 2 "$Q" "$L" "$count" $(($(server_ms) + 19000)) >/dev/null
		rl -s -n touch "ran.$count" || [[ $count == 1001 ]]
	done
	[[ -e ran.1000 && ! -e ran.1001 ]]
	cli del "$Q" "$L"
}

# --- holders that have expired -------------------------------------------------

@test "5,000 expired permits are removed at once, with their records" {
	fill_lock 5000
	fill_records 5000
	run -0 rl -n -p 3 true
	[[ -z $output && -z $(keys_left) ]]
	run -1 grep '^h:' <(cli hkeys "$I")
}

# --- who takes away ------------------------------------------------------------

@test "force-release looks at 5,000 holders at most" {
	fill "$KEY" 30000 $(($(server_ms) + 60000))
	cli pexpire "$KEY" 600000
	run -0 "$RLOCKRUN" --force-release --yes -k "$KEY"
	echo "$output"
	[[ ${lines[1]} == *": 26000 others still hold it; release it again" ]]
	cli del "$KEY"
}

#!/usr/bin/env bats
# Thousands of expired entries beside a lock: no single call holds the server for
# long, and none grants or refuses the lock because of entries it has not seen.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load helpers
load line

setup() {
	begin_test
	own_server
	write_turn
	N="{$KEY}:rlk:n"
	export RLOCKRUN
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

# outlived: a nested run outlives its outer run, whose release is answered first.
outlived() {
	cat >leave <<-'END'
		setsid "$RLOCKRUN" -k "$KEY" sh ./turn inner </dev/null >/dev/null 2>inner.err &
		echo $! >inner.pid
		until [ -e inner.started ] && [ -e go.outer ]; do sleep 0.02; done
	END
	start "$RLOCKRUN" -k "$KEY" -- sh ./leave
	wait_for_file inner.started
}

@test "status counts nested runs behind 2,000 expired ones" {
	outlived
	fill "$N" 2000 1 01234567-0000-4000-8000-000000000000:
	run -0 --separate-stderr "$RLOCKRUN" --status --json -k "$KEY"
	[[ $output == *'"nested":1'* || $output == *'"nested": 1'* ]]
	touch go go.outer
	exits_with 0 "$PID"
	wait_until gone "$(<inner.pid)"
}

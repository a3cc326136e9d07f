#!/usr/bin/env bats
# rlockrun beside client.py, which was written from rlockrun-protocol(7): one lock, one
# queue.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	CLIENT=$ROOT/tests/second/client.py
}
teardown() { end_test; }

client() { "$CLIENT" -k "$KEY" "$@"; }

# holds COMMAND...: it runs a job until file `done` is there. HOLDER is its pid.
holds() {
	start "$@" sh -c 'echo "$RLOCKRUN_TOKEN" >held; until [ -e done ]; do sleep 0.02; done'
	HOLDER=$PID
	wait_for_file held
}

waiting_are() { (($(cli zcard "{$KEY}:rlk:q") == $1)); }

@test "the lock of each is busy for the other" {
	holds "$CLIENT" -k "$KEY" --
	run -75 rl -n touch ran
	[[ $output == *"is held by "*" (pid $HOLDER, "* ]]
	[[ $(cli get "$KEY") == "$(<held)" ]]
	touch "done"
	exits_with 0 "$HOLDER"
	rm held "done"
	holds "$RLOCKRUN" -k "$KEY" --
	run -75 client -w 0 -- touch ran
	[[ ! -e ran ]]
	touch "done"
	exits_with 0 "$HOLDER"
	[[ -z $(keys_left) ]]
}

@test "--status shows its holder and its waiter" {
	holds "$CLIENT" -k "$KEY" --
	start "$CLIENT" -k "$KEY" -- true
	wait_until waiting_are 1
	run -0 "$RLOCKRUN" --status -k "$KEY" --json
	[[ $output == *"\"pid\":$HOLDER"* && $output == *'"waiting":1,'* ]]
	touch "done"
	exits_with 0 "$HOLDER"
	exits_with 0 "$PID"
}

@test "both wait in one line, and each rings the next" {
	local pids=() i
	holds "$RLOCKRUN" -k "$KEY" -t 300 --
	for i in 1 2 3 4 5 6; do
		if ((i % 2)); then
			start "$CLIENT" -t 300 -k "$KEY" -- sh -c "echo $i \$RLOCKRUN_FENCE >>order"
		else
			start "$RLOCKRUN" -t 300 -k "$KEY" -- sh -c "echo $i \$RLOCKRUN_FENCE >>order"
		fi
		pids+=("$PID")
		wait_until waiting_are "$i"
	done
	touch "done"
	for i in "${pids[@]}"; do exits_with 0 "$i"; done
	exits_with 0 "$HOLDER"
	[[ $(cut -d' ' -f1 order | paste -sd ' ') == '1 2 3 4 5 6' ]]
	cut -d' ' -f2 order | sort -cnu
	[[ -z $(keys_left) ]]
}

@test "a client rings who is first, and does not overtake it" {
	local waiter
	holds "$CLIENT" -k "$KEY" -t 300 --
	start "$RLOCKRUN" -k "$KEY" -t 300 -w 300 -- touch ran
	wait_until waiting_are 1
	waiter=$(cli zrange "{$KEY}:rlk:q" 0 0)
	kill -STOP "$PID"
	touch "done"
	exits_with 0 "$HOLDER"
	[[ $(cli zscore "{$KEY}:rlk:l" "$waiter") == *.5 ]] # it was rung
	cli zadd "{$KEY}:rlk:l" "$(($(server_ms) + 15000))" "$waiter" >/dev/null
	run -75 client -w 0 -- touch overtaken
	kill -CONT "$PID"
	exits_with 0 "$PID"
	[[ -e ran && ! -e overtaken && -z $(keys_left) ]]
}

# bats test_tags=night
@test "thirty runs of both count without a lost update" {
	local pids=() i
	echo 0 >count
	for i in {1..15}; do
		for command in "$CLIENT" "$RLOCKRUN"; do
			start "$command" -k "$KEY" -- sh -c 'read -r n <count; sleep 0.01; echo $((n + 1)) >count'
			pids+=("$PID")
		done
	done
	for i in "${pids[@]}"; do exits_with 0 "$i"; done
	[[ $(<count) == 30 && -z $(keys_left) ]]
}

# bats test_tags=night
@test "each comes after the other was killed, when its lease has ended" {
	holds "$CLIENT" -k "$KEY" -t 2 --
	kill -KILL "$HOLDER"
	run -0 rl -w 20 touch ran
	[[ -e ran ]]
	rm held ran
	holds "$RLOCKRUN" -k "$KEY" -t 2 --
	kill -KILL "$HOLDER"
	run -0 client -w 20 -- touch ran
	[[ -e ran ]]
	touch "done"
}

@test "a client renews its lock, and ends its job when that is taken away" {
	holds "$CLIENT" -k "$KEY" -t 2 --
	wait_until left_below 1500
	wait_until left_above 1900
	cli del "$KEY" >/dev/null
	exits_with 79 "$HOLDER"
	run -0 rl -n true
}

left_ms() { cli pttl "$KEY"; }
left_below() { (($(left_ms) < $1)); }
left_above() { (($(left_ms) > $1)); }

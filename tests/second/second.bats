#!/usr/bin/env bats
# rlockrun beside client.py, which is written from rlockrun-protocol(7): one lock, one
# queue, one history, and each reads what the other has written.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	CLIENT=$ROOT/tests/second/client.py
	Q="{$KEY}:rlk:q"
	L="{$KEY}:rlk:l"
}
teardown() { end_test; }

client() { "$CLIENT" -k "$KEY" "$@"; }

# holds COMMAND...: it runs a job until file `done` is there. HOLDER is its pid.
holds() {
	start "$@" sh -c 'echo "$RLOCKRUN_TOKEN" >held; until [ -e done ]; do sleep 0.02; done'
	HOLDER=$PID
	wait_for_file held
}

ends() {
	touch "done"
	exits_with 0 "$HOLDER"
	rm -f held "done"
}

waiting_are() { (($(cli zcard "$Q") == $1)); }

@test "the lock of each is busy for the other" {
	holds "$CLIENT" -k "$KEY" --
	run -75 rl -n touch ran
	[[ $output == *"is held by "*" (pid $HOLDER, "* ]]
	[[ $(cli get "$KEY") == "$(<held)" ]]
	ends
	holds "$RLOCKRUN" -k "$KEY" --
	run -75 client -w 0 -- touch ran
	[[ ! -e ran && $(cli hget "{$KEY}:rlk:i" k:busy) == *" run 0 "*" | $(<held) "* ]]
	ends
	[[ -z $(keys_left) ]]
}

@test "--status shows its holder and its waiter, --history how its run ended" {
	holds "$CLIENT" -k "$KEY" --label 'a b|c%d' --
	start "$CLIENT" -k "$KEY" -- sh -c 'exit 3'
	wait_until waiting_are 1
	run -0 "$RLOCKRUN" --status -k "$KEY" --json
	[[ $output == *"\"pid\":$HOLDER"* && $output == *'"waiting":1,'* ]]
	[[ $output == *'"label":"a b|c%d"'* && $output == *'"command":"sh"'* ]]
	[[ $(cli hget "{$KEY}:rlk:i" h) == *" a%20b%7Cc%25d sh" ]]
	touch "done"
	exits_with 0 "$HOLDER"
	exits_with 3 "$PID"
	run -0 "$RLOCKRUN" --history -k "$KEY" --json
	[[ $output == *'"runs":[{'*'"pid":'"$PID,"*'"status":3,'*'"pid":'"$HOLDER,"*'"status":0,'* ]]
	[[ $output == *'"problems":[]'* ]]
}

@test "both wait in one queue, and each rings the next" {
	local pids=() i command
	holds "$RLOCKRUN" -k "$KEY" -t 300 --
	for i in 1 2 3 4 5 6; do
		((i % 2)) && command=$CLIENT || command=$RLOCKRUN
		start "$command" -t 300 -k "$KEY" -- sh -c "echo $i \$RLOCKRUN_FENCE >>order"
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

# overtakes_not RELEASER WAITER LATE: the first rings the second, which is stopped, and
# the third does not overtake it.
overtakes_not() {
	local waiter
	holds "$1" -k "$KEY" -t 300 --
	start "$2" -k "$KEY" -t 300 -w 300 -- touch ran
	wait_until waiting_are 1
	waiter=$(cli zrange "$Q" 0 0)
	cli del "{$KEY}:rlk:m:${waiter:2:36}" >/dev/null
	kill -STOP "$PID"
	ends
	# It was rung: its doorbell, or its connection, has the element.
	(($(cli zscore "$L" "$waiter") <= $(server_ms) + 1000))
	cli zadd "$L" "$(($(server_ms) + 15000))" "$waiter" >/dev/null
	run -75 "$3" -k "$KEY" -w 0 -- touch overtaken
	kill -CONT "$PID"
	exits_with 0 "$PID"
	[[ -e ran && ! -e overtaken && -z $(keys_left) ]]
	rm ran
}

@test "each rings the first waiter, and does not overtake it" {
	overtakes_not "$CLIENT" "$RLOCKRUN" "$CLIENT"
	overtakes_not "$RLOCKRUN" "$CLIENT" "$RLOCKRUN"
}

# lives_for MS: so long the head of the queue counts as alive.
lives_for() {
	cli zadd "$L" $(($(server_ms) + $1)) "$(cli zrange "$Q" 0 0)"
}

@test "each passes a dead waiter of the other" {
	local first second dead
	for first in "$RLOCKRUN" "$CLIENT"; do
		[[ $first == "$CLIENT" ]] && second=$RLOCKRUN || second=$CLIENT
		holds "$second" -k "$KEY" -t 300 --
		start "$first" -k "$KEY" -t 300 -- touch never
		wait_until waiting_are 1
		kill -STOP "$PID"
		dead=$PID
		lives_for 3600000
		start "$second" -k "$KEY" -t 300 -- touch ran
		wait_until waiting_are 2
		kill -KILL "$dead"
		lives_for 1000
		ends
		exits_with 0 "$PID"
		[[ -e ran && ! -e never ]]
		rm ran
		wait_until none_left
	done
}

@test "a waiter that gives up leaves nothing behind, and wakes the next" {
	holds "$RLOCKRUN" -k "$KEY" -t 300 --
	start "$CLIENT" -k "$KEY" -t 300 -- touch never
	wait_until waiting_are 1
	start "$RLOCKRUN" -k "$KEY" -t 300 -- touch ran
	wait_until waiting_are 2
	kill -TERM "${STARTED[1]}"
	exits_with 143 "${STARTED[1]}"
	waiting_are 1
	ends
	exits_with 0 "$PID"
	[[ -e ran && ! -e never && -z $(keys_left) ]]
}

@test "a nested run of each joins the other's lock, and keeps it when it is left alone" {
	local outer inner
	for outer in "$RLOCKRUN" "$CLIENT"; do
		[[ $outer == "$CLIENT" ]] && inner=$RLOCKRUN || inner=$CLIENT
		start "$outer" -k "$KEY" -t 300 -- sh -c \
			'echo "$RLOCKRUN_FENCE" >fence
			setsid "$0" -k "$1" -t 300 -- sh -c "echo \$RLOCKRUN_FENCE >>fence; \
				until [ -e done ]; do sleep 0.02; done" >nest 2>&1 &
			until [ "$(wc -l <fence)" = 2 ]; do sleep 0.02; done' "$inner" "$KEY"
		exits_with 0 "$PID"
		[[ $(uniq fence | wc -l) == 1 ]]
		[[ $(cli exists "$KEY") == 1 ]]
		[[ $(cli hget "{$KEY}:rlk:i" h) == "$(cli get "$KEY"): $(head -n 1 fence) "* ]]
		run -75 rl -n true
		run -75 client -w 0 -- true
		touch "done"
		wait_until none_left
		[[ ! -s nest ]]
		rm fence "done"
	done
}

@test "a nested run of either that leaves last keeps the lock for the outer one's --min-hold" {
	local inner kind
	for inner in "$RLOCKRUN" "$CLIENT"; do
		for kind in -t30 -s -p2; do
			start "$RLOCKRUN" -k "$KEY" "$kind" --min-hold 1h -- sh -c \
				'setsid "$@" -- sh -c "echo >>in; until [ -e done ]; do sleep 0.02; done" &
				until [ -s in ]; do sleep 0.02; done' sh "$inner" -k "$KEY" "$kind"
			exits_with 0 "$PID"
			touch "done"
			wait_until is_kept
			(($(keeps_ms) > 3000000))
			run -75 client -w 0 -- true
			cli del "$KEY" "{$KEY}:rlk:i" >/dev/null
			rm in "done"
		done
	done
	wait_until none_left
}

is_kept() { cli hvals "{$KEY}:rlk:i" | grep -q "^[^ ]*:kept "; }
keeps_ms() {
	local member
	member=$(cli hkeys "{$KEY}:rlk:i" | sed -n 's/^h://p')
	[[ ! $member ]] || {
		echo $(($(cli zscore "$KEY" "$member") - $(server_ms)))
		return
	}
	left_ms
}

@test "readers and permits of both share a lock, and the kinds exclude each other" {
	local kind second
	for kind in -s --permits=2; do
		[[ $kind == -s ]] && second=-s || second=-p2
		holds "$RLOCKRUN" -k "$KEY" "$kind" --
		run -0 client "$second" -w 0 -- true
		run -75 client -w 0 -- true
		run -75 rl -n true
		ends
		holds "$CLIENT" -k "$KEY" "$second" --
		run -0 rl "$kind" -n true
		run -75 rl -n true
		run -75 client -w 0 -- true
		ends
	done
	[[ -z $(keys_left) ]]
}

@test "permits are counted over both, and a release lets a waiter of the other in" {
	local first second
	for first in "$RLOCKRUN" "$CLIENT"; do
		[[ $first == "$CLIENT" ]] && second=$RLOCKRUN || second=$CLIENT
		holds "$first" -k "$KEY" -p 1 -t 300 --
		start "$second" -k "$KEY" -p 1 -t 300 -- touch ran
		wait_until waiting_are 1
		ends
		exits_with 0 "$PID"
		[[ -e ran ]]
		rm ran
	done
	[[ -z $(keys_left) ]]
}

@test "readers that wait together go together, rung by one another" {
	local pids=() i command
	holds "$RLOCKRUN" -k "$KEY" -t 300 --
	for i in 1 2 3 4; do
		((i % 2)) && command=$CLIENT || command=$RLOCKRUN
		start "$command" -s -t 300 -k "$KEY" -- sh -c \
			"echo >>in; until [ \"\$(wc -l <in)\" = 4 ]; do sleep 0.02; done"
		pids+=("$PID")
		wait_until waiting_are "$i"
	done
	ends
	for i in "${pids[@]}"; do exits_with 0 "$i"; done
	[[ -z $(keys_left) ]]
}

# The one behind is stopped, so that nothing but a ring changes its time to come.
@test "a reader that goes rings the reader of the other behind it" {
	local first second waiter
	for first in "$RLOCKRUN" "$CLIENT"; do
		[[ $first == "$CLIENT" ]] && second=$RLOCKRUN || second=$CLIENT
		holds "$RLOCKRUN" -k "$KEY" -t 300 --
		start "$first" -s -k "$KEY" -t 300 -- sh -c 'echo >went; until [ -e go ]; do sleep 0.02; done'
		wait_until waiting_are 1
		start "$second" -s -k "$KEY" -t 300 -- true
		wait_until waiting_are 2
		kill -STOP "$PID"
		waiter=$(cli zrange "$Q" 1 1)
		cli zadd "$L" "$(($(server_ms) + 3000000))" "$waiter" >/dev/null
		ends
		wait_for_file went
		wait_until eval '(($(cli zscore "$L" "'"$waiter"'") < $(server_ms) + 3000000 - 1000000))'
		kill -CONT "$PID"
		exits_with 0 "$PID"
		touch go
		exits_with 0 "${STARTED[-2]}"
		rm went go
	done
	[[ -z $(keys_left) ]]
}

@test "a success of each counts for --once-per and --once-id of the other" {
	run -0 client -- true
	run -75 rl --once-per 1h touch ran
	[[ $output == *"last succeeded on $(uname -n) at "* ]]
	run -0 rl --once-id monday true
	run -75 client --once-id monday -- touch ran
	run -75 client --once-per 3600 -- touch ran
	run -0 client --once-id tuesday -- true
	run -75 rl --once-id tuesday touch ran
	[[ ! -e ran && $(cli hget "{$KEY}:rlk:i" k:id) == *" | "* ]]
	[[ -z $(keys_left) ]]
}

@test "of waiters with --newest the later one of either stays" {
	local first second
	for first in "$RLOCKRUN" "$CLIENT"; do
		[[ $first == "$CLIENT" ]] && second=$RLOCKRUN || second=$CLIENT
		holds "$RLOCKRUN" -k "$KEY" -t 300 --
		start "$first" -k "$KEY" -t 300 --newest -- touch early
		wait_until waiting_are 1
		start "$second" -k "$KEY" -t 300 --newest -- touch late
		exits_with 75 "${STARTED[-2]}"
		wait_until waiting_are 1
		ends
		exits_with 0 "$PID"
		[[ -e late && ! -e early ]]
		rm late
	done
	[[ -z $(keys_left) ]]
}

@test "a run of either that died is recorded by the other, without an end" {
	local first second
	for first in "$RLOCKRUN" "$CLIENT"; do
		[[ $first == "$CLIENT" ]] && second=$RLOCKRUN || second=$CLIENT
		holds "$first" -k "$KEY" -t 300 --
		kill -KILL "$HOLDER"
		rm held
		cli del "$KEY" >/dev/null
		run -0 "$second" -k "$KEY" -- true
		run -0 "$RLOCKRUN" --history -k "$KEY"
		[[ ${lines[2]} == *"no end recorded"*" $HOLDER "* ]]
	done
}

@test "a lock that is missing at the end is no success of either" {
	local command
	for command in "$RLOCKRUN" "$CLIENT"; do
		run -79 "$command" -k "$KEY" -- redis-cli -s "$SUITE_DIR/s" del "$KEY"
		[[ $(cli lrange "{$KEY}:rlk:r" 0 -1) == +([0-9])" 79 "* ]]
		[[ $(cli hexists "{$KEY}:rlk:i" s) == 0 && -z $(cli hget "{$KEY}:rlk:i" h) ]]
	done
}

@test "a run of either that has lost its lock replaces the record of its death" {
	local first second
	for first in "$RLOCKRUN" "$CLIENT"; do
		[[ $first == "$CLIENT" ]] && second=$RLOCKRUN || second=$CLIENT
		holds "$first" -k "$KEY" -t 300 --
		cli del "$KEY" >/dev/null
		run -0 "$second" -k "$KEY" -w 0 -- true
		[[ $(cli lindex "{$KEY}:rlk:r" 1) == "- - - - "* ]]
		touch "done"
		exits_with 79 "$HOLDER"
		[[ $(cli lindex "{$KEY}:rlk:r" 0) == +([0-9])" 79 "*" $HOLDER "* ]]
		[[ $(cli lrange "{$KEY}:rlk:r" 0 -1) != *"- - - - "* ]]
		rm held "done"
	done
}

@test "a reader of either records an exclusive run that died, and what is no waiter leaves the queue" {
	local command
	for command in "$RLOCKRUN" "$CLIENT"; do
		cli del "{$KEY}:rlk:i" "{$KEY}:rlk:r" >/dev/null
		cli hset "{$KEY}:rlk:i" h "$(</proc/sys/kernel/random/uuid) 5 6 run 0 7 host user - sh" >/dev/null
		cli zadd "$Q" 1 nobody >/dev/null
		run -0 "$command" -k "$KEY" -w 0 -s -- true
		[[ $(cli lindex "{$KEY}:rlk:r" 1) == "- - - - 5 6 run 0 7 host user - sh" ]]
		[[ $(cli hexists "{$KEY}:rlk:i" h) == 0 && -z $(keys_left) ]]
	done
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

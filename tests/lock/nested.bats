#!/usr/bin/env bats
# Runs inside runs: the same name is no deadlock, the lease is never shortened, and
# the lock is freed when the last of them has ended.
# shellcheck disable=SC2016,SC2154 # shells expand it, run --separate-stderr sets it

# bats file_tags=everywhere

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	write_nest
}
teardown() { end_test; }

# nest NAME: notes token, fence and pid in NAME.*, and ends when NAME.go is there.
# leave OPTION...: starts one that outlives this shell, whose job that is.
write_nest() {
	cat >nest <<-END
		exec "$A_JOB" "\$1.token=%{RLOCKRUN_TOKEN}" "\$1.fence=%{RLOCKRUN_FENCE}" "\$1.pid=%p" "until:\$1.go"
	END
	cat >leave <<-'END'
		setsid "$RLOCKRUN" "$@" </dev/null >/dev/null 2>leave.err &
		echo $! >leave.rlockrun
	END
	export RLOCKRUN A_JOB
}

# outer SCRIPT [OPTION...]: a rlockrun with this job; PID is its pid.
outer() {
	start "$RLOCKRUN" -k "$KEY" "${@:2}" -- sh -c "$1"
}

# --- the same name --------------------------------------------------------------

# bats test_tags=smoke
@test "B2: nested in the same name: no deadlock, the same token and fence" {
	run -0 rl sh -c 'echo "$RLOCKRUN_TOKEN $RLOCKRUN_FENCE"
		"$RLOCKRUN" -k "$KEY" sh -c "echo \$RLOCKRUN_TOKEN \$RLOCKRUN_FENCE"
		redis-cli -s "$0" exists "$KEY" "{$KEY}:rlk:n:$RLOCKRUN_TOKEN"' "$SUITE_DIR/s"
	echo "$output"
	[[ ${lines[0]} == "${lines[1]}" && ${#lines[0]} -gt 50 ]]
	[[ ${lines[2]} == 1 ]]
	[[ ${#lines[@]} == 3 && -z $(keys_left) ]]
}

@test "B2: nested in another name: two locks; and in both, two levels deeper" {
	export other=$KEY:other
	run -0 rl sh -c '"$RLOCKRUN" -k "$other" sh -c '\''
		echo "$RLOCKRUN_KEY"
		echo "$RLOCKRUN_HELD" | wc -w
		"$RLOCKRUN" -k "$KEY" -n true && "$RLOCKRUN" -k "$other" -n true && echo both
		env -u RLOCKRUN_HELD "$RLOCKRUN" -k "$KEY" -nq true; echo $?
		env -u RLOCKRUN_HELD "$RLOCKRUN" -k "$other" -nq true; echo $?'\'
	echo "$output"
	[[ $output == "$other"$'\n2\nboth\n75\n75' && -z $(keys_left) ]]
}

@test "nested in any name: RLOCKRUN_HELD is printable ASCII" {
	for name in 'a b' 'a%b' '%20' $'line\nfeed' 'ü/日本' ' ' '%' "it's" 'a:b' ':' \
		$'tab\t' $'\x01\xff' "$(printf %0500d 0)"; do
		KEY=$name:test:nested:$BATS_TEST_NUMBER
		run -0 --separate-stderr rl sh -c '"$RLOCKRUN" -k "$KEY" -n sh -c '\''echo "$RLOCKRUN_HELD"'\'
		[[ ${#lines[@]} == 1 && $output =~ ^x:[0-9a-f-]{36}:[!-~]+$ ]]
		[[ $(cli exists "$KEY") == 0 ]]
	done
}

@test "nested without RLOCKRUN_HELD: it says that it waits for an outer run" {
	local hint="\"$KEY\" is held by an outer run of this one; RLOCKRUN_HELD is missing"
	run -75 rl sh -c 'env -u RLOCKRUN_HELD "$RLOCKRUN" -n -k "$KEY" true'
	[[ $output == *"$hint"*"; command not started"* ]]
	outer 'env -u RLOCKRUN_HELD "$RLOCKRUN" -k "$KEY" true'
	wait_until grep -qF "$hint" "$ERR"
	kill -TERM "$PID"
	exits_with 143 "$PID"
	# Neither is one that is no descendant of the holder, nor another lock's.
	hold
	run -75 rl -n true
	[[ $output != *"outer run"* ]]
	run -75 timeout 20 "$RLOCKRUN" -k "$KEY:2" sh -c 'env -u RLOCKRUN_HELD "$RLOCKRUN" -n -k "$KEY" true'
	[[ $output != *"outer run"* ]]
	touch "done"
}

# --- --min-hold -------------------------------------------------------------------

@test "S25: --min-hold lasts when a nested run outlives the outer one" {
	for option in -x -p1; do
		rm -f in.*
		outer "sh ./leave -v $option"' -k "$KEY" sh ./nest in; "$A_JOB" until:in.pid' -v $option --min-hold 1h
		exits_with 0 "$PID"
		grep -q ": still held by other runs$" "$ERR"
		touch in.go
		wait_until gone "$(<leave.rlockrun)"
		grep -q ": kept until ..:..:..$" leave.err
		run -75 rl -n $option true
		[[ $output == *"is kept for "* ]]
		(($(left_ms) > 3500000))
		cli del "$KEY" "{$KEY}:rlk:i"
		STARTED=()
	done
}

@test "S25: a leftover child of a job under --min-hold is a run of its own" {
	for option in -x -p1; do
		rm -f late.*
		run -0 --separate-stderr rl -v $option --min-hold 30 sh -c 'echo "$RLOCKRUN_HELD" >held'
		[[ $stderr == *": kept until "??:??:?? ]]
		export RLOCKRUN_HELD
		RLOCKRUN_HELD=$(<held)
		run -75 rl $option -n -t 10m touch ran
		[[ $output == *"is kept for "* && ! -e ran ]]
		(($(left_ms) < 95000))
		unset RLOCKRUN_HELD
		cli del "$KEY" "{$KEY}:rlk:i"
	done
}

# --- who ends first ---------------------------------------------------------------

@test "B2: a nested run that outlives the outer keeps the lock, then frees it" {
	outer 'sh ./leave -k "$KEY" sh ./nest in; "$A_JOB" until:in.pid'
	exits_with 0 "$PID"
	run -75 rl -n true
	[[ $(cli get "$KEY") == "$(<in.token)" ]]
	# It renews, also now.
	is_renewed
	start "$RLOCKRUN" -k "$KEY" -- sh -c 'echo ran >ran'
	wait_until eval '(($(cli zcard "{$KEY}:rlk:q") == 1))'
	touch in.go
	wait_for_file ran
	exits_with 0 "$PID"
	wait_until gone "$(<leave.rlockrun)"
	[[ ! -s leave.err && -z $(keys_left) ]]
}

@test "kill -9 of the outer: all that runs inside dies, and the next runs" {
	outer '"$RLOCKRUN" -k "$KEY" sh ./nest in'
	wait_for_file in.pid
	kill -KILL "$PID"
	wait_until gone "$(<in.pid)"
	start "$RLOCKRUN" -k "$KEY" -- true
	wait_for_file "$ERR"
	end_lease
	exits_with 0 "$PID"
}

# --- the environment ------------------------------------------------------------

@test "an environment that has leaked to a daemon: it takes the lock normally" {
	run -0 rl sh -c 'echo "$RLOCKRUN_HELD" >held'
	export RLOCKRUN_HELD
	RLOCKRUN_HELD=$(<held)
	run -0 rl sh -c 'echo "$RLOCKRUN_TOKEN"'
	[[ $output != "${RLOCKRUN_HELD%%:*}" && ${#output} == 36 ]]
	env -u RLOCKRUN_HELD "$RLOCKRUN" -k "$KEY" sh ./nest other 3>&- &
	STARTED+=("$!")
	wait_for_file other.pid
	run -75 rl -n true
	start "$RLOCKRUN" -k "$KEY" -- touch ran
	wait_until eval '(($(cli zcard "{$KEY}:rlk:q") == 1))'
	[[ ! -e ran ]]
	touch other.go
	exits_with 0 "$PID"
	[[ -e ran && -z $(keys_left) ]]
}

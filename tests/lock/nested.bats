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

# Nothing is left but the places of nested runs that could not leave, for their time.
only_places_left() {
	local key
	keys_left | grep -v ':rlk:n:' && return 1
	for key in $(keys_left); do
		ask pttl "$key"
		((REPLY > 0 && REPLY <= 10 * 60000)) || return
	done
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

@test "nested with -n, -w, --max-waiters 0, and three levels deep" {
	for options in -n '-w 0' '-w 5' '--max-waiters 0'; do
		# shellcheck disable=SC2086 # several words
		run -6 rl sh -c '"$RLOCKRUN" -k "$KEY" "$@" sh -c "exit 6"' - $options
		[[ -z $output ]]
	done
	level='exec "$RLOCKRUN" -k "$KEY" -n sh -c'
	run -3 rl -n sh -c "$level '$level \"exit 3\"'"
	[[ -z $output && -z $(keys_left) ]]
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

@test "nested in another name: two locks; and in both, two levels deeper" {
	export other=$KEY:other
	run -0 rl sh -c '"$RLOCKRUN" -k "$other" sh -c '\''
		echo "$RLOCKRUN_KEY"
		echo "$RLOCKRUN_HELD" | wc -w
		"$RLOCKRUN" -k "$KEY" -n true && "$RLOCKRUN" -k "$other" -n true && echo both
		env -u RLOCKRUN_HELD "$RLOCKRUN" -k "$KEY" -nq true; echo $?
		env -u RLOCKRUN_HELD "$RLOCKRUN" -k "$other" -nq true; echo $?'\'
	echo "$output"
	[[ $output == "$other"$'\n2\nboth\n75\n75' ]]
	[[ -z $(keys_left) ]]
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

@test "the nested run's status is its job's, and the outer's its own" {
	run -9 rl sh -c '"$RLOCKRUN" -k "$KEY" sh -c "exit 7"; [ $? = 7 ] && exit 9'
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

@test "kill -9 of a nested run: the outer goes on, and the lock ends with its ttl" {
	outer '"$RLOCKRUN" -k "$KEY" sh ./nest in & echo $! >nested; wait; echo on >on
		"$A_JOB" until:go'
	holder=$PID
	wait_for_file in.pid
	wait_for_file nested
	kill -KILL "$(<nested)"
	wait_until gone "$(<in.pid)"
	wait_for_file on
	run -75 rl -n true
	start "$RLOCKRUN" -k "$KEY" -- true
	touch go
	exits_with 0 "$holder"
	end_lease
	exits_with 0 "$PID"
	only_places_left
}

# --- loss -------------------------------------------------------------------------

@test "a lock that is lost is lost for both" {
	outer '"$RLOCKRUN" -t 9 -k "$KEY" sh ./nest in; echo $? >in.code' -t 60
	wait_for_file in.pid
	cli set "$KEY" other PX 60000
	wait_for_file in.code
	[[ $(<in.code) == 79 ]]
	exits_with 79 "$PID"
	[[ $(cli get "$KEY") == other ]]
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

@test "garbage in RLOCKRUN_HELD is passed over" {
	long=$(printf %0100000d 0)
	uuid=00000000-0000-4000-8000-000000000000
	for held in '' ' ' : "$uuid" "$uuid:" ":$KEY" "x:$KEY" "$uuid:$KEY" "$uuid $KEY" \
		"$uuid:$KEY:" "$long" "$uuid:$long" $'\n\e\xff' "$uuid:%" "$uuid:%zz" '%s%n' \
		"$uuid:$KEY $uuid:$KEY" "${uuid//0/%}:$KEY" "${uuid//0/ü}:$KEY"; do
		RLOCKRUN_HELD=$held run -0 rl -n sh -c 'echo "$RLOCKRUN_TOKEN"'
		[[ ${#lines[@]} == 1 && ${#output} == 36 && $output != "$uuid" ]]
	done
	[[ -z $(keys_left) ]]
}

@test "nested on another server is another lock" {
	own_server
	here=$RLOCKRUN_REDIS
	suite=unix://$BATS_FILE_TMPDIR/redis/s
	run -0 rl sh -c 'echo "$RLOCKRUN_TOKEN"; "$RLOCKRUN" -r "$0" -k "$KEY" -n sh -c "echo \$RLOCKRUN_TOKEN"' "$suite"
	[[ ${lines[0]} != "${lines[1]}" && ${#lines[1]} == 36 ]]
	[[ -z $(keys_left) && $RLOCKRUN_REDIS == "$here" ]]
}

@test "a server that doesn't let nested runs be counted" {
	cli acl setuser "$KEY" on '>secret' '~*' +@all -sadd
	url=unix://${KEY//:/%3a}:secret@$SUITE_DIR/s
	run -4 rl -r "$url" sh -c '"$RLOCKRUN" -r "$0" -k "$KEY" sh -c "exit 4"' "$url"
	[[ ${#lines[@]} == 1 && $output == *": the outer run cannot see this one: error from "*"(SADD) "* ]]
	cli acl deluser "$KEY"
	[[ -z $(keys_left) ]]
}

#!/usr/bin/env bats
# --hold: a lock without a job, for maintenance.
# shellcheck disable=SC2034,SC2154 # helpers and run set and use these

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/admin
load ../helpers/queue
load ../helpers/signals

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	export LOGNAME=deploy
	I="{$KEY}:rlk:i"
}
teardown() {
	cli del "$KEY" "$I" >/dev/null
	end_test
}

# keep DUR [OPTION...]: a hold of KEY; TOKEN is what it printed.
keep() {
	run -0 --separate-stderr rl --hold "$@"
	TOKEN=$output
	[[ $TOKEN =~ ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$ && -z $stderr ]]
	[[ $(cli get "$KEY") == "$TOKEN" ]]
}

# ends_at FORMAT [SECONDS]: the wall clock's time of the end of the lease, or so much
# later. The server's clock is this machine's.
ends_at() {
	local at
	at=$(cli eval 'local time = redis.call("TIME")
		return time[1] * 1000 + math.floor(time[2] / 1000) + redis.call("PTTL", KEYS[1])' 1 "$KEY")
	date -d "@$((at / 1000 + ${2:-0}))" "+$1"
}

is_end() {
	[[ $1 == "$(ends_at %T)" || $1 == "$(ends_at %T 1)" ]]
}

# is_shown OUTPUT: the hold, its user, its label and its end.
is_shown() {
	[[ $1 =~ "$(uname -n) (deploy, \"db migration\") since "..:..:..", until "(..:..:..) ]]
	is_end "${BASH_REMATCH[1]}"
}

# --- what it is ---------------------------------------------------------------------

# bats test_tags=smoke
@test "the token alone is printed, and the lock stays when the process has ended" {
	keep 2h
	left_above 7190000
	left_below 7200001
	[[ $(cli strlen "$KEY") == 36 ]]
	run -75 rl -n touch ran
	[[ ! -e ran ]]
	[[ -z $(cli set "$KEY" other nx px 1000) ]]
}

# bats test_tags=native
@test "no process is started for it" {
	need_strace
	strace -f -o trace -e trace=clone,clone3,fork,vfork,execve \
		"$RLOCKRUN" -k "$KEY" --hold 60 >token
	[[ $(<token) == "$(cli get "$KEY")" ]]
	[[ $(grep -c 'execve(' trace) == 1 ]]
	run ! grep -E 'fork\(|clone3?\(' trace
}

@test "a name that looks like a glob is held with a warning, and extended without one" {
	for name in "$KEY:*" "$KEY-?" "$KEY-[12]"; do
		run -0 --separate-stderr rlockrun --hold 60 -k "$name"
		[[ ${stderr_lines[*]} == "rlockrun: \"$name\": --hold uses this as a plain name and expands no globs" ]]
		[[ $output == "$(cli get "$name")" ]]
		run -0 --separate-stderr rlockrun --hold 90 --token "$output" -k "$name"
		[[ -z $stderr ]]
		run -75 rlockrun -n -k "$name" true
		[[ $output != *glob* ]]
		cli del "$name" >/dev/null
	done
	run -0 --separate-stderr rlockrun --hold 60 -k "$KEY-]{}"
	[[ -z $stderr ]]
}

@test "-v: on which server, and until when" {
	run -0 --separate-stderr rl --hold 2h -v
	[[ ${stderr_lines[0]} == "rlockrun: \"$KEY\": acquired on "* ]]
	[[ ${stderr_lines[1]} =~ ^"rlockrun: \"$KEY\": held until "(..:..:..)$ ]]
	is_end "${BASH_REMATCH[1]}"
}

# --- waiting ------------------------------------------------------------------------

@test "--force-release with the token wakes the next waiter at once" {
	keep 1h
	enqueue A
	run -0 rlockrun --force-release --token "$TOKEN" -k "$KEY"
	touch go
	all_end_well
	wait_until none_left
}

# bats test_tags=smoke
@test "a signal ends the wait, and the waiter leaves the queue" {
	hold
	for signal in TERM INT; do
		launch --hold 1h
		wait_until are_queued 1
		kill -"$signal" "$PID"
		ended_by "signal $signal"
		are_queued 0
	done
	run ! grep -h . out.*
	touch "done"
	exits_with 0 "${STARTED[0]}"
	[[ -z $(keys_left) ]]
}

@test "on a terminal the token stands alone on its line" {
	hold
	start env TERM=xterm "$HELPERS/on-pty" screen -- "$RLOCKRUN" -k "$KEY" --hold 1h
	wait_until grep -q 'waiting' screen
	touch "done"
	exits_with 0 "$PID"
	token=$(cli get "$KEY")
	[[ $(<screen) == *$'\r\e[K'"$token"$'\r' ]]
}

# --- the token cannot be printed ----------------------------------------------------

# bats test_tags=smoke
@test "a token that cannot be printed undoes the hold: 71" {
	enqueue_after() {
		run -0 rl -n true
		[[ -z $(keys_left) ]]
	}
	code=0
	rl --hold 1h >/dev/full 2>err || code=$?
	[[ $code == 71 && $(<err) == "rlockrun: \"$KEY\": cannot write the token to stdout: No space left on device; releasing the lock" ]]
	enqueue_after
	code=0
	rl --hold 1h >&- 2>err || code=$?
	[[ $code == 71 && $(<err) == *"Bad file descriptor; releasing the lock" ]]
	enqueue_after
	{
		wait_for_file closed
		rl --hold 1h 2>err || echo $? >code
	} | {
		exec <&-
		echo >closed
	}
	[[ $(<code) == 71 && $(<err) == *"Broken pipe; releasing the lock" ]]
	enqueue_after
}

# full_pipe DUR: a hold that cannot print, as `pipe` takes no more.
full_pipe() {
	mkfifo pipe
	exec 8<>pipe
	dd if=/dev/zero of=pipe bs=4096 oflag=nonblock status=none 2>/dev/null || true
	# shellcheck disable=SC2016
	start sh -c 'exec "$RLOCKRUN" -k "$KEY" --hold "$1" >pipe 8>&-' sh "$1"
	wait_until is_held
}

@test "between grant and print: a signal undoes the hold" {
	full_pipe 1h
	wait_until left_above 3500000
	kill -TERM "$PID"
	exits_with 143 "$PID"
	exec 8>&-
	[[ -z $(keys_left) ]]
	[[ $(cli exists "{$KEY}:rlk:r") == 0 ]] # it was no run
}

@test "between grant and print: a full pipe that is read gets the token" {
	full_pipe 1h
	wait_until left_above 3500000
	is_running "$PID"
	head -c 65536 <&8 >/dev/null
	exits_with 0 "$PID"
	read -r token <&8
	exec 8>&-
	[[ $token == "$(cli get "$KEY")" ]]
}

# --- extending ----------------------------------------------------------------------

# bats test_tags=smoke
@test "--token extends the hold from now, and keeps its label" {
	keep 10s --label 'db migration'
	run -0 rl --hold 5h --token "$TOKEN"
	[[ -z $output ]]
	left_above 17990000
	left_below 18000001
	(($(cli pttl "$I") > 18000000))
	[[ $(cli get "$KEY") == "$TOKEN" ]]
	run -75 rl -n true
	is_shown "$output"
}

@test "--token: where rules deny the record, the token is enough" {
	not_over sentinel cluster
	keep 1h
	cli del "$I"
	run -0 rl --hold 5h --token "$TOKEN"
	left_above 17990000
}

# --- inside a job -------------------------------------------------------------------

@test "inside a job that holds the lock: 64, because it would wait for itself" {
	for kind in --exclusive --shared; do
		# shellcheck disable=SC2016
		run -64 rl "$kind" -- sh -c '"$RLOCKRUN" -k "$KEY" --hold 1h'
		[[ $output == "rlockrun: \"$KEY\" is held "*" by the outer run, which would wait for itself" ]]
	done
	[[ -z $(keys_left) ]]
	# What has ended meanwhile is no reason.
	RLOCKRUN_HELD="x:0b24d5c6-9d10-4a4e-8f2c-0d4d1f9a3c55:$KEY" keep 1h
}

# --- options ------------------------------------------------------------------------

@test "variables of runs change nothing about a hold; several servers: 78" {
	RLOCKRUN_SHARED=yes RLOCKRUN_TTL=10h RLOCKRUN_ON_UNAVAILABLE=run RLOCKRUN_SPLAY=10h \
		RLOCKRUN_MIN_HOLD=10h keep 1h
	[[ $(cli type "$KEY") == string ]]
	left_below 3600001
	RLOCKRUN_REDIS="unix://$PWD/a unix://$PWD/b" run -78 rl --hold 1h
	[[ $output == *"--hold needs a single server"* ]]
}

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

# --- waiting ------------------------------------------------------------------------

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

renewals() {
	[[ $(cli info commandstats) =~ cmdstat_pexpire:calls=([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

have_passed() { (($(renewals) >= $1)); }

# bats test_tags=night
@test "a hold that cannot print yet is renewed, beyond its first lease, and prints then" {
	full_pipe 10s
	wait_until have_passed $(($(renewals) + 4)) # of which three fit into a lease
	tr -d '\0' <pipe >token 8>&- &
	exec 8>&-
	exits_with 0 "$PID"
	wait_until grep -q - token
	[[ $(<token) == "$(cli get "$KEY")" ]]
}

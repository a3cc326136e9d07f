#!/usr/bin/env bats
# Cleaners of CI agents: they end the processes of a cancelled step, which they
# know by a variable in /proc/PID/environ. Scenario S45.
# shellcheck disable=SC2016 # the steps' shells are to expand that

load ../helpers/suite

setup() {
	begin_test
	need_other_user
	chown "$OTHER_USER" .
	start_tcp_server "$PWD/own" 127.0.0.1
	export RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
}

teardown() { end_test; }

# step COMMAND: in a shell of the other user's, in whose place no rlockrun is.
step() {
	start setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups \
		env RUNNER_TRACKING_ID=step sh -c "$1; echo over >over"
}

# clean SIGNAL: what an agent of that user does with its cancelled step. The shell comes
# first, so that it does not go on while rlockrun has ended.
clean() {
	as_other_user bash -c 'found=()
	for process in /proc/[0-9]*; do
		[[ -O $process && $process != "/proc/$1" ]] || continue
		grep -qzx RUNNER_TRACKING_ID=step "$process/environ" 2>/dev/null || continue
		found+=("${process#/proc/}")
	done
	kill -s "$0" "$@" "${found[@]}"' "$1" "$PID"
}

# find_rlockrun: the child of the step's shell; into WRAPPER, and its guard.
find_rlockrun() {
	read -r WRAPPER _ <"/proc/$PID/task/$PID/children" || [[ $WRAPPER ]]
	find_guard "$WRAPPER"
}

can_read() { as_other_user cat "/proc/$1/environ" >/dev/null 2>&1; }

@test "S45: a waiter whose step was cancelled is gone, and nothing starts later" {
	start "$RLOCKRUN" -k "$KEY" -- "$A_JOB" held=%p until:done
	holder=$PID
	wait_for_file held
	step './rlockrun -k "$KEY" -- touch deployed'
	wait_until grep -q waiting "$ERR"
	wait_until find_rlockrun
	clean TERM
	wait_until gone "$PID"
	wait_until gone "$WRAPPER"
	wait_until gone "$GUARD"
	touch "done"
	exits_with 0 "$holder"
	rl -w 60 true
	[[ ! -e deployed && ! -e over ]]
}

@test "S45: a job without the variable ends with its rlockrun, by the guard" {
	step './rlockrun -k "$KEY" -- env -i sh -c "echo \$\$ >job; while :; do /bin/sleep 0.05; done"'
	wait_for_file job
	find_rlockrun
	can_read "$WRAPPER"
	run ! can_read "$GUARD"
	clean KILL
	for pid in "$PID" "$WRAPPER" "$(<job)" "$GUARD"; do
		wait_until gone "$pid"
	done
	[[ ! -e over ]]
}

@test "S45: with a password, or the key of a certificate, nobody reads rlockrun" {
	redis-cli -s own/s config set requirepass hush
	export RLOCKRUN_PASSWORD=hush
	step './rlockrun -k "$KEY" -- sh -c "echo >job; until [ -e done ]; do sleep 0.05; done"'
	wait_for_file job
	find_rlockrun
	run ! can_read "$WRAPPER"
	run ! can_read "$GUARD"
	touch "done"
	wait_for_file over
	rm job "done" over
	unset RLOCKRUN_PASSWORD
	make_certificates
	start_tls_server "$PWD/tls" server
	export RLOCKRUN_REDIS=rediss://localhost:$PORT RLOCKRUN_TLS_CA=$CERTIFICATES/ca.crt
	chmod -R o+rX "$BATS_FILE_TMPDIR"
	for RLOCKRUN_TLS_CERT in '' "$CERTIFICATES/client.crt"; do
		export RLOCKRUN_TLS_CERT RLOCKRUN_TLS_KEY=${RLOCKRUN_TLS_CERT/%crt/key}
		step './rlockrun -k "$KEY" -- sh -c "echo >job; until [ -e done ]; do sleep 0.05; done"'
		wait_for_file job
		find_rlockrun
		if [[ $RLOCKRUN_TLS_CERT ]]; then
			run ! can_read "$WRAPPER"
		else
			can_read "$WRAPPER"
		fi
		touch "done"
		wait_for_file over
		rm job "done" over
	done
}

#!/usr/bin/env bats
# The guard: the job never outlives rlockrun, nor its lease when rlockrun itself
# can't act. Promises 2 and 3, scenario S22 and half of S6.
# shellcheck disable=SC2016,SC2153 # the jobs expand it; find_guard sets GUARD
# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/guard

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_guard_test; }
teardown() { end_guard_test; }

# --- kill -9 of rlockrun ----------------------------------------------------

@test "S22: kill -9 of rlockrun ends a plain job" {
	launch -- sh -c 'echo >ready; exec sleep 60'
	wait_for_file below/ready
	all_gone_after_kill
	# Nobody could free the lock: it is left to its lease.
	is_held
	cli del "$KEY" >/dev/null
}

@test "S22: kill -9 ends a job with its shell's children and theirs" {
	launch -- bash -c '(sleep 60 & sleep 61 | (sleep 62; :) ) & bash -c "timeout 60 sleep 63; :" & wait'
	# timeout(1) has a group of its own.
	wait_until more_alive_than 10
	all_gone_after_kill
}

@test "S22: kill -9 ends the job also when rlockrun and the guard are stopped" {
	launch -- sh -c 'echo >ready; exec sleep 60'
	wait_for_file below/ready
	# In this order: a stopped guard is continued.
	kill -STOP "$RUN"
	wait_until is_stopped "$RUN"
	kill -STOP "$GUARD"
	wait_until is_stopped "$GUARD"
	all_gone_after_kill
}

# Forks, makes a session, forks again and lets its parents end.
DAEMON='import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(1)
        open("daemon", "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
os.wait()'

@test "S22: kill -9 ends double-forked daemons" {
	launch -- sh -c "/usr/bin/python3 -S -c '$DAEMON'; echo >ready; exec sleep 60"
	wait_for_file below/ready
	wait_for_file below/daemon
	is_child_of "$(<below/daemon)" "$GUARD"
	all_gone_after_kill
}

@test "S22: kill -9 ends what ignores all signals" {
	launch -- sh -c 'trap "" TERM INT HUP QUIT USR1 USR2; (trap "" TERM; sleep 60; :) & echo >ready; while :; do sleep 1; done'
	wait_for_file below/ready
	all_gone_after_kill
}

@test "S22: kill -9 of rlockrun's whole process group" {
	launch -- sh -c 'setsid sleep 60 & timeout 60 sleep 61 & echo >ready; wait'
	wait_for_file below/ready
	wait_until is_apart "$GUARD"
	all_gone_after_kill "-$RUN"
}

# A guard leaves the group when the job is executed, which may write before.
is_apart() { [[ $(ps -o sid= -p "$1" | tr -d ' ') == "$1" ]]; }

@test "S22: kill -9 of the whole process group on a terminal, where the job is in it" {
	start env -C below --default-signal "$HELPERS/on-pty" ../tty -- \
		bash -mc "'$RLOCKRUN' -k '$KEY' -- sh -c 'setsid sleep 60 & timeout --foreground 60 sleep 61 & echo >ready; wait' & echo \$! >pid; wait"
	wait_for_file below/ready
	wait_for_file below/pid
	wait_until find_guard "$(<below/pid)"
	wait_until is_apart "$GUARD"
	kill -KILL "-$(<below/pid)"
	until_gone none_alive_but_pty
}

# The driver and its shell live in that folder, too.
none_alive_but_pty() {
	! alive | while read -r pid; do cat "/proc/$pid/comm"; done |
		grep -qvxE 'python3|on-pty|bash'
}

# Two shells beside the command that never stop; a test that fails must not leave
# them for ever.
FORKING='forks() {
	while ((SECONDS < 30)); do
		(sleep 0.02 &)
		(sleep 0.01; (sleep 0.05 &)) &
	done
}
forks & forks & echo >ready; wait'

@test "S22: kill -9 ends a job that keeps forking" {
	launch -- bash -c "$FORKING"
	wait_for_file below/ready
	wait_until more_alive_than 10
	all_gone_after_kill
	none_alive
}

@test "S22: kill -9 of a waiter leaves no process" {
	hold
	for _ in {1..5}; do
		launch -- sh -c 'echo ran >../ran'
		kill -KILL "$RUN"
	done
	until_gone none_alive
	touch ./done
	exits_with 0 "${STARTED[0]}"
	[[ ! -e ran ]]
}

@test "S22: kill -9 while the lock is being asked for leaves no process" {
	local i
	for i in {1..10}; do
		start env -C below "$RLOCKRUN" -k "$KEY:$i" -t 2 -- sleep 60
		kill -KILL "$PID"
	done
	until_gone none_alive
}

@test "S22: nothing is left as a zombie" {
	local guard
	launch -- bash -c 'for i in {1..5}; do setsid sleep 60 & done; echo >ready; wait'
	wait_for_file below/ready
	guard=$GUARD
	all_gone_after_kill
	wait "$RUN" || :
	wait_until none_left_in_sessions "$RUN,$guard"
}

# A zombie has no folder, but it keeps its session. What init has not reaped yet
# is its affair.
none_left_in_sessions() {
	[[ -z $(ps -o ppid= -g "$1" | awk '$1 != 1') ]]
}

# --- the guard itself -------------------------------------------------------

@test "the guard has a name of its own in ps, and a session of its own" {
	launch -- "$A_JOB" ready=%p until:done
	wait_for_file below/ready
	[[ $(ps -o comm= -p "$GUARD") == rlockrun-guard ]]
	[[ $(ps -o ppid= -p "$GUARD") -eq $RUN ]]
	wait_until is_apart "$GUARD"
	[[ $(ps -o sid= -p "$RUN") -ne $GUARD ]]
	[[ $(ps -o comm= --ppid "$GUARD") == job ]]
	touch below/done
	exits_with 0 "$RUN"
}

@test "the guard holds no descriptor but its socket, its timer and two of procfs" {
	launch -- "$A_JOB" ready=%p until:done 7<"$BATS_TEST_FILENAME"
	wait_for_file below/ready
	wait_until_guard_has_closed_others
	touch below/done
	exits_with 0 "$RUN"
}

@test "the guard ignores TERM, INT, HUP and all else that can be ignored" {
	local name
	launch -- "$A_JOB" ready=%p until:done exit:3
	wait_for_file below/ready
	for name in TERM INT HUP QUIT USR1 USR2 ALRM PIPE TSTP TTIN TTOU CONT WINCH PROF RTMAX; do
		kill -s "$name" "$GUARD"
	done
	run ! gone "$GUARD"
	touch below/done
	exits_with 3 "$RUN"
	is_free
}

@test "SIGSTOP of the guard: it is continued" {
	launch -- "$A_JOB" ready=%p until:done exit:3
	wait_for_file below/ready
	kill -STOP "$GUARD"
	wait_until guard_sleeps
	kill -STOP "$GUARD"
	wait_until guard_sleeps
	all_gone_after_kill
}

guard_sleeps() { has_state S "$GUARD"; }

@test "S22: kill -9 of the guard: all of the job is gone, the lock freed, 71" {
	launch -- sh -c 'setsid sleep 60 & timeout 60 sleep 61 & echo >ready; wait'
	wait_for_file below/ready
	all_gone_after_kill "$GUARD"
	exits_with 71 "$RUN"
	grep -q "guard was killed" err.1
	is_free
	[[ -z $(keys_left) ]]
}

@test "kill -9 of a waiter's guard: 71 at once, no job" {
	hold
	launch -- sh -c 'echo ran >../ran'
	kill -KILL "$GUARD"
	until_gone gone "$RUN"
	exits_with 71 "$RUN"
	[[ $(tail -n 1 err.2) == *"the job cannot be guarded: the guard was killed; command not started" ]]
	touch ./done
	exits_with 0 "${STARTED[0]}"
	[[ ! -e ran ]]
}

# bats test_tags=native
@test "the end of the guard is noticed once, however long the release takes" {
	need_strace
	own_server
	# shellcheck disable=SC2016
	start strace -qq -o polls -e 'trace=?poll,?ppoll' "$RLOCKRUN" -k "$KEY" -t 3 -- \
		sh -c 'kill -STOP "$0"; exit 3' "$(<own/pid)"
	wait_until gone "$PID"
	thaw
	wc -l <polls
	(($(wc -l <polls) < 200))
}

@test "only rlockrun itself holds a waiter's connection" {
	local pid
	start env -C below sleep 60
	descriptors_of "$PID" >inherited
	kill "$PID"
	wait_until none_alive
	hold
	launch -- true
	wait_until grep -q waiting err.3
	descriptors_of "$RUN" >rlockruns
	[[ $(grep -c '^socket:' rlockruns) == 2 ]] # the server's and the guard's
	for pid in $(alive); do
		[[ $pid != "$RUN" ]] || continue
		wait_until holds_nothing_of_rlockrun "$pid"
	done
	touch ./done
	exits_with 0 "$RUN"
}

# The job inherits what rlockrun has: until then the guard keeps it.
holds_nothing_of_rlockrun() {
	descriptors_of "$1" >others
	! grep -qxF -f <(grep '^socket:' rlockruns) others || return 1
	[[ $(comm -13 inherited others | sed 's/[0-9]\+//g') == "$GUARDS_OWN" ]]
}

descriptors_of() {
	find "/proc/$1/fd" -type l -printf '%l\n' | grep -v "$BATS_TEST_TMPDIR" | sort
}

@test "what the command left running is not the guard's any more when it has ended" {
	start env -C below "$RLOCKRUN" -k "$KEY" -- \
		sh -c '(until [ -e done ]; do sleep 0.05; done) & echo $! >worker; echo $PPID >guard'
	exits_with 0 "$PID"
	gone "$(<below/guard)"
	run ! gone "$(<below/worker)"
	[[ $(count_alive) -le 2 ]] # it, and what it sleeps with
	touch below/done
}

# end_while_stopped [OPTION...]: while rlockrun is stopped the command ends with
# status 7. What it leaves, a pid in `left`, goes on.
end_while_stopped() {
	launch "$@" -- sh -c 'sleep 60 & echo $! >left
		until [ -e done ]; do sleep 0.02; done; echo $$ >ends; exit 7'
	wait_for_file below/left
	kill -STOP "$RUN"
	touch below/done
	wait_for_file below/ends
	wait_until command_reaped
}

command_reaped() { [[ ! -e /proc/$(<below/ends) ]]; }

@test "the guard is killed after the command has ended: the command's status" {
	end_while_stopped
	kill -KILL "$GUARD"
	wait_until gone "$GUARD"
	kill -CONT "$RUN"
	exits_with 7 "$RUN"
	is_free
	run ! gone "$(<below/left)"
	kill "$(<below/left)"
}

@test "the guard is killed after the command has ended on TERM: that status, nothing left" {
	launch -- sh -c 'trap "echo >told" TERM; sleep 60 & echo $! >left
		until [ -e done ]; do sleep 0.02; done; echo $$ >ends; exit 7'
	wait_for_file below/left
	kill -TERM "$RUN"
	wait_for_file below/told
	kill -STOP "$RUN"
	touch below/done
	wait_for_file below/ends
	wait_until command_reaped
	kill -KILL "$GUARD"
	wait_until gone "$GUARD"
	kill -CONT "$RUN"
	exits_with 7 "$RUN"
	none_alive
	is_free
}

@test "the lease ends after the command, while rlockrun is stopped: the command's status" {
	end_while_stopped -t 3
	wait_until is_free
	wait_until none_but_run
	kill -CONT "$RUN"
	exits_with 7 "$RUN"
	none_alive
}

none_but_run() { [[ $(alive) == "$RUN" ]]; }

# --- what the job does to /proc ---------------------------------------------

# bats test_tags=native
@test "a file system mounted over /proc hides nothing from the guard" {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	launch_with_limit --kill-after 0.2
	exits_with 124 "$RUN"
	none_alive
	is_free
}

# bats test_tags=night,native
@test "a file system mounted over /proc hides nothing when the guard is killed" {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	launch_under_tmpfs
	all_gone_after_kill "$GUARD"
	exits_with 71 "$RUN"
	is_free
}

# bats test_tags=native
@test "a child in a session of its own gets TERM below a /proc that is covered" {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	launch_with_limit --kill-after 20
	until_gone gone "$RUN"
	exits_with 124 "$RUN"
	[[ $(<below/term) == yes ]]
}

# launch_under_tmpfs [OPTION...]: as launch. The job covers /proc and leaves a
# child in a session of its own.
launch_under_tmpfs() {
	rm -f below/ready
	start env -C below --default-signal unshare -m "$RLOCKRUN" -k "$KEY" "$@" -- \
		sh -c 'mount -t tmpfs none /proc || exit 9
			setsid sh -c "trap \"echo yes >term; exit\" TERM; echo >ready; while :; do sleep 0.05; done" &
			exec sleep 60'
	RUN=$PID
	wait_until eval '[[ -s below/ready ]] || gone "$RUN"'
	[[ -s below/ready ]] && find_guard "$RUN"
}

# launch_with_limit OPTION...: the same, with a --max-run that is not over before the
# job has got that far.
launch_with_limit() {
	local limit
	for limit in 0.5 5 50; do
		! launch_under_tmpfs --max-run "$limit" "$@" || return 0
	done
	return 1
}

# --- the lease's end, without rlockrun --------------------------------------

# On the server the lease lasts longer than rlockrun may count on.
@test "S6: rlockrun stopped beyond the lease: the guard kills the job before it ends" {
	launch -t 3 -- sh -c 'trap "" TERM; setsid sleep 60 & echo >ready; sleep 61; :'
	wait_for_file below/ready
	wait_until three_in_job
	kill -STOP "$RUN"
	cli pexpire "$KEY" 600000
	until_gone none_but_run
	is_held
	cli del "$KEY"
	run -0 rl true
	kill -CONT "$RUN"
	exits_with 79 "$RUN"
}

three_in_job() { [[ $(job_alive | wc -l) == 3 ]]; }

# --- as process 1 -----------------------------------------------------------

need_pid_namespace() {
	unshare --fork --pid --mount-proc true 2>/dev/null ||
		skip "a pid namespace takes privileges"
}

@test "as process 1 of a namespace: the job's code, and orphans are reaped" {
	need_pid_namespace
	run -23 env -C below unshare --fork --pid --mount-proc "$RLOCKRUN" -k "$KEY" -- \
		bash -c 'for i in {1..20}; do (setsid true & setsid sleep 0.02 &); done
			until [[ -z $(ps -e -o stat=,comm= | grep -E "^Z|sleep") ]]; do
				sleep 0.05
			done
			ps -e -o pid=,ppid=,stat=,comm= >processes
			exit 23'
	run ! grep -E ' Z| sleep' below/processes
	run -143 unshare --fork --pid --mount-proc "$RLOCKRUN" -k "$KEY" -- sh -c 'kill -TERM $$'
	grep -Eq '^ *1 +0 .* rlockrun$' below/processes
	is_free
	none_alive
}

@test "as process 1: TERM reaches the job" {
	need_pid_namespace
	start env -C below unshare --fork --pid --mount-proc "$RLOCKRUN" -k "$KEY" -- \
		bash -c 'trap "exit 9" TERM; echo >ready; while :; do sleep 0.02; done'
	wait_for_file below/ready
	kill -TERM "$(ps -o pid= --ppid "$PID" | tr -d ' ')"
	exits_with 9 "$PID"
	is_free
}

# bats test_tags=night
@test "as process 1: kill -9 of the guard ends the job, 71" {
	need_pid_namespace
	start env -C below unshare --fork --pid --mount-proc "$RLOCKRUN" -k "$KEY" -- \
		sh -c 'setsid sleep 60 & echo >ready; exec sleep 60'
	wait_for_file below/ready
	kill -KILL "$(ps -e -o pid=,ppid=,comm= | awk -v run="$(ps -o pid= --ppid "$PID")" '$2 == run + 0 && /rlockrun-guard/ { print $1 }')"
	exits_with 71 "$PID"
	is_free
	none_alive
}

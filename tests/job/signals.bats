#!/usr/bin/env bats
# Signals: they reach the job, each once; the lock outlives the job; a waiter dies
# at once and leaves nothing behind. Promise 5, scenarios P1, P3 and P4.
# shellcheck disable=SC2016 # the jobs' shells are to expand that
# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/signals

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- P1 ---------------------------------------------------------------------

@test "P1: TERM INT HUP QUIT USR1 USR2 WINCH CONT reach the job once each" {
	local name
	launch_counter
	for name in TERM INT HUP QUIT USR1 USR2 WINCH CONT; do
		kill -s "$name" "$PID"
		wait_until got "$name"
	done
	touch count/done
	ended_by "exit 0"
	diff -u - count/got <<<$'TERM\nINT\nHUP\nQUIT\nUSR1\nUSR2\nWINCH\nCONT'
}

@test "P1: all other signals that can be caught reach the job" {
	local name
	launch_counter
	for name in ABRT PIPE ALRM STKFLT TTIN TTOU URG XCPU XFSZ VTALRM PROF IO \
		PWR RTMIN RTMAX; do
		[[ $name != TT* ]] || continue
		kill -s "$name" "$PID"
		wait_until got "${name/#IO/\\(IO\\|POLL\\)}"
	done
	touch count/done
	ended_by "exit 0"
	[[ $(sort count/got | uniq -d) == "" ]]
	[[ $(wc -l <count/got) == 13 ]]
}

@test "P1: two signals at once both reach the job" {
	launch_counter
	kill -STOP "$PID"
	wait_until is_stopped "$PID"
	kill -USR1 "$PID"
	kill -TERM "$PID"
	kill -CONT "$PID"
	wait_until got TERM
	wait_until got USR1
	touch count/done
	ended_by "exit 0"
	[[ $(sort count/got) == $'CONT\nTERM\nUSR1' ]]
}

@test "P1: a burst of one signal reaches the job and ends nothing" {
	launch_counter
	for _ in {1..300}; do
		kill -USR1 "$PID"
	done
	kill -USR2 "$PID"
	wait_until got USR2
	touch count/done
	ended_by "exit 0"
	got USR1
	[[ $(grep -c USR2 count/got) == 1 ]]
}

@test "P1: a real handler runs, and the job's own exit code is reported" {
	launch -- sh -c 'trap "exit 42" TERM; echo >ready; while :; do sleep 0.05; done'
	wait_for_file ready
	kill -TERM "$PID"
	ended_by "exit 42"
	is_free
}

@test "P1: a job without a handler dies by it, and so does rlockrun" {
	local name
	for name in TERM INT USR1; do
		rm -f ready
		launch -- sh -c 'echo >ready; exec sleep 60'
		wait_for_file ready
		kill -s "$name" "$PID"
		ended_by "signal $name"
		is_free
	done
}

@test "a signal to the job alone isn't sent on to others" {
	launch_counter
	kill -USR1 "$JOB"
	wait_until got USR1
	touch count/done
	ended_by "exit 0"
	[[ $(<count/got) == USR1 ]]
}

# --- ignored as inherited ---------------------------------------------------

@test "nohup: HUP isn't forwarded" {
	rm -f end
	mkdir count
	start setsid nohup "$HELPERS/ended" end "$RLOCKRUN" -k "$KEY" -- \
		"$HELPERS/count-signals" count
	wait_for_file end.pid
	wait_for_file count/ready
	kill -HUP "$(<end.pid)"
	kill -USR1 "$(<end.pid)"
	wait_until got USR1
	touch count/done
	ended_by "exit 0"
	[[ $(<count/got) == USR1 ]]
}

# --- P3: a waiter -----------------------------------------------------------

# bats test_tags=smoke
@test "P3: TERM to a waiter: it dies by it and leaves no trace" {
	hold
	list_keys >before
	waiter
	kill -TERM "$PID"
	ended_by "signal TERM"
	list_keys | diff -u before -
	[[ $(count_ours) == 2 ]] # the holder and its guard
	touch ./done
	exits_with 0 "${STARTED[0]}"
	[[ ! -e ran ]]
}

@test "P3: INT HUP QUIT and RTMAX end a waiter, without a core" {
	local name
	ulimit -c unlimited 2>/dev/null || :
	hold
	list_keys >before
	for name in INT HUP QUIT RTMAX; do
		waiter
		kill -s "$name" "$PID"
		ended_by "signal $name"
		list_keys | diff -u before -
	done
	[[ ! -e ran && -z $(find . -name 'core*') ]]
}

# A sanitizer has handlers of its own.
# bats test_tags=night,native
@test "P3: a fault ends a waiter without a core" {
	local name
	ulimit -c unlimited 2>/dev/null || skip "core files can't be allowed here"
	hold
	for name in SEGV SYS; do
		waiter
		kill -s "$name" "$PID"
		ended_by "signal $name"
	done
	[[ ! -e ran && -z $(find . -name 'core*') ]]
}

@test "P3: a waiter that was stopped and continued still gets the lock" {
	hold
	waiter
	kill -TSTP "$PID"
	kill -CONT "$PID"
	kill -STOP "$PID"
	kill -CONT "$PID"
	touch ./done
	ended_by "exit 0"
	[[ -e ran ]]
}

@test "P3: TERM to a waiter whose server is frozen ends it at once" {
	start_server "$PWD/own"
	export RLOCKRUN_REDIS=unix://$PWD/own/s
	hold
	waiter
	kill -STOP "$(<own/pid)"
	kill -TERM "$PID"
	ended_by "signal TERM"
	kill -CONT "$(<own/pid)"
	touch ./done
	exits_with 0 "${STARTED[0]}"
}

@test "P3: TERM while the first answer is outstanding ends it at once, and no job runs" {
	start_server "$PWD/own"
	export RLOCKRUN_REDIS=unix://$PWD/own/s
	kill -STOP "$(<own/pid)"
	launch -- sh -c 'echo ran >ran'
	wait_until find_guard "$PID"
	kill -TERM "$PID"
	ended_by "signal TERM"
	kill -CONT "$(<own/pid)"
	[[ ! -e ran ]]
	# What was on its way when it died isn't held by a dead one.
	wait_until own_is_free
}

own_is_free() { [[ $(redis-cli -s own/s exists "$KEY") == 0 ]]; }

@test "P3: TERM while the connection hangs ends it at once" {
	# A listener that takes no connection: its queue of one is full.
	start /usr/bin/python3 -S -c 'import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(0)
fillers = [socket.socket() for i in range(4)]
for filler in fillers:
    filler.setblocking(False)
    filler.connect_ex(s.getsockname())
open("port", "w").write(str(s.getsockname()[1]))
time.sleep(60)'
	wait_for_file port
	launch -r "redis://127.0.0.1:$(<port)" -- sh -c 'echo ran >ran'
	wait_until find_guard "$PID"
	kill -TERM "$PID"
	ended_by "signal TERM"
	[[ ! -e ran ]]
}

# --- P4: the lock outlives the job ------------------------------------------

STUBBORN='(trap "" TERM; echo >ready; until [ -e done ]; do sleep 0.05; done) & echo $! >child; wait'
# What the command left gets TERM once rlockrun knows that the command has ended.
NOTING=${STUBBORN/'""'/'"echo >asked"'}

@test "P4: a child that ignores TERM: the lock is kept until it is killed and gone" {
	local child
	launch --kill-after 1.5 -- sh -c "$STUBBORN"
	wait_for_file ready
	wait_for_file child
	child=$(<child)
	kill -TERM "$PID"
	while ! gone "$child"; do
		is_held || gone "$child"
	done
	ended_by "signal TERM"
	is_free
}

@test "P4: the guard is killed meanwhile: all is gone, the status is the command's" {
	launch --kill-after 20 -- sh -c "trap 'exit 7' TERM; $NOTING"
	wait_for_file ready
	wait_for_file child
	kill -TERM "$PID"
	wait_for_file asked
	find_guard "$PID"
	kill -KILL "$GUARD"
	ended_by "exit 7"
	gone "$(<child)"
	is_free
}

@test "P4: a child that obeys TERM is gone at once, and the lock free" {
	launch --kill-after 10 -- sh -c "${STUBBORN/trap \"\" TERM;/}"
	wait_for_file ready
	kill -TERM "$PID"
	ended_by "signal TERM"
	gone "$(<child)"
	is_free
}

@test "P4: a command that ignores TERM runs on, its lock is kept" {
	launch --kill-after 0.1 -t 9 -- "$A_JOB" ignore:TERM ready=%p until:done exit:6
	wait_for_file ready
	cli pexpire "$KEY" 7000
	kill -TERM "$PID"
	# TERM starts no clock of ours: beyond --kill-after, it is renewed.
	wait_until left_above 7000
	run ! gone "$PID"
	touch ./done
	ended_by "exit 6"
	is_free
}

@test "P4: TERM twice is forwarded twice" {
	launch_counter
	kill -TERM "$PID"
	wait_until got TERM
	kill -TERM "$PID"
	wait_until got_twice TERM
	touch count/done
	ended_by "exit 0"
	[[ $(<count/got) == TERM$'\n'TERM ]]
}

got_twice() { [[ $(grep -cx "$1" count/got) == 2 ]]; }

@test "P4: USR1 is no request to end: what the command left continues" {
	launch -- sh -c 'trap "exit 3" USR1
		(until [ -e done ]; do sleep 0.05; done; echo >finished) & echo $! >child
		while :; do sleep 0.05; done'
	wait_for_file child
	kill -USR1 "$PID"
	ended_by "exit 3"
	is_free
	touch ./done
	wait_for_file finished
}

# --- during the release -----------------------------------------------------

@test "TERM during the release: the job's code is reported" {
	start_server "$PWD/own"
	export RLOCKRUN_REDIS=unix://$PWD/own/s
	launch -- "$A_JOB" ready=%p until:done exit:5
	wait_for_file ready
	kill -STOP "$(<own/pid)"
	touch ./done
	wait_until has_no_guard
	kill -USR2 "$PID"
	kill -TERM "$PID"
	ended_by "exit 5"
	kill -CONT "$(<own/pid)"
	wait_until own_is_free
}

has_no_guard() { ! find_guard "$PID"; }

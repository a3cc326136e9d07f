#!/usr/bin/env bats
# Signals: they reach the job, each once; the lock outlives the job; a waiter dies
# at once and leaves nothing behind. Promise 5, scenarios P1 to P4.
#
# Bash starts background commands with INT and QUIT ignored, so all that is to
# get them is started by `env --default-signal`. Nothing here has a terminal but
# what on-pty runs: setsid sees to that.
# shellcheck disable=SC2016  # what is in single quotes, the jobs expand
# bats file_tags=everywhere

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
}
teardown() { end_test; }

# launch [OPTION...] -- COMMAND...: a rlockrun without a terminal, PID, whose end
# will be told in `end`.
launch() {
	rm -f end end.pid
	start env --default-signal setsid "$HELPERS/ended" end "$RLOCKRUN" -k "$KEY" "$@"
	wait_for_file end.pid
	PID=$(<end.pid)
	STARTED+=("$PID")
}

# ended_by WHAT: the launched one, as helpers/ended tells it.
ended_by() {
	wait_for_file end
	[[ $(<end) == "$1" ]] || {
		echo "ended by $(<end), not $1" >&2
		cat err.* >&2
		return 1
	}
}

# on_pty STEPS -- COMMAND...: in the background, on a terminal of its own.
on_pty() { start env --default-signal "$HELPERS/on-pty" tty "$@"; }

# How many rlockruns and guards live in this test.
count_ours() {
	processes_left | while read -r pid _; do cat "/proc/$pid/comm"; done |
		grep -cE '^rlockrun(-guard)?$'
}

# A job that counts signals; JOB is its pid.
launch_counter() {
	mkdir -p count
	launch -- "$HELPERS/count-signals" count
	wait_for_file count/ready
	JOB=$(<count/ready)
}

got() { grep -qx "$1" count/got; }

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

@test "P1: so do all others that can be caught" {
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

@test "P1: a real handler runs, and the job's own exit code is told" {
	launch -- sh -c 'trap "exit 42" TERM; echo >ready; while :; do sleep 0.05; done'
	wait_for_file ready
	kill -TERM "$PID"
	ended_by "exit 42"
	is_free
}

@test "P1: a job without a handler dies by it, and so does rlockrun" {
	local name
	for name in TERM INT HUP USR1 ALRM PIPE; do
		rm -f ready
		launch -- sh -c 'echo >ready; exec sleep 60'
		wait_for_file ready
		kill -s "$name" "$PID"
		ended_by "signal $name"
		is_free
	done
}

# bats test_tags=extra
@test "P1: a signal that comes just after the start ends the job" {
	for _ in {1..20}; do
		launch -- sleep 60
		wait_until is_held
		kill -TERM "$PID"
		ended_by "signal TERM"
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

@test "nohup: HUP doesn't end a waiter, TERM does" {
	local pid
	hold
	start setsid nohup "$HELPERS/ended" end "$RLOCKRUN" -v -k "$KEY" -- true
	wait_until grep -q waiting err.2
	pid=$(<end.pid)
	STARTED+=("$pid")
	kill -HUP "$pid"
	kill -WINCH "$pid"
	kill -TERM "$pid"
	ended_by "signal TERM"
}

# --- P3: a waiter -----------------------------------------------------------

# waiter: launched, and it does wait.
waiter() {
	launch -- sh -c 'echo ran >ran'
	wait_until grep -q waiting "err.$((${#STARTED[@]} - 1))"
}

# bats test_tags=smoke
@test "P3: TERM to a waiter: it dies by it at once and leaves no trace" {
	local since
	hold
	list_keys >before
	waiter
	since=$(now_ms)
	kill -TERM "$PID"
	ended_by "signal TERM"
	since=$(($(now_ms) - since))
	echo "after $since ms"
	((since < 400))
	list_keys | diff -u before -
	[[ $(count_ours) == 2 ]] # the holder and its guard
	touch ./done
	exits_with 0 "${STARTED[0]}"
	[[ ! -e ran ]]
}

@test "P3: so do INT HUP QUIT USR1 ALRM and RTMIN, without a core" {
	local name
	ulimit -c unlimited 2>/dev/null || :
	hold
	list_keys >before
	for name in INT HUP QUIT USR1 ALRM RTMIN; do
		waiter
		kill -s "$name" "$PID"
		ended_by "signal $name"
		list_keys | diff -u before -
	done
	[[ ! -e ran && -z $(find . -name 'core*') ]]
}

@test "P3: so does the last real-time signal" {
	hold
	waiter
	kill -s RTMAX "$PID"
	ended_by "signal RTMAX"
}

@test "P3: WINCH, CONT and URG don't end a waiter" {
	hold
	waiter
	kill -WINCH "$PID"
	kill -URG "$PID"
	kill -CONT "$PID"
	touch ./done
	ended_by "exit 0"
	[[ -e ran ]]
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
	local since
	start_server "$PWD/own"
	export RLOCKRUN_REDIS=unix://$PWD/own/s
	hold
	waiter
	kill -STOP "$(<own/pid)"
	since=$(now_ms)
	kill -TERM "$PID"
	ended_by "signal TERM"
	since=$(($(now_ms) - since))
	kill -CONT "$(<own/pid)"
	echo "after $since ms"
	((since < 1000))
	touch ./done
	exits_with 0 "${STARTED[0]}"
}

@test "P3: TERM while the first answer is outstanding ends it at once, and no job runs" {
	local since
	start_server "$PWD/own"
	export RLOCKRUN_REDIS=unix://$PWD/own/s
	kill -STOP "$(<own/pid)"
	launch -- sh -c 'echo ran >ran'
	wait_until find_guard "$PID"
	since=$(now_ms)
	kill -TERM "$PID"
	ended_by "signal TERM"
	since=$(($(now_ms) - since))
	kill -CONT "$(<own/pid)"
	echo "after $since ms"
	((since < 1000))
	[[ ! -e ran ]]
	# What was on its way when it died isn't held by a dead one.
	wait_until own_is_free
}

own_is_free() { [[ $(redis-cli -s own/s exists "$KEY") == 0 ]]; }

@test "P3: TERM while the connection hangs ends it at once" {
	local since
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
	since=$(now_ms)
	kill -TERM "$PID"
	ended_by "signal TERM"
	since=$(($(now_ms) - since))
	echo "after $since ms"
	((since < 1000))
	[[ ! -e ran ]]
}

is_rlockrun() { [[ $(<"/proc/$1/comm") == rlockrun ]]; }

# bats test_tags=extra
@test "P3: a hundred waiters, all TERMed: nothing is left of them" {
	not_over tls # a hundred handshakes take longer than a waiter may
	local pids=() i
	hold
	list_keys >before
	for i in {1..100}; do
		start env --default-signal "$RLOCKRUN" -q -k "$KEY" -- sh -c 'echo ran >ran'
		pids+=("$PID")
	done
	# Before that they are copies of this shell, with the traps of bats.
	for i in "${pids[@]}"; do
		wait_until is_rlockrun "$i"
	done
	kill -TERM "${pids[@]}"
	for i in "${pids[@]}"; do
		exits_with 143 "$i"
	done
	list_keys | diff -u before -
	[[ $(count_ours) == 2 ]]
	[[ ! -e ran ]]
}

# --- P4: the lock outlives the job ------------------------------------------

STUBBORN='(trap "" TERM; echo >ready; until [ -e done ]; do sleep 0.05; done) & echo $! >child; wait'

@test "P4: a child that ignores TERM: the lock is kept until it is killed and gone" {
	local pid child since
	launch --kill-after 1.5 -- sh -c "$STUBBORN"
	wait_for_file ready
	wait_for_file child
	child=$(<child)
	since=$(now_ms)
	kill -TERM "$PID"
	while ! gone "$child"; do
		is_held || gone "$child"
	done
	since=$(($(now_ms) - since))
	ended_by "signal TERM"
	is_free
	echo "after $since ms"
	((since >= 1400 && since < 3000))
}

@test "P4: the guard is killed meanwhile: all is gone, the status is the command's" {
	launch --kill-after 20 -- sh -c "trap 'echo >over; exit 7' TERM; $STUBBORN"
	wait_for_file ready
	kill -TERM "$PID"
	wait_for_file over
	wait_until command_ended
	find_guard "$PID"
	kill -KILL "$GUARD"
	ended_by "exit 7"
	gone "$(<child)"
	is_free
}

# What it left is the guard's child.
command_ended() {
	find_guard "$PID" && is_child_of "$(<child)" "$GUARD"
}

@test "P4: a child that obeys TERM is gone at once, and the lock free" {
	local since
	launch --kill-after 10 -- sh -c "${STUBBORN/trap \"\" TERM;/}"
	wait_for_file ready
	since=$(now_ms)
	kill -TERM "$PID"
	ended_by "signal TERM"
	since=$(($(now_ms) - since))
	echo "after $since ms"
	((since < 2000))
	gone "$(<child)"
	is_free
}

@test "P4: a command that ignores TERM runs on, its lock is kept" {
	launch --kill-after 0.2 -t 1 -- \
		sh -c 'trap "" TERM; echo >ready; until [ -e done ]; do sleep 0.05; done; exit 6'
	wait_for_file ready
	kill -TERM "$PID"
	# TERM starts no clock of ours: beyond both --kill-after and the lease.
	sleep 1.5
	is_held
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

@test "P4: a second TERM while the rest is ended changes nothing" {
	launch --kill-after 1 -- sh -c "$STUBBORN"
	wait_for_file ready
	kill -TERM "$PID"
	wait_until command_ended
	kill -TERM "$PID"
	kill -INT "$PID"
	is_held
	ended_by "signal TERM"
	gone "$(<child)"
	is_free
}

@test "P4: USR1 is no request to end: what the command left goes on" {
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

# --- stopping ---------------------------------------------------------------

# bats test_tags=extra
@test "without a terminal: TSTP and CONT do the same to rlockrun and to its job" {
	# The kernel drops TSTP in a group that nobody's shell controls. Either both
	# stop or both run: a job that outlives its paused keeper loses the lock.
	launch -t 1 -- sh -c 'echo $$ >job; until [ -e done ]; do sleep 0.05; done; exit 4'
	wait_for_file job
	kill -TSTP "$PID"
	sleep 0.3
	if is_stopped "$PID"; then
		is_stopped "$(<job)"
	fi
	kill -CONT "$PID"
	wait_until is_running "$PID"
	wait_until is_running "$(<job)"
	sleep 1.2
	touch ./done
	ended_by "exit 4"
	is_free
}

@test "without a terminal: a job that obeys TSTP by itself stops, CONT continues it" {
	launch_counter
	kill -TSTP "$PID"
	wait_until got TSTP
	kill -CONT "$PID"
	wait_until got CONT
	touch count/done
	ended_by "exit 0"
	[[ $(<count/got) == TSTP$'\n'CONT ]]
}

@test "rlockrun stopped and continued within the lease loses nothing" {
	launch -t 5 -- sh -c 'echo $$ >job; until [ -e done ]; do sleep 0.05; done; exit 4'
	wait_for_file job
	kill -STOP "$PID"
	wait_until is_stopped "$PID"
	is_running "$(<job)"
	kill -CONT "$PID"
	touch ./done
	ended_by "exit 4"
}

@test "a stopped job is ended by TERM" {
	launch --kill-after 5 -- sh -c 'sleep 60 & echo $! >child; exec sleep 60'
	wait_for_file child
	kill -STOP "$(<child)"
	kill -TERM "$PID"
	ended_by "signal TERM"
	gone "$(<child)"
}

# --- groups and terminals ---------------------------------------------------

@test "without a terminal the job leads a group of its own" {
	launch -- sh -c 'ps -o pid=,pgid= -p $$ >ids'
	ended_by "exit 0"
	read -r pid group <ids
	[[ $pid == "$group" ]]
}

@test "with a terminal the job stays in rlockrun's group and session" {
	"$HELPERS/on-pty" tty -- "$RLOCKRUN" -k "$KEY" -- \
		sh -c 'ps -o pgid=,sid=,tpgid= -p $$ >ids' || { cat tty >&2 && false; }
	read -r group session foreground <ids
	[[ $group == "$session" && $group == "$foreground" ]]
}

@test "on a terminal: Ctrl-C reaches the job once" {
	mkdir count
	on_pty 'count/ready:\x03' -- \
		sh -c "trap : INT; '$RLOCKRUN' -k '$KEY' -- '$HELPERS/count-signals' count; echo \$? >code"
	wait_for_file count/ready
	wait_until got INT
	# All that could come after it would be on its way by now.
	redis-cli -s "$SUITE_DIR/s" ping >/dev/null
	sleep 0.3
	touch count/done
	wait_for_file code
	[[ $(<code) == 0 ]]
	[[ $(<count/got) == INT ]]
}

@test "on a terminal: Ctrl-\\ reaches the job once" {
	mkdir count
	on_pty 'count/ready:\x1c' -- \
		sh -c "trap : QUIT; '$RLOCKRUN' -k '$KEY' -- '$HELPERS/count-signals' count; echo \$? >code"
	wait_for_file count/ready
	wait_until got QUIT
	sleep 0.3
	touch count/done
	wait_for_file code
	[[ $(<count/got) == QUIT ]]
}

@test "on a terminal: a job without a handler dies of Ctrl-C, and rlockrun by INT" {
	"$HELPERS/on-pty" tty 'ready:\x03' -- "$HELPERS/ended" end \
		"$RLOCKRUN" -k "$KEY" -- sh -c 'echo >ready; exec sleep 60' || :
	# The helper, on the same terminal, may have died of it before it could tell.
	[[ ! -e end || $(<end) == "signal INT" ]]
	wait_until is_free
}

@test "on a terminal: a script with rlockrun in it stops at Ctrl-C" {
	cat >script <<-END
		#!/bin/bash
		'$RLOCKRUN' -k '$KEY' -- sh -c 'echo >ready; exec sleep 60'
		echo went on >went-on
	END
	chmod +x script
	run -130 "$HELPERS/on-pty" tty 'ready:\x03' -- ./script
	[[ ! -e went-on ]]
	wait_until is_free
}

@test "on a terminal: a script goes on when the job has handled Ctrl-C" {
	cat >script <<-END
		#!/bin/bash
		'$RLOCKRUN' -k '$KEY' -- bash -c 'trap "exit 5" INT; echo >ready; while :; do sleep 0.05; done'
		echo \$? >went-on
	END
	chmod +x script
	"$HELPERS/on-pty" tty 'ready:\x03' -- ./script || :
	[[ $(<went-on) == 5 ]]
	is_free
}

@test "on a terminal: Ctrl-C ends a waiter at once, the script with it" {
	cat >script <<-END
		#!/bin/bash
		'$RLOCKRUN' -k '$KEY' -- echo ran >ran 2>waiting
		echo went on >went-on
	END
	chmod +x script
	hold
	run -130 "$HELPERS/on-pty" tty 'waiting:\x03' -- ./script
	[[ ! -e went-on && ! -s ran ]]
	touch ./done
	exits_with 0 "$PID"
}

@test "on a terminal: a signal sent to rlockrun alone is forwarded once" {
	mkdir count
	on_pty -- "$HELPERS/ended" end \
		"$RLOCKRUN" -k "$KEY" -- "$HELPERS/count-signals" count
	wait_for_file count/ready
	kill -INT "$(<end.pid)"
	wait_until got INT
	kill -WINCH "$(<end.pid)"
	wait_until got WINCH
	touch count/done
	wait_for_file end
	[[ $(<count/got) == INT$'\n'WINCH ]]
}

# Steps typed at an interactive shell; the job writes its pid. It forks nothing:
# a shell whose child is stopped before it could exec waits for that, not stopped.
JOB_OF_SHELL='mkfifo never; echo $$ >job
	until [ -e done ]; do read -rt 0.05 _ <>never; done; echo ended >ended'

@test "P2: on a terminal: Ctrl-Z stops both, fg continues both" {
	cat >typed <<-END
		set -m
		'$RLOCKRUN' -k '$KEY' -t 30 -- bash -c '$JOB_OF_SHELL'
		jobs >stopped
		fg
		echo \$? >code
		exit
	END
	# Lines are read one by one, so the shell is asked to take them from a file.
	on_pty 'job:\x1a' -- bash --norc -i typed
	wait_for_file stopped
	grep -q Stopped stopped
	wait_until is_running "$(<job)"
	touch ./done
	wait_for_file code
	[[ $(<code) == 0 && $(<ended) == ended ]]
	is_free
}

@test "P2: on a terminal: TSTP and CONT sent to rlockrun alone stop and continue the job" {
	# (dash: a bash leaves its loop when a child of it is stopped.)
	on_pty -- dash -mc "'$RLOCKRUN' -k '$KEY' -t 30 -- bash -c '$JOB_OF_SHELL' & echo \$! >pid
		until [ -e ended ]; do sleep 0.05; done"
	wait_for_file job
	kill -TSTP "$(<pid)"
	wait_until is_stopped "$(<pid)"
	wait_until is_stopped "$(<job)"
	kill -CONT "$(<pid)"
	wait_until is_running "$(<pid)"
	touch ./done
	if ! wait_for_file ended; then
		kill -CONT "$(<job)"
		false
	fi
}

@test "P2: on a terminal: after Ctrl-Z, CONT sent to rlockrun alone continues the job" {
	cat >typed <<-END
		sh -c 'echo \$\$ >pid; exec "\$@"' - '$RLOCKRUN' -k '$KEY' -t 30 -- bash -c '$JOB_OF_SHELL'
		until [ -e ended ]; do sleep 0.05; done
	END
	on_pty 'job:\x1a' -- dash -m typed
	wait_for_file job
	wait_until is_stopped "$(<pid)"
	wait_until is_stopped "$(<job)"
	kill -CONT "$(<pid)"
	wait_until is_running "$(<pid)"
	touch ./done
	if ! wait_for_file ended; then
		kill -CONT "$(<job)"
		false
	fi
}

@test "P2: a hang-up of the terminal ends the job and rlockrun, and frees the lock" {
	on_pty -- sh -c "'$RLOCKRUN' -k '$KEY' -- sh -c 'echo \$\$ >job; exec sleep 60'; :"
	wait_for_file job
	kill -KILL "$PID"
	wait_until gone "$(<job)"
	wait_until is_free
}

@test "P2: so does one where rlockrun leads the terminal's session, as ssh -t runs it" {
	# The kernel tells the leader alone.
	on_pty -- "$RLOCKRUN" -k "$KEY" -- sh -c 'echo $$ >job; exec sleep 60'
	wait_for_file job
	kill -KILL "$PID"
	wait_until gone "$(<job)"
	wait_until is_free
}

# --- during the release -----------------------------------------------------

@test "signals around the end of the job are harmless: its code is told, the lock freed" {
	for _ in {1..15}; do
		launch -- sh -c 'exec sleep 0.03'
		while [[ ! -e end ]]; do
			kill -WINCH "$PID" 2>/dev/null || :
			kill -USR1 "$PID" 2>/dev/null || :
		done
		[[ $(<end) == "exit 0" || $(<end) == "signal USR1" ]]
		is_free
	done
}

@test "TERM during the release: the job's code is told" {
	start_server "$PWD/own"
	export RLOCKRUN_REDIS=unix://$PWD/own/s
	launch -- sh -c 'echo >ready; until [ -e done ]; do sleep 0.02; done; exit 5'
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

#!/usr/bin/env bats
# On a terminal all is as without rlockrun (P2), also for a command that leads a
# process group of its own (S42): the terminal sends to rlockrun's group only. See
# helpers/terminal.bash.
# shellcheck disable=SC2016,SC2034 # the typed-in shells expand that; helpers use it

load ../helpers/suite
load ../helpers/terminal

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_terminal_test
	job grouped "exec '$HELPERS/in-own-group' \"\$@\""
}
teardown() { end_terminal_test; }

# --- keys -------------------------------------------------------------------

# under COMMAND: what the scenario runs, below a command with a group of its own.
under() { UNDER=$1; }

dies_of_a_key() {
	local signo
	for signo in 2 3; do
		say "./run $UNDER ./sleeper"
		wait_for_file t/job
		if ((signo == 2)); then
			press '\x03'
		else
			press '\x1c'
		fi
		prompt
		code $((128 + signo))
		both_gone
		rm t/job
	done
}

@test "S42: Ctrl-C and Ctrl-\\ end a job below timeout(1)" {
	SCREENS=differ # bash ends the line of ^C, or not
	under 'timeout 60'
	in_each_shell dies_of_a_key
}

# Without rlockrun the shell's job is a setsid that waits, and the command lives on.
# bats test_tags=night
@test "S42: Ctrl-C and Ctrl-\\ end a job below setsid -w" {
	under 'setsid -w'
	locked_in_each_shell dies_of_a_key
}

gets_each_once() {
	say './run ./grouped ./counter'
	wait_for_file t/ready
	press '\x03'
	wait_until got INT
	all_has_come
	press '\x1c'
	wait_until got QUIT
	all_has_come
	press '\x1a'
	wait_until got TSTP
	all_has_come
	order resize 30 100
	wait_until got WINCH
	all_has_come
	held
	touch t/done
	prompt
	code 7
	diff -u - t/got <<<$'INT\nUSR1\nQUIT\nUSR1\nTSTP\nUSR1\nWINCH\nUSR1'
}

@test "S42: a job with handlers in a group of its own gets each signal once" {
	in_each_shell gets_each_once
}

# --- Ctrl-Z -----------------------------------------------------------------

# suspend: a Ctrl-Z in the very moment in which the guard continues the job is lost, as
# SIGCONT discards it: whoever types presses it again.
suspend() {
	press '\x1a'
	until WAIT_SECONDS=5 shows 'Stopped|suspended'; do
		SCREENS=differ
		press '\x1a'
	done
	prompt
}

stops_and_continues() {
	say "./run $UNDER ./worker"
	wait_for_file t/job
	for _ in 1 2; do
		suspend
		wait_until both_stopped
		held
		say fg
		wait_until both_running
	done
	go
	prompt
	code 5
}

@test "S42: Ctrl-Z stops all below timeout(1) and rlockrun; fg continues them" {
	under 'timeout 60'
	in_each_shell stops_and_continues
}

# bats test_tags=night
@test "S42: Ctrl-Z and fg with a job below setsid -w" {
	under 'setsid -w'
	locked_in_each_shell stops_and_continues
}

spares_who_ignores_it() {
	say './run ./grouped ./pair'
	wait_for_file t/job
	wait_for_file t/ignores
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	wait_until both_stopped
	is_running "$(<t/ignores)"
	rm t/ignores
	say fg
	wait_until both_running
	go
	prompt
	code 5
}

@test "S42: Ctrl-Z leaves a process of the group running that ignores it" {
	job pair '(trap "" TSTP; exec sh -c "echo \$\$ >t/ignores; exec sleep 60") &
		echo $$ >t/job; read -r _ <go; kill $!; exit 5'
	in_each_shell spares_who_ignores_it
}

# As long as the guard is in the terminal's session, which it leaves when the job has
# begun, the kernel itself stops the job.
guard_is_apart() {
	local guard
	guard=$(pgrep -P "$(pgrep -P "$PID" -x rlockrun)" -x rlockrun-guard) &&
		[[ $(ps -o sid= -p "$guard") -eq $guard ]]
}

# No shell could continue them.
@test "S42: Ctrl-Z stops nothing where rlockrun leads the session" {
	mkdir t
	start env --default-signal "$HELPERS/on-pty" tty @keys -- \
		"$RLOCKRUN" -k "$KEY" -- timeout 60 ./worker
	wait_for_file t/job
	wait_until test -p keys
	wait_until guard_is_apart
	press '\x1a'
	wait_until grep -q '\^Z' tty
	go
	exits_with 5 "$PID"
}

# A traced process obeys no signal before it is let go: as one that the kernel has not run
# since, on a machine that is busy.
@test "S42: Ctrl-Z that stops nothing leaves none stopped that is slow to obey" {
	mkdir t
	job slow "trap 'echo >t/continued' CONT; ./worker & wait \$!; wait \$!"
	start env --default-signal "$HELPERS/on-pty" tty @keys -- \
		"$RLOCKRUN" -k "$KEY" -- timeout 60 ./slow
	run=$PID
	wait_for_file t/job
	wait_until guard_is_apart
	start "$HELPERS/trace" "$(<t/job)" traced
	wait_for_file traced
	press '\x1a'
	wait_until test -e t/continued
	kill -KILL "$PID"
	go
	exits_with 5 "$run"
}

# --- the terminal goes away --------------------------------------------------

ends_with_its_terminal() {
	say "./run $UNDER ./sleeper"
	wait_for_file t/job
	hang_up
	wait_until both_gone
	wait_until gone "$TERMINAL"
}

@test "S42: a terminal that goes away ends a job below timeout(1)" {
	SCREENS=differ
	under 'timeout 60'
	in_each_shell ends_with_its_terminal
}

# --- signals of other sources -----------------------------------------------

# SIGIO stands for all that the kernel sends to a process because its caller asked
# for it: timers and limits survive exec, too.
@test "on a terminal: what the kernel sends for another reason reaches the job" {
	mkdir t
	start env --default-signal "$HELPERS/on-pty" tty -- python3 -S -c '
import fcntl, os, sys
fd = os.open("never", os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(fd, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.set_inheritable(fd, True)
os.execvp(sys.argv[1], sys.argv[1:])' "$RLOCKRUN" -k "$KEY" -- ./counter
	wait_for_file t/ready
	timeout "$WAIT_SECONDS" sh -c 'echo >never'
	wait_until got IO
	touch t/done
	exits_with 7 "$PID"
}

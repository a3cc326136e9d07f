#!/usr/bin/env bats
# On a terminal all is as without rlockrun (P2): input, modes and size, pagers and
# pipes, signals from the shell, and a terminal that goes away. See
# helpers/terminal.bash.
# shellcheck disable=SC2016,SC2034 # the typed-in shells expand that; helpers use it

load ../helpers/suite
load ../helpers/terminal

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_terminal_test; }
teardown() { end_terminal_test; }

# --- the terminal -----------------------------------------------------------

reads_in_the_background() {
	say './run ./reader &'
	prompt
	wait_for_file t/job
	wait_until both_stopped
	held
	say jobs
	shows 'Stopped|suspended'
	say fg
	wait_until both_running
	say 'what is typed'
	wait_for_file t/line
	prompt
	code 3
	[[ $(<t/line) == 'what is typed' ]]
}

@test "P2: a background job that reads the terminal stops, fg gives it the terminal" {
	SCREENS=differ # when a shell tells of it is a matter of time
	in_each_shell reads_in_the_background
}

takes_raw_keys() {
	say './run ./raw'
	wait_for_file t/keys
	press '\x03\x1c\x04q'
	prompt
	code 0
	diff -u - t/keys <<<$'raw\n3\n28\n4\n113'
}

@test "P2: in raw mode the job gets the keys, and no process a signal" {
	in_each_shell takes_raw_keys
}

is_resized() {
	say './run ./counter'
	wait_for_file t/ready
	order resize 30 100
	wait_until got WINCH
	all_has_come
	order resize 31 100
	wait_until got_twice WINCH
	all_has_come
	touch t/done
	prompt
	code 7
	diff -u - t/got <<<$'WINCH\nUSR1\nWINCH\nUSR1'
}

got_twice() { [[ $(grep -cx "$1" t/got) == 2 ]]; }

@test "P2: a resize reaches the job once" {
	in_each_shell is_resized
}

# --- pagers and pipes -------------------------------------------------------

@test "P2: less itself as the job: keys, Ctrl-Z, fg" {
	SCREENS=differ
	seq 100 >numbers
	in_each_shell is_a_pager
}

is_a_pager() {
	say 'TERM=vt100 ./run less numbers'
	shows '23'
	press ' '
	shows '45'
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	wait_until is_stopped "$(<t/top)"
	held
	say fg
	wait_until is_running "$(<t/top)"
	shows '45'
	press ' '
	shows '67'
	press q
	prompt
	code 0
}

feeds_a_pager() {
	say './run ./lines | TERM=vt100 less'
	shows '9.*:'
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	held
	say fg
	shows ':'
	press q
	go
	prompt
	say '{ ./run yes; echo $? >t/code; } | TERM=vt100 less'
	shows 'y.*y.*:'
	held
	press ' '
	press q
	prompt
	wait_for_file t/code
	[[ $(<t/code) == 141 ]]
}

# bats test_tags=night
@test "P2: a job feeds less: Ctrl-Z, fg, and SIGPIPE when it is left" {
	SCREENS=differ
	job lines 'seq 100; echo $$ >t/job; read -r _ <go'
	in_each_shell feeds_a_pager
}

# --- the terminal goes away --------------------------------------------------

ends_with_its_terminal() {
	say './run ./sleeper'
	wait_for_file t/job
	hang_up
	wait_until both_gone
	wait_until gone "$TERMINAL"
}

@test "P2: a terminal that goes away ends job and rlockrun, the lock is free" {
	SCREENS=differ
	in_each_shell ends_with_its_terminal
}

outlives_its_terminal() {
	say './run ./counter'
	wait_for_file t/ready
	hang_up
	wait_until gone "$TERMINAL"
	wait_until got HUP
	all_has_come
	held
	echo "$SHELL_NAME, $MODE: $(grep -c HUP t/got) times"
	mv t/got got
	touch t/done
	wait_until both_gone_counted
}

# bats test_tags=night
@test "P2: a job that handles HUP outlives its terminal, locked until it ends" {
	SCREENS=differ
	in_each_shell outlives_its_terminal
}

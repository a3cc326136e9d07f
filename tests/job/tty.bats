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

reads_lines() {
	say './run ./reader'
	wait_for_file t/job
	say 'what is typed'
	prompt
	code 3
	[[ $(<t/line) == 'what is typed' ]]
}

# bats test_tags=night
@test "P2: a job reads lines from the terminal" {
	in_each_shell reads_lines
}

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

sets_modes_in_the_background() {
	say './run ./setter &'
	prompt
	wait_for_file t/job
	wait_until both_stopped
	held
	say fg
	wait_for_file t/set
	go
	prompt
	code 0
}

# bats test_tags=night
@test "P2: a background job that sets terminal modes stops until fg" {
	SCREENS=differ
	job setter 'echo $$ >t/job; stty -echo; echo >t/set
		read -r _ <go; stty echo'
	in_each_shell sets_modes_in_the_background
}

hides_what_is_typed() {
	say './run ./asker'
	wait_for_file t/ready
	say secret
	prompt
	code 0
	[[ $(<t/answer) == secret ]]
	run ! grep -q secret screen
}

# bats test_tags=night
@test "P2: a job that turns the echo off" {
	job asker 'stty -echo; echo >t/ready; read -r answer; echo "$answer" >t/answer; stty echo'
	in_each_shell hides_what_is_typed
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

stops_from_raw_mode() {
	say './run ./raw'
	wait_for_file t/keys
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	say 'echo at$((1))home'
	shows at1home
	prompt
	held
	say fg
	wait_until grep -q back t/keys
	press 'aq'
	prompt
	code 0
	diff -u - t/keys <<<$'raw\n26\nback\n97\n113'
}

# bats test_tags=night
@test "P2: an editor that stops its group at Ctrl-Z, and fg" {
	in_each_shell stops_from_raw_mode
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

has_a_shell_inside() {
	say './run ./inner'
	shows 'in> '
	say ./sleeper
	wait_for_file t/job
	press '\x03'
	shows 'in> '
	rm t/job
	say ./sleeper
	wait_for_file t/job
	press '\x1a'
	shows 'Stopped|suspended'
	shows 'in> '
	held
	say fg
	wait_until is_running "$(<t/job)"
	press '\x03'
	shows 'in> '
	say 'exit 4'
	prompt
	code 4
}

# bats test_tags=night
@test "P2: a job that is itself a shell with jobs" {
	SCREENS=differ
	in_each_shell has_a_shell_inside_of_each_kind
}

has_a_shell_inside_of_each_kind() {
	local INNER
	for INNER in 'bash --norc -i' 'dash -i' 'zsh -f -i'; do
		rm -f t/job
		job inner "PS1='in> ' exec $INNER"
		has_a_shell_inside
	done
}

# --- pagers and pipes -------------------------------------------------------

pages() {
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
@test "P2: a pager gets the keys, and when it is left the job dies of SIGPIPE" {
	SCREENS=differ
	in_each_shell pages
}

stops_a_pager() {
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
}

# bats test_tags=night
@test "P2: Ctrl-Z in a pager that a job feeds, and fg" {
	SCREENS=differ
	job lines 'seq 100; echo $$ >t/job; read -r _ <go'
	in_each_shell stops_a_pager
}

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

closes_its_stdout() {
	say './run ./closer | (cat; echo >t/eof)'
	wait_for_file t/eof
	both_running
	go
	prompt
}

# bats test_tags=night
@test "P2: a job that closes its stdout: the reader sees the end although rlockrun lives" {
	job closer 'echo $$ >t/job; exec >&-; read -r _ <go'
	in_each_shell closes_its_stdout
}

# --- signals from a shell ---------------------------------------------------

is_killed_by_the_shell() {
	say './run ./sleeper & pid=$!'
	prompt
	wait_for_file t/job
	say 'kill %1; wait $pid; echo code=$?'
	shows code=143
	both_gone
}

# bats test_tags=night
@test "P2: kill %1: job and rlockrun die of TERM, 143" {
	SCREENS=differ
	in_each_shell is_killed_by_the_shell
}

# A shell sends it to the whole group, and nothing tells rlockrun that it isn't
# the only one: it forwards what the job may have got already.
is_told_by_the_shell() {
	say './run ./counter & pid=$!'
	prompt
	wait_for_file t/ready
	say 'kill %1'
	wait_until got TERM
	all_has_come
	touch t/done
	say 'wait $pid; echo code=$?'
	shows code=7
	mv t/got got
	(($(grep -c TERM got) <= $([[ $MODE == bare ]] && echo 1 || echo 2)))
}

# bats test_tags=night
@test "P2: kill %1: a job with a handler gets TERM from the shell, and again from rlockrun" {
	SCREENS=differ
	in_each_shell is_told_by_the_shell
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

ends_with_its_terminal_in_the_background() {
	say './run ./sleeper &'
	prompt
	wait_for_file t/job
	hang_up
	wait_until gone "$TERMINAL"
	[[ $SHELL_NAME != dash ]] || kill -HUP "$(<t/top)" # it tells no background job
	wait_until both_gone
}

# bats test_tags=night
@test "P2: a terminal that goes away ends a background job, too" {
	SCREENS=differ
	in_each_shell ends_with_its_terminal_in_the_background
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

ignores_its_terminals_end() {
	say 'nohup ./run ./worker >t/out 2>&1'
	wait_for_file t/job
	hang_up
	wait_until gone "$TERMINAL"
	both_running
	held
	go
	wait_until both_gone
}

# bats test_tags=night
@test "P2: under nohup both outlive the terminal" {
	SCREENS=differ
	in_each_shell ignores_its_terminals_end
}

closes_its_terminal() {
	say './run ./closer'
	wait_for_file t/job
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	wait_until both_stopped
	say fg
	wait_until both_running
	held
	go
	prompt
	code 6
}

# bats test_tags=night
@test "P2: a job that closes all that it has of the terminal: Ctrl-Z, fg, its code" {
	job closer 'exec <&- >&- 2>&-; echo $$ >t/job; read -r _ <go; exit 6'
	in_each_shell closes_its_terminal
}

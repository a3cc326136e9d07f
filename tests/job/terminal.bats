#!/usr/bin/env bats
# On a terminal all is as without rlockrun (P2): Ctrl-C and Ctrl-Z, scripts, jobs
# that stop by themselves, and a rlockrun that waits. See helpers/terminal.bash.
# shellcheck disable=SC2016,SC2034 # the typed-in shells expand that; helpers use it

load ../helpers/suite
load ../helpers/terminal

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_terminal_test; }
teardown() { end_terminal_test; }

# --- Ctrl-C -----------------------------------------------------------------

dies_of_ctrl_c() {
	say './run ./sleeper'
	wait_for_file t/job
	press '\x03'
	prompt
	code 130
	both_gone
}

@test "P2: Ctrl-C: a job without a handler dies of it, rlockrun too, the prompt returns" {
	SHELLS=(bash dash zsh)
	in_each_shell dies_of_ctrl_c
}

handles_ctrl_c() {
	say './run ./counter'
	wait_for_file t/ready
	press '\x03'
	wait_until got INT
	all_has_come
	press '\x1c'
	wait_until got QUIT
	all_has_come
	held
	touch t/done
	prompt
	code 7
	diff -u - t/got <<<$'INT\nUSR1\nQUIT\nUSR1'
}

@test "P2: Ctrl-C and Ctrl-\\: a job with handlers gets each once, its code is reported" {
	in_each_shell handles_ctrl_c
}

ends_all_of_a_pipeline() {
	say './feeder | ./run ./sleeper | ./taker'
	wait_for_file t/feeder
	wait_for_file t/taker
	wait_for_file t/job
	press '\x03'
	prompt
	code 130
	both_gone
}

@test "P2: Ctrl-C ends a whole pipeline" {
	in_each_shell ends_all_of_a_pipeline
}

# --- scripts ----------------------------------------------------------------

script_with_a_job_that_dies() {
	local interpreter
	echo './run ./sleeper; echo next >>t/next' >script
	for interpreter in sh bash zsh; do
		say "$interpreter script"
		wait_for_file t/job
		press '\x03'
		prompt
		code 130
		[[ ! -e t/next ]]
		rm t/job
	done
}

@test "P2: a script in sh, bash or zsh stops at Ctrl-C when the job died of it" {
	in_each_shell script_with_a_job_that_dies
}

# --- Ctrl-Z -----------------------------------------------------------------

stops_and_continues() {
	stop
	code $((128 + 20))
	held
	say fg
	wait_until both_running
	go
	prompt
	code 5
}

@test "P2: Ctrl-Z stops job and rlockrun, which keeps the lock; fg continues both" {
	SHELLS=(bash dash zsh)
	in_each_shell stops_and_continues
}

# A zsh that hears that the job continues just when it is about to show its
# prompt leaves that out until a key is pressed.
goes_on_in_the_background() {
	stop
	say bg
	shows '\./run'
	wait_until both_running
	say fg
	shows '\./run' # it has taken it back
	go
	prompt
	code 5
}

@test "P2: Ctrl-Z and bg: the job continues in the background, fg brings it back" {
	SCREENS=differ
	in_each_shell goes_on_in_the_background
}

is_told_of_ctrl_z() {
	say './run ./counter'
	wait_for_file t/ready
	press '\x1a'
	wait_until got TSTP
	all_has_come
	touch t/done
	prompt
	code 7
	diff -u - t/got <<<$'TSTP\nUSR1'
}

# bats test_tags=night
@test "P2: Ctrl-Z: a job that handles it and doesn't stop gets it once and keeps the terminal" {
	in_each_shell is_told_of_ctrl_z
}

# The reason is what the guard has reported meanwhile.
says_why() {
	wait_until gone "$(<t/job)"
	is_stopped "$(<t/top)"
	wait_until is_free
	say fg
	prompt
	code 79
	grep -q 'lost: its lease ended; the job was killed' screen
	run ! grep -E 'did not act|being lost' screen
	[[ $(cli --raw lindex "{$KEY}:rlk:r" 0) == [0-9]*' 79 '* ]]
}

stopped_by_a_key() {
	stop
	says_why
}

stopped_by_reading() {
	say './run ./reader &'
	prompt
	wait_for_file t/job
	wait_until both_stopped
	says_why
}

@test "P2: S41: stopped by Ctrl-Z for longer than the lease: fg says why, the run is recorded" {
	EXTRA=(-t 3)
	SHELLS=(bash)
	locked_in_each_shell stopped_by_a_key
}

@test "P2: S41: likewise in the background, by reading from the terminal" {
	EXTRA=(-t 3)
	SHELLS=(bash)
	locked_in_each_shell stopped_by_reading
}

# --- jobs that stop by themselves -------------------------------------------

stops_itself() {
	say './run ./stopper'
	wait_for_file t/job
	shows 'Stopped|suspended'
	prompt
	wait_until both_stopped
	held
	say fg
	prompt
	code 3
}

# bats test_tags=night
@test "P2: a job that stops itself, or its group, gives the terminal back, fg continues it" {
	local stopping
	SCREENS=differ # zsh tells which signal it was
	for stopping in '-STOP $$' '-TSTP $$' '-STOP 0'; do
		job stopper "echo \$\$ >t/job; kill $stopping; exit 3"
		in_each_shell stops_itself
	done
}

continues_from_elsewhere() {
	stop
	kill -CONT "$(<t/job)"
	wait_until both_running
	held
	say fg
	shows '\./run'
	go
	prompt
	code 5
}

# bats test_tags=night
@test "P2: continuing the job after Ctrl-Z continues rlockrun, which keeps the lock" {
	SCREENS=differ
	in_each_shell continues_from_elsewhere
}

# --- waiting in the foreground ----------------------------------------------

# start_waiter: behind one that `go_free` ends.
start_waiter() {
	rm -f job ./done ended
	hold
	HOLDER=$PID
	list_keys >before
	say './run ./worker'
	shows '; waiting [0-9]+s, (position 1|1st)'
}

go_free() {
	touch ./done
	exits_with 0 "$HOLDER"
}

waiter_dies_of_ctrl_c() {
	start_waiter
	press '\x03'
	prompt
	code 130
	gone "$(<t/top)"
	[[ ! -e t/job ]]
	list_keys | diff -u before -
	go_free
	is_free
}

@test "P2: Ctrl-C ends a waiter at once, no trace is left on the server" {
	locked_in_each_shell waiter_dies_of_ctrl_c
}

waiter_stops_and_continues() {
	start_waiter
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	is_stopped "$(<t/top)"
	code 148
	say fg
	wait_until is_running "$(<t/top)"
	go_free
	wait_for_file t/job
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	wait_until both_stopped
	say fg
	wait_until both_running
	go
	prompt
	code 5
}

@test "P2: Ctrl-Z and fg of a waiter: it gets the lock, Ctrl-Z and fg of its job" {
	locked_in_each_shell waiter_stops_and_continues
}

# --- between the lock and the job --------------------------------------------

# slow_start: a job of ours is about to start, but its guard, which has just been
# told so, is slow. What the terminal sends now, nobody of the job is there to get.
slow_start() {
	local guard
	need_strace
	start_waiter
	guard=$(ps -o pid= --ppid "$(<t/top)")
	start strace -qq -o strace.out -e trace=recvfrom \
		-e inject=recvfrom:delay_exit=300000 -p "$((guard))"
	wait_until grep -q 'TracerPid:.*[1-9]' "/proc/$((guard))/status"
	go_free
	shows 'acquired on'
}

ctrl_c_before_the_job() {
	slow_start
	press '\x03'
	prompt
	code 130
	is_free
}

@test "P2: Ctrl-C between the lock and the job isn't lost" {
	EXTRA=(-v)
	locked_in_each_shell ctrl_c_before_the_job
}

# --- a narrow terminal ------------------------------------------------------

# Commands must be short here: line editors scroll.
fits_ten_columns() {
	local host
	host=$(uname -n)
	order resize 24 10
	rm -f job ./done
	hold -v
	HOLDER=$PID
	echo 'RLOCKRUN_PROGRESS=never exec ./run ./worker' >w
	say '. ./w'
	# Whole, on one line: wrapping is the terminal's affair.
	shows "rlockrun: \"$KEY\" is held by $host"' \(pid [0-9]+, [^)]*\) since [^;]*; waiting'
	press '\x03'
	wait_until gone "$TERMINAL"
	rm keys
	go_free
}

@test "P2: on a terminal of ten columns a message is written whole" {
	locked_in_each_shell fits_ten_columns
}

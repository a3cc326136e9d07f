#!/usr/bin/env bats
# On a terminal all is as without rlockrun. P2: bash, dash and zsh run in a pty of
# their own, commands are typed into them and their screen is read. A scenario is
# played twice in each shell, with the bare command and with rlockrun before it;
# screen, exit codes and what the job wrote down have to be the same.
#
# A scenario is a function. It finds a shell of kind SHELL_NAME at its prompt; in
# it `./run COMMAND` runs the command, in MODE `locked` under rlockrun with the
# options EXTRA, in MODE `bare` without; t/top has the pid that the shell knows.
# All that it leaves in the folder t is compared, but for pids.
# shellcheck disable=SC2016  # what is in single quotes, the typed-in shells expand
load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	EXTRA=()
	SHELLS=(bash dash zsh)
	# What sanitizers look for doesn't depend on the shell.
	[[ $RLOCKRUN != */asan/* ]] || SHELLS=(bash)
	ulimit -c 0
	write_jobs
}

teardown() {
	[[ ${BATS_TEST_COMPLETED:-} ]] || tell_session >&2
	end_test
}

tell_session() {
	echo "in ${SHELL_NAME:-no shell}, ${MODE:-}, the screen:"
	cat -v screen
	echo
	processes_left | while read -r pid _; do
		ps -o pid=,ppid=,pgid=,stat=,args= -p "$pid"
	done
}

# --- jobs -------------------------------------------------------------------

# Each writes its pid to t/job when it can be signalled. None forks while it is
# to be stopped: a dash that waits for a vfork's exec can't be.
write_jobs() {
	mkfifo go never
	job sleeper 'echo $$ >t/job; exec sleep 60'
	job worker 'echo $$ >t/job; read -r _ <go; exit 5'
	job counter "exec '$HELPERS/count-signals' t 7"
	job reader 'echo $$ >t/job; read -r line; echo "$line" >t/line; exit 3'
	job feeder 'echo >t/feeder; exec yes'
	job taker 'echo >t/taker; exec cat'
	job raw "exec '$HELPERS/raw-keys' t/keys"
}

# job NAME SCRIPT: ./NAME.
job() {
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

# Tells the job to go on behind `read <go`.
go() { timeout "$WAIT_SECONDS" sh -c 'echo >go'; }

# Nothing to hold without rlockrun.
held() { [[ $MODE == bare ]] || is_held; }

both_stopped() { is_stopped "$(<t/job)" && is_stopped "$(<t/top)"; }
both_running() { is_running "$(<t/job)" && is_running "$(<t/top)"; }
both_gone() { gone "$(<t/job)" && gone "$(<t/top)"; }

got() { grep -qx "$1" t/got; }

# Whatever rlockrun had to forward before has arrived, too: of what is pending it
# forwards the lowest number first, and reads all before it forwards any.
all_has_come() {
	local before
	before=$(grep -cx USR1 t/got) || :
	kill -USR1 "$(<t/top)"
	wait_until more_have_come "$before"
}

more_have_come() { (($(grep -cx USR1 t/got) > $1)); }

# --- sessions ---------------------------------------------------------------

# in_each_shell SCENARIO
in_each_shell() {
	for SHELL_NAME in "${SHELLS[@]}"; do
		session bare "$1"
		mv t bare
		show_screen >bare.screen
		session locked "$1"
		is_free
		show_screen >locked.screen
		diff -ur -x job -x top -x ready bare t
		[[ ${SCREENS:-} == differ ]] || diff -u bare.screen locked.screen
		rm -rf bare t
	done
}

# locked_in_each_shell SCENARIO: where there is nothing to compare it with.
locked_in_each_shell() {
	for SHELL_NAME in "${SHELLS[@]}"; do
		session locked "$1"
		rm -rf t
	done
}

# session MODE SCENARIO
session() {
	MODE=$1
	open_shell
	"$2"
	if [[ -p keys ]]; then
		say exit
		wait_until gone "$TERMINAL"
	fi
}

# A shell on a terminal, ready to be typed at.
open_shell() {
	local lock=("$RLOCKRUN" -k "$KEY" "${EXTRA[@]}" --) plain=()
	[[ $SHELL_NAME != bash ]] || plain=(--norc)
	[[ $SHELL_NAME != zsh ]] || plain=(-f)
	[[ $MODE == locked ]] || lock=()
	job run "echo \$\$ >t/top; exec ${lock[*]@Q} \"\$@\""
	mkdir t
	: >screen
	rm -f keys
	SEEN=0
	start env --default-signal "$HELPERS/on-pty" screen @keys -- env -u MAIL -u ENV \
		TERM=dumb PS1='@@ ' HISTFILE=/dev/null LESS= LESSHISTFILE=- \
		"$SHELL_NAME" "${plain[@]}" -i
	TERMINAL=$PID
	prompt
}

# Opened for reading, too, nobody waits for a terminal that has gone.
order() { printf '%s\n' "$*" 1<>keys; }
press() { order type "$1"; }
say() { press "$1\n"; }

hang_up() {
	order hangup
	rm keys
}

# shows REGEX: waits until it is on the screen, behind all that was waited for
# before. (Bash's own means: a process for each look would be slow.)
shows() {
	local end=$((SECONDS + WAIT_SECONDS)) text new before
	while :; do
		IFS= read -rd '' text <screen || :
		new=${text:SEEN}
		[[ ! $new =~ $1 ]] || break
		if ((SECONDS >= end)); then
			echo "not shown: $1" >&2
			return 1
		fi
		read -rt 0.02 _ <>never || :
	done
	before=${new%%"${BASH_REMATCH[0]}"*}
	SEEN=$((SEEN + ${#before} + ${#BASH_REMATCH[0]}))
}

prompt() { shows '@@ '; }

# code N: that was the last command's.
code() {
	say 'echo code=$?'
	shows 'code=([0-9]+)'
	[[ ${BASH_REMATCH[1]} == "$1" ]] || {
		echo "code ${BASH_REMATCH[1]}, not $1" >&2
		return 1
	}
	prompt
}

# Without pids and what zsh draws.
show_screen() {
	sed -E 's/\r//g; s/\x1b\[[?0-9;]*[a-zA-Z]//g; s/^[#%] +@@/@@/
		s/^(\[[0-9]\] *[-+]?) *[0-9]{2,}/\1 PID/' screen
}

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
	in_each_shell dies_of_ctrl_c
}

dies_of_quit() {
	say './run ./sleeper'
	wait_for_file t/job
	press '\x1c'
	prompt
	code 131
	both_gone
}

# bats test_tags=extra
@test "P2: Ctrl-\\: so it is with QUIT" {
	in_each_shell dies_of_quit
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

@test "P2: Ctrl-C and Ctrl-\\: a job with handlers gets each once, its code is told" {
	in_each_shell handles_ctrl_c
}

# bats test_tags=extra
@test "P2: Ctrl-C: a job that ignores it goes on" {
	job worker 'trap "" INT; echo $$ >t/job; read -r _ <go; exit 7'
	in_each_shell ignores_ctrl_c
}

ignores_ctrl_c() {
	say './run ./worker'
	wait_for_file t/job
	press '\x03'
	# The terminal has sent it when it echoes this.
	shows '\^C'
	held
	both_running
	go
	prompt
	code 7
}

ends_all_of_a_pipeline() {
	say './feeder | ./run ./worker | ./taker'
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

dies_of_ctrl_c_redirected() {
	say './run ./sleeper <t/in >t/out 2>&1'
	wait_for_file t/job
	press '\x03'
	prompt
	code 130
	both_gone
}

# bats test_tags=extra
@test "P2: Ctrl-C: so it is without a terminal among the descriptors" {
	in_each_shell without_terminal_descriptors
}

without_terminal_descriptors() {
	echo >t/in
	dies_of_ctrl_c_redirected
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

# Not all go on: a dash has no patience, it dies at once and the job lives on.
script_with_a_job_that_handles_it() {
	local interpreter
	for interpreter in sh bash zsh; do
		mkdir -p t/$interpreter
		echo "./run ./counter; echo \$? >>t/$interpreter/next" >script
		say "$interpreter script"
		wait_for_file t/ready
		press '\x03'
		wait_until got INT
		all_has_come
		held
		touch t/done
		prompt
		wait_until both_gone_counted
		diff -u - t/got <<<$'INT\nUSR1'
		say "echo \$? >t/$interpreter/code"
		prompt
		rm t/ready t/done t/got
	done
	[[ $(<t/bash/next) == 7 && $(<t/bash/code) == 0 ]]
}

both_gone_counted() { gone "$(<t/ready)" && gone "$(<t/top)"; }

# bats test_tags=extra
@test "P2: a script goes on after Ctrl-C when the job handled it, if it would without rlockrun" {
	in_each_shell script_with_a_job_that_handles_it
}

# --- Ctrl-Z -----------------------------------------------------------------

stop() {
	say './run ./worker'
	wait_for_file t/job
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	wait_until both_stopped
	held
}

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

@test "P2: Ctrl-Z and bg: the job goes on in the background, fg takes it back" {
	SCREENS=differ
	in_each_shell goes_on_in_the_background
}

stops_twice() {
	stop
	for _ in 1 2 3; do
		say fg
		wait_until both_running
		press '\x1a'
		shows 'Stopped|suspended'
		prompt
		wait_until both_stopped
	done
	say fg
	wait_until both_running
	go
	prompt
	code 5
}

# bats test_tags=extra
@test "P2: Ctrl-Z and fg, again and again" {
	in_each_shell stops_twice
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

# bats test_tags=extra
@test "P2: Ctrl-Z: a job that handles it and doesn't stop gets it once and keeps the terminal" {
	in_each_shell is_told_of_ctrl_z
}

dies_while_stopped() {
	stop
	say 'kill %1'
	prompt
	# dash leaves it stopped, with a TERM that waits for CONT.
	[[ $SHELL_NAME != dash ]] || say fg
	wait_until both_gone
	hang_up # bash may still take it for stopped, and not leave at once
	wait_until gone "$TERMINAL"
}

# bats test_tags=extra
@test "P2: Ctrl-Z and kill %1: the job dies, and so does rlockrun" {
	SCREENS=differ
	in_each_shell dies_while_stopped
}

stops_a_pipeline() {
	say './feeder | ./run ./worker | ./taker'
	wait_for_file t/feeder
	wait_for_file t/taker
	wait_for_file t/job
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	wait_until both_stopped
	held
	say fg
	wait_until both_running
	go
	prompt
}

# bats test_tags=extra
@test "P2: Ctrl-Z and fg with a pipeline" {
	in_each_shell stops_a_pipeline
}

# The guard needs neither rlockrun nor the job for it.
outlives_the_lease() {
	local since
	stop
	since=$(now_ms)
	wait_until gone "$(<t/job)"
	since=$(($(now_ms) - since))
	echo "killed after $since ms"
	((since <= 1000))
	is_stopped "$(<t/top)"
	say fg
	prompt
	code 79
	is_free
}

# bats test_tags=serial,extra
@test "P2: stopped for longer than the lease: the job is dead when it ends, 79 after fg" {
	EXTRA=(-t 1)
	locked_in_each_shell outlives_the_lease
	grep -q 'lost:' screen
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

# bats test_tags=extra
@test "P2: a job that stops itself with STOP gives the terminal back, fg continues it" {
	SCREENS=differ # zsh tells which signal it was
	job stopper 'echo $$ >t/job; kill -STOP $$; exit 3'
	in_each_shell stops_itself
}

# bats test_tags=extra
@test "P2: a job that stops itself with TSTP gives the terminal back, fg continues it" {
	job stopper 'echo $$ >t/job; kill -TSTP $$; exit 3'
	in_each_shell stops_itself
}

# bats test_tags=extra
@test "P2: a job that stops its group with STOP gives the terminal back, fg continues it" {
	job stopper 'echo $$ >t/job; kill -STOP 0; exit 3'
	in_each_shell stops_itself
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

# bats test_tags=extra
@test "P2: who continues the job after Ctrl-Z continues rlockrun, which keeps the lock" {
	SCREENS=differ
	in_each_shell continues_from_elsewhere
}

# --- the terminal -----------------------------------------------------------

reads_lines() {
	say './run ./reader'
	wait_for_file t/job
	say 'what is typed'
	prompt
	code 3
	[[ $(<t/line) == 'what is typed' ]]
}

# bats test_tags=extra
@test "P2: a job reads lines from the terminal" {
	in_each_shell reads_lines
}

reads_end_of_file() {
	say './run cat >t/copy'
	wait_for_file t/top
	say 'a line'
	press '\x04'
	prompt
	code 0
	[[ $(<t/copy) == 'a line' ]]
}

# bats test_tags=extra
@test "P2: Ctrl-D ends a job's input" {
	in_each_shell reads_end_of_file
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

# bats test_tags=extra
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

# bats test_tags=extra
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

@test "P2: in raw mode the job gets the keys, nobody a signal" {
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

# bats test_tags=extra
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

# bats test_tags=extra
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

# bats test_tags=extra
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

# bats test_tags=extra
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

# bats test_tags=extra
@test "P2: a job that closes its stdout: who reads it sees the end, though rlockrun lives on" {
	job closer 'echo $$ >t/job; exec >&-; read -r _ <go'
	in_each_shell closes_its_stdout
}

closes_its_stdin() {
	say '{ yes; echo $? >t/code; } | ./run ./closer'
	wait_for_file t/code
	both_running
	go
	prompt
	[[ $(<t/code) == 141 ]]
}

# bats test_tags=extra
@test "P2: a job that closes its stdin: who feeds it gets SIGPIPE, though rlockrun lives on" {
	job closer 'echo $$ >t/job; exec <&-; read -r _ <go'
	in_each_shell closes_its_stdin
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

# bats test_tags=extra
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

# bats test_tags=extra
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

# bats test_tags=extra
@test "P2: so it is with a background job" {
	SCREENS=differ
	in_each_shell ends_with_its_terminal_in_the_background
}

ends_with_its_terminal_while_stopped() {
	stop
	hang_up
	wait_until gone "$TERMINAL"
	wait_until both_gone
}

# bats test_tags=extra
@test "P2: so it is with a stopped job" {
	SCREENS=differ
	in_each_shell ends_with_its_terminal_while_stopped
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

# bats test_tags=extra
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

# bats test_tags=extra
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

# bats test_tags=extra
@test "P2: a job that closes all that it has of the terminal: Ctrl-Z, fg, its code" {
	job closer 'exec <&- >&- 2>&-; echo $$ >t/job; read -r _ <go; exit 6'
	in_each_shell closes_its_terminal
}

has_no_input() {
	say './run ./reader </dev/null'
	prompt
	code 3
	[[ $(<t/line) == '' ]]
}

# bats test_tags=extra
@test "P2: stdin from /dev/null: the job sees the end of file" {
	in_each_shell has_no_input
}

# --- waiting in the foreground ----------------------------------------------

# start_waiter: behind one that `go_free` ends.
start_waiter() {
	rm -f job ./done ended
	hold
	HOLDER=$PID
	list_keys >before
	say './run ./worker'
	shows 'waiting [0-9]+s, position 1 in the queue: '
}

go_free() {
	touch ./done
	exits_with 0 "$HOLDER"
}

waiter_dies_of_ctrl_c() {
	local since
	start_waiter
	since=$(now_ms)
	press '\x03'
	prompt
	echo "after $(($(now_ms) - since)) ms"
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

waiter_stops_its_script() {
	echo './run ./worker; echo next >t/next' >script
	rm -f job ./done
	hold
	HOLDER=$PID
	for interpreter in sh bash zsh; do
		say "$interpreter script"
		shows 'waiting [0-9]+s, position 1 in the queue: '
		press '\x03'
		prompt
		code 130
		[[ ! -e t/next && ! -e t/job ]]
	done
	go_free
}

# bats test_tags=extra
@test "P2: Ctrl-C at a waiter ends the script around it" {
	locked_in_each_shell waiter_stops_its_script
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

waiter_misses_its_turn() {
	start_waiter
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	go_free
	[[ ! -e t/job ]]
	say bg
	wait_for_file t/job
	wait_until both_running
	prompt
	say fg
	shows '\./run'
	go
	prompt
	code 5
	is_free
}

# bats test_tags=extra
@test "P2: a waiter that is stopped while the lock is freed gets it after bg" {
	locked_in_each_shell waiter_misses_its_turn
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

ctrl_z_before_the_job() {
	slow_start
	press '\x1a'
	shows 'Stopped|suspended'
	prompt
	is_held
	say fg
	wait_for_file t/job
	wait_until both_running
	go
	prompt
	code 5
}

# bats test_tags=extra
@test "P2: Ctrl-Z between the lock and the job, and fg" {
	EXTRA=(-v)
	locked_in_each_shell ctrl_z_before_the_job
}

# All this takes a few milliseconds, so the moments are close together.
# bats test_tags=extra
@test "P2: Ctrl-C at any moment of a start isn't lost" {
	env --default-signal "$HELPERS/ctrl-c-at" 0 5000 50 "$RLOCKRUN" -k "$KEY" -- \
		sleep 60
	wait_until is_free
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
	shows "rlockrun: $KEY is held by $host"' \(pid [0-9]+, [^)]*\) since [^;]*; waiting'
	press '\x03'
	wait_until gone "$TERMINAL"
	rm keys
	go_free
}

@test "P2: on a terminal of ten columns a message is written whole" {
	locked_in_each_shell fits_ten_columns
}

#!/usr/bin/env bats
# How many may wait (--max-waiters), and what a waiter reports (--progress).
# shellcheck disable=SC2016,SC2034 # helpers use STARTED; the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	export A_JOB
	begin_queue_test
}
teardown() {
	end_monitor
	end_test
}

# --- what is told ---------------------------------------------------------------

# on_terminal [NAME=VALUE] OPTION...: a waiter on a pty of its own, its job says `job`;
# what appears is in `screen`. It starts when the terminal has the size in `ready`.
on_terminal() {
	local set=TERM=xterm
	if [[ ${1-} == TERM=* ]]; then
		set=$1
		shift
	fi
	start env "$set" "$HELPERS/on-pty" screen "@orders" -- \
		sh -c "until [ -e ready ] && [ \"\$(stty size)\" = \"\$(cat ready)\" ]; do sleep 0.02; done; exec \"\$0\" \"\$@\"" \
		"$RLOCKRUN" -k "$KEY" "$@" -- sh -c 'echo job'
	wait_until test -p orders
}

screen_has() {
	grep -qaE "$1" screen
}

@test "--progress: one line on a terminal, erased when the job starts" {
	LOGNAME=deploy holds A
	a=$PID
	enqueue B
	on_terminal
	echo "resize 24 300" >orders
	echo 24 300 >ready
	line="rlockrun: \"$KEY\" is held by $(uname -n) \(pid $a, deploy\) since [0-9:]{8}, [0-9]+s ago;"
	wait_until screen_has $'^\r\e\\[K'"$line waiting [0-9]+s, position 2 in the queue"
	wait_until screen_has 'waiting [1-9][0-9]*s, position 2 in the queue'
	touch go.A
	wait_until screen_has 's, position 1 in the queue'
	touch go
	exits_with 0 "$PID"
	[[ $(tr -d '\r' <screen | tail -n 1) == $'\e[K'"job" || $(tail -n 1 screen) == *$'\r\e[K'"job"$'\r' ]]
	# All on one line: the job's is the only end of line.
	[[ $(grep -ac '' screen) == 1 ]]
}

@test "--progress: in 80 columns the holder, the times and the position are seen" {
	LOGNAME=deploy holds A
	a=$PID
	on_terminal -w 5m
	echo 24 80 >ready
	wait_until screen_has "\": [^ ]+ \(pid $a(, deploy)?\)[^;]*; waiting [1-9][0-9]*s, 4m[0-9]+s left, (position 1|1st)"
	echo "resize 24 40" >orders
	wait_until screen_has $'\e\\[K"[^ ]+": [^ ]+; 4m[0-9]+s left, 1st\r'
	touch go
	exits_with 0 "$PID"
	run -1 grep -qaE $'\e\\[K[^\r]{80}' screen
}

# The hook runner, another process, does not know whether the line is shown.
@test "--progress: what a hook has to report takes the place of the line" {
	holds A
	on_terminal --hook '[ $RLOCKRUN_EVENT != waiting ] || exec "$A_JOB" until:fail exit:3'
	echo "resize 24 200" >orders
	echo 24 200 >ready
	wait_until screen_has 'waiting [1-9][0-9]*s'
	touch fail
	wait_until screen_has 'ended with status 3'
	screen_has $'\r\e\\[Krlockrun: the hook for waiting ended with status 3'
	touch go
	exits_with 0 "$PID"
}

@test "--progress: a server that does not reply is shown on the line" {
	own_server
	cli set "$KEY" other
	on_terminal --server-timeout 20
	echo "resize 24 200" >orders
	echo 24 200 >ready
	wait_until screen_has 'is held by another client .*waiting [1-9][0-9]*s'
	stop_server "$SUITE_DIR"
	wait_until screen_has $'\r\e\\[Krlockrun: "'"$KEY"'": .*; trying again$'
	: >screen
	start_server "$SUITE_DIR"
	wait_until screen_has job
	exits_with 0 "$PID"
	[[ $(grep -ac '' screen) == 1 ]]
}

@test "--progress: nothing wraps on a terminal of ten columns, nor a ^C after it" {
	holds A
	on_terminal
	echo "resize 24 10" >orders
	echo 24 10 >ready
	wait_until eval '(($(tr -cd "\r" <screen | wc -c) >= 2))'
	touch go
	exits_with 0 "$PID"
	tr '\r' '\n' <screen | sed 's/\x1b\[K//g' >lines
	[[ $(awk 'length > 7' lines) == '' ]]
	grep -qx job lines
}

@test "--progress never, and a stderr that is no terminal: plain lines" {
	holds A
	on_terminal --progress never
	echo 24 80 >ready
	wait_until screen_has 'ago; waiting'
	enqueue B
	wait_for_file "$ERR"
	heartbeats_pass
	touch go
	all_end_well
	run -1 screen_has $'\e'
	screen_has ': acquired after '
	[[ $(wc -l <"$ERR") == 2 && $(<"$ERR") == *"; waiting, position 2 in the queue"$'\n'*": acquired after "* ]]
}

@test "--progress auto: plain lines on a terminal that obeys no control sequences, also from a hook" {
	local set
	for set in TERM=dumb TERM=; do
		STARTED=()
		rm -f ready go fail screen orders A.started
		holds A
		on_terminal "$set" --hook '[ $RLOCKRUN_EVENT != waiting ] || exec "$A_JOB" until:fail exit:3'
		echo 24 80 >ready
		wait_until screen_has 'ago; waiting'
		touch fail
		wait_until screen_has 'ended with status 3'
		heartbeats_pass
		touch go
		all_end_well
		screen_has ': acquired after '
		run -1 screen_has $'\e'
	done
}

#!/usr/bin/env bats
# --newest: of the waiters with this option only the newest stays. --replace and
# --replaceable: the first waiter asks the holder to stop. The simulation plays both.
# shellcheck disable=SC2016,SC2034 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	I="{$KEY}:rlk:i"
}
teardown() {
	end_monitor
	end_test
}

# is_newest NAME PID: that waiter is known as the newest one.
is_newest() {
	[[ $(cli hget "$I" w) =~ ^[0-9]+\ "$(member_of "$2") ".*" build%20$1 " ]]
}

# newest NAME [OPTION...]: a waiter with --newest, whose label is its name.
newest() {
	enqueue "$1" --newest --label "build $1" "${@:2}"
}

# overtaken_by NAME STATUS PID ERR: that one left, as this one came.
overtaken_by() {
	exits_with "$2" "$3"
	[[ $(tail -n 1 "$4") == "rlockrun: \"$KEY\" was overtaken by \"build $1\" on $(hostname); command not started" ]]
}

# --- --newest -----------------------------------------------------------------------

@test "S36: --newest: a newer one overtakes; the former leaves at once with 75" {
	holds A
	newest B
	b=$PID err=$ERR
	is_newest B "$b"
	bell=$(token_of "$b")
	monitor
	newest C
	c=$PID
	overtaken_by C 75 "$b" "$err"
	catch_up
	grep -qi "\"rpush\" \"{$KEY}:rlk:m:$bell\"" "$MONITOR"
	are_queued 1
	touch go.A
	wait_for_file C.started
	touch go
	exits_with 0 "$c"
	[[ $(paste -sd ' ' order) == "A C" ]]
	[[ ! -e overlaps ]]
}

# --- --replace ----------------------------------------------------------------------

# replaces NAME [OPTION...]: a run with --replace, whose label is its name. It is
# not waited for.
replaces() {
	start "$RLOCKRUN" -k "$KEY" --replace --label "build $1" "${@:2}" -- sh ./turn "$1"
}

# replaced_by NAME PID ERR: that holder ended with 80, as this one asked it to.
replaced_by() {
	exits_with 80 "$2"
	[[ $(<"$3") == *"rlockrun: \"$KEY\": \"build $1\" on $(hostname) asks for the lock; stopping the job"* ]]
	[[ $(tail -n 1 "$3") == "rlockrun: \"$KEY\" was replaced by \"build $1\" on $(hostname)" ]]
}

@test "S37: --replace: a --replaceable holder stops with 80, and the next one runs" {
	holds A --replaceable
	a=$PID err=$ERR
	replaces B
	replaced_by B "$a" "$err"
	wait_for_file B.started
	[[ $(tail -n 2 "$ERR") == *" is held by "*", and was asked to stop; waiting"*": acquired after "* ]]
	touch go
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A B" && ! -e overlaps ]]
	[[ $(cli lindex "{$KEY}:rlk:r" 0) == [0-9]*" 0 "* ]]
	none_left
}

@test "S37: five pushes in a row: the first is replaced, the last runs, the others never start" {
	push() {
		start "$RLOCKRUN" -k "$KEY" --newest --replace --replaceable --label "build $1" "${@:2}" -- \
			sh -c 'trap "exec \"\$0\" until:bye" TERM
				"$0" alone:overlaps "order+=$1" "$1.started=%p" until:go & wait' "$A_JOB" "$1"
	}
	push 1 --kill-after 20
	wait_for_file 1.started
	push 2
	wait_until grep -q '"build 2" on .* asks for the lock' err.1
	push 3
	exits_with 75 "${STARTED[1]}"
	push 4
	exits_with 75 "${STARTED[2]}"
	push 5
	exits_with 75 "${STARTED[3]}"
	touch bye
	exits_with 80 "${STARTED[0]}"
	wait_for_file 5.started
	touch go
	exits_with 0 "${STARTED[4]}"
	[[ $(paste -sd ' ' order) == "1 5" && ! -e overlaps ]]
	[[ $(tail -n 1 err.2) == *'overtaken by "build 3"'* && $(tail -n 1 err.4) == *'overtaken by "build 5"'* ]]
}

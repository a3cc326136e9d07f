#!/usr/bin/env bats
# --replace and --replaceable: the first waiter asks the holder to stop.
# shellcheck disable=SC2016,SC2034 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue
load ../helpers/faults

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

gives_order() {
	[[ $(cli hget "$I" o) == "$(cli get "$KEY") "* ]]
}

# --- one after the other ------------------------------------------------------------

@test "--replace: a --replaceable holder stops with 80, and the next one runs" {
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

@test "--replace: a job that ignores TERM is killed after --kill-after" {
	start "$RLOCKRUN" -k "$KEY" --kill-after 0.3 --replaceable -- "$A_JOB" ignore:TERM up=%p until:never
	a=$PID
	wait_for_file up
	replaces B
	exits_with 80 "$a"
	touch go
	exits_with 0 "$PID"
}

# --- who is asked, and who asks -------------------------------------------------------

@test "--replace: only the first in the queue asks, and the order of the queue holds" {
	holds A --replaceable
	a=$PID err=$ERR
	enqueue B
	b=$PID
	replaces C
	wait_until is_queued "$PID"
	heartbeats_pass
	run ! gives_order
	[[ $(tail -n 1 "$ERR") == *" ago; waiting, position 2 in the queue" ]]
	kill -TERM "$b"
	replaced_by C "$a" "$err"
	touch go
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A C" ]]
}

# ignores TEXT...: A looks at orders of that text, and goes on.
ignores() {
	holds A --replaceable
	for text; do
		cli hset "$I" o "$text"
		monitor
		wait_until looked
		end_monitor
	done
	touch go
	exits_with 0 "$PID"
}
# Once before the reply to the other look.
looked() {
	catch_up
	(($(grep -c "\"HMGET\" \"$I\" \"o\"" "$MONITOR") >= 2))
}
by='x:01234567-89ab-4def-8123-456789abcdef:7@ci run 0 7 ci u X -'
soon() { echo $(($(server_ms) + 600000)); }

@test "--replace: what an order says is escaped" {
	holds A --replaceable
	cli hset "$I" o "$(cli get "$KEY") $(soon) x:01234567-89ab-4def-8123-456789abcdef:7@"$'\e[31m run 0 7 ci u "\e[0m" -'
	exits_with 80 "$PID"
	[[ $(tail -n 1 "$ERR") == *' was replaced by "\"\x1b[0m\"" on \x1b[31m' ]]
}

# --- at the worst moment ----------------------------------------------------------------

@test "--replace: a job that ends by itself just before keeps its status" {
	start "$RLOCKRUN" -k "$KEY" --replaceable -- "$A_JOB" up=%p until:bye exit:7
	a=$PID
	wait_for_file up
	kill -STOP "$a"
	replaces B
	wait_until gives_order
	touch bye
	find_guard "$a"
	wait_until no_job "$GUARD"
	kill -CONT "$a"
	exits_with 7 "$a"
	touch go
	exits_with 0 "$PID"
}
no_job() {
	[[ -z $(cat "/proc/$1/task/$1/children") ]]
}

@test "five pushes in a row: the first is replaced, the last runs, the others never start" {
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

# --- options ------------------------------------------------------------------------------

@test "--replace: without access to the record or the queue 77, and no plain tier" {
	not_over cluster sentinel
	cli acl setuser noorder on '>v' '+@all' "~$KEY" "~{$KEY}:rlk:[nqlmr]*"
	for option in --replace --replaceable; do
		run -77 rl -r "unix://noorder:v@$SUITE_DIR/s" "$option" touch ran
	done
	run -0 rl -r "unix://noorder:v@$SUITE_DIR/s" true
	cli acl setuser noorder resetkeys "~$KEY" "~{$KEY}:rlk:[inr]*"
	run -77 rl -r "unix://noorder:v@$SUITE_DIR/s" --replaceable touch ran
	cli acl setuser noorder "~{$KEY}:rlk:*" -hmget
	run -77 rl -r "unix://noorder:v@$SUITE_DIR/s" --replace touch ran
	run -77 rl -r "unix://noorder:v@$SUITE_DIR/s" --replaceable touch ran
	[[ ! -e ran ]]
	none_left
	hold --replaceable
	run -77 rl -r "unix://noorder:v@$SUITE_DIR/s" --replace touch ran
	[[ ! -e ran && $(cli hget "$I" o) == "" ]]
}

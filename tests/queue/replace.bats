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

@test "--replace: without a label the asker is its pid" {
	holds A --replaceable
	a=$PID err=$ERR
	start "$RLOCKRUN" -k "$KEY" --replace true
	exits_with 80 "$a"
	[[ $(tail -n 1 "$err") == "rlockrun: \"$KEY\" was replaced by pid $PID on $(hostname)" ]]
	exits_with 0 "$PID"
}

@test "--replace: a free lock is taken, and a run with -v has all in its log" {
	run -0 rl --replace --replaceable true
	[[ -z $output ]]
	holds A --replaceable --log-to "$PWD/log" --log-format json --hook 'echo "$RLOCKRUN_EVENT" >>events'
	a=$PID
	start "$RLOCKRUN" -k "$KEY" --replace --label X true
	exits_with 80 "$a"
	exits_with 0 "$PID"
	grep -q '"event":"replacing".*"by_host":"'"$(hostname)"'","by_pid":'"$PID"',"by_label":"X"' log
	grep -q '"event":"ended".*"reason":"replaced","status":80' log
	wait_until grep -qx replaced events
	run -1 grep -x 'failed\|lost' events
}

@test "--replace: the job may end in peace, and the lock is renewed until it is dead" {
	start "$RLOCKRUN" -k "$KEY" --kill-after 20 --replaceable -- sh -c 'trap "exec \"\$0\" until:bye order+=A" TERM
		"$0" up=%p until:never & wait' "$A_JOB"
	a=$PID
	wait_for_file up
	replaces B
	wait_until grep -q 'stopping the job' err.1
	heartbeats_pass
	[[ ! -e B.started ]]
	touch bye go
	exits_with 80 "$a"
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A B" ]]
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

@test "--replace: -w runs out while the holder stops" {
	start "$RLOCKRUN" -k "$KEY" --kill-after 20 --replaceable -- sh -c 'trap "exec \"\$0\" until:bye" TERM
		"$0" up=%p until:never & wait' "$A_JOB"
	a=$PID
	wait_for_file up
	replaces B -w 3
	exits_with 75 "$PID"
	[[ $(tail -n 1 "$ERR") == *", and was asked to stop; gave up after 3s; command not started" ]]
	touch bye
	exits_with 80 "$a"
}

# --- who is asked, and who asks -------------------------------------------------------

# bats test_tags=night
@test "--replace: another holder is waited for, which is said; -w bounds it" {
	holds A
	run -75 rl --replace -w 2 true
	[[ $output == *" ago, and is not --replaceable; waiting"*" ago, and is not --replaceable; gave up after 2s; command not started" ]]
	touch go
	exits_with 0 "${STARTED[0]}"
	rm go
	run -0 rl --hold 1m
	run -75 rl --replace -w 2 true
	[[ $output == *", and is not --replaceable; waiting"* ]]
	cli del "$KEY"
	cli set "$KEY" foreign px 60000
	run -75 rl --replace -w 2 true
	[[ $output == *"another client (not a rlockrun), and is not --replaceable; waiting"* ]]
	cli del "$KEY"
	rl true
	"$RLOCKRUN" -q --pause "$KEY"
	run -75 rl --replace -w 2 true
	[[ $output == *" is paused by "*"; waiting"* && $output != *"--replaceable"* ]]
	"$RLOCKRUN" -q --resume "$KEY"
}

@test "--replaceable: a waiter without --replace replaces nobody" {
	holds A --replaceable
	a=$PID
	enqueue B --replaceable
	heartbeats_pass
	run ! gives_order
	touch go
	exits_with 0 "$a"
	exits_with 0 "$PID"
}

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

@test "--replace: an order names its holder, and reaches no other" {
	ignores "01234567-89ab-4def-8123-456789abcdef $(soon) $by"
}

# bats test_tags=night
@test "--replace: a malformed order stops nobody" {
	local token=01234567-89ab-4def-8123-456789abcdef
	ignores '' x "$token" "$token:$(soon) $by" "$token 1e300 $by" "$token 1 $by" "$token $(soon)"
}

@test "--replace: what an order says is escaped" {
	holds A --replaceable
	cli hset "$I" o "$(cli get "$KEY") $(soon) x:01234567-89ab-4def-8123-456789abcdef:7@"$'\e[31m run 0 7 ci u "\e[0m" -'
	exits_with 80 "$PID"
	[[ $(tail -n 1 "$ERR") == *' was replaced by "\"\x1b[0m\"" on \x1b[31m' ]]
}

@test "--replaceable: --status and --list show it" {
	holds A --replaceable
	run -0 rl --status
	[[ $output == *$'\nmay be:   replaced, as of --replaceable\n'* ]]
	run -0 rl --status --json
	[[ $output == *'"replaceable":true'* ]]
	run -0 "$RLOCKRUN" --list --json "$KEY"
	[[ $output == *'"replaceable":true'* ]]
	touch go
	exits_with 0 "$PID"
	rm go
	holds B
	run -0 rl --status --json
	[[ $output == *'"replaceable":false'* ]]
	touch go
	exits_with 0 "$PID"
}

@test "--replaceable: a nested run does not obey, the outer one does" {
	start "$RLOCKRUN" -k "$KEY" --replaceable -- \
		"$RLOCKRUN" -k "$KEY" --replaceable -- "$A_JOB" up=%p until:never
	a=$PID err=$ERR
	wait_for_file up
	replaces B
	exits_with 80 "$a"
	[[ $(grep -c 'asks for the lock' "$err") == 1 ]]
	touch go
	exits_with 0 "$PID"
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

# bats test_tags=night
@test "--replace: the order of one that died ends, and it is not obeyed" {
	holds A --replaceable
	a=$PID
	kill -STOP "$a"
	replaces B
	wait_until gives_order
	till=$(cli hget "$I" o | cut -d ' ' -f 2)
	((till <= $(server_ms) + 5000))
	kill -KILL "$PID"
	# The holder compares whole seconds.
	wait_until is_past $((till + 1000))
	kill -CONT "$a"
	monitor
	wait_until looked
	touch go
	exits_with 0 "$a"
}

# bats test_tags=night
@test "--replace: a third one replaces the second" {
	holds A --replaceable
	a=$PID err=$ERR
	replaces B --replaceable
	b=$PID berr=$ERR
	replaced_by B "$a" "$err"
	wait_for_file B.started
	replaces C
	replaced_by C "$b" "$berr"
	touch go
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A B C" && ! -e overlaps ]]
}

# bats test_tags=night
@test "--replace: a holder that is killed, or frozen, while it is asked" {
	holds A --replaceable
	a=$PID
	kill -STOP "$a"
	replaces B --replaceable -t 3
	b=$PID
	wait_until gives_order
	kill -KILL "$a"
	end_lease
	wait_for_file B.started
	kill -STOP "$b"
	replaces C
	# Its guard ends the job with the lease.
	wait_for_file C.started
	kill -CONT "$b"
	exits_with 79 "$b"
	touch go
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A B C" && ! -e overlaps ]]
}

# bats test_tags=night
@test "--replace: a look whose reply is lost is repeated, and harms no renewal" {
	start_proxy proxy cut:EVAL/1:1 lose:EVAL/1:2
	holds A --replaceable
	a=$PID err=$ERR
	passed EVAL/1 3
	RLOCKRUN_REDIS=$SUITE_URL
	replaces B
	replaced_by B "$a" "$err"
	touch go
	exits_with 0 "$PID"
	[[ ! -e overlaps ]]
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

@test "--replace, --replaceable: 64 where they cannot be" {
	for option in --replace --replaceable; do
		run -64 rl "$option" -s true
		run -64 rl "$option" -p 2 true
		run -64 rl "$option" -k "$KEY:2" true
		run -64 rl "$option" -r redis://127.0.0.1:1 -r redis://127.0.0.1:2 true
	done
	run -64 rl --replace -n true
	run -64 rl --replaceable --min-hold 1 true
	[[ $output == *"--replaceable and --min-hold exclude each other"* ]]
	run -64 rl --replaceable --hold 1m
	[[ $output == *"--replaceable and --hold exclude each other"* ]]
	run -0 rl --replaceable -n true
}

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

@test "a run without --replaceable never looks for an order, and names no policy" {
	monitor
	holds A
	enqueue B
	heartbeats_pass
	touch go
	all_end_well
	catch_up
	run -1 grep -F "\"HMGET\" \"$I\" \"o\"" "$MONITOR"
}

#!/usr/bin/env bats
# --newest: of the waiters with this option only the newest stays.
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

# --- who leaves -------------------------------------------------------------------

@test "--newest: a newer one overtakes; the former leaves at once with 75" {
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

@test "--newest: waiters without it keep their places, before and behind" {
	holds A
	enqueue B
	b=$PID
	newest C
	c=$PID
	enqueue D
	d=$PID
	newest E
	exits_with 75 "$c"
	are_queued 3
	touch go
	exits_with 0 "$b"
	exits_with 0 "$d"
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A B D E" ]]
	[[ ! -e overlaps ]]
}

# --- at the worst moment ------------------------------------------------------------

@test "--newest: what others have put into the key harms nobody" {
	holds A
	for text in '' x '99999999999999999999 x y' '9007199254740991 x:y z' "$(server_ms)000"; do
		cli hset "$I" w "$text"
		newest B
		are_queued 1
		kill -TERM "$PID"
		wait_until are_queued 0
	done
	newest B
	# A name with control characters, which nobody has in the queue.
	cli hset "$I" w "$(($(server_ms) + 9000))000 x:01234567-89ab-4def-8123-456789abcdef:7@"$'\e[31m run 0 7 h u \e[0m -'
	exits_with 75 "$PID"
	[[ $(tail -n 1 "$ERR") == *' was overtaken by "\x1b[0m" on \x1b[31m; command not started' ]]
	touch go
	exits_with 0 "${STARTED[0]}"
}

# --- options ------------------------------------------------------------------------

@test "--newest: without access to the queue or the record 77, and no plain tier" {
	not_over cluster sentinel
	cli acl setuser nobody on '>v' '+@all' "~$KEY" "~{$KEY}:rlk:[nqlmr]*"
	run -77 rl -r "unix://nobody:v@$SUITE_DIR/s" --newest touch ran
	run -0 rl -r "unix://nobody:v@$SUITE_DIR/s" true
	cli acl setuser nobody resetkeys "~$KEY" "~{$KEY}:rlk:[inr]*"
	run -77 rl -r "unix://nobody:v@$SUITE_DIR/s" --newest touch ran
	cli acl setuser nobody "~{$KEY}:rlk:*"
	for command in zadd zrank zrem zscore; do
		cli acl setuser nobody +@all "-$command"
		run -77 rl -r "unix://nobody:v@$SUITE_DIR/s" --newest touch ran
		[[ ${output,,} == *"$command"* ]]
	done
	[[ ! -e ran ]]
	none_left
}

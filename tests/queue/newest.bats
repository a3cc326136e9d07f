#!/usr/bin/env bats
# --newest: of the waiters with this option only the newest stays.
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

@test "--newest: -E, -q and a run without a label" {
	holds A
	newest B -E 9
	b=$PID err=$ERR
	start "$RLOCKRUN" -k "$KEY" --newest -E 4 -q true
	c=$PID quiet=$ERR
	exits_with 9 "$b"
	[[ $(tail -n 1 "$err") == *" was overtaken by pid $c on $(hostname); command not started" ]]
	newest D
	exits_with 4 "$c"
	[[ ! -s $quiet ]]
	touch go
	exits_with 0 "$PID"
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

@test "--newest: a holder is not overtaken, and nobody rings it" {
	holds A --newest
	monitor
	newest B
	catch_up
	is_newest B "$PID"
	run -1 grep -i '"rpush"' "$MONITOR"
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A B" ]]
}

# --- at the worst moment ------------------------------------------------------------

@test "--newest: one that was frozen is overtaken though it is the head of a free lock" {
	holds A
	newest B
	b=$PID err=$ERR
	kill -STOP "$b"
	newest C
	c=$PID
	kill -STOP "$c"
	touch go
	exits_with 0 "${STARTED[0]}"
	is_free
	kill -CONT "$b"
	overtaken_by C 75 "$b" "$err"
	[[ ! -e B.started ]]
	kill -CONT "$c"
	exits_with 0 "$c"
	[[ $(paste -sd ' ' order) == "A C" ]]
}

# bats test_tags=night
@test "--newest: one that lost its place to death comes back, and is overtaken" {
	holds A
	newest B
	b=$PID err=$ERR
	kill -STOP "$b"
	newest C
	cli zrem "$Q" "$(member_of "$b")"
	touch go
	exits_with 0 "$PID"
	kill -CONT "$b"
	overtaken_by C 75 "$b" "$err"
	[[ $(paste -sd ' ' order) == "A C" ]]
}

# bats test_tags=night
@test "--newest: after the queue was lost an older one overtakes nobody" {
	holds A
	newest B
	b=$PID err=$ERR
	kill -STOP "$b"
	newest C
	c=$PID
	kill -STOP "$c"
	cli del "$Q" "$L" "$I"
	kill -CONT "$b"
	wait_until is_queued "$b"
	is_newest B "$b"
	kill -CONT "$c"
	overtaken_by C 75 "$b" "$err"
	touch go
	exits_with 0 "$c"
	[[ $(paste -sd ' ' order) == "A C" ]]
}

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

# spoiled RULE: B waits behind a proxy, C overtakes it. Where B has no ticket it says
# for how long it has asked, without the way of that: C comes a second later, so that a
# slow way does not make B the newer one.
spoiled() {
	holds A
	through "$1"
	start "$RLOCKRUN" -k "$KEY" --newest --server-timeout 30 -- sh ./turn B
	b=$PID err=$ERR
	case $1 in
	vanish:*) passed CLIENT 1 ;;
	*:1)
		passed EVAL 1
		later=$(($(server_ms) + 1000))
		wait_until is_past "$later"
		;;
	*) wait_until is_queued "$b" ;;
	esac
	RLOCKRUN_REDIS=$SUITE_URL
	newest C
	overtaken_by C 75 "$b" "$err"
	touch go
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A C" ]]
}

# bats test_tags=night
@test "--newest: a first try is never answered, and undone" {
	spoiled drop:EVAL:1
}

# bats test_tags=night
@test "--newest: a reply to the first try is lost, and a newer one comes meanwhile" {
	spoiled cut:EVAL:1
}

# bats test_tags=night
@test "--newest: a first try never arrives" {
	spoiled vanish:EVAL:1
}

# bats test_tags=night
@test "--newest: a later try never arrives" {
	spoiled lose:EVAL:2
}

@test "--newest: a grant that comes twice overtakes nobody who came between" {
	not_over cluster sentinel
	monitor
	holds A --newest
	newest B
	b=$PID
	before=$(cli hget "$I" w)
	catch_up
	run -0 "$HELPERS/again" "$MONITOR" "$SUITE_DIR/s" EVAL/acquire 1
	[[ ${lines[0]} == 1 && $(cli hget "$I" w) == "$before" ]]
	heartbeats_pass
	touch go
	all_end_well
}

# --- options ------------------------------------------------------------------------

@test "--newest: 64 with -n, --shared, several keys and several servers" {
	run -64 rl --newest -n true
	[[ $output == *"--newest is about waiters, and -n does not wait"* ]]
	run -64 rl --newest -w 0 true
	run -64 rl --newest -s true
	[[ $output == *"--newest needs an exclusive lock"* ]]
	run -64 rl --newest -p 2 true
	run -64 rl --newest -k "$KEY:2" true
	[[ $output == *"--newest takes one key"* ]]
	run -64 rl --newest -r redis://127.0.0.1:1 -r redis://127.0.0.1:2 true
	[[ $output == *"--newest needs a single server"* ]]
	RLOCKRUN_NEWEST=yes run -78 rl -n true
	[[ -z $(keys_left) ]]
}

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

@test "--newest: a nested run joins as ever" {
	run -0 rl --newest "$RLOCKRUN" -k "$KEY" --newest true
}

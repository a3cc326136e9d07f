#!/usr/bin/env bats
# Waiting in the queue: who comes next, who is woken, and what becomes of the queue
# when a waiter dies, stops or is cut off.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_queue_test; }
teardown() {
	end_monitor
	end_test
}

# --- order ------------------------------------------------------------------

@test "L4: 12 waiters run in the order in which they came, heartbeats or not" {
	holds A
	for n in {1..12}; do
		enqueue "$n"
	done
	heartbeats_pass
	touch go
	all_end_well
	[[ $(tail -n 12 order) == "$(seq 12)" ]]
	sort -c -n -u fences
	[[ ! -e overlaps && -z $(keys_left) ]]
}

@test "tickets grow even when the clock does not" {
	holds A
	enqueue B
	# As if a clock that was an hour ahead had been put right.
	cli zincrby "$Q" 3600000000 "$(member_of "$PID")"
	enqueue C
	enqueue D
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A B C D" ]]
}

# bats test_tags=smoke
@test "L8: a server that restarts empty loses no waiter" {
	own_server
	holds A -t 3
	for n in 1 2 3; do
		enqueue "$n"
	done
	stop_server "$SUITE_DIR"
	start_server "$SUITE_DIR"
	exits_with 79 "${STARTED[0]}"
	STARTED=("${STARTED[@]:1}")
	touch go
	all_end_well
	[[ $(wc -l <order) == 4 && -z $(keys_left) ]]
}

@test "S4: the head takes a key that was deleted; the holder plants none again" {
	holds A
	enqueue B
	touch go.B
	cli del "$KEY"
	exits_with 0 "$PID"
	[[ $(cli exists "$KEY") == 0 ]]
	touch go.A
	exits_with 79 "${STARTED[0]}"
	[[ -z $(keys_left) ]]
}

# --- the head is gone ---------------------------------------------------------

@test "S8: a head that is stopped is passed, and starts nothing after" {
	holds A
	a=$PID
	enqueue B
	b=$PID
	enqueue C
	kill -STOP "$b"
	touch go.A
	exits_with 0 "$a"
	wait_for_file C.started
	kill -CONT "$b"
	wait_until is_queued "$b"
	[[ $(paste -sd ' ' order) == "A C" ]]
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A C B" && ! -e overlaps ]]
	sort -c -n -u fences
	[[ -z $(keys_left) ]]
}

@test "L2: a head that was killed is passed" {
	holds A
	a=$PID
	enqueue B
	b=$PID
	enqueue C
	enqueue D
	kill -KILL "$b"
	touch go.A
	exits_with 0 "$a"
	wait_for_file C.started
	[[ ! -e D.started ]]
	touch go
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A C D" && ! -e overlaps ]]
	only_bells_left
}

# --- doorbells ------------------------------------------------------------------

@test "a release wakes the head and no other waiter" {
	holds A
	enqueue B
	b=$(token_of "$PID")
	enqueue C
	c=$(token_of "$PID")
	# No heartbeat is to find the lock free.
	kill -STOP "${STARTED[@]:1}"
	outlive_all "${STARTED[@]:1}"
	monitor
	touch go.A
	exits_with 0 "${STARTED[0]}"
	wait_until was_rung "$b"
	run -1 was_rung "$c"
	kill -CONT "${STARTED[1]}"
	touch go.B
	exits_with 0 "${STARTED[1]}"
	wait_until was_rung "$c"
	kill -CONT "${STARTED[2]}"
	[[ $(grep -cF "lua] \"RPUSH\" \"{$KEY}:" "$MONITOR") == 2 ]]
	touch go
	all_end_well
	[[ -z $(keys_left) ]]
}

# The lock is held by a rlockrun of another host, whose end rings nobody.
hold_elsewhere() {
	cli set "$KEY" other
	cli hset "{$KEY}:rlk:i" h "other 17 $(server_ms) run 0 1 h u - -"
}

@test "L5: a waiter that was not woken starts with its heartbeat" {
	hold_elsewhere
	enqueue B
	cli del "$KEY"
	wait_for_file B.started
	cli del "{$KEY}:rlk:i"
	touch go
	exits_with 0 "$PID"
}

@test "a waiter whose connection is cut again and again keeps its position" {
	own_server
	holds A
	enqueue B
	enqueue C
	for _ in 1 2 3; do
		cli client kill type normal skipme yes
		wait_until is_listening "${STARTED[1]}"
		wait_until is_listening "${STARTED[2]}"
	done
	are_queued 2
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A B C" && -z $(keys_left) ]]
}

# --- foreign holders ------------------------------------------------------------

# pollers: how often each waiter has tried, the most first.
pollers() {
	grep -F "$(digest_of acquire_exclusive)" "$MONITOR" | grep -oE "\"x:[0-9a-f-]{36}:" |
		sort | uniq -c | sort -rn | awk '{ print $1 }'
}

# The head tries again after 0.1 to 0.5 s, the next two have heartbeats each 0.8 s, all
# others each 5 s.
one_polls() {
	catch_up
	mapfile -t TRIES < <(pollers)
	((TRIES[0] >= 7 && 2 * TRIES[0] >= 3 * TRIES[1] && TRIES[0] >= 3 * TRIES[3]))
}

@test "I2: behind a foreign holder one of ten polls" {
	own_server
	[[ $(cli set "$KEY" other NX PX 60000) == OK ]]
	for n in {1..10}; do
		start "$RLOCKRUN" -k "$KEY" -- sh ./turn "$n"
	done
	wait_until are_queued 10
	monitor
	wait_until one_polls
	[[ $(cli del "$KEY") == 1 ]]
	wait_for_file order
	touch go
	all_end_well
	[[ $(wc -l <order) == 10 && ! -e overlaps && -z $(keys_left) ]]
}

# --- cost -------------------------------------------------------------------------

# Each sends a try and a release, and rings or is rung: three of ours, and BLPOP before
# that. (More would be heartbeats, for which there is no time.)
@test "B1: a constant number of commands for each acquisition" {
	local sent
	own_server
	holds A
	for n in 1 2 3; do
		enqueue "$n"
	done
	monitor
	touch go
	all_end_well
	catch_up
	sent=$(grep -cE '\[0 [^l].*\] "(EVAL|EVALSHA|BLPOP|CLIENT|PEXPIRE)"' "$MONITOR")
	echo "$sent commands"
	((sent <= 3 * 3 + 10))
	[[ -z $(keys_left) ]]
}

# --- going away ---------------------------------------------------------------

# leaves_no_trace SIGNAL NAME: nothing of a waiter that is told to go.
leaves_no_trace() {
	local pid token
	start "$HELPERS/ended" "end.$2" "$RLOCKRUN" -k "$KEY" touch ran
	wait_for_file "end.$2.pid"
	pid=$(<"end.$2.pid")
	wait_until is_queued "$pid"
	token=$(token_of "$pid")
	kill -"$1" "$pid"
	exits_with 0 "$PID"
	[[ $(<"end.$2") == "signal $1" ]]
	run -1 is_queued "$pid"
	[[ $(cli --raw zrange "$L" 0 -1) != *"$token"* ]]
	[[ $(cli exists "{$KEY}:rlk:m:$token") == 0 && ! -e ran ]]
}

# bats test_tags=smoke
@test "P3: a waiter dies at once by the signal and leaves no trace" {
	holds A
	leaves_no_trace TERM head
	enqueue B
	for signal in HUP USR1; do
		leaves_no_trace "$signal" "$signal"
	done
	are_queued 1
	touch go
	exits_with 0 "${STARTED[0]}"
	wait_until test -e B.started
	wait_until eval '[[ -z $(keys_left) ]]'
}

@test "P3: a waiter dies though the server is frozen" {
	own_server
	holds A
	enqueue B
	freeze
	kill -TERM "$PID"
	exits_with 143 "$PID"
	thaw
	touch go
	exits_with 0 "${STARTED[0]}"
}

@test "P3: a head that is signalled when it was just woken wakes the next" {
	holds A
	a=$PID
	enqueue B
	b=$PID
	enqueue C
	kill -STOP "$b"
	touch go.A
	exits_with 0 "$a"
	kill -TERM "$b"
	kill -CONT "$b"
	exits_with 143 "$b"
	wait_for_file C.started
	touch go
	exits_with 0 "$PID"
	[[ $(paste -sd ' ' order) == "A C" && -z $(keys_left) ]]
}

# is_listening PID: to its bell; sets ID, the number of its connection.
is_listening() {
	ID=$(cli client list | sed -n "s/^id=\([0-9]*\) .* name=rlockrun:$1 .* cmd=blpop .*/\1/p")
	[[ $ID ]]
}

# B3, as far as it goes by hand: somebody deletes the key and rings.
@test "B3: the lock is deleted by hand and the head woken: it runs at once" {
	holds A
	enqueue B
	enqueue C
	b=$(token_of "${STARTED[1]}")
	cli eval "if redis.call('get', KEYS[1]) == ARGV[1] then
		return redis.call('del', KEYS[1]) end return 0" 1 "$KEY" wrong
	heartbeats_pass
	[[ $(<order) == A ]]
	cli del "$KEY"
	cli rpush "{$KEY}:rlk:m:$b" 1
	wait_for_file B.started
	touch go.A
	exits_with 79 "${STARTED[0]}"
	touch go
	exits_with 0 "${STARTED[1]}"
	exits_with 0 "${STARTED[2]}"
	[[ $(paste -sd ' ' order) == "A B C" && -z $(keys_left) ]]
}

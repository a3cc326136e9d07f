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

# A server that still has the connection of a dead waiter gives it the ring.
are_disconnected() {
	local pid names
	names=" $(cli client list | grep -o 'name=[^ ]*' | tr '\n' ' ')"
	[[ $names == *' name=rlockrun:'* ]] || return 1
	for pid in "${DEAD[@]}"; do
		[[ $names != *" name=rlockrun:$pid "* ]] || return 1
	done
}

@test "S46: ten waiters at the front are killed: the living start, in order" {
	local n
	holds A
	for n in {1..10}; do
		start "$RLOCKRUN" -k "$KEY" touch ran
	done
	wait_until are_queued 10
	DEAD=("${STARTED[@]:1}")
	for n in B C D; do
		enqueue "$n"
	done
	kill -KILL "${DEAD[@]}"
	wait_until are_disconnected
	touch go.A
	exits_with 0 "${STARTED[0]}"
	wait_for_file B.started
	touch go
	for n in 11 12 13; do
		exits_with 0 "${STARTED[n]}"
	done
	[[ $(paste -sd ' ' order) == "A B C D" && ! -e ran && ! -e overlaps ]]
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

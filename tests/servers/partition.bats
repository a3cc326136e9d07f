#!/usr/bin/env bats
# A network that is silent, in both directions or one: two hosts and a server,
# each in a network namespace of its own, with a cable from each host to the
# server. Nobody is told that packets are dropped. All have one clock, so that
# times can be compared.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup() {
	begin_test
	{ unshare -n true && type ip tc; } >/dev/null 2>&1 || not_here "no network namespaces"
	namespace HOST_S
	namespace HOST_A
	namespace HOST_B
	cable a "$HOST_A" 1
	cable b "$HOST_B" 2
	cut a 2>/dev/null || not_here "no way to drop packets"
	heal a
	mkdir bin
	printf '#!/bin/sh\nexec nsenter --net=/proc/%s/ns/net %s "$@"\n' "$HOST_S" \
		"$(command -v redis-server)" >bin/redis-server
	chmod +x bin/redis-server
	SUITE_DIR=$PWD/own
	export RLOCKRUN_REDIS=unix://$SUITE_DIR/s
	PATH=$PWD/bin:$PATH start_server "$SUITE_DIR" --port 6379 --bind 0.0.0.0 --protected-mode no
	MARK=${#STARTED[@]}
}
teardown() { end_test; }

# namespace VARIABLE: a new one; its pid, and its name.
namespace() {
	start unshare -n sh -c 'ip link set lo up; echo ready; exec sleep 300'
	wait_for_file "out.${#STARTED[@]}"
	printf -v "$1" %s "$PID"
}

within() {
	nsenter --net="/proc/$1/ns/net" "${@:2}"
}

# cable NAME HOST NUMBER: the server's end of it is 10.9.NUMBER.1.
cable() {
	within "$HOST_S" ip link add name "$1" type veth peer name "$1" netns "$2"
	within "$HOST_S" ip addr add "10.9.$3.1/24" dev "$1"
	within "$2" ip addr add "10.9.$3.2/24" dev "$1"
	within "$HOST_S" ip link set dev "$1" up
	within "$2" ip link set dev "$1" up
}

# Drops what leaves here by that cable.
drop() {
	within "$1" tc qdisc add dev "$2" root pfifo limit 0
}

# Only what the server says to the host of that cable.
cut_answers() { drop "$HOST_S" "$1"; }

cut() {
	local host=HOST_${1^^}
	cut_answers "$1"
	drop "${!host}" "$1"
}

heal() {
	local host=HOST_${1^^}
	within "$HOST_S" tc qdisc del dev "$1" root
	within "${!host}" tc qdisc del dev "$1" root 2>/dev/null || true
}

# on HOST [OPTION...]: rlockrun there, in the background.
on() {
	local host=HOST_${1^^} number=1
	[[ $1 == a ]] || number=2
	start nsenter --net="/proc/${!host}/ns/net" "$RLOCKRUN" \
		-r "redis://10.9.$number.1" -k "$KEY" "${@:2}"
}

# A job that ignores TERM and, until file `done` is there, keeps telling its time
# in file $0, in hundredths of a second.
ALIVE='trap "" TERM
while [ ! -e done ]; do read -r up _ </proc/uptime; echo "$up"; sleep 0.01; done >"$0"'
# One that tells its time once.
STAMP='read -r up _ </proc/uptime; echo "$up" >"$0"'

hundredths() {
	local up
	read -r up _ </proc/uptime
	echo "$((10#${up/./}))"
}

first_of() { head -n 1 "$1" | tr -d .; }
last_of() { tail -n 1 "$1" | tr -d .; }

# At the time of a cut, host A has it and host B waits.
a_holds_b_waits() {
	on a -t "$1" sh -c "$ALIVE" alive
	A=$PID
	wait_until is_held
	on b -t "$1" sh -c "$STAMP" next
	B=$PID
	wait_until grep -q waiting "$ERR"
}

@test "while holding, for longer than the lease: dead in time, then the next" {
	a_holds_b_waits 3
	cut=$(hundredths)
	cut a
	exits_with 79 "$A"
	exits_with 0 "$B"
	last=$(last_of alive)
	((last <= cut + 300))
	(($(first_of next) > last))
	(($(first_of next) <= cut + 300 + 40))
	heal a
}

@test "a host loses its power while holding: the next runs when the lease ends" {
	a_holds_b_waits 3
	wait_until find_guard "$A"
	wait_for_file alive
	cut=$(hundredths)
	# The server does not learn that its connections have ended.
	cut a
	# shellcheck disable=SC2046 # several pids
	kill -KILL "$A" "$GUARD" $(pgrep -P "$GUARD")
	exits_with 137 "$A"
	exits_with 0 "$B"
	(($(first_of next) > $(last_of alive)))
	(($(first_of next) <= cut + 300 + 40))
	heal a
}

# bats test_tags=night
@test "requests arrive, replies do not, while holding: dead in time, then the next" {
	a_holds_b_waits 3
	cut=$(hundredths)
	cut_answers a
	exits_with 79 "$A"
	last=$(last_of alive)
	((last <= cut + 300))
	# Renewals that nobody knows of have kept the lock on the server.
	exits_with 0 "$B"
	(($(first_of next) > last))
	(($(first_of next) <= cut + 600 + 40))
	heal a
}

has_ttl_below() { (($(cli pttl "$KEY") < $1)); }
has_ttl_above() { (($(cli pttl "$KEY") > $1)); }
# says NUMBER TEXT: host A's rlockrun, so often by now.
says() { (($(grep -c "$2" "err.$((MARK + 1))") == $1)); }

# bats test_tags=night
@test "while holding, for less than the lease: nothing is lost" {
	local times=0
	a_holds_b_waits 8
	for how in cut cut_answers; do
		times=$((times + 1))
		# A renewal that is answered at once: replies are awaited for a second.
		wait_until has_ttl_below 6000
		wait_until has_ttl_above 7000
		"$how" a
		wait_until says "$times" 'cannot renew'
		heal a
		wait_until says "$times" 'renewed again'
	done
	[[ ! -e next ]]
	touch "done"
	exits_with 0 "$A"
	exits_with 0 "$B"
	(($(first_of next) > $(last_of alive)))
	[[ -z $(keys_left) ]]
}

# bats test_tags=night
@test "a waiter that is cut off: the next goes on, and it runs when it is back" {
	hold -t 30
	on a --server-timeout 30 sh -c "$STAMP" a
	A=$PID
	wait_until grep -q waiting "$ERR"
	on b sh -c "$STAMP" b
	B=$PID
	wait_until grep -q 'position 2 in the queue' "$ERR"
	cut a
	sleep 6 # its heartbeat is three times late
	touch "done"
	released=$(hundredths)
	exits_with 0 "$B"
	(($(first_of b) <= released + 250))
	[[ ! -e a ]]
	heal a
	exits_with 0 "$A"
	[[ -e a && -z $(keys_left) ]]
}

# bats test_tags=night
@test "a waiter that is cut off for less than its heartbeat keeps its place" {
	hold -t 30
	on a sh -c "$STAMP" a
	A=$PID
	wait_until grep -q waiting "$ERR"
	on b sh -c "$STAMP" b
	wait_until grep -q 'position 2 in the queue' "$ERR"
	cut a
	sleep 1.5
	heal a
	sleep 3
	touch "done"
	exits_with 0 "$A"
	exits_with 0 "$PID"
	(($(first_of a) <= $(first_of b)))
	[[ -z $(keys_left) ]]
}

# bats test_tags=night
@test "a waiter that is cut off for longer than --server-timeout: 69" {
	hold -t 30
	on a --server-timeout 2 touch a
	wait_until grep -q waiting "$ERR"
	cut=$(hundredths)
	cut a
	exits_with 69 "$PID"
	# It was blocked, which is no silence, until its heartbeat.
	(($(hundredths) - cut < 700))
	heal a
	touch "done"
	exits_with 0 "${STARTED[MARK]}"
	run -0 rl true # when its place in line has gone
	# Who released may have rung for it: a bell lasts for 10 s.
	[[ ! -e a ]]
	run ! grep -v ':rlk:m:' <(keys_left)
}

# bats test_tags=night
@test "while connecting: 69 in time, or the lock when the cable is whole in time" {
	cut a
	begun=$(hundredths)
	on a --server-timeout 1 touch a
	exits_with 69 "$PID"
	(($(hundredths) - begun < 150))
	on a --server-timeout 20 touch a
	sleep 2
	[[ ! -e a ]]
	heal a
	exits_with 0 "$PID"
	[[ -e a && -z $(keys_left) ]]
}

# bats test_tags=night
@test "the grant doesn't arrive: 69, no job, and the next when its lease ends at the latest" {
	hold -t 5
	on a -t 4 --server-timeout 3 touch a
	A=$PID
	wait_until grep -q waiting "$ERR"
	on b -t 4 sh -c "$STAMP" b
	B=$PID
	wait_until grep -q 'position 2 in the queue' "$ERR"
	cut_answers a
	released=$(hundredths)
	touch "done"
	exits_with 69 "$A"
	exits_with 0 "$B"
	[[ ! -e a ]]
	(($(first_of b) <= released + 900))
	heal a
}

# bats test_tags=night
@test "the release gets no reply: the job's status, a warning, and the next runs" {
	a_holds_b_waits 6
	cut_answers a
	released=$(hundredths)
	touch "done"
	exits_with 0 "$B"
	# Whom to ring would have stood in the answer: B comes by itself.
	(($(first_of next) <= released + 200))
	exits_with 0 "$A"
	grep -q 'cannot confirm the release' "err.$((MARK + 1))"
	heal a
}

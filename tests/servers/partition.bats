#!/usr/bin/env bats
# A network that is silent, in both directions or one: two hosts and a server,
# each in a network namespace of its own, with a cable from each host to the
# server. Nobody is told that packets are dropped. What becomes of locks then is played
# by the simulation; here are the kernel's connections, one test for each class.
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

# At the time of a cut, host A has it and host B waits.
a_holds_b_waits() {
	on a -t "$1" -- "$A_JOB" ignore:TERM job=%p until:done
	A=$PID
	wait_for_file job
	on b touch next
	B=$PID
	wait_until grep -q waiting "$ERR"
}

@test "a host loses its power while holding: the next runs when the lease ends" {
	a_holds_b_waits 30
	wait_until find_guard "$A"
	# The server does not learn that its connections have ended.
	cut a
	# shellcheck disable=SC2046 # several pids
	kill -KILL "$A" "$GUARD" $(pgrep -P "$GUARD")
	exits_with 137 "$A"
	is_held
	[[ ! -e next ]]
	cli pexpire "$KEY" 1
	exits_with 0 "$B"
	heal a
}

# says NUMBER TEXT: host A's rlockrun, so often by now.
says() { (($(grep -c "$2" "err.$((MARK + 1))") == $1)); }

# bats test_tags=night
@test "while holding, for less than the lease: nothing is lost" {
	local times=0
	a_holds_b_waits 30
	for how in cut cut_answers; do
		times=$((times + 1))
		"$how" a
		wait_until says "$times" 'cannot renew'
		heal a
		wait_until says "$times" 'renewed again'
	done
	[[ ! -e next ]]
	touch "done"
	exits_with 0 "$A"
	exits_with 0 "$B"
	[[ -e next && -z $(keys_left) ]]
}

# On the server the lease lasts longer than A may count on.
# bats test_tags=night
@test "while holding, for longer than the lease: dead before it ends, then the next" {
	a_holds_b_waits 6
	cut a
	cli pexpire "$KEY" 600000
	exits_with 79 "$A"
	gone "$(<job)"
	is_held
	[[ ! -e next ]]
	cli del "$KEY"
	exits_with 0 "$B"
	heal a
}

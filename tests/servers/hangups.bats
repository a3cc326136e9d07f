#!/usr/bin/env bats
# Servers, and proxies, that accept a connection and hang up soon. The pauses
# between connections only have a lower bound here: a slow machine makes them longer.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/admin
load ../helpers/connect
load ../helpers/doctor

setup() {
	begin_test
	own_server
}
teardown() { end_test; }

# admin COMMAND...: by a connection that no server evicts. What is printed goes to
# out.1.
admin() {
	echo "$*" >&7
}

start_admin() {
	mkfifo orders
	start sh -c 'exec redis-cli -s "$1" <orders' _ "$SUITE_DIR/s"
	exec 7>orders
	admin client no-evict on
	wait_until grep -q OK out.1
}

is_queued() {
	[[ $(cli zcard "{$KEY}:rlk:q") == "$1" ]]
}

is_reported() {
	grep -q 'lost the connection to .*; trying again$' "$1"
}

# has_connected COUNT: so many have, or more.
has_connected() {
	admin info stats
	tr -d '\r' <out.1 | awk -F : -v least="$1" '
		$1 == "total_connections_received" { count = $2 } END { exit count < least }'
}

# Whether a second has passed since SINCE, in microseconds.
is_late() {
	((${EPOCHREALTIME/[.,]/} - SINCE >= 1000000))
}

# no_storm CONDITION...: for a second after SINCE it is not true.
no_storm() {
	wait_until eval "$* || is_late"
	is_late
}

# cut_off COUNT: hangs up on the waiter COUNT times, each time that it blocks.
cut_off() {
	local count
	for ((count = 0; count < $1; count++)); do
		wait_until kills_waiter
	done
}

kills_waiter() {
	local id
	id=$(cli client list | sed -n 's/^id=\([0-9]*\) .* cmd=blpop .*/\1/p')
	[[ -n $id && $(cli client kill id "$id") == 1 ]]
}

# The pauses after the first five take 1.2 s and more.
@test "a waiter that is cut off again and again pauses, says so once, and gets the lock" {
	start_admin
	hold -t 60
	start "$RLOCKRUN" -k "$KEY" --server-timeout 60 touch ran
	wait_until is_queued 1
	cut_off 1 # it may have been there for long
	SINCE=${EPOCHREALTIME/[.,]/}
	cut_off 6
	is_late
	wait_until eval 'admin client kill type normal skipme yes; is_reported "$ERR"'
	touch "done"
	exits_with 0 "$PID"
	exec 7>&-
	[[ -e ran && $(grep -c 'closed by the server; trying again$' "$ERR") == 1 ]]
}

evicts() {
	[[ $(cli config get maxmemory-clients) ]]
}

# Of eight with 33 connections one has its fifth, 1.2 s after its first.
@test "waiters without room in maxmemory-clients make no storm of connections" {
	local pid
	evicts || not_here "a server that evicts no clients"
	start_admin
	hold -t 60
	admin config set maxmemory-clients 128kb
	admin config resetstat
	SINCE=${EPOCHREALTIME/[.,]/}
	for _ in {1..8}; do
		start "$RLOCKRUN" -k "$KEY" sh -c 'echo >>ran'
	done
	no_storm has_connected 34
	admin config set maxmemory-clients 0
	touch "done"
	for pid in "${STARTED[@]:2}"; do
		exits_with 0 "$pid"
	done
	exec 7>&-
	[[ $(wc -l <ran) == 8 && -z $(keys_left) ]]
}

has_accepted() {
	[[ -e connections && $(wc -l <connections) -ge $1 ]]
}

# Besides the first, whether it speaks TLS is asked once.
@test "a proxy without a backend gets no storm of connections, and is reported" {
	serve 'echo >>connections'
	SINCE=${EPOCHREALTIME/[.,]/}
	start "$RLOCKRUN" -r "redis://127.0.0.1:$PORT" -k "$KEY" touch ran
	no_storm has_accepted 9
	wait_until is_reported "$ERR"
	[[ ! -e ran ]]
}

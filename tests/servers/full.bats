#!/usr/bin/env bats
# A server that has reached its maxclients refuses each new connection by an
# error reply. Runs wait until there is room again.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup() {
	begin_test
	own_server
	mkfifo orders
	start sh -c 'exec redis-cli -s "$1" <orders' _ "$SUITE_DIR/s"
	exec 7>orders
}
teardown() {
	exec 7>&-
	end_test
}

# admin COMMAND: by a connection that was there before the server was full. What
# is printed goes to out.1.
admin() {
	echo "$*" >&7
}

fill_server() {
	admin config set maxclients 1
	wait_until grep -q OK out.1
}

make_room() {
	admin config set maxclients 100
}

# has_refused COUNT: so many connections, or more.
has_refused() {
	admin info stats
	tr -d '\r' <out.1 | awk -F : -v least="$1" '
		$1 == "rejected_connections" { count = $2 } END { exit count < least }'
}

# is_refused [OPTION...]: after 1 s, by the words of a full server.
is_refused() {
	wait_until is_refused_once "$@"
}

# Of several tries the last one decides, whose reply may come too late.
is_refused_once() {
	run -69 rl --server-timeout 1 "$@" touch ran &&
		[[ $output == *"ERR max number of clients reached (raise its maxclients)"* && ! -e ran ]]
}

@test "a full server is tried again until --server-timeout, then its error is reported" {
	fill_server
	is_refused -n
	is_refused -w 1
	is_refused -w 20
	wait_until has_refused 6
}

# bats test_tags=native
@test "the error of a full server counts before it hangs up" {
	need_strace
	fill_server
	run -69 strace -f -o /dev/null -e inject=sendto:delay_enter=150000 \
		"$RLOCKRUN" -n -k "$KEY" --server-timeout 0.6 touch ran
	[[ $output == *"ERR max number of clients reached (raise its maxclients)"* && ! -e ran ]]
}

@test "a run that does not wait for the lock waits until a full server has room" {
	fill_server
	start "$RLOCKRUN" -n -k "$KEY" --server-timeout 60 sh -c 'exit 6'
	wait_until has_refused 2
	run -1 gone "$PID"
	make_room
	exits_with 6 "$PID"
}

@test "a holder and a waiter that were cut off come back when a full server has room" {
	start "$RLOCKRUN" -k "$KEY" -- "$A_JOB" until:go
	local holder=$PID
	wait_until eval '[[ $(redis-cli -s "$SUITE_DIR/s" exists "$KEY") == 1 ]]'
	start "$RLOCKRUN" -k "$KEY" --server-timeout 60 touch ran
	wait_until eval '[[ $(redis-cli -s "$SUITE_DIR/s" zcard "{$KEY}:rlk:q") == 1 ]]'
	fill_server
	admin client kill type normal skipme yes
	wait_until has_refused 4
	make_room
	touch go
	exits_with 0 "$holder"
	exits_with 0 "$PID"
	[[ -e ran && -z $(keys_left) ]]
}

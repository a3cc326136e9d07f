#!/usr/bin/env bats
# Each script by itself: sent once more, as after a lost answer, it does no harm
# (R2); on a full server what frees still frees.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup() {
	begin_test
	own_server
	I="{$KEY}:rlk:i" Q="{$KEY}:rlk:q"
	MONITOR=$PWD/monitor.log
	redis-cli -s "$SUITE_DIR/s" monitor >"$MONITOR" 2>&1 3>&- &
	MONITOR_PID=$!
	wait_for_file "$MONITOR"
	export RLOCKRUN
}
teardown() {
	kill "$MONITOR_PID"
	end_test
}

# again NAME N: sends the Nth request of that name once more; the answer is in
# lines.
again() {
	catch_up
	run -0 "$HELPERS/again" "$MONITOR" "$SUITE_DIR/s" "$@"
	echo "again: $output"
}

# wait_in_line: a waiter, until it is in line. PID is its pid.
wait_in_line() {
	local before
	before=$(cli zcard "$Q")
	start "$RLOCKRUN" -k "$KEY" -- sh -c 'echo ran >>ran'
	wait_until in_line $((before + 1))
}
in_line() {
	[[ $(cli zcard "$Q") == "$1" ]]
}

# All that is on the server, but for what time changes.
state() {
	local key
	cli --raw keys '*' | sort | while read -r key; do
		echo "$key: $(cli --raw type "$key")"
		case $key in
		# A heartbeat in between changes who lives for longest.
		*:rlk:l) cli --raw zrange "$key" 0 -1 | sort ;;
		*:rlk:q) cli --raw zrange "$key" 0 -1 ;;
		*:rlk:i) cli --raw hmget "$key" h s t ;;
		*:rlk:[rm]*) cli --raw lrange "$key" 0 -1 ;;
		*:rlk:n:*) cli --raw smembers "$key" | sort ;;
		*) cli --raw get "$key" ;;
		esac
	done
}

# --- twice (R2) -----------------------------------------------------------------

@test "R2: an acquire that was granted is granted anew, with the same fence" {
	hold
	state >before
	token=$(cli get "$KEY")
	fence=$(fence)
	cli pexpire "$KEY" 15000
	cli pexpire "$I" 15000
	again EVAL/acquire 1
	[[ ${lines[0]} == 1 && ${lines[1]} == "$fence" && $(cli get "$KEY") == "$token" ]]
	(($(cli pttl "$KEY") > 25000 && $(cli pttl "$I") > 3000000))
	state | diff before -
	touch "done"
	exits_with 0 "$PID"
}

@test "R2: a release that comes twice frees no other lock, and rings no doorbell" {
	hold
	a=$PID
	start "$RLOCKRUN" -k "$KEY" -- "$A_JOB" B=%p until:B.go
	b=$PID
	wait_until in_line 1
	touch "done"
	exits_with 0 "$a"
	wait_for_file B
	wait_in_line
	catch_up
	rings=$(grep -c 'lua\] "RPUSH"' "$MONITOR")
	state >before
	again EVAL/release 1
	[[ ${lines[0]} == 0 ]]
	state | diff before -
	catch_up
	[[ $(grep -c 'lua\] "RPUSH"' "$MONITOR") == "$rings" ]]
	touch B.go
	exits_with 0 "$b"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

# --- a full server ----------------------------------------------------------------

@test "on a full server a holder renews and frees" {
	hold
	cli config set maxmemory 1
	is_renewed
	touch "done"
	exits_with 0 "$PID"
	[[ ! -s $ERR && -z $(keys_left) ]]
}

@test "on a full server a release frees, with others in the queue; they run later" {
	hold
	wait_in_line
	wait_in_line
	cli config set maxmemory 1
	touch "done"
	exits_with 0 "${STARTED[0]}"
	[[ $(cli exists "$KEY") == 0 && ! -s err.1 ]]
	cli config set maxmemory 0
	exits_with 0 "${STARTED[1]}"
	exits_with 0 "${STARTED[2]}"
	[[ $(wc -l <ran) == 2 && -z $(keys_left) ]]
}

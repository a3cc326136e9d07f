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

@test "R2: a repeated acquire of a waiter keeps its position in the queue" {
	hold
	wait_in_line
	wait_in_line
	tickets=$(cli zrange "$Q" 0 -1 withscores)
	state >before
	again EVAL/acquire 2
	[[ ${lines[0]} == 0 && ${lines[2]} == 0 ]]
	again EVAL/acquire 3
	[[ ${lines[0]} == 0 && ${lines[2]} == 1 ]]
	[[ $(cli zrange "$Q" 0 -1 withscores) == "$tickets" ]]
	state | diff before -
	touch "done"
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
}

# bats test_tags=night
@test "R2: a late acquire of a waiter that is gone delays others by a ttl at most" {
	run -0 rl -t 5 true
	again EVAL/acquire 1
	[[ ${lines[0]} == 1 ]]
	run -0 rl touch ran
	[[ -e ran && -z $(keys_left) ]]
}

renewed() {
	grep '"EVAL\(SHA\)\?"' "$MONITOR" | grep -q ' "1" "'"$KEY"'" '
}

# bats test_tags=night
@test "R2: a renewal that comes twice, and too late" {
	hold
	wait_until renewed
	state >before
	again EVAL/1 1
	[[ $output == 1 ]]
	(($(cli pttl "$KEY") > 25000))
	state | diff before -
	touch "done"
	exits_with 0 "$PID"
	again EVAL/1 1
	[[ $output == 0 && -z $(keys_left) ]]
	cli set "$KEY" other PX 500000
	again EVAL/1 1
	[[ $output == 0 && $(cli get "$KEY") == other ]]
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

@test "R2: a waiter leaves the queue once" {
	hold
	wait_in_line
	run -75 rl -w 2 true
	state >before
	again EVAL/release 1
	[[ ${lines[0]} == 0 ]]
	state | diff before -
	touch "done"
	exits_with 0 "${STARTED[0]}"
	exits_with 0 "$PID"
}

@test "R2: a doorbell is rung once, however often that is asked for, and expires" {
	hold
	wait_in_line
	kill -STOP "$PID"
	touch "done"
	exits_with 0 "${STARTED[0]}"
	# The holder learnt of the head by its release's answer.
	again EVAL/3 1
	again EVAL/3 1
	catch_up
	[[ $(grep -c 'lua\] "RPUSH"' "$MONITOR") == 1 ]]
	grep -A 1 'lua\] "RPUSH"' "$MONITOR" | grep -q '"PEXPIRE" .*:rlk:m:.* "10000"'
	kill -CONT "$PID"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
	again EVAL/3 1
	[[ -z $(keys_left) ]]
}

joins() { grep -c "\"EVAL.* \"3\" \"$KEY\" \"{$KEY}:rlk:n:" "$MONITOR"; }
has_joined_again() { (($(joins) > $1)); }

# bats test_tags=night
@test "R2: a nested run that joins twice counts once; late, for no longer than a ttl" {
	start "$RLOCKRUN" -k "$KEY" -t 60 -- sh -c '"$RLOCKRUN" -k "$KEY" "$0" in=%p until:in.go
		"$0" out=%p until:go' "$A_JOB"
	wait_for_file in
	state >before
	again EVAL/3 1
	[[ ${lines[0]} == 1 && ${lines[1]} == *" $(fence) "* ]]
	state | diff before -
	# It joins again behind its renewal.
	wait_until has_joined_again "$(joins)"
	touch in.go
	wait_for_file out
	places="{$KEY}:rlk:n:$(cli get "$KEY")"
	[[ $(cli exists "$places") == 0 ]]
	# A join comes late, and the goodbye again.
	again EVAL/3 1
	[[ $(cli scard "$places") == 1 ]]
	again EVAL/release 1
	[[ ${lines[0]} == 2 && $(cli exists "$KEY") == 1 && $(cli exists "$places") == 0 ]]
	touch go
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

@test "on a full server nothing is left of a waiter that gave up or was not admitted" {
	cli config set maxmemory 1
	run -69 rl -n --server-timeout 2 touch ran
	[[ $output == *OOM* && ! -e ran && -z $(keys_left) ]]
	cli config set maxmemory 0
	hold
	wait_in_line
	cli config set maxmemory 1
	kill -TERM "$PID"
	exits_with 143 "$PID"
	in_line 0
	touch "done"
	exits_with 0 "${STARTED[0]}"
	[[ -z $(keys_left) ]]
}

# bats test_tags=night
@test "on a full server the last of a nest frees the lock" {
	start "$RLOCKRUN" -k "$KEY" -- sh -c 'setsid "$RLOCKRUN" -k "$KEY" "$0" in=%p until:in.go \
		</dev/null >/dev/null 2>&1 & exec "$0" until:in' "$A_JOB"
	exits_with 0 "$PID"
	cli config set maxmemory 1
	is_renewed
	touch in.go
	wait_until eval '[[ $(cli exists "$KEY") == 0 ]]'
	[[ -z $(keys_left) ]]
}

@test "on a full server a lock is kept for --min-hold, and a late run does not join it" {
	start "$RLOCKRUN" -k "$KEY" --min-hold 30 -- "$A_JOB" "held=%{RLOCKRUN_HELD}" until:go
	wait_for_file held
	cli config set maxmemory 1
	touch go
	exits_with 0 "$PID"
	cli config set maxmemory 0
	RLOCKRUN_HELD=$(<held) run -75 rl -n touch ran
	[[ $output == *"is kept for "* && ! -e ran ]]
	(($(left_ms) > 20000))
	cli del "$KEY" "{$KEY}:rlk:i"
}


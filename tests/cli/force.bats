#!/usr/bin/env bats
# --force-release: with and without a token, and after a question.
# shellcheck disable=SC2034,SC2153,SC2154 # helpers and run set and use these

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- force-release ------------------------------------------------------------

# bats test_tags=smoke
@test "force-release: the holder stops its job at its next renewal" {
	hold -t 1
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $output =~ ^"rlockrun: \"$KEY\": released, it was held by $(uname -n) (pid $PID, " ]]
	exits_with 79 "$PID"
	[[ -z $(keys_left) ]]
}

@test "B3: force-release with a token: only that holder's; a wrong one changes nothing" {
	hold -t 30
	waiter "$KEY" web-2 1000 9000
	cli zadd "{$KEY}:rlk:n" "$(($(server_ms) + 9000))" nested
	before=$(cli --raw hgetall "{$KEY}:rlk:i")
	for token in wrong '' "$(cli get "$KEY")x" 'x*'; do
		run -75 rlockrun --force-release --token "$token" -k "$KEY"
		[[ ${#lines[@]} == 1 ]]
		[[ $output == "rlockrun: \"$KEY\" is held by $(uname -n) (pid $PID, "*", not with that token; nothing was changed" ]]
		run -75 rlockrun --force-release --yes --token "$token" -k "$KEY"
	done
	[[ $(cli --raw hgetall "{$KEY}:rlk:i") == "$before" && -n $(cli get "$KEY") ]]
	[[ $(cli exists "{$KEY}:rlk:n" "{$KEY}:rlk:m:$TOKEN") == 1 ]]
	run -0 rlockrun --force-release --token "$(cli get "$KEY")" -k "$KEY"
	[[ $output == *": released, it was held by "* ]]
	[[ $(cli exists "$KEY" "{$KEY}:rlk:i" "{$KEY}:rlk:n") == 0 ]]
	[[ $(cli exists "{$KEY}:rlk:f" "{$KEY}:rlk:m:$TOKEN") == 2 ]]
	touch "done"
	exits_with 79 "$PID"
}

# bats test_tags=serial
@test "B3: force-release while A holds and B waits: B within 100 ms, A stops its job" {
	hold -t 2
	holder=$PID
	start "$RLOCKRUN" -k "$KEY" sh -c 'cut -d" " -f1 /proc/uptime >began'
	waiter=$PID
	wait_for_file "$ERR"
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"waiting":1,"queue":[{"place":1,"host":"'"$(uname -n)\",\"pid\":$waiter,"
	released=$(cut -d' ' -f1 /proc/uptime)
	run -0 rlockrun --force-release --yes -k "$KEY"
	exits_with 0 "$waiter"
	exits_with 79 "$holder"
	grep -q "\"$KEY\" was lost: its key was taken away" err.1
	took=$(awk -v from="$released" '{ printf "%d", ($1 - from) * 1000 }' began)
	echo "took $took ms, with the start of the force-release"
	((took <= 500 * SLOWER)) # a heartbeat comes later
	[[ -z $(keys_left) ]]
}

@test "force-release: what is free is already free" {
	rl true
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $output == "rlockrun: \"$KEY\" is already free" ]]
	run -0 rlockrun --force-release --token any -k "$KEY"
	[[ $output == "rlockrun: \"$KEY\" is already free" ]]
}

@test "force-release of a glob: not expanded, with a hint if there is no such lock" {
	held "$KEY-1" web-1
	for name in "$KEY*" "$KEY-?" "$KEY-[12]"; do
		run -0 rlockrun --force-release --yes -k "$name"
		[[ $output == "rlockrun: \"$name\" is already free; no such lock is known; --force-release takes one name and expands no globs (--list '$name' shows the locks that match)" ]]
	done
	[[ $(cli exists "$KEY-1") == 1 ]]
	run -0 rlockrun --force-release --yes -k "it's *"
	[[ $output == *"; --force-release takes one name and expands no globs (--list 'GLOB' shows "* ]]
	held "$KEY*" web-1
	run -0 rlockrun --force-release --yes -k "$KEY*"
	[[ $output == "rlockrun: \"$KEY*\": released, it was held by web-1 "* && $output != *glob* ]]
	[[ $(cli exists "$KEY*") == 0 && $(cli exists "$KEY-1") == 1 ]]
}

@test "force-release: another client's lock, whatever its token" {
	cli set "$KEY" plain
	run -75 rlockrun --force-release --token plai -k "$KEY"
	run -0 rlockrun --force-release --token plain -k "$KEY"
	[[ $output == *"released, it was held by another client (not a rlockrun), without a time limit" ]]
	[[ $(cli exists "$KEY") == 0 ]]
	printf 'SET "%s" "a\\x00b\\xff"\n' "$KEY" | redis-cli -s "$SUITE_DIR/s"
	run -75 rlockrun --force-release --token a -k "$KEY"
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "$KEY") == 0 ]]
	cli set "$KEY" ''
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "what is no lock is neither shown nor touched: 76" {
	for create in 'rpush list 1' 'hset hash a b' 'zadd zset 1 a' 'sadd set a' 'xadd stream * a b'; do
		# shellcheck disable=SC2086
		cli ${create/ / $KEY:} >/dev/null
		name=${create#* }
		name=$KEY:${name%% *}
		for action in '--status' '--force-release --yes' '--force-release --token x'; do
			# shellcheck disable=SC2086
			run -76 rlockrun $action -k "$name"
			[[ ${#lines[@]} == 1 && $output == "rlockrun: \"$name\" is not a lock: "* ]]
		done
		[[ $(cli exists "$name") == 1 ]]
	done
	cli set "$KEY" "$(printf %02000d 0)"
	run -76 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli strlen "$KEY") == 2000 ]]
	run -0 rlockrun --status -k "$KEY"
}

@test "force-release wakes the first live waiter, and gives it a second" {
	cli set "$KEY" plain
	waiter "$KEY" dead 9000 -1
	dead=$WAITER
	waiter "$KEY" stepped 8000 3600000
	waiter "$KEY" first 5000 9000
	bell="{$KEY}:rlk:m:$TOKEN" first=$WAITER
	waiter "$KEY" second 1000 9000
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli llen "$bell") == 1 && $(cli pttl "$bell") -gt 5000 ]]
	[[ $(cli exists "{$KEY}:rlk:m:$TOKEN") == 0 ]]
	[[ $(cli --raw zrange "{$KEY}:rlk:q" 0 -1) == "$first"$'\n'"$WAITER" ]]
	[[ -z $(cli --raw zscore "{$KEY}:rlk:l" "$dead") ]]
	till=$(cli --raw zscore "{$KEY}:rlk:l" "$first")
	((alive = ${till%.*} - $(server_ms))) # without its mark
	((alive > -3000 && alive <= 1000))
	# A bell never holds more than one.
	cli set "$KEY" plain
	cli zadd "{$KEY}:rlk:l" "$(($(server_ms) + 9000))" "$first"
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli llen "$bell") == 1 ]]
}

@test "force-release: damaged helper keys don't keep it" {
	for letter in i q l n f; do
		cli set "$KEY" plain
		cli set "{$KEY}:rlk:$letter" garbage
		run -0 rlockrun --force-release --yes -k "$KEY"
		[[ $(cli exists "$KEY") == 0 ]]
	done
	cli del "{$KEY}:rlk:q" "{$KEY}:rlk:l"
	cli set "$KEY" plain
	waiter "$KEY" first 5000 9000
	cli set "{$KEY}:rlk:m:$TOKEN" garbage
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "$KEY") == 0 ]]
}

# --- force-release of counted locks -------------------------------------------

@test "force-release of one reader by its token: the others keep it" {
	hold -s -t 1
	a=$PID
	token=$(cli --raw zrange "$KEY" 0 0)
	rm job
	hold -s -t 1
	for wrong in x "$token" "${token#s:}x"; do
		run -75 rlockrun --force-release --yes --token "$wrong" -k "$KEY"
		[[ $output == "rlockrun: \"$KEY\" is held by $(uname -n) (pid "*", and by 1 other, not with that token; nothing was changed" ]]
	done
	[[ $(cli zcard "$KEY") == 2 ]]
	run -0 rlockrun --force-release --token "${token#s:}" -k "$KEY"
	[[ $output == "rlockrun: \"$KEY\": released, it was held by $(uname -n) (pid $a, "*" ago" ]]
	exits_with 79 "$a"
	[[ $(cli zcard "$KEY") == 1 ]]
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

@test "force-release of all holders of a shared lock wakes the waiters" {
	hold -s -t 1
	a=$PID
	rm job
	hold -s -t 1
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $output == *": released, it was held by "*" ago, and by 1 other" ]]
	exits_with 79 "$a"
	exits_with 79 "$PID"
	[[ -z $(keys_left) ]]
	# Two of three permits are free then: two of those in line are rung.
	counted "$KEY" p 3 a:web-1:5000:20000:- b:web-2:5000:30500:- c:web-3:5000:40000:-
	bells=()
	for n in 1 2 3 4; do
		waiter "$KEY" "$n" $((9000 - n)) 9000
		cli zrem "{$KEY}:rlk:q" "$WAITER"
		cli zadd "{$KEY}:rlk:q" "$n" "p${WAITER#x}"
		cli zadd "{$KEY}:rlk:l" "$(($(server_ms) + 9000))" "p${WAITER#x}"
		bells+=("{$KEY}:rlk:m:$TOKEN")
	done
	run -0 rlockrun --force-release --token b -k "$KEY"
	[[ $(cli exists "${bells[@]}") == 1 && $(cli llen "${bells[0]}") == 1 ]]
	run -0 rlockrun --force-release --token c -k "$KEY"
	[[ $(cli exists "${bells[@]}") == 2 && $(cli llen "${bells[1]}") == 1 ]]
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "${bells[@]}") == 3 && $(cli exists "$KEY" "{$KEY}:rlk:i") == 0 ]]
}

@test "force-release: a foreign permit, and one whose token is no text" {
	counted "$KEY" p 3 a:web-1:5000:20000:- net::0:30000:-
	run -0 rlockrun --force-release --token net -k "$KEY"
	[[ $output == *"released, it was held by another client (not a rlockrun)" ]]
	[[ $(cli --raw zrange "$KEY" 0 -1) == a ]]
	printf 'ZADD "%s" %s "a\\x00b\\xff"\n' "$KEY" $(($(server_ms) + 60000)) | redis-cli -s "$SUITE_DIR/s"
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"count":2,'
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "force-release: of 5,000 readers all that were seen, and it says so" {
	cli eval 'local t = redis.call("TIME")
		for i = 1, 5000 do
			redis.call("ZADD", KEYS[1], t[1] * 1000 + 60000 + i, "s:" .. i)
		end
		redis.call("PEXPIRE", KEYS[1], 100000)' 1 "$KEY"
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ ${lines[1]} == "rlockrun: \"$KEY\": 1000 others still hold it; release it again" ]]
	[[ $(cli zcard "$KEY") == 1000 ]]
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ ${#lines[@]} == 1 && $(cli exists "$KEY") == 0 ]]
}

@test "force-release asks on a terminal, and takes only a yes for one" {
	LOGNAME=deploy hold -t 30
	for answer in 'n\n' '\n' '\x04' 'yep\n' 'yn\n' 'nein y\n'; do
		run -75 on_terminal "$answer"
		grep -qE "^rlockrun: \"$KEY\" is held by $(uname -n) \(pid $PID, deploy\) since .* ago; release it\? \[y/N\] " screen
		grep -q "rlockrun: \"$KEY\": nothing was changed" screen
		[[ -n $(cli get "$KEY") ]]
	done
	run -130 on_terminal '\x03'
	[[ -n $(cli get "$KEY") ]]
	run -0 on_terminal 'y\n'
	grep -q "released, it was held by" screen
	[[ $(cli exists "$KEY") == 0 ]]
	touch "done"
	exits_with 79 "$PID"
	cli set "$KEY" plain
	run -0 on_terminal 'yes\n'
	run -0 on_terminal ''
	grep -q "is already free" screen
	cli set "$KEY" plain
	run -0 on_terminal '' --token plain
	grep -vq "release it?" screen
}

# asked_and_then FUNCTION: answers yes when that has been done.
asked_and_then() {
	rm -f fifo screen
	timeout 30 "$HELPERS/on-pty" screen @fifo -- \
		"$RLOCKRUN" --force-release -k "$KEY" &
	wait_until grep -qs "release it?" screen
	"$1"
	printf '%s\n' 'type y\n' >fifo
	code=0
	wait $! || code=$?
	cat screen
}

change_hands() { cli set "$KEY" other; }
change_queue() {
	cli del "{$KEY}:rlk:q"
	waiter "$KEY" other 1000 9000
}
free() { cli del "$KEY"; }

@test "force-release: a holder that acquired during the question keeps the lock" {
	cli set "$KEY" plain
	asked_and_then change_hands
	[[ $code == 75 && $(cli get "$KEY") == other ]]
	grep -q "it has another holder by now; nothing was changed" screen
	asked_and_then free
	[[ $code == 0 ]]
}

join_them() {
	cli zadd "$KEY" $(($(server_ms) + 50000)) s:later
}

@test "force-release: a reader that came during the question keeps the lock" {
	counted "$KEY" s 0 a:web-1:5000:20000:- b:web-2:5000:30000:-
	asked_and_then join_them
	[[ $code == 0 && $(cli --raw zrange "$KEY" 0 -1) == s:later ]]
}

@test "force-release: a waiter that became the head during the question is woken" {
	cli set "$KEY" plain
	waiter "$KEY" first 5000 9000
	asked_and_then change_queue
	[[ $code == 0 && $(cli llen "{$KEY}:rlk:m:$TOKEN") == 1 ]]
	[[ $(cli pttl "{$KEY}:rlk:m:$TOKEN") -gt 5000 ]]
}

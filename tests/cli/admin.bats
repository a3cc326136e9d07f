#!/usr/bin/env bats
# --status, --list and --force-release of real processes: over each topology, on a
# terminal, with a stdout that takes nothing, with real access rules, and of very many
# locks. What they print is in tests/tables.
# shellcheck disable=SC2034,SC2153,SC2154 # helpers and run set and use these

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# bats test_tags=smoke
@test "a lock that is held: status, list, its label, and force-release stops the job" {
	LOGNAME=deploy hold --label 'nightly sync'
	run -75 rl -n true
	[[ $output == *" (pid $PID, deploy, \"nightly sync\") since "* ]]
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ -z $stderr && ${lines[2]} == "holder:   $(uname -n) (pid $PID, deploy) since "* ]]
	[[ ${lines[3]} == "label:    nightly sync" && ${lines[4]} == "token:    $(cli get "$KEY")" ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json "\"token\":\"$(cli get "$KEY")\"" "\"pid\":$PID,\"user\":\"deploy\",\"label\":\"nightly sync\""
	rlockrun --list "$KEY" | grep -qE "^$KEY .* deploy .* nightly sync$"
	run -75 rlockrun --force-release --token wrong -k "$KEY"
	run -0 rlockrun --force-release --token "$(cli get "$KEY")" -k "$KEY"
	[[ $output == *": released, it was held by $(uname -n) (pid $PID, deploy, "* ]]
	touch "done"
	exits_with 79 "$PID"
	[[ -z $(keys_left) ]]
}

@test "what stdout doesn't take: 71" {
	own_server
	bulk 300
	for action in "--status -k bulk:1" "--list --json"; do
		code=0
		# shellcheck disable=SC2086
		rlockrun $action >/dev/full 2>err || code=$?
		[[ $code == 71 && $(<err) == "rlockrun: cannot write to stdout: No space left on device" ]]
		code=0
		# shellcheck disable=SC2086
		rlockrun $action >&- 2>err || code=$?
		[[ $code == 71 && $(<err) == "rlockrun: cannot write to stdout: Bad file descriptor" ]]
		rm -f closed code
		# shellcheck disable=SC2086
		{
			wait_for_file closed
			(trap '' PIPE && rlockrun $action) 2>err || echo $? >code
		} | {
			exec <&-
			echo >closed
		}
		[[ $(<code) == 71 && $(<err) == "rlockrun: cannot write to stdout: Broken pipe" ]]
	done
}

@test "force-release asks on a terminal, and takes only a yes for one" {
	LOGNAME=deploy hold
	for answer in 'n\n' '\x04' 'yep\n'; do
		run -75 on_terminal "$answer"
		grep -qE "^rlockrun: \"$KEY\" is held by $(uname -n) \(pid $PID, deploy\) since .* ago; if its job still runs, two jobs may overlap; release it\? \[y/N\] " screen
		grep -q "rlockrun: \"$KEY\": nothing was changed" screen
		[[ -n $(cli get "$KEY") ]]
	done
	run -130 on_terminal '\x03'
	[[ -n $(cli get "$KEY") ]]
	run -0 on_terminal 'y\n'
	grep -q "released, it was held by" screen
	touch "done"
	exits_with 79 "$PID"
	run -0 on_terminal ''
	grep -q "is already free" screen
	# A token may be any bytes, and asks nothing.
	printf 'SET "%s" "a\\x00b\\xff"\n' "$KEY" | redis-cli -s "$SUITE_DIR/s"
	run -75 rlockrun --force-release --token a -k "$KEY"
	run -0 on_terminal 'yes\n'
	cli set "$KEY" plain
	run -0 on_terminal '' --token plain
	run ! grep "release it?" screen
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
	waiter "$KEY" other 1000 19000
}
free() { cli del "$KEY"; }
join_them() { cli zadd "$KEY" $(($(server_ms) + 50000)) s:later; }

@test "force-release: a holder that acquired during the question keeps the lock" {
	cli set "$KEY" plain
	asked_and_then change_hands
	[[ $code == 75 && $(cli get "$KEY") == other ]]
	grep -q "it has another holder by now; nothing was changed" screen
	asked_and_then free
	[[ $code == 0 ]]
}

@test "force-release: a reader that came during the question keeps the lock" {
	counted "$KEY" s a:web-1:5000:20000 b:web-2:5000:30000
	asked_and_then join_them
	[[ $code == 0 && $(cli --raw zrange "$KEY" 0 -1) == s:later ]]
}

@test "force-release: a waiter that became the head during the question is woken" {
	cli set "$KEY" plain
	waiter "$KEY" first 5000 19000
	asked_and_then change_queue
	[[ $code == 0 && $(cli llen "{$KEY}:rlk:m:$TOKEN") == 1 ]]
	[[ $(cli pttl "{$KEY}:rlk:m:$TOKEN") -gt 5000 ]]
}

@test "status changes nothing, and is one script" {
	own_server
	held "$KEY" web-1
	waiter "$KEY" dead 9000 -1
	cli config resetstat
	before=$(cli --raw dump "$KEY" && cli --raw zrange "{$KEY}:rlk:q" 0 -1)
	run -0 rlockrun --status -k "$KEY"
	[[ $(cli --raw dump "$KEY" && cli --raw zrange "{$KEY}:rlk:q" 0 -1) == "$before" ]]
	[[ $(cli info commandstats) == *cmdstat_evalsha:calls=1,* ]]
	[[ ! $(cli info commandstats) =~ cmdstat_(z(add|rem)|del|pexpire|set|hset) ]]
}

@test "the access rules of the man page are enough, and each is needed" {
	own_server
	held job:1 web-1
	waiter job:1 dead 9000 -1
	waiter job:1 web-2 1000 9000
	look="+eval +time +get +pttl +hmget +zcount +zrange +zscore +lrange +smembers +client|setname"
	# shellcheck disable=SC2086
	cli acl setuser viewer on '>v' '~job:*' '~{job:*}:rlk:*' $look
	url=unix://viewer:v@$SUITE_DIR/s
	run -0 --separate-stderr rlockrun -r "$url" --status -k job:1
	[[ -z $stderr && $output == *web-1*web-2* ]]
	run -77 rlockrun -r "$url" --list
	[[ $output == *"'scan'"* ]]
	cli acl setuser viewer +scan
	run -0 --separate-stderr rlockrun -r "$url" --list
	[[ $stderr == *": 1 lock found on "* && $output == *job:1*web-1* ]]
	run -77 rlockrun -r "$url" --force-release --yes -k job:1
	[[ $(cli exists job:1) == 1 ]]
	cli acl setuser viewer +del +zadd +zrem +zrangebyscore +hset +rpush +pexpire
	run -0 rlockrun -r "$url" --force-release --yes -k job:1
	[[ $(cli exists job:1) == 0 && $(cli llen "{job:1}:rlk:m:$TOKEN") == 1 ]]
}

@test "list: a reader that closes the pipe ends it" {
	own_server
	bulk 5000
	for option in '' --json; do
		# shellcheck disable=SC2086
		{ rlockrun --list $option 2>err || echo $? >code; } | head -n 2 >out
		[[ $(wc -l <out) == 2 && ! -s err && $(<code) == 141 ]]
	done
}

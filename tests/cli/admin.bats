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
	for action in --doctor --show-config; do
		code=0
		rlockrun "$action" >/dev/full 2>err || code=$?
		[[ $code == 71 && $(<err) == "rlockrun: cannot write to stdout: No space left on device" ]]
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
free() { cli del "$KEY"; }

@test "force-release: a holder that acquired during the question keeps the lock" {
	cli set "$KEY" plain
	asked_and_then change_hands
	[[ $code == 75 && $(cli get "$KEY") == other ]]
	grep -q "it has another holder by now; nothing was changed" screen
	asked_and_then free
	[[ $code == 0 ]]
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

#!/usr/bin/env bats
# --once-per: no run so soon after a successful one.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/queue
load ../helpers/faults

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	I="{$KEY}:rlk:i"
}
teardown() {
	end_monitor
	end_test
}

# once STATUS [OPTION...] COMMAND...
once() {
	run "-$1" rl --once-per 1h "${@:2}"
}

# ran COUNT: so many jobs of `count` have.
ran() {
	[[ $(grep -c '' ran) == "$1" ]]
}

count=(sh -c 'echo >>ran')

# succeeded AGO_MS [FIELD [HOST]]: the last success, or with field ds the last with
# an id.
succeeded() {
	local ended=$(($(server_ms) - $1))
	cli hset "$I" "${2:-s}" "$ended 17 $((ended - 5000)) run 0 421 ${3:-web-3} ci - sh" >/dev/null
}

# --- whether it runs --------------------------------------------------------------

@test "after a success no other run comes: 75, with who and when" {
	once 0 "${count[@]}"
	[[ -z $output ]]
	once 75 "${count[@]}"
	[[ $output =~ ^"rlockrun: \"$KEY\" last succeeded on $(hostname) at "[0-9:]{8}", "[0-9]s" ago; command not started"$ ]]
	once 75 -n "${count[@]}"
	once 75 -w 5 "${count[@]}"
	ran 1
	once 75 -q "${count[@]}"
	[[ -z $output ]]
	once 3 -E 3 "${count[@]}"
	once 0 -q -E 0 "${count[@]}"
	[[ -z $output ]]
	ran 1
	[[ -z $(keys_left) ]]
	run -0 rl "${count[@]}"
	RLOCKRUN_ONCE_PER=1h RLOCKRUN_CONFLICT_EXIT_CODE=9 run -9 rl "${count[@]}"
	ran 2
}

@test "a run that is killed or loses its lock is no success" {
	start "$RLOCKRUN" -k "$KEY" --once-per 1h "$A_JOB" job=%p until:never
	wait_for_file job
	kill -KILL "$PID"
	end_lease
	start "$RLOCKRUN" -k "$KEY" --on-lost warn --once-per 1h "$A_JOB" lost=%p until:done
	wait_for_file lost
	cli del "$KEY"
	touch "done"
	exits_with 79 "$PID"
	once 0 "${count[@]}"
	ran 1
}

# --- --once-id --------------------------------------------------------------------

# once_id STATUS ID [OPTION...] COMMAND...
once_id() {
	run "-$1" rl --once-id "$2" "${@:3}"
}

@test "--once-id: any text, ours or another's, decides by its bytes and is never shown raw" {
	local id
	for id in : 1:2 '%d*' $'a\nb\e[2J' "$(printf 'x%.0s' {1..256})"; do
		once_id 0 "$id" "${count[@]}"
		once_id 75 "$id" "${count[@]}"
		[[ $output != *$'\e'* && ${#lines[@]} == 1 ]]
	done
	cli hset "$I" ds "1e300 1 1 run 0 1 web"$'\e[2J'"$(printf 'x%.0s' {1..5000})"
	once_id 75 "$id" "${count[@]}"
	[[ $output == *" ago;"* && $output != *$'\e'* && ${#output} -lt 1500 ]]
	succeeded -7200000 ds
	once_id 75 "$id" "${count[@]}"
	cli hdel "$I" d
	once_id 0 "$id" "${count[@]}"
	cli del "$I"
	cli set "$I" x
	once_id 0 "$id" "${count[@]}"
	once_id 75 "$id" "${count[@]}"
	ran 7
}

# --- waiters ----------------------------------------------------------------------

@test "waiters leave after a success, one after the other" {
	local n
	holds A --once-per 1h
	for n in B C D E F; do
		enqueue "$n" --once-per 1h
	done
	touch go.A
	exits_with 0 "${STARTED[0]}"
	for n in 1 2 3 4 5; do
		exits_with 75 "${STARTED[n]}"
		grep -q "last succeeded on .*; command not started" "err.$((n + 1))"
	done
	[[ $(paste -sd ' ' order) == A && -z $(keys_left) ]]
}

@test "of twelve at three times one runs, and again only if it failed" {
	local pid codes=()
	write_nightly
	for _ in 1 2 3; do
		STARTED=()
		for _ in {1..4}; do
			start "$RLOCKRUN" -k "$KEY" --once-per 20h sh ./nightly
		done
		for pid in "${STARTED[@]}"; do
			codes=(0)
			wait "$pid" || codes=($?)
			echo "${codes[0]}" >>codes
		done
	done
	[[ $(wc -l <ran) == 2 && $(grep -cx 75 codes) == 10 && $(grep -cx 0 codes) == 1 && $(grep -cx 5 codes) == 1 ]]
	[[ ! -e overlaps ]]
}
# The first one fails.
write_nightly() {
	cat >nightly <<-'END'
		exec 9>witness
		flock -n 9 || echo >>overlaps
		echo >>ran
		[ "$(wc -l <ran)" -ge 2 ] || exit 5
	END
}

# --- faults -----------------------------------------------------------------------

@test "without permission for the record: 77, nothing is left" {
	local rule
	for rule in "~$KEY ~{$KEY}:rlk:[rnqlm]* +@all" "~* +@all -hmget"; do
		# shellcheck disable=SC2086 # a rule is several words
		cli acl setuser "$KEY" reset on '>secret' $rule
		run -77 rl -r "unix://${KEY//:/%3a}:secret@$SUITE_DIR/s" --once-id a "${count[@]}"
		run -77 rl -r "unix://${KEY//:/%3a}:secret@$SUITE_DIR/s" --once-per 1h "${count[@]}"
		[[ $output == *"(permit it: see ACCESS RULES in rlockrun-servers(7)); command not started" && -z $(keys_left) && $(cli exists "$I") == 0 ]]
	done
	cli acl deluser "$KEY"
	[[ ! -e ran ]]
}

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

@test "after a failure the next one runs" {
	once 3 sh -c 'exit 3'
	once 137 sh -c 'kill -9 $$'
	once 124 --max-run 0.1 sleep 10
	once 0 "${count[@]}"
	once 75 "${count[@]}"
	ran 1
	run -3 rl sh -c 'exit 3'
	once 75 "${count[@]}"
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

@test "when the time is over it runs" {
	succeeded 3599000
	once 75 "${count[@]}"
	[[ $output == *"last succeeded on web-3 at "*", 59m"??"s ago; "* ]]
	succeeded 3600000
	once 0 "${count[@]}"
	succeeded 1
	run -0 rl --once-per 0 "${count[@]}"
	ran 2
}

@test "a success up to a minute in the future is one of just now: a slower clock" {
	local ahead
	for ahead in 2000 59000; do
		succeeded "-$ahead"
		once 75 --once-per 1s "${count[@]}"
		[[ $output == *"last succeeded on web-3 at "*", "[0-2]"s ago; command not started" ]]
	done
	[[ ! -e ran ]]
}

@test "a success further in the future is ignored with a warning" {
	succeeded -120000
	once 0 "${count[@]}"
	[[ $output == "rlockrun: \"$KEY\": the last success lies "*" in the future by the clock of the server; --once-per ignores it" ]]
	once 75 "${count[@]}"
	ran 1
}

@test "garbage in the record is no success, and is replaced" {
	local garbage
	for garbage in 1e300 -5 nan inf '' 0x10; do
		cli hset "$I" s "$garbage 1 1 run 0 1 h u - -"
		once 0 "${count[@]}"
		[[ -z $output ]]
		once 75 "${count[@]}"
	done
	# Numbers are times, however far away.
	for garbage in 99999999999999999999 "$(printf '1%.0s' {1..5000})"; do
		cli hset "$I" s "$garbage 1 1 run 0 1 h u - -"
		once 0 "${count[@]}"
		[[ ${#lines[@]} == 1 && $output == *" in the future "* && ${#output} -lt 300 ]]
		once 75 "${count[@]}"
	done
	for garbage in "set $I x" "rpush $I a" "zadd $I 1 a"; do
		cli del "$I"
		# shellcheck disable=SC2086 # a command is several words
		cli $garbage
		once 0 "${count[@]}"
		[[ -z $output ]]
		once 75 "${count[@]}"
	done
	succeeded 1000 s $'web\e[2J'"$(printf 'x%.0s' {1..5000})"
	once 75 "${count[@]}"
	[[ $output != *$'\e'* && ${#output} -lt 600 ]]
	ran 11
}

# --- --once-id --------------------------------------------------------------------

# once_id STATUS ID [OPTION...] COMMAND...
once_id() {
	run "-$1" rl --once-id "$2" "${@:3}"
}

@test "--once-id: after a success with this id none comes, with another one it does" {
	once_id 3 a sh -c 'exit 3'
	once_id 0 a "${count[@]}"
	once_id 75 a "${count[@]}"
	[[ $output =~ ^"rlockrun: \"$KEY\" last succeeded with the id \"a\" on $(hostname) at "[0-9:]{8}", "[0-9]s" ago; command not started"$ ]]
	once_id 75 a -q -w 5 "${count[@]}"
	[[ -z $output ]]
	once_id 9 a -E 9 "${count[@]}"
	RLOCKRUN_ONCE_ID=a run -75 rl "${count[@]}"
	ran 1
	[[ -z $(keys_left) ]]
	once_id 0 aa "${count[@]}"
	once_id 0 a "${count[@]}"
	ran 3
}

@test "--once-id: a success without an id changes nothing, however late it is" {
	once_id 0 a "${count[@]}"
	run -0 rl "${count[@]}"
	run -0 rl --once-per 0 "${count[@]}"
	once_id 75 a "${count[@]}"
	once_id 3 b sh -c 'exit 3'
	once_id 75 a "${count[@]}"
	ran 3
	once 75 "${count[@]}"
	once 75 --once-id new "${count[@]}"
	once_id 75 a --once-per 1ms "${count[@]}"
	ran 3
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

@test "--once-id: waiters leave after the success of one of theirs" {
	holds A --once-id "$KEY"
	enqueue B --once-id "$KEY"
	enqueue C --once-id other
	enqueue D --once-id "$KEY"
	# It does not look in between.
	kill -STOP "$PID"
	touch go.A
	exits_with 75 "${STARTED[1]}"
	wait_for_file C.started
	touch go.C go.D
	exits_with 0 "${STARTED[2]}"
	kill -CONT "$PID"
	exits_with 0 "${STARTED[3]}"
	[[ $(paste -sd ' ' order) == "A C D" && -z $(keys_left) ]]
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

@test "waiters stay in the queue while all fail, and leave after one that does not" {
	local n
	write_failing
	start "$RLOCKRUN" -k "$KEY" --once-per 1h sh ./failing A
	wait_for_file A.started
	for n in B C D E; do
		start "$RLOCKRUN" -k "$KEY" --once-per 1h sh ./failing "$n"
		wait_until is_queued "$PID"
	done
	touch go
	exits_with 1 "${STARTED[0]}"
	exits_with 1 "${STARTED[1]}"
	exits_with 0 "${STARTED[2]}"
	exits_with 75 "${STARTED[3]}"
	exits_with 75 "${STARTED[4]}"
	[[ $(paste -sd ' ' order) == "A B C" && -z $(keys_left) ]]
}
# The third that runs succeeds.
write_failing() {
	export A_JOB
	cat >failing <<-'END'
		"$A_JOB" "order+=$1" "$1.started=%p" until:go
		[ "$(wc -l <order)" -ge 3 ]
	END
}

@test "a waiter behind those that leave is woken" {
	holds A
	enqueue B --once-per 1h
	enqueue C --once-per 1h
	enqueue D
	touch go.A
	wait_for_file D.started
	exits_with 75 "${STARTED[1]}"
	exits_with 75 "${STARTED[2]}"
	once 75 "${count[@]}"
	touch go.D
	exits_with 0 "${STARTED[3]}"
	[[ -z $(keys_left) ]]
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

@test "a reply that is lost: the own grant is taken over, it runs once" {
	succeeded 7200000
	through cut:EVAL/acquire:1
	once 0 "${count[@]}"
	[[ -z $output ]]
	stop_proxy
	ran 1
	once 75 "${count[@]}"
	[[ -z $(keys_left) ]]
}

@test "a waiter whose try was lost before leaves nothing behind" {
	succeeded 1000
	through cut:EVAL/acquire:1
	once 75 "${count[@]}"
	wait_until none_left
	[[ ! -e ran ]]
}

@test "why a waiter leaves is reported, though its leaving is not answered" {
	succeeded 1000
	through cut:EVAL/acquire:1 cut:EVAL/release
	once 75 "${count[@]}"
	[[ $output == *"last succeeded on web-3 "*"; command not started" ]]
}

# bats test_tags=night
@test "a release whose reply is lost has recorded the success" {
	through cut:EVAL/release
	# The release is repeated while the lease lasts.
	once 0 -t 5 "${count[@]}"
	stop_proxy
	once 75 "${count[@]}"
	ran 1
}

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

# --- together with others -----------------------------------------------------------

@test "the record lasts at least as long as --once-per" {
	run -0 rl --keep-history 1h --once-per 7d true
	(($(cli pttl "$I") > 604000000))
	run -3 rl sh -c 'exit 3'
	(($(cli pttl "$I") > 604000000))
	run -0 rl --keep-history 9d true
	(($(cli pttl "$I") > 9 * 86390000))
}

@test "a nested run that joins the lock runs" {
	export RLOCKRUN
	succeeded 1000
	run -0 rl sh -c '"$RLOCKRUN" -k "$KEY" --once-per 1h sh -c "echo >>ran"'
	ran 1
}

@test "--min-hold: waiters leave when the job has succeeded, not when it is over" {
	holds A --min-hold 1h
	enqueue B --once-per 1h
	touch go.A
	exits_with 75 "$PID"
	[[ $(<"$ERR") == *"last succeeded on "* ]]
	is_held
	cli del "$KEY" "{$KEY}:rlk:i"
}

@test "what does not go together is wrong usage" {
	local options
	for options in -s '-p 2' '-k other' "-r unix://$PWD/1 -r unix://$PWD/2 -r unix://$PWD/3" \
		'--keep-history 0'; do
		# shellcheck disable=SC2086 # several words
		once 64 $options touch ran
		[[ ${#lines[@]} == 1 && $output == "rlockrun: --once-per "*"; try 'rlockrun --help'" ]]
	done
	RLOCKRUN_ONCE_PER=1h run -78 rl -s touch ran
	run -64 rl --once-per never touch ran
	[[ ! -e ran ]]
	# Neither is meant for what runs no command.
	RLOCKRUN_ONCE_PER=1h run -0 rl -s --status
}

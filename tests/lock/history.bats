#!/usr/bin/env bats
# The last runs (:r) and the last success (:i): who records them and when, how long
# they live, and that nothing in them can stop a run.
# shellcheck disable=SC2016,SC2154 # the jobs' shells expand that, and run sets stderr

load ../helpers/suite
load ../helpers/queue
load ../helpers/kinds
load ../helpers/faults
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_kinds_test
	R="{$KEY}:rlk:r"
}
teardown() {
	end_monitor
	end_test
}

# last FIELD: of the last run, as --status --json shows it; nothing for null.
# success FIELD: of the last success.
last() { field "$KEY" last_run "$1"; }
success() { field "$KEY" last_success "$1"; }
field() {
	timeout 20 "$RLOCKRUN" --status --json -r "unix://$SUITE_DIR/s" -k "$1" |
		sed -n 's/.*"'"$2"'":{[^}]*"'"$3"'":"\?\([^",}]*\).*/\1/p' | sed 's/^null$//'
}

# is_recorded FIELD VALUE
is_recorded() {
	[[ $(last "$1") == "$2" ]] || {
		cli lrange "$R" 0 -1 >&2
		cli hgetall "$I" >&2
		return 1
	}
}

# --- what is written ------------------------------------------------------------

@test "the start is recorded with the grant, the end with the release" {
	local before
	before=$(server_ms)
	LOGNAME=deploy hold --label 'nightly sync'
	is_recorded running true
	is_recorded host "$(hostname)"
	is_recorded pid "$PID"
	is_recorded user deploy
	is_recorded label 'nightly sync'
	is_recorded fence "$(fence)"
	is_recorded end_ms ''
	is_recorded status ''
	(($(last start_ms) >= before && $(last start_ms) <= $(server_ms)))
	[[ -z $(success end_ms) ]]
	before=$(server_ms)
	touch "done"
	exits_with 0 "$PID"
	(($(last end_ms) >= before && $(last end_ms) <= $(server_ms)))
	is_recorded running false
	is_recorded status 0
	is_recorded end_ms "$(success end_ms)"
	is_recorded fence "$(success fence)"
	[[ $(success host) == "$(hostname)" ]]
	for key in "$R" "$I"; do
		(($(cli pttl "$key") > 345590000 && $(cli pttl "$key") <= 345600000))
	done
}

@test "a run that is killed records no end; one that loses its lock does so by its fence" {
	hold
	kill -KILL "$PID"
	end_lease
	is_recorded end_ms ''
	is_recorded pid "$PID"
	for loss in "$RLOCKRUN --force-release --yes -k $KEY" "redis-cli -s $SUITE_DIR/s del $KEY"; do
		rm -f job "done"
		hold
		$loss
		touch "done"
		exits_with 79 "$PID"
		wait_until is_recorded status 79
		is_recorded pid "$PID"
		(($(last end_ms) >= $(last start_ms)))
		[[ -z $(success end_ms) ]]
	done
	wait_until none_left
}

@test "a nested run records nothing, the outer run its own end" {
	start "$RLOCKRUN" -k "$KEY" sh -c '"$0" -k "$1" "$2" inside=%p until:done exit:9 &
		"$2" until:inside exit:4' "$RLOCKRUN" "$KEY" "$A_JOB"
	exits_with 4 "$PID"
	is_held
	is_recorded pid "$PID"
	is_recorded status 4
	local end
	end=$(last end_ms)
	touch "done"
	wait_until is_free
	is_recorded status 4
	is_recorded end_ms "$end"
	wait_until none_left
}

# --- damage ---------------------------------------------------------------------

@test "a record of the wrong type is replaced" {
	local key damage
	for key in "$R" "$I"; do
		for damage in "set $key x" "zadd $key 1 a" "sadd $key a"; do
			cli del "$key"
			# shellcheck disable=SC2086 # a command is several words
			cli $damage >/dev/null
			run -0 rl true
			[[ -z $output && $(cli type "$R") == list && $(cli type "$I") == hash ]]
			is_recorded status 0
		done
	done
}

@test "garbage in the record is overwritten, and what the job does to it stops nothing" {
	local damage long
	long=$(printf 'x%.0s' {1..5000})
	cli hset "$I" f garbage s "nan $long" h "$long 1e300 -7 run $long" t 1e300 other thing
	cli rpush "$R" '' garbage "-1 1e300 nan $long" "$long"
	run -0 rl true
	[[ -z $output ]]
	is_recorded status 0
	[[ $(last fence) =~ ^[0-9]{16}$ && $(cli hget "$I" other) == thing ]]
	for damage in "del $R $I" "set $R x" "set $I x" "hset $I h x s x f -5" "lpush $R x"; do
		# shellcheck disable=SC2086 # a command is several words
		run -0 rl redis-cli -s "$SUITE_DIR/s" $damage
		run -0 rl true
		[[ -z $output ]]
		is_recorded status 0
	done
}

@test "a full server: the lock is acquired or not as before, and always freed" {
	own_server
	hold
	cli config set maxmemory 1
	touch "done"
	exits_with 0 "$PID"
	[[ ! -s err.1 && -z $(keys_left) ]]
	cli config set maxmemory 0
	run -0 rl true
	is_recorded status 0
}

# --- what is shown of it --------------------------------------------------------

# status OPTION...
status() {
	run -0 --separate-stderr "$RLOCKRUN" --status -k "$KEY" "$@"
	printf '%s\n' "$output" "$stderr"
}

# record START END [STATUS]: the only run, a success unless the status says
# otherwise; without an end "-".
record() {
	local run="17 $1 run 0 421 web-3 ci - sh"
	cli del "$R" "$I" >/dev/null
	cli rpush "$R" "$2 ${3:-0} 5 job_ended $run" >/dev/null
	[[ ${3:-0} != 0 ]] || cli hset "$I" s "$2 $run" >/dev/null
}

#!/usr/bin/env bats
# A rlockrun that was stopped past the end of its lease: how its run has ended is
# recorded all the same, or a warning says that it is not.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/queue
load ../helpers/kinds
load ../helpers/faults

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_kinds_test
	R="{$KEY}:rlk:r"
}
teardown() { end_test; }

# last FIELD: of the last run, as --status --json shows it; nothing for null.
# success FIELD: of the last success.
last() { field last_run "$1"; }
success() { field last_success "$1"; }
field() {
	timeout 20 "$RLOCKRUN" --status --json -r "unix://$SUITE_DIR/s" -k "$KEY" |
		sed -n 's/.*"'"$1"'":{[^}]*"'"$2"'":"\?\([^",}]*\).*/\1/p' | sed 's/^null$//'
}

# is_recorded STATUS: of the last run.
is_recorded() {
	[[ $(last status) == "$1" ]] || {
		cli lrange "$R" 0 -1 >&2
		cli hgetall "$I" >&2
		return 1
	}
}

# has_id ID: the last success with an id had this one.
has_id() { [[ $(cli hget "$I" d) == "$1" ]]; }

# show OPTION...: what a command that looks prints.
show() { timeout 20 "$RLOCKRUN" "$@"; }

# stopped STATUS TTL [OPTION...]: a run whose rlockrun is stopped, whose job ends
# with that status inside the lease, and whose lease has ended.
stopped() {
	rm -f job "done"
	start "$RLOCKRUN" -k "$KEY" -t "$2" "${@:3}" -- "$A_JOB" job=%p until:done "exit:$1"
	wait_for_file job
	kill -STOP "$PID"
	touch "done"
	wait_until gone "$(<job)"
	wait_until has_expired
}

# has_expired: the lock of a run that is still stopped.
has_expired() {
	if [[ $(cli type "$KEY") == zset ]]; then
		(($(cli zcount "$KEY" "($(server_ms)" +inf) == 0))
	else
		is_free
	fi
}

# only_paused: nothing else is said.
only_paused() {
	[[ $(<"$ERR") =~ ^"rlockrun: \"$KEY\": rlockrun was paused for at least "[0-9.]+" s"$ ]]
}

# goes_on STATUS [PID]: it ends so when it is continued.
goes_on() {
	kill -CONT "${2:-$PID}"
	exits_with "$1" "${2:-$PID}"
}

# --- what is recorded -----------------------------------------------------------

@test "S41: a job that the guard has killed is in the history, with 79" {
	hold -t 3 --label victim
	kill -STOP "$PID"
	wait_until gone "$(<job)"
	wait_until is_free
	goes_on 79
	is_recorded 79
	[[ $(last reason) == lease_over && -z $(success end_ms) ]]
	(($(last end_ms) >= $(last start_ms)))
	[[ $(show --history -k "$KEY") == *" 79 "*victim* ]]
	run -1 show --check "$KEY"
	[[ $(show --list --failed) == *"$KEY"* ]]
	[[ -z $(keys_left) && $(wc -l <"$ERR") == 2 ]]
}

# bats test_tags=night
@test "S41: a job that has failed inside the lease is recorded with its status" {
	stopped 3 3
	goes_on 3
	is_recorded 3
	[[ $(last reason) == job_ended && -z $(success end_ms) ]]
	only_paused
}

@test "S41: a success inside the lease counts, for --once-id, --once-per and --expect" {
	local life_ms
	stopped 0 9 --once-id A --expect 1h
	goes_on 0
	only_paused
	is_recorded 0
	[[ $(success end_ms) == "$(last end_ms)" ]]
	[[ $(success fence) == "$(last fence)" && $(success host) == "$(hostname)" ]]
	has_id A
	run -75 rl --once-id A touch again
	run -75 rl --once-per 1h touch again
	[[ ! -e again ]]
	run -0 show --check "$KEY"
	life_ms=$(cli pttl "$R")
	((life_ms > 345500000 && life_ms <= 345600000))
}

# bats test_tags=night
@test "S41: the lock had another holder meanwhile: the run is filed, its success stands" {
	stopped 0 3 --once-id A
	run -4 rl sh -c 'exit 4'
	[[ $(cli lindex "$R" 1) == '- - - - '* ]]
	goes_on 0
	# Filed by when they ended, and shown by when they started.
	[[ $(cli lindex "$R" 1) =~ ^[0-9]+\ 4\ [0-9]+\ job_ended && $(cli llen "$R") == 2 ]]
	is_recorded 4
	(($(success end_ms) > 0 && $(success fence) < $(last fence) && $(last fence) == $(fence)))
	run -75 rl --once-id A true
}

# bats test_tags=night
@test "S41: a later success is not overwritten; another id's is" {
	local before
	stopped 0 3 --once-id A
	run -0 rl true
	before=$(success fence)
	goes_on 0
	[[ $(success fence) == "$before" && $(fence) == "$before" ]]
	stopped 0 3 --once-id B
	run -0 rl --once-id C true
	goes_on 0
	has_id C
}

# bats test_tags=night
@test "S41: shared and permits" {
	local kind
	for kind in -s -p2; do
		cli del "$R" "$I"
		stopped 0 3 "$kind"
		goes_on 0
		is_recorded 0
		(($(success end_ms) > 0))
	done
}

# bats test_tags=night
@test "S41: several locks: all of them record it, but no success that nobody can prove" {
	rm -f job "done"
	start "$RLOCKRUN" -k "$KEY" -k "$KEY:2" -t 3 -- "$A_JOB" job=%p until:done
	wait_for_file job
	kill -STOP "$PID"
	touch "done"
	wait_until gone "$(<job)"
	wait_until eval 'is_free && [[ $(cli exists "$KEY:2") == 0 ]]'
	goes_on 0
	is_recorded 0
	[[ $(cli lindex "{$KEY:2}:rlk:r" 0) == [0-9]*" 0 "* ]]
	[[ -z $(success end_ms) ]]
	grep -q "not recorded as a success, since it may have been lost: " "$ERR"
}

# bats test_tags=night
@test "S41: --min-hold: nobody else is kept away, the run is recorded" {
	stopped 0 3 --min-hold 1h
	goes_on 0
	is_recorded 0
	is_free
}

# --- what is not ----------------------------------------------------------------

# bats test_tags=night
@test "S41: no server any more: a warning says that the run is not recorded" {
	own_server
	stopped 0 3 --once-id A
	kill -KILL "$(<"$SUITE_DIR/pid")"
	goes_on 0
	grep -q "cannot confirm the release" "$ERR"
	grep -q "\"$KEY\": the run is not recorded: " "$ERR"
}

# bats test_tags=night
@test "S41: nor for a job that was killed" {
	own_server
	hold -t 1
	kill -STOP "$PID"
	wait_until gone "$(<job)"
	kill -KILL "$(<"$SUITE_DIR/pid")"
	goes_on 79
	grep -q "\"$KEY\": the run is not recorded: " "$ERR"
}

# bats test_tags=night
@test "S41: a server that has lost its data has no such run any more: a warning" {
	stopped 3 3
	cli del "$R" "$I" >/dev/null
	goes_on 3
	grep -q "\"$KEY\": the run is not recorded: " "$ERR"
	[[ $(cli exists "$R") == 0 ]]
}

# bats test_tags=night
@test "a loss is read together with the end of the job: no success" {
	own_server
	through until:go:EVAL/1:1
	rm -f job "done"
	start "$RLOCKRUN" -k "$KEY" --once-id A -- "$A_JOB" job=%p until:done
	wait_for_file job
	cli del "$KEY" >/dev/null
	wait_for_file proxy/go.held
	kill -STOP "$PID"
	touch "done"
	wait_until gone "$(<job)"
	# If the reply is late, the release finds the same.
	touch proxy/go
	goes_on 79
	is_recorded 79
	[[ -z $(success end_ms) ]]
	has_id ''
}

#!/usr/bin/env bats
# A rlockrun that was stopped past the end of its lease: how its run has ended is
# recorded all the same, or a warning says that it is not.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
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

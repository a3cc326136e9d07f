#!/usr/bin/env bats
# A rlockrun that was stopped past the end of its lease (S41): how its run has ended is
# recorded all the same. What can go wrong with that is played by the simulation.

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# last FIELD: of the last run, as --status --json shows it; nothing for null.
# success FIELD: of the last success.
last() { field last_run "$1"; }
success() { field last_success "$1"; }
field() {
	rl --status --json |
		sed -n 's/.*"'"$1"'":{[^}]*"'"$2"'":"\?\([^",}]*\).*/\1/p' | sed 's/^null$//'
}

@test "S41: a job that the guard has killed is in the history, with 79" {
	hold -t 3 --label victim
	kill -STOP "$PID"
	wait_until gone "$(<job)"
	wait_until is_free
	kill -CONT "$PID"
	exits_with 79 "$PID"
	[[ $(last status) == 79 && $(last reason) == lease_over && -z $(success end_ms) ]]
	(($(last end_ms) >= $(last start_ms)))
	[[ $(rl --history) == *" 79 "*victim* ]]
	run -1 timeout 20 "$RLOCKRUN" --check "$KEY"
	[[ $(timeout 20 "$RLOCKRUN" --list --failed) == *"$KEY"* ]]
	[[ -z $(keys_left) && $(wc -l <"$ERR") == 2 ]]
}

@test "S41: a success inside the lease counts, for --once-id, --once-per and --expect" {
	local life_ms
	hold -t 9 --once-id A --expect 1h
	kill -STOP "$PID"
	touch "done"
	wait_until gone "$(<job)"
	wait_until is_free
	kill -CONT "$PID"
	exits_with 0 "$PID"
	[[ $(<"$ERR") =~ ^"rlockrun: \"$KEY\": rlockrun was paused for at least "[0-9.]+" s"$ ]]
	[[ $(last status) == 0 && $(success end_ms) == "$(last end_ms)" ]]
	[[ $(success fence) == "$(last fence)" && $(success host) == "$(hostname)" ]]
	run -75 rl --once-id A touch again
	run -75 rl --once-per 1h touch again
	[[ ! -e again ]]
	run -0 timeout 20 "$RLOCKRUN" --check "$KEY"
	life_ms=$(cli pttl "{$KEY}:rlk:r")
	((life_ms > 345500000 && life_ms <= 345600000))
}

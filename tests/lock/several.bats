#!/usr/bin/env bats
# Several locks at once: all or none, in an order that can't deadlock. Scenario
# B7. The locks are KEY:1, KEY:2 and so on. What is printed is in tests/tables/runs.txt.
# shellcheck disable=SC2016 # what is in single quotes, the jobs expand
# bats file_tags=everywhere

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
}
teardown() { end_test; }

# rl_keys KEYS [OPTION...] -- COMMAND...: of the locks with these numbers.
rl_keys() {
	local keys=() number
	for number in $1; do
		keys+=(-k "$KEY:$number")
	done
	timeout -k 1 60 "$RLOCKRUN" "${keys[@]}" "${@:2}"
}

is_free_key() { [[ $(cli exists "$KEY:$1") == 0 ]]; }
is_held_key() { [[ $(cli exists "$KEY:$1") == 1 ]]; }

# take_foreign NUMBER: another program has it.
take_foreign() { [[ $(cli set "$KEY:$1" foreign NX PX 60000) == OK ]]; }

# --- B7 ---------------------------------------------------------------------

# Notices when it isn't alone with its keys.
write_job() {
	cat >job <<-'END'
		for key in $RLOCKRUN_KEY; do
			mkdir "in.$key" || echo "$key" >>overlaps
		done
		echo >>runs
		for key in $RLOCKRUN_KEY; do
			rmdir "in.$key"
		done
	END
}

# turns KEYS COUNT
turns() {
	local turn
	for ((turn = 0; turn < $2; turn++)); do
		rl_keys "$1" -q -- sh ./job || return
	done
}

# bats test_tags=smoke
@test "B7: {1,2}, {2,3}, {3,1} at once, 6 rounds: no overlap, no deadlock" {
	local pid keys
	write_job
	for keys in '1 2' '2 3' '3 1'; do
		start turns "$keys" 6
	done
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ $(wc -l <runs) == 18 && ! -e overlaps && -z $(keys_left) ]]
}

# --- all or none ------------------------------------------------------------

@test "a signal to one that holds a part: it dies by it, and the part is free" {
	take_foreign 2
	start env --default-signal "$HELPERS/ended" end "$RLOCKRUN" -k "$KEY:2" -k "$KEY:1" -- touch ran
	wait_until grep -q waiting err.1
	is_held_key 1
	wait_for_file end.pid
	kill -TERM "$(<end.pid)"
	wait_for_file end
	[[ $(<end) == "signal TERM" ]]
	[[ ! -e ran && $(keys_left) == "$KEY:2" ]]
}

# --- order ------------------------------------------------------------------

@test "the job's variables are in the order given" {
	run -0 rl_keys '2 1' --prefix p: -- sh -c 'echo "$RLOCKRUN_KEY"
		for key in $RLOCKRUN_KEY; do redis-cli -s "$0" get "p:$key"; done
		for key in $RLOCKRUN_KEY; do redis-cli -s "$0" hget "{p:$key}:rlk:i" f; done
		echo "$RLOCKRUN_TOKEN"
		echo "$RLOCKRUN_FENCE"' "$SUITE_DIR/s"
	[[ ${lines[0]} == "$KEY:2" && ${lines[1]} == "$KEY:1" && ${#lines[@]} == 10 ]]
	[[ ${lines[6]} == "${lines[2]}" && ${lines[7]} == "${lines[3]}" ]]
	[[ ${lines[8]} == "${lines[4]}" && ${lines[9]} == "${lines[5]}" ]]
	[[ ${lines[6]} != "${lines[7]}" ]]
}

# --- what is recorded ---------------------------------------------------------

# recorded NUMBER: the status of its last run. success NUMBER: whether there was one.
recorded() {
	rl_keys "$1" --status --json | sed -n 's/.*"last_run":{[^}]*"status":\([0-9]*\).*/\1/p'
}
success() { rl_keys "$1" --status --json | grep -q '"last_success":{'; }

@test "S31: a run that has lost one lock is a success of none" {
	local lost other
	for lost in 1 2 3; do
		other=$((lost % 3 + 1))
		run -79 rl_keys '3 1 2' --min-hold 0.01 -- redis-cli -s "$SUITE_DIR/s" del "$KEY:$lost"
		[[ $output == *"\"$KEY:$lost\" was lost: "* && $(recorded "$other") == 79 ]]
		run ! success "$other"
		run ! success "$lost"
	done
	run -0 rl_keys 3 --once-per 20h -- touch ran
	[[ -e ran ]]
	run -75 rl_keys 3 --once-per 20h -- true
	run -0 rl_keys '1 2' -- true
	[[ $(recorded 1) == 0 ]]
	success 1
	success 2
}

# --- nested runs --------------------------------------------------------------

@test "nested: what is held above is joined, the rest is taken" {
	start rl_keys '2' -- sh -c 'echo "$RLOCKRUN_TOKEN" >outer
		"$RLOCKRUN" -k "$KEY:1" -k "$KEY:2" -- sh -c "
			echo \"\$RLOCKRUN_TOKEN\" >inner
			\"\$RLOCKRUN\" -n -k \"\$KEY:2\" -k \"\$KEY:1\" -- true"
		echo $? >status
		exec "$0" until:done' "$A_JOB"
	wait_for_file status
	[[ $(<status) == 0 && $(sed -n 2p inner) == "$(<outer)" ]]
	is_free_key 1
	is_held_key 2
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

#!/usr/bin/env bats
# Several locks at once: all or none, in an order that can't deadlock. Scenario
# B7. The locks are KEY:1, KEY:2 and so on.
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

# all_turns COUNT: three sets that overlap in a circle, in orders that would
# deadlock.
all_turns() {
	local pid keys
	write_job
	for keys in '1 2' '2 3' '3 1'; do
		start turns "$keys" "$1"
	done
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ $(wc -l <runs) == $((3 * $1)) && ! -e overlaps ]]
	[[ -z $(keys_left) ]]
}

@test "B7: {1,2}, {2,3}, {3,1} at once, 6 rounds: no overlap, no deadlock" {
	all_turns 6
}

# bats test_tags=smoke
@test "B7: 12 sets of three out of five, in any order" {
	write_job
	for _ in {1..12}; do
		start rl_keys "$(shuf -n 3 -e 1 2 3 4 5 | tr '\n' ' ')" -q -- sh ./job
	done
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ $(wc -l <runs) == 12 && ! -e overlaps ]]
	[[ -z $(keys_left) ]]
}

# --- all or none ------------------------------------------------------------

@test "one that is held: busy, the others are free again, and it is named" {
	take_foreign 2
	for keys in '1 2 3' '3 2 1' '2 3 1' '2 1'; do
		run -75 rl_keys "$keys" -n -- touch ran
		echo "$output"
		[[ $output == "rlockrun: \"$KEY:2\" is held by another client (not a rlockrun); command not started" ]]
		is_free_key 1
		is_free_key 3
	done
	[[ ! -e ran && $(keys_left) == "$KEY:2" ]]
}

@test "a key that is no lock: 76, it is named, and the others are free" {
	cli rpush "$KEY:2" a
	run -76 rl_keys '1 2' -n -- touch ran
	[[ $output == "rlockrun: \"$KEY:2\" is not a lock: "* ]]
	[[ ! -e ran && $(keys_left) == "$KEY:2" ]]
}

@test "a command that isn't found: no lock is taken" {
	run -127 rl_keys '1 2' -- no-such-command
	[[ -z $(cli --raw keys "*$KEY*") ]]
}

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

@test "a server that becomes unreachable while a part is held: 69, in time" {
	own_server
	take_foreign 2
	start rl_keys '1 2' --server-timeout 1 -t 2 -- touch ran
	wait_until grep -q waiting err.1
	stop_server "$SUITE_DIR"
	exits_with 69 "$PID"
	[[ ! -e ran ]]
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

# --- losing one is losing all -------------------------------------------------

@test "kill -9 of rlockrun: all of them end with their leases" {
	start "$RLOCKRUN" -k "$KEY:1" -k "$KEY:2" -- "$A_JOB" held=%p until:never
	wait_for_file held
	kill -KILL "$PID"
	end_lease "$KEY:1"
	end_lease "$KEY:2"
	run -0 rl_keys '2 1' -- true
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

# --- the limits of a run --------------------------------------------------------

@test "--max-run frees all of them: 124" {
	run -124 rl_keys '1 2' --max-run 0.2 -- sleep 60
	[[ $output == "rlockrun: \"$KEY:1\", \"$KEY:2\": the job has run for 200ms; stopping the job" ]]
	[[ -z $(keys_left) ]]
}

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

# hold_numbers KEYS [OPTION...]: a rlockrun that holds them until the file
# `done` is there.
hold_numbers() {
	rm -f held
	start rl_keys "$1" "${@:2}" -- "$A_JOB" held=%p until:done
	wait_for_file held
}

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

# bats test_tags=night
@test "B7: the same with -n: none has a part only, and nothing is left" {
	local keys
	write_job
	for _ in {1..4}; do
		for keys in '1 2' '2 3' '3 1'; do
			start rl_keys "$keys" -n -E 0 -q -- sh ./job
		done
	done
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ -s runs && ! -e overlaps ]]
	[[ -z $(keys_left) ]]
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

@test "-w is one limit for all, and what was held is freed when it is over" {
	take_foreign 2
	run -75 rl_keys '1 2' -w 2 -- touch ran
	[[ ${lines[0]} == "rlockrun: \"$KEY:2\" is held by another client (not a rlockrun); waiting" ]]
	[[ ${lines[1]} == "rlockrun: \"$KEY:2\" is held by another client (not a rlockrun); gave up after "*"; command not started" ]]
	[[ ! -e ran && $(keys_left) == "$KEY:2" ]]
}

@test "the wait for each of them is reported, and the job runs when all are free" {
	take_foreign 1
	take_foreign 2
	start rl_keys '1 2' -- touch ran
	wait_until grep -q "\"$KEY:1\" is held by.*; waiting" err.1
	cli del "$KEY:1"
	wait_until grep -q "\"$KEY:2\" is held by.*; waiting" err.1
	is_held_key 1
	cli del "$KEY:2"
	exits_with 0 "$PID"
	[[ $(tail -n 1 err.1) == "rlockrun: \"$KEY:1\", \"$KEY:2\": acquired after "* ]]
	[[ -e ran && $(wc -l <err.1) == 3 && -z $(keys_left) ]]
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

@test "no server and --on-unavailable run: without any of them" {
	run -0 --separate-stderr rl_keys '1 2' -r "unix://$PWD/away" --server-timeout 0.1 \
		--on-unavailable run -- sh -c 'echo "${RLOCKRUN_TOKEN-none}${RLOCKRUN_FENCE-none}"'
	[[ $output == nonenone ]]
}

# --- order ------------------------------------------------------------------

# What scripts did to the locks themselves, as "SET 1", "DEL 1", "PEXPIRE 1".
seen_by_monitor() {
	sed -nE "s/.*lua\] \"(SET|DEL|PEXPIRE)\" \"$KEY:([0-9]+)\".*/\1 \2/p" out.1
}

start_monitor() {
	own_server
	start redis-cli -s "$SUITE_DIR/s" monitor
	wait_for_file out.1
}

await_monitor() {
	cli echo the-end
	wait_until grep -q the-end out.1
}

# The releases travel on a connection each, and the server may read these in any
# order.
@test "taken in the order of the keys, whatever order was given, and all are freed" {
	start_monitor
	rl_keys '3 1 2' -- true
	await_monitor
	[[ $(seen_by_monitor | grep SET | xargs) == "SET 1 SET 2 SET 3" ]]
	[[ $(seen_by_monitor | grep DEL | sort | xargs) == "DEL 1 DEL 2 DEL 3" ]]
}

# Scripts that are sent as a whole are renewals: the server knows all others. One that
# was acquired in the millisecond in which the job ended would need none.
@test "after the job each is renewed once more, and a single one is not" {
	start_monitor
	rl_keys '1 2 3' -- sleep 0.01
	rl_keys '1' -- true
	await_monitor
	[[ $(grep -ic '\] "EVAL" ' out.1) == 3 ]]
}

@test "what is held already is freed when one cannot be acquired" {
	start_monitor
	take_foreign 3
	run -75 rl_keys '3 1 2' -n -- true
	await_monitor
	[[ $(seen_by_monitor | grep SET | xargs) == "SET 1 SET 2" ]]
	[[ $(seen_by_monitor | grep DEL | sort | xargs) == "DEL 1 DEL 2" ]]
	cli del "$KEY:3"
}

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

@test "-v names each, and all when they are released" {
	run -0 rl_keys '2 1' -v -- true
	[[ ${lines[0]} == "rlockrun: \"$KEY:2\": acquired on "* ]]
	[[ ${lines[1]} == "rlockrun: \"$KEY:1\": acquired on "* ]]
	[[ ${lines[2]} == "rlockrun: \"$KEY:2\", \"$KEY:1\": released" ]]
}

# bats test_tags=night
@test "a part that is lost while the others are waited for: it starts over" {
	take_foreign 2
	start rl_keys '1 2' -t 9 -- sh -c 'exit 3'
	wait_until grep -q waiting err.1
	# In one step: a renewal in between would start over too soon.
	cli set "$KEY:1" foreign XX PX 60000
	wait_until grep -q "\"$KEY:1\" was lost while others were waited for; starting over" err.1
	cli del "$KEY:2"
	wait_until grep -q "\"$KEY:1\" is held by.*; waiting" err.1
	is_free_key 2
	cli del "$KEY:1"
	exits_with 3 "$PID"
	[[ -z $(keys_left) ]]
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

@test "one that is lost after all were proven was lost after the job: a success" {
	not_over cluster sentinel tls
	start_proxy proxy stay:go:EVAL/release:1
	start rl_keys '1 2' -- true
	wait_for_file proxy/go.held
	[[ $(cli del "$KEY:2") == 1 ]]
	touch proxy/go
	exits_with 0 "$PID"
	[[ ! -s err.1 && $(recorded 2) == 0 ]]
	success 1
	success 2
	is_free_key 1
}

# --- losing one is losing all -------------------------------------------------

# bats test_tags=night
@test "losing one stops the job; the others are kept until it is dead, then freed" {
	start rl_keys '1 2 3' --kill-after 20 -- sh -c 'trap "exec \"\$0\" told=%p until:go" TERM
		"$0" ready=%p until:never & wait' "$A_JOB"
	wait_for_file ready
	[[ $(cli del "$KEY:2") == 1 ]]
	wait_for_file told
	is_held_key 1
	is_held_key 3
	touch go
	exits_with 79 "$PID"
	[[ $(grep rlockrun: err.1) == "rlockrun: \"$KEY:2\" was lost: its key was taken away or has expired; stopping the job" ]]
	is_free_key 1
	is_free_key 3
}

@test "one that was lost is found out at the release: 79, and the others are free" {
	run -79 rl_keys '1 2' -- redis-cli -s "$SUITE_DIR/s" del "$KEY:1"
	[[ $output == *"\"$KEY:1\" was lost: another client removed it while the job ran" ]]
	is_free_key 2
}

@test "one whose release cannot be confirmed: it alone is named" {
	own_server
	cli acl setuser job on '>secret' '~*' +@all
	RLOCKRUN_REDIS=unix://job:secret@$SUITE_DIR/s run -0 rl_keys '1 2' -- \
		redis-cli -s "$SUITE_DIR/s" acl setuser job resetkeys "~$KEY:1" "~{$KEY:1}:*"
	[[ $output == *"rlockrun: \"$KEY:2\": cannot confirm the release"* ]]
	is_free_key 1
	cli del "$KEY:2"
}

# bats test_tags=night
@test "a server that is frozen for longer than the lease: the job is dead, 79" {
	own_server
	hold_numbers '1 2' -t 3
	freeze
	exits_with 79 "$PID"
	thaw
	[[ $(grep -c "is being lost" err.1) == 1 ]]
}

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

@test "nested: one that cannot be acquired frees the rest and leaves the outer run alone" {
	take_foreign 3
	run -75 rl_keys '2' -- sh -c '"$RLOCKRUN" -n -k "$KEY:1" -k "$KEY:2" -k "$KEY:3" touch ran
		code=$?
		[ "$(redis-cli -s "$0" get "$KEY:2")" = "$RLOCKRUN_TOKEN" ] &&
			[ "$(redis-cli -s "$0" exists "$KEY:1")" = 0 ] && exit $code' "$SUITE_DIR/s"
	[[ ! -e ran && $(keys_left) == "$KEY:3" ]]
}

# --- the limits of a run --------------------------------------------------------

@test "--max-run frees all of them: 124" {
	run -124 rl_keys '1 2' --max-run 0.2 -- sleep 60
	[[ $output == "rlockrun: \"$KEY:1\", \"$KEY:2\": the job has run for 200ms; stopping the job" ]]
	[[ -z $(keys_left) ]]
}

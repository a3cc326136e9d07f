#!/usr/bin/env bats
# Many short runs whose renewals meet the ends of their jobs: nothing is left,
# and no renewal comes after a release.
load ../helpers/suite

setup() {
	begin_test
	own_server
	start redis-cli -s "$SUITE_DIR/s" monitor
	MONITOR=$PWD/out.1
	wait_for_file "$MONITOR"
	AFTER_RELEASE=$HELPERS/after-release
}
teardown() { end_test; }

# The server stops for a moment again and again, so that answers to renewals are
# still out when jobs end. In a process of its own, so that it is thawed at last.
stutter() {
	local server
	server=$(<"$SUITE_DIR/pid")
	trap 'kill -CONT "$server"; exit' TERM
	until [[ -e "done" ]]; do
		kill -STOP "$server"
		sleep 0.04
		kill -CONT "$server"
		sleep 0.04
	done
}

# batch NUMBER SIZE: so many runs at once. The lease is 1 s, renewed after 317 to
# 350 ms; a start takes its time, too. Prints the statuses.
batch() {
	local i pid
	local -a pids=()
	for ((i = 0; i < $2; i++)); do
		"$RLOCKRUN" -k "$KEY:$1:$i" -t 1 -- \
			sleep "0.$((270 + RANDOM % 90))" >/dev/null 2>>errors </dev/null 3>&- &
		pids+=("$!")
	done
	for pid in "${pids[@]}"; do
		wait "$pid" && echo 0 || echo "$?"
	done
}

# soak BATCHES SIZE
soak() {
	local batch runs=$(($1 * $2)) seen renewals near
	start stutter
	for ((batch = 0; batch < $1; batch++)); do
		batch "$batch" "$2" >>codes
	done
	touch "done"
	exits_with 0 "$PID"
	cli ping marker
	wait_until grep -q marker "$MONITOR"

	sort codes | uniq -c
	cat errors
	[[ $(grep -cx 0 codes) == "$runs" && ! -s errors ]]
	[[ -z $(keys_left) ]]
	"$AFTER_RELEASE" "$MONITOR" >stats
	read -r seen renewals near <stats
	echo "# $seen runs, $renewals renewals, $near runs ended beside one" >&3
	((seen == runs))
	# Else they have not met, and the test says nothing.
	((renewals >= runs / 5 && near >= runs / 20))
}

@test "100 short runs: no key left, no renewal after a release" {
	soak 10 10
}

# bats test_tags=night,serial
@test "2,000 short runs: no key left, no renewal after a release" {
	soak 40 50
}

# The check must be able to fail: a renewal that the server really got, once
# more at the end; and the re-arming of the record that goes with it.
@test "the check of the soak finds a renewal after a release" {
	local pattern
	run -0 "$RLOCKRUN" -k "$KEY" -t 1 -- sleep 0.6
	cli ping marker
	wait_until grep -q marker "$MONITOR"
	run -0 "$AFTER_RELEASE" "$MONITOR"
	[[ $output == "1 "[1-9]* ]]
	for pattern in '"EVAL".*return {1}' '\[0 unix:.*"PEXPIRE"'; do
		grep "$pattern" "$MONITOR" | head -n 1 |
			cat "$MONITOR" - >spoilt
		run -1 "$AFTER_RELEASE" spoilt
		[[ $output == *" after its release, line "* ]]
	done
}

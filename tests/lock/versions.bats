#!/usr/bin/env bats
# Two versions on one lock, as during an upgrade: this one, and the last one
# whose scripts were different, built from the history of the repository.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	NEW=$RLOCKRUN
	OLD=$ROOT/build/former/rlockrun
	[[ -x $OLD ]] || skip "not here: no history to build the former version from"
	write_work
}
teardown() { end_test; }

# A job that finds out whether another one runs beside it.
write_work() {
	cat >work <<-END
		exec "$A_JOB" alone:overlaps "order+=\$1" "until:done,done.\$1"
	END
}

# work NAME BINARY [OPTION...]
work() {
	start "$2" -k "$KEY" "${@:3}" -- sh ./work "$1"
}

are_waiting() {
	[[ $(cli zcard "{$KEY}:rlk:q") == "$1" ]]
}

in_order() {
	[[ $(paste -sd ' ' order 2>/dev/null) == "$1" ]]
}

@test "waiters of both versions run in the order in which they came" {
	local name binary=$OLD
	work 0 "$OLD"
	wait_until in_order 0
	for name in 1 2 3 4 5 6; do
		[[ $binary == "$OLD" ]] && binary=$NEW || binary=$OLD
		work "$name" "$binary"
		wait_until are_waiting "$name"
	done
	touch "done"
	wait_until in_order "0 1 2 3 4 5 6"
	wait_until none_left
	[[ ! -e overlaps ]]
}

# turns BINARY: three runs that count in a way that two at once spoil.
turns() {
	local n
	for ((n = 0; n < 3; n++)); do
		"$1" -k "$KEY" sh -c 'read -r n <count; sleep 0.003; echo $((n + 1)) >count' || return
	done
}

@test "crowds of both versions never run two jobs at once" {
	local pid
	echo 0 >count
	for _ in 1 2; do
		start turns "$OLD"
		start turns "$NEW"
	done
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ $(<count) == 12 && -z $(keys_left) ]]
}

# takes_over OLD-OR-NEW OTHER: the other one waits behind a holder that is killed.
takes_over() {
	work A "$1"
	wait_until in_order A
	local first=$PID
	work B "$2"
	wait_until are_waiting 1
	kill -KILL "$first"
	end_lease
	wait_until in_order "A B"
	[[ ! -e overlaps ]]
	touch "done"
	exits_with 0 "$PID"
	wait_until none_left
}

@test "each version waits behind the other that is killed" {
	takes_over "$OLD" "$NEW"
	rm order "done"
	takes_over "$NEW" "$OLD"
}

@test "readers of both versions go together, writers of both alone" {
	local name binary
	work W "$OLD"
	wait_until in_order W
	work R1 "$NEW" -s
	wait_until are_waiting 1
	work R2 "$OLD" -s
	wait_until are_waiting 2
	work X "$NEW"
	wait_until are_waiting 3
	touch done.W
	wait_until eval '[[ $(sort order | paste -sd " ") == "R1 R2 W" ]]'
	touch done.R1 done.R2
	wait_until eval '[[ $(tail -n 1 order) == X ]]'
	touch "done"
	wait_until none_left
}

@test "permits are counted over both versions" {
	work A "$OLD" --permits 2
	work B "$NEW" --permits 2
	wait_until eval '[[ -e order && $(wc -l <order) == 2 ]]'
	run -75 "$OLD" -k "$KEY" --permits 2 -n true
	run -75 "$NEW" -k "$KEY" --permits 2 -n true
	touch done.A
	wait_until gone "${STARTED[0]}"
	run -0 "$NEW" -k "$KEY" --permits 2 -n "$OLD" -k "$KEY" --permits 2 -n true
	touch "done"
	wait_until none_left
}

@test "a label is shown by the new version, and spoils nothing for the old one" {
	local kind
	for kind in -x "-p1" -s; do
		work A "$NEW" "$kind" --label 'nightly sync'
		wait_until in_order A
		run -75 "$OLD" -k "$KEY" -x -n true
		[[ $output == *" (pid $PID, "*") since "* ]]
		run -0 "$OLD" --status -k "$KEY"
		[[ $output == *"(pid $PID, "*"token: "* ]]
		run -75 "$NEW" -k "$KEY" -x -n true
		[[ $output == *" (pid $PID, "*', "nightly sync") since '* ]]
		touch "done"
		exits_with 0 "$PID"
		rm order "done"
		work B "$OLD" "$kind"
		wait_until in_order B
		run -0 "$NEW" --status -k "$KEY"
		[[ $output == *"(pid $PID, "* && $output != *label:* ]]
		touch "done"
		exits_with 0 "$PID"
		rm order "done"
	done
	wait_until none_left
}

# nested OUTER INNER: the inner run joins, and outlives the outer one.
nested() {
	start "$1" -k "$KEY" sh -c '"$1" -k "$KEY" "$0" inside=%p until:done &
		"$0" until:inside' "$A_JOB" "$2"
	exits_with 0 "$PID"
	run -75 "$1" -k "$KEY" -n true
	run -75 "$2" -k "$KEY" -n true
	touch "done"
	wait_until none_left
}

@test "a nested run of the other version keeps the lock until it ends" {
	nested "$OLD" "$NEW"
	rm "done" inside
	nested "$NEW" "$OLD"
}

# bystander LOOKER HOLDER: status and force-release across the versions.
bystander() {
	work A "$2"
	wait_until in_order A
	run -0 "$1" --status -k "$KEY"
	[[ $output == *"(pid $PID, "* ]]
	run -0 "$1" --force-release -k "$KEY" --yes
	touch "done"
	exits_with 79 "$PID"
	rm order "done"
}

@test "each version sees and takes away a lock of the other" {
	bystander "$NEW" "$OLD"
	bystander "$OLD" "$NEW"
	wait_until none_left
}

@test "a hold keeps runs of the former version waiting, which show and release it" {
	run -0 --separate-stderr "$NEW" -k "$KEY" --hold 1h --label 'db migration'
	token=$output
	run -75 "$OLD" -n -k "$KEY" -- true
	[[ $output == *" is held by $(uname -n) (pid "*") since "* ]]
	run -0 "$OLD" --status -k "$KEY"
	[[ $output == *"token:    $token"* && $output != *damaged* ]]
	work 1 "$OLD"
	wait_until are_waiting 1
	run -0 "$OLD" --force-release --token "$token" -k "$KEY"
	wait_until in_order 1
	touch "done"
	exits_with 0 "$PID"
}

@test "the old version neither writes the history nor harms it" {
	local before
	run -3 "$NEW" -k "$KEY" sh -c 'exit 3'
	run -0 "$NEW" -k "$KEY" true
	before=$(cli hgetall "{$KEY}:rlk:r")
	run -0 "$OLD" -k "$KEY" true
	work A "$OLD"
	wait_until in_order A
	work B "$NEW" --once-per 1h
	work C "$OLD"
	wait_until are_waiting 1
	exits_with 75 "${STARTED[1]}"
	[[ $(cli hgetall "{$KEY}:rlk:r") == "$before" ]]
	touch "done"
	exits_with 0 "${STARTED[0]}"
	exits_with 0 "${STARTED[2]}"
	[[ $(cli hgetall "{$KEY}:rlk:r") == "$before" ]]
	run -0 "$OLD" --status -k "$KEY"
	run -0 "$OLD" --force-release -k "$KEY" --yes
	[[ $(cli hgetall "{$KEY}:rlk:r") == "$before" ]]
	wait_until none_left
}

@test "waiters of both versions: those of the new one leave after a success, the others run" {
	work A "$NEW"
	wait_until in_order A
	work B "$OLD"
	wait_until are_waiting 1
	work C "$NEW" --once-per 1h
	wait_until are_waiting 2
	work D "$OLD"
	wait_until are_waiting 3
	touch "done"
	wait_until in_order "A B D"
	exits_with 75 "${STARTED[2]}"
	wait_until none_left
	[[ ! -e overlaps ]]
}

@test "waiters of the former version keep their places among those with --newest" {
	work 0 "$OLD"
	wait_until in_order 0
	work 1 "$NEW" --newest
	wait_until are_waiting 1
	work 2 "$OLD"
	wait_until are_waiting 2
	work 3 "$NEW" --newest
	exits_with 75 "${STARTED[1]}"
	are_waiting 2
	touch "done"
	wait_until in_order "0 2 3"
	wait_until none_left
	[[ ! -e overlaps ]]
}

@test "a holder of the former version is waited for, and a waiter of it waits for a --replaceable one" {
	work 0 "$OLD"
	wait_until in_order 0
	work 1 "$NEW" --replace --replaceable
	wait_until grep -q "and is not --replaceable; waiting" "$ERR"
	touch done.0
	wait_until in_order "0 1"
	work 2 "$OLD"
	wait_until are_waiting 1
	work 3 "$NEW" --replace
	wait_until are_waiting 2
	run "$OLD" -k "$KEY" --status --json
	[[ $status == 0 && $output == *'"waiting":2'* ]]
	kill -TERM "${STARTED[2]}"
	exits_with 80 "${STARTED[1]}"
	touch "done"
	wait_until in_order "0 1 3"
	wait_until none_left
	[[ ! -e overlaps ]]
}

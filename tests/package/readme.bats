#!/usr/bin/env bats
# The README's quick start prints what it says, but for times and names, and its comparison
# with flock. Its recipes are in examples.bats.

load ../helpers/suite
load ../helpers/document

setup_file() {
	choose_port
	export PORT
	start_suite_server --port "$PORT"
}

teardown_file() {
	stop_suite_server
}

setup() {
	begin_test
}

teardown() {
	end_test
}

# sleep: the shell's ends when the job holds the lock, the job's when somebody waits.
bin_sleep() {
	mkdir bin
	cat >bin/sleep <<-'END'
		#!/bin/sh
		awaited=demo
		[ -z "$RLOCKRUN_KEY" ] || awaited={demo}:rlk:q
		until [ "$(redis-cli -u "$RLOCKRUN_REDIS" exists "$awaited")" = 1 ]; do
			/bin/sleep 0.02
		done
	END
	chmod +x bin/sleep
}

@test "the quick start prints what the README says" {
	bin_sleep
	PATH=$PWD/bin:$PATH plays "$ROOT/README.md" 'Quick start'
	[ "$(wc -l <commands)" -ge 8 ]
	# What remains on the server, for four days.
	[[ $(cli keys '*' | sort) == $'{demo}:rlk:i\n{demo}:rlk:r' ]]
	for key in i r; do
		seconds=$(cli ttl "{demo}:rlk:$key")
		((seconds <= 345600 && seconds > 172800))
	done
}

# bats test_tags=night,native
# What etcdctl does is tried by hand: it is not ours, and not installed.
@test "the comparison in the README is what the bench finds for rlockrun and flock" {
	run -0 env TMPDIR="$PWD" "$ROOT/tests/bench/compare" rlockrun flock
	tail -n +3 <<<"$output" | cut -d '|' -f -4 >found
	[[ $(wc -l <found) == 4 ]]
	sed -n '/^| | rlockrun | .flock/,/^$/p' "$ROOT/README.md" | sed '1,2d;$d' |
		cut -d '|' -f -4 >shown
	diff found shown
}

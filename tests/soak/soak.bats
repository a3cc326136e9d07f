#!/usr/bin/env bats
# `make soak`: that it finds what grows, and nothing else. Its server and all that it
# starts are its own.
# bats file_tags=night
load ../helpers/suite

setup() {
	begin_test
	mkdir scratch
	export TMPDIR=$PWD/scratch HOURS=0 SEED=1 RLOCKRUN
	unset RLOCKRUN_REDIS
}
teardown() { end_test; }

SOAK=$ROOT/tests/soak/run

# One soak with all leaks: each line is one of them, and is missing without it. It takes
# a minute and a half, so `make soak-selftest` plays it.
# bats test_tags=night,native
@test "a leak of each kind is found, and what does not grow is not" {
	[[ ${LEAKY-} ]] || skip "not here: make soak-selftest"
	local grown
	export LEAKS='key endless member script process connection file byte'
	run -1 timeout 600 "$SOAK" "$ROOT/tests/soak/leaky"
	grown=$(sed -n 's/^grew: \(.*\): [0-9]* -> [0-9]*$/\1/p' <<<"$output" | sort)
	diff - <(echo "$grown") <<-END
		bytes of files
		connections
		files
		keys
		keys that never expire
		members of other keys
		processes
		scripts
		the server: descriptors
		view: bytes of memory
		view: descriptors
	END
	[[ $output == *'sleep 1000'* && ${lines[-1]} == *' runs in '*' min: 11 grew, 0 not as expected' ]]
	[[ -z $(ls scratch) ]]
}

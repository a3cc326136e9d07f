#!/usr/bin/env bats
# A round of `make chaos`, and that a round finds mistakes.
# bats file_tags=night,native

load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

CHAOS=$ROOT/tests/chaos

# play SECONDS: on one server; by another user with AS=as_other_user.
play() {
	"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -pthread -o job "$CHAOS/job.c"
	cp "$RLOCKRUN" rlockrun
	cp -r "$CHAOS" .
	mkdir -p found scratch
	[[ ! ${AS:-} ]] || chown "$OTHER_USER" found scratch
	TOPOLOGY=one DURATION=$1 SEED=2 TMPDIR=$PWD/scratch \
		${AS:-} timeout 250 chaos/run ./rlockrun ./job found
}

@test "without privileges nothing is cut off, and that is said" {
	need_other_user
	AS=as_other_user run -0 play 2
	[[ ${lines[0]} == "no host or server is cut off: "* && ${lines[-1]} == "1 passed, 0 failed" ]]
	run -0 "$CHAOS/check.py" found/one-2
	[[ ${lines[-1]} == *" jobs; "* ]]
}

# finds MISTAKE PROMISE: a round with that mistake breaks that promise.
finds() {
	"${CC:-cc}" -std=c11 -D_GNU_SOURCE -shared -fPIC -o mistakes.so "$CHAOS/mistakes.c" -ldl
	MISTAKE=$1 LD_PRELOAD=$PWD/mistakes.so run -1 play 10
	[[ $output == *"one: $2: "* && ${lines[-1]} == "0 passed, 1 failed" ]]
}

@test "it finds a guard that kills nobody" {
	finds spares "the job never outlives rlockrun"
}

@test "it finds a guard that does not see the end of a lease" {
	finds forgets "the job never outlives the lease"
}

@test "it finds a signal that is not forwarded" {
	finds swallows "every run ends"
}

@test "it finds an exit status that is none" {
	finds lies "the exit code tells the truth"
}

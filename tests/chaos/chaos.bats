#!/usr/bin/env bats
# What `make chaos` is told, and that a seed repeats a schedule. What it finds is
# tested in checker.bats, and what it can do to servers in fleet.bats.

load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

CHAOS=$ROOT/tests/chaos

# refuses VARIABLE=VALUE
refuses() {
	run -64 env -u TOPOLOGY "$1" "$CHAOS/run" "$RLOCKRUN" job chaos
	[[ $output == "chaos: $1: "* && ${#lines[@]} == 1 && ! -e chaos ]]
}

@test "a topology, duration or seed that cannot be is refused" {
	refuses TOPOLOGY=ring
	refuses DURATION=0
	refuses DURATION=1.5
	refuses DURATION=1000000
	refuses SEED=-1
	refuses SEED=seven
}

schedule() {
	/usr/bin/python3 -SB -c "
import sys
sys.path.insert(0, '$CHAOS')
import plan
for topology in plan.TOPOLOGIES:
    print(plan.Plan($1, topology, 20000).actions)"
}

@test "a seed repeats the schedule of all topologies, another has its own" {
	schedule 7 >first
	schedule 7 >again
	schedule 8 >other
	cmp first again
	run ! cmp -s first other
	[[ $(wc -l <first) == 6 ]]
}

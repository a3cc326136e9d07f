#!/usr/bin/env bats
# The variables of `make chaos`, and that a seed repeats a schedule. What it finds is
# tested in checker.bats, and what it can do to servers in fleet.bats.
# guards: tests/chaos

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

# play: two seconds on one server; by another user with AS=as_other_user.
play() {
	"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -pthread -o job "$CHAOS/job.c"
	[[ -e rlockrun ]] || cp "$RLOCKRUN" rlockrun
	cp -r "$CHAOS" "$ROOT/tests/second" .
	mkdir -p found scratch
	TOPOLOGY=one DURATION=2 SEED=1 TMPDIR=$PWD/scratch \
		${AS:-} timeout 60 chaos/run ./rlockrun ./job found
}

# bats test_tags=native
@test "a run leaves a history that can be checked, a picture, and nothing else" {
	run play
	echo "$output"
	((status == 0))
	[[ ${lines[0]} == "== one, seed 1, 2 s" && ${lines[-1]} == "1 passed, 0 failed" ]]
	run -0 "$CHAOS/check.py" found/one-1/history.jsonl
	[[ $output == *"findings: none"* ]]
	/usr/bin/python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' \
		found/one-1/picture.svg
}

# bats test_tags=native
@test "without privileges nothing is cut off, and that is said" {
	need_other_user
	mkdir found scratch
	chown "$OTHER_USER" found scratch
	AS=as_other_user run play
	echo "$output"
	((status == 0))
	[[ ${lines[0]} == "no host or server is cut off: "* && ${lines[-1]} == "1 passed, 0 failed" ]]
}

# stand_still COUNT: stops so many of those that watch the processors, or all; shows
# how often the machine stood still.
stand_still() {
	/usr/bin/python3 -SB -c '
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from standstill import Watch
watch = Watch()
while any(os.sched_getscheduler(pid) != os.SCHED_FIFO for pid in watch.pids()):
    time.sleep(0.01)
stopped = watch.pids()[:int(sys.argv[2])]
for signo in (signal.SIGSTOP, signal.SIGCONT):
    for pid in stopped:
        os.kill(pid, signo)
    time.sleep(0.3)
print(sum(end - begin > 250000 for begin, end in watch.stop()))' "$CHAOS" "$1"
}

# bats test_tags=native
@test "a machine stands still if none of its processors runs" {
	chrt -f 1 true 2>/dev/null || skip "needs a real-time priority"
	run -0 stand_still 1000
	[[ $output == 1 ]]
	(($(nproc) > 1)) || skip "needs two processors"
	run -0 stand_still 1
	[[ $output == 0 ]]
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

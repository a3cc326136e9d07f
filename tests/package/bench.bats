#!/usr/bin/env bats
# `make bench` and `make bench-plot`: that they work, in a few seconds. What they
# measure is nobody's promise.
# guards: tests/bench man/bench.tsv man/bench.svg

load ../helpers/suite

setup() {
	begin_test
	BENCH=$ROOT/tests/bench
	TOOLS=${RLOCKRUN%/*}/bench
	FIGURES=$ROOT/man/bench.tsv
}

teardown() { end_test; }

# bench PART...: with as few runs as there can be.
bench() {
	env RUNS=3 WAITERS='1 2' ONLY="$*" TMPDIR="$PWD" \
		timeout 240 "$BENCH/run" "$RLOCKRUN" "$TOOLS" figures.tsv
}

# is_table FILE: what machine and which versions, then eight columns in each line.
is_table() {
	awk -F '\t' '
		/^# (date|machine|versions|command): ./ { said++; next }
		$1 == "part" { columns++; next }
		NF != 8 || $6 !~ /^[0-9.]+$/ || ($7 > 0 && $8 !~ /^[0-9.]+$/) { print; exit bad = 1 }
		END { exit bad || said != 4 || columns != 1 }' "$1"
}

# bats test_tags=native
@test "the bench prints a table, and writes the same figures as TSV" {
	run -0 bench cluster
	[[ $output == *"a run on a cluster : flock"* ]]
	is_table figures.tsv
	[[ $(grep -c '^cluster' figures.tsv) == 6 ]]
	run -64 bench nothing
	[[ $output == *"there is no part nothing"* ]]
}

# bats test_tags=night,native
@test "each part of the bench works: what a run costs" {
	for tool in flock strace valgrind redis-cli; do
		type "$tool" >/dev/null 2>&1 || skip "no $tool"
	done
	need_strace
	run -0 bench runs ways kinds
	is_table figures.tsv
	for part in runs ways kinds; do grep -q "^$part" figures.tsv; done
}

# bats test_tags=night,native
@test "each part of the bench works: several servers, distance, the queue, many locks" {
	type flock >/dev/null 2>&1 || skip "no flock"
	run -0 bench redlock far queue
	is_table figures.tsv
	for part in redlock queue; do grep -q "^$part" figures.tsv; done
	LOCKS=200 CROWD=10 run -0 bench scale
	grep -q '^scale' figures.tsv
}

# What etcdctl does is tried by hand: it is not ours, and not installed.
# bats test_tags=night,serial,native
@test "the comparison in the README is what the bench finds for rlockrun and flock" {
	run -0 env TMPDIR="$PWD" "$BENCH/compare" rlockrun flock
	[[ -z $(find . -name 'tmp.*') ]]
	tail -n +3 <<<"$output" | cut -d '|' -f -4 >found
	[[ $(wc -l <found) == 4 ]]
	sed -n '/^| | rlockrun | .flock/,/^$/p' "$ROOT/README.md" | sed '1,2d;$d' |
		cut -d '|' -f -4 >shown
	diff found shown
}

# bats test_tags=native
@test "a signal ends the bench and all that it has started" {
	start env RUNS=50 ONLY=queue TMPDIR="$PWD" "$BENCH/run" "$RLOCKRUN" "$TOOLS" figures.tsv
	WAIT_SECONDS=120 wait_until grep -qs '^from end to start' out.1
	processes_work_below
	kill -TERM "$PID"
	exits_with 143 "$PID"
	run -1 processes_work_below
	[[ -z $(find . -name 'rlockrun-bench.*') && ! -e figures.tsv ]]
}

processes_work_below() {
	[[ $(find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' -lname "$PWD/rlockrun-bench*" 2>/dev/null) ]]
}

# bats test_tags=native
@test "the picture of the bench is well-formed, also of some parts alone" {
	type gnuplot >/dev/null 2>&1 || skip 'no gnuplot'
	"$BENCH/plot" "$FIGURES" all.svg
	grep -v '^queue' "$FIGURES" >runs.tsv
	"$BENCH/plot" runs.tsv runs.svg
	grep -v flock "$FIGURES" >none.tsv
	run -1 "$BENCH/plot" none.tsv none.svg
	[[ $output == *"nothing to draw"* && ! -e none.svg ]]
	for picture in all.svg runs.svg; do
		/usr/bin/python3 -c 'import sys, xml.etree.ElementTree as tree
text = " ".join(tree.parse(sys.argv[1]).getroot().itertext())
for wanted in sys.argv[2:]:
    assert wanted in text, wanted' "$picture" 'a run over TCP' 'Redis' 'cores, Linux'
	done
	grep -q waiters all.svg
	run -1 grep waiters runs.svg
}

@test "the picture in the README was drawn from the figures beside the bench" {
	date=$(sed -n 's/^# date: //p' "$FIGURES")
	versions=$(sed -n 's/^# versions: //p' "$FIGURES")
	grep -qF "$date" "$ROOT/man/bench.svg"
	grep -qF "$versions" "$ROOT/man/bench.svg"
	grep -qF 'man/bench.svg' "$ROOT/README.md"
}

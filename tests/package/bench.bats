#!/usr/bin/env bats
# `make bench`: that it works, in a few seconds. What it measures is nobody's promise.

load ../helpers/suite

setup() {
	begin_test
	BENCH=$ROOT/tests/bench
	TOOLS=${RLOCKRUN%/*}/bench
}

teardown() { end_test; }

# bench PART...: with as few runs as there can be.
bench() {
	env RUNS=3 WAITERS='1 2' ONLY="$*" TMPDIR="$PWD" \
		timeout 60 "$BENCH/run" "$RLOCKRUN" "$TOOLS" figures.tsv
}

# is_table FILE: what machine and which versions, then eight columns in each line.
is_table() {
	awk -F '\t' '
		/^# (date|machine|versions|command): ./ { said++; next }
		NF != 8 { exit bad = 1 }
		$1 == "part" { columns++; next }
		$6 !~ /^[0-9.]+$/ || ($7 != "" && $8 !~ /^[0-9.]+$/) { exit bad = 1 }
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

# bats test_tags=extra,native
@test "each part of the bench works" {
	for tool in flock strace valgrind redis-cli; do
		type "$tool" >/dev/null 2>&1 || skip "no $tool"
	done
	need_strace
	run -0 bench runs ways kinds redlock far queue
	is_table figures.tsv
	for part in runs ways kinds redlock queue; do grep -q "^$part" figures.tsv; done
	LOCKS=200 CROWD=10 run -0 bench scale
	grep -q '^scale' figures.tsv
}

# bats test_tags=native
@test "a signal ends the bench and all that it has started" {
	start env RUNS=50 ONLY=queue TMPDIR="$PWD" "$BENCH/run" "$RLOCKRUN" "$TOOLS" figures.tsv
	wait_until grep -qs '^from end to start' out.1
	processes_work_below
	kill -TERM "$PID"
	exits_with 143 "$PID"
	run -1 processes_work_below
	[[ -z $(find . -name 'rlockrun-bench.*') && ! -e figures.tsv ]]
}

processes_work_below() {
	[[ $(find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' -lname "$PWD/rlockrun-bench*" 2>/dev/null) ]]
}

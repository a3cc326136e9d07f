#!/usr/bin/env bats
# `make bench`: that its parts work, in a few seconds, and that the README says of
# rlockrun and flock what the comparison finds. What they measure is nobody's promise.
# bats file_tags=night,native

load ../helpers/suite

setup() {
	begin_test
	BENCH=$ROOT/tests/bench
}

teardown() { end_test; }

# bench PART...: with as few runs as there can be; they write a table.
bench() {
	run -0 env RUNS=3 WAITERS='1 2' ONLY="$*" TMPDIR="$PWD" \
		timeout 240 "$BENCH/run" "$RLOCKRUN" "${RLOCKRUN%/*}/bench" figures.tsv
	for part; do grep -qP "^$part(\t[^\t]+){4}\t[0-9.]+\t" figures.tsv; done
}

@test "each part of the bench works: what a run costs" {
	for tool in flock strace valgrind redis-cli; do
		type "$tool" >/dev/null 2>&1 || skip "no $tool"
	done
	need_strace
	bench runs ways kinds cluster
}

@test "each part of the bench works: several servers, distance, the queue, many locks" {
	type flock >/dev/null 2>&1 || skip "no flock"
	bench redlock queue
	LOCKS=200 CROWD=10 bench scale
}

# What etcdctl does is tried by hand: it is not ours, and not installed.
@test "the comparison in the README is what the bench finds for rlockrun and flock" {
	run -0 env TMPDIR="$PWD" "$BENCH/compare" rlockrun flock
	tail -n +3 <<<"$output" | cut -d '|' -f -4 >found
	[[ $(wc -l <found) == 4 ]]
	sed -n '/^| | rlockrun | .flock/,/^$/p' "$ROOT/README.md" | sed '1,2d;$d' |
		cut -d '|' -f -4 >shown
	diff found shown
}

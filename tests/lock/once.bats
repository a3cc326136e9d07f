#!/usr/bin/env bats
# --once-per: no run so soon after a successful one. The cases are rows of
# tests/tables/scripts.txt and skipped.txt, and the simulation plays them.

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# The first one fails.
write_nightly() {
	cat >nightly <<-'END'
		exec 9>witness
		flock -n 9 || echo >>overlaps
		echo >>ran
		[ "$(wc -l <ran)" -ge 2 ] || exit 5
	END
}

@test "of twelve at three times one runs, and again only if it failed" {
	local pid codes=()
	write_nightly
	for _ in 1 2 3; do
		STARTED=()
		for _ in {1..4}; do
			start "$RLOCKRUN" -k "$KEY" --once-per 20h sh ./nightly
		done
		for pid in "${STARTED[@]}"; do
			codes=(0)
			wait "$pid" || codes=($?)
			echo "${codes[0]}" >>codes
		done
	done
	[[ $(wc -l <ran) == 2 && $(grep -cx 75 codes) == 10 && $(grep -cx 0 codes) == 1 && $(grep -cx 5 codes) == 1 ]]
	[[ ! -e overlaps ]]
}

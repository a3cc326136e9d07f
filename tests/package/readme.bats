#!/usr/bin/env bats
# The README's quick start, word for word, but for the server's URL.

load ../helpers/suite

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

# The lines of all console blocks of the quick start.
console() {
	awk '/^## / { inside = /Quick start/ }
		inside && /^```console$/ { block = 1; next }
		/^```$/ { block = 0 }
		block' "$ROOT/README.md"
}

@test "the quick start prints what the README says" {
	console | sed -n 's/^\$ //p' |
		sed "1s/6379/$PORT/" >commands
	console | grep -v '^\$ ' >expected
	[ "$(wc -l <commands)" -ge 8 ]

	PATH=$(dirname "$RLOCKRUN"):$PATH bash commands >got 2>&1 3>&-
	diff expected got
}

#!/usr/bin/env bats
# The README's quick start, word for word, but for the server's URL.

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

@test "the quick start prints what the README says" {
	MASK='cat' plays "$ROOT/README.md" 'Quick start'
	[ "$(wc -l <commands)" -ge 8 ]
}

#!/usr/bin/env bats
# The book: each console block of a chapter is played and prints what the book says, in
# one session from the beginning to the end of the chapter.
# shellcheck disable=SC2034 # helpers use what is set

load ../helpers/suite
load ../helpers/document

setup_file() {
	choose_port
	export PORT
	start_suite_server --port "$PORT"
}

teardown_file() { stop_suite_server; }

setup() {
	begin_test
	BOOK=$ROOT/man/book
	RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
	cli flushall
}

teardown() { end_test; }

@test "the tutorial prints what it says" {
	plays "$BOOK/tutorial.md"
}

@test "cron: the chapter prints what it says" {
	plays "$BOOK/cron.md"
}

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

@test "messages: each event of the program is there, with its message" {
	sed -n 's/^| \([`(].*[`)]\) | [^|]* | [^|]*|$/\1/p' "$BOOK/messages.md" |
		sort >shown
	"$HELPERS/messages" | sort >known
	[[ $(wc -l <known) == "$(grep -cE '^	\[(ENDING|EVENT)_' "$ROOT/src/run/event.c")" ]]
	diff known shown
}

# Code that begins like `lock/lease.bats: S5`.
cited() {
	grep -oE '`[a-z]+/[a-z_]+\.bats: [^`]+`' "$BOOK/promises.md" | tr -d '`'
}

@test "promises: each row names a test that exists" {
	(($(cited | wc -l) >= 25))
	while IFS= read -r line; do
		grep -qF "@test \"${line#*: }" "$ROOT/tests/${line%%: *}" || echo "$line"
	done < <(cited) >missing
	cat missing
	[[ ! -s missing ]]
	# And so do all others of its tables.
	run -0 sed -n '/^## What happens/,/^## How/{/^|/{/^| what/d;/^|--/d;/\.bats: /d;p}}' "$BOOK/promises.md"
	[[ -z $output ]]
}

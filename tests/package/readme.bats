#!/usr/bin/env bats
# The README's quick start, word for word, but for the server's URL, and its recipes.

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

# sleep: the shell's ends when the job holds the lock, the job's when somebody waits.
bin_sleep() {
	mkdir bin
	cat >bin/sleep <<-'END'
		#!/bin/sh
		awaited=demo
		[ -z "$RLOCKRUN_KEY" ] || awaited={demo}:rlk:q
		until [ "$(redis-cli -u "$RLOCKRUN_REDIS" exists "$awaited")" = 1 ]; do
			/bin/sleep 0.02
		done
	END
	chmod +x bin/sleep
}

@test "the quick start prints what the README says" {
	bin_sleep
	PATH=$PWD/bin:$PATH MASK='cat' plays "$ROOT/README.md" 'Quick start'
	[ "$(wc -l <commands)" -ge 8 ]
	# What remains on the server, for an hour and four days.
	[[ $(cli keys '*' | sort) == $'{demo}:rlk:f\n{demo}:rlk:r' ]]
	for left in f:3600 r:345600; do
		seconds=$(cli ttl "{demo}:rlk:${left%:*}")
		((seconds <= ${left#*:} && seconds > ${left#*:} / 2))
	done
}

@test "the options of each recipe are valid" {
	local line count=0
	# shellcheck disable=SC2034 # of a recipe
	local CI_JOB_URL=https://ci.example.com/1
	while read -r line; do
		eval "set -- ${line%% -- *}"
		run -0 "$RLOCKRUN" "${@:2}" --show-config
		count=$((count + 1))
	done < <(sed -n '/^## Recipes/,/^## /s/^    \(.*\)/\1/p' "$ROOT/README.md" |
		sed 's/^[^a-z]*//; s|^.*/rlockrun|rlockrun|; /--check/d')
	((count == 4))
	run -2 "$RLOCKRUN" --check -k report
}

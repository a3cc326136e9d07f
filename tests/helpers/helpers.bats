#!/usr/bin/env bats
# What the runners of tests must not get wrong: what they skip, remember and refuse,
# and whose processes the helpers end.

load suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }
setup() { begin_test; }
teardown() { end_test; }

# a_tree SCRIPT...: a copy of these, in which packaging/deps.sh finds that LACKS is missing.
a_tree() {
	local script
	mkdir -p tree/tests/unit tree/tests/cli tree/packaging tree/build
	for script; do
		cp "$ROOT/$script" "tree/$script"
	done
	printf '#!/bin/sh\necho %s\n' "${LACKS:-}" >tree/packaging/deps.sh
	chmod +x tree/packaging/deps.sh
	cd tree || return
}

@test "DEPS=no: what cannot be run is named, skipped and counted" {
	LACKS='redis-server luajit' a_tree tests/run tests/tap.bash
	printf '@test "%s" { :; }\n' one two >tests/cli/a.bats
	touch tests/unit/{built,other}_test.c
	mkdir -p build/tests/unit
	printf '#!/bin/sh\nprintf "1..1\\nok 1\\n"\n' >build/tests/unit/built_test
	chmod +x build/tests/unit/built_test
	export DEPS=no TESTS='' FILTER='' TAGS='' TOPOLOGY='' STRICT=''
	run -0 tests/run build
	[[ $output == "not installed: redis-server luajit
skipped: tests/unit/other_test.c was not built
skipped: all suites, which need redis-server at least
1 passed, 0 failed, 3 skipped" ]]
	STRICT=1 run -1 tests/run build
	[[ $output == *"3 tests are skipped"* ]]
	exec {lock}>build/check.lock
	flock -n "$lock"
	run -1 tests/run build
	[[ ${lines[3]} == "tests/run: another run of the tests uses $PWD/build; wait for its end" ]]
}

@test "a night remembers what has passed on a commit, and plays the rest again" {
	type git >/dev/null 2>&1 || skip 'no git'
	a_tree tests/parts tests/parts.bash
	sed -i "/^table='/,/^'/c table='\nnight good - touch good; mv good bad; [[ ! \$PARTS ]]\nnight poor - test -e more\n'" tests/parts
	printf 'build\nbad\nmore\n' >.gitignore
	git init -q
	git add .
	git -c user.name=a -c user.email=a@b commit -qm a
	commit=$(git rev-parse --short=7 HEAD)
	PARTS='good poor' run -1 tests/parts night
	[[ ${lines[-1]} == "1 passed, 1 failed, night of $commit, all parts" ]]
	touch more
	run -0 tests/parts night
	[[ ${lines[0]} == "== good: 1 passed, 0 failed, remembered" ]]
	[[ ${lines[-1]} == "2 passed, 0 failed, night of $commit, all parts, again poor" ]]
}

@test "a pid that has been given to another process is left alone" {
	(cd / && exec sleep 60) 3>&- &
	other=$!
	wait_until test "/proc/$other/cwd" -ef /
	mkdir own
	echo "$other" >own/pid
	(stop_server own)
	is_running "$other"
	[[ ! -e own/pid ]]
	echo "$other" >own/pid
	stop_server own # a child of ours
	gone "$other"
}

@test "a port is given to one server only, also before that one listens" {
	choose_port
	run -1 take_port "$PORT"
	choose_bus_port
	run -1 take_port $((PORT + 10000))
}

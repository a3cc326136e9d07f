#!/usr/bin/env bats
# What holds in a machine before the other suites mean anything: its kernel is the one
# that was asked for, and what lives there is found. Also runs here, without the
# former.

load ../helpers/suite
load ../helpers/guard

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_guard_test; }
teardown() { end_guard_test; }

# A shell, its child, and one in a session of its own.
TREE='sh -c "echo >>up; exec sleep 60" &
	setsid sh -c "echo >>up; exec sleep 60" &
	echo >>up; wait'

is_up() { [[ -s below/up && $(wc -l <below/up) == 3 ]]; }


@test "here: the kernel and its architecture are those that were asked for" {
	[[ ${MACHINE:-} ]] || not_here 'not in a machine'
	local architecture package version
	read -r architecture package version <<<"$MACHINE"
	echo "$MACHINE: $(uname -a)"
	case $architecture in
	amd64) [[ $(uname -m) == x86_64 ]] ;;
	arm64) [[ $(uname -m) == aarch64 ]] ;;
	*) [[ $(uname -m) == "$architecture" ]] ;;
	esac
	[[ $package == linux-*-"$(uname -r)" && $(uname -v) == *" Debian $version "* ]]
}

@test "here: without rlockrun a tree outlives its leader, and is seen" {
	start env -C below setsid sh -c "$TREE"
	wait_until is_up
	kill -KILL "$PID"
	wait_until gone "$PID"
	[[ $(count_alive) == 2 ]]
	[[ $(alive | xargs ps -o pid= -p | wc -l) == 2 ]]
	alive | xargs kill -KILL
	wait_until none_alive
}

@test "here: with rlockrun the same tree dies, and is seen before" {
	launch -- sh -c "$TREE"
	wait_until is_up
	(($(count_alive) == 5))
	[[ $(alive | xargs ps -o pid= -p | wc -l) == 5 ]]
	all_gone_after_kill
}

@test "here: the job's status, and the lock is held and freed" {
	hold
	is_held
	touch 'done'
	exits_with 0 "$PID"
	is_free
	run -7 rl -- sh -c 'exit 7'
}

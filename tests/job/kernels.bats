#!/usr/bin/env bats
# Older kernels, and sandboxes that forbid what these lack: the promises hold. To
# rlockrun and the job, a filter makes the kernel one that lacks the calls.
# shellcheck disable=SC2016,SC2153 # the jobs expand it; find_guard sets GUARD

load ../helpers/suite
load ../helpers/guard

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_guard_test
	REAL=$RLOCKRUN
	RLOCKRUN=$PWD/rlockrun-without
}
teardown() { end_guard_test; }

# without WHICH ERROR: from here on RLOCKRUN does without these calls.
without() {
	echo "without $1: $2"
	printf '#!/bin/sh\nexec "%s" %s %s "%s" "$@"\n' "$HELPERS/without-calls" "$1" "$2" "$REAL" >"$RLOCKRUN"
	chmod +x "$RLOCKRUN"
	rm -rf below
	mkdir below
	cli del "$KEY" >/dev/null
}

# on_old_kernels COMMAND...: on Linux 4.18, and in a sandbox.
on_old_kernels() {
	local error
	for error in ENOSYS EPERM; do
		without after-4.18 "$error"
		"$@"
	done
}

@test "Linux 4.18: the job's status, no message, the lock is freed" {
	on_old_kernels keeps_status
}

keeps_status() {
	run -7 "$RLOCKRUN" -k "$KEY" -- sh -c 'exit 7'
	[[ -z $output ]]
	is_free
	[[ -z $(keys_left) ]]
}

passes_descriptors() {
	local fds='find /proc/self/fd -type l -not -lname "/proc/*" -printf "%f %l\n"'
	"$RLOCKRUN" -k "$KEY" -- sh -c "$fds" </dev/null 7<"$0" 2>/dev/null 200<"$0" >with
	sh -c "$fds" </dev/null 7<"$0" 2>/dev/null 200<"$0" >without
	sed -i '/\/with\(out\)\?$/d' with without
	diff -u without with
	grep -q '^200 ' with
}

@test "Linux 4.18: the guard closes what it inherited" {
	on_old_kernels closes_inherited
}

closes_inherited() {
	launch -- "$A_JOB" ready=%p until:done 7<"$0" 200<"$0"
	wait_for_file below/ready
	wait_until_guard_has_closed_others
	touch below/done
	exits_with 0 "$RUN"
}

@test "Linux 4.18: TERM reaches the job, once, and then what the command left" {
	on_old_kernels forwards_term
}

forwards_term() {
	launch -- bash -c 'setsid sh -c "trap \"echo left >>got; exit\" TERM; echo >waits; while :; do sleep 0.02; done" &
		trap "echo command >>got; exit 9" TERM; echo >ready; while :; do sleep 0.02; done'
	wait_for_file below/waits
	wait_for_file below/ready
	kill -TERM "$RUN"
	exits_with 9 "$RUN"
	diff -u - below/got <<<$'command\nleft'
	is_free
	none_alive
}

# A tree: below the command a shell, and below that, which is no child of the guard,
# one that notes TERM in a session of its own, and one that is stopped.
TREE='sh -c "setsid sh -c \"trap \\\"echo session >>got; exit\\\" TERM; echo >one; while :; do sleep 0.02; done\" &
	sh -c \"trap \\\"echo stopped >>got; exit\\\" TERM; echo >two; kill -STOP \\\$\\\$; while :; do sleep 0.02; done\" & wait" &
trap "" TERM
echo >ready; until [ -e done ]; do sleep 0.02; done'

launch_tree() {
	launch "$@" -- sh -c "$TREE"
	wait_for_file below/one
	wait_for_file below/two
	wait_for_file below/ready
	wait_until one_is_stopped
}

one_is_stopped() { alive | xargs ps -o stat= -p | grep -q ^T; }

@test "Linux 4.18: --max-run: all descendants get TERM, also a stopped one; 124" {
	on_old_kernels limits_run
}

limits_run() {
	launch_tree --max-run 1.5 --kill-after 20
	wait_until eval '(($(wc -l <below/got) == 2))' 2>/dev/null
	touch below/done
	exits_with 124 "$RUN"
	sort below/got | diff -u - <(printf 'session\nstopped\n')
	none_alive
	is_free
}

loses_lock() {
	launch_tree -t 9 --kill-after 0.2
	cli del "$KEY" >/dev/null
	exits_with 79 "$RUN"
	none_alive
}

@test "Linux 4.18: S22: kill -9 of rlockrun ends all of the job" {
	on_old_kernels dies_with_rlockrun
}

dies_with_rlockrun() {
	launch_tree
	all_gone_after_kill
}

@test "Linux 4.18: S23: kill -9 of the guard ends all of the job, 71" {
	on_old_kernels dies_with_guard
}

dies_with_guard() {
	launch_tree
	all_gone_after_kill "$GUARD"
	exits_with 71 "$RUN"
	is_free
}

# bats test_tags=night
@test "Linux 4.18: S5: all of the job is dead before the lease ends" {
	own_server
	on_old_kernels dies_before_lease
}

dies_before_lease() {
	local pids
	launch_tree -t 3
	pids=$(job_alive)
	rm -f left left.ready
	# shellcheck disable=SC2086 # one word each
	start "$HELPERS/watch-end" "$SUITE_DIR/s" "$KEY" left $pids
	wait_for_file left.ready
	kill -STOP "$RUN"
	wait_for_file left
	echo "$(<left) ms before the key expired"
	(($(<left) > 0))
	kill -CONT "$RUN"
	exits_with 79 "$RUN"
}

spares_left() {
	launch -- sh -c 'setsid sh -c "echo \$\$ >child; until [ -e done ]; do sleep 0.02; done" & until [ -s child ] && [ -e end ]; do sleep 0.02; done; exit 4'
	touch below/end
	exits_with 4 "$RUN"
	is_free
	run ! gone "$(<below/child)"
	touch below/done
	wait_until gone "$(<below/child)"
}

# bats test_tags=native
@test "Linux 4.18: the process that looks up a name holds only its pipe" {
	need_strace
	start_tcp_server "$PWD/tcp" 127.0.0.1
	on_old_kernels looks_up_name
}

# The longer a busy machine takes to look, the longer the name is looked up.
looks_up_name() {
	local seconds
	for seconds in 1 5 30; do
		start strace -f -qq -o /dev/null -P /etc/hosts -e "inject=openat:delay_enter=${seconds}500000" \
			"$RLOCKRUN" -k "$KEY" -r "redis://localhost:$PORT" -- sh -c 'exit 6' 7<"$0" 200<"$0"
		wait_until eval 'looks_up_with_pipe || gone "$PID"'
		! looks_up_with_pipe || break
	done
	exits_with 6 "$PID"
	((seconds < 30))
}

looks_up_with_pipe() {
	local run helper
	run=$(pgrep -P "$PID" -x rlockrun) && helper=$(pgrep -P "$run" -x rlockrun) &&
		[[ $(echo "/proc/$helper/fd"/*) == "/proc/$helper/fd/0" ]]
}

# --- one call alone ---------------------------------------------------------

all_hold() {
	local error promise
	for error in ENOSYS EPERM; do
		for promise in keeps_status passes_descriptors closes_inherited \
			forwards_term limits_run loses_lock dies_with_rlockrun dies_with_guard \
			dies_before_lease spares_left; do
			without "$1" "$error"
			echo "$promise"
			"$promise"
		done
	done
}

# bats test_tags=night
@test "without pidfd_open, pidfd_send_signal, or close_range (Linux 5.4): the promises hold" {
	all_hold pidfd_open
	all_hold pidfd_send_signal
	all_hold close_range
}

# --- an emulator ------------------------------------------------------------

@test "a kernel that hands over no orphans: no job, 71, and the reason in log and doctor" {
	without child-subreaper EINVAL
	run -71 "$RLOCKRUN" -k "$KEY" -- touch ran
	[[ ! -e ran && $output == *'cannot be guarded: the kernel lacks PR_SET_CHILD_SUBREAPER'* ]]
	[[ $output == *'docker --platform'* ]]
	is_free
	run -71 "$RLOCKRUN" --doctor
	[[ $output == *'the kernel lacks PR_SET_CHILD_SUBREAPER'* ]]
	[[ $output != *'mount -t proc'* ]]
}

# --- a /proc that is not what it seems ---------------------------------------

# It shows its own children as those of whoever asks by /proc/thread-self.
# bats test_tags=native
@test "below proot: what ignores TERM is killed, and the script that called rlockrun is not" {
	command -v proot >/dev/null || skip 'proot is not installed'
	printf '%q ' "$REAL" -k "$KEY" --max-run 0.5 --kill-after 0.3 -- \
		sh -c 'trap "" TERM; (trap "" TERM; sleep 60) & echo $! >child; wait' >script
	echo '; echo $? >code' >>script
	for _ in 1 2; do
		run -0 proot sh script
		[[ $(<code) == 124 ]]
		gone "$(<child)"
		is_free
		rm code child
	done
}

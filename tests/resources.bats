#!/usr/bin/env bats
# bats file_tags=native
# Out of something: the status is 71, no job runs unguarded, the lock is freed.
# shellcheck disable=SC2016  # what is in single quotes, the jobs expand
load helpers

setup_file() { start_suite_server --unixsocketperm 777; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

is_free() { [[ $(cli exists "$KEY") == 0 ]]; }

# --- descriptors ------------------------------------------------------------

@test "out of descriptors: 71 and no job, or the job as always" {
	local limit code ran=0 refused=0
	for limit in {4..16}; do
		rm -f ran
		code=0
		(
			exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
			ulimit -n "$limit"
			exec "$RLOCKRUN" -k "$KEY" --server-timeout 3 -- /bin/sh -c 'touch ran; exit 5'
		) 2>err || code=$?
		echo "$limit: $code $(<err)"
		[[ $code == 71 || $code == 5 ]]
		if [[ $code == 71 ]]; then
			[[ ! -e ran && -s err ]]
			refused=1
		else
			[[ -e ran ]]
			ran=1
		fi
		is_free
	done
	((ran && refused))
}

# A job that takes no descriptor to speak of: a shell would need one above 10.
FRUGAL='import os, time
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(60)
open("guard", "w").write(str(os.getppid()))
open("child", "w").write(str(child))
open("ready", "w").write(str(os.getpid()))
time.sleep(60)'

# With the fewest descriptors with which rlockrun starts that job; PID is its pid.
start_frugally() {
	local limit
	for limit in {8..20}; do
		start bash -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
			ulimit -n "$0"
			exec "$@"' "$limit" "$RLOCKRUN" -k "$KEY" -- /usr/bin/python3 -S -c "$FRUGAL"
		wait_until ready_or_gone "$PID"
		[[ ! -s ready ]] || return 0
	done
	return 1
}

ready_or_gone() { [[ -s ready ]] || gone "$1"; }

@test "the fewest descriptors that do are enough to end the job when the guard is killed" {
	start_frugally
	kill -KILL "$(<guard)"
	exits_with 71 "$PID"
	gone "$(<ready)"
	gone "$(<child)"
	is_free
}

@test "the fewest descriptors that do are enough to end the job when rlockrun is killed" {
	start_frugally
	kill -KILL "$PID"
	wait_until gone "$(<ready)"
	wait_until gone "$(<child)"
}

# --- processes --------------------------------------------------------------

# Root has no limit, so it takes a user nobody else is.
STRANGER=$((61000 + RANDOM % 4000))

need_stranger() {
	local folder=$BATS_TEST_TMPDIR
	setpriv --reuid "$STRANGER" --regid "$STRANGER" --clear-groups true 2>/dev/null ||
		skip "another user takes privileges"
	while [[ $folder != / ]]; do
		chmod o+x "$folder" 2>/dev/null || :
		folder=$(dirname "$folder")
	done
	cp "$RLOCKRUN" rlockrun
	chmod 755 rlockrun .
	setpriv --reuid "$STRANGER" --regid "$STRANGER" --clear-groups ./rlockrun --version >/dev/null ||
		skip "another user can't reach the program"
}

# as_stranger LIMIT COMMAND...: with so many processes.
as_stranger() {
	setpriv --reuid "$STRANGER" --regid "$STRANGER" --clear-groups \
		bash -c 'ulimit -u "$0"; exec "$@"' "$@"
}

@test "out of processes for the guard: 71 and the lock is free" {
	need_stranger
	run -71 --separate-stderr as_stranger 1 ./rlockrun -k "$KEY" -- sh -c 'echo >ran'
	# shellcheck disable=SC2154 # bats sets it
	[[ $stderr == *"cannot be guarded"* ]]
	[[ ! -e ran ]]
	is_free
	[[ -z $(keys_left) ]]
}

@test "out of processes for the job: 71 at once and the lock is free" {
	local since
	need_stranger
	for _ in {1..10}; do
		since=$(now_ms)
		run -71 --separate-stderr as_stranger 2 ./rlockrun -k "$KEY" -- sh -c 'echo >ran'
		since=$(($(now_ms) - since))
		echo "$since ms: $stderr"
		((since < 2000))
		[[ $stderr == *"cannot be guarded"* ]]
		[[ ! -e ran ]]
		is_free
		[[ -z $(keys_left) ]]
	done
}

@test "out of processes inside the job is the job's affair" {
	need_stranger
	run -9 as_stranger 3 ./rlockrun -k "$KEY" -- bash -c 'exit 9'
	is_free
}

# --- /proc ------------------------------------------------------------------

@test "/proc is not mounted: 71, the job cannot be guarded" {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	run -71 --separate-stderr unshare -m sh -c \
		'mount -t tmpfs none /proc && exec "$@"' - "$RLOCKRUN" -k "$KEY" -- sh -c 'echo >ran'
	[[ $stderr == *"cannot be guarded"* ]]
	[[ ! -e ran ]]
	is_free
	[[ -z $(keys_left) ]]
}

@test "/proc is another namespace's: 71, the job cannot be guarded" {
	unshare --fork --pid true 2>/dev/null || skip "a pid namespace takes privileges"
	run -71 --separate-stderr unshare --fork --pid "$RLOCKRUN" -k "$KEY" -- sh -c 'echo >ran'
	[[ $stderr == *"cannot be guarded"* ]]
	[[ ! -e ran ]]
	is_free
}

# --- memory -----------------------------------------------------------------

@test "little address space: the job runs or the status is 71, the lock is free" {
	local code=0
	(
		ulimit -v 20000
		exec "$RLOCKRUN" -k "$KEY" -- /bin/true
	) 2>err || code=$?
	[[ $code == 0 || $code == 71 || $code == 127 ]]
	is_free
}

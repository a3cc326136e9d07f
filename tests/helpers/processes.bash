# Processes: those of a test, their state, and the guard.
# shellcheck shell=bash disable=SC2034 # suites use what is set

# is_ours PID FOLDER: whether it is a child of this shell or works in or below that
# folder. When a process has ended, the kernel may give its pid to another one.
is_ours() {
	local STATE PARENT
	read_state "$1" || return 1
	((PARENT == BASHPID)) || [[ $(readlink "/proc/$1/cwd") == "$2"* ]]
}

# Live processes whose working directory is this test's folder or below, but for
# the shells that run the test and for its own servers.
processes_left() {
	local pid
	for pid in $(live_in "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/below"); do
		gone "$pid" || is_above "$pid" || is_own_server "$pid" ||
			printf '%s %s\n' "$pid" "$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
	done
}

# live_in FOLDER...: pids of those whose working directory it is; no zombies.
live_in() {
	local process folder
	for process in /proc/[0-9]*; do
		for folder; do
			[[ ! $process/cwd -ef $folder ]] || echo "${process#/proc/}"
		done
	done
}

is_own_server() {
	local pid_file
	for pid_file in "$BATS_TEST_TMPDIR"/*/pid; do
		[[ ! -e $pid_file || $(<"$pid_file") != "$1" ]] || return 0
	done
	return 1
}

# Whether PID is this shell or one of those above it. (In teardown, which bats
# runs in a trap, a plain `return` gives the status from before the trap.)
is_above() {
	local STATE PARENT=$BASHPID
	until ((PARENT == $1)); do
		{ ((PARENT > 1)) && read_state "$PARENT"; } || return 1
	done
	return 0
}

no_processes_left() {
	[[ -z $(processes_left) ]]
}

# A zombie is gone, too.
gone() {
	local STATE PARENT
	! read_state "$1" || [[ $STATE == [ZX] ]]
}

# has_state LETTERS PID
has_state() {
	local STATE PARENT
	read_state "$2" && [[ $STATE == [$1] ]]
}

is_stopped() { has_state Tt "$1"; }

is_running() { has_state SRD "$1"; }

# is_child_of PID PARENT
is_child_of() {
	local STATE PARENT
	read_state "$1" && [[ $PARENT == "$2" ]]
}

# find_guard PID: of that rlockrun; into GUARD.
find_guard() {
	local children child name
	GUARD=
	{ read -ra children <"/proc/$1/task/$1/children" || :; } 2>/dev/null
	for child in "${children[@]}"; do
		{ read -r name <"/proc/$child/comm"; } 2>/dev/null || continue
		[[ $name != rlockrun-guard ]] || GUARD=$child
	done
	[[ $GUARD ]]
}

# read_state PID: STATE is its letter, PARENT its parent's pid. The name before
# them may hold anything.
read_state() {
	local stat
	{ read -rd '' stat <"/proc/$1/stat" || [[ $stat ]]; } 2>/dev/null || return 1
	read -r STATE PARENT _ <<<"${stat##*) }"
}

# What all suites share: a folder and a key for each test, waiting for events, and a
# teardown that fails on what was left. It loads what looks at servers and processes.
# shellcheck shell=bash disable=SC2034 # the helpers that it loads use these

bats_require_minimum_version 1.5.0
# The tree, and the folder of this file.
ROOT=${BATS_TEST_DIRNAME%/*/*}
HELPERS=$ROOT/tests/helpers
# The helper that is compiled: what most locks are held for.
A_JOB=${RLOCKRUN%/*}/helpers/job
# Of the program that is tested: each script as it is sent, in a file.
export SCRIPTS=${RLOCKRUN%/*}/src/lock/scripts
load ../helpers/topology
load ../helpers/server
load ../helpers/look
load ../helpers/processes

# --- one test ---------------------------------------------------------------

# In setup: KEY is this test's own, rlockrun finds the suite's server, and reads no
# configuration of this machine or its user.
begin_test() {
	unset "${!RLOCKRUN_@}" REDIS_URL
	export RLOCKRUN_CONFIG=none
	KEY=test:$BATS_SUITE_TEST_NUMBER:$BATS_TEST_NUMBER
	export KEY RLOCKRUN_REDIS=${SUITE_URL:-unix://$SUITE_DIR/s}
	cd "$BATS_TEST_TMPDIR" || return
	STARTED=()
	trace_test_only
}

# Before each command bats runs a dozen of its own, so as to know which one failed.
# From here on it does so for those of the test, and not in helpers nor in its own
# `run`: where it fails in there, the trap says. DEBUG's would take that for EXIT as
# the last command.
trace_test_only() {
	set +T
	trap 'trap - DEBUG
		[[ $BASHPID != $$ || ${FUNCNAME[0]:-} == @("$BATS_TEST_NAME"|bats_*) ]] || echo "in ${FUNCNAME[0]}: $BASH_COMMAND" >&2
		bats_error_trap' ERR
}

# In teardown: ends what the test started, then fails on what outlived it: a
# process of ours (each has this test's folder in its environment or its working
# directory) or a key other than the fence's.
end_test() {
	local - pid STATE PARENT
	set +T
	[[ ${BATS_TEST_COMPLETED:-} ]] || tail -n 5 err.* >&2 2>/dev/null
	# Only what is stopped is continued: SIGCONT takes away the SIGSTOP by which
	# the leak checker of a process that ends attaches to it, and waits for ever.
	for pid in "${STARTED[@]}"; do
		is_ours "$pid" "$BATS_TEST_TMPDIR" || continue
		read_state "$pid" && [[ $STATE == T ]] && kill -CONT "$pid" 2>/dev/null
		kill -TERM "$pid" 2>/dev/null
	done
	wait_until no_processes_left || {
		echo "left running:" >&2
		processes_left >&2
		processes_left | while read -r pid _; do kill -KILL "$pid"; done
		stop_servers "$BATS_TEST_TMPDIR"
		return 1
	}
	stop_servers "$BATS_TEST_TMPDIR"
}

# --- doing ------------------------------------------------------------------

# start COMMAND...: in the background, ended by teardown; PID is its pid and its
# stderr is in err.N, N counting from 1, which is ERR.
start() {
	local n=$((${#STARTED[@]} + 1))
	ERR=err.$n
	"$@" >"out.$n" 2>"$ERR" </dev/null 3>&- &
	PID=$!
	STARTED+=("$PID")
}

# The command that most tests run, which no test waits for longer than this.
rl() {
	timeout -k 1 90 "$RLOCKRUN" -k "$KEY" "$@"
}

# hold [OPTION...]: A rlockrun that holds KEY until file `done` is there; waits
# until it does. PID is its pid, and that of its job in `job`.
hold() {
	start "$RLOCKRUN" -k "$KEY" "$@" -- "$A_JOB" job=%p until:done
	wait_for_file job
}

# exits_with CODE PID: waits for a background process.
exits_with() {
	local code=0
	wait "$2" || code=$?
	[[ $code == "$1" ]] || {
		echo "exit code $code, not $1" >&2
		cat err.* >&2
		return 1
	}
}

# A user without any other process, also of other tests.
OTHER_USER=$((61000 + $$ % 4000))

as_other_user() {
	setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups "$@"
}

# In a test that needs such a user: it can run ./rlockrun.
need_other_user() {
	local folder=$BATS_TEST_TMPDIR
	as_other_user true 2>/dev/null ||
		skip "another user takes privileges"
	while [[ $folder != / ]]; do
		chmod o+x "$folder" 2>/dev/null || :
		folder=$(dirname "$folder")
	done
	cp "$RLOCKRUN" rlockrun
	chmod 755 rlockrun .
	as_other_user ./rlockrun --version >/dev/null ||
		skip "another user can't reach the program"
}

# In a test that looks at what rlockrun sends.
need_strace() {
	type strace >/dev/null 2>&1 || skip 'no strace'
	((EUID == 0)) || skip "reading rlockrun's memory takes privileges"
}

# --- waiting for events, never for time ----------------------------------------

WAIT_SECONDS=${WAIT_SECONDS:-60}

# wait_until COMMAND...: looks again after 10 ms, then ever less often up to each
# 50 ms. Reads from a pipe that nobody writes to, as sleep(1) would be a process.
wait_until() {
	local end=$((SECONDS + WAIT_SECONDS)) pause=10 never=$BATS_FILE_TMPDIR/never
	[[ -p $never ]] || mkfifo "$never" 2>/dev/null || :
	until "$@"; do
		((SECONDS < end)) || return 1
		read -rt 0.0$pause _ <>"$never" || :
		pause=$((pause < 50 ? pause + 10 : 50))
	done
}

# wait_for_file FILE: until it is there and not empty.
wait_for_file() {
	wait_until test -s "$1"
}

# catch_up: until all that has happened is in the file MONITOR.
catch_up() {
	local mark=mark-$RANDOM$RANDOM
	cli echo "$mark" >/dev/null
	wait_until grep -q "$mark" "$MONITOR"
}

# What suites about the guard share. Jobs run in the folder `below`, so that all that
# live there are rlockrun, its guard and the job, whatever they did to their parents,
# groups and sessions.
# shellcheck shell=bash disable=SC2153 # find_guard sets GUARD

begin_guard_test() {
	begin_test
	JOB=$BATS_TEST_TMPDIR/below
	mkdir below
}

end_guard_test() {
	[[ ${BATS_TEST_COMPLETED:-} ]] || end_all_below
	end_test
}

# What a failed test of this file leaves may be many, and still forking.
end_all_below() {
	local pids
	for _ in {1..100}; do
		pids=$(alive)
		# shellcheck disable=SC2086  # one word each
		[[ ! $pids ]] || kill -KILL $pids 2>/dev/null
	done
}

# launch [OPTION...] -- COMMAND...: a rlockrun in the folder `below`, without a
# terminal; RUN is its pid, GUARD the guard's.
launch() {
	start env -C below --default-signal setsid "$RLOCKRUN" -k "$KEY" "$@"
	RUN=$PID
	wait_until find_guard "$RUN" || {
		ps -o pid,ppid,stat,args -g "$RUN" >&2
		cat err.* >&2
		return 1
	}
}

# The descriptors that a guard needs: in `descriptors`, what it has.
GUARDS_OWN=$'/proc\n/proc//task//children\nanon_inode:[timerfd]\nsocket:[]'

holds_only_its_own() {
	find "/proc/$GUARD/fd" -type l -printf '%l\n' | sed 's/[0-9]\+//g' | sort >descriptors
	[[ $(<descriptors) == "$GUARDS_OWN" ]]
}

# It closes what it has inherited when the job has begun.
wait_until_guard_has_closed_others() {
	wait_until holds_only_its_own || {
		cat descriptors >&2
		return 1
	}
}

alive() { live_in "$JOB"; }
none_alive() { [[ -z $(alive) ]]; }
count_alive() { alive | wc -l; }
more_alive_than() { (($(count_alive) > $1)); }

# until_gone CONDITION...: what is left is shown.
until_gone() {
	wait_until "$@" || {
		alive | while read -r pid; do ps -o pid,ppid,pgid,sid,stat,args -p "$pid"; done
		return 1
	}
}

# all_gone_after_kill [PID]: of rlockrun, when none is given.
all_gone_after_kill() {
	kill -KILL "${1:-$RUN}"
	until_gone none_alive
}

# The job's processes, among all that live below.
job_alive() {
	alive | grep -vxE "$RUN|$GUARD"
}

# What suites about signals share. Bash starts background commands with INT and QUIT
# ignored, so all that is to get them is started by `env --default-signal`. Nothing
# has a terminal but what on-pty runs: setsid sees to that.
# shellcheck shell=bash disable=SC2034 # suites use what is set

# launch [OPTION...] -- COMMAND...: a rlockrun without a terminal, PID, whose end
# will be told in `end`.
launch() {
	rm -f end end.pid
	start env --default-signal setsid "$HELPERS/ended" end "$RLOCKRUN" -k "$KEY" "$@"
	wait_for_file end.pid
	PID=$(<end.pid)
	STARTED+=("$PID")
}

# ended_by WHAT: the launched one, as helpers/ended tells it.
ended_by() {
	wait_for_file end
	[[ $(<end) == "$1" ]] || {
		echo "ended by $(<end), not $1" >&2
		cat err.* >&2
		return 1
	}
}

# on_pty STEPS -- COMMAND...: in the background, on a terminal of its own.
on_pty() { start env --default-signal "$HELPERS/on-pty" tty "$@"; }

# How many rlockruns and guards live in this test.
count_ours() {
	processes_left | while read -r pid _; do cat "/proc/$pid/comm"; done |
		grep -cE '^rlockrun(-guard)?$'
}

# A job that counts signals; JOB is its pid.
launch_counter() {
	mkdir -p count
	launch -- "$HELPERS/count-signals" count
	wait_for_file count/ready
	JOB=$(<count/ready)
}

got() { grep -qx "$1" count/got; }

# waiter: launched, and it does wait.
waiter() {
	launch -- sh -c 'echo ran >ran'
	wait_until grep -q waiting "err.$((${#STARTED[@]} - 1))"
}

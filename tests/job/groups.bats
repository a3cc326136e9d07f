#!/usr/bin/env bats
# Stopping and continuing, process groups, sessions and terminals: which signals
# reach which process (P2).
# shellcheck disable=SC2016 # the jobs' shells are to expand that
# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/signals

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- stopping ---------------------------------------------------------------

@test "without a terminal: a job that obeys TSTP by itself stops, CONT continues it" {
	launch_counter
	kill -TSTP "$PID"
	wait_until got TSTP
	kill -CONT "$PID"
	wait_until got CONT
	touch count/done
	ended_by "exit 0"
	[[ $(<count/got) == TSTP$'\n'CONT ]]
}

@test "rlockrun stopped and continued within the lease loses nothing" {
	launch -- "$A_JOB" job=%p until:done exit:4
	wait_for_file job
	kill -STOP "$PID"
	wait_until is_stopped "$PID"
	is_running "$(<job)"
	kill -CONT "$PID"
	touch ./done
	ended_by "exit 4"
}

@test "a stopped job is ended by TERM" {
	launch --kill-after 5 -- sh -c 'sleep 60 & echo $! >child; exec sleep 60'
	wait_for_file child
	kill -STOP "$(<child)"
	kill -TERM "$PID"
	ended_by "signal TERM"
	gone "$(<child)"
}

# --- groups and terminals ---------------------------------------------------

@test "without a terminal the job leads a group of its own" {
	launch -- sh -c 'ps -o pid=,pgid= -p $$ >ids'
	ended_by "exit 0"
	read -r pid group <ids
	[[ $pid == "$group" ]]
}

@test "with a terminal the job stays in rlockrun's group and session" {
	"$HELPERS/on-pty" tty -- "$RLOCKRUN" -k "$KEY" -- \
		sh -c 'ps -o pgid=,sid=,tpgid= -p $$ >ids' || { cat tty >&2 && false; }
	read -r group session foreground <ids
	[[ $group == "$session" && $group == "$foreground" ]]
}

# Whatever rlockrun had to forward before, too: of what is pending it forwards the lowest
# number first. It is the parent of the guard, and that of the job.
all_has_come() {
	local PARENT
	read_state "$(<count/ready)"
	read_state "$PARENT"
	kill -USR1 "$PARENT"
	wait_until got USR1
}

@test "on a terminal: Ctrl-C reaches the job once" {
	mkdir count
	on_pty 'count/ready:\x03' -- \
		sh -c "trap : INT; '$RLOCKRUN' -k '$KEY' -- '$HELPERS/count-signals' count; echo \$? >code"
	wait_for_file count/ready
	wait_until got INT
	all_has_come
	touch count/done
	wait_for_file code
	[[ $(<code) == 0 ]]
	[[ $(<count/got) == INT$'\n'USR1 ]]
}

@test "on a terminal: Ctrl-C ends a waiter at once, the script with it" {
	cat >script <<-END
		#!/bin/bash
		'$RLOCKRUN' -k '$KEY' -- echo ran >ran 2>waiting
		echo went on >went-on
	END
	chmod +x script
	hold
	run -130 "$HELPERS/on-pty" tty 'waiting:\x03' -- ./script
	[[ ! -e went-on && ! -s ran ]]
	touch ./done
	exits_with 0 "$PID"
}

@test "on a terminal: a signal sent to rlockrun alone is forwarded once" {
	mkdir count
	on_pty -- "$HELPERS/ended" end \
		"$RLOCKRUN" -k "$KEY" -- "$HELPERS/count-signals" count
	wait_for_file count/ready
	wait_for_file end.pid
	kill -INT "$(<end.pid)"
	wait_until got INT
	kill -WINCH "$(<end.pid)"
	wait_until got WINCH
	touch count/done
	wait_for_file end
	[[ $(<count/got) == INT$'\n'WINCH ]]
}

# Steps typed at an interactive shell; the job writes its pid. It forks nothing:
# a shell whose child is stopped before it could exec waits for that, not stopped.
JOB_OF_SHELL='mkfifo never; echo $$ >job
	until [ -e done ]; do read -rt 0.05 _ <>never; done; echo ended >ended'

@test "P2: on a terminal: after Ctrl-Z, CONT sent to rlockrun alone continues the job" {
	cat >typed <<-END
		sh -c 'echo \$\$ >pid; exec "\$@"' - '$RLOCKRUN' -k '$KEY' -t 30 -- bash -c '$JOB_OF_SHELL'
		until [ -e ended ]; do sleep 0.05; done
	END
	on_pty 'job:\x1a' -- dash -m typed
	wait_for_file job
	wait_until is_stopped "$(<pid)"
	wait_until is_stopped "$(<job)"
	kill -CONT "$(<pid)"
	wait_until is_running "$(<pid)"
	touch ./done
	if ! wait_for_file ended; then
		kill -CONT "$(<job)"
		false
	fi
}

@test "P2: on a terminal: a waiter after Ctrl-Z, CONT sent to it alone: its job starts" {
	hold
	cat >typed <<-END
		sh -c 'echo \$\$ >pid; exec "\$@"' - '$RLOCKRUN' -k '$KEY' -t 30 -- bash -c '$JOB_OF_SHELL'
		until [ -e ended ]; do sleep 0.05; done
	END
	on_pty 'waits:\x1a' -- dash -m typed
	wait_until eval '[[ $(cli zcard "{$KEY}:rlk:q") == 1 ]]'
	echo >waits
	wait_until is_stopped "$(<pid)"
	kill -CONT "$(<pid)"
	wait_until is_running "$(<pid)"
	touch ./done # that of the holder, too
	wait_for_file ended
}

@test "P2: a hang-up of the terminal ends the job and rlockrun, and frees the lock" {
	on_pty -- sh -c "'$RLOCKRUN' -k '$KEY' -- sh -c 'echo \$\$ >job; exec sleep 60'; :"
	wait_for_file job
	kill -KILL "$PID"
	wait_until gone "$(<job)"
	wait_until is_free
}

@test "P2: a hang-up ends them also where rlockrun leads the session, as with ssh -t" {
	# The kernel tells the leader alone.
	on_pty -- "$RLOCKRUN" -k "$KEY" -- sh -c 'echo $$ >job; exec sleep 60'
	wait_for_file job
	kill -KILL "$PID"
	wait_until gone "$(<job)"
	wait_until is_free
}

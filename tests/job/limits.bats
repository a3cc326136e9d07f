#!/usr/bin/env bats
# What limits a run in time: --max-run ends the job, --warn-after says that it is
# slow, --splay delays the first try.
# shellcheck disable=SC2016  # what is in single quotes, the jobs expand
# bats file_tags=everywhere

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
}
teardown() { end_test; }

# launch [OPTION...] -- COMMAND...: a rlockrun without a terminal, PID.
launch() {
	start env --default-signal setsid "$RLOCKRUN" -k "$KEY" "$@"
}

all_gone() {
	local pid
	for pid in "$@"; do
		gone "$pid" || return 1
	done
}

# --- --max-run --------------------------------------------------------------

@test "max-run: the job gets TERM, and the status is 124 whatever it exits with" {
	launch --max-run 0.3 -- sh -c 'trap "echo TERM >got; exit 0" TERM
		echo >ready; while :; do sleep 0.02; done'
	exits_with 124 "$PID"
	[[ $(<got) == TERM ]]
	# The job's shell may tell of its sleep's end.
	[[ $(grep rlockrun: err.1) == "rlockrun: \"$KEY\": the job has run for 300ms; stopping the job" ]]
	is_free
}

@test "max-run: a job that ignores TERM is killed after kill-after, then freed" {
	local job
	launch --max-run 0.2 --kill-after 0.5 -- sh -c 'trap "" TERM
		echo $$ >job; while :; do sleep 0.02; done'
	wait_for_file job
	job=$(<job)
	start "$RLOCKRUN" -k "$KEY" -- sh -c "ps -o stat= -p $job >alive; :"
	exits_with 124 "${STARTED[0]}"
	exits_with 0 "$PID"
	[[ ! -s alive || $(<alive) == Z* ]]
}

@test "max-run: descendants in sessions of their own are stopped, too" {
	launch --max-run 0.5 --kill-after 0.3 -- sh -c '
		setsid sh -c "trap : TERM; echo \$\$ >deaf; while :; do sleep 0.02; done" &
		setsid sh -c "trap \"echo TERM >told; exit\" TERM
			echo \$\$ >polite; while :; do sleep 0.02; done" &
		exec sleep 60'
	wait_for_file deaf
	wait_for_file polite
	exits_with 124 "$PID"
	[[ $(<told) == TERM ]]
	all_gone "$(<deaf)" "$(<polite)"
	is_free
}

@test "max-run: with --wait-all also what the command left behind" {
	launch --wait-all --max-run 0.5 -- sh -c 'setsid sleep 60 & echo $! >left; exit 3'
	wait_for_file left
	exits_with 124 "$PID"
	all_gone "$(<left)"
}

@test "max-run: what a command left behind continues, unlocked" {
	launch --max-run 1 -- sh -c 'sleep 60 & echo $! >left; exit 3'
	exits_with 3 "$PID"
	run -1 gone "$(<left)"
	kill "$(<left)"
}

@test "max-run: a lock that is lost while the job is stopped is reported: 79" {
	launch --max-run 0.3 --kill-after 20 -t 9 -- sh -c 'trap "echo >told" TERM
		until [ -e done ]; do sleep 0.02; done'
	wait_for_file told
	[[ $(cli del "$KEY") == 1 ]]
	wait_until grep -q "was lost" err.1
	touch "done"
	exits_with 79 "$PID"
}

@test "max-run: the guard enforces it while rlockrun is stopped" {
	launch --max-run 0.5 --kill-after 0.1 -- sh -c 'echo $$ >job; exec sleep 60'
	wait_for_file job
	kill -STOP "$PID"
	wait_until gone "$(<job)"
	is_held
	kill -CONT "$PID"
	exits_with 124 "$PID"
	grep -q "the job has run for 500ms; the job was killed" err.1
	is_free
}

@test "max-run: a limit that is over before the job could start" {
	run -124 rl --max-run 1ms --kill-after 0 -- sleep 60
	is_free
}

@test "max-run: the guard is killed while the job is stopped" {
	launch --max-run 0.2 --kill-after 20 -- sh -c 'trap "echo >told" TERM
		echo $$ >job; while :; do sleep 0.02; done'
	wait_for_file told
	find_guard "$PID"
	kill -KILL "$GUARD"
	exits_with 124 "$PID"
	all_gone "$(<job)"
	is_free
}

# --- --warn-after -----------------------------------------------------------

@test "warn-after: said once, while the job runs" {
	launch --warn-after 1 -- sh -c 'until [ -e done ]; do sleep 0.02; done; exit 5'
	wait_for_file err.1
	touch "done"
	exits_with 5 "$PID"
	[[ $(<err.1) == "rlockrun: \"$KEY\" has been held for 1s" ]]
}

# --- --splay ----------------------------------------------------------------

@test "splay: a random delay before the first try" {
	local delays
	for _ in {1..8}; do
		rl -v --splay 0.5 true 2>>said
	done
	delays=$(grep -o 'first try comes in [0-9.]* s' said | sort -u)
	[[ $(grep -c . <<<"$delays") -gt 1 ]]
	[[ $(grep -c 'first try' said) == 8 && $(grep -c released said) == 8 ]]
	run -1 grep -E 'comes in ([1-9]|0\.[6-9])' said
}

@test "splay: a signal ends it at once, by that signal, with no word to the server" {
	local name
	for name in TERM INT HUP QUIT USR1; do
		start env --default-signal "$HELPERS/ended" "end.$name" \
			"$RLOCKRUN" -v -k "$KEY" --splay 3653d -- touch ran
		wait_until grep -q "first try" "$ERR"
		wait_for_file "end.$name.pid"
		kill "-$name" "$(<"end.$name.pid")"
		wait_for_file "end.$name"
		[[ $(<"end.$name") == "signal $name" ]]
	done
	[[ ! -e ran ]]
	[[ -z $(cli --raw keys "*$KEY*") ]]
}

#!/usr/bin/env bats
# --pause and --resume: no run of the locks that match starts, for a maintenance (S38).
# What they print, and who waits for whom, is in tests/tables/pause.txt.
# shellcheck disable=SC2016,SC2034,SC2154 # helpers, jobs and run set and use these

load ../helpers/suite
load ../helpers/admin
load ../helpers/queue

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	export LOGNAME=deploy
}
teardown() {
	[[ ! -S $SUITE_DIR/s ]] || rlockrun --resume '*' >/dev/null 2>&1 || true
	end_test
}

# known NAME...: each has had a run.
known() {
	local name
	for name; do
		rlockrun -k "$name" true
	done
}

is_paused() {
	local name
	for name; do
		[[ $(rlockrun --list --json -- "${name//[\\\*\?\[]/\\&}") == *'"paused":true'* ]] || return
	done
}

# pausing GLOB [OPTION...]: in the background, PID.
pausing() {
	start "$RLOCKRUN" --pause "$@"
}

# The pause of PID is the head of the queue of KEY.
is_in_front() {
	[[ $(cli --raw zrange "$Q" 0 0) == *":$1@"* ]]
}

# --- a maintenance ------------------------------------------------------------------

@test "S38: a maintenance over six jobs begins with one command, and another one ends it" {
	for n in {1..6}; do
		cli hset "{$KEY:$n}:rlk:r" token x host h pid 1 user u label '' start "$(server_ms)" \
			end "$(server_ms)" status 0 fence 5 >/dev/null
	done
	start "$RLOCKRUN" -k "$KEY:5" sh ./turn A
	wait_for_file A.started
	pausing "$KEY:*" --for 2h --label 'db migration'
	pause=$PID
	wait_until is_paused "$KEY:1" "$KEY:6"
	run -1 gone "$pause"
	start "$RLOCKRUN" -k "$KEY:5" sh ./turn B
	run -75 rlockrun -n -k "$KEY:3" touch ran
	[[ $output =~ "is paused by $(uname -n) (deploy, \"db migration\") since "..:..:..", until "..:..:.. ]]
	touch go
	exits_with 0 "$pause"
	[[ $(grep -c '": paused until ' out.2) == 6 ]]
	[[ $(<err.2) == *"\"$KEY:5\" is held by "*"; waiting for its end"* ]]
	[[ $(<err.2) == *"6 locks paused on "*"; locks that never ran are not covered unless -k names them"* ]]
	for n in {1..6}; do
		run -75 rlockrun -q -n -k "$KEY:$n" touch ran
	done
	[[ ! -e ran && $(<order) == A ]]
	LOGNAME=other run -0 --separate-stderr rlockrun --resume "$KEY:*"
	[[ ${#lines[@]} == 6 && ${lines[0]} == *": resumed" && -z $stderr ]]
	wait_for_file B.started
	all_end_well
	for n in {1..6}; do
		rlockrun -n -k "$KEY:$n" true
	done
	[[ ! -e overlaps ]]
}

# --- not all ----------------------------------------------------------------------------

@test "killed while it waits: what is paused stays for its time, nothing else does" {
	known "$KEY:2"
	holds A
	pausing "$KEY*" --for 1h
	wait_until is_in_front "$PID"
	wait_until is_paused "$KEY:2"
	kill -KILL "$PID"
	start "$RLOCKRUN" -k "$KEY" sh ./turn B
	touch go
	wait_for_file B.started
	exits_with 0 "$PID"
	(($(cli pttl "$KEY:2") > 3500000))
	rlockrun --resume "$KEY*" >/dev/null
	wait_until only_bells_left
}

#!/usr/bin/env bats
# The lease: that no job outlives it, whatever dies, hangs or pauses, and that
# the exit status tells when it was lost. What measures time is tagged serial.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/clock

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	write_work
}
teardown() { end_test; }

# work NAME: all its processes hold a file lock, so that two jobs that overlap
# find out; until file `done` is there it notes the time in NAME.alive, its own
# id in NAME.pid and its fence in NAME.fence. Nothing but KILL ends it.
write_work() {
	cat >work <<-'END'
		#!/bin/bash
		trap '' TERM
		exec 9>witness
		flock -n 9 || echo "$1" >>overlaps
		echo "$RLOCKRUN_FENCE" >"$1.fence"
		read -r started _ </proc/uptime
		echo "$started" >"$1.alive"
		echo $$ >"$1.pid"
		until [[ -e done ]]; do
			read -r now _ </proc/uptime
			echo "$now" >>"$1.alive"
			sleep 0.01
		done
	END
}

# job_of NAME [OPTION...]: starts a rlockrun that runs it.
job_of() {
	start "$RLOCKRUN" -k "$KEY" "${@:2}" -- bash ./work "$1"
}

# First and last time that job NAME was seen alive, in ms.
first_ms() {
	local time
	time=$(head -n 1 "$1.alive")
	echo $((10#${time/./} * 10))
}
last_ms() {
	local time
	time=$(tail -n 1 "$1.alive")
	echo $((10#${time/./} * 10))
}

# --- the key is taken away ------------------------------------------------

@test "S3: an overwritten key is left alone, and the holder exits 79" {
	hold
	cli set "$KEY" other PX 60000
	touch "done"
	exits_with 79 "$PID"
	[[ $(cli get "$KEY") == other ]]
	[[ $(<"$ERR") == "rlockrun: \"$KEY\" was lost: another client removed it while the job ran" ]]
}

@test "S3: an overwritten key is noticed by a renewal, too" {
	hold -t 1
	cli set "$KEY" other PX 60000
	exits_with 79 "$PID"
	[[ $(cli get "$KEY") == other ]]
	[[ $(<"$ERR") == "rlockrun: \"$KEY\" was lost: "*"; stopping the job" ]]
	wait_until gone "$(<job)"
}

# bats test_tags=smoke
@test "S4: a key that is gone is not planted again; the job is stopped" {
	hold -t 2
	[[ $(cli del "$KEY") == 1 ]]
	run -0 rl -n true
	[[ $(cli exists "$KEY") == 0 ]]
	exits_with 79 "$PID"
	wait_until gone "$(<job)"
	[[ -z $(keys_left) ]]
}

@test "a key that turns into a list while it is held is lost, and kept" {
	hold -t 1
	cli eval 'redis.call("DEL", KEYS[1]) redis.call("RPUSH", KEYS[1], "a")' 1 "$KEY"
	exits_with 79 "$PID"
	[[ $(cli lrange "$KEY" 0 -1) == a ]]
	# The shell of the job may report a killed command, too.
	[[ $(grep rlockrun: "$ERR") == *"holds something else now; stopping the job" ]]
}

@test "a lost lock never looks like success" {
	trapping='trap "exit 0" TERM; echo >ready; while :; do sleep 0.05; done'
	start "$RLOCKRUN" -k "$KEY" -t 1 bash -c "$trapping"
	wait_for_file ready
	cli del "$KEY"
	exits_with 79 "$PID"
	[[ $(grep -c rlockrun "$ERR") == 1 ]]
}

@test "a job that ignores TERM is killed when the lock is lost" {
	job_of A -t 2
	wait_for_file A.pid
	cli del "$KEY"
	exits_with 79 "$PID"
	gone "$(<A.pid)"
	flock -n witness true
}

@test "--on-lost warn: the job continues, and the status is 79" {
	hold -t 1 --on-lost warn
	cli del "$KEY"
	wait_for_file "$ERR"
	[[ $(<"$ERR") == *"was lost: "*"; the job continues without it" ]]
	run -0 rl -n true
	run -1 gone "$(<job)"
	touch "done"
	exits_with 79 "$PID"
	[[ $(wc -l <"$ERR") == 1 ]]
}

# bats test_tags=night
@test "--on-lost warn: a loss is reported once, also when the job outlives the lease" {
	hold -t 1 --on-lost warn
	cli del "$KEY"
	wait_for_file "$ERR"
	# Nothing happens when the lease is over: there is nothing to wait for.
	sleep 1.1
	run -1 gone "$(<job)"
	touch "done"
	exits_with 79 "$PID"
	[[ $(wc -l <"$ERR") == 1 && $(<"$ERR") == *"was lost: "*"; the job continues without it" ]]
}

# bats test_tags=night
@test "--on-lost warn: the end of the lease doesn't stop the job either" {
	own_server
	hold -t 1 --on-lost=warn
	freeze
	wait_until grep -q "cannot renew" "$ERR"
	sleep 1.2
	run -1 gone "$(<job)"
	thaw
	wait_until grep -q "was lost" "$ERR"
	run -1 gone "$(<job)"
	touch "done"
	exits_with 79 "$PID"
}

# --- the server is away -----------------------------------------------------

# bats test_tags=serial
@test "S5: server frozen, job ignores TERM: dead by t0 + TTL, no overlap" {
	own_server
	job_of A -t 2
	holder=$PID
	wait_for_file A.pid
	freeze
	job_of B -t 2 --server-timeout 30
	wait_until gone "$(<A.pid)"
	thaw
	wait_for_file B.pid
	(($(last_ms A) <= $(first_ms A) + 2000))
	(($(last_ms A) >= $(first_ms A) + 1500))
	[[ ! -e overlaps ]]
	exits_with 79 "$holder"
	touch "done"
	exits_with 0 "$PID"
}

# survives AT MS: with AT ms of the lease left the server is away for so long. One
# that was frozen later returns at the same point of the lease.
survives() {
	local asked back
	until wait_until left_above 1900 && wait_until left_below "$1" && left_above $(($1 - 150)); do
		: # too late on a busy machine: after the next renewal
	done
	asked=$(now_ms)
	back=$((asked + $(left_ms) - ($1 - $2)))
	freeze
	wait_until eval "((\$(now_ms) >= $back))"
	back=$(now_ms)
	thaw
	wait_until left_above 1900
	back=$(($(now_ms) - back))
	echo "renewed $back ms after its return"
	((back < 1000 * SLOWER))
}

# bats test_tags=serial,night
@test "L13: server unresponsive for 0.4 TTL, starting anywhere: nothing is lost" {
	own_server
	hold -t 2
	survives 2000 800
	survives 1700 800
	survives 1400 800
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

# bats test_tags=serial
@test "L13: server unresponsive for 0.6 TTL, right after a renewal: nothing is lost" {
	own_server
	hold -t 2
	wait_until left_below 1500
	survives 2000 1200
	# The patience with a renewal, TTL/4, may end a moment after the server is back.
	! grep -q "cannot renew the lock, which lasts for another [0-9.]* s" "$ERR" ||
		wait_until grep -q "renewed again" "$ERR"
	touch "done"
	exits_with 0 "$PID"
}

# bats test_tags=night
@test "a server that is always slow is waited for: nothing is lost" {
	start_proxy slow delay:1100
	hold -t 6
	wait_until has_passed slow EVAL/1 2
	set_rules slow
	touch "done"
	exits_with 0 "$PID"
	run -1 grep lost "$ERR"
	[[ -z $(keys_left) ]]
}

@test "a second connection that a late renewal needs is closed again" {
	start_proxy slow delay:1500:EVAL/1:1
	hold -t 4
	has_connections() { (($(cli client list | grep -c "name=rlockrun:$PID ") == $1)); }
	wait_until has_connections 2
	wait_until has_connections 1
	[[ -s job ]]
	touch "done"
	exits_with 0 "$PID"
	run -1 grep lost "$ERR"
}

# bats test_tags=night
@test "a release over a latency of 1.1 s is confirmed" {
	start_proxy slow delay:1100
	run -0 "$RLOCKRUN" -k "$KEY" -t 4 true
	[[ -z $output ]]
}

# bats test_tags=night
@test "a server that is back between TERM and KILL: the job is killed, 79" {
	own_server
	job_of A -t 3 --kill-after 1
	wait_for_file A.pid
	freeze
	wait_until grep -q "is being lost" "$ERR"
	thaw
	exits_with_soon 79 "$PID"
	gone "$(<A.pid)"
	flock -n witness true
	[[ -z $(keys_left) ]]
}

# One that should have been killed may live for ever.
exits_with_soon() {
	wait_until gone "$2"
	exits_with "$@"
}

@test "a server that is gone when the job ends: a warning, the job's status" {
	own_server
	start "$RLOCKRUN" -k "$KEY" -t 1 sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done; exit 7'
	wait_for_file job
	stop_server "$SUITE_DIR"
	touch "done"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release, the lock may last for its ttl: "* ]]
}

# bats test_tags=smoke
@test "a server that is frozen when the job ends: a warning, the job's status" {
	own_server
	start "$RLOCKRUN" -k "$KEY" -t 1 sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done; exit 7'
	wait_for_file job
	freeze
	touch "done"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release"* ]]
	thaw
	run -0 rl -n true
}

@test "a server that was killed and comes back with the key: nothing is lost" {
	not_over cluster # whose nodes take two seconds to find that it is whole
	own_server --appendonly yes --appendfsync always
	hold -t 3
	token=$(cli get "$KEY")
	stop_server "$SUITE_DIR"
	start_server "$SUITE_DIR" --appendonly yes --appendfsync always
	[[ $(cli get "$KEY") == "$token" ]]
	wait_until left_below 2200
	wait_until left_above 2700
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

# bats test_tags=smoke
@test "connections that are cut are opened anew" {
	own_server
	hold -t 1
	for _ in {1..10}; do
		cli client kill type normal skipme yes
		sleep 0.2
	done
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

@test "refused while holding: the password may come back before the lease ends" {
	own_server
	cli acl setuser job on '>secret' '~*' +@all
	export RLOCKRUN_REDIS=unix://job:secret@$SUITE_DIR/s
	hold -t 3
	wait_until left_above 2900
	cli acl setuser job off
	cli client kill user job
	wait_until grep -q "cannot renew" "$ERR"
	cli acl setuser job on
	wait_until grep -q "renewed again" "$ERR"
	touch "done"
	exits_with 0 "$PID"
}

# --- the server is full, or its clock is stepped -------------------------------

@test "a full server: a held lock is renewed and freed, no other is acquired" {
	own_server --maxmemory-policy noeviction
	hold -t 2
	cli config set maxmemory 1
	KEY+=:other run -69 rl -n --server-timeout 2 touch ran
	[[ $output == *OOM* && ! -e ran ]]
	wait_until left_below 1500
	wait_until left_above 1900
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

@test "a server that evicts the key: the job is stopped at the next renewal, 79" {
	own_server --maxmemory-policy allkeys-random
	hold -t 2
	cli config set maxmemory 1
	wait_until is_free
	cli config set maxmemory 0
	exits_with 79 "$PID"
	grep -q "was lost: .*; stopping the job" "$ERR"
	gone "$(<job)"
	[[ -z $(keys_left) ]]
}

@test "the clock of the server is stepped forward: the lock ends too soon, 79" {
	own_clock
	hold -t 3
	local holder=$PID
	run -75 rl -n true
	step_clock 3600
	run -0 rl -n true
	exits_with 79 "$holder"
	grep -q "was lost: .*; stopping the job" "$ERR"
	gone "$(<job)"
	[[ -z $(keys_left) ]]
}

@test "the clock of the server is stepped back: renewed and freed; a lock that nobody frees lasts longer" {
	own_clock
	hold -t 1
	step_clock -3600
	wait_until left_above 3600000
	sleep 1.5
	run -75 rl -n true
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
	rm job "done"
	hold -t 10
	kill -KILL "$PID"
	step_clock -7200
	wait_until left_above 3600000
	cli del "$KEY" "{$KEY}:rlk:i"
}

# --- rlockrun is stopped or killed --------------------------------------------

# bats test_tags=serial
@test "S6: rlockrun stopped for 2 TTL: the job dies in time, the next runs" {
	job_of A -t 1
	holder=$PID
	wait_for_file A.pid
	job_of B -t 1
	wait_for_file "$ERR"
	wait_until left_above 950
	end=$(($(now_ms) + 1000))
	kill -STOP "$holder"
	sleep 2
	kill -CONT "$holder"
	exits_with 79 "$holder"
	wait_for_file B.pid
	echo "A alive until $(last_ms A), lease until $end"
	(($(last_ms A) <= end))
	(($(first_ms B) <= end + 400))
	[[ ! -e overlaps ]]
	(($(<B.fence) > $(<A.fence)))
	touch "done"
	exits_with 0 "$PID"
}

# bats test_tags=serial
@test "S7: rlockrun stopped for 0.8 TTL after a renewal: a warning only" {
	hold -t 2 --kill-after 600ms
	wait_until left_below 1500
	wait_until left_above 1900
	kill -STOP "$PID"
	sleep 1.6
	kill -CONT "$PID"
	wait_until left_above 1900
	touch "done"
	exits_with 0 "$PID"
	grep -q "rlockrun was paused for at least [01]\.[0-9] s" "$ERR"
	run -1 grep lost "$ERR"
}

# bats test_tags=serial
@test "L1: kill -9 of the holder: its whole job is gone before the next starts" {
	start "$RLOCKRUN" -k "$KEY" -t 3 bash -c 'bash ./work A1 & timeout 60 bash ./work A2 & setsid bash ./work A3 & wait'
	holder=$PID
	for name in A1 A2 A3; do
		wait_for_file $name.pid
	done
	rm overlaps # they are one job
	job_of B -t 3
	wait_for_file "$ERR"
	wait_until left_below 2500
	wait_until left_above 2900
	kill -KILL "$holder"
	killed=$(now_ms)
	for name in A1 A2 A3; do
		wait_until gone "$(<$name.pid)"
	done
	gone=$(now_ms)
	wait_for_file B.pid
	echo "gone after $((gone - killed)) ms, B after $(($(first_ms B) - killed)) ms"
	((gone - killed <= 1000 * SLOWER))
	(($(first_ms B) - killed <= 3300 * SLOWER))
	[[ ! -e overlaps ]]
	touch "done"
	exits_with 0 "$PID"
}

@test "a lease that ran out before the release was sent leaves no record" {
	hold -t 1
	kill -STOP "$PID"
	touch "done"
	wait_until gone "$(<job)"
	wait_until eval '[[ $(cli exists "$KEY") == 0 ]]'
	kill -CONT "$PID"
	wait_until gone "$PID"
	[[ -z $(keys_left) ]]
}

#!/usr/bin/env bats
# A guard that is killed (S23), or lives but cannot act (S24): rlockrun ends the job.
# shellcheck disable=SC2016,SC2153 # the jobs expand it; find_guard sets GUARD

load ../helpers/suite
load ../helpers/guard

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_guard_test; }
teardown() { end_guard_test; }

# --- a guard that is killed: S23 --------------------------------------------

# A process whose main thread has exited: /proc shows a zombie, but another
# thread works on. It is orphaned and has its own session, and it writes its pid
# to `headless`.
HEADLESS='import ctypes, os, threading, time
def work():
    open("headless", "w").write(str(os.getpid()))
    time.sleep(40)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        threading.Thread(target=work).start()
        ctypes.CDLL(None).pthread_exit(None)
    os._exit(0)
os.wait()
time.sleep(40)'

start_headless() {
	launch -- /usr/bin/python3 -S -c "$HEADLESS"
	wait_for_file below/headless
	HEADLESS_PID=$(<below/headless)
	wait_until main_thread_exited
}

main_thread_exited() { [[ $(ps -o stat=,nlwp= -p "$HEADLESS_PID") =~ ^Z.*\ 2$ ]]; }
headless_ended() { ! [[ $(ps -o nlwp= -p "$HEADLESS_PID") -gt 1 ]]; }

@test "S23: kill -9 of the guard ends a process whose main thread has exited" {
	start_headless
	kill -KILL "$GUARD"
	exits_with 71 "$RUN"
	headless_ended
	is_free
}

# A chain of processes in which each forks the next one and exits. It has 200
# links at most: an unbounded one could fill the process table. It notes each
# link in `links`.
CHAIN='import os, time
def chain():
    log = os.open("links", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for link in range(200):
        os.write(log, b".")
        time.sleep(LIFE)
        if os.fork() != 0:
            os._exit(0)
    open("complete", "w").write("yes")
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        chain()
    os._exit(0)
os.wait()
time.sleep(40)'

# bats test_tags=night
@test "S23: kill -9 of the guard ends a chain of processes that fork and exit" {
	local life links
	for life in 0 0.0002 0.0005 0.001; do
		rm -f below/links below/complete
		launch -- /usr/bin/python3 -S -c "LIFE=$life; $CHAIN"
		wait_for_file below/links
		kill -KILL "$GUARD"
		exits_with 71 "$RUN"
		links=$(stat -c %s below/links)
		[[ ! -e below/complete ]]
		sleep 0.1
		[[ $(stat -c %s below/links) == "$links" ]]
		is_free
	done
}

# bats test_tags=night
@test "S23: kill -9 of the guard: no proof, no release, while there are earlier children" {
	start env -C below sh -c 'sleep 77 & echo $! >mine; exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" -- sh -c 'setsid sleep 60 & echo >ready; exec sleep 61'
	RUN=$PID
	wait_for_file below/ready
	find_guard "$RUN"
	kill -KILL "$GUARD"
	until_gone only_mine_alive
	exits_with 71 "$RUN"
	only_mine
	grep -q "cannot prove that the job has ended.*the lock stays until its ttl ends" err.1
	is_held
	cli del "$KEY" >/dev/null
	kill "$(<below/mine)"
}

# What of rlockrun is left, and what its process had before.
only_mine_alive() {
	[[ $(alive | grep -vx "$RUN") == "$(<below/mine)" ]]
}
only_mine() { [[ $(alive) == "$(<below/mine)" ]]; }

@test "S23: kill -9 of the guard: an earlier child that ends does not prevent the proof" {
	start env -C below sh -c '(until [ -e done ]; do sleep 0.02; done) & exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" -- sh -c 'setsid sleep 60 & echo >ready; exec sleep 61'
	RUN=$PID
	wait_for_file below/ready
	find_guard "$RUN"
	kill -KILL "$GUARD"
	wait_until grep -q "guard was killed" err.1
	touch below/done
	exits_with 71 "$RUN"
	none_alive
	is_free
}

# A name server that never answers. Another run of this test has another address.
BLACK_HOLE='import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
open("bound", "w").write("yes")
time.sleep(100)'

# bats test_tags=night
@test "S23: kill -9 of the guard while a name is being looked up: all is gone, 71" {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	start_tcp_server "$PWD/tcp" 127.0.0.1
	# shellcheck disable=SC2034 # cli asks it
	SUITE_DIR=$PWD/tcp
	local address=127.$((BASHPID >> 16)).$((BASHPID >> 8 & 255)).$((BASHPID & 255))
	start /usr/bin/python3 -S -c "$BLACK_HOLE" "$address"
	wait_for_file bound
	printf 'nameserver %s\noptions timeout:30\n' "$address" >resolv.conf
	echo "127.0.0.1 lock.example" >hosts
	start env -C below RLOCKRUN_REDIS="redis://lock.example:$PORT" unshare -m sh -c \
		'mount --bind ../resolv.conf /etc/resolv.conf && mount --bind ../hosts /etc/hosts &&
			exec "$@"' - "$RLOCKRUN" -k "$KEY" -- \
		sh -c 'setsid sleep 60 & echo >ready; exec sleep 61'
	RUN=$PID
	wait_for_file below/ready
	find_guard "$RUN"
	: >hosts
	cli client kill type normal
	wait_until looks_up
	# This lookup goes on, later ones succeed.
	echo "127.0.0.1 lock.example" >hosts
	kill -KILL "$GUARD"
	until_gone no_job
	exits_with 71 "$RUN"
	run ! grep "stays until its ttl ends" "$ERR"
	is_free
	none_alive
}

looks_up() { [[ $(pgrep -c -P "$RUN" -x rlockrun) == 1 ]]; }

# --- a guard that lives but cannot act: S24 ---------------------------------

# trace PID [keep]: attaches to it until the test ends.
trace() {
	start "$HELPERS/trace" "$1" "traced.$1" "${@:2}"
	wait_for_file "traced.$1"
}

# A job that ignores TERM, with a child in a session of its own. JOB_PIDS are
# the pids.
STUBBORN='trap "" TERM; setsid sh -c "trap \"\" TERM; echo >child; sleep 60; :" &
echo >ready; while :; do sleep 1; done'

launch_stubborn() {
	launch "$@" -- sh -c "$STUBBORN"
	wait_for_file below/ready
	wait_for_file below/child
}

# lose_lock: the server has forgotten it. Within a ttl rlockrun finds out.
lose_lock() {
	cli del "$KEY" >/dev/null
	wait_until grep -q "was lost" err.1
}

@test "S24: the guard is traced and the lock is lost: the job ends in the grace period, 79" {
	launch_stubborn -t 9 --kill-after 0.5
	trace "$GUARD"
	lose_lock
	until_gone no_job
	exits_with 79 "$RUN"
	none_alive
	is_free
}

no_job() { [[ -z $(job_alive) ]]; }

# A guard has as little time under a lease of hours: what outlives KILL for 5 s is given up.
@test "S24: the guard is traced under a long lease, and the job runs too long: 124" {
	launch_stubborn -t 3h --max-run 1 --kill-after 0.2
	trace "$GUARD"
	exits_with 124 "$RUN"
	none_alive
	is_free
}

# On the server, which no longer hears of it, the lease lasts longer than it may count on.
# bats test_tags=night
@test "S24: the guard is traced and the server is cut off: the job ends before its lease" {
	start_proxy way
	launch_stubborn -t 3
	trace "$GUARD"
	kill -STOP "$(<way/pid)"
	cli pexpire "$KEY" 600000
	until_gone no_job
	is_held
	kill -CONT "$(<way/pid)"
	exits_with 79 "$RUN"
	none_alive
}

# bats test_tags=night
@test "the guard is traced when the job ends: rlockrun does not wait for ever" {
	launch -t 9 -- sh -c 'sleep 60 & echo >ready; until [ -e done ]; do sleep 0.02; done'
	wait_for_file below/ready
	trace "$GUARD" keep
	touch below/done
	# The guard cannot report that end, so the job counts as running.
	cli del "$KEY"
	exits_with 79 "$RUN"
	none_alive
}

# --- reports ----------------------------------------------------------------

# Stops and continues the command 600 times, then lets it end with status 3.
STOPS='import os, signal, time
def state():
    return open("/proc/%d/stat" % os.getppid()).read().rpartition(")")[2].split()[0]
if os.fork() == 0:
    os.setsid()
    while not os.path.exists("go"):
        time.sleep(0.01)
    for _ in range(600):
        os.kill(os.getppid(), signal.SIGSTOP)
        while state() != "T":
            time.sleep(0.0001)
        time.sleep(0.002)
        os.kill(os.getppid(), signal.SIGCONT)
        while state() == "T":
            time.sleep(0.0001)
    open("stopped", "w").write("yes")
    os._exit(0)
open("ready", "w").write("yes")
while not os.path.exists("stopped"):
    time.sleep(0.005)
os._exit(3)'

# CAVEATS of the manual: nothing is left that could kill the job.
@test "rlockrun and its guard are both stopped: the job ends when the guard continues" {
	launch -t 3 -- sh -c 'echo $$ >job; while :; do sleep 0.05; done'
	wait_for_file below/job
	kill -STOP "$RUN" "$GUARD"
	wait_until is_free
	is_running "$(<below/job)"
	kill -CONT "$GUARD"
	until_gone no_job
	kill -CONT "$RUN"
	exits_with 79 "$RUN"
}

# As on a suspended machine, where CLOCK_BOOTTIME continues and nothing runs.
@test "a whole run is stopped beyond its lease, as by a suspended machine: the job dies when it continues" {
	launch -t 3 -- sh -c 'echo $$ >job; trap "" TERM; while :; do sleep 0.05; done'
	wait_for_file below/job
	# shellcheck disable=SC2046 # several pids
	kill -STOP $(alive)
	wait_until is_free
	run -0 "$RLOCKRUN" -n -k "$KEY" true
	# shellcheck disable=SC2046
	kill -CONT $(alive)
	until_gone no_job
	exits_with 79 "$RUN"
}

# bats test_tags=night
@test "reports that rlockrun cannot take for a while are not lost" {
	launch -- /usr/bin/python3 -S -c "$STOPS"
	wait_for_file below/ready
	# SIGSTOP would not do: a job that is continued continues rlockrun.
	trace "$RUN"
	echo >below/go
	wait_for_file below/stopped
	wait_until no_job
	kill -KILL "$PID"
	exits_with 3 "$RUN"
	is_free
}

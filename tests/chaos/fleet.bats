#!/usr/bin/env bats
# The servers of chaos: on each topology every fault can strike and be healed, a
# lock can be had again, and nothing of it is left.
# guards: tests/chaos

load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

# survives TOPOLOGY FAULTS [namespaces]: so many of them were tried.
survives() {
	start "$BATS_TEST_DIRNAME/try-fleet" "$1" "$PWD/fleet" "${@:3}"
	wait "$PID" || {
		[[ $? != 75 ]] || not_here "$(<"out.${#STARTED[@]}")"
		cat "out.${#STARTED[@]}" "$ERR" >&2
		return 1
	}
	(($(wc -l <"out.${#STARTED[@]}") == $2))
	no_processes_left
}

@test "one server: each fault strikes, and ends" {
	survives one 14
}

@test "one server in a network of its own: also cut off" {
	survives one 16 namespaces
}

# bats test_tags=night
@test "TLS" {
	survives tls 16 namespaces
}

# bats test_tags=night
@test "sentinels: a primary crashes or hands over" {
	survives sentinel 20 namespaces
}

# bats test_tags=night
@test "a cluster: a slot moves" {
	survives cluster 21 namespaces
}

# bats test_tags=night
@test "a cluster without a network of its own" {
	survives cluster 18
}

# bats test_tags=night
@test "five independent servers" {
	survives redlock5 16 namespaces
}

@test "a topology that does not exist" {
	run -1 "$BATS_TEST_DIRNAME/try-fleet" nothing "$PWD/fleet"
	[[ $output == *"no such topology: nothing"* ]]
}

@test "who started it is killed: all servers end" {
	start env PYTHONPATH="$BATS_TEST_DIRNAME" /usr/bin/python3 -SB -c '
import fleet, sys, time
with fleet.Fleet("redlock3", sys.argv[1]) as servers:
    servers.strike("stop", servers.nodes[0], 0)
    print("up", flush=True)
    time.sleep(60)' "$PWD/fleet"
	wait_for_file out.1
	kill -KILL "$PID"
	wait_until no_processes_left
}

# states PID: of all its threads.
states() {
	sed 's/.*) \(.\) .*/\1/' "/proc/$1/task"/*/stat | tr -d '\n'
}
have_states() { [[ $(states "$1") == "$2" ]]; }

@test "the tracer stops all threads until TERM, and leaves no trace" {
	start /usr/bin/python3 -SB -c '
import threading, time
for _ in range(2):
    threading.Thread(target=time.sleep, args=[60], daemon=True).start()
time.sleep(60)'
	traced=$PID
	wait_until have_states "$traced" SSS
	start "$BATS_TEST_DIRNAME/tracer" "$traced" 60000
	wait_for_file out.2
	have_states "$traced" ttt
	kill -CONT "$traced"
	have_states "$traced" ttt
	kill "$PID"
	exits_with 0 "$PID"
	wait_until have_states "$traced" SSS
}

@test "the tracer lets go in time, and has nothing to say of a process that is gone" {
	start sleep 60
	run -0 "$BATS_TEST_DIRNAME/tracer" "$PID" 10
	have_states "$PID" S
	run -1 "$BATS_TEST_DIRNAME/tracer" 4194305 10
	[[ -z $output ]]
}

#!/usr/bin/env bats
# A holder and three in line, and something happens to one of them at a random
# moment: it is killed, stopped for a while, or cut off. Nobody overlaps, the others
# all run, none waits longer than leases and heartbeats explain, and nothing is left
# but traces of one that was killed.
#
# SEED repeats a run: SEED=123 RUNS=1 tests/run ... plays the one with that seed.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

SIDE_BY_SIDE=8
# The lease, a head's second, and heartbeats: of those who thought that others were
# before them twice, of one that died in line 15 s where it was the third.
HANG_MS=25000

write_job() {
	cat >job <<-'END'
		#!/bin/bash
		# job NAME SECONDS: no other one lives at the same time, as the kernel sees
		# it; what it notes are hundredths of a second of a monotonic clock.
		exec 9>witness
		flock -n 9 || echo "$1" >>overlaps
		read -r up _ </proc/uptime
		echo "$1 ${up/./} $RLOCKRUN_FENCE" >>started
		sleep "$2"
		read -r up _ </proc/uptime
		echo "$1 ${up/./}" >>ended
	END
}

# party NAME SECONDS: runs it with the job; its pid is in NAME.pid.
party() {
	"$RLOCKRUN" -k "$CHAOS_KEY" -t 1 --server-timeout 3 -- bash ./job "$1" "$2" \
		>/dev/null 2>"err.$1" </dev/null 3>&- &
	echo $! >"$1.pid"
}

is_ready() {
	[[ -s started ]] || (($(cli zcard "{$CHAOS_KEY}:rlk:q") > 0))
}
stands_in_line() {
	cli --raw zrange "{$CHAOS_KEY}:rlk:q" 0 -1 | grep -q ":$1@" || gone "$1" ||
		grep -q "^$2 " started
}

# between LOW HIGH: into N.
between() {
	N=$(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1 + 1)))
}

seconds() {
	printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
}

# What happens to VICTIM. `cut` spoils the connections of one that came by way of a
# proxy.
strike() {
	local pid
	pid=$(<"$VICTIM.pid")
	case $ACTION in
	kill) kill -KILL "$pid" ;;
	stop)
		kill -STOP "$pid"
		sleep "$(seconds "$PAUSE_MS")"
		kill -CONT "$pid"
		;;
	*) set_rules proxy "$ACTION:*" ;;
	esac
} 2>/dev/null

# one SEED: a run of its own, in a folder and with a key of its own. What was wrong
# is in its `wrong`, where the seed's dice fell in `story`.
one() {
	local actions=(kill kill stop stop drop cut lose vanish hangup) names=(A B C D) name
	local -A job_ms
	local moment code pid begin took server=$RLOCKRUN_REDIS
	mkdir "run.$1"
	cd "run.$1" || return
	write_job
	RANDOM=$1
	export CHAOS_KEY=$KEY:$1
	ACTION=${actions[RANDOM % ${#actions[@]}]}
	VICTIM=${names[RANDOM % 4]}
	between 0 2500 && moment=$N
	between 100 3000 && PAUSE_MS=$N
	for name in "${names[@]}"; do
		between 0 800 && job_ms[$name]=$N
	done
	# The others are all in line before it happens, mostly.
	between 300 1500 && job_ms[A]=$N
	echo "seed $1: $ACTION $VICTIM after $moment ms, stopped for $PAUSE_MS ms" >story
	[[ $ACTION == @(kill|stop) ]] || start_proxy proxy
	proxy=$RLOCKRUN_REDIS
	for name in "${names[@]}"; do
		RLOCKRUN_REDIS=$server
		[[ $name != "$VICTIM" ]] || RLOCKRUN_REDIS=$proxy
		party "$name" "$(seconds "${job_ms[$name]}")"
		if [[ $name == A ]]; then
			wait_until test -s started
		else
			wait_until stands_in_line "$(<"$name.pid")" "$name"
		fi
	done
	RLOCKRUN_REDIS=$server
	sleep "$(seconds "$moment")"
	begin=$(now_ms)
	strike || true
	for name in "${names[@]}"; do
		pid=$(<"$name.pid")
		WAIT_SECONDS=60 wait_until gone "$pid" || echo "$name hangs" >>wrong
		code=0
		wait "$pid" 2>/dev/null || code=$?
		echo "$name: $code" >>story
		[[ $name == "$VICTIM" || $code == 0 ]] || echo "$name ended with $code" >>wrong
		[[ $name != "$VICTIM" || $code == @(0|69|79|137) ]] ||
			echo "the victim $name ended with $code" >>wrong
	done
	took=$(($(now_ms) - begin))
	echo "took $took ms" >>story
	((took <= HANG_MS + PAUSE_MS)) || echo "a hang of $took ms" >>wrong
	[[ ! -e overlaps ]] || echo "overlap" >>wrong
	judge_stamps
	judge_keys
	[[ ! -e proxy ]] || kill "$(<proxy/pid)"
}

# By their own clocks, those who came to their end; and the fences grow.
judge_stamps() {
	sort -k 2n -s started | awk '
		NR == FNR { ended[$1] = $2; next }
		FNR > 1 && last > $2 { print $1 " started before another ended" }
		FNR > 1 && fence >= $3 { print $1 " has no greater fence" }
		{ last = ended[$1]; fence = $3 }' ended - >>wrong.stamps
	[[ ! -s wrong.stamps ]] || cat wrong.stamps >>wrong
}

# Only one that was killed, or cut off for good, leaves something: a place in line, a
# bell, a lock until its lease ends.
judge_keys() {
	local keys key
	wait_until lease_is_over || echo "the lock is still held" >>wrong
	keys=$(KEY=$CHAOS_KEY keys_left)
	[[ -n $keys ]] || return 0
	echo "left:" "${keys//$'\n'/ }" >>story
	[[ $ACTION != stop ]] || echo "left:" "${keys//$'\n'/ }" >>wrong
	for key in $keys; do
		case $key in
		*:rlk:[ql])
			cli --raw zrange "$key" 0 -1 | grep -v ":$(<"$VICTIM.pid")@" >>wrong ||
				true
			(($(cli pttl "$key") <= 60000)) || echo "$key stays" >>wrong
			;;
		*:rlk:m:*) (($(cli pttl "$key") <= 10000)) || echo "$key stays" >>wrong ;;
		*:rlk:i) ;; # of a holder that was killed, when nobody came after it
		*) echo "$key is left" >>wrong ;;
		esac
	done
}
lease_is_over() {
	[[ $(cli exists "$CHAOS_KEY") == 0 ]]
}

# chaos RUNS: so many, some side by side.
chaos() {
	local seed=${SEED:-$((RANDOM * 32768 + RANDOM))} n pid
	local -a pids=()
	SEED=
	echo "# seeds $seed to $((seed + ${RUNS:-$1} - 1))" >&3
	for ((n = 0; n < ${RUNS:-$1}; n++)); do
		one $((seed + n)) >"log.$n" 2>&1 3>&- &
		pids+=($!)
		((${#pids[@]} < SIDE_BY_SIDE)) || {
			wait "${pids[0]}" || true
			pids=("${pids[@]:1}")
		}
	done
	wait "${pids[@]}" || true
	grep -h took run.*/story | sort -k 2n | tail -n 1
	for n in run.*; do
		[[ ! -s $n/wrong && -s $n/started ]] || {
			cat "$n/story" "$n/wrong"
			tail -n 3 "$n"/err.*
			cat "$n/started" "$n/ended"
		}
	done
	[[ -z $(find . -name wrong -size +0) ]]
	[[ $(find . -name started | wc -l) == "${RUNS:-$1}" ]]
}

@test "8 runs with one that is killed, stopped or cut off at random" {
	chaos 8
}

# bats test_tags=extra
@test "40 more" {
	chaos 40
}

# bats test_tags=extra
@test "another 40" {
	chaos 40
}

# bats test_tags=extra
@test "another 40, once more" {
	chaos 40
}

# bats test_tags=extra
@test "and 32 to make it 200" {
	chaos 32
}

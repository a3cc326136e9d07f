#!/usr/bin/env bats
# Readers and permits: who holds the lock together, what each of them keeps, and
# which permissions that needs.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue
load ../helpers/kinds
load ../helpers/clock

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_kinds_test; }
teardown() {
	end_monitor
	end_test
}

# --- all kinds --------------------------------------------------------------------

@test "S19: 8 readers, 2 writers and a plain client: writers alone, readers together" {
	export CLI="redis-cli -s $SUITE_DIR/s"
	cat >spell <<-'END'
		echo "+ $1" >>log
		sleep 0.0$((RANDOM % 5))
		echo "- $1" >>log
	END
	# SET NX PX and compare-and-delete, until it has had three turns.
	cat >plain <<-'END'
		for n in 1 2 3; do
			until [ "$($CLI set "$KEY" plain.$n NX PX 60000)" = OK ]; do sleep 0.01; done
			bash ./spell P$n
			$CLI eval 'if redis.call("get", KEYS[1]) == ARGV[1] then
				return redis.call("del", KEYS[1]) end return 0' 1 "$KEY" plain.$n >/dev/null
		done
	END
	holds W0
	for n in {1..8}; do
		start "$RLOCKRUN" -k "$KEY" -s -- bash ./spell "R$n"
		((n % 4)) || start "$RLOCKRUN" -k "$KEY" -- bash ./spell "W$n"
	done
	start sh ./plain
	wait_until are_queued 10
	touch go
	all_end_well
	run -0 together log
	echo "$output"
	[[ $output != *together* ]]
	[[ ${lines[0]} == "P 1" && ${lines[1]} == "R "* && ${lines[2]} == "W 1" ]]
	((${lines[1]#R } > 1))
	[[ $(grep -c + log) == 14 && -z $(keys_left) ]]
}

@test "S20: 3 permits, 9 runs, kill -9 at random" {
	permits_under_fire 9
}

# permits_under_fire RUNS: each job holds one of three places (flock tells that it
# is never above) and tells when. A third of the rlockruns is killed while it has a
# permit, and when the lease of that has ended a new one comes in its place.
permits_under_fire() {
	local count=$1 n victims before token
	cat >place <<-'END'
		for n in 1 2 3; do
			exec 9>place.$n
			if flock -n 9; then
				exec "$A_JOB" runs+=%p until:go
			fi
		done
		echo above >>above
	END
	: >runs
	export A_JOB
	for ((n = 0; n < count; n++)); do
		start "$RLOCKRUN" -k "$KEY" -p 3 -- bash ./place
	done
	wait_until has_lines runs 3
	wait_until are_queued $((count - 3))
	for ((victims = 0; victims < count / 3; victims++)); do
		before=$(wc -l <runs)
		token=$(cli zrange "$KEY" 0 -1 | shuf -n 1)
		kill -KILL "$(cli hget "$I" "h:$token" | cut -d ' ' -f 6)"
		cli zadd "$KEY" $(($(server_ms) - 5)) "$token"
		wait_until has_lines runs $((before + 1))
		live_members 3
	done
	touch go
	for pid in "${STARTED[@]}"; do
		wait "$pid" || true
	done
	[[ ! -e above && $(wc -l <runs) == "$count" ]]
	wait_until eval '! live_members 1'
}

# --- access rules ----------------------------------------------------------------------

@test "B6: the access rules of the man page are enough to wait in the queue" {
	own_clock
	stop_clock
	mapfile -t rules < <(sed -n '/^ACL SETUSER locker/,/^\.Ed/p' "$ROOT/man/rlockrun-servers.7" |
		grep -o '+[^ ]*')
	cli acl setuser locker on '>v' "~$KEY" "~{$KEY}:rlk:*" "${rules[@]}"
	export RLOCKRUN_REDIS=unix://locker:v@$SUITE_DIR/s
	holds A
	enqueue B
	kill -STOP "$PID"
	touch go.A
	exits_with 0 "${STARTED[0]}"
	run -75 rl -n touch ran
	[[ $output == "rlockrun: \"$KEY\" is free, but others are queued for it; command not started" ]]
	enqueue C
	kill -CONT "${STARTED[1]}"
	touch go
	exits_with 0 "${STARTED[1]}"
	exits_with 0 "$PID"
	[[ $(order) == "A B C" ]]
	cat err.* >said
	run -1 grep -v "; waiting\|: acquired after" said
	[[ -z $(keys_left) ]]
}

# --- as DistributedLock.Redis has permits --------------------------------------------

# net ACQUIRE-OR-RELEASE COUNT EXPIRY_MS ID: the scripts of its semaphore.
net() {
	case $1 in
	acquire) cli eval 'redis.replicate_commands()
		local time = redis.call("TIME")
		local now = time[1] * 1000.0 + time[2] / 1000.0
		redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
		if redis.call("ZCARD", KEYS[1]) < tonumber(ARGV[1]) then
			redis.call("ZADD", KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
			if redis.call("PTTL", KEYS[1]) < 3 * ARGV[2] then
				redis.call("PEXPIRE", KEYS[1], 3 * ARGV[2])
			end
			return 1
		end
		return 0' 1 "$KEY" "$2" "$3" "$4" ;;
	release) cli zrem "$KEY" "$4" ;;
	esac
}

@test "permits are shared with the layout of DistributedLock.Redis" {
	[[ $(net acquire 2 60000 net-1) == 1 ]]
	holds A -p 2
	[[ $(cli --raw zrange "$KEY" 0 -1 | grep -cE '^[0-9a-f-]{36}$') == 1 ]]
	[[ $(net acquire 2 60000 net-2) == 0 ]]
	run -75 rl -n -p 2 touch ran
	run -75 rl -n -s touch ran
	enqueue B -p 2
	[[ $(net release 2 0 net-1) == 1 ]]
	wait_for_file B.started
	touch go.A
	exits_with 0 "${STARTED[0]}"
	[[ $(net acquire 2 60000 net-3) == 1 && $(net acquire 2 60000 net-4) == 0 ]]
	touch go
	all_end_well
	run -0 rl --status
	[[ $output == *"another client (not a rlockrun)"* && $output == *"net-3"* ]]
	[[ $(net release 2 0 net-3) == 1 && ! -e ran && $(cli exists "$KEY") == 0 ]]
	cli del "$I"
	# Its lease ends by itself.
	[[ $(net acquire 1 300 net-5) == 1 ]]
	run -0 rl -p 1 -w 10 true
}

# --- nested ---------------------------------------------------------------------------

@test "S21: a nested run with a short ttl shortens no lease of its own kind" {
	for option in -s '-p 2'; do
		# shellcheck disable=SC2086
		run -0 rl $option -t 60 sh -c 'redis-cli -s "$1" --raw zrange "$KEY" 0 0 withscores
			"$RLOCKRUN" -k "$KEY" $0 -t 30 \
				redis-cli -s "$1" --raw zrange "$KEY" 0 0 withscores' "$option" "$SUITE_DIR/s"
		[[ ${#lines[@]} == 4 && ${lines[1]} == "${lines[3]}" ]]
	done
}

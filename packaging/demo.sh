#!/bin/bash
# `make demo`: shows what rlockrun promises, on a private Redis server, and
# verifies each claim. Requires RLOCKRUN=/path/of/rlockrun.
set -u

RLOCKRUN=$(realpath "${RLOCKRUN:?the path of rlockrun}") || exit 1
packaging=$(dirname "$(realpath "$0")")
key=demo:sync
failures=0

dir=$(mktemp -d "${TMPDIR:-/tmp}/rlockrun-demo.XXXXXX") && cd "$dir" || exit 1

# Ends the processes that this script started, job scripts included: a rlockrun
# that is terminated ends its job.
cleanup() {
	trap '' INT TERM
	local pid
	for pid in $(jobs -pr); do
		[[ $pid == "${server:-}" ]] || kill "$pid"
	done
	wait_until 50 no_jobs
	[[ ${dead:-0} == 0 ]] || kill -9 "$job" "$child"
	[[ -z ${server:-} ]] || kill "$server"
	wait
	cd / && rm -rf "$dir"
} 2>/dev/null
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[[ -t 1 ]] && bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m' ||
	bold='' red='' green='' plain=''
title() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
command_line() { printf '  %s$ %s%s\n' "$bold" "$1" "$plain"; }
show() { sed 's/^/  /' "$@"; }
verify() { # CLAIM CONDITION...: prints the claim, and whether it held
	local claim=$1
	shift
	if "$@"; then
		printf '%sok:%s %s\n' "$green" "$plain" "$claim"
	else
		printf '%sFAILED:%s %s\n' "$red" "$plain" "$claim"
		failures=$((failures + 1))
	fi
}

now() { # in hundredths of a second since boot, to $time
	read -r time _ </proc/uptime
	time=$((10#${time/./}))
}
wait_until() { # TENTHS CONDITION...
	local left=$1
	shift
	until "$@"; do
		((left-- > 0)) || return
		sleep 0.1
	done
}
alive() { # a zombie is dead
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
	[[ ${stat##*) } != [ZX]* ]]
}
gone() { ! alive "$1" && ! alive "$2"; }
no_jobs() { ! jobs -pr | grep -qvx "${server:-0}"; }
count() { grep -c -- "$1" "$2"; }
rlockrun() { exec "$RLOCKRUN" "$@"; } # in the background only: $! is rlockrun

# A private server: no port, no files, no other clients.
unset "${!RLOCKRUN_@}" REDIS_URL
export RLOCKRUN_CONFIG=none RLOCKRUN_REDIS=unix://$dir/redis.sock
"$packaging/server.sh" "$dir" >redis.log || exit
PATH=$dir:$PATH
redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' \
	--appendonly no --daemonize no >redis.log 2>&1 &
server=$!
answers() { [[ $(redis-cli -s redis.sock ping 2>/dev/null) == PONG ]]; }
if ! wait_until 100 answers; then
	cat redis.log
	echo 'demo: the redis server did not start'
	exit 1
fi
echo "A private server listens on $dir/redis.sock until the demo ends."

cat >sync.sh <<'END'
#!/bin/sh
echo "$1 starts" | tee -a journal
sleep 2
echo "$1 ends" | tee -a journal
END
cat >long.sh <<'END'
#!/bin/sh
sleep 300 &
echo "$$ $!" >pids.new && mv pids.new pids
wait
END
chmod +x sync.sh long.sh

title '1. Five hosts share a crontab: five copies start at once, one runs'
command_line "rlockrun -n -k $key -- ./sync.sh     # five times"
pids=()
for i in 1 2 3 4 5; do
	rlockrun -n -k "$key" -- ./sync.sh "host-$i" >"out.$i" 2>&1 &
	pids+=($!)
done
ran=0 busy=0
for i in 1 2 3 4 5; do
	wait "${pids[i - 1]}"
	status=$?
	((status == 0)) && ran=$((ran + 1))
	((status == 75)) && busy=$((busy + 1))
	show "out.$i"
	echo "    -> host-$i: exit status $status"
done
cat out.? >outputs
verify 'one ran (exit status 0), four reported that the lock is busy (75)' \
	test "$ran $busy $(count starts journal)" = '1 4 1'
verify 'the four reported who holds the lock' \
	test "$(count "\"$key\" is held by" outputs)" = 4

title '2. Without -n it waits for the lock'
: >journal
command_line "rlockrun -k $key -- ./sync.sh first &"
rlockrun -k "$key" -- ./sync.sh first >out.first 2>&1 &
first=$!
wait_until 100 test -s journal
command_line "rlockrun -k $key -- ./sync.sh second"
rlockrun -k "$key" -- ./sync.sh second >out.second 2>&1 &
second=$!
wait "$first"
first=$?
wait "$second"
second=$?
show journal
verify 'the second started after the first had ended, and both exited 0' test \
	"$(tr '\n' ',' <journal)$first$second" = \
	'first starts,first ends,second starts,second ends,00'

title '3. kill -9 of rlockrun: its job dies too, and the lock becomes free'
: >journal
command_line "rlockrun -t 3 -k $key -- ./long.sh &     # would run for five minutes"
rlockrun -t 3 -k "$key" -- ./long.sh >out.long 2>&1 &
wrapper=$!
if ! wait_until 100 test -s pids; then
	show out.long
	echo 'demo: the job did not start'
	exit 1
fi
read -r job child <pids
before=$(alive "$job" && alive "$child" && echo alive)
now && killed=$time
command_line "kill -9 $wrapper"
{ kill -9 "$wrapper" && wait "$wrapper"; } 2>/dev/null
wait_until 50 gone "$job" "$child"
dead=$?
now && took=$((time - killed))
printf '  the job (%d) and its child (%d): ended after %d ms\n' \
	"$job" "$child" $((took * 10))
verify 'within a second no process of the job was left' \
	test "$before $dead $((took <= 100))" = 'alive 0 1'

command_line "rlockrun -k $key -- ./sync.sh next"
rlockrun -k "$key" -- ./sync.sh next >out.next 2>&1 &
next=$!
wait_until 100 test -s journal
now && took=$((time - killed))
wait "$next"
status=$?
show out.next
printf '  started %d ms after the kill\n' $((took * 10))
verify 'the lock was not released: its lease of 3 s ended, then the next job ran' \
	test "$status $((took <= 400))" = '0 1'

echo
if ((failures)); then
	echo "demo: $failures claims did not hold"
	exit 1
fi
echo 'All claims held. The server and its files are removed.'

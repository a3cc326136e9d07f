# What the parts of the bench share. A part works in an empty folder, which `run`
# makes, and begins with a server of its own on TCP and $dir/s.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the parts use these
set -eu

here=$(dirname "$(realpath "$0")")
rlockrun=${RLOCKRUN:?}
pair=${TOOLS:?}/pair
stamp=$TOOLS/stamp
runs=${RUNS:?}
dir=$PWD
# Names of locks as people give them, of 20 and of 60 bytes.
key=nightly:report:eu-02
long_key=production:eu-central-1:billing-service:nightly-report:daily
PATH=$dir:$PATH:$TOOLS/etcd/usr/bin
export SCRIPTS=${rlockrun%/*}/src/lock/scripts
. "$here/servers.bash"

# --- the table ----------------------------------------------------------------

# row FIGURE AGAINST N UNIT VALUE [OTHER [RATIO]]: one line of the table, for people
# and in TSV. N is the number in FIGURE if a curve is drawn over it. The ratio of
# medians is not the median of the pairs' ratios, which `pair` computes.
row() {
	local figure=$1 against=$2 n=$3 unit=$4 value=$5 other=${6:-} ratio=${7:-}
	if [[ $other && ! $ratio ]]; then
		ratio=$(awk -v a="$value" -v b="$other" 'BEGIN { if (b > 0) printf "%.2f", a / b }')
	fi
	printf '%s\t' "${0##*/}" "$figure" "$against" "$n" "$unit" "$value" "$other" >>"$TSV"
	printf '%s\n' "$ratio" >>"$TSV"
	printf '%-60s %-5s %9s %9s %7s\n' "$figure${against:+ : $against}" "$unit" "$value" "$other" "$ratio"
}

# against FIGURE OTHER RUNS COMMAND... vs COMMAND...
against() {
	local figure=$1 other=$2 count=$3 result
	shift 3
	((count > 0)) || count=1
	result=$("$pair" "$count" "$@")
	# shellcheck disable=SC2086 # value, other, ratio
	row "$figure" "$other" '' us $result
}

median() {
	sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

# --- processes ----------------------------------------------------------------

peak() { awk '/VmHWM/ { print $2 }' "/proc/$1/status"; }
owned() { awk '/^Pss:/ { print $2 }' "/proc/$1/smaps_rollup"; }

# round_trips URL WHAT
round_trips() {
	strace -qq -e trace=connect,sendto -o trace "$rlockrun" -r "$1" -k "$key" true
	row "round trips of $2" '' '' '' \
		"$(grep -cE '^connect\(.*sin_port|^sendto\(.*(EVAL|CLIENT|READWRITE)' trace)"
}

# --- queues -------------------------------------------------------------------

queued() { redis-cli -s "$dir/s" zcard "{$1}:rlk:q"; }

# What a holder runs: it says when it has the lock, and ends when `release` is
# there. STAMP and a file behind it: it writes there when it ended.
# shellcheck disable=SC2016 # for the holder's shell
hold_until_release='echo >held; until [ -e release ]; do sleep 0.01; done; [ $# = 0 ] || exec "$@"'

# start_holder LOCK... : [STAMP FILE]: LOCK are the words before the command.
start_holder() {
	local lock=()
	while [[ $1 != : ]]; do
		lock+=("$1")
		shift
	done
	shift
	rm -f held release
	"${lock[@]}" sh -c "$hold_until_release" holder "$@" &
	pids=($!)
	until [[ -s held ]]; do
		kill -0 $! || return
		sleep 0.02
	done
}

# All that the part has started in `pids`.
await_all() {
	wait "${pids[@]}"
	pids=()
}

# gaps_of COUNT WAITERS LOCK...: prints the time from the end of each job to the
# start of the next, of so many that wait behind a holder. COUNT prints how many do.
gaps_of() {
	local counter=$1 waiters=$2 i pids
	shift 2
	: >stamps
	start_holder "$@" : "$stamp" stamps
	if [[ $counter == pollers ]]; then
		"$here/pollers" "$port" "$key" "$waiters" "$stamp" stamps &
		pids+=($!)
	else
		for ((i = 0; i < waiters; i++)); do
			"$@" "$stamp" stamps &
			pids+=($!)
		done
	fi
	until (($($counter) >= waiters)); do sleep 0.05; done
	: >release
	await_all
	sort -n stamps | awk 'NR > 1 { print $1 - end } { end = $2 }'
}

# turns_of WAITERS [OPTION...]: from the first release on; the server's
# microseconds.
turns_of() {
	local waiters=$1 i cpu pids lock=("$rlockrun" -r "unix://$dir/s" -q -k "$key")
	shift
	start_holder "${lock[@]}" :
	for ((i = 0; i < waiters; i++)); do
		"${lock[@]}" "$@" true &
		pids+=($!)
	done
	until (($(queued "$key") >= waiters)); do sleep 0.05; done
	redis-cli -s "$dir/s" echo the-start >/dev/null
	cpu=$(server_cpu s)
	: >release
	await_all
	echo $(($(server_cpu s) - cpu))
	redis-cli -s "$dir/s" echo the-end >/dev/null
}

# Twice, since the server works for MONITOR, too.
cost_of() {
	local waiters=$1 cpu granted sent beats vain monitor whose
	cpu=$(turns_of "$@")
	redis-cli -s "$dir/s" monitor >monitor.log &
	monitor=$!
	until [[ -s monitor.log ]]; do sleep 0.02; done
	turns_of "$@" >/dev/null
	until grep -q the-end monitor.log; do sleep 0.02; done
	kill "$monitor"
	wait "$monitor" || :
	read -r granted sent beats vain _ < <("$here/commands" monitor.log "$key" \
		"$(grep -ab the-start monitor.log | head -n 1 | cut -d: -f1)")
	whose="$waiters waiting${2:+ ($2)}"
	# Before that each sent three to get in the queue: name, try, BLPOP.
	row "commands of an acquisition, $whose" '' "$waiters" '' \
		"$(awk -v s="$sent" -v g="$granted" 'BEGIN { printf "%.2f", 3 + s / g }')"
	row "server's time for an acquisition, $whose" '' "$waiters" us $((cpu / granted))
	row "heartbeats, $whose" '' "$waiters" '' "$beats"
	row "wake-ups in vain, $whose" '' "$waiters" '' "$vain"
}

printf '\n%-60s %-5s %9s %9s %7s\n' "-- ${0##*/}" unit A B A/B
start_server
tcp=redis://127.0.0.1:$port

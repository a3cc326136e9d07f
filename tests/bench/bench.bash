# What the parts of the bench share. A part works in an empty folder, which `run`
# makes, and begins with a server of its own on TCP and $dir/s.
# shellcheck shell=bash
# shellcheck disable=SC2034 # the parts use these
set -eu

here=$(dirname "$(realpath "$0")")
rlockrun=${RLOCKRUN:?}
pair=${TOOLS:?}/pair
stamp=$TOOLS/stamp
runs=${RUNS:-300}
dir=$PWD
export SCRIPTS=${rlockrun%/*}/src/lock/scripts

free_port() {
	/usr/bin/python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

start_server() {
	"$here/../../packaging/server.sh" "$dir"
	PATH=$dir:$PATH
	port=$(free_port)
	redis-server --port "$port" --bind 127.0.0.1 --unixsocket "$dir/s" --save '' \
		--dir "$dir" >log 2>&1 &
	servers+=($!)
	until redis-cli -s "$dir/s" ping >/dev/null 2>&1; do sleep 0.02; done
}

# against NAME RUNS COMMAND... vs COMMAND...
against() {
	local name=$1 count=$2 a b ratio
	shift 2
	read -r a b ratio <<<"$("$pair" "$count" "$@")"
	printf '%-44s %8s %8s %6s\n' "$name" "$a" "$b" "$ratio"
}

peak() { awk '/VmHWM/ { print $2 }' "/proc/$1/status"; }
owned() { awk '/^Pss:/ { print $2 }' "/proc/$1/smaps_rollup"; }

# round_trips URL WHAT: of a run whose server has the scripts.
round_trips() {
	"$rlockrun" -r "$1" -k trips true
	strace -qq -e trace=connect,sendto -o trace "$rlockrun" -r "$1" -k trips true
	printf '%-44s %8s\n' "round trips of $2" \
		"$(grep -cE '^connect\(.*sin_port|^sendto\(.*(EVAL|CLIENT|READWRITE)' trace)"
}

in_line() { redis-cli -s "$dir/s" zcard "{$1}:rlk:q"; }

server_cpu() {
	redis-cli -s "$dir/s" info cpu | tr -d '\r' |
		awk -F: '/^used_cpu_(user|sys):/ { sum += $2 } END { printf "%.0f", sum * 1e6 }'
}

# turns_of WAITERS [OPTION...]: from the first release on; the server's
# microseconds.
turns_of() {
	local waiters=$1 i cpu
	shift
	rm -f release held
	"$rlockrun" -r "unix://$dir/s" -q -k cost \
		sh -c 'echo >held; until [ -e release ]; do sleep 0.01; done' &
	until [[ -s held ]]; do sleep 0.02; done
	for ((i = 0; i < waiters; i++)); do
		"$rlockrun" -r "unix://$dir/s" -q -k cost "$@" true &
	done
	until (($(in_line cost) >= waiters)); do sleep 0.05; done
	redis-cli -s "$dir/s" echo the-start >/dev/null
	cpu=$(server_cpu)
	echo >release
	until [[ $(redis-cli -s "$dir/s" exists cost '{cost}:rlk:q') == 0 ]]; do sleep 0.05; done
	echo $(($(server_cpu) - cpu))
	redis-cli -s "$dir/s" echo the-end >/dev/null
}

# Twice, since the server works for MONITOR, too.
cost_of() {
	local waiters=$1 cpu granted sent beats vain monitor
	cpu=$(turns_of "$@")
	redis-cli -s "$dir/s" monitor >monitor.log &
	monitor=$!
	turns_of "$@" >/dev/null
	until grep -q the-end monitor.log; do sleep 0.02; done
	kill "$monitor"
	wait "$monitor" || :
	read -r granted sent beats vain _ < <("$here/../helpers/commands" monitor.log cost \
		"$(grep -ab the-start monitor.log | head -n 1 | cut -d: -f1)")
	# Before that each sent three to get in line: name, try, BLPOP.
	awk -v n="$waiters waiting${2:+ ($2)}" -v g="$granted" -v s="$sent" -v b="$beats" -v v="$vain" -v c="$cpu" '
		BEGIN { printf "%-30s %9.2f %9d %9d %9.0f\n", n, 3 + s / g, b, v, c / g }'
}

start_server
tcp=redis://127.0.0.1:$port

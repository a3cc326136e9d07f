#!/usr/bin/env bats
# S43: a library that is preloaded changes the clock of all programs, as faketime(1)
# does: by an offset, by a rate, or not at all. Leases and limits last as long as the
# kernel's clock says.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup_file() {
	# faketime(1) itself fails where one that ended with the same id left its semaphore.
	export LIBRARY=
	for LIBRARY in /usr/lib*/faketime/libfaketime.so.1 /usr/lib/*/faketime/libfaketime.so.1; do
		[[ ! -e $LIBRARY ]] || break
	done
	start_suite_server
}

teardown_file() { stop_suite_server; }

setup() {
	begin_test
	[[ -e $LIBRARY ]] || not_here 'no libfaketime'
	file "$RLOCKRUN" | grep -q 'statically' && not_here 'nothing can be preloaded'
	[[ $RLOCKRUN != */asan/* ]] || not_here 'libfaketime hangs before main under a sanitizer'
	TIMES=('-1d' '+1d' '+0 x0.01' '+0 x100' '+0')
}

teardown() { end_test; }

# all_end STATUS: those that were started.
all_end() {
	local pid
	for pid in "${STARTED[@]}"; do
		wait_until gone "$pid"
		exits_with "$1" "$pid"
	done
}

@test "S43: the job is dead when its lease ends" {
	local i
	own_server
	for i in "${!TIMES[@]}"; do
		start env LD_PRELOAD="$LIBRARY" FAKETIME="${TIMES[i]}" "$RLOCKRUN" -k "$KEY:$i" -t 3 \
			sh -c 'echo >"$0"; exec sleep 300' "job.$i"
	done
	for i in "${!TIMES[@]}"; do
		wait_for_file "job.$i"
	done
	freeze
	all_end 79
	thaw
}

is_held() { [[ $(cli exists "$1") == 1 ]]; }

@test "S43: --max-run ends the job" {
	local i
	for i in "${!TIMES[@]}"; do
		start env LD_PRELOAD="$LIBRARY" FAKETIME="${TIMES[i]}" "$RLOCKRUN" -k "$KEY:$i" --max-run 1 \
			sleep 300
	done
	all_end 124
}

@test "S43: --min-hold keeps the lock" {
	local n ttl
	TIMES+=('+0 x10000')
	# (bats has an i of its own.)
	for n in "${!TIMES[@]}"; do
		run -0 env LD_PRELOAD="$LIBRARY" FAKETIME="${TIMES[n]}" timeout 60 "$RLOCKRUN" -k "$KEY:$n" -n \
			--min-hold 10m env -u LD_PRELOAD sleep 0.2
		ttl=$(cli pttl "$KEY:$n")
		echo "${TIMES[n]}: $ttl ms"
		((ttl > 500000 && ttl <= 600000))
		cli del "$KEY:$n"
	done
}

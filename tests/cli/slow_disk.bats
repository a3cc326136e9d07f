#!/usr/bin/env bats
# --metrics and --log-to on a disk where each call takes long, or does not return: it
# costs the job no status and no lease, and the release no time.
# shellcheck disable=SC2016 # the jobs' shells are to expand that
# shellcheck disable=SC2154 # run sets stderr

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	mkdir m
}
teardown() { end_test; }

# on_slow_disk MS LOCKS OPTION... -- COMMAND...: ./log and ./m are on such a disk. LOCKS
# is their number. Each call that names one of their files, or has it open, takes MS
# longer, as on a disk or a network that is overloaded.
on_slow_disk() {
	local ms=$1 count=$2 keys=() paths=(-P "$PWD/log" -P "$PWD/m") i
	shift 2
	for ((i = 1; i <= count; i++)); do
		keys+=(-k "$KEY:$i")
		for end in lock tmp prom; do
			paths+=(-P "$PWD/m/rlockrun-$KEY:$i.$end")
		done
	done
	strace -f --seccomp-bpf -qq -o trace "${paths[@]}" \
		-e trace=open,openat,newfstatat,stat,statx,unlinkat,read,write,writev,fchmod,renameat,renameat2 \
		-e inject=all:delay_enter="${ms}000" \
		"$RLOCKRUN" "${keys[@]}" --log-to "$PWD/log" --metrics "$PWD/m" "$@"
}

# bats test_tags=native
@test "S32: 1 and 32 locks, 100 ms a call: the job's status, and all are released" {
	need_strace
	for locks in 1 32; do
		run -7 on_slow_disk 100 "$locks" -- sh -c 'exit 7'
		grep -q DELAYED trace
		[[ -z $(keys_left) ]]
	done
}

# on_hanging_disk OPTION... -- COMMAND...: writing to ./log and to what becomes metrics
# in ./m takes longer than a run.
on_hanging_disk() {
	strace -f --seccomp-bpf -qq -o trace -P "$PWD/log" -P "$PWD/m/rlockrun-$KEY.tmp" \
		-e trace=writev -e inject=writev:delay_enter=6000000 \
		"$RLOCKRUN" -k "$KEY" --log-to "$PWD/log" --metrics "$PWD/m" "$@"
}

# bats test_tags=native
@test "S32: a disk that hangs: the job is renewed and released, and the run ends" {
	need_strace
	start on_hanging_disk -t 1s --hook 'released=echo >hooked' -- sh -c 'echo >started; sleep 2.2; exit 7'
	wait_for_file started
	"$RLOCKRUN" -k "$KEY" -w 1m true
	exits_with 7 "${STARTED[0]}"
	[[ -e hooked ]] && grep -q 'writev(' trace
}

# bats test_tags=native
@test "S32: a disk that hangs: a wait ends" {
	need_strace
	hold
	run -75 on_hanging_disk -w 0.1 true
	touch "done"
	exits_with 0 "$PID"
}

# bats test_tags=native
@test "S32: what could not be written in time is dropped and counted" {
	need_strace
	run -7 --separate-stderr on_slow_disk 300 8 -- sh -c 'exit 7'
	logged=$(wc -l <log) files=$(find m -name '*.prom' | wc -l)
	((logged < 13 && files < 8))
	[[ $stderr == *"it is too slow; dropping lines"* ]]
	[[ $stderr == *" $((13 - logged)) lines of the log were dropped"* ]]
	[[ $stderr == *'not written: the disk is too slow'* ]]
	[[ $stderr == *"the metrics of $((8 - files)) locks were not written"* ]]
}

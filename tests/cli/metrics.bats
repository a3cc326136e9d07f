#!/usr/bin/env bats
# --metrics: by whom the files are written, and that nothing in that folder harms the
# run. What is in them is in tests/tables/metrics.txt.
# shellcheck disable=SC2030,SC2031 # each test sets variables for its runs
# shellcheck disable=SC2016 # the jobs' shells are to expand that
# shellcheck disable=SC2034,SC2154 # run sets output, helpers use it

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	mkdir m
	export RLOCKRUN_METRICS=$PWD/m
	FILE=m/rlockrun-$KEY
}
teardown() { end_test; }

# metric NAME [LABELS]: its value; nothing if it is absent.
metric() {
	sed -n "s/^rlockrun_$1{key=\"[^\"]*\"${2:+,$2}} //p" "$FILE.prom"
}

# ended OUTCOME REASON: so many runs.
ended() {
	metric runs_total "outcome=\"$1\",reason=\"$2\""
}

# is NAME VALUE
is() {
	[[ $(metric "$1" 2>/dev/null) == "$2" ]]
}

# check_all: by Prometheus' own tool.
check_all() {
	local promtool=$ROOT/build/promtool/promtool file
	[[ -x $promtool ]] || skip "no promtool: \`make check\` fetches it"
	for file in m/*.prom; do
		"$promtool" check metrics <"$file"
	done
}

# --- what is written ------------------------------------------------------------

@test "all users can read it, whatever the umask" {
	(
		umask 077
		rl true
	)
	[[ $(stat -c %a "$FILE.prom") == 644 ]]
	# Nor can others lock what is locked while it is written.
	[[ $(stat -c %a "$FILE.lock") == 600 ]]
	(
		umask 0
		rl true
	)
	[[ $(stat -c %a "$FILE.prom" "$FILE.lock") == $'644\n600' ]]
}

@test "the next run removes those that were killed" {
	hold
	killed=$PID
	wait_until is holding_runs 1
	kill -KILL "$killed"
	exits_with 137 "$killed"
	wait_until gone "$(<job)"
	cli del "$KEY" >/dev/null
	[[ $(metric holding_runs) == 1 ]]
	rl true
	[[ $(metric holding_runs) == 0 && $(ended success job_ended) == 1 ]]
	[[ -z $(metric held_since_timestamp_seconds) ]]
}

# One that a busy machine keeps from the file for too long says so.
@test "runs that end at once are all counted" {
	local missing
	for _ in {1..12}; do
		start "$RLOCKRUN" -k "$KEY" -s true
	done
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	missing=$(grep -hc 'not written: another process has locked the file$' err.* | paste -sd +)
	[[ $(ended success job_ended) == $((12 - missing)) ]]
	run ! grep -hv 'another process has locked the file$' err.*
	[[ $(find m -type f | wc -l) == 3 ]]
}

# --- what is there before ---------------------------------------------------------

# harmless PATTERN [OPTION...]: the job runs, and one line says what is wrong.
harmless() {
	run -7 --separate-stderr rl "${@:2}" sh -c 'sleep 0.3; exit 7'
	# shellcheck disable=SC2053 # a pattern
	[[ $stderr == "rlockrun: \"$KEY\": metrics in "$1 ]]
	((${#stderr_lines[@]} == 1))
}

@test "garbage, an empty file, a cut one, another's and a huge one are replaced" {
	rl true
	head -c 1000 "$FILE.prom" >cut-off
	sed "s/$KEY/other/" "$FILE.prom" >other
	head -c 2000 /dev/urandom >garbage
	head -c 10000000 /dev/zero >huge
	: >empty
	for file in cut-off other garbage huge empty; do
		cp $file "$FILE.prom"
		harmless '*damaged*counted anew'
		[[ $(ended failure job_ended) == 1 ]]
		[[ $(tail -n 1 "$FILE.prom") == '# end' ]]
	done
}

@test "a link, a pipe or a folder with the name of the file is left alone" {
	echo precious >precious
	for ending in prom lock; do
		ln -s "$PWD/precious" "$FILE.$ending"
		harmless "*not written: \"rlockrun-$KEY.$ending\": it is a link"
		[[ $(<precious) == precious && -L $FILE.$ending ]]
		rm "$FILE".*
	done
	mkfifo "$FILE.prom"
	harmless "*not written: \"rlockrun-$KEY.prom\": it is not a regular file"
	[[ -p $FILE.prom ]]
	rm "$FILE".*
	mkdir "$FILE.prom"
	harmless "*not written: \"rlockrun-$KEY.prom\": it is not a regular file"
	rm -r "$FILE".*
	ln -s "$PWD/precious" "$FILE.tmp"
	rl true
	[[ $(<precious) == precious && $(ended success job_ended) == 1 ]]
}

# Where it does not exist, or is none: tests/tables/metrics.txt.
@test "S34: a folder that is a link, or vanishes" {
	ln -s m link
	for folder in link link//; do
		RLOCKRUN_METRICS=$folder harmless '*"link": not written: it is a link'
		run -78 --separate-stderr rl --metrics "$folder" true
		[[ $stderr == 'rlockrun: cannot write metrics into "link": it is a link; command not started' ]]
	done
	run -1 --separate-stderr env RLOCKRUN_METRICS=link "$RLOCKRUN" --doctor
	[[ $output == *'"link" cannot be written: it is a link; runs go on without it'* ]]
	[[ -z $(ls m) ]]
	hold
	wait_until is holding_runs 1
	rm -r m
	touch "done"
	exits_with 0 "$PID"
	[[ $(<"$ERR") == *'not written: No such file or directory' ]]
	mkdir m
	rl true
	[[ $(ended success job_ended) == 1 ]]
}

@test "a folder that this user may not write to" {
	need_other_user
	own_server --unixsocketperm 777
	rl true
	before=$(<"$FILE.prom")
	run -7 --separate-stderr as_other_user ./rlockrun -k "$KEY" sh -c 'exit 7'
	[[ $stderr == *"not written: \"rlockrun-$KEY.lock\": Permission denied" ]]
	[[ $(<"$FILE.prom") == "$before" ]]
}

@test "users of a group share the files" {
	need_other_user
	own_server --unixsocketperm 777
	chgrp "$OTHER_USER" m
	chmod 2775 m
	(
		umask 022
		rl true
		as_other_user ./rlockrun -k "$KEY" true
		rl true
	)
	[[ $(ended success job_ended) == 3 ]]
}

@test "a full disk leaves the former file as it was" {
	unshare -m true 2>/dev/null || skip 'mounting takes privileges'
	cat >full <<-'END'
		mount -t tmpfs -o size=64k none m
		"$RLOCKRUN" -k "$KEY" true || exit
		cp "$1.prom" before
		head -c 1000000 /dev/zero >m/rest 2>/dev/null
		"$RLOCKRUN" -k "$KEY" sh -c 'exit 7'
		echo $? >status
		cmp "$1.prom" before || exit
		rm m/rest
		"$RLOCKRUN" -k "$KEY" true
		cat "$1.prom" >after
	END
	run -0 --separate-stderr unshare -m sh full "$FILE"
	[[ $(<status) == 7 && $stderr == *'not written: "rlockrun-'*'.tmp": No space left on device' ]]
	cp after "$FILE.prom"
	[[ $(ended success job_ended) == 2 ]]
}

@test "a limit for files is no signal for the job" {
	[[ $RLOCKRUN != */tsan/* ]] || skip 'not here: the sanitizer itself needs files'
	run -7 bash -c 'ulimit -f 0 && exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" -- sh -c 'trap "exit 9" XFSZ; sleep 0.3; exit 7'
	[[ $output == *'not written: "rlockrun-'*'.tmp": File too large' ]]
}

@test "a process that keeps the file locked delays nothing but the end" {
	rl true
	start flock "$FILE.lock" sh -c 'echo >locked; until [ -e unlock ]; do sleep 0.02; done'
	wait_for_file locked
	locker=$PID
	harmless '*not written: another process has locked the file'
	[[ $(ended failure job_ended) == 0 ]]
	touch unlock
	exits_with 0 "$locker"
	rl true
	[[ $(ended success job_ended) == 2 ]]
}

@test "names with slashes, newlines, quotes, invalid UTF-8, and of 1 kB" {
	long=$(printf 'x%.0s' {1..1000})
	names=(/../../etc/x $'a\nb' 'a"b\c' "$long" "${long}y" $'caf\xe9' 'café' . '~' '%41')
	for name in "${names[@]}"; do
		"$RLOCKRUN" --prefix "$KEY" -k "$name" true
	done
	[[ $(find m -name '*.prom' | wc -l) == "${#names[@]}" ]]
	[[ -z $(find m -mindepth 1 ! -name 'rlockrun-*') && ! -e m/../../etc ]]
	# Each is another one in its label, too.
	[[ $(grep -h '^rlockrun_lost_total' m/*.prom | sort -u | wc -l) == "${#names[@]}" ]]
	check_all
}

# --- the process -------------------------------------------------------------------

@test "the job has none of its descriptors" {
	rl sh -c 'sleep 0.3; ls -l /proc/$$/fd /proc/$PPID/fd' >descriptors
	run ! grep rlockrun- descriptors
}

#!/usr/bin/env bats
# --log-to: what a log may be, what happens to it while the job runs, and syslog. What
# is logged is in tests/tables/log.txt.
# shellcheck disable=SC2016 # the jobs' shells are to expand that
# shellcheck disable=SC2030,SC2031 # each test sets variables for its runs
# shellcheck disable=SC2154 # run sets stderr

load ../helpers/suite
load ../helpers/admin
load ../helpers/log

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- files --------------------------------------------------------------------

@test "a FIFO, a device, and a file that cannot be opened are refused at the start: 78" {
	mkfifo fifo
	/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
	ln -s fifo link
	for target in fifo socket link . /dev/null /dev/full /nonexistent/log ''; do
		run -78 --separate-stderr rl --log-to "${target:-/}" -- sh -c 'echo >ran'
		[[ $stderr == "rlockrun: cannot log to \"${target:-/}\": "*"; command not started" ]]
		[[ ${#stderr_lines[@]} == 1 ]]
	done
	start cat fifo
	run -78 --separate-stderr rl --log-to fifo -- sh -c 'echo >ran'
	[[ ! -e ran && -z $(keys_left) ]]
	: >fifo
	run -64 --separate-stderr rl --log-to '' true
	run -64 --separate-stderr rl --log-format xml true
	[[ $stderr == *"neither text nor json"* ]]
	ln -s target link2
	rl --log-to link2 true
	[[ $(wc -l <target) == 6 ]]
}

# logged FILE: what a job begins with that waits for the first three lines.
logged() {
	echo "until [ \$(wc -l <$1) = 3 ]; do sleep 0.01; done"
}

# The lines after the job go to what is there then: three of six.
@test "a log that is renamed, removed or cut while the job runs is followed" {
	rl --log-to log -- sh -c "$(logged log); mv log old"
	[[ $(plain old | tail -n 1) == *"starting the job" && $(wc -l <old) == 3 ]]
	[[ $(plain log | head -n 1) == *"job ended"* && $(wc -l <log) == 3 ]]
	rm log
	rl --log-to log -- sh -c "$(logged log); rm log"
	[[ $(plain log | head -n 1) == *"job ended"* && $(wc -l <log) == 3 ]]
	rm log
	rl --log-to log -- sh -c "$(logged log); cp log old && : >log"
	[[ $(wc -l <old) == 3 && $(plain log | head -n 1) == *"job ended"* ]]
	run ! grep -qP '\x00' log
}

@test "a log on a descriptor follows what the job writes there" {
	for path in /dev/stdout /dev/stderr /dev/fd/1 /proc/self/fd/2; do
		job="$(logged log); echo one; echo two >&2"
		rl --log-to "$path" -- sh -c "$job" >log 2>&1
		[[ $(wc -l <log) == 8 && $(grep -cE '^(one|two)$' log) == 2 ]]
		[[ $(grep -cE '^[0-9-]{10}T[^ ]*Z rlockrun' log) == 6 ]]
	done
}

@test "a log on a pipe: the lines come, a reader that has gone or is slow does no harm" {
	rl --log-to /dev/stdout -- echo job | cat >log
	[[ $(wc -l <log) == 7 ]]
	run -3 --separate-stderr bash -c '"$@" | true; exit "${PIPESTATUS[0]}"' - \
		"$RLOCKRUN" -k "$KEY" --log-to /dev/stdout -- sh -c 'sleep 0.1; exit 3'
	[[ $stderr == *'cannot write to the log "/dev/stdout": it is full; dropping lines'* ]]
	run -78 --separate-stderr rl --log-to /dev/fd/77 true
	[[ $stderr == *'"/dev/fd/77": Bad file descriptor; command'* ]]
	run -78 --separate-stderr sh -c '"$@" >&-' - "$RLOCKRUN" -k "$KEY" --log-to /dev/stdout true
	[[ $stderr == *'"/dev/stdout": Bad file descriptor; command'* ]]
}

@test "a log on a descriptor that is one of our own: as on one that is closed" {
	for fd in {3..9}; do
		run -78 --separate-stderr sh -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; "$@"' - \
			"$RLOCKRUN" -k "$KEY" --hook true --log-to "/dev/fd/$fd" true
		[[ $stderr == *"\"/dev/fd/$fd\": Bad file descriptor; command"* ]]
	done
}

@test "/dev/log without a daemon does not become a file" {
	need_mounts
	run -78 --separate-stderr with_dev sh -c '"$@"; status=$?; [ ! -e /dev/log ] && exit $status' - \
		"$RLOCKRUN" -k "$KEY" --log-to /dev/log true
	[[ $stderr == 'rlockrun: cannot log to "/dev/log": it is no file (--log-to syslog); command not started' ]]
}

# The job has the file as its stdout; rlockrun itself has it no longer.
@test "a log that is a descriptor is not taken for a renamed one" {
	"$RLOCKRUN" -k "$KEY" --log-to /dev/stdout true >log 2>err
	"$RLOCKRUN" -k "$KEY" --log-to /proc/self/fd/7 sh -c 'exec 7>&-' 7>>log 2>>err
	[[ ! -s err && $(wc -l <log) == 12 ]]
}

@test "a log that cannot be opened again: said once, the former file is used" {
	mkdir folder
	run -3 --separate-stderr rl --log-to folder/log -- \
		sh -c "$(logged folder/log); mv folder/log log && rmdir folder; exit 3"
	[[ $stderr == 'rlockrun: cannot reopen the log "folder/log": '*'; using the former file' ]]
	[[ ${#stderr_lines[@]} == 1 && $(wc -l <log) == 6 ]]
	rm log
	run -3 --separate-stderr rl --log-to log -- \
		sh -c "$(logged log); mv log old; mkfifo log; exit 3"
	[[ $stderr == *'"log": not a regular file; using'* && $(wc -l <old) == 6 ]]
	[[ ${#stderr_lines[@]} == 1 ]]
}

# bats test_tags=native
@test "S34: a log of the host that another user made is a warning, and the job runs" {
	need_other_user
	own_server --unixsocketperm 777
	chmod 777 .
	printf 'log-to = %s\n' "$PWD/log" >conf
	chmod 644 conf
	rl --config conf true
	for from in file variable; do
		set -- --config conf
		[[ $from == file ]] || set -- --config none
		unset RLOCKRUN_LOG_TO
		[[ $from == file ]] || export RLOCKRUN_LOG_TO=$PWD/log
		for quiet in -q ''; do
			# shellcheck disable=SC2086 # no option is no word
			run -3 --separate-stderr as_other_user ./rlockrun "$@" $quiet -k "$KEY" sh -c 'exit 3'
			[[ $stderr == "rlockrun: cannot log to \"$PWD/log\": Permission denied; there will be no log" ]]
		done
		run -1 --separate-stderr as_other_user ./rlockrun "$@" --doctor
		[[ $output == *"log"*"$PWD/log"*"cannot be written: Permission denied; runs go on without it"* ]]
	done
	run -78 --separate-stderr as_other_user ./rlockrun -k "$KEY" --log-to log true
	[[ $stderr == 'rlockrun: cannot log to "log": Permission denied; command not started' ]]
	[[ $(wc -l <log) == 6 ]]
}

@test "runs that share a file keep their lines whole" {
	for i in {1..8}; do
		start "$RLOCKRUN" -k "$KEY:$i" --log-to log true
	done
	for pid in "${STARTED[@]}"; do exits_with 0 "$pid"; done
	[[ $(wc -l <log) == 48 ]]
	run ! grep -vE '^[0-9-]{10}T[^ ]*Z rlockrun\[[0-9]+\] info: "[^"]*": [^"]*$' log
}

# fill FILE BYTES: one line.
fill() {
	printf "%0$(($2 - 1))d\n" 0 >"$1"
}

# The first line begins on the last page that there is, and cannot be ended.
@test "a full disk drops lines until there is room, and not the job" {
	need_mounts
	fill full 4090
	run -3 --separate-stderr with_small_disk 8 sh -c 'cp full disk/log && cp full disk/fill &&
		"$0" "$@"; status=$?; cp disk/log .; exit $status' \
		"$RLOCKRUN" -k "$KEY" --log-to disk/log -- sh -c \
		'until [ "$(stat -c %s disk/log)" = 4096 ]; do sleep 0.01; done; rm disk/fill; exit 3'
	[[ ${stderr_lines[0]} == 'rlockrun: cannot write to the log "disk/log": it is full; dropping lines' ]]
	[[ ${stderr_lines[1]} == 'rlockrun: '[123]' line'* && ${#stderr_lines[@]} == 2 ]]
	[[ $(sed -n 2p log) =~ ^[0-9-]{6}$ ]]
	[[ $(wc -l <log) == $((8 - ${stderr_lines[1]:10:1})) ]]
	[[ $(plain log) == *"job ended with status 3"* ]]
	[[ $(plain log | tail -n 1) == *": ended with status 3, "* ]]
}

@test "a limit on the size of files drops lines, and no signal comes of it" {
	fill log 1018
	run -3 --separate-stderr bash -c 'ulimit -f 1 && exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" --log-to log -- sh -c 'trap "exit 9" XFSZ; sleep 0.1; exit 3'
	[[ ${stderr_lines[0]} == *'"log": it is full; dropping lines' ]]
	[[ ${stderr_lines[1]} == *' 6 lines of the log were dropped' && ${#stderr_lines[@]} == 2 ]]
	hold
	run -75 --separate-stderr bash -c 'ulimit -f 1 && exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" -n --log-to log -- true
	run -0 bash -c 'ulimit -f 1 && exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" --force-release --yes --log-to log
	touch "done"
	exits_with 79 "$PID"
	[[ $(wc -c <log) == 1024 ]]
}

@test "the job has no descriptor of the log" {
	need_mounts
	rl --log-to log -- sh -c 'ls -l /proc/$$/fd' >fds
	run ! grep -q log fds
	with_dev "$HELPERS/syslog" got "$RLOCKRUN" -k "$KEY" --log-to syslog -- \
		sh -c 'ls -l /proc/$$/fd' >fds
	run ! grep -q socket: fds
}

# --- syslog -------------------------------------------------------------------

@test "syslog gets a priority, the facility cron and a tag" {
	need_mounts
	with_dev "$HELPERS/syslog" got "$RLOCKRUN" -k "$KEY" --log-to syslog true
	[[ $(wc -l <got) == 6 ]]
	run ! grep -vE '^<78>[A-Z][a-z]{2} [ 1-3][0-9] [0-9:]{8} rlockrun\[[0-9]+\]: "' got
	grep -q "\]: \"$KEY\": the job ended with status 0$" got
	hold
	run -75 with_dev "$HELPERS/syslog" got "$RLOCKRUN" -k "$KEY" -n --log-to syslog true
	[[ $(cut -c 1-4 got | tr -d '\n') == '<78><77><78>' ]]
	run -126 with_dev "$HELPERS/syslog" got "$RLOCKRUN" -k a --log-to syslog \
		--log-format json / # error, info
	sed 's/^<75>[^{]*rlockrun\[[0-9]*\]: {/{/; s/^<78>[^{]*rlockrun\[[0-9]*\]: {/{/' got >log
	[[ $(wc -l <log) == 2 ]]
	all_have log '"reason":"no_command"'
	last_has log '"status":126'
}

@test "without /dev/log, or when it is full, lines are dropped, which is said once" {
	need_mounts
	run -3 --separate-stderr with_dev "$RLOCKRUN" -k "$KEY" --log-to syslog -- sh -c 'exit 3'
	[[ ${stderr_lines[0]} == 'rlockrun: cannot write to the log "/dev/log": No such file or directory; dropping lines' ]]
	[[ ${stderr_lines[1]} == 'rlockrun: 6 lines of the log were dropped' && ${#stderr_lines[@]} == 2 ]]
	run -3 --separate-stderr with_dev "$HELPERS/syslog" --deaf "$RLOCKRUN" -k "$KEY" \
		--log-to syslog -- sh -c 'exit 3'
	[[ ${stderr_lines[0]} == *'"/dev/log": it is full; dropping lines' && ${#stderr_lines[@]} == 2 ]]
}

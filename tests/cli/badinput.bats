#!/usr/bin/env bats
# Mistakes: one line that says what is wrong, the right status, no job, and nothing of
# the lock on the server. Here are one process of each class; tests/tables/mistakes.txt
# has the messages.
# shellcheck disable=SC2154 # run sets stderr and stderr_lines

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# mistake STATUS WORDS ARGUMENT...: that status with one line, and no job. The server
# has never granted the lock.
mistake() {
	refused "$@"
	[[ -z $(cli --raw keys "*$KEY*") ]]
}

# refused STATUS WORDS ARGUMENT...: likewise, when the lock may have been granted and
# released, as with the rights of an open user default.
refused() {
	run -"$1" --separate-stderr timeout -k 1 30 "$RLOCKRUN" "${@:3}"
	echo "$stderr"
	[[ -z $output && ${#stderr_lines[@]} == 1 && ! -e ran ]]
	[[ $stderr == "rlockrun: "*"$2"* && -z $(keys_left) ]]
}

@test "mistakes on the command line: 64, one line, no job" {
	mistake 64 "no key given (-k NAME)" touch ran
	mistake 64 "-r: port must be 1 to 65535" -k "$KEY" -r redis://h:0 touch ran
}

@test "mistakes in the environment: 78, one line, no job" {
	RLOCKRUN_TTL=0 mistake 78 "RLOCKRUN_TTL '0': not a duration" -k "$KEY" touch ran
}

@test "a command that cannot be run: 127 or 126, before the lock is acquired" {
	mistake 127 ": not found; command not started" -k "$KEY" no-such-command
	echo 'touch ran' >script
	mistake 126 "ermission denied; command not started" -k "$KEY" ./script
}

@test "wrong passwords, dbs that do not exist, no server" {
	refused 77 WRONGPASS -k "$KEY" -r "unix://ghost:boo@$SUITE_DIR/s" touch ran
	refused 77 "DB index is out of range" -k "$KEY" -r "unix://$SUITE_DIR/s?db=16" touch ran
	refused 69 "No such file or directory" --list --server-timeout 0.1 -r unix:///nowhere
}

@test "a command whose name has a blank in it is run" {
	own_server
	printf '#!/bin/sh\necho ran\n' >'a b;c'
	chmod +x 'a b;c'
	run -0 rl './a b;c'
	[[ $output == ran ]]
}

@test "--help, --version and the table fail where they cannot be written: 71" {
	for option in --help --version --dump-options; do
		code=0
		timeout 30 "$RLOCKRUN" "$option" >/dev/full 2>err || code=$?
		[[ $code == 71 && $(<err) == "rlockrun: cannot write to stdout: No space left on device" ]]
		code=0
		timeout 30 "$RLOCKRUN" "$option" >&- 2>err || code=$?
		[[ $code == 71 && $(<err) == *"cannot write to stdout: Bad file descriptor" ]]
	done
}

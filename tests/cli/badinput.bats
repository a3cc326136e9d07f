#!/usr/bin/env bats
# Mistakes: one line that says what is wrong, the right status, and nothing
# changed on the server. Which message each mistake has is said by the tables of
# tests/unit/mistakes_test.c, and those of url_test.c and opts_test.c.
# shellcheck disable=SC2154 # run sets stderr and stderr_lines

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() {
	end_test
	server_is_untouched
}

# No test in this file writes to the suite's server, so that it stays empty.
server_is_untouched() {
	[[ $(cli info keyspace) != *db* && $(cli info commandstats) != *eval* ]]
}

# mistake STATUS WORDS ARGUMENT...: that status with one line, and no job.
mistake() {
	run -"$1" --separate-stderr timeout -k 1 30 "$RLOCKRUN" "${@:3}"
	echo "$stderr"
	[[ -z $output && ${#stderr_lines[@]} == 1 ]]
	[[ $stderr == "rlockrun: "*"$2"* ]]
	[[ $1 == 64 || $stderr == *"; command not started" ]]
	[[ ! -e ran ]]
}

# wrong WORDS ARGUMENT...: on the command line.
wrong() {
	mistake 64 "$1" "${@:2}"
	[[ $stderr == *"; try 'rlockrun --help'" ]]
}

# wrong_variable WORDS NAME=VALUE...
wrong_variable() {
	(
		export "${@:2}"
		mistake 78 "$1" -k "$KEY" touch ran
	)
}

# --- the command line and the environment ---------------------------------------

@test "mistakes on the command line: 64, one line, no job" {
	wrong "no key given (-k NAME)" touch ran
	wrong "no command given" -k "$KEY"
	wrong "unknown option -z" -z -k "$KEY" touch ran
	wrong "-r: port must be 1 to 65535" -k "$KEY" -r redis://h:0 touch ran
}

@test "mistakes in the environment: 78, one line, no job" {
	wrong_variable "RLOCKRUN_TTL '0': not a duration" RLOCKRUN_TTL=0
	wrong_variable "REDIS_URL: no host" RLOCKRUN_REDIS= REDIS_URL=redis://
	wrong_variable "\"$PWD\": neither a regular file" "RLOCKRUN_PASSWORD_FILE=$PWD"
	RLOCKRUN_TTL=0 mistake 127 ": not found; command not started" -k "$KEY" -t 5 no-such-command
}

# --- the command ----------------------------------------------------------------

@test "a command that isn't found: 127, before the lock is taken" {
	mistake 127 ": not found; command not started" -k "$KEY" no-such-command
	mistake 127 ": not found; command not started" -k "$KEY" ./no-such-file
	mistake 127 ": not found; command not started" -k "$KEY" ./no-folder/file
	SHELL=/no/shell mistake 127 ": not found; command not started" -k "$KEY" -c 'touch ran'
}

@test "a command that can't be run: 126, before the lock is taken" {
	echo 'touch ran' >script
	mistake 126 "ermission denied; command not started" -k "$KEY" ./script
	mistake 126 "directory; command not started" -k "$KEY" ./
	mkdir folder
	mistake 126 "directory; command not started" -k "$KEY" ./folder
}

@test "a shell command without -c: 127, and -c is suggested" {
	# shellcheck disable=SC2016 # a literal one
	for word in 'touch ran; true' 'touch ran' 'touch ran|cat' '>ran' 'A=b' '$SHELL'; do
		mistake 127 "\"$word\": not found (for a shell command use -c); command not started" \
			-k "$KEY" "$word"
	done
	mistake 127 '"no-such-command": not found; command' -k "$KEY" no-such-command
	mistake 127 '"touch ran": not found; command' -k "$KEY" 'touch ran' argument
	SHELL='/no/shell at all' mistake 127 'all": not found; command' -k "$KEY" -c 'touch ran'
}

@test "a variable before the command: 127, and env is suggested" {
	local word
	for word in A=b _a1= 'PATH=/x:/y' 'A=b c'; do
		mistake 127 "\"$word\": not found (to set a variable use env(1)); command not started" \
			-k "$KEY" "$word" touch ran
	done
	for word in '=b' '1A=b' 'a-b=c'; do
		mistake 127 "\"$word\": not found; command" -k "$KEY" "$word" touch ran
	done
}

@test "a command whose name has a blank in it is run" {
	own_server
	printf '#!/bin/sh\necho ran\n' >'a b;c'
	chmod +x 'a b;c'
	run -0 rl './a b;c'
	[[ $output == ran ]]
}

@test "the variables of a job are no mistake of a nested run" {
	own_server
	run -0 --separate-stderr "$RLOCKRUN" -k "$KEY" -k b "$RLOCKRUN" -v -k "$KEY" env
	[[ $output == *RLOCKRUN_HELD=* && $stderr == *joined* && $stderr != *RLOCKRUN_* ]]
}

@test "an action, which has no command, does not say that it was not started" {
	RLOCKRUN_TLS_CA=nowhere run -78 "$RLOCKRUN" --list -r rediss://localhost
	[[ $output == 'rlockrun: CA file "nowhere": No such file or directory' ]]
	run -69 "$RLOCKRUN" --list --server-timeout 0.1 -r unix:///nowhere
	[[ $output == *"No such file or directory"* && $output != *started* ]]
}

# --- what the server refuses ----------------------------------------------------

# fails_at STATUS URL: on a server of the test's own. Of the lock, nothing is left.
fails_at() {
	run -"$1" --separate-stderr timeout -k 1 30 "$RLOCKRUN" -k "$KEY" -n -r "$2" touch ran
	[[ -z $output && ${#stderr_lines[@]} == 1 && ! -e ran ]]
	[[ -z $(keys_left) ]]
}

@test "wrong passwords, dbs that aren't there, users without scripts: 77" {
	own_server
	fails_at 77 "unix://ghost:boo@$SUITE_DIR/s"
	fails_at 77 "unix://:boo@$SUITE_DIR/s"
	fails_at 77 "unix://$SUITE_DIR/s?db=16"
	fails_at 77 "unix://ghost:boo@$SUITE_DIR/s?db=16"
	cli acl setuser job on '>secret' '~*' +@all -@scripting
	fails_at 77 "unix://job:secret@$SUITE_DIR/s"
	cli acl setuser job +@all -eval -evalsha
	fails_at 77 "unix://job:secret@$SUITE_DIR/s"
}

@test "a key that is no lock is not touched: 76" {
	own_server
	cli rpush "list:$KEY" a
	cli hset "hash:$KEY" a b
	before=$(cli --raw dump "list:$KEY" && cli --raw dump "hash:$KEY")
	for KEY in "list:$KEY" "hash:$KEY"; do
		run -76 timeout 30 "$RLOCKRUN" -k "$KEY" -n touch ran
		[[ ${#lines[@]} == 1 && $output == *" is not a lock: "* ]]
	done
	KEY=${KEY#hash:}
	[[ $(cli --raw dump "list:$KEY" && cli --raw dump "hash:$KEY") == "$before" ]]
	[[ $(cli dbsize) == 2 ]]
}

# --- what is no mistake ---------------------------------------------------------

@test "a key of 1024 bytes is fine, with the longest and shortest times" {
	own_server
	run -0 "$RLOCKRUN" -k "$(printf %01024d 0)" -t 1 -E 255 -w 3653d --kill-after 0 true
	run -0 "$RLOCKRUN" -k "$KEY" -t 365d -n -w 0 true
}

@test "--help, --version and the table: to stdout, without a server" {
	export RLOCKRUN_REDIS=unix://$PWD/away
	for option in --help -h --version -V --dump-options; do
		run -0 --separate-stderr "$RLOCKRUN" "$option"
		[[ -n $output && -z $stderr ]]
	done
}

@test "--help, --version and the table fail where they can't be written" {
	for option in --help -h --version -V --dump-options; do
		code=0
		timeout 30 "$RLOCKRUN" "$option" >/dev/full 2>err || code=$?
		[[ $code == 71 && $(wc -l <err) == 1 ]]
		grep -q "cannot write to stdout: No space left on device" err
		code=0
		timeout 30 "$RLOCKRUN" "$option" >&- 2>err || code=$?
		[[ $code == 71 && $(<err) == *"cannot write to stdout: Bad file descriptor" ]]
	done
}

#!/usr/bin/env bats
# Mistakes: one line that says what is wrong, the right status, and nothing
# changed on the server.
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

# --- the key and the command --------------------------------------------------

@test "no key, an empty key" {
	wrong "no key given (-k NAME)" touch ran
	wrong "no key given"
	wrong "the key is empty" -k '' touch ran
	wrong "the key is empty" --key= touch ran
	wrong "-k needs an argument" -k
}

@test "several keys: one twice, an empty one, one with a newline, too many" {
	wrong "the same key is given twice: \"a\"" --key a --key b -k a touch ran
	wrong "the key is empty" -k a -k '' touch ran
	wrong "one of several keys can't contain a newline" -k a -k $'b\nc' touch ran
	wrong "one of several keys can't contain a newline" -k $'b\nc' -k a touch ran
	wrong "longer than 1024 bytes" -k a -k "$(printf %01025d 0)" touch ran
	wrong "--status takes one key" --status -k a -k b
	wrong "--force-release takes one key" --force-release --yes -k a -k b
	# shellcheck disable=SC2046 # many words
	wrong "-k 'k33': more than 32 locks" $(printf -- '-k k%d ' {1..33}) touch ran
}

@test "a key that is too long, or is named like a helper's" {
	long=$(printf %01024d 0)
	wrong "longer than 1024 bytes" -k "$long"0 touch ran
	wrong "longer than 1024 bytes" --prefix p: -k "$long" touch ran
	wrong "can't contain ':rlk:' or ':rlkt:'" -k "{a}:rlk:f" touch ran
	wrong "can't contain" -k "a:rlkt:i" touch ran
	wrong "can't contain" --prefix a:rlk -k : touch ran
}

@test "no command, an empty one, one too many" {
	wrong "no command given" -k "$KEY"
	wrong "no command given" -k "$KEY" --
	wrong "the command is empty" -k "$KEY" ''
	wrong "the command is empty" -k "$KEY" -c ''
	wrong "-c takes no further arguments" -k "$KEY" -c 'touch ran' more
	wrong "-c needs an argument" -k "$KEY" -c
	wrong "-c can be given once" -k "$KEY" -c 'touch ran' -c true
}

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

@test "a command whose name has a blank in it is run" {
	own_server
	printf '#!/bin/sh\necho ran\n' >'a b;c'
	chmod +x 'a b;c'
	run -0 rl './a b;c'
	[[ $output == ran ]]
}

@test "a URL without -r: refused, and not shown, since it may hold a password" {
	for word in redis://u:hush@h/1 rediss://:hush@h 'unix://u:hush@' redis-cluster://hush; do
		wrong 'no key given, and a URL is not a command (-k NAME -r URL)' "$word" -k "$KEY" touch ran
		[[ $stderr != *hush* ]]
		wrong 'a URL is not a command (-r URL names the server)' -k "$KEY" "$word" touch ran
		[[ $stderr != *hush* ]]
	done
}

# --- what flock(1) takes --------------------------------------------------------

@test "a file in place of -k: its name is suggested" {
	: >plain
	mkdir folder
	wrong 'no key given: a lock has a name, not a file (-k x instead of "/no/lock/x.lock")' /no/lock/x.lock touch ran
	wrong '(-k x.y instead of "/no/lock/x.y")' -n /no/lock/x.y -c 'touch ran'
	wrong '(-k x instead of "x.lock")' -s -w 5 x.lock touch ran
	wrong '(-k plain instead of "plain")' plain touch ran
	wrong '(-k folder instead of "folder")' folder touch ran
	wrong '(-k NAME instead of "/no/a b")' '/no/a b' touch ran
	wrong '(-k NAME instead of "./")' ./ touch ran
	wrong '(-k NAME instead of "/no/.lock")' /no/.lock touch ran
	# shellcheck disable=SC2016 # in the name
	wrong '(-k NAME instead of "/no/$x\"")' '/no/$x"' touch ran
	# A command has no place there.
	printf '#!/bin/sh\ntouch ran\n' >program.lock
	chmod +x program.lock
	wrong "no key given (-k NAME)" ./program.lock argument
	wrong "no key given (-k NAME)" touch ran
}

@test "a descriptor in place of -k" {
	wrong "no key given: a lock has a name, not a file descriptor (-k NAME COMMAND)" 9
	wrong "not a file descriptor" -n 200
	wrong "no key given (-k NAME)" ''
	wrong "no key given (-k NAME)" 9 touch ran
}

@test "options of flock(1) without a counterpart" {
	for option in -u --unlock; do
		wrong "$option: the lock is released when the command has ended" "$option" 9
		wrong "$option: the lock" -n "$option" -k "$KEY" touch ran
	done
	for option in -o --close; do
		wrong "$option: not needed, the command inherits no" -n "$option" -k "$KEY" touch ran
	done
	for option in -F --no-fork; do
		wrong "$option: not possible, rlockrun renews the lock" "$option" -k "$KEY" touch ran
	done
	wrong "--fcntl: not possible, the lock is on a server" --fcntl /tmp/x touch ran
	wrong "-o: not needed" -no -k "$KEY" touch ran
	run -0 "$RLOCKRUN" --help
	[[ ! $output =~ unlock,|no-fork|fcntl ]]
}

@test "what flock(1) and rlockrun have in common" {
	own_server
	for options in '-s -n' '-x -w 5' '-e --wait 1.5' '--nb -E 9' '--timeout 3 --verbose' \
		'--shared --nonblock --conflict-exit-code 4' '--exclusive --nonblocking'; do
		# shellcheck disable=SC2086 # several words
		run -7 rl $options -c 'exit 7'
	done
}

# --- options --------------------------------------------------------------------

@test "unknown options" {
	wrong "unknown option -z" -z -k "$KEY" touch ran
	wrong "unknown option -z" -nz -k "$KEY" touch ran
	wrong "unknown or ambiguous option --nope" --nope -k "$KEY" touch ran
	wrong "unknown or ambiguous option --nope" --nope=5 -k "$KEY" touch ran
	wrong "unknown or ambiguous option --pass" --pass=x -k "$KEY" touch ran
	wrong "takes no argument" --quiet=yes -k "$KEY" touch ran
	wrong "needs an argument" -k "$KEY" --ttl
}

@test "options that exclude each other" {
	wrong "-n and -w exclude each other" -k "$KEY" -n -w 5 touch ran
	wrong "-n and -w exclude each other" -k "$KEY" --wait 5 --nb touch ran
	wrong_variable "RLOCKRUN_NONBLOCK and RLOCKRUN_WAIT exclude" \
		RLOCKRUN_NONBLOCK=1 RLOCKRUN_WAIT=5
	wrong_variable "RLOCKRUN_PASSWORD and RLOCKRUN_PASSWORD_FILE exclude" \
		RLOCKRUN_PASSWORD=a RLOCKRUN_PASSWORD_FILE=b
}

@test "actions that exclude each other or a command, or require a key" {
	wrong "--status and --list exclude each other" --status --list -k "$KEY"
	wrong "--list and --force-release exclude each other" --list -k "$KEY" --force-release
	for action in --status --force-release; do
		wrong "no key given" $action
		wrong "the key is empty" $action -k ''
		wrong "longer than 1024 bytes" $action -k "$(printf %01025d 0)"
		wrong "can't contain ':rlk:'" $action -k 'a:rlk:b'
		wrong "no key given (-k NAME)" $action job
		wrong "$action takes no command" $action -k "$KEY" touch ran
		wrong "$action takes no command" $action -k "$KEY" -c 'touch ran'
	done
	wrong "--list takes a GLOB, not -k" --list -k "$KEY"
	wrong "--list takes no command" --list -c 'touch ran'
	wrong "unknown or ambiguous option --nope" --list 'a*' --nope
	wrong "--status takes no argument" --status=yes -k "$KEY"
}

@test "options of other actions" {
	wrong "--json needs --status, --list or --doctor" --json -k "$KEY" touch ran
	wrong "--json needs --status, --list or --doctor" --json --force-release --yes -k "$KEY"
	wrong "--older-than needs --list" --older-than 5 --status -k "$KEY"
	wrong "--older-than needs --list" --older-than 5 -k "$KEY" touch ran
	wrong "--token needs --force-release" --token x --list
	wrong "--token needs --force-release" --token x -k "$KEY" touch ran
	wrong "--yes needs --force-release" --yes --status -k "$KEY"
	wrong "--token needs an argument" --force-release -k "$KEY" --token
	for value in -1 5x '' soon; do
		wrong "--older-than '$value': not a duration" --list --older-than "$value"
	done
	wrong "needs --token or --yes if it cannot ask" --force-release -k "$KEY" </dev/null
}

@test "times and numbers that are none, or too small or too large" {
	local none="not a duration (a number with ms, s, min, h or d, such as 90, 1.5h or 1h30m)"
	for value in 0 999ms 0.9 366d 99999999999999999999; do
		wrong "-t '$value': not a duration from 1s to 365d" -k "$KEY" -t "$value" touch ran
	done
	for value in 30x 1e9 -1 '' ' 5' '5 ' 1s1 1h1h 1h30 1,5 0x10 inf nan; do
		wrong "-t '$value': $none" -k "$KEY" -t "$value" touch ran
	done
	wrong "-w '9999999d': not a duration from 0 to 3653d" -k "$KEY" -w 9999999d touch ran
	for value in -1 5x '' soon 1e3; do
		wrong "-w '$value': $none" -k "$KEY" -w "$value" touch ran
		wrong "--kill-after '$value': not a duration" -k "$KEY" --kill-after "$value" touch ran
	done
	for value in 300 256 -1 1x '' 1.0 4294967296 18446744073709551616; do
		wrong "-E '$value': not a number from 0 to 255" -k "$KEY" -E "$value" touch ran
	done
	for value in 0 -1 x; do
		wrong "--server-timeout '$value': not a" -k "$KEY" --server-timeout "$value" touch ran
		wrong "--max-run '$value': not a" -k "$KEY" --max-run "$value" touch ran
		wrong "--warn-after '$value': not a" -k "$KEY" --warn-after "$value" touch ran
	done
	wrong "--splay '-1': not a duration" -k "$KEY" --splay -1 touch ran
	wrong "neither stop nor warn" -k "$KEY" --on-lost go touch ran
	wrong "neither fail nor run" -k "$KEY" --on-unavailable runs touch ran
}

@test "a label that is empty, or longer than 256 bytes" {
	long=$(printf %0257d 0)
	wrong "--label '': not a text of 1 to 256 bytes" -k "$KEY" --label '' touch ran
	wrong "--label '$long': not a text" -k "$KEY" --label "$long" touch ran
	wrong_variable "RLOCKRUN_LABEL '$long': not a text" "RLOCKRUN_LABEL=$long"
}

@test "the same in the environment: 78, and the variable is named" {
	wrong_variable "RLOCKRUN_TTL '0': not a duration" RLOCKRUN_TTL=0
	wrong_variable "RLOCKRUN_WAIT '-1': not a duration" RLOCKRUN_WAIT=-1
	wrong_variable "RLOCKRUN_CONFLICT_EXIT_CODE '300'" RLOCKRUN_CONFLICT_EXIT_CODE=300
	wrong_variable "RLOCKRUN_NONBLOCK 'maybe': neither yes nor no" RLOCKRUN_NONBLOCK=maybe
	wrong_variable "RLOCKRUN_ON_LOST 'go'" RLOCKRUN_ON_LOST=go
}

@test "a valid option on the command line overrides a bad variable" {
	RLOCKRUN_TTL=0 mistake 127 ": not found; command not started" -k "$KEY" -t 5 no-such-command
}

@test "variables that are none of ours: with -v a warning for each" {
	own_server
	export RLOCKRUN_WIAT=secret RLOCKRUN_TIMEOUT=5 RLOCKRUN_max_ruN=5 \
		RLOCKRUN_PASWORD=secret RLOCKRUN_YES=1 RLOCKRUN_FRUIT=5 RLOCKRUN_TLT=5 \
		RLOCKRUN_EMPTI='' RLOCKRUNNER=5
	run -0 --separate-stderr "$RLOCKRUN" -k "$KEY" true
	[[ -z $stderr ]]
	run -64 --separate-stderr "$RLOCKRUN" -v -k "$KEY" -t 0 true
	[[ ${#stderr_lines[@]} == 1 ]]
	for given in -v RLOCKRUN_VERBOSE=1; do
		[[ $given == -v ]] || export "${given?}"
		run -0 --separate-stderr "$RLOCKRUN" -k "$KEY" ${given%%R*} true
		grep ' RLOCKRUN_' <<<"$stderr" | sort >got
		diff - got <<-'END'
			rlockrun: RLOCKRUN_FRUIT is not a variable of rlockrun; ignored
			rlockrun: RLOCKRUN_PASWORD is not a variable of rlockrun; ignored (did you mean RLOCKRUN_PASSWORD?)
			rlockrun: RLOCKRUN_TIMEOUT is not a variable of rlockrun; ignored (did you mean RLOCKRUN_WAIT?)
			rlockrun: RLOCKRUN_TLT is not a variable of rlockrun; ignored (did you mean RLOCKRUN_TTL?)
			rlockrun: RLOCKRUN_WIAT is not a variable of rlockrun; ignored (did you mean RLOCKRUN_WAIT?)
			rlockrun: RLOCKRUN_YES is ignored: --yes is for the command line only
			rlockrun: RLOCKRUN_max_ruN is not a variable of rlockrun; ignored (did you mean RLOCKRUN_MAX_RUN?)
		END
		[[ $stderr != *secret* ]]
	done
}

@test "the variables of a job are no mistake of a nested run" {
	own_server
	run -0 --separate-stderr "$RLOCKRUN" -k "$KEY" -k b "$RLOCKRUN" -v -k "$KEY" env
	[[ $output == *RLOCKRUN_HELD=* && $stderr == *joined* && $stderr != *RLOCKRUN_* ]]
}

# --- URLs -----------------------------------------------------------------------

# wrong_url WORDS URL: by option and by both variables.
wrong_url() {
	wrong "-r: $1" -k "$KEY" -r "$2" touch ran
	wrong_variable "RLOCKRUN_REDIS: $1" "RLOCKRUN_REDIS=$2"
	wrong_variable "REDIS_URL: $1" RLOCKRUN_REDIS= "REDIS_URL=$2"
}

# bats test_tags=extra
@test "URLs that are none" {
	for port in 70000 65536 0 -1 x 1x '' 99999999999999999999; do
		wrong_url "port must be 1 to 65535" "redis://h:$port"
	done
	wrong_url "no host" "redis://"
	wrong_url "no host" "redis://:6379"
	wrong_url "no host" "redis://user@/1"
	wrong_url "bad IPv6 address" "redis://[::1"
	wrong_url "bad IPv6 address" "redis://[::g]"
	wrong_url "unknown scheme" "http://h"
	wrong_url "unknown scheme" "h:6379"
	wrong_url "unknown scheme" "redis:/h"
	for escape in % %1 %zz %00; do
		wrong_url "bad percent-escape" "redis://u:p$escape@h"
	done
	wrong_url "db must be a number" "redis://h/x"
	wrong_url "db must be a number" "redis://h/-1"
	wrong_url "only unix:// takes a query" "redis://h/0?db=1"
	wrong_url "only unix:// takes a query" "rediss://h/0?db=1"
	wrong_url "the path of a socket must be absolute" "unix://s"
	wrong_url "only ?db=N" "unix:///s?password=x"
	wrong_url "the path of a socket cannot have more than 107 bytes" "unix:///$(printf %0107d 0)"
	wrong_url "no host" "rediss://:1"
	wrong "one server per -r" -k "$KEY" -r "redis://a redis://b" touch ran
}

# --- password files -------------------------------------------------------------

@test "password files that are missing, open to others or no passwords" {
	file=$PWD/password
	given=(-k "$KEY" --password-file "$file" touch ran)
	mistake 78 "password file \"$file\": No such file or directory" "${given[@]}"
	(umask 077 && echo secret >"$file")
	for mode in 604 602 606 644; do
		chmod "$mode" "$file"
		mistake 78 "others can read or write it" "${given[@]}"
	done
	chmod 600 "$file"
	: >"$file"
	mistake 78 "password file \"$file\": empty" "${given[@]}"
	printf 'two\nlines\n' >"$file"
	mistake 78 "more than one line" "${given[@]}"
	printf 'a\0b' >"$file"
	mistake 78 "NUL" "${given[@]}"
	printf %04097d 0 >"$file"
	mistake 78 "longer than 4096 bytes" "${given[@]}"
	rm "$file" && mkdir "$file"
	mistake 78 "neither a regular file nor a pipe" "${given[@]}"
	wrong_variable "password file \"$file\": neither" "RLOCKRUN_PASSWORD_FILE=$file"
}

@test "an action, which has no command, does not say that it was not started" {
	export RLOCKRUN_PASSWORD_FILE=nowhere
	for action in --status --force-release\ --yes; do
		# shellcheck disable=SC2086 # two words
		run -78 rl $action
		[[ $output == 'rlockrun: password file "nowhere": No such file or directory' ]]
	done
	run -78 "$RLOCKRUN" --list
	[[ $output == 'rlockrun: password file "nowhere": No such file or directory' ]]
	export RLOCKRUN_PASSWORD_FILE='' RLOCKRUN_TLS_CA=nowhere
	run -78 "$RLOCKRUN" --list -r rediss://localhost
	[[ $output == 'rlockrun: CA file "nowhere": No such file or directory' ]]
	run -69 "$RLOCKRUN" --list --server-timeout 0.1 -r unix:///nowhere
	[[ $output == *"No such file or directory"* && $output != *started* ]]
}

@test "no option takes a password" {
	wrong "--password: not accepted here" -k "$KEY" --password secret touch ran
	wrong "--password: not accepted here" -k "$KEY" --password=secret touch ran
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

@test "what stands behind the command is the command's" {
	own_server
	run -0 "$RLOCKRUN" -k "$KEY" echo -l -k -n --help -- --nope
	[[ $output == "-l -k -n --help -- --nope" ]]
	run -0 "$RLOCKRUN" -k "$KEY" -- echo -- -k
	[[ $output == "-- -k" ]]
	run -0 "$RLOCKRUN" -nq -k"$KEY" -t2 -E9 echo all
	[[ $output == all ]]
}

@test "a key of 1024 bytes, a ttl of 1s and a code of 255 are fine" {
	own_server
	run -0 "$RLOCKRUN" -k "$(printf %01024d 0)" -t 1 -E 255 -w 3653d --kill-after 0 true
	run -0 "$RLOCKRUN" -k "$KEY" -t 365d -n -w 0 true
	run -0 "$RLOCKRUN" -k "$KEY" -t 1000ms -E 0 -n true
}

@test "durations in words and as sums are fine" {
	own_server
	run -0 "$RLOCKRUN" -k "$KEY" -t '1min 30sec' -w 1h30m --kill-after 500msec \
		--server-timeout 0.5minutes --max-run 2hours printenv RLOCKRUN_TTL_MS
	[[ $output == 90000 ]]
	run -0 env RLOCKRUN_TTL=2min "$RLOCKRUN" -k "$KEY" printenv RLOCKRUN_TTL_MS
	[[ $output == 120000 ]]
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

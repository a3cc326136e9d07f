#!/usr/bin/env bats
# Redis 5, the oldest one: waiting without timeouts below a second, and what the
# doctor says. A proxy answers as Redis 5 does. And Redis 4, which is refused.
# shellcheck disable=SC2016,SC2034,SC2154 # helpers and run set and use these

load ../helpers/suite
load ../helpers/queue
load ../helpers/faults
load ../helpers/connect

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	through redis5
}
teardown() {
	end_monitor
	end_test
}

# refused COUNT: so many timeouts were, of all waiters together.
refused() {
	(($(grep -c '^answered BLPOP' proxy/log) == $1))
}

@test "S35: waiters run in the order in which they came, and none leaves the queue" {
	holds A
	for n in {1..5}; do
		enqueue "$n"
	done
	passed BLPOP 5
	wait_until refused 5 # once for each: then it is asked for whole seconds
	passed BLPOP 7
	touch go
	all_end_well
	[[ $(paste -sd ' ' order) == "A 1 2 3 4 5" ]]
	refused 5
	sort -c -n -u fences
	run ! grep -Ev 'is held by|acquired after' err.*
	[[ ! -e overlaps && -z $(keys_left) ]]
}

@test "S35: a dead head is replaced" {
	holds A
	enqueue B
	kill -STOP "$PID"
	enqueue C
	enqueue D
	passed BLPOP 3
	touch go.A
	exits_with 0 "${STARTED[0]}"
	wait_for_file C.started
	touch go
	exits_with 0 "${STARTED[2]}"
	exits_with 0 "${STARTED[3]}"
	[[ $(paste -sd ' ' order) == "A C D" ]]
}

@test "Redis 5: all kinds of locks, and looking at them, without a message" {
	local lock
	for lock in '--once-per 1m' --shared '--permits 2' "-k $KEY-2" '--min-hold 0.1'; do
		# shellcheck disable=SC2086 # a word for each
		run -0 --separate-stderr rl $lock -- "$RLOCKRUN" $lock -k "$KEY" true
		[[ -z $stderr ]]
	done
	wait_until is_free
	hold -t 9 --label five
	run -0 --separate-stderr rl --status
	[[ -z $stderr && $output == *five* ]]
	run -0 "$RLOCKRUN" --list "$KEY*"
	[[ $output == *five*"1 lock found"* ]]
	run -0 rl --force-release --yes
	exits_with 79 "$PID"
	run -0 --separate-stderr rl --hold 1m
	[[ -z $stderr ]]
	run -0 rl --force-release --yes
}

# fails_once WORDS: the first script does, as if it had come so far.
fails_once() {
	rules redis5 "answer:EVAL:1:-@user_script: 10: $1 (SET)"
}

@test "Redis 5: errors inside of scripts mean what they mean elsewhere" {
	fails_once "-READONLY You can't write against a read only replica.  "
	run -0 --separate-stderr rl -n true
	[[ -z $stderr && $(connections) == 2 ]]
	fails_once "-OOM command not allowed when used memory > 'maxmemory'.  "
	run -0 --separate-stderr rl true
	[[ -z $stderr && $(connections) == 3 ]]
	hold -t 9
	fails_once "-READONLY You can't write against a read only replica.  "
	wait_until eval '(($(connections) == 5))'
	touch "done"
	exits_with 0 "$PID"
	fails_once "The user executing the script can't access at least one of the keys mentioned in the command arguments"
	run -0 --separate-stderr rl -v true
	[[ $stderr == *"the run is not recorded"* ]]
	rules redis5 "answer:EVAL::-@user_script: 10: The user executing the script can't run this command or subcommand (SET)"
	run -77 rl true
}

@test "Redis 5: the doctor finds nothing wrong with waiting" {
	stop_proxy
	own_server --appendonly yes --appendfsync always --maxmemory-policy noeviction
	through redis5
	run -0 "$RLOCKRUN" --doctor
	[[ $output == *"note     version            Redis 5."*"0 errors, 0 warnings"* ]]
	[[ $output == *"ok       access "* && -z $(cli --raw keys '*') ]]
}

# refused_login WORDS ADVICE: of a run and of the doctor; no password is in it.
refused_login() {
	run -77 rl --on-unavailable run touch ran
	is_last_word ": $1 ($2); command not started"
	[[ $output != *hush* && ! -e ran ]]
	run -77 "$RLOCKRUN" --doctor
	[[ $output == *"the server refuses us: $1"*"-> $2"* && $output != *hush* ]]
}

@test "Redis 5: a refused login gets the advice for a server without users" {
	local users="before Redis 6 there are no users: leave the user out, as in redis://:PASSWORD@HOST"
	local count="ERR wrong number of arguments for 'auth' command"
	local there=${RLOCKRUN_REDIS#unix://}
	for url in "unix://h:hush@$there" "unix://default:hush@$there" "unix://h@$there"; do
		RLOCKRUN_REDIS=$url refused_login "$count" "$users"
	done
	RLOCKRUN_USER=u RLOCKRUN_PASSWORD=hush refused_login "$count" "$users"
	RLOCKRUN_USER=u RLOCKRUN_PASSWORD=auth refused_login "$count" "$users"
	rules redis5 'answer:AUTH::-ERR invalid password'
	RLOCKRUN_PASSWORD=hush refused_login 'ERR invalid password' 'check the password'
	rules redis5 'answer:AUTH::-ERR Client sent AUTH, but no password is set'
	RLOCKRUN_PASSWORD=hush refused_login 'ERR Client sent AUTH, but no password is set' 'leave the password out'
}

# What a Redis 4 says to a script that writes after TIME, and a later one that is
# configured so.
@test "Redis 4 is refused in one plain line, by the doctor, too" {
	local why="it is older than Redis 5, or lua-replicate-commands is no"
	rules "answer:EVAL::-@user_script: 10: Write commands not allowed after non deterministic commands. Call redis.replicate_commands() at the start of your script in order to switch to single commands replication mode. (SET)"
	for kind in --exclusive --shared '-k b' '-p 2'; do
		# shellcheck disable=SC2086 # a word for each
		run -69 rl --on-unavailable run $kind touch ran
		[[ ${#lines[@]} == 1 && $output == *": error from unix://"*": $why (install Redis 5 or newer, "* ]]
	done
	[[ ! -e ran && -z $(keys_left) ]]
	rules "answer:EVAL:1:-ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'" \
		"answer:EVAL:2:-@user_script: 1: Write commands not allowed after non deterministic commands. Call redis.replicate_commands() at the start of your script in order to switch to single commands replication mode."
	run -69 "$RLOCKRUN" --doctor
	[[ $output == *"error    writes             the server refuses to write: $why"*"install Redis 5"* ]]
}

# Of the commands and options in quotes, as the server itself describes them.
@test "no script needs a command or an option that came after Redis 5" {
	cli --json command docs >described 2>/dev/null || :
	grep -q since described || skip 'this server does not describe its commands'
	/usr/bin/python3 - "$SCRIPTS"/*.lua >later <<-'END'
		import json, re, sys
		docs = {name.upper(): about for name, about in json.load(open("described")).items()}
		def is_later(about):
		    return int(about.get("since", "1").split(".")[0]) > 5
		def later_options(about):
		    for argument in about.get("arguments", []):
		        if is_later(argument):
		            yield argument.get("token")
		        yield from later_options(argument)
		for path in sys.argv[1:]:
		    calls = re.findall(r"'([A-Z]+)'((?:[^(){}]|\([^()]*\))*)", open(path).read())
		    calls = [(name, options) for name, options in calls if name in docs]
		    print(len(calls), "commands")
		    for name, options in calls:
		        if is_later(docs[name]):
		            print("later:", path, name)
		        for option in later_options(docs[name]):
		            if f", '{option}'" in options:
		                print("later:", path, name, option)
	END
	grep -q '^[1-9][0-9]* commands' later
	run -1 grep later: later
}

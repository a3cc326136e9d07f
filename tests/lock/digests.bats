#!/usr/bin/env bats
# Scripts are sent by their digests, and once more as a whole (EVAL) to a server
# that lacks them or does not know EVALSHA. Nobody notices, and nothing is run
# twice. These servers start COLD: without any script.
# shellcheck disable=SC2016,SC2034 # the jobs' shells expand that; helpers use it

load ../helpers/suite
load ../helpers/queue
load ../helpers/faults
load ../helpers/cluster
load ../helpers/sentinel

setup() {
	begin_queue_test
	COLD=1
}
teardown() {
	end_monitor
	end_test
}

# For this test alone, through the proxy.
cold_server() {
	own_server
	SUITE_URL=$RLOCKRUN_REDIS
	through
}

# calls COMMAND: how often the server got it since it started or RESETSTAT.
calls() {
	local line
	line=$(cli info commandstats | grep "^cmdstat_$1:" || echo calls=0,)
	line=${line#*calls=}
	echo "${line%%,*}"
}

# sent NAME: how many of these the proxy has passed on.
sent() {
	grep -c "^$1\$" proxy/log || :
}

# load_script NAME...
load_script() {
	local name
	for name; do cli -x script load <"$SCRIPTS/$name.lua" >/dev/null; done
}

# ran_once: each command of ours that writes was run once, whatever was sent.
ran_once() {
	local command
	catch_up
	for command in SET DEL; do
		[[ $(grep -c "lua\] \"$command\" \"$KEY\"" "$MONITOR") == 1 ]]
	done
}

# --- digests -------------------------------------------------------------------

@test "the digests of the build are those that the server computes" {
	local file digest count=0
	own_server
	for file in "$SCRIPTS"/*.lua; do
		digest=$(cli -x script load <"$file")
		[[ ${#digest} == 40 ]]
		grep -A 1000 "script_$(basename "$file" .lua) = {" "$SCRIPTS.c" |
			grep -m 1 '^	"[0-9a-f]*"};$' | grep "\"$digest\""
		count=$((count + 1))
	done
	((count == $(grep -c '^const struct script' "$SCRIPTS.c") && count > 10))
}

@test "a server gets a script as a whole once, then by its digest" {
	own_server
	run -0 rl true
	[[ -z $output && $(calls evalsha) == 2 && $(calls eval) == 2 ]]
	run -0 rl true
	[[ -z $output && $(calls evalsha) == 4 && $(calls eval) == 2 ]]
	[[ $(calls set) == 2 && $(calls script) == 0 && -z $(keys_left) ]]
}

@test "a run on a server that has the scripts sends less than 2 kB" {
	local bytes
	command -v strace || skip "strace is missing"
	own_server
	run -0 rl true
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -f -qq -o trace \
		-e trace=sendto,write,writev "$RLOCKRUN" -k "$KEY" true
	bytes=$(sed -n 's/.*"\*[0-9].*= \([0-9]*\)$/\1/p' trace | paste -sd +)
	echo "$bytes"
	((bytes > 500 && bytes < 2000))
}

# --- forgotten scripts ------------------------------------------------------------

# bats test_tags=night
@test "scripts that are forgotten before each command do no harm" {
	cold_server
	rules forget
	monitor
	job
	passed EVAL/1 2
	ends_well
	[[ ! -s $ERR ]]
	ran_once
	# Nothing but the scripts is sent once more.
	[[ $(sent CLIENT) == 1 && $(sent EVAL/acquire) == 2 && $(sent EVAL/release) == 2 ]]
}

@test "NOSCRIPT even to EVAL is an error, and no loop" {
	cold_server
	rules 'answer:EVAL::-NOSCRIPT No matching script.'
	run -69 rl touch ran
	[[ ${#lines[@]} == 1 && $output == *NOSCRIPT* && ! -e ran ]]
	# Fewer keys are tried, too: each try twice.
	[[ $(grep '^answered' proxy/log | sort | uniq -c | awk '{ print $1 }' | sort -u) == 2 ]]
}

# --- a release right behind ---------------------------------------------------------

# The try, which has gone as a digest, is followed by its release alone, whose script
# is missing, too.
is_released_unsent() {
	job
	passed EVAL/acquire 1
	kill -TERM "$PID"
	passed EVAL/release 1
	touch proxy/go
	exits_with 143 "$PID"
	[[ $(sent EVAL/acquire) == 1 && $(calls set) == 0 ]]
	[[ ! -e job && -z $(keys_left) ]]
}

@test "a try without its script is not sent again behind its release" {
	cold_server
	rules until:go:EVAL/acquire:1
	is_released_unsent
}

@test "a try without its script is not sent again to a cluster behind its release" {
	TOPOLOGY=cluster own_server
	start_proxy proxy until:go:EVAL/acquire:1
	RLOCKRUN_REDIS=redis-cluster://127.0.0.1:$PORT
	is_released_unsent
}

@test "a try whose time is over is not sent again" {
	cold_server
	rules stay:go:EVAL/acquire:1
	run -69 rl -w 1 touch ran
	touch proxy/go
	wait_until eval '(($(sent EVAL/acquire) == 1))'
	[[ ! -e ran && $(calls set) == 0 && -z $(keys_left) ]]
}

@test "a release without its script is sent again, though the run was signalled" {
	cold_server
	running
	rules until:go:EVAL/release:1
	touch "done"
	wait_for_file proxy/go.held
	kill -TERM "$PID"
	touch proxy/go
	exits_with 7 "$PID"
	[[ $(sent EVAL/release) == 2 && -z $(keys_left) ]]
}

# The server that thaws knows how to grant, not how to release, and we are gone.
@test "a run that cannot wait for the reply sends its release as a whole" {
	cold_server
	load_script acquire_exclusive
	freeze
	job -t 60
	passed EVAL/acquire 1
	kill -TERM "$PID"
	exits_with 143 "$PID"
	passed EVAL/release 1
	thaw
	wait_until eval '(($(calls eval) > 0))'
	[[ $(calls set) != 0 && ! -e job && -z $(keys_left) ]]
}

@test "a release that is overdue is sent as a whole, too" {
	cold_server
	running -t 60
	freeze
	touch "done"
	passed EVAL/release 1
	kill -TERM "$PID" # ends the wait for a server that is silent
	exits_with 7 "$PID"
	passed EVAL/release 2
	thaw
	wait_until none_left
	says 'cannot confirm the release'
	# Of the try and of the release; the signal leaves time for another one.
	(($(sent EVAL/release) >= 2 && $(calls eval) >= 2))
}

@test "a waiter that is ended leaves nothing, with scripts forgotten each time" {
	cold_server
	rules forget
	holds A
	enqueue B
	kill -TERM "$PID"
	exits_with 143 "$PID"
	[[ $(cli exists "$Q" "$L") == 0 ]]
	touch go
	exits_with 0 "${STARTED[0]}"
	[[ -z $(keys_left) ]]
}

# --- servers without EVALSHA ----------------------------------------------------------

@test "a server that does not know EVALSHA is served by EVAL, and asked once" {
	cold_server
	rules "answer:EVALSHA::-ERR unknown command 'EVALSHA', with args beginning with: 'x'"
	running
	ends_well
	[[ ! -s $ERR && $(grep -c '^answered' proxy/log) == 1 ]]
	[[ $(calls evalsha) == 0 && $(calls set) == 1 ]]
}

@test "a proxy without EVALSHA is served by EVAL, whatever its words" {
	local words
	cold_server
	for words in "ERR unknown command" "ERR Proxy fail to parse command" \
		"ERR command evalsha not support for your account"; do
		rules "answer:EVALSHA::-$words"
		run -0 rl true
		[[ -z $output ]]
	done
	[[ $(grep -c '^answered' proxy/log) == 3 && $(calls set) == 3 && -z $(keys_left) ]]
}

@test "a server that has another word before NOSCRIPT gets the script" {
	cold_server
	rules "answer:EVALSHA::-ERR NOSCRIPT No matching script"
	run -0 rl true
	# Asked by digest each time, as it may have the next script.
	[[ -z $output && $(grep -c '^answered' proxy/log) == 2 && -z $(keys_left) ]]
}

@test "a user who may use EVAL only is served by EVAL" {
	own_server
	cli acl setuser eval on nopass '~*' '&*' +@all -evalsha >/dev/null
	RLOCKRUN_REDIS=unix://eval:x@$SUITE_DIR/s
	holds A
	enqueue B
	touch go
	all_end_well
	[[ ! -s err.1 && $(paste -sd ' ' order) == "A B" && -z $(keys_left) ]]
	run -0 "$RLOCKRUN" --list
}

@test "a user who may use EVALSHA only needs a server that has the scripts" {
	own_server
	cli acl setuser sha on nopass '~*' '&*' +@all -eval >/dev/null
	RLOCKRUN_REDIS=unix://sha:x@$SUITE_DIR/s
	run -77 rl touch ran
	[[ ${#lines[@]} == 1 && $output == *NOPERM*"'eval'"*"see ACCESS RULES"* && ! -e ran ]]
	load_scripts "$SUITE_DIR/s"
	run -0 rl true
	[[ -z $output && -z $(keys_left) ]]
}

# --- several servers ------------------------------------------------------------------

# While the slot moves, only scripts with a single key are run on the node that
# ASK names: such a name has no other key.
@test "what follows an ASK redirect travels as a text" {
	local from=0 to=1 slot
	SUITE_DIR=$PWD/c0
	start_cluster "$PWD" 2 0
	KEY="a}$KEY"
	slot=$(slot_of "$PWD" "$KEY")
	((slot < 8192)) || from=1 to=0
	node_cli "$PWD/c$to" cluster setslot "$slot" importing "$(node_cli "$PWD/c$from" cluster myid)"
	node_cli "$PWD/c$from" cluster setslot "$slot" migrating "$(node_cli "$PWD/c$to" cluster myid)"
	RLOCKRUN_REDIS=redis-cluster://127.0.0.1:${PORTS[from]}
	run -0 rl -n true
	[[ -z $output ]]
	SUITE_DIR=$PWD/c$to
	# Acquire tries DEL, too.
	[[ $(calls set) == 1 && $(calls del) == 2 && $(calls evalsha) == 0 && $(calls eval) == 2 ]]
	[[ $(calls asking) == 2 && -z $(cli keys '*') ]]
}

@test "one of three independent servers lacks the scripts" {
	local i
	for i in 1 2 3; do start_server "$PWD/$i"; done
	load_scripts "$PWD/1/s"
	load_scripts "$PWD/2/s"
	export RLOCKRUN_REDIS="unix://$PWD/1/s unix://$PWD/2/s unix://$PWD/3/s"
	export RLOCKRUN_MIN_UPTIME=0
	start rl -- sh ./turn A
	wait_for_file A.started
	for i in 1 2 3; do
		SUITE_DIR=$PWD/$i
		wait_until is_held
	done
	touch go
	exits_with 0 "$PID"
	for i in 1 2 3; do
		SUITE_DIR=$PWD/$i
		[[ -z $(keys_left) ]]
	done
	[[ ! -s $ERR ]]
}


#!/usr/bin/env bats
# Scripts are sent by their digests, and once more as a whole (EVAL) to a server
# that lacks them or does not know EVALSHA. Nobody notices, and nothing is run
# twice. These servers start COLD: without any script.
# shellcheck disable=SC2016,SC2034 # the jobs' shells expand that; helpers use it

load ../helpers/suite
load ../helpers/queue
load ../helpers/faults
load ../helpers/cluster

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

# --- servers without EVALSHA ----------------------------------------------------------

@test "a server that does not know EVALSHA is served by EVAL, and asked once" {
	cold_server
	rules "answer:EVALSHA::-ERR unknown command 'EVALSHA', with args beginning with: 'x'"
	running
	ends_well
	[[ ! -s $ERR && $(grep -c '^answered' proxy/log) == 1 ]]
	[[ $(calls evalsha) == 0 && $(calls set) == 1 ]]
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

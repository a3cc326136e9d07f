#!/usr/bin/env bats
# Servers that deny: what a run still does there, and what --doctor says about it, by one
# real server, and by proxies. Each command and each provider is in
# tests/tables/denying.txt.
# shellcheck disable=SC2034,SC2153,SC2154 # helpers and run set and use these

load ../helpers/suite
load ../helpers/admin
load ../helpers/doctor

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# runs STATUS WORDS [OPTION...]: so a run ends. One that is refused says why in one
# line with these words, starts no job, and leaves nothing.
runs() {
	run -"$1" rl -n "${@:3}" echo ran
	if (($1)); then
		[[ ${#lines[@]} == 1 && $output == *"$2"*"; command not started" ]]
	else
		[[ $output == ran ]]
	fi
	[[ -z $(keys_left) ]]
}

# A run gets the lock after another client, which rings nobody's doorbell.
waits() {
	cli set "$KEY" another px 150
	run -0 rl -q echo ran
	[[ $output == *ran ]]
}

# examines STATUS FINDING [OPTION...]: so the doctor ends, with that finding (SEVERITY
# CHECK). Without errors it may warn.
examines() {
	local severity check
	read -r severity check <<<"$2"
	run --separate-stderr rlockrun --doctor --json -k "$KEY" "${@:3}"
	echo "$output"
	[[ $output == *"\"status\":$1}" || ($1 == 0 && $output == *'"status":1}') ]]
	[[ ! $check ]] || found "$check" "$severity" ''
}

# lacks_wait WORDS: --wait-replicas is refused. (The doctor's status is that of what it
# finds first, that there is no replica.)
lacks_wait() {
	runs 77 "--wait-replicas needs WAIT: $1" --wait-replicas 1:5s
	examines 69 "error access-replicas" --wait-replicas 1:5s
}

@test "deny: a server without CLIENT and CONFIG, with one db" {
	own_server --databases 1 --rename-command CLIENT '' --rename-command CONFIG ''
	runs 0 ''
	examines 0 "note access-name"
	RLOCKRUN_REDIS+="?db=1"
	runs 77 "choose a db that the server has"
	examines 77 "error reach"
}

# --- what proxies refuse --------------------------------------------------------

# Scripts pass, whatever they call. What is asked without a key does not, since no
# server is meant by it.
UNKNOWN="-ERR unknown command"
ENVOY=(answer:{ACL,ASKING,BLPOP,CLIENT,TIME,WAIT}::"$UNKNOWN"
	answer:EVAL/0::"-ERR wrong number of arguments for 'eval' command") # 1.36
PREDIXY=(answer:{ACL,ASKING,CLIENT,CLUSTER,ROLE,TIME,WAIT}::"$UNKNOWN"
	answer:EVAL/0::"$UNKNOWN") # 1.0.5
CODIS=(answer:{ACL,BLPOP,CLIENT,CONFIG,SCAN,TIME,WAIT}::"-ERR handle request, command is not allowed") # 3.2

# behind NAME RULE...: a proxy before a server of this test.
behind() {
	[[ ! -e own ]] || stop_server "$PWD/own"
	rm -rf own
	own_server --appendonly yes --appendfsync always --maxmemory-policy noeviction
	start_proxy "$@"
}

@test "deny: Envoy, predixy and Codis refuse commands, but no script" {
	behind envoy "${ENVOY[@]}"
	runs 0 ''
	waits
	examines 0 "warning access-doorbell"
	[[ $output != *'"check":"access-lock"'* && $output != *'"check":"writes"'* ]]
	lacks_wait "ERR unknown command"
	behind predixy "${PREDIXY[@]}"
	runs 0 ''
	waits
	examines 0 "note access-name"
	behind codis "${CODIS[@]}"
	runs 0 ''
	waits
	examines 0 "warning access-doorbell"
	found access-list note '+scan'
	lacks_wait "ERR handle request, command is not allowed"
	run -77 rlockrun --list
	[[ ${#lines[@]} == 1 ]]
}

@test "deny: a server that refuses scripts of more than 10,000 bytes" {
	behind limited limit:10000 answer:EVALSHA::"$UNKNOWN"
	for option in --once-per=1h --shared --permits=2 --wait-replicas=0; do
		runs 0 '' "$option"
	done
	waits
	for option in --newest --replace; do
		run -0 rl -w 5 "$option" echo ran
		[[ $output == ran ]]
	done
	hold
	run -75 rl -n echo ran
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *"pid $PID"* ]]
	run -0 rlockrun --list
	[[ $output == *"$KEY"* ]]
	touch "done"
	exits_with 0 "$PID"
	set_rules limited limit:5000 answer:EVALSHA::"$UNKNOWN"
	runs 69 "script is too long"
}

@test "deny: a proxy that hangs up on what it does not know, such as twemproxy" {
	behind twemproxy lose:CLIENT
	RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
	runs 69 "closed without a reply, perhaps by a proxy that does not know CLIENT SETNAME" \
		--server-timeout 2
	examines 69 "error reach"
}

@test "deny: commands that are renamed, and a list of more than were asked for" {
	behind renamed "answer:COMMAND::*5$(printf '\\r\\n$-1%.0s' {1..5})"
	examines 0 "note persistence"
	found persistence note "DEL is renamed or removed" "rename-command"
	set_rules renamed "answer:COMMAND::*9$(printf '\\r\\n$-1%.0s' {1..9})"
	examines 0 "ok persistence"
	[[ $output != *"renamed or removed"* ]]
}

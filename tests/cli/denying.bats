#!/usr/bin/env bats
# Servers that deny: what managed ones and proxies refuse, what a run still does
# there, and what --doctor says about it.
# shellcheck disable=SC2034,SC2153,SC2154 # helpers and run set and use these

load ../helpers/suite
load ../helpers/admin
load ../helpers/doctor

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# without COMMAND...: a server of this test that does not know these. Those that its
# version never had need not be taken away.
without() {
	local options=() command
	for command; do
		[[ ! $(redis-cli -s "$BATS_FILE_TMPDIR/redis/s" --raw command info "$command") ]] ||
			options+=(--rename-command "$command" '')
	done
	[[ ! -e own ]] || stop_server "$PWD/own"
	rm -rf own
	own_server --appendonly yes --appendfsync always --maxmemory-policy noeviction \
		"${options[@]}"
}

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

# plays COMMAND STATUS FINDING [OPTION...]: a run with these options that is denied
# that command, and the doctor.
plays() {
	without "$1"
	runs "$2" "$1" "${@:4}"
	examines "$2" "${@:3}"
	[[ ! ${4:-} ]] || runs 0 ''
	[[ $2 == 77 && ! ${4:-} ]] || waits
}

# lacks_wait WORDS: --wait-replicas is refused. (The doctor's status is that of what it
# finds first, that there is no replica.)
lacks_wait() {
	runs 77 "--wait-replicas needs WAIT: $1" --wait-replicas 1:100ms
	examines 69 "error access-replicas" --wait-replicas 1:100ms
}

@test "deny: a run does without EVALSHA and CLIENT" {
	plays EVALSHA 0 "note access-digest"
	plays CLIENT 0 "note access-name"
}

@test "deny: without WAIT, --wait-replicas is refused, and nothing else" {
	plays WAIT 0 "note access-replicas"
	lacks_wait "ERR unknown command 'WAIT'"
}

@test "deny: without EVAL or TIME there is no lock, and no other clock takes its place" {
	COLD=1 plays EVAL 77 "error access-lock"
	found access-lock error "+eval" "the server lacks a command"
	plays TIME 77 "error access-lock"
	for option in --shared --on-unavailable=run --once-per=1h --wait-replicas=1; do
		runs 77 TIME "$option"
	done
	[[ -z $(cli --raw keys '*') ]]
}

# bats test_tags=night
@test "deny: a run does without INFO, CONFIG, SCAN, ROLE, ACL, SELECT" {
	plays INFO 0 "note info"
	plays CONFIG 0 "note config"
	plays SCAN 0 "note access-list"
	run -77 rlockrun --list
	[[ $output == *SCAN* ]]
	plays ROLE 0 ''
	plays ACL 0 ''
	plays SELECT 0 ''
	RLOCKRUN_REDIS+="?db=1"
	runs 77 SELECT
	examines 77 "error reach"
}

# bats test_tags=night
@test "deny: a run does without the commands of the queue" {
	for command in BLPOP RPUSH; do
		plays "$command" 0 "warning access-doorbell"
	done
	for command in ZADD ZRANK ZREM; do
		plays "$command" 0 "warning access-queue"
	done
	plays ZADD 77 "error access-counted" --shared
	plays HMGET 77 "error access-once" --once-per 1h
}

@test "deny: without ZADD, --once-per is refused only if it has to wait" {
	without ZADD
	examines 0 "warning access-queue" -n --once-per 1h
	runs 0 '' --once-per 1h
	run -75 rl -n --once-per 1h echo ran
	[[ $output == *"last succeeded"* ]]
	examines 77 "error access-once" --once-per 1h
	hold
	run -77 rl -w 5 --once-per 1ms echo ran
	[[ ${#lines[@]} == 1 && $output == *ZADD*"; command not started" ]]
	touch "done"
	exits_with 0 "$PID"
}

@test "deny: a server with one db" {
	own_server --databases 1
	runs 0 ''
	RLOCKRUN_REDIS+="?db=1"
	runs 77 "choose a db that the server has"
	examines 77 "error reach"
}

@test "deny: several servers without INFO do not count, and the doctor knows" {
	without INFO
	start_server "$PWD/b" --rename-command INFO ''
	start_server "$PWD/c"
	several=(-r "$RLOCKRUN_REDIS" -r "unix://$PWD/b/s" -r "unix://$PWD/c/s" --min-uptime 0)
	runs 77 "+info" "${several[@]}"
	examines 77 "error access-votes" "${several[@]}"
}

@test "deny: several servers without WAIT refuse --wait-replicas" {
	without WAIT
	start_server "$PWD/b" --rename-command WAIT ''
	start_server "$PWD/c" --rename-command WAIT ''
	several=(-r "$RLOCKRUN_REDIS" -r "unix://$PWD/b/s" -r "unix://$PWD/c/s" --min-uptime 0)
	runs 0 '' "${several[@]}"
	runs 77 "--wait-replicas needs WAIT: ERR unknown command" "${several[@]}" \
		--wait-replicas 1:100ms
	examines 69 "error access-replicas" "${several[@]}" --wait-replicas 1:100ms
}

# --- what providers refuse ----------------------------------------------------

# Provider, when its document was read, what that says is refused. Of a command that
# is refused in part, the rest stands here only if all of it is.
PROVIDERS='
ElastiCache 2026-11-23 bgrewriteaof bgsave config debug migrate replicaof save slaveof shutdown sync
MemoryDB 2026-11-23 bgrewriteaof bgsave config debug migrate module psync replicaof save shutdown slaveof sync
Azure-Cache 2026-11-23 bgrewriteaof bgsave config debug migrate save shutdown slaveof
Memorystore 2026-11-23 acl bgrewriteaof bgsave client cluster command config debug lastsave migrate monitor object replicaof save shutdown
Aiven-Caching 2026-11-23 acl bgrewriteaof bgsave cluster command config debug failover lastsave migrate monitor replicaof role save shutdown slaveof
OCI-Cache 2026-11-23 acl bgrewriteaof bgsave cluster debug migrate module psync replicaof save shutdown sync
OCI-Cache-sharded 2026-11-23 acl bgrewriteaof bgsave cluster debug migrate module psync replicaof save shutdown sync eval eval_ro evalsha evalsha_ro fcall fcall_ro function script
Redis-Cloud 2026-11-23 migrate move wait
Upstash 2026-11-23 bgrewriteaof bgsave client cluster command config debug failover info lastsave latency memory migrate module monitor psync replicaof role save shutdown slaveof slowlog swapdb wait
'

# As Upstash words it: github.com/sidekiq/sidekiq/issues/5641.
UPSTASH=(answer:WAIT::"-ERR Command is not available: 'WAIT'. See https://docs.upstash.com/overall/rediscompatibility for details")

# provides NAME: a server like that.
provides() {
	local name date commands
	while read -r name date commands; do
		[[ $name == "$1" ]] || continue
		# shellcheck disable=SC2086 # several words
		without $commands
		return
	done <<<"$PROVIDERS"
	return 1
}

# works_at PROVIDER: all that needs no more than the rules of the manual.
works_at() {
	provides "$1"
	runs 0 '' --once-per 1h
	runs 0 '' --shared
	waits
	run -0 rlockrun --list
	examines 0 ''
}

@test "deny: all that Memorystore refuses, and what Upstash does not list" {
	works_at Memorystore
	found access-name note 'client|setname'
	found config note 'CONFIG GET is not available'
	works_at Upstash
	found info note 'INFO is not available'
	runs 77 WAIT --wait-replicas 1:100ms
	examines 77 "error access-replicas" --wait-replicas 1:100ms
	start_proxy upstash "${UPSTASH[@]}"
	runs 0 ''
	runs 77 "--wait-replicas needs WAIT: ERR Command is not available: 'WAIT'." \
		--wait-replicas 1:100ms
	examines 77 "error access-replicas" --wait-replicas 1:100ms
	set_rules upstash "${UPSTASH//WAIT/EVAL}"
	runs 77 "ERR Command is not available: 'EVAL'."
	examines 77 "error access-lock"
}

@test "deny: a sharded OCI Cache has no scripts, so no lock" {
	provides OCI-Cache-sharded
	runs 77 EVAL
	examines 77 "error access-lock"
}

# bats test_tags=night
@test "deny: all that other providers refuse" {
	for provider in ElastiCache MemoryDB Azure-Cache Aiven-Caching OCI-Cache Redis-Cloud; do
		works_at "$provider"
	done
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

@test "deny: a server that refuses scripts of more than 16,000 bytes" {
	behind limited limit:16000 answer:EVALSHA::"$UNKNOWN"
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
	set_rules limited limit:10000 answer:EVALSHA::"$UNKNOWN"
	runs 69 "script is too long"
}

@test "deny: make lint finds a script that such a server might refuse" {
	printf '%15999s' '' >short.lua
	run -0 "$HELPERS/../lint/scripts" .
	printf '%16000s' '' >long.lua
	run -1 "$HELPERS/../lint/scripts" .
	[[ $output == "long.lua: 16000 bytes"* && ${#lines[@]} == 1 ]]
}

# The rules permit it, says ACL DRYRUN.
@test "deny: a proxy refuses WAIT or EVAL, and lets ACL pass" {
	behind proxy answer:WAIT::"$UNKNOWN"
	runs 0 ''
	examines 0 "note access-replicas"
	set_rules proxy answer:EVAL::"$UNKNOWN"
	runs 77 "unknown command"
	examines 77 "error access-lock"
}

@test "deny: a proxy that hangs up on what it does not know, such as twemproxy" {
	behind twemproxy lose:CLIENT
	RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
	runs 69 "closed without a reply, perhaps by a proxy that does not know CLIENT SETNAME" \
		--server-timeout 2
	examines 69 "error reach"
}

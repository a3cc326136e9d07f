#!/usr/bin/env bats
# Servers that forget what they acknowledged: each is made to, and --doctor has said
# so before.
# shellcheck disable=SC2034,SC2153,SC2154 # helpers and run set and use these

load ../helpers/suite
load ../helpers/admin
load ../helpers/cluster
load ../helpers/doctor
load ../helpers/sentinel

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# stored_server [OPTION...]: a server of this test that stores each write at once,
# with a user locker who may do all. These options it has after restart, too.
stored_server() {
	SUITE_DIR=$PWD/own
	mkdir -p own
	printf '%s\n' --appendonly yes --appendfsync always --maxmemory-policy noeviction "$@" >own/settings
	server_starts
	RLOCKRUN_REDIS=unix://locker:v@$PWD/own/s
}

# Without our scripts: user default might not be permitted to load them.
server_starts() {
	mapfile -t SETTINGS <own/settings
	COLD=1 start_server "$PWD/own" "${SETTINGS[@]}"
}

# As a machine that is shut down in order does it.
restart() {
	kill -TERM "$(<own/pid)"
	wait_until gone "$(<own/pid)"
	wait "$(<own/pid)" || :
	rm own/pid
	server_starts
}

as_locker() {
	redis-cli -s "$PWD/own/s" --user locker -a v --no-auth-warning "$@"
}

# That of an exclusive lock, and a helper key: they are stored by one script. The lock
# lasts as if a job had it.
take_lock() {
	run -0 rl --min-hold 1h true
	[[ $(as_locker exists "$KEY" "{$KEY}:rlk:i") == 2 ]]
}

rules_of_default() {
	rm -rf own
	printf 'user default %s\nuser locker on >v ~* &* +@all\n' "$1" >acl
	stored_server --aclfile "$PWD/acl"
}

# --- the append-only file and user default -------------------------------------

@test "forget: what user default may not do is gone after a restart, and an error before" {
	! is_before_7 || not_here "it takes ACL DRYRUN"
	remedy="ACL SETUSER default off resetpass ~* &* +@all, then ACL SAVE"
	for rules in off 'on nopass ~cache:* +@all'; do
		rules_of_default "$rules"
		take_lock
		doctor 69 -k "$KEY"
		found persistence error "a restart loses locks: the append-only file is replayed as user default, who may not" "$remedy"
		doctor 69
		restart
		[[ $(as_locker exists "$KEY" "{$KEY}:rlk:i") == 0 ]]
		run -0 rl -n true
		run -0 as_locker acl setuser default off resetpass '~*' '&*' +@all
		as_locker acl save
		as_locker flushall
		take_lock
		doctor 0 -k "$KEY"
		found persistence ok "a restart loses no lock"
		restart
		[[ $(as_locker exists "$KEY" "{$KEY}:rlk:i") == 2 ]]
		[[ $(redis-cli -s "$PWD/own/s" ping) == NOAUTH* ]]
		run -75 rl -n true
		stop_server "$PWD/own"
	done
}

# --- persistence that is not there yet, or not any more ----------------------------

# configured_server LINE...: one with a file, as installed.
configured_server() {
	SUITE_DIR=$PWD/own RLOCKRUN_REDIS=unix://$PWD/own/s
	mkdir -p own
	printf '%s\n' 'port 0' "unixsocket $PWD/own/s" "dir $PWD/own" "$@" >own/conf
	configured_starts
}

configured_starts() {
	redis-server "$PWD/own/conf" >>own/log 2>&1 3>&- &
	echo $! >own/pid
	wait_until server_answers own/s
}

restart_configured() {
	kill -TERM "$(<own/pid)"
	wait "$(<own/pid)" || :
	rm own/pid
	configured_starts
}

is_rewritten() {
	[[ $(cli info persistence) == *aof_rewrite_in_progress:0*aof_rewrite_scheduled:0* ]]
}

@test "forget: appendonly yes in the file and a restart lose what a snapshot had" {
	configured_server 'save 3600 1' 'maxmemory-policy noeviction'
	run -0 rl --min-hold 1h true
	doctor 1
	found persistence warning "since the last snapshot" "never the file and a restart"
	printf '%s\n' 'appendonly yes' 'appendfsync always' >>own/conf
	restart_configured
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "forget: appendonly yes without the file loses what was written since" {
	configured_server 'save 3600 1' 'maxmemory-policy noeviction'
	cli config set appendfsync always
	cli config set appendonly yes
	wait_until is_rewritten
	cli config set save ''
	run -0 rl --min-hold 1h true
	doctor 0
	found persistence ok "a restart loses no lock, if its file says so, too"
	restart_configured
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "forget: the remedy, in its order, loses nothing" {
	configured_server 'save 3600 1' 'maxmemory-policy noeviction'
	run -0 rl --min-hold 1h true
	doctor 1
	read_findings
	[[ ${FINDINGS[*]} =~ "in this order: "([^,]*)", "([^,]*)", wait until aof_rewrite_in_progress is 0, "("CONFIG REWRITE") ]]
	steps=("${BASH_REMATCH[@]:1}")
	cli <<<"${steps[0]}"
	cli <<<"${steps[1]}"
	wait_until is_rewritten
	cli <<<"${steps[2]}"
	run -0 rlockrun -k "$KEY.2" --min-hold 1h true
	doctor 0
	[[ -z $(problems) ]]
	restart_configured
	[[ $(cli exists "$KEY" "$KEY.2") == 2 ]]
	doctor 0
}

@test "forget: a rule to add is followed by how it is saved" {
	! is_before_7 || not_here "it takes ACL DRYRUN"
	rules_of_default 'off resetpass ~* &* +@all'
	as_locker acl setuser locker -blpop
	doctor 1 -k "$KEY"
	found access-doorbell warning "+blpop" "ACL SETUSER locker +blpop, then ACL SAVE"
	as_locker acl setuser locker -config
	doctor 1 -k "$KEY"
	found access-doorbell warning "+blpop" "ACL SETUSER locker +blpop, then ACL SAVE with an aclfile, else CONFIG REWRITE"
	stop_server "$PWD/own"
	good_server
	cli acl setuser locker on '>v' '~*' '&*' +@all -blpop
	RLOCKRUN_REDIS=unix://locker:v@$SUITE_DIR/s
	doctor 1 -k "$KEY"
	found access-doorbell warning "+blpop" "ACL SETUSER locker +blpop, then CONFIG REWRITE"
}

# --- replicas ----------------------------------------------------------------------

# SAFE: options of a server that is as it should be.
SAFE=(--appendonly yes --appendfsync always --maxmemory-policy noeviction
	--repl-diskless-sync-delay 0 --repl-ping-replica-period 1)

# replicated_server COUNT: a primary p0 and so many replicas, as they should be.
replicated_server() {
	local i
	SUITE_DIR=$PWD/p0
	start_tcp_server "$PWD/p0" 127.0.0.1 "${SAFE[@]}"
	PORTS=("$PORT")
	RLOCKRUN_REDIS=unix://$PWD/p0/s
	for ((i = 1; i <= $1; i++)); do
		replica "p$i"
	done
}

# replica NAME [OPTION...]
replica() {
	start_tcp_server "$PWD/$1" 127.0.0.1 "${SAFE[@]}" --replicaof 127.0.0.1 "${PORTS[0]}" "${@:2}"
	PORTS+=("$PORT")
	wait_until replicates "$PWD/p0" $((${#PORTS[@]} - 1))
	wait_until is_settled_replica "$1"
}

is_settled_replica() {
	[[ $(at "$1" info persistence) == *aof_rewrite_in_progress:0*aof_rewrite_scheduled:0* ]]
}

@test "forget: a replica that evicts, stores nothing or accepts writes" {
	replicated_server 2
	doctor 0
	[[ $(problems) == note:replicas ]]
	[[ $(count '"check":"replica","severity":"ok"') == 2 ]]
	at p1 config set maxmemory 100mb
	at p1 config set maxmemory-policy volatile-lru
	at p1 config set replica-read-only no
	at p2 config set appendonly no
	cli config set appendfsync everysec
	doctor 1
	[[ $(problems) == "note:persistence note:replicas warning:read-only warning:eviction warning:persistence" ]]
	found read-only warning "it accepts writes" "CONFIG SET replica-read-only yes"
	found persistence note everysec "appendfsync always; on each replica, too"
	# It is what it says: this run has the lock beside the primary's.
	run -0 rlockrun -n -k "$KEY.2" -r "unix://$PWD/p1/s" --min-hold 1h true
	run -0 rlockrun -n -k "$KEY.2" true
}

# Sentinels that have just started do not see each other for a moment.
sentinels_agree() {
	run_sentinels "$PWD"
	RLOCKRUN_REDIS=redis-sentinel://$SENTINELS/primary
	wait_until agree
}

agree() {
	run --separate-stderr rlockrun --doctor --json
	found sentinels ok "3 agree on 127.0.0.1:${PORTS[0]}" 2>/dev/null
}

# confirms OPTION...: the replicas that confirm may be promoted, and the server does not
# write without them. (On a slow machine the doctor may find clocks that differ.)
confirms() {
	run --separate-stderr rlockrun --doctor --json "$@"
	[[ $(problems) != *promotion* && $(problems) != *min-replicas* ]]
}

# bats test_tags=night
@test "forget: a replica that no sentinel knows confirms, and is never promoted" {
	! is_before_7 || not_here "it takes replica-announced"
	replicated_server 1
	replica p2 --replica-announced no
	sentinels_agree
	doctor 1 --wait-replicas 1
	found promotion warning "no sentinel knows it, so it is never promoted" "--wait-replicas 2"
	[[ $(count '"check":"promotion"') == 1 ]]
}

@test "forget: a replica that confirms and is not the one that is promoted" {
	replicated_server 0
	replica p1 --replica-priority 0
	replica p2
	sentinels_agree
	cli config set min-replicas-to-write 1
	doctor 1 --wait-replicas 1
	found promotion warning "it confirms --wait-replicas 1, and another replica is promoted" "--wait-replicas 2"
	confirms --wait-replicas 2
	at p1 config set replica-priority 100
	confirms --wait-replicas 1
	# Only that one confirms.
	at p1 config set replica-priority 0
	kill -STOP "$(<p2/pid)"
	cli client kill type replica
	wait_until replicates "$PWD/p0" 1
	run -0 rl --wait-replicas 1 --min-hold 1h true
	stop_server "$PWD/p0"
	kill -CONT "$(<p2/pid)"
	wait_until is_primary p2
	[[ $(at p2 exists "$KEY") == 0 ]]
}

# bats test_tags=night
@test "forget: a replica of a cluster that does not fail over" {
	! is_before_7 || not_here "a cluster takes CLUSTER ADDSLOTSRANGE of Redis 7"
	start_cluster "$PWD" 1 2 "${SAFE[@]}" --min-replicas-to-write 1
	wait_until is_settled_replica c1
	wait_until is_settled_replica c2
	RLOCKRUN_REDIS=redis-cluster://$NODES
	doctor 0 -k "$KEY" --wait-replicas 1
	at c1 config set cluster-replica-no-failover yes
	doctor 1 -k "$KEY" --wait-replicas 1
	found promotion warning "another replica is promoted" "--wait-replicas 2"
	doctor 0 -k "$KEY" --wait-replicas 2
}

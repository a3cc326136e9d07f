#!/usr/bin/env bats
# Servers that forget what they acknowledged: each is made to, and --doctor has said
# so before.
# shellcheck disable=SC2034,SC2153,SC2154 # helpers and run set and use these

load ../helpers/suite
load ../helpers/admin
load ../helpers/connect
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

server_starts() {
	mapfile -t SETTINGS <own/settings
	start_server "$PWD/own" "${SETTINGS[@]}"
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
	[[ $(as_locker exists "$KEY" "{$KEY}:rlk:f") == 2 ]]
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
	for rules in off 'on nopass -@all +ping' 'on nopass ~cache:* +@all'; do
		rules_of_default "$rules"
		take_lock
		doctor 69 -k "$KEY"
		found persistence error "a restart loses locks: the append-only file is replayed as user default, who may not" "$remedy"
		doctor 69
		restart
		[[ $(as_locker exists "$KEY" "{$KEY}:rlk:f") == 0 ]]
		run -0 rl -n true
		run -0 as_locker acl setuser default off resetpass '~*' '&*' +@all
		as_locker acl save
		as_locker flushall
		take_lock
		doctor 0 -k "$KEY"
		found persistence ok "a restart loses no lock"
		restart
		[[ $(as_locker exists "$KEY" "{$KEY}:rlk:f") == 2 ]]
		[[ $(redis-cli -s "$PWD/own/s" ping) == NOAUTH* ]]
		run -75 rl -n true
		stop_server "$PWD/own"
	done
}

@test "forget: whether user default may replay the file is not checked where that is denied" {
	! is_before_7 || not_here "it takes ACL DRYRUN"
	rules_of_default off
	as_locker acl setuser locker -acl
	doctor 0 -k "$KEY"
	found replay note "not checked: whether user default may replay the append-only file" "+acl|dryrun"
	stop_server "$PWD/own"
	# A server that stores snapshots replays nothing, yet.
	rules_of_default off
	as_locker config set appendonly no
	doctor 1 -k "$KEY"
	found replay note "with appendonly yes a restart would lose locks" "ACL SETUSER default off"
}

@test "forget: a server without a command of its own does not start again" {
	for command in multi exec pexpireat select; do
		rm -rf own
		stored_server --rename-command "$command" ''
		RLOCKRUN_REDIS=unix://$PWD/own/s
		run -0 rl --min-hold 1h true
		run -0 --separate-stderr rlockrun --doctor --json -k "$KEY"
		found persistence note "${command^^} is renamed or removed: the server will not start from its append-only file" "rename-command"
		[[ $(redis-cli -s "$PWD/own/s" --raw exists "$KEY") == 1 ]]
		stop_server "$PWD/own"
		! server_starts 2>/dev/null
		grep -qi "unknown command\|bad file format" own/log
		rm -f own/pid
	done
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

#!/usr/bin/env bats
# --pause and --resume: no run of the locks that match starts, for a maintenance.
# shellcheck disable=SC2016,SC2034,SC2154 # helpers, jobs and run set and use these

load ../helpers/suite
load ../helpers/admin
load ../helpers/queue
load ../helpers/sentinel
load ../helpers/cluster

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	export LOGNAME=deploy
}
teardown() {
	[[ ! -S $SUITE_DIR/s ]] || rlockrun --resume '*' >/dev/null 2>&1 || true
	end_test
}

# known NAME...: each has had a run.
known() {
	local name
	for name; do
		rlockrun -k "$name" true
	done
}

is_paused() {
	local name
	for name; do
		[[ $(rlockrun --list --json -- "${name//[\\\*\?\[]/\\&}") == *'"paused":true'* ]] || return
	done
}

# pausing GLOB [OPTION...]: in the background, PID.
pausing() {
	start "$RLOCKRUN" --pause "$@"
}

# The pause of PID is the head of the queue of KEY.
is_in_front() {
	[[ $(cli --raw zrange "$Q" 0 0) == *":$1@"* ]]
}

# --- a maintenance ------------------------------------------------------------------

@test "a maintenance over six jobs begins with one command, and another one ends it" {
	for n in {1..6}; do
		cli hset "{$KEY:$n}:rlk:r" token x host h pid 1 user u label '' start "$(server_ms)" \
			end "$(server_ms)" status 0 fence 5 >/dev/null
	done
	start "$RLOCKRUN" -k "$KEY:5" sh ./turn A
	wait_for_file A.started
	pausing "$KEY:*" --for 2h --label 'db migration'
	pause=$PID
	wait_until is_paused "$KEY:1" "$KEY:6"
	run -1 gone "$pause"
	start "$RLOCKRUN" -k "$KEY:5" sh ./turn B
	run -75 rlockrun -n -k "$KEY:3" touch ran
	[[ $output =~ "is paused by $(uname -n) (deploy, \"db migration\") since "..:..:..", until "..:..:.. ]]
	touch go
	exits_with 0 "$pause"
	[[ $(grep -c '": paused until ' out.2) == 6 ]]
	[[ $(<err.2) == *"\"$KEY:5\" is held by "*"; waiting for its end"* ]]
	[[ $(<err.2) == *"6 locks paused on "*"; locks that never ran are not covered unless -k names them"* ]]
	for n in {1..6}; do
		run -75 rlockrun -q -n -k "$KEY:$n" touch ran
	done
	[[ ! -e ran && $(<order) == A ]]
	LOGNAME=other run -0 --separate-stderr rlockrun --resume "$KEY:*"
	[[ ${#lines[@]} == 6 && ${lines[0]} == *": resumed" && -z $stderr ]]
	wait_for_file B.started
	all_end_well
	for n in {1..6}; do
		rlockrun -n -k "$KEY:$n" true
	done
	[[ ! -e overlaps ]]
}

@test "what is shown of a pause: status, list and JSON" {
	known "$KEY"
	run -0 --separate-stderr rlockrun --pause "$KEY" --label x
	[[ $output =~ ^\"$KEY\"": paused until "..:..:..$ ]]
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *$'\njob:      none; the lock is paused by --pause\n'* ]]
	run -0 rlockrun --list "$KEY"
	[[ $output =~ \ 59m[0-9]*s\ paused\ \ 0\  ]]
	run -0 rlockrun --list --json "$KEY"
	has_json '"hold":true,"paused":true'
	run -0 --separate-stderr rlockrun --pause "$KEY" --json
	is '(it["paused"], it["name"], 3590000 < it["ttl_ms"] <= 3600000)' "(True, '$KEY', True)"
	run -0 --separate-stderr rlockrun --resume "$KEY" --json
	is '(it["resumed"], it["key"])' "(True, '$KEY')"
	rlockrun --hold 60 -k "$KEY" >token
	run -0 rlockrun --list --json "$KEY"
	has_json '"hold":true,"paused":false'
	rlockrun --force-release -k "$KEY" --token "$(<token)"
}

# --- what starts, and what does not ---------------------------------------------------

@test "nobody starts behind a pause in the queue, also not a waiter that was rung before" {
	holds A
	enqueue B
	waiter=$PID
	kill -STOP "$waiter"
	touch go.A
	exits_with 0 "${STARTED[0]}"
	[[ -z $(cli get "$KEY") ]]
	run -0 rlockrun --pause "$KEY"
	kill -CONT "$waiter"
	wait_until grep -q 'is paused by' "$ERR"
	[[ $(<order) == A ]]
	touch go
	rlockrun --resume "$KEY" >/dev/null
	all_end_well
	[[ ! -e overlaps ]]
}

@test "a pause is granted before waiters that came first" {
	holds A
	enqueue B
	pausing "$KEY"
	wait_until is_in_front "$PID"
	touch go.A
	exits_with 0 "$PID"
	is_paused "$KEY"
	[[ $(<order) == A ]]
	run -0 rlockrun --status --json -k "$KEY"
	is '[w["pid"] for w in it["queue"]]' "[${STARTED[1]}]"
	touch go
	rlockrun --resume "$KEY" >/dev/null
	exits_with 0 "${STARTED[1]}"
}

@test "readers and permits: those that run finish, no other starts" {
	for kind in -s '-p 3'; do
		rm -f go* ./*.started order
		# shellcheck disable=SC2086 # options are to be split
		start "$RLOCKRUN" -k "$KEY" $kind "$A_JOB" R.started=%p until:go
		wait_for_file R.started
		pausing "$KEY"
		pause=$PID
		wait_until is_in_front "$pause"
		# shellcheck disable=SC2086 # options are to be split
		run -75 rl -n $kind touch ran
		# shellcheck disable=SC2086 # options are to be split
		start "$RLOCKRUN" -k "$KEY" $kind touch "late${kind%% *}"
		wait_until are_queued 2
		touch go
		exits_with 0 "$pause"
		is_paused "$KEY"
		[[ ! -e ran && ! -e late${kind%% *} ]]
		rlockrun --resume "$KEY" >/dev/null
		exits_with 0 "${STARTED[-1]}"
		[[ -e late${kind%% *} ]]
	done
}

# --- not all ----------------------------------------------------------------------------

@test "killed while it waits: what is paused stays for its time, nothing else does" {
	known "$KEY:2"
	holds A
	pausing "$KEY*" --for 1h
	wait_until is_in_front "$PID"
	wait_until is_paused "$KEY:2"
	kill -KILL "$PID"
	start "$RLOCKRUN" -k "$KEY" sh ./turn B
	touch go
	wait_for_file B.started
	exits_with 0 "$PID"
	(($(cli pttl "$KEY:2") > 3500000))
	rlockrun --resume "$KEY*" >/dev/null
	wait_until only_bells_left
}

# --- again, and the end -------------------------------------------------------------------

@test "--resume ends pauses only, and only those that match" {
	known "$KEY:a" "$KEY:b"
	rlockrun --pause "$KEY:*" >/dev/null
	hold
	token=$(rlockrun --hold 60 -k "$KEY:c")
	run -0 --separate-stderr rlockrun --resume "$KEY:[ac]"
	[[ $output == "\"$KEY:a\": resumed" && -z $stderr ]]
	is_paused "$KEY:b"
	[[ $(cli get "$KEY:c") == "$token" ]]
	run -0 --separate-stderr rlockrun --resume "$KEY"
	[[ -z $output && $stderr == "rlockrun: no paused lock matches \"$KEY\"" ]]
	run -75 rl -n touch ran
	touch "done"
	exits_with 0 "$PID"
	rlockrun --force-release --token "$token" -k "$KEY:c"
	run -75 rlockrun --hold 60 --token "$(cli get "$KEY:b")" -k "$KEY:b"
	rlockrun --resume "$KEY:b" >/dev/null
}

@test "names with odd characters, and a prefix" {
	local names=("$KEY a b" "$KEY"$'\t"q"' "$KEY*?[x]" "$KEY{tag}x" "$KEY-äö" "$KEY\\" "$KEY"$'\e[31m')
	for name in "${names[@]}"; do
		rlockrun --prefix "p$KEY:" -k "$name" true
	done
	run -0 --separate-stderr rlockrun --prefix "p$KEY:" --pause '*' --json
	[[ ${#lines[@]} == "${#names[@]}" ]]
	for name in "${names[@]}"; do
		run -75 rlockrun --prefix "p$KEY:" -n -k "$name" touch ran
		[[ $output == *"is paused by"* ]]
	done
	run -64 rlockrun --pause "$KEY*"
	run -0 --separate-stderr rlockrun --prefix "p$KEY:" --resume '*'
	[[ ${#lines[@]} == "${#names[@]}" && $output != *$'\e'* ]]
}

# --- faults ---------------------------------------------------------------------------------

@test "without a queue there is no pause: status 77, and nothing is left" {
	hold
	cli acl setuser poor on '>v' '~*' '+@all' -zrank >/dev/null
	run -77 rlockrun -r "unix://poor:v@$SUITE_DIR/s" --pause "$KEY"
	[[ $output == *"refused by "*"(ZRANK)"* ]]
	[[ $(keys_left) == "$KEY" ]]
	touch "done"
	exits_with 0 "$PID"
	cli acl deluser poor >/dev/null
}

@test "without access to its doorbell a pause does not enter the queue, status 77" {
	hold
	cli acl setuser poor on '>v' "~$KEY" "~{$KEY}:rlk:[irqln]*" '+@all' >/dev/null
	run -77 rlockrun -r "unix://poor:v@$SUITE_DIR/s" --pause "$KEY"
	[[ $(keys_left) == "$KEY" ]]
	touch "done"
	exits_with 0 "$PID"
	cli acl deluser poor >/dev/null
}

@test "a key that is no lock is not paused, status 76, and the others are" {
	known "$KEY" "$KEY:2"
	cli rpush "$KEY" x >/dev/null
	run -76 rlockrun --pause "$KEY*"
	[[ $output == *"\"$KEY\" is not a lock: "* ]]
	is_paused "$KEY:2"
	[[ $(cli type "$KEY") == list ]]
	cli del "$KEY" "$Q" "$L" >/dev/null
}

@test "a server without memory grants no pause, and keeps nothing of it" {
	own_server
	known "$KEY"
	cli config set maxmemory 1 >/dev/null
	run -69 rlockrun --pause "$KEY" --server-timeout 1
	[[ $output == *OOM* ]]
	run -69 rlockrun --pause "$KEY" -n
	[[ $output == *OOM* ]]
	cli config set maxmemory 0 >/dev/null
	none_left
	rlockrun --pause "$KEY" >/dev/null
	cli config set maxmemory 1 >/dev/null
	rlockrun --pause "$KEY" --for 2h >/dev/null
	left_above 7100000
	rlockrun --resume "$KEY"
	cli config set maxmemory 0 >/dev/null
}

# Each has two helper keys, and counts once.
@test "1000 locks are paused, and one more are too many" {
	cli eval 'for i = 1, 1001 do
		redis.call("HSET", "{" .. ARGV[1] .. i .. "}:rlk:i", "f", 1)
		redis.call("RPUSH", "{" .. ARGV[1] .. i .. "}:rlk:r", "")
	end' 0 "$KEY:" >/dev/null
	run -64 rlockrun --pause "$KEY:*" -n
	[[ $output == *"more than 1000 locks match"* ]]
	cli del "{$KEY:7}:rlk:i" "{$KEY:7}:rlk:r" >/dev/null
	run -0 --separate-stderr rlockrun --pause "$KEY:*" -n
	[[ ${#lines[@]} == 1000 && $stderr == *"1000 locks paused"* ]]
	run -0 --separate-stderr rlockrun --resume "$KEY:*"
	[[ ${#lines[@]} == 1000 ]]
	cli eval 'for i = 1, 1001 do
		redis.call("DEL", "{" .. ARGV[1] .. i .. "}:rlk:i", "{" .. ARGV[1] .. i .. "}:rlk:r")
	end' 0 "$KEY:" >/dev/null
}

# --- other servers -----------------------------------------------------------------------------

@test "locks of a cluster are paused in all its slots" {
	start_cluster "$PWD" 3 0
	SUITE_DIR=$PWD/c0
	export RLOCKRUN_REDIS=redis-cluster://$NODES
	for n in {1..9}; do
		rlockrun -k "$KEY:$n" true
	done
	start "$RLOCKRUN" -k "$KEY:5" sh ./turn A
	wait_for_file A.started
	pausing "$KEY:*" -k "$KEY:new" -k "$KEY:{tag}new"
	touch go
	exits_with 0 "$PID"
	[[ $(grep -c 'paused until' out.2) == 11 ]]
	for n in {1..9} new '{tag}new'; do
		run -75 rlockrun -n -k "$KEY:$n" touch ran
		[[ $output == *"is paused by"* ]]
	done
	run -0 --separate-stderr rlockrun --resume "$KEY:*"
	[[ ${#lines[@]} == 11 ]]
	rlockrun -n -k "$KEY:new" true
	run -64 rlockrun --pause none -k 'a}b' -k "$KEY:1"
	[[ $output == *'"a}b": in a cluster there is no queue for a lock of this name'* ]]
	run -0 rlockrun --resume '*'
}

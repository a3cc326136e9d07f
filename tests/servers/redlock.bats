#!/usr/bin/env bats
# Several independent servers: a majority decides. Scenarios S14, S15 and S16. All
# votes are in unit/votes_test.c, and the simulation plays faults at random.
# The suite's five are NODES/1 to NODES/5; teardown mends what a test has frozen or
# ended. They are all younger than --min-uptime's default, so `rl` sets it to 0.
# shellcheck disable=SC2016 # the jobs' shells are to expand that
load ../helpers/suite

setup_file() {
	local i
	for i in 1 2 3 4 5; do
		start_server "$BATS_FILE_TMPDIR/$i" || return
	done
}

teardown_file() {
	local i
	for i in 1 2 3 4 5; do
		stop_server "$BATS_FILE_TMPDIR/$i"
	done
}

setup() {
	NODES=$BATS_FILE_TMPDIR
	SUITE_DIR=$NODES/1
	begin_test
	use 1 2 3 4 5
}

teardown() {
	local status=0 i
	end_test || status=$?
	NODES=$BATS_FILE_TMPDIR
	for i in 1 2 3 4 5; do
		[[ ${BATS_TEST_COMPLETED:-} ]] || stop_server "$NODES/$i"
		if [[ ! -e $NODES/$i/pid ]]; then
			start_server "$NODES/$i"
		elif is_stopped "$(<"$NODES/$i/pid")"; then
			with_signal "$i" CONT
		fi
	done
	return "$status"
}

# use NUMBER...: those are the servers; 0 is one that isn't there.
use() {
	local number
	RLOCKRUN_REDIS=
	for number; do
		((number)) && RLOCKRUN_REDIS+=" unix://$NODES/$number/s" ||
			RLOCKRUN_REDIS+=" unix://$NODES/away$RANDOM$RANDOM"
	done
	RLOCKRUN_MIN_UPTIME=0
	export RLOCKRUN_REDIS RLOCKRUN_MIN_UPTIME
}

# on NUMBER COMMAND...: at that server.
on() { SUITE_DIR=$NODES/$1 cli "${@:2}"; }

# with_signal NUMBER SIGNAL
with_signal() { kill "-$2" "$(<"$NODES/$1/pid")"; }

take() { [[ $(on "$1" set "$KEY" foreign NX PX 60000) == OK ]]; }

# The numbers of those on which TOKEN is in the key, of those given.
have() {
	local token=$1 number list=
	shift
	for number; do
		[[ $(on "$number" get "$KEY") != "$token" ]] || list+="${list:+ }$number"
	done
	echo "$list"
}

all_have() { [[ $(have "$@") == "${*:2}" ]]; }

# Nothing of ours is in the key there; a foreign token may be.
none_of_ours() {
	local number value
	for number; do
		value=$(on "$number" get "$KEY")
		[[ -z $value || $value == foreign ]] || {
			echo "server $number has $value" >&2
			return 1
		}
	done
}

keys_left_on() { on "$1" --raw keys "*$KEY*" | grep -v ':rlkt\?:[ir]$'; }

# --- one and a majority -------------------------------------------------------

@test "all have the same token while the job runs, and nothing afterwards" {
	hold
	local token
	token=$(on 1 get "$KEY")
	[[ ${#token} == 36 ]]
	wait_until all_have "$token" 1 2 3 4 5
	touch "done"
	exits_with 0 "$PID"
	for i in 1 2 3 4 5; do wait_until has_no_keys "$i"; done
}

@test "the job gets its token and no fence" {
	RLOCKRUN_FENCE=old run -0 rl -- sh -c 'echo "${#RLOCKRUN_TOKEN} ${RLOCKRUN_FENCE-none}"'
	[[ $output == "36 none" ]]
}

# --- S14 ----------------------------------------------------------------------

@test "S14: two held, two unreachable: no majority reports it free, nothing is left" {
	take 1
	take 2
	use 1 2 3 0 0
	run -75 rl -n --server-timeout 60 -- touch ran
	use 1 0 3 0 0
	run -69 rl -n --server-timeout 1 -- touch ran
	[[ ! -e ran ]]
	wait_until none_of_ours 1 2 3
	on 1 del "$KEY"
	on 2 del "$KEY"
}

# --- S15 ----------------------------------------------------------------------

has_no_keys() { [[ -z $(keys_left_on "$1") ]]; }

@test "S15: frozen servers free a grant that came too late" {
	for i in 3 4 5; do with_signal "$i" STOP; done
	run -69 rl -n --server-timeout 0.5 -- touch ran
	[[ ! -e ran ]]
	wait_until none_of_ours 1 2
	for i in 3 4 5; do with_signal "$i" CONT; done
	for i in 3 4 5; do wait_until has_no_keys "$i"; done
}

# --- S16 ----------------------------------------------------------------------

# are_old NUMBER...: those servers, behind proxies that report two minutes of uptime,
# are the others.
are_old() {
	local number id servers=
	for number; do
		# shellcheck disable=SC2034 # the proxy's server
		SUITE_DIR=$NODES/$number
		id=run_id:$(printf %040d "$number")
		start_proxy "old$number" "answer:INFO::\$$((${#id} + 24))\\r\\n$id\\nuptime_in_seconds:120\\r\\n"
		servers+=" $RLOCKRUN_REDIS"
	done
	RLOCKRUN_REDIS=$servers
	unset RLOCKRUN_MIN_UPTIME
}

@test "S16: one of three of A's restarts empty: B can't have it, A plants it again" {
	use 1 2 3 0 0
	start "$RLOCKRUN" -k "$KEY" -- "$A_JOB" "token=%{RLOCKRUN_TOKEN}" until:done
	wait_for_file token
	kill -STOP "$PID"
	stop_server "$NODES/1"
	start_server "$NODES/1"
	are_old 2 3 4 5
	RLOCKRUN_REDIS+=" unix://$NODES/1/s"
	run -75 rl -n -- touch ran
	[[ ! -e ran ]]
	kill -CONT "$PID"
	wait_until all_have "$(<token)" 1 2 3
	touch "done"
	exits_with 0 "$PID"
	wait_until none_of_ours 1 2 3 4 5
}

# --- who refuses ----------------------------------------------------------------

# not_identified WORDS [OPTION...]: 77 with them, and nothing is left.
not_identified() {
	run -77 rl "${@:2}" -- touch ran
	echo "$output"
	[[ $output == *"cannot be identified by INFO (+info): $1"* && ! -e ran ]]
}

# warned_of WORDS NUMBER: a run gets the lock, and reports this once of the server that has
# refused it. What decides, the reply of server 2, is held until then: of a later
# refusal nothing is said before the job ends.
warned_of() {
	local redis=$RLOCKRUN_REDIS
	on "$2" acl log reset
	# shellcheck disable=SC2034 # the proxy's server
	SUITE_DIR=$NODES/2
	start_proxy proxy until:go:EVAL:1
	RLOCKRUN_REDIS=${redis/"$NODES/2"/"$PWD/proxy"}
	start rl -- sh -c 'exit 7'
	wait_for_file proxy/go.held
	wait_until has_refused "$2"
	touch proxy/go
	exits_with 7 "$PID"
	[[ $(grep -cF "unix://$NODES/$2/s: $1" "$ERR") == 1 ]]
}

has_refused() { [[ $(on "$1" acl log) == *username* ]]; }

@test "S27: a server that cannot be identified does not count" {
	use 1 2 3
	for i in 1 2; do on "$i" acl setuser default -info; done
	not_identified NOPERM
	not_identified NOPERM --min-uptime 10ms
	wait_until none_of_ours 1 2 3
	on 2 acl setuser default +info
	warned_of 'cannot be identified by INFO (+info)' 1
	on 1 acl setuser default +info
}

@test "S26: access to K and :i alone: acquired, and released on all servers" {
	local i
	use 1 2 3
	for i in 1 2 3; do
		on "$i" acl setuser "$KEY" on nopass '~'"$KEY" "~{$KEY}:rlk:i" +@all
	done
	RLOCKRUN_REDIS="unix://${KEY//:/%3a}@$NODES/1/s unix://${KEY//:/%3a}@$NODES/2/s unix://${KEY//:/%3a}@$NODES/3/s"
	run -7 rl -- sh -c 'exit 7'
	[[ $output != *"cannot confirm"* ]]
	[[ $output == *"nested runs cannot be counted: "*NOPERM* ]]
	wait_until none_of_ours 1 2 3
	run -7 rl -- "$RLOCKRUN" -n -k "$KEY" -- sh -c 'exit 7'
	[[ $output != *"cannot confirm"* ]]
	wait_until none_of_ours 1 2 3
}

@test "one server under two names: refused where both make the majority, else said" {
	use 1 1
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/../${NODES##*/}/1/s"
	run -64 rl -- touch ran
	[[ $output == *" and "*" are the same server"* ]]
	[[ ! -e ran ]]
	wait_until none_of_ours 1
	RLOCKRUN_REDIS+=" unix://$NODES/2/s unix://$NODES/3/s unix://$NODES/4/s"
	run rl -- true
	(($(grep -c "are the same server" <<<"$output") == 1))
	wait_until none_of_ours 1 2 3 4
}

# --- what a review found ----------------------------------------------------------

# bats test_tags=native
@test "a server that is still being connected to: nothing waits for it" {
	need_strace
	use 1 2 3
	start_proxy away hold
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/2/s redis://127.0.0.1:$PORT"
	run -7 strace -qq -o trace -e trace=poll,recvfrom "$RLOCKRUN" -k "$KEY" -- sh -c 'exit 7'
	cat trace
	[[ $(tail -n 1 trace) == recvfrom* ]] # after the last reply
	wait_until none_of_ours 1 2
}

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

@test "-r again and again, and servers in RLOCKRUN_REDIS, with spaces around" {
	unset RLOCKRUN_REDIS
	run -7 rl -r "unix://$NODES/1/s" -r "unix://$NODES/2/s" -r "unix://$NODES/3/s" -- sh -c 'exit 7'
	export RLOCKRUN_REDIS="  unix://$NODES/1/s   unix://$NODES/2/s unix://$NODES/3/s "
	hold
	token=$(on 2 get "$KEY")
	wait_until all_have "$token" 1 2 3
	[[ -z $(on 4 get "$KEY") ]]
	touch "done"
	exits_with 0 "$PID"
}

@test "busy names the holder; -w ends with 75; a waiter follows the holder" {
	hold --label 'nightly sync'
	run -75 rl -n -- true
	[[ $output == *"\"$KEY\" is held by "*"(pid $PID, "*", \"nightly sync\") since "* ]]
	run -75 rl -w 0.3 -- true
	local holder=$PID
	start rl -- sh -c 'date +%s%N >second'
	local waiter=$PID
	wait_until grep -q waiting "$ERR"
	touch "done"
	exits_with 0 "$holder"
	exits_with 0 "$waiter"
	[[ -s second ]]
	wait_until none_of_ours 1 2 3 4 5
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

# bats test_tags=night
@test "a server that had voted for another contender gets the lock a tenth of the ttl later" {
	for i in 1 2; do take "$i"; done
	start rl -- "$A_JOB" "token=%{RLOCKRUN_TOKEN}" until:done
	wait_for_file token
	[[ $(have "$(<token)" 1 2) == '' ]]
	for i in 1 2; do on "$i" del "$KEY"; done
	wait_until all_have "$(<token)" 1 2 3 4 5
	touch "done"
	exits_with 0 "$PID"
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

@test "a server that has just started abstains, and says so" {
	use 1 2 3
	unset RLOCKRUN_MIN_UPTIME
	run -69 rl -n -t 1h --server-timeout 1 -- touch ran
	[[ $output == *": up for "*" s only, so it abstains (--min-uptime)"* ]]
	[[ ! -e ran ]]
	wait_until none_of_ours 1 2 3
	run -7 rl --min-uptime 10ms -- sh -c 'exit 7'
}

# is_nested_on NUMBER...: a nested run has its place there.
is_nested_on() {
	local number
	for number; do
		[[ $(on "$number" scard "{$KEY}:rlk:n:$(<token)") == 1 ]] || return
	done
}

# restarts_empty NUMBER: and the holder plants its lock there again.
restarts_empty() {
	stop_server "$NODES/$1"
	start_server "$NODES/$1"
	wait_until all_have "$(<token)" 1 2 3
	wait_until is_nested_on 1 2 3
}

# bats test_tags=night
@test "S50: two of three restart empty in turn: a nested run keeps the lock there" {
	use 1 2 3
	start rl -t 9 -- sh -c 'setsid "$RLOCKRUN" -t 9 -k "$KEY" sh -c "
			echo \$RLOCKRUN_TOKEN >token; until [ -e in.go ]; do sleep 0.05; done" \
			</dev/null >/dev/null 2>nested.err &
		until [ -e done ]; do sleep 0.05; done'
	wait_for_file token
	wait_until is_nested_on 1 2 3
	restarts_empty 1
	restarts_empty 2
	touch "done"
	exits_with 0 "$PID"
	all_have "$(<token)" 1 2 3
	run -75 rl -n true
	touch in.go
	wait_until none_of_ours 1 2 3
	[[ ! -s nested.err ]]
}

# --- a server that is lost in each state ------------------------------------------

# bats test_tags=night
@test "lost while acquiring: a minority doesn't matter" {
	with_signal 1 STOP
	stop_server "$NODES/2"
	run -7 rl -- sh -c 'exit 7'
	with_signal 1 CONT
	wait_until has_no_keys 1
}

@test "lost while waiting: the waiter comes after the holder" {
	use 1 2 3
	hold
	local holder=$PID
	start rl -- touch second
	wait_until grep -q waiting "$ERR"
	stop_server "$NODES/3"
	touch "done"
	exits_with 0 "$holder"
	exits_with 0 "$PID"
	[[ -e second ]]
}

# bats test_tags=night
@test "a minority lost while holding: renewed on; a majority: the job is stopped in time" {
	use 1 2 3
	start rl -t 3 -- "$A_JOB" job=%p until:done
	wait_for_file job
	stop_server "$NODES/1"
	renewals=$(on 2 info commandstats | grep -o 'cmdstat_eval:calls=[0-9]*' | tr -dc 0-9)
	renewed_since() { (($(on 2 info commandstats | grep -o 'cmdstat_eval:calls=[0-9]*' | tr -dc 0-9) >= renewals + 3)); }
	wait_until renewed_since
	[[ ! -s $ERR ]]
	stop_server "$NODES/2"
	exits_with 79 "$PID"
	grep -q "cannot renew the lock.*no majority of 3 servers" "$ERR"
}

@test "frozen while releasing: not waited for long, freed when it continues" {
	use 1 2 3
	hold
	with_signal 3 STOP
	touch "done"
	exits_with 0 "$PID"
	wait_until none_of_ours 1 2
	[[ ! -s $ERR ]]
	with_signal 3 CONT
	wait_until has_no_keys 3
}

@test "a release that one server confirms, as another one never had the lock" {
	use 1 2 3
	on 3 set "$KEY" other px 100000
	hold
	with_signal 2 STOP
	touch "done"
	exits_with 0 "$PID"
	[[ ! -s $ERR ]]
	with_signal 2 CONT
	wait_until none_of_ours 1 2
}

# own_replicated_nodes: three of this test alone, each with a replica, whose folder is r1,
# r2 or r3.
own_replicated_nodes() {
	local i
	NODES=$PWD
	for i in 1 2 3; do
		start_tcp_server "$NODES/$i" 127.0.0.1 --repl-diskless-sync-delay 0
		start_server "$PWD/r$i" --replicaof 127.0.0.1 "$PORT"
		wait_until replicates "$NODES/$i" 1
	done
	use 1 2 3
}

# bats test_tags=night
@test "S52: --wait-replicas: a release that a majority's replicas lack is warned of" {
	own_replicated_nodes
	for frozen in r1 'r1 r2'; do
		rm -f "done" job
		[[ $frozen == r1 ]] && ms=7000 || ms=200
		hold -t 30 --wait-replicas "1:${ms}ms"
		for replica in $frozen; do kill -STOP "$(<"$replica/pid")"; done
		touch "done"
		exits_with 0 "$PID"
		for replica in $frozen; do kill -CONT "$(<"$replica/pid")"; done
		wait_until none_of_ours 1 2 3
	done
	[[ ! -s err.1 && $(wc -l <err.2) == 1 ]]
	grep -q ': too few replicas have confirmed the release; a failover may forget it$' err.2
}

# bats test_tags=night
@test "exactly half of the servers unreachable: 69, and the number is warned of" {
	use 1 2 0 0
	run -69 rl -n --server-timeout 1 -- touch ran
	[[ $output == *"4 servers tolerate no more failures than one server fewer"* && ! -e ran ]]
	wait_until none_of_ours 1 2
	use 1 0
	run -69 rl -n --server-timeout 1 -- touch ran
	[[ $output == *"with 2 servers no lock can be acquired while one of them is unreachable"* ]]
	use 1 2 3
	run -0 rl -- true
	[[ -z $output ]]
}

# --- a lock that is lost --------------------------------------------------------

# bats test_tags=night
@test "deleted on a minority: planted again, overwritten: left alone; on a majority: lost" {
	start rl -t 9 -- "$A_JOB" "token=%{RLOCKRUN_TOKEN}" until:done
	wait_for_file token
	wait_until all_have "$(<token)" 1 2 3 4 5
	on 1 del "$KEY"
	on 5 set "$KEY" foreign
	wait_until all_have "$(<token)" 1 2 3 4
	[[ $(on 5 get "$KEY") == foreign && ! -s $ERR ]]
	for i in 1 2; do on "$i" set "$KEY" foreign; done
	exits_with 79 "$PID"
	wait_until none_of_ours 1 2 3 4 5
	for i in 1 2 5; do [[ $(on "$i" getdel "$KEY") == foreign ]]; done
}

# bats test_tags=night
@test "kill -9 of the holder: the next has it when the lease has ended" {
	hold
	kill -KILL "$PID"
	start rl -- sh -c 'exit 7'
	wait_until grep -q 'held by' "$ERR"
	for i in 1 2 3 4 5; do on "$i" pexpire "$KEY" 1; done
	exits_with 7 "$PID"
}

@test "TERM to a waiter: it leaves nothing" {
	hold
	local holder=$PID
	start "$RLOCKRUN" -k "$KEY" -- touch ran
	wait_until grep -q waiting "$ERR"
	kill -TERM "$PID"
	exits_with 143 "$PID"
	touch "done"
	exits_with 0 "$holder"
	wait_until none_of_ours 1 2 3 4 5
}

@test "--min-hold keeps it on all of them" {
	rl --min-hold 1m -- true
	run -75 rl -n -- true
	[[ $output == *"is kept for "* ]]
	for i in 1 2 3 4 5; do on "$i" del "$KEY"; done
}

# C was away when the lock was acquired, and A has forgotten it.
# bats test_tags=night
@test "--min-hold: a server that restarted within this time abstains by default" {
	use 1 2 0
	rl --min-hold 1h -- true
	on 1 del "$KEY"
	are_old 1 2 3
	run -69 rl -n --server-timeout 1 --min-hold 1h -- touch ran
	echo "$output"
	[[ $output == *": up for "*" s only, so it abstains (--min-uptime)"* && ! -e ran ]]
	# As one would that knows nothing of the hour.
	rl -n -- touch ran
	[[ -e ran ]]
	on 2 del "$KEY"
}

# bats test_tags=night
@test "a nested run takes part" {
	run -7 rl -- "$RLOCKRUN" -n -k "$KEY" -- sh -c 'exit 7'
	wait_until none_of_ours 1 2 3 4 5
}

# --- who refuses ----------------------------------------------------------------

# bats test_tags=night
@test "passwords may differ; one that is wrong matters where it is the majority's" {
	use 1 2 3
	for i in 1 2 3; do on "$i" config set requirepass "pw$i"; done
	RLOCKRUN_REDIS="unix://:pw1@$NODES/1/s unix://:pw2@$NODES/2/s unix://:pw3@$NODES/3/s"
	run -7 rl -- sh -c 'echo "$RLOCKRUN_REDIS"; exit 7'
	[[ $output != *pw* ]]
	RLOCKRUN_REDIS="unix://:bad@$NODES/1/s unix://:pw2@$NODES/2/s unix://:pw3@$NODES/3/s"
	run -7 rl -- sh -c 'exit 7'
	RLOCKRUN_REDIS="unix://:bad@$NODES/1/s unix://:bad@$NODES/2/s unix://:pw3@$NODES/3/s"
	run -77 rl -- touch ran
	[[ $output == *"refused by unix://$NODES/1/s: WRONGPASS"* && $output != *bad* && ! -e ran ]]
	[[ -z $(redis-cli --no-auth-warning -a pw3 -s "$NODES/3/s" keys "$KEY") ]]
	for i in 1 2 3; do redis-cli --no-auth-warning -a "pw$i" -s "$NODES/$i/s" config set requirepass ''; done
}

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

# bats test_tags=night
@test "S27: one server under three addresses, INFO denied: no majority" {
	on 1 acl setuser default -info
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/./1/s unix://$NODES/1/./s"
	not_identified NOPERM
	wait_until none_of_ours 1
	on 1 acl setuser default +info
	run -64 rl -- touch ran
	[[ $output == *" are the same server"* && ! -e ran ]]
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

@test "a key that is no lock on a majority: 76" {
	on 1 rpush "$KEY" x
	on 2 rpush "$KEY" x
	on 3 rpush "$KEY" x
	run -76 rl -n -- touch ran
	[[ ! -e ran && -z $(on 4 get "$KEY") ]]
	on 3 del "$KEY"
	run -7 rl -n -- sh -c 'exit 7'
	on 1 del "$KEY"
	on 2 del "$KEY"
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

@test "a server that refuses us is warned of, though a majority is enough" {
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/2/s unix://ghost:boo@$NODES/3/s"
	warned_of WRONGPASS 3
}

# bats test_tags=night
@test "a minority that refuses the password keeps no lock of the default user's" {
	# shellcheck disable=SC2034 # the proxy's server
	SUITE_DIR=$NODES/3
	start_proxy proxy delay:40
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/2/s unix://:bad@$PWD/proxy/s"
	start rl -- "$A_JOB" job=%p until:done exit:7
	wait_for_file job
	wait_until has_passed proxy EVAL 2
	wait_until has_no_keys 3
	touch "done"
	exits_with 7 "$PID"
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

# bats test_tags=night
@test "a server that has granted it and gone does not count: it may have forgotten" {
	use 1 2 3
	take 2
	# shellcheck disable=SC2034 # the proxies' servers
	for i in 1 3; do
		SUITE_DIR=$NODES/$i
		start_proxy "proxy$i" "$( ((i == 1)) && echo until:gone:EVAL:1 || echo hangup:EVAL:1)"
	done
	RLOCKRUN_REDIS="unix://$PWD/proxy1/s unix://$NODES/2/s unix://$PWD/proxy3/s"
	start rl -n touch ran
	wait_until has_passed proxy3 EVAL 1
	wait_for_file proxy1/gone.held
	touch proxy1/gone
	exits_with 75 "$PID"
	[[ ! -e ran ]]
	wait_until none_of_ours 1 3
	run -0 rl -n touch ran
	[[ -e ran ]]
}

# bats test_tags=night
@test "what a minority has of a lost lock is freed when the job is dead, not before" {
	use 1 2 3
	start rl -t 9 --kill-after 4 -- sh -c '
		trap "sleep 0.3; redis-cli -s $1/3/s get \"$RLOCKRUN_KEY\" >left; exit" TERM
		echo "$RLOCKRUN_TOKEN" >token
		while :; do sleep 0.05; done' - "$NODES"
	wait_for_file token
	wait_until all_have "$(<token)" 1 2 3
	for i in 1 2; do on "$i" del "$KEY"; done
	exits_with 79 "$PID"
	[[ $(<left) == "$(<token)" ]]
	wait_until none_of_ours 1 2 3
}

# --- contenders -------------------------------------------------------------------

# bats test_tags=night
@test "six that wait take turns" {
	use 1 2 3
	for _ in {1..6}; do
		start rl -q -- sh -c 'mkdir alone || echo >overlap; echo >>runs; rmdir alone'
	done
	for pid in "${STARTED[@]}"; do exits_with 0 "$pid"; done
	[[ ! -e overlap && $(wc -l <runs) == 6 ]]
	wait_until none_of_ours 1 2 3
}

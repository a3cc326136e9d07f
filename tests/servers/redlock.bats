#!/usr/bin/env bats
# Several independent servers: a majority decides. Scenarios S14, S15 and S16.
# The suite's five are NODES/1 to NODES/5; a test that ends or freezes servers has
# some of its own there. They are all younger than --min-uptime's default, so `rl`
# sets it to 0.
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
	local status=0
	end_test || status=$?
	[[ $NODES != "$PWD" ]] || for NODE in {1..5}; do stop_server "$NODES/$NODE"; done
	return "$status"
}

# own_nodes COUNT [OPTION...]: servers of this test alone.
own_nodes() {
	local i
	NODES=$PWD
	for ((i = 1; i <= $1; i++)); do
		start_server "$NODES/$i" "${@:2}"
	done
	# shellcheck disable=SC2046 # numbers
	use $(seq "$1")
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
on() { redis-cli -s "$NODES/$1/s" "${@:2}"; }

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

keys_left_on() { on "$1" --raw keys "*$KEY*" | grep -v ':rlkt\?:[fr]$'; }

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

# Each bit of MASK makes the server with that number unfit, as FUNCTION does it.
each_subset() {
	local mask i bad
	for ((mask = 0; mask < 32; mask++)); do
		bad=0
		for ((i = 1; i <= 5; i++)); do
			((mask >> (i - 1) & 1)) && bad=$((bad + 1))
		done
		"$1" "$mask"
		if ((bad <= 2)); then
			run -7 rl -n --server-timeout 2 -- sh -c 'exit 7'
			[[ $output != *"no majority"* ]]
		else
			# On a busy machine a vote may come later than that.
			for patience in 0.3 3; do
				run "-$2" rl -n --server-timeout "$patience" -- touch ran
				[[ $output == *"not within its time"* ]] || break
			done
			[[ ! -e ran ]]
		fi
		"$3" "$bad"
		wait_until none_of_ours 1 2 3 4 5
	done
}

some_taken() {
	local i
	for i in 1 2 3 4 5; do
		on "$i" del "$KEY" >/dev/null
		(($1 >> (i - 1) & 1)) && take "$i"
	done
	return 0
}

says_who() { (($1 <= 2)) || [[ $output == *"\"$KEY\" is held by "* ]]; }

# bats test_tags=night
@test "S14: of 5 any subset is held: acquired when 3 are free, otherwise nothing is left" {
	each_subset some_taken 75 says_who
	for i in 1 2 3 4 5; do on "$i" del "$KEY"; done
}

some_away() {
	local i numbers=()
	for i in 1 2 3 4 5; do
		(($1 >> (i - 1) & 1)) && numbers+=(0) || numbers+=("$i")
	done
	use "${numbers[@]}"
}

says_each_reason() {
	(($1 <= 2)) || {
		[[ $output == *"no majority of 5 servers: "* ]]
		(($(grep -o 'No such file or directory' <<<"$output" | wc -l) == $1))
		(($(grep -o ' agrees' <<<"$output" | wc -l) == 5 - $1))
	}
}

# bats test_tags=night
@test "S14: of 5 any subset is unreachable: acquired with 3, otherwise each reason is reported" {
	each_subset some_away 69 says_each_reason
}

@test "S14: two held, two unreachable: no majority reports it free, nothing is left" {
	take 1
	take 2
	use 1 2 3 0 0
	run -75 rl -n --server-timeout 1 -- touch ran
	use 1 0 3 0 0
	run -69 rl -n --server-timeout 1 -- touch ran
	[[ ! -e ran ]]
	wait_until none_of_ours 1 2 3
	on 1 del "$KEY"
	on 2 del "$KEY"
}

# --- S15 ----------------------------------------------------------------------

# bats test_tags=night
@test "S15: replies delayed by 0.6 of the ttl: not acquired, all are cleaned up" {
	own_nodes 3
	for i in 1 2 3; do
		# shellcheck disable=SC2034 # the proxy's server
		SUITE_DIR=$NODES/$i
		start_proxy "proxy$i" delay:600:EVAL
	done
	RLOCKRUN_REDIS="unix://$PWD/proxy1/s unix://$PWD/proxy2/s unix://$PWD/proxy3/s"
	run -69 rl -t 1 -n --server-timeout 1.5 -- touch ran
	# The time may be over during a try, or between two.
	[[ ! -e ran && $output == *"no majority of 3 servers: "*@("has not answered"|"not within its time")* ]]
	wait_until none_of_ours 1 2 3
	for i in 1 2 3; do wait_until has_no_keys "$i"; done
}

has_no_keys() { [[ -z $(keys_left_on "$1") ]]; }

@test "S15: frozen servers free a grant that came too late" {
	own_nodes 5
	for i in 3 4 5; do with_signal "$i" STOP; done
	run -69 rl -n --server-timeout 0.5 -- touch ran
	[[ ! -e ran ]]
	wait_until none_of_ours 1 2
	for i in 3 4 5; do with_signal "$i" CONT; done
	for i in 3 4 5; do wait_until has_no_keys "$i"; done
}

@test "a server that had voted for another contender gets the lock a tenth of the ttl later" {
	own_nodes 5
	for i in 1 2; do [[ $(on "$i" set "$KEY" foreign NX PX 3000) == OK ]]; done
	start rl -t 45 -- sh -c 'echo "$RLOCKRUN_TOKEN" >token; until [ -e done ]; do sleep 0.05; done'
	wait_for_file token
	[[ $(have "$(<token)" 1 2) == '' ]]
	WAIT_SECONDS=10 wait_until all_have "$(<token)" 1 2 3 4 5
	touch "done"
	exits_with 0 "$PID"
}

# --- S16 ----------------------------------------------------------------------

is_up_for() {
	(($(on "$1" info server | sed -n 's/^uptime_in_seconds:\([0-9]*\).*/\1/p') >= $2))
}

@test "S16: one of three of A's restarts empty: B can't have it, A plants it again" {
	own_nodes 5
	wait_until is_up_for 5 3
	use 1 2 3 0 0
	start rl -t 5 -- sh -c 'echo "$RLOCKRUN_TOKEN" >token; until [ -e done ]; do sleep 0.05; done'
	wait_for_file token
	use 1 2 3 4 5
	stop_server "$NODES/1"
	start_server "$NODES/1"
	run -75 rl -n --min-uptime 2s -- touch ran
	[[ ! -e ran ]]
	wait_until all_have "$(<token)" 1 2 3
	wait_until is_up_for 1 3
	touch "done"
	exits_with 0 "$PID"
	wait_until none_of_ours 1 2 3 4 5
}

@test "a server that has just started abstains, and says so" {
	own_nodes 3
	unset RLOCKRUN_MIN_UPTIME
	run -69 rl -n --server-timeout 1 -- touch ran
	[[ $output == *": up for "*" s only, so it abstains (--min-uptime)"* ]]
	[[ ! -e ran ]]
	wait_until none_of_ours 1 2 3
	run -7 rl --min-uptime 10ms -- sh -c 'exit 7'
}

# is_nested_on NUMBER...: a nested run has its place there.
is_nested_on() {
	local number
	for number; do
		[[ $(on "$number" zcard "{$KEY}:rlk:n") == 1 ]] || return
	done
}

# restarts_empty NUMBER: and the holder plants its lock there again.
restarts_empty() {
	stop_server "$NODES/$1"
	start_server "$NODES/$1"
	wait_until all_have "$(<token)" 1 2 3
	wait_until is_nested_on 1 2 3
}

@test "S50: two of three restart empty in turn: a nested run keeps the lock there" {
	own_nodes 3
	start rl -t 6 -- sh -c 'setsid "$RLOCKRUN" -t 6 -k "$KEY" sh -c "
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

@test "lost while acquiring: a minority doesn't matter" {
	own_nodes 5
	with_signal 1 STOP
	stop_server "$NODES/2"
	run -7 rl -- sh -c 'exit 7'
	with_signal 1 CONT
	wait_until has_no_keys 1
}

@test "lost while waiting: the waiter comes after the holder" {
	own_nodes 3
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
	own_nodes 3
	start rl -t 2 -- sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done'
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

# bats test_tags=night
@test "all frozen while holding: nothing is lost for 0.4 of the ttl; 79 in time beyond it" {
	own_nodes 3
	start rl -t 4 -- sh -c 'trap "" TERM; echo $$ >job; while :; do sleep 0.02; done'
	wait_for_file job
	for i in 1 2 3; do with_signal "$i" STOP; done
	sleep 1.6
	for i in 1 2 3; do with_signal "$i" CONT; done
	wait_until eval '(($(on 1 pttl "$KEY") > 3500))'
	run -1 gone "$(<job)"
	for i in 1 2 3; do with_signal "$i" STOP; done
	frozen_at=$(now_ms)
	wait_until gone "$(<job)"
	(($(now_ms) <= frozen_at + 4000))
	for i in 1 2 3; do with_signal "$i" CONT; done
	exits_with 79 "$PID"
	for i in 1 2 3; do wait_until has_no_keys "$i"; done
}

# bats test_tags=night
@test "full servers: a held lock is renewed and freed, no other is acquired" {
	own_nodes 3
	hold -t 2
	for i in 1 2; do on "$i" config set maxmemory 1; done
	KEY+=:other run -69 rl -n --server-timeout 1 -- touch ran
	[[ $output == *OOM* && ! -e ran ]]
	sleep 2.5 # longer than the lease
	run -75 rl -n -- touch ran
	touch "done"
	exits_with 0 "$PID"
	[[ ! -e ran ]]
	for i in 1 2 3; do wait_until has_no_keys "$i"; done
}

@test "frozen while releasing: not waited for long, freed when it continues" {
	own_nodes 3
	hold
	with_signal 3 STOP
	touch "done"
	exits_with 0 "$PID"
	wait_until none_of_ours 1 2
	[[ ! -s $ERR ]]
	with_signal 3 CONT
	wait_until has_no_keys 3
}

# own_replicated_nodes: three, each with a replica, whose folder is r1, r2 or r3.
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
@test "a majority gone at the release: said, the job's status stays" {
	own_nodes 3
	start rl -t 1 -- sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done; exit 7'
	wait_for_file job
	stop_server "$NODES/1"
	stop_server "$NODES/2"
	touch "done"
	exits_with 7 "$PID"
	grep -q "cannot confirm the release" "$ERR"
}

# bats test_tags=night
@test "all servers unreachable: 69; a waiter continues when they are back" {
	own_nodes 3
	for i in 1 2 3; do stop_server "$NODES/$i"; done
	run -69 rl -n --server-timeout 1 -- touch ran
	start rl --server-timeout 20 -- touch ran
	for i in 1 2 3; do start_server "$NODES/$i"; done
	exits_with 0 "$PID"
	[[ -e ran ]]
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

@test "deleted on a minority: planted again; on a majority: lost" {
	start rl -t 1 -- sh -c 'echo "$RLOCKRUN_TOKEN" >token; until [ -e done ]; do sleep 0.05; done'
	wait_for_file token
	wait_until all_have "$(<token)" 1 2 3 4 5
	on 1 del "$KEY"
	on 5 del "$KEY"
	wait_until all_have "$(<token)" 1 2 3 4 5
	[[ ! -s $ERR ]]
	for i in 1 2 3; do on "$i" set "$KEY" foreign; done
	exits_with 79 "$PID"
	wait_until none_of_ours 1 2 3 4 5
	for i in 1 2 3; do [[ $(on "$i" getdel "$KEY") == foreign ]]; done
}

@test "overwritten on a minority: left alone, and the others are renewed" {
	own_nodes 3
	start rl -t 1 -- sh -c 'echo "$RLOCKRUN_TOKEN" >token; until [ -e done ]; do sleep 0.05; done'
	wait_for_file token
	wait_until all_have "$(<token)" 1 2 3
	on 1 set "$KEY" foreign
	sleep 1.5 # longer than the lease
	all_have "$(<token)" 2 3
	touch "done"
	exits_with 0 "$PID"
	[[ $(on 1 getdel "$KEY") == foreign && ! -s $ERR ]]
	wait_until none_of_ours 1 2 3
}

# bats test_tags=night
@test "a majority restarts empty while holding: lost, 79" {
	own_nodes 3
	start "$RLOCKRUN" -k "$KEY" -t 10 -- sh -c 'echo "$RLOCKRUN_TOKEN" >token; exec sleep 60'
	wait_for_file token
	wait_until all_have "$(<token)" 1 2 3
	# Otherwise it may plant the first again before the second is up, and lose nothing.
	kill -STOP "$PID"
	for i in 1 2; do
		stop_server "$NODES/$i"
		start_server "$NODES/$i"
	done
	kill -CONT "$PID"
	exits_with 79 "$PID"
	wait_until none_of_ours 1 2 3
}

# bats test_tags=night
@test "a key that turns into a list on a majority is lost, and kept" {
	start rl -t 10 -- sh -c 'echo >job; exec sleep 60'
	wait_for_file job
	for i in 1 2 3; do
		on "$i" eval 'redis.call("DEL", KEYS[1]) redis.call("RPUSH", KEYS[1], "a")' 1 "$KEY"
	done
	exits_with 79 "$PID"
	[[ $(<"$ERR") == *"holds something else now; stopping the job" ]]
	for i in 1 2 3; do [[ $(on "$i" lrange "$KEY" 0 -1) == a ]]; done
	for i in 1 2 3; do on "$i" del "$KEY"; done
}

@test "kill -9 of the holder: the next has it when the lease has ended" {
	hold -t 1
	kill -KILL "$PID"
	run -7 rl -w 10 -- sh -c 'exit 7'
	[[ $output == *"held by"* ]]
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
	for i in 1 2 3 4 5; do on "$i" del "$KEY" "{$KEY}:rlk:i"; done
}

# are_old NUMBER...: those servers, behind proxies that report two minutes of uptime.
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
}

# C was away when the lock was acquired, and A has forgotten it.
@test "--min-hold: a server that restarted within this time abstains by default" {
	own_nodes 3
	use 1 2 0
	rl --min-hold 1h -- true
	on 1 flushall
	unset RLOCKRUN_MIN_UPTIME
	are_old 1 2 3
	run -69 rl -n --server-timeout 1 --min-hold 1h -- touch ran
	echo "$output"
	[[ $output == *": up for "*" s only, so it abstains (--min-uptime)"* && ! -e ran ]]
	# As one would that knows nothing of the hour.
	rl -n -- touch ran
	[[ -e ran ]]
}

@test "a nested run takes part" {
	run -7 rl -- "$RLOCKRUN" -n -k "$KEY" -- sh -c 'exit 7'
	wait_until none_of_ours 1 2 3 4 5
}

# --- who refuses ----------------------------------------------------------------

# bats test_tags=night
@test "passwords may differ; one that is wrong matters where it is the majority's" {
	own_nodes 3
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

@test "S27: a server that cannot be identified does not count" {
	own_nodes 3
	for i in 1 2; do on "$i" acl setuser default -info; done
	not_identified NOPERM
	not_identified NOPERM --min-uptime 10ms
	wait_until none_of_ours 1 2 3
	on 2 acl setuser default +info
	run -7 rl -- sh -c 'sleep 0.3; exit 7'
	[[ $output == *"unix://$NODES/1/s: cannot be identified by INFO (+info)"* ]]
}

@test "S27: one server under three addresses, INFO denied: no majority" {
	own_nodes 1
	on 1 acl setuser default -info
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/./1/s unix://$NODES/1/./s"
	not_identified NOPERM
	wait_until none_of_ours 1
	on 1 acl setuser default +info
	run -64 rl -- touch ran
	[[ $output == *" are the same server"* && ! -e ran ]]
}

# bats test_tags=night
@test "S27: servers whose INFO is renamed, or does not identify them" {
	own_nodes 3 --rename-command INFO hidden
	not_identified 'ERR unknown command'
	stop_servers "$PWD"
	own_nodes 3
	for i in 1 2 3; do
		# shellcheck disable=SC2034 # the proxy's server
		SUITE_DIR=$NODES/$i
		start_proxy "proxy$i" 'answer:INFO::$17\r\n# Server\r\nx:yes\r\n'
	done
	RLOCKRUN_REDIS="unix://$PWD/proxy1/s unix://$PWD/proxy2/s unix://$PWD/proxy3/s"
	not_identified 'no run_id'
	wait_until none_of_ours 1 2 3
}

@test "S26: access to K, :f and :i alone: acquired, and released on all servers" {
	local i
	own_nodes 3
	for i in 1 2 3; do
		on "$i" acl setuser locker on nopass '~'"$KEY" "~{$KEY}:rlk:[fi]" +@all
	done
	RLOCKRUN_REDIS="unix://locker@$NODES/1/s unix://locker@$NODES/2/s unix://locker@$NODES/3/s"
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
	own_nodes 3
	on 3 config set requirepass secret
	run -0 rl -- sleep 0.3
	[[ $output == *"unix://$NODES/3/s: NOAUTH"* ]]
	(($(grep -c NOAUTH <<<"$output") == 1))
}

# keeps_none_on_3 [RULE...]: while two of three hold the lock, the third, which
# refuses us, does not keep what it granted in passing, late or not.
keeps_none_on_3() {
	# shellcheck disable=SC2034 # the proxy's server
	SUITE_DIR=$NODES/3
	start_proxy proxy "$@"
	RLOCKRUN_REDIS="$URL_1 $URL_2 ${URL_3/NODE/$PWD\/proxy}"
	start rl -t 5m -- sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done; exit 7'
	wait_for_file job
	wait_until has_passed proxy EVAL 2
	wait_until has_no_keys 3
	touch "done"
	exits_with 7 "$PID"
	rm -r "done" job proxy/log
	kill "$(<proxy/pid)"
	wait_until gone "$(<proxy/pid)"
	rm -r proxy
}

has_granted() { (($(on 3 info commandstats | grep -c 'cmdstat_set:') >= 1)); }

# bats test_tags=night
@test "a minority that refuses the db keeps no lock in db 0" {
	own_nodes 3
	on 3 shutdown nosave || :
	wait_until gone "$(<"$NODES/3/pid")"
	rm "$NODES/3/pid"
	start_server "$NODES/3" --databases 1
	URL_1="unix://$NODES/1/s?db=9" URL_2="unix://$NODES/2/s?db=9" URL_3="unix://NODE/s?db=9"
	keeps_none_on_3
	has_granted
	keeps_none_on_3 delay:40
}

# bats test_tags=night
@test "a minority that refuses the password keeps no lock of the default user's" {
	own_nodes 3
	URL_1="unix://$NODES/1/s" URL_2="unix://$NODES/2/s" URL_3="unix://:bad@NODE/s"
	keeps_none_on_3
	has_granted
	keeps_none_on_3 delay:40
}

# --- what a review found ----------------------------------------------------------

# bats test_tags=native
@test "a server that is still being connected to: nothing waits for it" {
	need_strace
	own_nodes 3
	start_proxy away hold
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/2/s redis://127.0.0.1:$PORT"
	run -7 strace -qq -o trace -e trace=poll,recvfrom "$RLOCKRUN" -k "$KEY" -- sh -c 'exit 7'
	cat trace
	[[ $(tail -n 1 trace) == recvfrom* ]] # after the last reply
	wait_until none_of_ours 1 2
}

# bats test_tags=night
@test "the connection ends right after the grant: the own token blocks no retry" {
	own_nodes 3
	# shellcheck disable=SC2034 # the proxies' servers
	for i in 1 2; do
		SUITE_DIR=$NODES/$i
		start_proxy "proxy$i" cut:EVAL:1
	done
	RLOCKRUN_REDIS="unix://$PWD/proxy1/s unix://$PWD/proxy2/s unix://$NODES/3/s"
	run -7 rl -n -- sh -c 'exit 7'
	wait_until none_of_ours 1 2 3
}

@test "a server that has granted it and gone does not count: it may have forgotten" {
	own_nodes 3
	take 2
	# shellcheck disable=SC2034 # the proxies' servers
	for i in 1 3; do
		SUITE_DIR=$NODES/$i
		start_proxy "proxy$i" "$( ((i == 1)) && echo delay:150:EVAL:1 || echo hangup:EVAL:1)"
	done
	RLOCKRUN_REDIS="unix://$PWD/proxy1/s unix://$NODES/2/s unix://$PWD/proxy3/s"
	run rl -n -t 60 touch ran
	[[ $status == 75 && ! -e ran ]]
	wait_until none_of_ours 1 3
	run -0 rl -n touch ran
	[[ -e ran ]]
}

@test "what a minority has of a lost lock is freed when the job is dead, not before" {
	own_nodes 3
	start rl -t 6 --kill-after 4 -- sh -c '
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

# A server that cannot send the reply to the grant drops the release behind it.
# bats test_tags=night
@test "a grant that is still being executed: its release is waited for" {
	own_nodes 3
	# shellcheck disable=SC2034 # the proxy's server
	SUITE_DIR=$NODES/3
	start_proxy proxy busy:150:EVAL:1
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/2/s unix://$PWD/proxy/s"
	run -0 rl -t 60 -- true
	wait_until none_of_ours 1 2 3
}

# bats test_tags=night
@test "a server that always replies last is planted again, too" {
	own_nodes 3
	# shellcheck disable=SC2034 # the proxy's server
	SUITE_DIR=$NODES/3
	start_proxy proxy delay:30
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/2/s unix://$PWD/proxy/s"
	start rl -t 1 -- sh -c 'echo "$RLOCKRUN_TOKEN" >token; until [ -e done ]; do sleep 0.05; done'
	wait_for_file token
	wait_until all_have "$(<token)" 1 2 3
	on 3 del "$KEY"
	wait_until all_have "$(<token)" 1 2 3
	touch "done"
	exits_with 0 "$PID"
}

# bats test_tags=night
@test "what a majority has lost is not planted again without one" {
	own_nodes 5
	take 4
	take 5
	start rl -t 2 -- sh -c 'echo "$RLOCKRUN_TOKEN" >token; until [ -e done ]; do sleep 0.05; done'
	wait_for_file token
	wait_until all_have "$(<token)" 1 2 3
	# Nor may it take those instead that it has never had.
	for i in 1 2 4 5; do on "$i" del "$KEY"; done
	exits_with 79 "$PID"
	wait_until none_of_ours 1 2 3 4 5
}

# bats test_tags=night
@test "one of three is deleted just before the end: not lost" {
	own_nodes 5
	take 4
	take 5
	start rl -- sh -c 'echo "$RLOCKRUN_TOKEN" >token; until [ -e done ]; do sleep 0.05; done; exit 7'
	wait_for_file token
	wait_until all_have "$(<token)" 1 2 3
	on 1 del "$KEY"
	touch "done"
	exits_with 7 "$PID"
	wait_until none_of_ours 1 2 3
}

# bats test_tags=night
@test "--min-hold keeps it also where the reply to the acquire comes last" {
	own_nodes 3
	# shellcheck disable=SC2034 # the proxy's server
	SUITE_DIR=$NODES/3
	start_proxy proxy delay:40
	RLOCKRUN_REDIS="unix://$NODES/1/s unix://$NODES/2/s unix://$PWD/proxy/s"
	rl --min-hold 1m -- true
	token=$(on 1 get "$KEY")
	[[ ${#token} == 36 ]]
	all_have "$token" 1 2 3
}

# --- contenders -------------------------------------------------------------------

# contend ROUNDS: three at a time on three servers; each round one job, alone.
contend() {
	local round
	use 1 2 3
	for ((round = 0; round < $1; round++)); do
		rm -f winners
		for _ in 1 2 3; do
			start rl -n -q -- sh -c 'mkdir alone || echo >overlap; echo >>winners; until [ -e all ]; do sleep 0.01; done; rmdir alone'
		done
		wait_until decided
		touch all
		wait "${STARTED[@]}" || :
		STARTED=()
		rm -f all
		[[ ! -e overlap ]]
		[[ ! -e winners || $(wc -l <winners) == 1 ]]
		# None of the three may have had the majority: then it is free for the next.
		run -0 rl -w 5 -- true
	done
	wait_until none_of_ours 1 2 3
}

# All but a winner have ended.
decided() {
	local pid left=0
	for pid in "${STARTED[@]}"; do
		gone "$pid" || left=$((left + 1))
	done
	((left == 0)) || { ((left == 1)) && [[ -s winners ]]; }
}

# bats test_tags=night
@test "three contenders, 10 rounds: at most one winner, one in the end" {
	contend 10
}

# bats test_tags=night
@test "three contenders, 100 rounds: at most one winner, one in the end" {
	contend 100
}

@test "twelve that wait take turns" {
	use 1 2 3
	for _ in {1..12}; do
		start rl -q -- sh -c 'mkdir alone || echo >overlap; echo >>runs; rmdir alone'
	done
	for pid in "${STARTED[@]}"; do exits_with 0 "$pid"; done
	[[ ! -e overlap && $(wc -l <runs) == 12 ]]
	wait_until none_of_ours 1 2 3
}

# --- at random --------------------------------------------------------------------

# Takes the lock again and again, and notes when it is not alone, or was not let.
write_contender() {
	cat >turn <<-'END'
		exec 9>witness
		flock -n 9 || echo "$RLOCKRUN_TOKEN" >>overlaps
		echo >>turns
		sleep "0.$(($$ % 10))"
	END
	cat >contender <<-'END'
		until [ -e stop ]; do
			"$RLOCKRUN" -k "$KEY" -t 1 --min-uptime 1s -q sh ./turn || echo "$?" >>codes
		done
	END
}

freeze_at_random() {
	local number=$((1 + RANDOM % 5))
	with_signal "$number" STOP
	sleep "$((RANDOM % 2)).$((RANDOM % 10))"
	with_signal "$number" CONT
}

# Nobody may count on it before --min-uptime is over, and only one at a time may
# have forgotten what it granted.
restart_at_random() {
	local number=$((1 + RANDOM % 5))
	stop_server "$NODES/$number"
	sleep "0.$((RANDOM % 10))"
	start_server "$NODES/$number"
	sleep 2.2
}

kill_at_random() {
	local pids
	mapfile -t pids < <(pgrep -x rlockrun -P "$(IFS=,; echo "${STARTED[*]}")" || :)
	((${#pids[@]} == 0)) || kill -KILL "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null || :
	sleep "0.$((RANDOM % 10))"
}

# How often a lock was lost that two servers had never stored: they had voted for another
# contender when it was acquired, so that one more, frozen, took the majority away.
bare_majorities() {
	awk 'FNR == 1 { bare = 0 }
		/cannot renew/ { bare = gsub(/it has not got the lock/, "") == 2 }
		/is being lost/ && bare { lost++ }
		END { print lost + 0 }' err.*
}

# faults SECONDS: never two at a time, and the turns go on.
faults() {
	local end
	own_nodes 5
	RLOCKRUN_MIN_UPTIME=0 run -0 rl -- true
	write_contender
	for _ in 1 2 3 4; do
		start sh ./contender
	done
	for ((end = SECONDS + $1; SECONDS < end; )); do
		case $((RANDOM % 3)) in
		0) freeze_at_random ;;
		1) restart_at_random ;;
		2) kill_at_random ;;
		esac
	done
	touch stop codes
	for PID in "${STARTED[@]}"; do
		exits_with 0 "$PID"
	done
	[[ ! -e overlaps ]]
	run ! grep -vxE '137|79' codes
	(($(grep -cx 79 codes) <= $(bare_majorities)))
	(($(wc -l <turns) >= $1 / 2))
}

# bats test_tags=night
@test "servers freeze, restart empty, and holders are killed, at random" {
	faults 8
}

# bats test_tags=night
@test "the same for a minute" {
	faults 60
}

#!/usr/bin/env bats
# The reply table: what each error of a server means in each state of a lock, from
# a proxy that replies in place of the server, and from real servers and clusters.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/faults
load ../helpers/cluster

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- the reply table ------------------------------------------------------------

# Who acquires gets ERROR once: `again` on the same connection, `anew` on another
# one, else the status with which it ends.
acquiring() {
	local before status
	before=$(connections)
	# What isn't to be tried again is asked once more with fewer keys.
	rules "answer:EVAL/8:1:-$1" "answer:EVAL/7:1:-$1" "answer:EVAL/4:1:-$1" "answer:EVAL/3:1:-$1"
	case $2 in
	again | anew)
		run -7 rl -n sh -c 'exit 7'
		[[ -z $output ]]
		[[ $2 == again ]] && before=$((before + 1)) || before=$((before + 2))
		[[ $(connections) == "$before" ]]
		# As long as the server speaks so there is no lock, and no loop either.
		rules "answer:EVAL/8::-$1"
		status=69
		;;
	*)
		# An error that nobody has foreseen may come from a proxy without EVALSHA.
		rules "answer:EVAL/8::-$1" "answer:EVAL/7::-$1" "answer:EVAL/4::-$1" "answer:EVAL/3::-$1"
		status=$2
		;;
	esac
	run "-$status" rl -n --server-timeout 1 touch ran
	[[ ${#lines[@]} == 1 && $output == "rlockrun: \"$KEY\""*"${TOLD:-${1%% *}}"* ]]
	[[ ! -e ran && -z $(keys_left) ]]
	(($(grep -c '^answered EVAL/8' proxy/log) < 20))
}

# Who holds gets ERROR for a renewal: `again` and `anew` as above, or `lost`.
holding() {
	local before
	rules "answer:EVAL/1:1:-$1"
	running -t 3
	before=$(connections)
	case $2 in
	again | anew)
		says "renewed again"
		grep -q "cannot renew the lock, which lasts for another [0-9.]* s: .*${TOLD:-${1%% *}}" "$ERR"
		[[ $2 == again ]] || before=$((before + 1))
		[[ $(connections) == "$before" ]]
		ends_well
		;;
	lost)
		wait_until gone "$PID"
		exits_with 79 "$PID"
		grep -q "\"$KEY\" was lost: .*; stopping the job" "$ERR"
		gone "$(<job)"
		cli del "$KEY" "{$KEY}:rlk:i"
		;;
	esac
}

# Who releases gets ERROR once: `again` and `anew` as above, or it is `told`; `freed`
# is the lock alone, what tells about its holder may stay.
releasing() {
	local before since
	rules "answer:EVAL/9:1:-$1"
	running
	before=$(connections)
	case $2 in
	again | anew)
		[[ $2 == again ]] || before=$((before + 1))
		ends_well
		[[ ! -s $ERR && $(connections) == "$before" ]]
		;;
	freed)
		touch "done"
		exits_with 7 "$PID"
		[[ ! -s $ERR && $(cli exists "$KEY") == 0 ]]
		cli del "{$KEY}:rlk:i"
		;;
	told)
		rules "answer:EVAL/9::-$1"
		since=$(now_ms)
		touch "done"
		exits_with 7 "$PID"
		# Another try would be repeated for 10 s.
		(($(now_ms) - since < 6000))
		[[ $(<"$ERR") == "rlockrun: \"$KEY\": cannot confirm the release, the lock may last for its ttl: error from unix://$PWD/proxy/s: "*"${TOLD:-$1}"* ]]
		[[ $(cli del "$KEY" "{$KEY}:rlk:i") == 2 ]]
		;;
	esac
}

# row ACQUIRING HOLDING RELEASING ERROR
row() {
	through
	acquiring "$4" "$1"
	holding "$4" "$2"
	releasing "$4" "$3"
}

@test "reply table: LOADING" {
	row again again again "LOADING Redis is loading the dataset in memory"
}

# bats test_tags=night
@test "reply table: BUSY" {
	row again again again "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
}

# bats test_tags=night
@test "reply table: MASTERDOWN" {
	row again again again "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
}

# bats test_tags=night
@test "reply table: NOREPLICAS" {
	row again again again "NOREPLICAS Not enough good replicas to write."
}

# bats test_tags=night
@test "reply table: OOM" {
	row again again again "OOM command not allowed when used memory > 'maxmemory'."
}

# bats test_tags=night
@test "reply table: MISCONF" {
	row again again again "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
}

# bats test_tags=night
@test "reply table: TRYAGAIN" {
	row again again freed "TRYAGAIN Multiple keys request during rehashing of slot"
}

# bats test_tags=night
@test "reply table: CLUSTERDOWN" {
	row again again again "CLUSTERDOWN The cluster is down"
}

@test "reply table: READONLY" {
	row anew anew anew "READONLY You can't write against a read only replica."
}

# bats test_tags=night
@test "reply table: UNBLOCKED" {
	row anew anew anew "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
}

@test "reply table: WRONGTYPE" {
	row 76 lost told "WRONGTYPE Operation against a key holding the wrong kind of value"
}

# bats test_tags=night
@test "reply table: NOAUTH" {
	row 77 again told "NOAUTH Authentication required."
}

# bats test_tags=night
@test "reply table: WRONGPASS" {
	row 77 again told "WRONGPASS invalid username-password pair or user is disabled."
}

@test "reply table: NOPERM" {
	row 77 again told "NOPERM this user has no permissions to run the 'eval' command"
}

# bats test_tags=night
@test "reply table: DENIED" {
	row 77 again told "DENIED Redis is running in protected mode"
}

# bats test_tags=night
@test "reply table: a script's user without a permission" {
	row 77 again told "ERR The user executing the script can't run this command or subcommand"
}

# bats test_tags=night
@test "reply table: a script's user without a permission, since Redis 7.2" {
	row 77 again told "ERR ACL failure in script: User u has no permissions to run the 'del' command"
}

# bats test_tags=night
@test "reply table: no EVAL" {
	TOLD='does not know EVAL' row 77 again told "ERR unknown command 'EVAL', with args beginning with: 'local'"
}

@test "reply table: an unknown error" {
	row 69 again told "ERR the moon is full"
}

# bats test_tags=night
@test "reply table: an error without a word" {
	row 69 again told ''
}

# bats test_tags=night
@test "reply table: no room for another client" {
	row again again again "ERR max number of clients reached"
}

# bats test_tags=night
@test "reply table: MOVED" {
	TOLD='a node of a cluster' row 69 again told "MOVED 3999 127.0.0.1:6381"
}

# bats test_tags=night
@test "reply table: ASK" {
	TOLD='a node of a cluster' row 69 again told "ASK 3999 127.0.0.1:6381"
}

# bats test_tags=night
@test "reply table: REDIRECT" {
	row 69 again told "REDIRECT 127.0.0.1:6381"
}

# NOSCRIPT: see lock/digests.bats.

@test "reply table: renew = 0 is a loss" {
	running -t 1.5
	[[ $(cli del "$KEY") == 1 ]]
	wait_until gone "$PID"
	exits_with 79 "$PID"
	[[ $(<"$ERR") == "rlockrun: \"$KEY\" was lost: its key was taken away or has expired; stopping the job" ]]
	gone "$(<job)"
	[[ $(cli del "{$KEY}:rlk:i") == 1 && -z $(keys_left) ]]
}

@test "an error that stays, while holding: until the lease ends, then 79" {
	through "answer:EVAL/1::-LOADING Redis is loading"
	running -t 1
	wait_until gone "$PID"
	exits_with 79 "$PID"
	gone "$(<job)"
	grep -q 'cannot renew .*LOADING' "$ERR"
	grep -q 'is being lost' "$ERR"
	run ! grep -q 'renewed again' "$ERR"
	(($(grep -c '^answered EVAL/1' proxy/log) > 1))
	[[ -z $(keys_left) ]]
}

# bats test_tags=night
@test "an error that stays, while releasing: no longer than the lease, the job's status" {
	through "answer:EVAL/9::-LOADING Redis is loading"
	running -t 1
	touch "done"
	wait_until gone "$PID"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release, the lock may last for its ttl: "*LOADING* ]]
	(($(grep -c '^answered EVAL/9' proxy/log) > 1))
	wait_until is_free
}

# bats test_tags=night
@test "an error that stays, while waiting: on and on, until -w" {
	cli set "$KEY" other
	through
	start "$RLOCKRUN" -k "$KEY" -w 1.5 --server-timeout 0.5 touch ran
	says waiting
	rules "answer:EVAL/8::-LOADING Redis is loading"
	wait_until gone "$PID"
	exits_with 69 "$PID"
	[[ $(tail -n 1 "$ERR") == *LOADING* && ! -e ran ]]
	[[ $(cli getdel "$KEY") == other ]]
}

@test "an error that stays, while waiting: reported once" {
	cli set "$KEY" other
	through
	start "$RLOCKRUN" -k "$KEY" --server-timeout 2.5 touch ran
	says waiting
	rules "answer:EVAL/8::-LOADING Redis is loading"
	says "LOADING Redis is loading (it is loading its data; --server-timeout limits the wait); trying again"
	cli del "$KEY"
	rules
	wait_until gone "$PID"
	exits_with 0 "$PID"
	[[ $(wc -l <"$ERR") == 3 && $(tail -n 1 "$ERR") == *": acquired after "* && -e ran ]]
}

# --- the same from real servers ---------------------------------------------------

# trouble CAUSE CURE WORDS: the arguments of CONFIG SET, or other commands, that
# bring a server of our own to say WORDS to who writes, and back: nobody acquires,
# who holds is renewed again, who releases does it then.
trouble() {
	running -t 6
	eval "cli $1"
	KEY=$KEY:new run -69 rl -n --server-timeout 1 touch ran
	[[ ${#lines[@]} == 1 && $output == *"$3"* && ! -e ran ]]
	says "cannot renew the lock"
	grep -qF "$3" "$ERR"
	eval "cli $2"
	says "renewed again"
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
	running
	eval "cli $1"
	touch "done"
	through
	RLOCKRUN_REDIS=unix://$PWD/proxy/s start "$RLOCKRUN" -k "$KEY:new" sh -c 'exit 6'
	passed EVAL/8 1
	eval "cli $2"
	exits_with 6 "$PID"
	exits_with 7 "${STARTED[1]}"
	[[ ! -s err.2 && -z $(keys_left) ]]
}

@test "a real server that turns into a replica: READONLY" {
	own_server
	trouble 'replicaof 127.0.0.1 1' 'replicaof no one' \
		'(it is a replica: use the address of the primary, or redis-sentinel://)'
}

# bats test_tags=night
@test "a real replica that may not serve: MASTERDOWN" {
	own_server --replica-serve-stale-data no
	trouble 'replicaof 127.0.0.1 1' 'replicaof no one' MASTERDOWN
}

# bats test_tags=night
@test "a real server that misses its replicas: NOREPLICAS" {
	own_server
	trouble 'config set min-replicas-to-write 1' 'config set min-replicas-to-write 0' NOREPLICAS
}

# bats test_tags=night
@test "a real server that can't save: MISCONF" {
	own_server
	mkdir own/dump.rdb
	trouble 'config set save "100000 100000"; cli bgsave; wait_until misconfigured' \
		'config set save ""' '(it cannot save its data: see its log)'
}

misconfigured() {
	[[ $(cli set "{$KEY}:rlk:i" 1 xx 2>&1) == MISCONF* ]]
}

# bats test_tags=night
@test "a real server that is busy with a script: BUSY" {
	own_server --busy-reply-threshold 50
	running -t 3
	start redis-cli -s "$SUITE_DIR/s" eval 'while true do end' 0
	wait_until is_busy
	ERR=err.1
	says "cannot renew the lock"
	grep -qE 'BUSY|no answer' "$ERR"
	cli script kill
	says "renewed again"
	ends_well "${STARTED[0]}"
}

@test "a real server that is busy with a script at the release: the lock is freed then" {
	own_server --busy-reply-threshold 50
	running
	start redis-cli -s "$SUITE_DIR/s" eval 'while true do end' 0
	wait_until is_busy
	ERR=err.1
	touch "done"
	wait_until gone "$(<job)"
	run -1 gone "${STARTED[0]}"
	cli script kill
	ends_well "${STARTED[0]}"
	[[ ! -s err.1 ]]
}

is_busy() {
	[[ $(cli get "$KEY" 2>&1) == BUSY* ]]
}

# restart_loading: our own server, which then loads its keys for as long as nobody
# tells it to make haste.
restart_loading() {
	cli eval 'for i = 1, 1000 do redis.call("SET", "filler" .. i, string.rep("x", 2000)) end' 0
	cli save
	stop_server own
	redis-server --port 0 --unixsocket "$PWD/own/s" --save '' --appendonly no \
		--dir "$PWD/own" --daemonize no --rdbcompression no --key-load-delay 10000 \
		--loading-process-events-interval-bytes 1024 >own/log 2>&1 3>&- &
	echo $! >own/pid
	wait_until is_loading
}

is_loading() {
	[[ $(cli get "$KEY" 2>&1) == LOADING* ]]
}

make_haste() {
	cli config set key-load-delay 0
	wait_until server_answers own/s
	cli eval 'for i = 1, 1000 do redis.call("DEL", "filler" .. i) end' 0
}

# bats test_tags=night
@test "a real server that restarts and loads: an acquire waits for it" {
	own_server
	restart_loading
	run -69 rl -n --server-timeout 1 touch ran
	echo "$output"
	[[ $output == *LOADING*"(it is loading its data; --server-timeout limits the wait)"* && ! -e ran ]]
	through
	start "$RLOCKRUN" -k "$KEY" sh -c 'exit 6'
	passed EVAL/8 1
	make_haste
	exits_with 6 "$PID"
	[[ -z $(keys_left) ]]
}

# bats test_tags=night
@test "a real server that restarts and loads: a held lock is renewed again" {
	own_server
	running -t 6
	restart_loading
	says "cannot renew the lock"
	make_haste
	says "renewed again"
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
}

@test "a real server that restarts and loads: a release waits for it" {
	own_server
	running
	restart_loading
	touch "done"
	wait_until gone "$(<job)"
	make_haste
	ends_well
	[[ ! -s $ERR ]]
}

@test "a real server that restarts without its keys: lost, 79" {
	own_server
	running -t 2
	stop_server own
	start_server "$PWD/own"
	wait_until gone "$PID"
	exits_with 79 "$PID"
	grep -q "was lost: " "$ERR"
	gone "$(<job)"
	[[ -z $(keys_left) ]]
}

# --- real clusters ----------------------------------------------------------------

# cluster_of_two: our own server and one more, which know each other. No slot is
# anybody's yet.
cluster_of_two() {
	local n
	for n in other own; do
		mkdir $n
		choose_bus_port
		start_server "$PWD/$n" --port "$PORT" --bind 127.0.0.1 --cluster-enabled yes \
			--cluster-require-full-coverage no
	done
	SUITE_DIR=$PWD/own
	RLOCKRUN_REDIS=unix://$SUITE_DIR/s
	OTHER=$(other cluster myid)
	OTHER_PORT=$(other --raw config get port | tail -n 1)
	SLOT=$(cli cluster keyslot "$KEY")
	cli cluster meet 127.0.0.1 "$OTHER_PORT"
	wait_until knows "$OTHER"
}

other() {
	redis-cli -s "$PWD/other/s" "$@"
}

knows() {
	[[ $(cli cluster nodes) == *"$1 "*" master "*connected* && $(cli cluster nodes) != *handshake* ]]
}

serves() {
	[[ $(cli get "$KEY" 2>&1) != CLUSTERDOWN* ]]
}

# bats test_tags=night
@test "a real cluster: CLUSTERDOWN is waited out, MOVED and ASK end with 69" {
	cluster_of_two
	run -69 rl -n --server-timeout 1 touch ran
	[[ ${#lines[@]} == 1 && $output == *CLUSTERDOWN* ]]
	through
	start "$RLOCKRUN" -k "$KEY" sh -c 'exit 6'
	passed EVAL/8 1
	cli cluster addslotsrange 0 16383
	exits_with 6 "$PID"
	[[ -z $(keys_left) ]]
	cli del "{$KEY}:rlk:f" "{$KEY}:rlk:r"
	cli cluster setslot "$SLOT" migrating "$OTHER"
	run -69 rl -n touch ran
	[[ ${#lines[@]} == 1 && $output == "rlockrun: \"$KEY\": error from $RLOCKRUN_REDIS: it is a node of a cluster (redis-cluster://HOST); command not started" ]]
	cli cluster setslot "$SLOT" node "$OTHER"
	run -69 rl touch ran
	[[ ${#lines[@]} == 1 && $output == "rlockrun: \"$KEY\": error from $RLOCKRUN_REDIS: it is a node of a cluster (redis-cluster://HOST); command not started" ]]
	[[ ! -e ran ]]
}

# bats test_tags=night
@test "a real cluster: while its slot migrates a lock is renewed, and left to its ttl" {
	cluster_of_two
	cli cluster addslotsrange 0 16383
	wait_until serves
	running -t 2
	other cluster setslot "$SLOT" importing "$(cli cluster myid)"
	cli cluster setslot "$SLOT" migrating "$OTHER"
	# What isn't the lock itself has gone already.
	cli migrate 127.0.0.1 "$OTHER_PORT" '' 0 2000 keys "{$KEY}:rlk:i" "{$KEY}:rlk:f"
	wait_until left_below 1500
	wait_until left_above 1700
	run -69 rl -n --server-timeout 1 touch ran
	[[ ${#lines[@]} == 1 && $output == *TRYAGAIN* && ! -e ran ]]
	[[ ! -s $ERR ]]
	# The release needs what has gone: to free the lock alone could hurt nested runs.
	touch "done"
	exits_with 7 "$PID"
	[[ $(<"$ERR") == *"cannot confirm the release"*TRYAGAIN* ]]
}

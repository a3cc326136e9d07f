#!/usr/bin/env bats
# Servers and networks that misbehave: each cell of the reply table, a connection
# that ends or falls silent in each state, replies that are lost, late, doubled or
# hostile. What a real server can't be made to do, helpers/fault-proxy does for it.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/cluster

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- what is common to many ---------------------------------------------------

# job [OPTION...]: a rlockrun that runs a job until file `done` is there, which ends
# with 7 and leaves its token in file `token` and its fence in `fence`. PID is its pid.
job() {
	rm -f "done" job token fence
	start "$RLOCKRUN" -k "$KEY" "$@" -- sh -c 'echo "$RLOCKRUN_TOKEN" >token
		echo "$RLOCKRUN_FENCE" >fence
		echo $$ >job; until [ -e done ]; do sleep 0.02; done; exit 7'
}

# running [OPTION...]: the same, and waits until it runs.
running() {
	job "$@"
	wait_for_file job
}

# ends_well [PID]: the job's status, no lock is left, nobody is told of a loss.
ends_well() {
	touch "done"
	wait_until gone "${1:-$PID}"
	exits_with 7 "${1:-$PID}"
	run ! grep -E 'lost:|being lost|cannot confirm' "$ERR"
	[[ -z $(keys_left) ]]
}

through() {
	start_proxy proxy "$@"
}

stop_proxy() {
	stop_server proxy
	rm -r proxy
	RLOCKRUN_REDIS=$SUITE_URL
}

rules() {
	set_rules proxy "$@"
}

passed() {
	wait_until has_passed proxy "$@"
}

# Connections that the proxy saw since it was started: each names itself first.
connections() {
	grep -c '^CLIENT' proxy/log || :
}

says() {
	wait_until grep -qF -- "$1" "$ERR"
}

# --- the reply table ------------------------------------------------------------

# Who acquires gets ERROR once: `again` on the same connection, `anew` on another
# one, else the status with which it ends.
acquiring() {
	local before status
	before=$(connections)
	# What isn't to be tried again is asked once more with fewer keys.
	rules "answer:EVAL/7:1:-$1" "answer:EVAL/4:1:-$1" "answer:EVAL/3:1:-$1"
	case $2 in
	again | anew)
		run -7 rl -n sh -c 'exit 7'
		[[ -z $output ]]
		[[ $2 == again ]] && before=$((before + 1)) || before=$((before + 2))
		[[ $(connections) == "$before" ]]
		# As long as the server speaks so there is no lock, and no loop either.
		rules "answer:EVAL/7::-$1"
		status=69
		;;
	*) status=$2 ;;
	esac
	run "-$status" rl -n --server-timeout 0.25 touch ran
	[[ ${#lines[@]} == 1 && $output == "rlockrun: $KEY"*"${TOLD:-${1%% *}}"* ]]
	[[ ! -e ran && -z $(keys_left) ]]
	(($(grep -c '^answered EVAL/7' proxy/log) < 20))
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
		grep -q "$KEY was lost: .*; stopping the job" "$ERR"
		gone "$(<job)"
		cli del "$KEY" "{$KEY}:rlk:i"
		;;
	esac
}

# Who releases gets ERROR once: `again` and `anew` as above, or it is `told`; `freed`
# is the lock alone, what tells about its holder may stay.
releasing() {
	local before
	rules "answer:EVAL/8:1:-$1"
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
		touch "done"
		exits_with 7 "$PID"
		[[ $(<"$ERR") == "rlockrun: $KEY: cannot confirm the release, the lock may last for its ttl: error from unix://$PWD/proxy/s: "*"${TOLD:-$1}"* ]]
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

# bats test_tags=extra
@test "reply table: BUSY" {
	row again again again "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
}

# bats test_tags=extra
@test "reply table: MASTERDOWN" {
	row again again again "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
}

# bats test_tags=extra
@test "reply table: NOREPLICAS" {
	row again again again "NOREPLICAS Not enough good replicas to write."
}

@test "reply table: OOM" {
	row again again again "OOM command not allowed when used memory > 'maxmemory'."
}

# bats test_tags=extra
@test "reply table: MISCONF" {
	row again again again "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."
}

# bats test_tags=extra
@test "reply table: TRYAGAIN" {
	row again again freed "TRYAGAIN Multiple keys request during rehashing of slot"
}

# bats test_tags=extra
@test "reply table: CLUSTERDOWN" {
	row again again again "CLUSTERDOWN The cluster is down"
}

@test "reply table: READONLY" {
	row anew anew anew "READONLY You can't write against a read only replica."
}

# bats test_tags=extra
@test "reply table: UNBLOCKED" {
	row anew anew anew "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
}

@test "reply table: WRONGTYPE" {
	row 76 lost told "WRONGTYPE Operation against a key holding the wrong kind of value"
}

@test "reply table: NOAUTH" {
	row 77 again told "NOAUTH Authentication required."
}

# bats test_tags=extra
@test "reply table: WRONGPASS" {
	row 77 again told "WRONGPASS invalid username-password pair or user is disabled."
}

@test "reply table: NOPERM" {
	row 77 again told "NOPERM this user has no permissions to run the 'eval' command"
}

# bats test_tags=extra
@test "reply table: DENIED" {
	row 77 again told "DENIED Redis is running in protected mode"
}

# bats test_tags=extra
@test "reply table: a script's user who lacks a permission" {
	row 77 again told "ERR The user executing the script can't run this command or subcommand"
}

# bats test_tags=extra
@test "reply table: a script's user who lacks a permission, since Redis 7.2" {
	row 77 again told "ERR ACL failure in script: User u has no permissions to run the 'del' command"
}

# bats test_tags=extra
@test "reply table: no EVAL" {
	TOLD='does not know EVAL' row 77 again told "ERR unknown command 'EVAL', with args beginning with: 'local'"
}

@test "reply table: an error that nobody foresaw" {
	row 69 again told "ERR the moon is full"
}

# bats test_tags=extra
@test "reply table: an error without a word" {
	row 69 again told ''
}

# bats test_tags=extra
@test "reply table: no room for another client" {
	row again again again "ERR max number of clients reached"
}

@test "reply table: MOVED" {
	TOLD='a node of a cluster' row 69 again told "MOVED 3999 127.0.0.1:6381"
}

# bats test_tags=extra
@test "reply table: ASK" {
	TOLD='a node of a cluster' row 69 again told "ASK 3999 127.0.0.1:6381"
}

# bats test_tags=extra
@test "reply table: REDIRECT" {
	row 69 again told "REDIRECT 127.0.0.1:6381"
}

# An answer to EVALSHA, which nobody sends: out of the blue.
@test "reply table: NOSCRIPT" {
	row 69 again told "NOSCRIPT No matching script. Please use EVAL."
}

# bats test_tags=extra
@test "reply table: NOSCRIPT can't come up: scripts are sent whole, forgotten ones do no harm" {
	through
	job -t 2
	passed EVAL/7 1
	cli script flush
	passed EVAL/1 2
	cli script flush
	ends_well
	[[ ! -s $ERR ]]
	passed EVAL/8 1
	run ! grep -v '^CLIENT$\|^EVAL/[178]$\|^PEXPIRE$\|^ZRANGE$' proxy/log
}

@test "reply table: renew = 0 is a loss" {
	running -t 1.5
	[[ $(cli del "$KEY") == 1 ]]
	wait_until gone "$PID"
	exits_with 79 "$PID"
	[[ $(<"$ERR") == "rlockrun: $KEY was lost: its key was taken away or has expired; stopping the job" ]]
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

@test "an error that stays, while releasing: no longer than the lease, the job's status" {
	through "answer:EVAL/8::-LOADING Redis is loading"
	running -t 1
	touch "done"
	wait_until gone "$PID"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release, the lock may last for its ttl: "*LOADING* ]]
	(($(grep -c '^answered EVAL/8' proxy/log) > 1))
	wait_until has_expired
}

has_expired() {
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "an error that stays, while waiting: on and on, until -w" {
	cli set "$KEY" other
	through
	start "$RLOCKRUN" -k "$KEY" -w 1.5 --server-timeout 0.5 touch ran
	says waiting
	rules "answer:EVAL/7::-LOADING Redis is loading"
	wait_until gone "$PID"
	exits_with 69 "$PID"
	[[ $(tail -n 1 "$ERR") == *LOADING* && ! -e ran ]]
	[[ $(cli getdel "$KEY") == other ]]
}

# --- the same from real servers ---------------------------------------------------

# trouble CAUSE CURE WORDS: the arguments of CONFIG SET, or other commands, that
# bring a server of our own to say WORDS to who writes, and back: nobody acquires,
# who holds is renewed again, who releases does it then.
trouble() {
	running -t 3
	eval "cli $1"
	KEY=$KEY:new run -69 rl -n --server-timeout 0.3 touch ran
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
	passed EVAL/7 1
	eval "cli $2"
	exits_with 6 "$PID"
	exits_with 7 "${STARTED[1]}"
	[[ ! -s err.2 && -z $(keys_left) ]]
}

@test "a real server that turns into a replica: READONLY" {
	own_server
	trouble 'replicaof 127.0.0.1 1' 'replicaof no one' READONLY
}

# bats test_tags=extra
@test "a real replica that may not serve: MASTERDOWN" {
	own_server --replica-serve-stale-data no
	trouble 'replicaof 127.0.0.1 1' 'replicaof no one' MASTERDOWN
}

# bats test_tags=extra
@test "a real server that misses its replicas: NOREPLICAS" {
	own_server
	trouble 'config set min-replicas-to-write 1' 'config set min-replicas-to-write 0' NOREPLICAS
}

# bats test_tags=extra
@test "a real server that can't save: MISCONF" {
	own_server
	mkdir own/dump.rdb
	trouble 'config set save "100000 100000"; cli bgsave; wait_until misconfigured' \
		'config set save ""' MISCONF
}

misconfigured() {
	[[ $(cli set "{$KEY}:rlk:i" 1 xx 2>&1) == MISCONF* ]]
}

# bats test_tags=extra
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

# bats test_tags=extra
@test "a real server that restarts and loads: who acquires waits for it" {
	own_server
	restart_loading
	run -69 rl -n --server-timeout 1 touch ran
	echo "$output"
	[[ $output == *LOADING* && ! -e ran ]]
	through
	start "$RLOCKRUN" -k "$KEY" sh -c 'exit 6'
	passed EVAL/7 1
	make_haste
	exits_with 6 "$PID"
	[[ -z $(keys_left) ]]
}

# bats test_tags=extra
@test "a real server that restarts and loads: who holds is renewed again" {
	own_server
	running -t 6
	restart_loading
	says "cannot renew the lock"
	make_haste
	says "renewed again"
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
}

@test "a real server that restarts and loads: who releases does it then" {
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

# bats test_tags=extra
@test "a real cluster: CLUSTERDOWN is waited out, MOVED and ASK end with 69" {
	cluster_of_two
	run -69 rl -n --server-timeout 0.3 touch ran
	[[ ${#lines[@]} == 1 && $output == *CLUSTERDOWN* ]]
	through
	start "$RLOCKRUN" -k "$KEY" sh -c 'exit 6'
	passed EVAL/7 1
	cli cluster addslotsrange 0 16383
	exits_with 6 "$PID"
	[[ -z $(keys_left) ]]
	cli del "{$KEY}:rlk:f"
	cli cluster setslot "$SLOT" migrating "$OTHER"
	run -69 rl -n touch ran
	[[ ${#lines[@]} == 1 && $output == "rlockrun: $KEY: error from $RLOCKRUN_REDIS: it is a node of a cluster (redis-cluster://HOST)" ]]
	cli cluster setslot "$SLOT" node "$OTHER"
	run -69 rl touch ran
	[[ ${#lines[@]} == 1 && $output == "rlockrun: $KEY: error from $RLOCKRUN_REDIS: it is a node of a cluster (redis-cluster://HOST)" ]]
	[[ ! -e ran ]]
}

# bats test_tags=extra
@test "a real cluster: while its slot migrates a lock is renewed and freed" {
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
	run -69 rl -n --server-timeout 0.3 touch ran
	[[ ${#lines[@]} == 1 && $output == *TRYAGAIN* && ! -e ran ]]
	[[ ! -s $ERR ]]
	ends_well
	[[ ! -s $ERR ]]
}

# --- the connection ends ------------------------------------------------------------

# ends_at RULE: a run meets that and goes on as if nothing had been, even with -n.
ends_at() {
	through "$1"
	running -n "${@:2}"
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
	[[ ! -s $ERR ]]
}

# (The reply table's cells of EOF are those of this part, those of a time-out are in
# the next one: before acquire, renewal and release, and instead of their replies.)

@test "the connection ends while it is made" {
	ends_at lose:CLIENT:1
}

# auth_ends_at RULE: the same with a user's password.
auth_ends_at() {
	cli acl setuser "$KEY" on '>secret' '~*' +@all
	through "$1"
	RLOCKRUN_REDIS=unix://${KEY//:/%3a}:secret@$PWD/proxy/s
	running -n
	ends_well
	[[ ! -s $ERR ]]
	cli acl deluser "$KEY"
}

@test "the connection ends before the server hears of AUTH" {
	auth_ends_at lose:AUTH:1
}

@test "the connection ends instead of the reply to AUTH" {
	auth_ends_at cut:AUTH:1
}

@test "the connection ends after AUTH" {
	auth_ends_at hangup:AUTH:1
}

@test "the connection ends after the handshake" {
	ends_at hangup:CLIENT:1
}

@test "the connection ends before the server hears of the acquire" {
	ends_at lose:EVAL/7:1
}

@test "a lost reply of an acquire: nobody waits for his own lease" {
	ends_at cut:EVAL/7:1
	# The second try found its own token there, and was given a new fence.
	has_passed proxy EVAL/7 2
	[[ $(cli get "{$KEY}:rlk:f") == "$(<fence)" ]]
}

@test "the connection ends after the acquire: it is opened anew for the release" {
	ends_at hangup:EVAL/7:1
}

# bats test_tags=extra
@test "the connection ends while holding idle: it is opened anew for the renewal" {
	through hangup:EVAL/7:1
	running -t 2
	passed EVAL/1 2
	(($(connections) == 2))
	ends_well
	[[ ! -s $ERR ]]
}

# bats test_tags=extra
@test "the connection ends while waiting" {
	cli set "$KEY" other
	through hangup:EVAL/7:2 cut:EVAL/7:3 lose:EVAL/7:4
	job
	passed EVAL/7 6
	(($(connections) == 4))
	cli del "$KEY"
	wait_for_file job
	ends_well
	[[ $(wc -l <"$ERR") == 1 ]]
}

@test "the connection ends before the server hears of a renewal" {
	through lose:EVAL/1:1
	running -t 2
	says "renewed again"
	(($(connections) == 2))
	ends_well
}

@test "a lost reply of a renewal: renewed again" {
	through cut:EVAL/1:1
	running -t 2
	says "renewed again"
	has_passed proxy EVAL/1 2
	ends_well
}

@test "the connection ends before the server hears of the release" {
	ends_at lose:EVAL/8:1
	(($(connections) == 2))
}

@test "a lost reply of a release: the job's status, the lock is free, nobody says lost" {
	ends_at cut:EVAL/8:1
	has_passed proxy EVAL/8 2
}

@test "the connection ends at each release: a warning, the job's status" {
	through lose:EVAL/8
	running -t 1
	touch "done"
	wait_until gone "$PID"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release"*": lost the connection to "* ]]
	wait_until has_expired
}

# --- the other end is gone and says nothing --------------------------------------------

# bats test_tags=extra
@test "half-open while connecting: by way of another connection" {
	through hold
	RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
	job
	wait_until is_connecting
	rules
	wait_for_file job
	ends_well
	[[ $(wc -l <"$ERR") -le 1 ]]
}

# In state SYN-SENT.
is_connecting() {
	grep -qi " 0100007F:$(printf %04X "$PORT") 02 " /proc/net/tcp
}

@test "half-open at the first acquire: 69 in time, or -w" {
	through vanish:CLIENT
	run -69 rl --server-timeout 0.5 touch ran
	[[ $output == *"no answer from unix://$PWD/proxy/s"* ]]
	run -69 rl -w 0.5 touch ran
	[[ $output == *"no answer from unix://$PWD/proxy/s"* && ! -e ran ]]
	[[ -z $(keys_left) ]]
}

# bats test_tags=serial,extra
@test "half-open while waiting: noticed within 5 s, then it goes on" {
	local since
	cli set "$KEY" other
	through
	job
	says waiting
	rules vanish:EVAL/7:1
	since=$(now_ms)
	cli del "$KEY"
	wait_for_file job
	since=$(($(now_ms) - since))
	echo "after $since ms"
	((since < 6500))
	ends_well
}

@test "half-open while holding: noticed by a renewal, nothing is lost" {
	through vanish:PEXPIRE:1
	running -t 3
	says "renewed again"
	grep -q 'cannot renew .*no answer from' "$ERR"
	ends_well
}

# bats test_tags=extra
@test "silence instead of the reply to a renewal: renewed again" {
	through drop:EVAL/1:1
	running -t 3
	says "renewed again"
	ends_well
}

@test "S28: the first reply never comes: acquired on a second connection" {
	through drop:CLIENT:1
	run -7 rl --server-timeout 3 -n sh -c 'exit 7'
	[[ -z $output && -z $(keys_left) ]]
	(($(connections) == 2))
}

# bats test_tags=extra
@test "S28: a waiter whose reply never comes keeps its place on a second connection" {
	hold
	first=$PID
	through
	start rl -w 20 --server-timeout 3 sh -c 'echo B >>order'
	says waiting
	rules drop:EVAL/7:1
	passed EVAL/7 2
	RLOCKRUN_REDIS=unix://$SUITE_DIR/s start rl -w 20 sh -c 'echo C >>order'
	says waiting
	passed EVAL/7 3
	(($(connections) == 2))
	touch "done"
	wait_until eval '[[ -e order && $(wc -l <order) == 2 ]]'
	[[ $(tr -d "\n" <order) == BC ]]
	exits_with 0 "$first"
	wait_until none_left
}

@test "S30: a try that comes late plants nothing that its owner believes" {
	through late:3000:EVAL/7:1
	running -t 12 --server-timeout 3
	(($(connections) == 2))
	[[ $(cli getdel "$KEY") == "$(<token)" ]]
	RLOCKRUN_REDIS=unix://$SUITE_DIR/s run -0 rl true
	[[ $(cli exists "$KEY") == 0 ]]
	# The first try has arrived, and what it planted is not the job's token.
	passed EVAL/7 2
	exits_with 79 "$PID"
	wait_until none_left
}

# bats test_tags=extra
@test "S30: a job that ends before it learns of the loss exits 79, too" {
	through late:3000:EVAL/7:1 lose:EVAL/5
	running -t 60 --server-timeout 3
	[[ $(cli getdel "$KEY") == "$(<token)" ]]
	passed EVAL/7 2
	wait_until eval '[[ $(cli exists "$KEY") == 1 ]]'
	[[ $(cli get "$KEY") != "$(<token)" ]]
	touch "done"
	exits_with 79 "$PID"
	wait_until none_left
}

# bats test_tags=extra
@test "S28: round trips of 0.7 s and a ttl of 2 s: nothing is lost, nothing is said" {
	through delay:700
	running -t 2
	passed EVAL/1 4
	ends_well
	[[ ! -s $ERR ]]
}

# bats test_tags=extra
@test "S28: a second connection renews beside one that has died unnoticed" {
	through
	running -t 4
	rules vanish:EVAL/1:1
	says "renewed again"
	grep -q 'cannot renew .*no answer from' "$ERR"
	(($(connections) == 2))
	ends_well
}

# bats test_tags=extra
@test "a second connection finds the key taken away: lost, whatever the first would say" {
	through delay:9000:EVAL/1:1
	running -t 4
	passed EVAL/1 1
	cli del "$KEY"
	exits_with 79 "$PID"
	grep -q "$KEY was lost: its key was taken away or has expired; stopping the job" "$ERR"
	has_passed proxy EVAL/1 2
	[[ $(cli exists "$KEY") == 0 ]]
	cli del "{$KEY}:rlk:i"
}

# bats test_tags=extra
@test "a renewal that is out on two connections: the release waits for its reply" {
	through
	running -t 4 --min-hold 3s
	rules delay:9000:EVAL/1:1 late:500:EVAL/1:2
	passed CLIENT 2
	touch "done"
	exits_with 7 "$PID"
	[[ $(grep '^EVAL' proxy/log | tail -n 2 | xargs) == 'EVAL/1 EVAL/8' ]]
	cli del "$KEY" "{$KEY}:rlk:i"
}

# bats test_tags=extra
@test "a renewal that reaches the server late does not lengthen a kept lock" {
	through
	running -t 4 --min-hold 8s
	rules late:1500:EVAL/1:1
	passed EVAL/1 1 # on the second connection
	touch "done"
	exits_with 7 "$PID"
	[[ $(grep '^EVAL' proxy/log | tail -n 3 | xargs) == 'EVAL/1 EVAL/1 EVAL/8' ]]
	cli del "$KEY" "{$KEY}:rlk:i"
}

# bats test_tags=extra
@test "a renewal that is out on two connections when the lease ends: freed all the same" {
	through delay:9000:EVAL/1
	running -t 2
	passed EVAL/1 2
	touch "done"
	exits_with 7 "$PID"
	passed EVAL/8 1
	[[ $(cli exists "$KEY") == 0 && $(tail -n 1 "$ERR") == *"cannot confirm the release"* ]]
}

# bats test_tags=extra
@test "half-open when the job ends: freed by way of another connection" {
	ends_at vanish:EVAL/8:1
	(($(connections) == 2))
}

# bats test_tags=extra
@test "silence instead of the reply to a release: the job's status, freed, not lost" {
	ends_at drop:EVAL/8:1
	has_passed proxy EVAL/8 2
}

# --- too late --------------------------------------------------------------------------

@test "an acquire that arrives after -w is undone" {
	through late:1500:EVAL/7:1
	run -69 rl -w 0.5 touch ran
	[[ ! -e ran ]]
	run ! has_passed proxy EVAL/8 1
	passed EVAL/8 1
	wait_until none_left
}

# bats test_tags=extra
@test "an acquire that arrives after --server-timeout is undone" {
	through late:1500:EVAL/7:1
	run -69 rl --server-timeout 0.5 touch ran
	[[ ! -e ran ]]
	passed EVAL/8 1
	wait_until none_left
}

# bats test_tags=extra
@test "an acquire that arrives after a signal is undone" {
	through late:1500:EVAL/7:1
	job
	wait_until is_blocked "$PID"
	kill -TERM "$PID"
	exits_with 143 "$PID"
	passed EVAL/8 1
	wait_until none_left
	[[ ! -e job ]]
}

# Whether the proxy has its first connection, and so the try.
is_blocked() {
	grep -q '^CLIENT' proxy/log
}

# bats test_tags=extra
@test "a retry that arrives after -w, and the first one's reply was lost: undone" {
	through cut:EVAL/7:1 late:1500:EVAL/7:2
	run -69 rl -w 1 touch ran
	[[ ! -e ran ]]
	passed EVAL/8 1
	wait_until none_left
}

@test "a grant that is 0.6 TTL late is asked for again, the job has a fresh lease" {
	through delay:1200:EVAL/7:1
	running -t 2
	has_passed proxy EVAL/7 2
	[[ $(cli get "$KEY") == "$(<token)" && $(cli get "{$KEY}:rlk:f") == "$(<fence)" ]]
	left_above 1000
	ends_well
}

# bats test_tags=extra
@test "grants that are always 0.6 TTL late: no job, 69, nothing is left" {
	through delay:1200:EVAL/7
	run -69 rl -t 2 --server-timeout 3 touch ran
	[[ $output == *"too slow for this ttl"* && ! -e ran ]]
	passed EVAL/8 1
	wait_until none_left
}

# bats test_tags=extra
@test "grants that are later than the lease: no job, 69, nothing is left" {
	through delay:1300:EVAL/7
	run -69 rl -t 1 -w 3 touch ran
	[[ ! -e ran ]]
	wait_until none_left
}

# bats test_tags=extra
@test "renewals that are 0.6 TTL late: never a job beyond its lease" {
	through delay:1200:EVAL/1
	job -t 2
	wait_for_file job
	wait_until gone "$PID"
	gone "$(<job)"
	exits_with 79 "$PID"
	wait_until none_left
}

# --- too many -----------------------------------------------------------------------------

@test "a doubled reply of the handshake is not that of the acquire" {
	through twice:CLIENT:1
	running -n
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
}

@test "a doubled reply of an acquire: the connection is opened anew" {
	through twice:EVAL/7:1
	running -t 2
	passed EVAL/1 2
	(($(connections) == 2))
	ends_well
	[[ ! -s $ERR ]]
}

# bats test_tags=extra
@test "a doubled reply of a try that found it busy is not that of the next" {
	cli set "$KEY" other
	through twice:EVAL/7
	job
	passed EVAL/7 4
	[[ ! -e job ]]
	cli del "$KEY"
	wait_for_file job
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
}

# bats test_tags=extra
@test "a doubled reply is not that of a renewal which never was" {
	through twice:PEXPIRE late:5000:EVAL/1
	running -t 1
	wait_until gone "$PID"
	exits_with 79 "$PID"
	gone "$(<job)"
	run ! grep -q "renewed again" "$ERR"
}

# bats test_tags=extra
@test "a doubled reply of a renewal: renewed again on another connection" {
	through twice:EVAL/1:1
	running -t 2
	passed EVAL/1 3
	(($(connections) == 2))
	ends_well
}

@test "a doubled reply of a release" {
	ends_at twice:EVAL/8:1
}

# bats test_tags=extra
@test "a server that speaks unasked while waiting" {
	cli set "$KEY" other
	through also:EVAL/7:2:+hello
	job
	passed EVAL/7 4
	(($(connections) == 2))
	cli del "$KEY"
	wait_for_file job
	ends_well
}

@test "a server that speaks unasked while holding" {
	through 'also:EVAL/7:1::1'
	running -t 2
	passed EVAL/1 2
	(($(connections) == 2))
	ends_well
}

# bats test_tags=extra
@test "a server that pushes while holding" {
	through 'also:EVAL/7:1:>2\r\n+message\r\n+hello'
	running -t 2
	passed EVAL/1 2
	(($(connections) == 2))
	ends_well
}

# bats test_tags=extra
@test "a server that speaks before a renewal's reply: not taken for it" {
	through 'also:PEXPIRE::+hello' late:5000:EVAL/1
	running -t 1
	wait_until gone "$PID"
	exits_with 79 "$PID"
	gone "$(<job)"
	run ! grep -q "renewed again" "$ERR"
}

# --- answers that are none -----------------------------------------------------------------

# peak_below KB: of the rlockrun that still runs.
peak_below() {
	local peak
	peak=$(awk '/VmHWM/ { print $2 }' "/proc/$PID/status")
	echo "at most $peak kB"
	[[ $RLOCKRUN != */release/* ]] || ((peak < $1))
}

# nonsense WORDS TEXT: TEXT as the reply of an acquire: 69 in time, with WORDS in one
# line.
nonsense() {
	through "answer:EVAL/7::$2"
	since=$(now_ms)
	run -69 rl -n --server-timeout 0.3 touch ran
	since=$(($(now_ms) - since))
	echo "after $since ms: ${output:0:1000}"
	((since < 4000))
	[[ ${#lines[@]} == 1 && $output == "rlockrun: $KEY: "*"$RLOCKRUN_REDIS: "*$1* ]]
	[[ ! -e ran ]]
}

# always_nonsense WORDS TEXT: and in the middle of all else. While waiting and while
# holding nothing is lost, by a new connection; releasing ends with the job's status,
# and freed. Never much memory.
always_nonsense() {
	nonsense "$@"
	rules
	cli set "$KEY" other
	job -t 2
	says waiting
	rules "answer:EVAL/7:1:$2"
	wait_until answered EVAL/7
	passed EVAL/7 3
	peak_below 8000
	rules "answer:EVAL/1:1:$2"
	cli del "$KEY"
	wait_for_file job
	says "renewed again"
	grep -q 'cannot renew the lock, .*: .*'"$RLOCKRUN_REDIS: .*$1" "$ERR"
	peak_below 8000
	rules "answer:EVAL/8:1:$2"
	ends_well
}

answered() {
	grep -q "^answered $1" proxy/log
}

# bats test_tags=extra
@test "an answer of a gigabyte" {
	always_nonsense 'too large' '$1000000000\r\n|x'
}

# bats test_tags=extra
@test "an answer that is nested 10,000 deep" {
	always_nonsense '' "$(printf '*1\\r\\n%.0s' {1..10000}):1"
}

# bats test_tags=extra
@test "an answer that is nested without end" {
	nonsense '' '|*1\r\n'
}

# bats test_tags=extra
@test "an answer of one line that never ends" {
	always_nonsense 'too large' '+|x'
}

# bats test_tags=extra
@test "an answer of 2,147,483,647 parts" {
	nonsense '' '*2147483647\r\n|:1\r\n'
}

@test "an answer of -5 parts" {
	nonsense '' '*-5'
}

# bats test_tags=extra
@test "an answer of 10,000 strings" {
	nonsense '' '*10000\r\n|$1\r\nx\r\n'
}

# bats test_tags=extra
@test "an answer that is a string" {
	always_nonsense '' '$5\r\nhello'
}

# bats test_tags=extra
@test "an answer that is a status" {
	always_nonsense '' '+OK'
}

# bats test_tags=extra
@test "an answer that is nothing" {
	always_nonsense '' '$-1'
}

# bats test_tags=extra
@test "an answer that is an array of nothing" {
	always_nonsense '' '*0'
}

# bats test_tags=extra
@test "an answer with parts of the wrong type" {
	always_nonsense '' '*3\r\n$1\r\n1\r\n*1\r\n:1\r\n+x'
}

@test "an answer with a number out of range" {
	nonsense '' ':99999999999999999999999999'
}

# bats test_tags=extra
@test "an answer with a number that is none" {
	nonsense '' ':1x'
}

@test "an answer of RESP3: a push" {
	nonsense '' '>2\r\n+message\r\n+hello'
}

# bats test_tags=extra
@test "an answer of RESP3: a map" {
	nonsense '' '%1\r\n+proto\r\n:3'
}

@test "an answer of zeros" {
	nonsense '' '\x00|\x00'
}

# reply WORD...: an array of texts, =TEXT, and of numbers.
reply() {
	local word
	printf '*%d' $#
	for word; do
		case $word in
		=*) printf '\\r\\n$%d\\r\\n%s' $((${#word} - 1)) "${word#=}" ;;
		*) printf '\\r\\n:%s' "$word" ;;
		esac
	done
}

# is_refused WORD...: such an answer to an acquire, of one that waits and of one that
# does not: 69 with one line, no crash, no job.
is_refused() {
	local options
	rules "answer:EVAL/7::$(reply "$@")"
	for options in -n '-w 5' "-p 3 -n"; do
		# shellcheck disable=SC2086 # several words
		run rl $options --server-timeout 0.2 touch ran
		[[ $status == 69 && ${#lines[@]} == 1 && ! -e ran &&
			$output == *"unexpected answer from $RLOCKRUN_REDIS: "* ]] || {
			echo "$options, $*: $status, $output"
			return 1
		}
	done
}

BIG=9223372036854775807

# bats test_tags=extra
@test "S29: numbers of a busy answer out of range: 69, no crash, no job" {
	through
	rules "answer:EVAL/7::$(reply 0 100 0 1 =known =x 1 0 =h =1 =u 5 0)"
	run -75 rl -n touch ran
	# left, rank, how many wait, who, kind, count, permits, host, pid, user, held
	is_refused 0 "$BIG" 0 1 =known =x 1 0 =h =1 =u 5 0
	is_refused 0 -2 0 1 =known =x 1 0 =h =1 =u 5 0
	is_refused 0 100 -2 1 =known =x 1 0 =h =1 =u 5 0
	is_refused 0 100 -1000000000 1 =known =x 1 0 =h =1 =u 5 0
	is_refused 0 100 -"$BIG" 1 =known =x 1 0 =h =1 =u 5 0
	is_refused 0 100 "$BIG" 1 =known =x 1 0 =h =1 =u 5 0
	is_refused 0 100 0 -1 =known =x 1 0 =h =1 =u 5 0
	is_refused 0 100 0 1 =other =x 1 0 =h =1 =u 5 0
	is_refused 0 100 0 1 =known =y 1 0 =h =1 =u 5 0
	is_refused 0 100 0 1 =known =x -"$BIG" 0 =h =1 =u 5 0
	is_refused 0 100 0 1 =known =x 0 0 =h =1 =u 5 0
	is_refused 0 100 0 1 =free = 1 0 =h =1 =u 5 0
	is_refused 0 100 0 1 =known =x 1 -1 =h =1 =u 5 0
	is_refused 0 100 0 1 =known =x 1 "$BIG" =h =1 =u 5 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u -1 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u "$BIG" 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u 5 2
	is_refused 0 100 0 1 =known =x 1 0 =h =1 "=$(printf %0300d 0)" 5 0
	is_refused 0 100 0 1 =known =x 1 0 =h =x1 =u 5 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u 5
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u 5 0 7
}

# bats test_tags=extra
@test "S29: a grant out of range, or the answer to another question: 69, no job" {
	local fence
	through
	is_refused 1
	is_refused 2
	is_refused 0
	is_refused -1 =5 = 0
	is_refused 1 =5 = -1
	is_refused 1 =5 = "$BIG"
	is_refused 1 5 = 0
	for fence in x5 5x -5 0x5 9007199254740992 '5;6' ' 5' 00000000000000005; do
		is_refused 1 "=$fence" = 0
	done
	# shellcheck disable=SC2046 # words
	is_refused 1 =5 = 0 $(printf '=w%d ' {1..51})
}

@test "S29: to a nested run: 69, no crash, no job" {
	export RLOCKRUN
	for answer in "$(reply 2 =x)" "$(reply 3)" "$(reply 0 9 0 1 =known =x 1 0 =h =1 =u 5 0)" \
		"$(reply 1)" "$(reply 1 5 =)" "$(reply 1 =x =)" "$(reply 1 =5 = 0)"; do
		through "answer:EVAL/7:2:$answer" "answer:EVAL/7:3:$answer" \
			"answer:EVAL/7:4:$answer" "answer:EVAL/7:5:$answer"
		run -5 rl -n sh -c '"$RLOCKRUN" -k "$KEY" --server-timeout 0.2 touch ran
			[ $? = 69 ] && exit 5'
		[[ $output == *"unexpected answer from "* && ! -e ran ]]
		stop_proxy
	done
}

# bats test_tags=extra
@test "S29: while holding and while releasing an answer out of range is none" {
	local answer
	for answer in "$(reply 2)" "$(reply -1)" "$(reply 1 1)" "$(reply 0 0)" "$(reply "$BIG")"; do
		through "answer:EVAL/1:1:$answer" "answer:EVAL/8:1:$(reply 4)"
		running -t 3
		says "unexpected answer from "
		says "renewed again"
		ends_well
		stop_proxy
	done
}

# Of servers that speak something else the first words are the answer.

# foreign_server WORDS TEXT: a server that meets us with TEXT, at first and in the middle
# of a job, is told by WORDS; when it is Redis again nothing is lost.
foreign_server() {
	through "answer:CLIENT::$2" answer:EVAL::+OK
	run -69 rl -n --server-timeout 0.5 touch ran
	[[ ${#lines[@]} == 1 && ! -e ran ]]
	[[ $output == "rlockrun: $KEY: no Redis server at $RLOCKRUN_REDIS: $1" ]]
	rules hangup:EVAL/7:1 "answer:CLIENT:2:$2" answer:EVAL/1:1:+OK
	running -t 3
	says "no Redis server at $RLOCKRUN_REDIS: $1"
	says "renewed again"
	ends_well
}

# bats test_tags=extra
@test "a server that speaks HTTP: named as such" {
	foreign_server "it speaks HTTP" 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n'
}

# bats test_tags=extra
@test "a server that sends a TLS alert: named as such" {
	foreign_server "it speaks TLS" '\x15\x03\x01\x00\x02\x02\x46'
}

# real_foreign_server NAME PYTHON: a program that prints its port, and may use what it
# finds in the standard library.
real_foreign_server() {
	/usr/bin/python3 -u -c "$2" >port 2>/dev/null 3>&- &
	STARTED+=("$!")
	wait_for_file port
	run -69 rl -n --server-timeout 0.5 -r "redis://127.0.0.1:$(<port)" touch ran
	echo "$output"
	[[ ${#lines[@]} == 1 && $output == "rlockrun: $KEY: "*"redis://127.0.0.1:$(<port): "*"$1"* ]]
	[[ ! -e ran ]]
}

@test "a real HTTP server: named as such" {
	real_foreign_server HTTP '
import http.server
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(server.server_port)
server.serve_forever()'
}

# OpenSSL hangs up without an alert on who does not greet it.
@test "a real TLS server: named as such" {
	real_foreign_server TLS '
import socket, ssl
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1])
while True:
    try:
        context.wrap_socket(listener.accept()[0], server_side=True)
    except OSError:
        pass'
}

@test "words of a server that take up a whole answer are cut" {
	through "answer:EVAL::-ERR $(printf 'x%.0s' {1..60000})"
	run -69 rl -n touch ran
	[[ ${#lines[@]} == 1 && ${#output} -lt 1000 && ! -e ran ]]
}

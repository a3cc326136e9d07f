# What all suites share: a real server for each file, a folder and a key for
# each test, waiting for events, and a teardown that fails on what was left.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0
# The tree, and the folder of this file.
ROOT=${BATS_TEST_DIRNAME%/*/*}
HELPERS=$ROOT/tests/helpers
# The helpers that are compiled: helpers/job.c is what most locks are held for.
A_JOB=${RLOCKRUN%/*}/helpers/job
# Of the program that is tested: each script as it is sent, in a file.
export SCRIPTS=${RLOCKRUN%/*}/src/lock/scripts
load ../helpers/topology

# --- the server -------------------------------------------------------------

# start_server FOLDER [OPTION...]: on FOLDER/s; its pid is in FOLDER/pid. Options
# of a topology are in FOLDER/options, one a line. It has run our scripts before,
# like any server that is in use: otherwise the first run on it would send each
# script twice, and tests that count requests would depend on their order. With
# COLD set it has not.
start_server() {
	local dir=$1 options=()
	shift
	mkdir -p "$dir"
	[[ ! -e $dir/options ]] || mapfile -t options <"$dir/options"
	if [[ -e $dir/pid ]] && ! gone "$(<"$dir/pid")"; then
		echo "a server runs in $dir already" >&2
		return 1
	fi
	redis-server --port 0 --unixsocket "$dir/s" --save '' --appendonly no \
		--dir "$dir" --daemonize no "${options[@]}" "$@" >"$dir/log" 2>&1 3>&- &
	echo $! >"$dir/pid"
	wait_until server_answers "$dir/s" || {
		cat "$dir/log" >&2
		return 1
	}
	[[ ${COLD:-} ]] || load_scripts "$dir/s"
}

# load_scripts SOCKET: if that is permitted. With a password, redis-cli would wait
# half a minute for the end.
# shellcheck disable=SC2016 # $3 is a length
load_scripts() {
	local LC_ALL=C file text
	[[ $(redis-cli -s "$1" ping) == PONG ]] || return 0
	for file in "$SCRIPTS"/*.lua; do
		text=$(<"$file")$'\n'
		printf '*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%d\r\n%s\r\n' "${#text}" "$text"
	done | redis-cli -s "$1" --pipe >/dev/null 2>&1 || :
}

# digest_of SCRIPT: of one of SCRIPTS, as the server computes it.
digest_of() {
	sha1sum <"$SCRIPTS/$1.lua" | cut -c 1-40
}

server_answers() {
	[[ -S $1 && $(redis-cli -s "$1" ping 2>/dev/null) == *@(PONG|NOAUTH)* ]]
}

# stop_server FOLDER: also a frozen one. A server works in its folder, and a proxy in
# that of the test.
stop_server() {
	local pid folder=$1
	[[ -e $1/pid ]] || return 0
	pid=$(<"$1/pid")
	[[ $folder == /* ]] || folder=$PWD/$folder
	if is_ours "$pid" "${folder%/*}"; then
		kill -KILL "$pid" 2>/dev/null
		# Of a child's end bash says nothing then.
		wait "$pid" 2>/dev/null || wait_until gone "$pid"
	fi
	rm "$1/pid"
}

# start_tcp_server FOLDER ADDRESSES [OPTION...]: the same, also on TCP; PORT is
# its port, below those that the kernel gives away.
start_tcp_server() {
	choose_port
	# shellcheck disable=SC2086 # several addresses are several words
	start_server "$1" --port "$PORT" --bind $2 "${@:3}"
}

# take_port PORT: whether nothing listens there, and no other test of this run has
# taken it: it is free until the server that it was chosen for has started.
take_port() {
	! (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null &&
		(set -C && : >"${TAKEN_PORTS:-$BATS_RUN_TMPDIR}/port.$1") 2>/dev/null
}

choose_port() {
	until PORT=$((20000 + RANDOM % 12000)) && take_port "$PORT"; do :; done
}

# That of a cluster's node, whose second one, 10000 above, is below those, too.
choose_bus_port() {
	until PORT=$((10500 + RANDOM % 9000)) && take_port "$PORT" && take_port $((PORT + 10000)); do :; done
}

# start_tls_server FOLDER CERTIFICATE [OPTION...]: the same, over TLS, with one of
# helpers/make-certificates' in CERTIFICATES.
start_tls_server() {
	choose_port
	start_server "$1" --tls-port "$PORT" --bind 127.0.0.1 ::1 \
		--tls-cert-file "$CERTIFICATES/$2.crt" \
		--tls-key-file "$CERTIFICATES/$2.key" \
		--tls-ca-cert-file "$CERTIFICATES/ca.crt" \
		--tls-auth-clients no "${@:3}"
}

# start_sentinels FOLDER REPLICAS [OPTION...]: a primary FOLDER/p0, replicas of it
# (FOLDER/p1 ...) and three sentinels (FOLDER/s0 ...) that know each other from the
# start. PORTS are those of the servers, SENTINELS the sentinels' hosts and ports
# as in a URL. The options are the servers'; those of the sentinels, one a line,
# are in SENTINEL_OPTIONS, and SENTINEL_PORT is what stands before their port.
start_sentinels() {
	local dir=$1 count=$2 i
	shift 2
	PORTS=()
	for ((i = 0; i <= count; i++)); do
		local of=()
		((i)) && of=(--replicaof 127.0.0.1 "${PORTS[0]}")
		choose_port
		PORTS+=("$PORT")
		start_server "$dir/p$i" --port "$PORT" --bind 127.0.0.1 \
			--repl-diskless-sync-delay 0 --repl-ping-replica-period 1 \
			"${of[@]}" "$@" || return
	done
	((count == 0)) || wait_until replicates "$dir/p0" "$count" || return
	run_sentinels "$dir"
}

# run_sentinels FOLDER [COUNT]
run_sentinels() {
	local dir=$1 count=${2:-3} ports=() ids=() i j
	SENTINELS=
	for ((i = 0; i < count; i++)); do
		choose_port
		ports+=("$PORT")
		ids+=("$(printf %039d%d "$PORT" "$i")")
		SENTINELS+=${SENTINELS:+,}127.0.0.1:$PORT
	done
	for ((i = 0; i < count; i++)); do
		mkdir -p "$dir/s$i"
		{
			printf '%s\n' "bind 127.0.0.1" "unixsocket $dir/s$i/s" \
				"${SENTINEL_PORT:-port} ${ports[i]}" \
				"sentinel myid ${ids[i]}" \
				"sentinel monitor primary 127.0.0.1 ${PORTS[0]} 2" \
				"sentinel down-after-milliseconds primary 700" \
				"sentinel failover-timeout primary 3000" \
				"${SENTINEL_OPTIONS:-}"
			for ((j = 1; j < ${#PORTS[@]}; j++)); do
				echo "sentinel known-replica primary 127.0.0.1 ${PORTS[j]}"
			done
			for ((j = 0; j < count; j++)); do
				((i == j)) || echo "sentinel known-sentinel primary 127.0.0.1 ${ports[j]} ${ids[j]}"
			done
		} >"$dir/s$i/conf"
		redis-server "$dir/s$i/conf" --sentinel --dir "$dir/s$i" \
			--daemonize no >"$dir/s$i/log" 2>&1 3>&- &
		echo $! >"$dir/s$i/pid"
		wait_until server_answers "$dir/s$i/s" || {
			cat "$dir/s$i/log" >&2
			return 1
		}
	done
}

# replicates FOLDER COUNT: what is written there reaches so many replicas. One
# that counts as online may not have got a thing yet.
replicates() {
	[[ $(printf 'set warm 1 px 1\nwait %d 300\n' "$2" | redis-cli -s "$1/s" | tail -n 1) == "$2" ]]
}

# own_server [OPTION...]: instead of the suite's, for this test alone, which may
# freeze, flood and stop it.
own_server() {
	SUITE_DIR=$PWD/own
	start_topology "$SUITE_DIR" "$@" || return
	RLOCKRUN_REDIS=$URL
}

freeze() {
	kill -STOP "$(<"$SUITE_DIR/pid")"
}

thaw() {
	kill -CONT "$(<"$SUITE_DIR/pid")"
}

# start_proxy FOLDER [RULE...]: from here on rlockrun reaches this test's server by
# way of helpers/fault-proxy, which listens on FOLDER/s and on PORT.
start_proxy() {
	mkdir "$1"
	"$HELPERS/fault-proxy" "$1" "$SUITE_DIR/s" "${@:2}" \
		>"$1/out" 2>&1 3>&- &
	echo $! >"$1/pid"
	wait_for_file "$1/port" || {
		cat "$1/out" >&2
		return 1
	}
	# shellcheck disable=SC2034 # for the suites
	PORT=$(<"$1/port")
	RLOCKRUN_REDIS=unix://$PWD/$1/s
}

# set_rules FOLDER [RULE...]: in place of those of the proxy there.
set_rules() {
	local folder=$1
	shift
	rm "$folder/obeyed"
	printf '%s' "${@/%/$'\n'}" >"$folder/rules.new"
	mv "$folder/rules.new" "$folder/rules"
	wait_until test -e "$folder/obeyed" || {
		cat "$folder/out" >&2
		return 1
	}
}

# has_passed FOLDER NAME COUNT: so many requests of that name have.
has_passed() {
	(($(grep -c "^$2" "$1/log") >= $3))
}

# In setup_file and teardown_file of a suite.
start_suite_server() {
	local -
	set +T
	export SUITE_DIR=$BATS_FILE_TMPDIR/redis SUITE_URL CERTIFICATES
	[[ ${TOPOLOGY:-} != tls ]] || make_certificates
	start_topology "$SUITE_DIR" "$@" || return
	SUITE_URL=$URL
}

stop_suite_server() {
	stop_servers "$BATS_FILE_TMPDIR"
}

# In a copy of this suite's own: tests/run has a folder for those of all suites, as
# making them takes half a second.
# shellcheck disable=SC2016 # the inner shell is to expand that
make_certificates() {
	local made=${MADE_CERTIFICATES:-$BATS_FILE_TMPDIR/made}
	export CERTIFICATES=$BATS_FILE_TMPDIR/certificates
	mkdir -p "$made"
	flock "$made.lock" bash -eu -c '[[ -e $1/made ]] || { "$0" "$1" && touch "$1/made"; }' \
		"$HELPERS/make-certificates" "$made" && cp -R "$made" "$CERTIFICATES"
}

# Suites that look at no server also run beside a program of another processor.
start_asking() {
	ASK=
	[[ ! -x ${A_JOB%/*}/ask ]] || ASK=$BATS_FILE_TMPDIR/ask.$BATS_TEST_NUMBER
	[[ ! $ASK ]] || "${A_JOB%/*}/ask" "$ASK" $$
}

stop_asking() {
	[[ $ASK ]] || return 0
	kill "$(<"$ASK/pid")"
	rm "$ASK/pid"
}

# ask WORD...: a command for the suite's server, over the connection that the test
# keeps; what it replies is in REPLY. Those are bytes: at the end of half a character
# bash would wait for the rest of it.
ask() {
	local status=0 LC_ALL=C
	read -rN 1 _ <"$ASK/turn"
	printf '%s\0' $# "$SUITE_DIR/s" "$@" >"$ASK/question"
	IFS= read -rd '' REPLY <"$ASK/reply"
	printf . >"$ASK/turn"
	[[ $REPLY == 0* ]] || status=1
	REPLY=${REPLY:1}
	return "$status"
}

# cli [OPTION...] WORD...: the same on stdout. What has options, blocks, or changes
# the connection is a redis-cli's.
cli() {
	[[ ${1:-} != --raw ]] || shift
	case ${ASK:+${REDISCLI_AUTH:+-}${1:-}} in
	'' | -* | auth | bl* | br* | bz* | debug | eval* | hello | monitor | multi | select | \
		shutdown | *subscribe | wait | xread)
		redis-cli --raw -s "$SUITE_DIR/s" "$@"
		;;
	*)
		ask "$@" || {
			echo "$REPLY" >&2
			return 1
		}
		printf '%s\n' "$REPLY"
		;;
	esac
}

# --- one test ---------------------------------------------------------------

# In setup: KEY is this test's own, rlockrun finds the suite's server, and reads no
# configuration of this machine or its user.
begin_test() {
	unset "${!RLOCKRUN_@}" REDIS_URL
	export RLOCKRUN_CONFIG=none
	KEY=test:$BATS_SUITE_TEST_NUMBER:$BATS_TEST_NUMBER
	export KEY RLOCKRUN_REDIS=${SUITE_URL:-unix://$SUITE_DIR/s}
	cd "$BATS_TEST_TMPDIR" || return
	STARTED=()
	start_asking
	trace_test_only
}

# Before each command bats runs a dozen of its own, so as to know which one failed.
# From here on it does so for those of the test, and not in helpers nor in its own
# `run`: where it fails in there, the trap says. DEBUG's would take that for EXIT as
# the last command.
trace_test_only() {
	set +T
	trap 'trap - DEBUG
		[[ $BASHPID != $$ || ${FUNCNAME[0]:-} == @("$BATS_TEST_NAME"|bats_*) ]] || echo "in ${FUNCNAME[0]}: $BASH_COMMAND" >&2
		bats_error_trap' ERR
}

# In teardown: ends what the test started, then fails on what outlived it: a
# process of ours (each has this test's folder in its environment or its working
# directory) or a key other than the fence's.
end_test() {
	local - pid STATE PARENT
	set +T
	[[ ${BATS_TEST_COMPLETED:-} ]] || tail -n 5 err.* >&2 2>/dev/null
	# Only what is stopped is continued: SIGCONT takes away the SIGSTOP by which
	# the leak checker of a process that ends attaches to it, and waits for ever.
	for pid in "${STARTED[@]}"; do
		is_ours "$pid" "$BATS_TEST_TMPDIR" || continue
		read_state "$pid" && [[ $STATE == T ]] && kill -CONT "$pid" 2>/dev/null
		kill -TERM "$pid" 2>/dev/null
	done
	wait_until no_processes_left || {
		echo "left running:" >&2
		processes_left >&2
		processes_left | while read -r pid _; do kill -KILL "$pid"; done
		stop_servers "$BATS_TEST_TMPDIR"
		return 1
	}
	stop_servers "$BATS_TEST_TMPDIR"
	stop_asking
}

# is_ours PID FOLDER: whether it is a child of this shell or works in or below that
# folder. When a process has ended, the kernel may give its pid to another one.
is_ours() {
	local STATE PARENT
	read_state "$1" || return 1
	((PARENT == BASHPID)) || [[ $(readlink "/proc/$1/cwd") == "$2"* ]]
}

# stop_servers FOLDER: those whose folders are in there.
stop_servers() {
	local pid_file
	for pid_file in "$1"/*/pid; do
		[[ ! -e $pid_file ]] || stop_server "${pid_file%/pid}"
	done
}

# Live processes whose working directory is this test's folder or below, but for
# the shells that run the test and for its own servers.
processes_left() {
	local pid
	for pid in $(live_in "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/below"); do
		gone "$pid" || is_above "$pid" || is_own_server "$pid" ||
			printf '%s %s\n' "$pid" "$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
	done
}

# live_in FOLDER...: pids of those whose working directory it is; no zombies.
live_in() {
	local process folder
	for process in /proc/[0-9]*; do
		for folder; do
			[[ ! $process/cwd -ef $folder ]] || echo "${process#/proc/}"
		done
	done
}

is_own_server() {
	local pid_file
	for pid_file in "$BATS_TEST_TMPDIR"/*/pid; do
		[[ ! -e $pid_file || $(<"$pid_file") != "$1" ]] || return 0
	done
	return 1
}

# Whether PID is this shell or one of those above it. (In teardown, which bats
# runs in a trap, a plain `return` gives the status from before the trap.)
is_above() {
	local STATE PARENT=$BASHPID
	until ((PARENT == $1)); do
		{ ((PARENT > 1)) && read_state "$PARENT"; } || return 1
	done
	return 0
}

no_processes_left() {
	[[ -z $(processes_left) ]]
}

# The keys of this test's lock that are left, except those that outlast a run: what
# is known about the lock, and its last runs.
keys_left() {
	cli --raw keys "*$KEY*" | grep -v ':rlkt\?:[ir]$'
}

none_left() {
	[[ -z $(keys_left) ]]
}

# --- doing ------------------------------------------------------------------

# start COMMAND...: in the background, ended by teardown; PID is its pid and its
# stderr is in err.N, N counting from 1, which is ERR.
start() {
	local n=$((${#STARTED[@]} + 1))
	ERR=err.$n
	"$@" >"out.$n" 2>"$ERR" </dev/null 3>&- &
	PID=$!
	STARTED+=("$PID")
}

# The command that most tests run, which no test waits for longer than this.
rl() {
	timeout -k 1 90 "$RLOCKRUN" -k "$KEY" "$@"
}

# hold [OPTION...]: A rlockrun that holds KEY until file `done` is there; waits
# until it does. PID is its pid, and that of its job in `job`.
hold() {
	start "$RLOCKRUN" -k "$KEY" "$@" -- "$A_JOB" job=%p until:done
	wait_for_file job
}

# exits_with CODE PID: waits for a background process.
exits_with() {
	local code=0
	wait "$2" || code=$?
	[[ $code == "$1" ]] || {
		echo "exit code $code, not $1" >&2
		cat err.* >&2
		return 1
	}
}

# A user without any other process, also of other tests.
OTHER_USER=$((61000 + $$ % 4000))

as_other_user() {
	setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups "$@"
}

# In a test that needs such a user: it can run ./rlockrun.
need_other_user() {
	local folder=$BATS_TEST_TMPDIR
	as_other_user true 2>/dev/null ||
		skip "another user takes privileges"
	while [[ $folder != / ]]; do
		chmod o+x "$folder" 2>/dev/null || :
		folder=$(dirname "$folder")
	done
	cp "$RLOCKRUN" rlockrun
	chmod 755 rlockrun .
	as_other_user ./rlockrun --version >/dev/null ||
		skip "another user can't reach the program"
}

# In a test that looks at what rlockrun sends.
need_strace() {
	type strace >/dev/null 2>&1 || skip 'no strace'
	((EUID == 0)) || skip "reading rlockrun's memory takes privileges"
}

# --- looking ----------------------------------------------------------------

is_held() { ask exists "$KEY" && [[ $REPLY == 1 ]]; }
is_free() { ask exists "$KEY" && [[ $REPLY == 0 ]]; }

# Each key of this test's lock, and its type.
list_keys() {
	local key
	cli --raw keys "*$KEY*" | sort | while read -r key; do
		echo "$key $(cli type "$key")"
	done
}

# The last fencing number.
fence() { cli hget "{$KEY}:rlk:i" f; }

# How long the lease still lasts.
left_ms() { cli pttl "$KEY"; }
left_above() { ask pttl "$KEY" && ((REPLY > $1)); }
left_below() { ask pttl "$KEY" && ((REPLY < $1)); }

# end_lease [KEY]: as if its time were over, by the server's clock.
end_lease() { cli pexpire "${1:-$KEY}" 0 >/dev/null; }

# is_renewed: a lease of 30 s, of which less was left.
is_renewed() {
	cli pexpire "$KEY" 18000 >/dev/null
	wait_until left_above 20000
}

# The server's clock.
server_ms() {
	local time
	ask time
	read -rd '' -a time <<<"$REPLY" || :
	echo $((time[0] * 1000 + time[1] / 1000))
}
is_past() { (($(server_ms) > $1)); }

# --- waiting for events, never for time ----------------------------------------

WAIT_SECONDS=${WAIT_SECONDS:-60}

# wait_until COMMAND...: looks again after 10 ms, then ever less often up to each
# 50 ms. Reads from a pipe that nobody writes to, as sleep(1) would be a process.
wait_until() {
	local end=$((SECONDS + WAIT_SECONDS)) pause=10 never=$BATS_FILE_TMPDIR/never
	[[ -p $never ]] || mkfifo "$never" 2>/dev/null || :
	until "$@"; do
		((SECONDS < end)) || return 1
		read -rt 0.0$pause _ <>"$never" || :
		pause=$((pause < 50 ? pause + 10 : 50))
	done
}

# wait_for_file FILE: until it is there and not empty.
wait_for_file() {
	wait_until test -s "$1"
}

# catch_up: until all that has happened is in the file MONITOR.
catch_up() {
	local mark=mark-$RANDOM$RANDOM
	cli echo "$mark" >/dev/null
	wait_until grep -q "$mark" "$MONITOR"
}

# A zombie is gone, too.
gone() {
	local STATE PARENT
	! read_state "$1" || [[ $STATE == [ZX] ]]
}

# has_state LETTERS PID
has_state() {
	local STATE PARENT
	read_state "$2" && [[ $STATE == [$1] ]]
}

is_stopped() { has_state Tt "$1"; }
is_running() { has_state SRD "$1"; }

# is_child_of PID PARENT
is_child_of() {
	local STATE PARENT
	read_state "$1" && [[ $PARENT == "$2" ]]
}

# find_guard PID: of that rlockrun; into GUARD.
find_guard() {
	local children child name
	GUARD=
	{ read -ra children <"/proc/$1/task/$1/children" || :; } 2>/dev/null
	for child in "${children[@]}"; do
		{ read -r name <"/proc/$child/comm"; } 2>/dev/null || continue
		[[ $name != rlockrun-guard ]] || GUARD=$child
	done
	[[ $GUARD ]]
}

# read_state PID: STATE is its letter, PARENT its parent's pid. The name before
# them may hold anything.
read_state() {
	local stat
	{ read -rd '' stat <"/proc/$1/stat" || [[ $stat ]]; } 2>/dev/null || return 1
	read -r STATE PARENT _ <<<"${stat##*) }"
}

# Milliseconds of a monotonic clock.
now_ms() {
	local up
	read -r up _ </proc/uptime
	echo "$((10#${up/./} * 10))"
}

# A real server: one for a suite, or one for a test that freezes, floods or stops it.
# shellcheck shell=bash disable=SC2034 # suites use what is set

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

# stop_servers FOLDER: those whose folders are in there.
stop_servers() {
	local pid_file
	for pid_file in "$1"/*/pid; do
		[[ ! -e $pid_file ]] || stop_server "${pid_file%/pid}"
	done
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

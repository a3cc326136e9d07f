# What the server of a suite is, by TOPOLOGY: `unix` where it isn't set. A suite
# that is tagged `everywhere` runs unchanged over each of them, as it asks helpers
# for its server, and looks at it by the socket of whoever has the keys.
# shellcheck shell=bash disable=SC2034 # helpers use what is set here

# topology_NAME FOLDER [OPTION...]: starts the server, which has its socket at
# FOLDER/s and its pid in FOLDER/pid, and sets URL, by which rlockrun finds it.
# What else it needs to come back after stop_server is in FOLDER/options. Others
# that it takes are in folders beside that one.

topology_unix() {
	URL=unix://$1/s
	start_server "$@"
}

topology_plain() {
	choose_port
	# shellcheck disable=SC2153 # choose_port sets PORT
	URL=redis://127.0.0.1:$PORT
	keep_options "$1" --port "$PORT" --bind 127.0.0.1
	start_server "$@"
}

topology_tls() {
	choose_port
	# The system's authorities: begin_test leaves them alone.
	export SSL_CERT_FILE=$CERTIFICATES/ca.crt
	URL=rediss://127.0.0.1:$PORT
	keep_options "$1" --tls-port "$PORT" --bind 127.0.0.1 \
		--tls-cert-file "$CERTIFICATES/server.crt" \
		--tls-key-file "$CERTIFICATES/server.key" \
		--tls-ca-cert-file "$CERTIFICATES/ca.crt" --tls-auth-clients no
	start_server "$@"
}

# One sentinel, and a primary without replicas, which stays the primary whatever
# a test does to it.
topology_sentinel() {
	topology_plain "$@" || return
	PORTS=("$PORT")
	run_sentinels "${1%/*}" 1
	URL=redis-sentinel://$SENTINELS/primary
}

# One node that has all slots.
topology_cluster() {
	choose_bus_port
	URL=redis-cluster://127.0.0.1:$PORT
	keep_options "$1" --port "$PORT" --bind 127.0.0.1 --cluster-enabled yes
	start_server "$@" || return
	redis-cli -s "$1/s" cluster addslotsrange 0 16383 >/dev/null
	wait_until is_whole "$1"
}

is_whole() {
	[[ $(redis-cli -s "$1/s" cluster info) == *cluster_state:ok* ]]
}

keep_options() {
	mkdir -p "$1"
	printf '%s\n' "${@:2}" >"$1/options"
}

start_topology() {
	"topology_${TOPOLOGY:-unix}" "$@"
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

# At the start of a test: it makes no sense here. tests/run doesn't count it,
# while what is skipped for any other reason fails where nothing may be.
not_here() {
	skip "not here: $*"
}

# not_over TOPOLOGY...
not_over() {
	[[ " $* " != *" ${TOPOLOGY:-unix} "* ]] || not_here "over $TOPOLOGY"
}

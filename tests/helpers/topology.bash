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

# At the start of a test: it makes no sense here. tests/run doesn't count it,
# while what is skipped for any other reason fails where nothing may be.
not_here() {
	skip "not here: $*"
}

# not_over TOPOLOGY...
not_over() {
	[[ " $* " != *" ${TOPOLOGY:-unix} "* ]] || not_here "over $TOPOLOGY"
}

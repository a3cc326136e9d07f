# A Redis Cluster of real servers, for whichever suite wants one.
# shellcheck shell=bash

# start_cluster FOLDER PRIMARIES REPLICAS [OPTION...]: so many primaries in
# FOLDER/c0 ..., which share the slots in that order, and behind them as many
# replicas of each. PORTS are their ports, NODES the primaries as in a URL. The
# options are the servers'; CLUSTER_PORT is what stands before their port.
start_cluster() {
	local dir=$1 primaries=$2 replicas=$3 count i
	shift 3
	count=$((primaries * (1 + replicas)))
	PORTS=()
	for ((i = 0; i < count; i++)); do
		choose_bus_port
		PORTS+=("$PORT")
		start_server "$dir/c$i" "${CLUSTER_PORT:---port}" "$PORT" \
			--bind 127.0.0.1 --cluster-enabled yes \
			--cluster-node-timeout "${CLUSTER_TIMEOUT:-1000}" \
			--cluster-config-file "$dir/c$i/nodes.conf" \
			--repl-diskless-sync-delay 0 --repl-ping-replica-period 1 \
			"$@" || return
	done
	join_cluster "$dir" "$primaries" "$count" || {
		tail -n 20 "$dir"/c*/log >&2
		return 1
	}
}

join_cluster() {
	local dir=$1 primaries=$2 count=$3 i from to
	NODES=
	for ((i = 0; i < primaries; i++)); do
		from=$((16384 * i / primaries)) to=$((16384 * (i + 1) / primaries - 1))
		node_cli "$dir/c$i" cluster set-config-epoch $((i + 1)) >/dev/null
		node_cli "$dir/c$i" cluster addslotsrange "$from" "$to" >/dev/null || return
		NODES+=${NODES:+,}127.0.0.1:${PORTS[i]}
	done
	for ((i = 1; i < count; i++)); do
		node_cli "$dir/c0" cluster meet 127.0.0.1 "${PORTS[i]}" >/dev/null || return
	done
	for ((i = 0; i < count; i++)); do
		wait_until knows_nodes "$dir/c$i" "$count" || return
	done
	for ((i = primaries; i < count; i++)); do
		node_cli "$dir/c$i" cluster replicate \
			"$(node_cli "$dir/c$((i % primaries))" cluster myid)" >/dev/null || return
	done
	for ((i = 0; i < count; i++)); do
		wait_until is_settled "$dir/c$i" "$((count - primaries))" || return
	done
}

# node_cli FOLDER COMMAND...: at that node.
node_cli() { redis-cli -s "$1/s" "${@:2}"; }

knows_nodes() {
	[[ $(node_cli "$1" cluster nodes | grep -c ' connected') == "$2" ]]
}

# It finds the cluster whole, with so many replicas, and its own link is up.
is_settled() {
	[[ $(node_cli "$1" cluster info) == *cluster_state:ok* ]] &&
		[[ $(node_cli "$1" cluster nodes | grep -c ' slave\|,slave') == "$2" ]] &&
		[[ $(node_cli "$1" info replication) != *master_link_status:down* ]]
}

slot_of() {
	local i
	for i in "$1"/c*; do
		node_cli "$i" cluster keyslot "$2" 2>/dev/null && return
	done
}

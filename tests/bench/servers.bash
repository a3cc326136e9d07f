# The servers of a part of the bench.
# shellcheck shell=bash disable=SC2034,SC2154 # bench.bash sets what is used, and uses what is set

free_port() {
	/usr/bin/python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# start_redis FOLDER [OPTION...]: on FOLDER/s. It has the scripts, like any server
# that is in use.
start_redis() {
	local folder=$1 script
	shift
	mkdir -p "$folder"
	redis-server --unixsocket "$folder/s" --save '' --dir "$folder" "$@" >"$folder/log" 2>&1 &
	until redis-cli -s "$folder/s" ping >/dev/null 2>&1; do
		kill -0 $! || return
		sleep 0.02
	done
	for script in "$SCRIPTS"/*.lua; do
		redis-cli -s "$folder/s" -x script load <"$script" >/dev/null
	done
}

# start_tls_redis FOLDER [OPTION...]: the same with certificates.
start_tls_redis() {
	mkdir "$1"
	"$here/../helpers/make-certificates" "$1"
	start_redis "$1" --port 0 --tls-cert-file "$1/server.crt" --tls-key-file "$1/server.key" \
		--tls-ca-cert-file "$1/ca.crt" --tls-auth-clients no "${@:2}"
	export RLOCKRUN_TLS_CA=$1/ca.crt
}

start_server() {
	"$here/../../packaging/server.sh" "$dir" >/dev/null
	port=$(free_port)
	start_redis "$dir" --port "$port" --bind 127.0.0.1 --maxclients 20000
}

# Its data is on the disk, as etcd requires.
start_etcd() {
	local client peer
	if ! type etcd etcdctl >/dev/null 2>&1; then
		echo 'etcd is not installed: no figures of etcdctl lock'
		return 1
	fi
	client=http://127.0.0.1:$(free_port) peer=http://127.0.0.1:$(free_port)
	export ETCDCTL_ENDPOINTS=$client ETCDCTL_API=3
	etcd --data-dir "$dir/etcd-data" --listen-client-urls "$client" \
		--advertise-client-urls "$client" --listen-peer-urls "$peer" \
		--initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" \
		>etcd.log 2>&1 &
	until etcdctl endpoint health >/dev/null 2>&1; do
		kill -0 $! || return
		sleep 0.05
	done
}

# server_cpu SOCKET: the microseconds that the server has used.
server_cpu() {
	redis-cli -s "$1" info cpu | tr -d '\r' |
		awk -F: '/^used_cpu_(user|sys):/ { sum += $2 } END { printf "%.0f", sum * 1e6 }'
}

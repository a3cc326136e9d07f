#!/usr/bin/env bats
# A Redis Cluster: whom a run asks, slots that move, nodes that die.
# shellcheck disable=SC2016 # the jobs' shells are to expand that
# shellcheck disable=SC2030,SC2031 # a test's KEY is its own

load ../helpers/suite
load ../helpers/cluster
load ../helpers/connect

setup_file() {
	export SUITE_DIR=$BATS_FILE_TMPDIR
	start_cluster "$SUITE_DIR" 3 1
	export SUITE_NODES=$NODES SUITE_PORTS=${PORTS[*]}
}

teardown_file() {
	local pid
	for pid in "$BATS_FILE_TMPDIR"/*/pid; do
		stop_server "${pid%/pid}"
	done
}

setup() {
	begin_test
	NODES=$SUITE_NODES
	read -ra PORTS <<<"$SUITE_PORTS"
	RLOCKRUN_REDIS=redis-cluster://$NODES
}
teardown() { end_test; }

# own_cluster PRIMARIES REPLICAS [OPTION...]: for this test alone.
own_cluster() {
	SUITE_DIR=$PWD
	start_cluster "$PWD" "$@"
	# shellcheck disable=SC2034 # begin_test has exported it
	RLOCKRUN_REDIS=redis-cluster://$NODES
}

# At whichever node owns the key, from the first that lives.
cli() {
	local i
	for i in "${!PORTS[@]}"; do
		[[ $(node_cli "$SUITE_DIR/c$i" ping 2>/dev/null) == PONG ]] || continue
		redis-cli -c -p "${PORTS[i]}" "$@"
		return
	done
}

is_held() { [[ $(cli exists "$KEY") == 1 ]]; }
is_free() { [[ $(cli exists "$KEY") == 0 ]]; }

# The keys of this test's lock that are left on any node, but for the fence.
keys_left() {
	local i
	for i in "${!PORTS[@]}"; do
		node_cli "$SUITE_DIR/c$i" --raw keys "*$KEY*" 2>/dev/null
	done | grep -v ':rlkt\?:[ir]$'
}

# key_on NODE: changes KEY to one that this primary of the suite owns.
key_on() {
	local base=${KEY%%/*} i
	for ((i = 0; i < 100; i++)); do
		KEY=$base/$i/
		(($(slot_of "$SUITE_DIR" "$KEY") * 3 / 16384 == $1)) && return
	done
	return 1
}

# fails STATUS WORDS ARGUMENT...: that status with one line, and no job. On a busy
# machine the time may be over first.
fails() {
	wait_until fails_once "$@"
}

fails_once() {
	run -"$1" rl --server-timeout 2 "${@:3}" touch ran || return
	echo "$output"
	is_last_word "$2" && [[ ! -e ran ]]
}

# --- whom it asks -------------------------------------------------------------

@test "a lock in any slot; its keys lie on one node" {
	for i in 0 1 2; do
		key_on "$i"
		run -0 rl sh -c 'redis-cli -p "$0" get "$RLOCKRUN_KEY"; redis-cli -p "$0" --raw keys "*$RLOCKRUN_KEY*" | wc -l' "${PORTS[i]}"
		[[ ${lines[0]} =~ ^[0-9a-f-]{36}$ && ${lines[1]} == 2 ]]
		[[ -z $(keys_left) ]]
	done
}

@test "a seed that says nothing costs a part of the time only" {
	choose_port
	# shellcheck disable=SC2153 # that sets PORT
	start socat "TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr,fork" SYSTEM:'head -c 99999 >/dev/null'
	mute=127.0.0.1:$PORT
	wait_until eval '(: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null'
	run -0 rl -r "redis-cluster://$mute,$mute,$mute,$NODES" --server-timeout 60 true
}

@test "a replica as the only seed" {
	run -0 rl -r "redis-cluster://127.0.0.1:${PORTS[4]}" true
	[[ -z $output ]]
}

waiting_are() {
	[[ $(cli zcard "{$KEY}:rlk:q") == "$1" ]]
}

# --- what doesn't fit ------------------------------------------------------------

@test "a plain server behind redis-cluster:// keeps no lock of ours" {
	start_server "$PWD/plain" --port 0
	choose_port
	redis-cli -s "$PWD/plain/s" config set port "$PORT" >/dev/null
	fails 77 'it is not in cluster mode (redis://)' -r "redis-cluster://127.0.0.1:$PORT"
	[[ $(redis-cli -s "$PWD/plain/s" exists "$KEY") == 0 ]]
}

@test "a node of a cluster behind redis://" {
	key_on 0
	fails 69 'it is a node of a cluster (redis-cluster://HOST)' -r "redis://127.0.0.1:${PORTS[1]}"
	run -69 rl --status -r "redis://127.0.0.1:${PORTS[1]}"
	[[ $output == *'it is a node of a cluster (redis-cluster://HOST)' ]]
	KEY="a}$KEY"
	fails 69 'it is a node of a cluster' -r "redis://127.0.0.1:${PORTS[1]}"
}

# points_at_itself REPLIES: a node on PORT that sends these, and that it is the owner
# itself. File `asked` gets a line for each connection.
points_at_itself() {
	choose_port
	printf '%b-MOVED 1 :%d\r\n' "$1" "$PORT" >answer
	start socat "TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr,fork" \
		SYSTEM:'echo >>asked; head -c 9 >/dev/null; cat answer; head -c 9999 >/dev/null'
	wait_until eval '(: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null'
	wait_for_file asked
	: >asked
}

@test "nodes that point at each other and refuse the password: 77" {
	points_at_itself '-WRONGPASS invalid\r\n+OK\r\n+OK\r\n'
	fails 77 'WRONGPASS' --server-timeout 60 -r "redis-cluster://:wrong@127.0.0.1:$PORT"
	(($(wc -l <asked) == 6))
	run -77 rl --status --server-timeout 60 -r "redis-cluster://:wrong@127.0.0.1:$PORT"
	[[ $output == *"refused by redis://127.0.0.1:$PORT (cluster): WRONGPASS invalid (check the user and the password)" ]]
}

# --- credentials, names ---------------------------------------------------------

own_tls_cluster() {
	make_certificates
	CLUSTER_PORT=--tls-port own_cluster 3 0 --port 0 --tls-cluster yes --tls-replication yes \
		--tls-cert-file "$CERTIFICATES/server.crt" --tls-key-file "$CERTIFICATES/server.key" \
		--tls-ca-cert-file "$CERTIFICATES/ca.crt" --tls-auth-clients no
}

asked_for_password() {
	node_cli "$1" info commandstats | grep -E '^cmdstat_(auth|hello):'
}

@test "over TLS a node without a certificate of the authority gets no password" {
	own_tls_cluster
	fails 69 'certificate' -r "rediss-cluster://$NODES"
	for i in 0 1; do
		node_cli "$PWD/c$i" acl setuser locker on '>secret' '~*' +@all
	done
	key_on 1
	url=rediss-cluster://locker:secret@127.0.0.1:${PORTS[0]}
	run -0 rl --tls-ca "$CERTIFICATES/ca.crt" -r "$url" true
	asked_for_password "$PWD/c1"
	node_cli "$PWD/c1" config set tls-cert-file "$CERTIFICATES/unknown.crt" \
		tls-key-file "$CERTIFICATES/unknown.key"
	node_cli "$PWD/c1" config resetstat
	fails 69 'certificate' --tls-ca "$CERTIFICATES/ca.crt" -r "$url"
	run ! asked_for_password "$PWD/c1"
	asked_for_password "$PWD/c0"
}

# --- a slot that moves -----------------------------------------------------------

# The slot of KEY, from the node FROM to the node TO, step by step.
open_slot() {
	SLOT=$(slot_of "$SUITE_DIR" "$KEY")
	node_cli "$SUITE_DIR/c$2" cluster setslot "$SLOT" importing "$(id_of "$1")" >/dev/null
	node_cli "$SUITE_DIR/c$1" cluster setslot "$SLOT" migrating "$(id_of "$2")" >/dev/null
}

move_keys() {
	local keys
	while mapfile -t keys < <(node_cli "$SUITE_DIR/c$1" --raw cluster getkeysinslot "$SLOT" 100) &&
		[[ ${keys[0]} ]]; do
		node_cli "$SUITE_DIR/c$1" migrate 127.0.0.1 "${PORTS[$2]}" '' 0 5000 keys "${keys[@]}" >/dev/null
	done
}

close_slot() {
	node_cli "$SUITE_DIR/c$2" cluster setslot "$SLOT" node "$(id_of "$2")" >/dev/null
	node_cli "$SUITE_DIR/c$1" cluster setslot "$SLOT" node "$(id_of "$2")" >/dev/null
}

id_of() {
	node_cli "$SUITE_DIR/c$1" cluster myid
}

# Whether the lease of KEY is a new one there, where its slot may not be yet.
is_renewed_on() {
	(($(printf '%s\n' asking "pttl $KEY" | node_cli "$SUITE_DIR/c$1" | tail -n 1) > 20000))
}

@test "L11: the slot moves while A holds and B waits" {
	key_on 0
	hold
	A=$PID
	start "$RLOCKRUN" -k "$KEY" sh -c 'echo B >ran'
	B=$PID
	wait_until waiting_are 1
	cli pexpire "$KEY" 20000
	open_slot 0 1
	move_keys 0 1
	# Half-way: the lock is there already, and its slot is not.
	wait_until is_renewed_on 1
	[[ ! -e ran ]] && ! gone "$A" && ! gone "$B"
	move_keys 0 1
	close_slot 0 1
	touch "done"
	exits_with 0 "$A"
	exits_with 0 "$B"
	[[ -e ran ]]
	run ! grep -i lost err.*
	[[ -z $(keys_left) ]]
}

# open_nested NODE TTL: a nested run outlives the outer one, PID, whose command ends when
# the slot of both is half-way.
open_nested() {
	key_on "$1"
	start "$RLOCKRUN" -t "$2" -k "$KEY" sh -c 'setsid "$RLOCKRUN" -k "$KEY" "$0" in=%p until:in.go \
			</dev/null >/dev/null 2>nested.err &
		echo $! >nested.pid
		exec "$0" until:done' "$A_JOB"
	wait_for_file in
	REFUSED=$(refused_by "$1")
	open_slot "$1" 2
	touch "done"
}

# refused_by NODE: how many scripts it has refused, as their keys were not together.
refused_by() {
	node_cli "$SUITE_DIR/c$1" info errorstats | tr -d '\r' |
		sed -n 's/^errorstat_TRYAGAIN:count=//p' | grep . || echo 0
}

refuses_more() {
	(($(refused_by "$1") > REFUSED))
}

@test "S50: an outer run ends while the slot is half-way: released when it has arrived" {
	open_nested 1 30
	wait_until refuses_more 1
	move_keys 1 2
	close_slot 1 2
	exits_with 0 "$PID"
	is_held
	run -75 rl -n true
	touch in.go
	wait_until is_free
	[[ ! -s $ERR && ! -s nested.err && -z $(keys_left) ]]
}

taken_over() {
	[[ $(node_cli "$SUITE_DIR/c3" role 2>/dev/null) == master* ]] &&
		[[ $(node_cli "$SUITE_DIR/c1" cluster info) == *cluster_state:ok* ]]
}

replica_has_all() {
	[[ $(printf 'ping\nwait 1 5000\n' | node_cli "$PWD/c0" | tail -n 1) == 1 ]]
}

# bats test_tags=night
@test "the owner dies while A holds and B waits" {
	own_cluster 3 1
	key_on 0
	hold -t 6
	A=$PID
	start "$RLOCKRUN" -t 6 -k "$KEY" sh -c 'echo B >ran'
	B=$PID
	wait_until waiting_are 1
	replica_has_all
	stop_server "$PWD/c0"
	wait_until taken_over
	wait_until eval '(($(node_cli "$PWD/c3" pttl "$KEY") > 5000))'
	[[ ! -e ran ]]
	touch "done"
	exits_with 0 "$A"
	exits_with 0 "$B"
	[[ -e ran && -z $(keys_left) ]]
}

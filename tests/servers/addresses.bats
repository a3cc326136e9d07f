#!/usr/bin/env bats
# Names with several addresses, the first of which is dead (S44). They are in a
# network and a file of hosts of their own, where `hole` begins with a black hole,
# `full` with a server whose queue of connections is full, and `shut` with ports that
# nobody listens on. The second address of each leads to the suite's servers, 1 to 3.
# Other names are looked up for ever, as the name server there says nothing. And
# fe80::5, an address of the link, which is one only with its zone.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/connect

setup_file() {
	local i
	{ unshare -rnm true && type ip; } >/dev/null 2>&1 || not_here "no network namespaces"
	for i in 1 2 3; do
		start_server "$BATS_FILE_TMPDIR/$i" || return
	done
}

teardown_file() {
	local i
	for i in 1 2 3; do
		stop_server "$BATS_FILE_TMPDIR/$i"
	done
}

# THERE: what runs a command in that network.
setup() {
	SUITE_DIR=$BATS_FILE_TMPDIR/1
	begin_test
	printf '%s\n' '127.0.0.1 localhost hole full shut' 'fd00::2 hole' \
		'::1 full' 'fd00::1 shut' >hosts
	echo 'hosts: files dns' >nsswitch.conf
	printf 'nameserver 127.0.0.9\noptions timeout:30\n' >resolv.conf
	start unshare -rnm "$BASH" -ec 'mount --bind hosts /etc/hosts
		mount --bind resolv.conf /etc/resolv.conf
		mount --bind nsswitch.conf /etc/nsswitch.conf
		ip link set lo up
		ip addr add fe80::5/64 dev lo nodad
		ip link add name near0 type veth peer name far0
		ip link set far0 up
		ip link set near0 up
		ip addr add fd00::1/64 dev near0 nodad
		# It leaves by one end of a cable, and is for nobody at the other.
		ip neigh add fd00::2 lladdr 02:00:00:00:00:02 dev near0
		echo ready >network
		exec sleep 300'
	THERE=(nsenter --preserve-credentials -U -n -m -w. -t "$PID")
	wait_for_file network
	start "${THERE[@]}" /usr/bin/python3 -S -c 'if True:
		import socket, time
		kept = []
		for port in range(7000, 7005):
			kept.append(socket.socket(socket.AF_INET6))
			kept[-1].bind(("::1", port))
			kept[-1].listen(0)
			kept.append(socket.create_connection(("::1", port)))
		print("full", file=open("full", "w"), flush=True)
		time.sleep(300)'
	wait_for_file full
	for i in 1 2 3; do
		serve_there "700$((i - 1))" "UNIX-CONNECT:$BATS_FILE_TMPDIR/$i/s"
	done
}

teardown() { end_test; }

# serve_there PORT SOCAT-ADDRESS: that is what is behind the second addresses.
serve_there() {
	start "${THERE[@]}" socat "TCP-LISTEN:$1,bind=127.0.0.1,reuseaddr,fork" "$2"
	wait_until listens_there "$1"
}

listens_there() {
	"${THERE[@]}" "$BASH" -c ": </dev/tcp/127.0.0.1/$1" 2>/dev/null
}

# there ARGUMENT...: of a rlockrun there, whose connections are traced.
there() {
	"${THERE[@]}" timeout -k 1 90 strace -qq -o trace -e trace=connect,close \
		"$RLOCKRUN" -k "$KEY" "$@"
}

# connections TRACE: D for each connection to a dead address that is begun, W to one
# that works, and c where a descriptor of a dead one is closed, in order.
connections() {
	awk '/connect\(.*AF_INET6?,/ {
		match($0, /connect\([0-9]+/)
		fd = substr($0, RSTART + 8, RLENGTH - 8)
		dead[fd] = !/127\.0\.0\.1/
		printf dead[fd] ? "D" : "W"
	}
	match($0, /close\([0-9]+\)/) {
		fd = substr($0, RSTART + 6, RLENGTH - 7)
		if (dead[fd])
			printf "c"
		dead[fd] = 0
	}' "$1"
}

# races: each dead address of the run before was still tried when the next was begun.
races() {
	connections trace
	[[ $(connections trace) == *DW* && $(connections trace) != *Dc* ]]
}

# bats test_tags=native
@test "S44: one server: whatever the first address does, the second is tried beside it" {
	need_strace
	for name in hole full; do
		run -0 there -w 30 -r "redis://$name:7000" true
		races
	done
	run -0 there -w 30 -r redis://shut:7000 true
	connections trace
	[[ $(connections trace) == DcW* ]]
}

# bats test_tags=native
@test "S44: the address that worked is the first of the next connection" {
	need_strace
	hold
	start "${THERE[@]}" strace -qq -o trace -e trace=connect,close \
		"$RLOCKRUN" -k "$KEY" -r redis://full:7000 true
	WAITER=$PID
	wait_until is_waiting
	cli client kill type normal
	wait_until reconnected
	connections trace
	[[ $(connections trace) == DWcW* ]]
	touch "done"
	exits_with 0 "$WAITER"
}

is_waiting() { [[ $(cli client list) == *cmd=blpop* ]]; }
reconnected() { (($(connections trace | tr -cd W | wc -c) > 1)); }

@test "S44: three servers of Redlock, each with a dead first address" {
	for name in hole full shut; do
		export RLOCKRUN_REDIS="redis://$name:7000 redis://$name:7001 redis://$name:7002"
		run -0 "${THERE[@]}" timeout -k 1 90 "$RLOCKRUN" -k "$KEY" -n --min-uptime 0 true
	done
}

# bats test_tags=night,native
@test "S44: sentinels and the primary that they name" {
	need_strace
	printf '+OK\r\n*2\r\n$4\r\nhole\r\n$4\r\n7000\r\n' >answer
	serve_there 7003 "SYSTEM:head -c 9 >/dev/null; cat answer; head -c 9999 >/dev/null"
	run -0 there -w 30 -r redis-sentinel://full:7003/primary true
	races
	[[ $(connections trace) == *D*D* ]]
}

# bats test_tags=native
@test "S44: nodes of a cluster" {
	need_strace
	SUITE_DIR=$PWD/node
	topology_cluster "$SUITE_DIR"
	serve_there 7004 "UNIX-CONNECT:$SUITE_DIR/s"
	run -0 there -w 30 -r redis-cluster://full:7004 true
	stop_server "$SUITE_DIR"
	races
}

# --- a name server that says nothing ---------------------------------------------------

@test "an address of the link, with its zone" {
	local url='redis://[fe80::5%25lo]:7010'
	start "${THERE[@]}" socat TCP6-LISTEN:7010,reuseaddr,fork "UNIX-CONNECT:$SUITE_DIR/s"
	wait_until listens_there 7010
	there=("${THERE[@]}" timeout -k 1 90 "$RLOCKRUN" -k "$KEY")
	run -0 "${there[@]}" -v -r "$url/3" true
	[[ ${lines[0]} == *": acquired on $url/3, fence "* ]]
	run -0 "${there[@]}" -r "${url/lo/1}" true
	run -0 "${there[@]}" -r "$url/3" --show-config
	[[ $output == *"$url/3"* ]]
	run -69 "${there[@]}" -n --server-timeout 3 -r "redis://[fe80::5]:7010" true
	[[ $output == *"Invalid argument (a link-local address requires its zone, as in [fe80::1%25eth0]); "* ]]
	run -69 "${there[@]}" -n --server-timeout 3 -r "${url/7010/7011}" true
	[[ $output == *"cannot connect to ${url/7010/7011}: Connection refused"* ]]
}

@test "TERM while a name is looked up: a waiter ends, and a run whose job has ended" {
	local holder
	start "${THERE[@]}" socat -u UDP4-RECV:53,bind=127.0.0.9 OPEN:/dev/null
	wait_until there_is_a_name_server
	start "${THERE[@]}" "$RLOCKRUN" -k "$KEY" -t 60 -r redis://shut:7000 sleep 300
	holder=$PID
	wait_until is_held
	start "${THERE[@]}" "$RLOCKRUN" -k "$KEY" -r redis://shut:7000 true
	wait_until is_waiting
	echo '127.0.0.1 localhost' >hosts
	cli client kill type normal
	for pid in "$PID" "$holder"; do
		kill "$pid"
		exits_with 143 "$pid"
	done
	grep -q 'cannot confirm the release.*cannot resolve' err.*
}

there_is_a_name_server() { "${THERE[@]}" ss -lun | grep -q 127.0.0.9:53; }

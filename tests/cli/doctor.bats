#!/usr/bin/env bats
# --doctor: what it finds out about real servers and this host. Its findings about
# settings, replicas, sentinels and access rules are in tests/tables/doctor.txt.
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # helpers and run set and use these

load ../helpers/suite
load ../helpers/admin
load ../helpers/connect
load ../helpers/doctor
load ../helpers/cluster
load ../helpers/sentinel

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

@test "doctor: a good server and host have no warnings, and no key is left" {
	good_server
	doctor 0
	[[ -z $(problems) ]]
	has_json '"errors":0,"warnings":0,"notes":0,"unknown":[],"status":0}'
	how="ACL DRYRUN"
	! is_before_7 || how="a scratch key"
	found access ok "user default may use all features (by $how)"
	[[ $(cli dbsize) == 0 ]]
	doctor 0 -k "$KEY" --prefix a:
	[[ $(cli dbsize) == 0 ]]
}

@test "doctor: colours on a terminal that has some" {
	TERM=xterm run -1 "$HELPERS/on-pty" screen -- "$RLOCKRUN" --doctor
	grep -q $'\e\\[33mwarning\e\\[0m' screen
	for setting in NO_COLOR=1 TERM=dumb; do
		run -1 "$HELPERS/on-pty" screen -- env TERM=xterm $setting "$RLOCKRUN" --doctor
		grep -q 'warning  persistence' screen
		run -1 grep $'\e' screen
	done
}

# --- servers that cannot be used ----------------------------------------------

@test "doctor: a server that hangs, and one that sends garbage" {
	own_server
	freeze
	doctor 69 --server-timeout 300ms
	found reach error "timed out"
	thaw
	serve_text '+OK\r\n$-7\r\n\033[31mnonsense\r\n'
	doctor 69 -r "redis://127.0.0.1:$PORT"
	found reach error "no Redis server at"
	[[ $output != *$'\e'* ]]
}

@test "doctor: a server whose answers are no answers is no Redis server" {
	printf '+\e[31mno\r\n%.0s' {1..200} >answer
	serve 'head -c 9 >/dev/null; cat answer; cat >/dev/null'
	doctor 69 -r "redis://127.0.0.1:$PORT"
	found version unknown "does not say"
	found writes error "does not return what a script does" "check the address"
	[[ $output != *$'\e'* && $output != *"+info"* ]]
}

@test "doctor: a server that delays all writes, or runs a long script" {
	good_server
	is_before_7 || writes_are_paused
	[[ -z $(cli --raw keys '*') ]]
	cli config set lua-time-limit 1
	start redis-cli -s "$SUITE_DIR/s" eval 'while true do end' 0
	wait_until is_busy
	doctor 69
	[[ $(problems) == "error:reach" ]]
	found reach error "is busy running a script"
	cli script kill
}

writes_are_paused() {
	cli client pause 60000 write
	doctor 69 --server-timeout 300ms
	found reach error "timed out"
	cli client unpause
}

is_busy() {
	[[ $(cli ping 2>&1) == *BUSY* ]]
}

# --- several servers behind one URL ---------------------------------------------

@test "doctor: sentinels that are gone, disagree or lack a quorum" {
	own_sentinels 0
	stop_server "$PWD/s1"
	stop_server "$PWD/s2"
	wait_until has_no_quorum
	false_sentinel 11111
	# A sentinel that connects anew takes the others for alive meanwhile.
	wait_until finds_no_quorum
	found sentinels warning "Connection refused" "that the server is running"
	found sentinels warning "it names 127.0.0.1:11111 as the primary, another sentinel 127.0.0.1:${PORTS[0]}"
}

finds_no_quorum() {
	doctor 1 --server-timeout 2s -r "redis-sentinel://$SENTINELS,127.0.0.1:$PORT/primary"
	found sentinels warning NOQUORUM "start the missing sentinels"
}

has_no_quorum() {
	[[ $(redis-cli -s "$PWD/s0/s" sentinel ckquorum primary) == NOQUORUM* ]]
}

@test "doctor: each primary of a cluster is examined, and slots without an owner are found" {
	! is_before_7 || not_here "a cluster takes CLUSTER ADDSLOTSRANGE of Redis 7"
	start_cluster "$PWD" 3 0
	RLOCKRUN_REDIS=redis-cluster://$NODES
	doctor 1 -k "$KEY"
	found slots ok "all 16384 are served"
	found access ok "all features"
	found replicas note "no other server can take over"
	[[ $(count '"check":"persistence"') == "${#PORTS[@]}" ]]
	for i in 0 1 2; do
		[[ $(redis-cli -s "$PWD/c$i/s" dbsize) == 0 ]]
		redis-cli -s "$PWD/c$i/s" config set cluster-require-full-coverage no
		redis-cli -s "$PWD/c$i/s" cluster delslots 1 >/dev/null
	done
	doctor 1
	found slots warning "1 slots have no owner"
	for i in 0 1 2; do
		redis-cli -s "$PWD/c$i/s" config set cluster-require-full-coverage yes
		redis-cli -s "$PWD/c$i/s" cluster delslots 2 >/dev/null
	done
	wait_until cluster_is_down
	doctor 69
	found slots error "the cluster is down: 2 slots have no owner"
}

cluster_is_down() {
	! is_whole "$PWD/c0"
}

@test "doctor: several servers on one host" {
	start_server "$PWD/a"
	start_server "$PWD/b"
	doctor 69 -r "unix://$PWD/a/s" -r "unix://$PWD/b/s" -r "unix://$PWD/c/s"
	found reach error "No such file"
	found same-host warning "are on the same host"
	ln -s "$PWD/a/s" second
	doctor 1 -r "unix://$PWD/a/s" -r "unix://$PWD/second" -r "unix://$PWD/b/s" --min-uptime 0
	found same-server warning "are the same server"
}

@test "doctor: TLS, its cipher and the days of both certificates" {
	make_certificates
	certify 30
	start_tls_server "$PWD/tls" days
	doctor 1 -r "rediss://127.0.0.1:$PORT" --tls-ca "$CERTIFICATES/ca.crt"
	found tls ok TLSv1
	found certificate ok "is valid for"
	stop_server "$PWD/tls"
	certify 3
	start_tls_server "$PWD/tls" days
	doctor 1 -r "rediss://127.0.0.1:$PORT" --tls-ca "$CERTIFICATES/ca.crt"
	found certificate warning "expires in" "renew it"
	stop_server "$PWD/tls"
	certify 1
	start_tls_server "$PWD/tls" days
	doctor 1 -r "rediss://127.0.0.1:$PORT" --tls-ca "$CERTIFICATES/ca.crt"
	found certificate warning " day: then"
	stop_server "$PWD/tls"

	certify 30
	start_tls_server "$PWD/tls" days --tls-auth-clients yes
	ours=(-r "rediss://127.0.0.1:$PORT" --tls-ca "$CERTIFICATES/ca.crt"
		--tls-cert "$CERTIFICATES/days.crt" --tls-key "$CERTIFICATES/days.key")
	doctor 1 "${ours[@]}"
	found certificate ok "that of --tls-cert is valid for"
	certify 3
	doctor 1 "${ours[@]}"
	found certificate warning "that of --tls-cert expires in" "renew it"
	found certificate ok "the server's is valid for"
	certify 0
	wait_until has_expired
	doctor 69 "${ours[@]}"
	found reach error "our certificate has expired"
}

has_expired() {
	! openssl x509 -checkend 0 -noout -in "$CERTIFICATES/days.crt" >/dev/null
}

# certify DAYS: the certificate `days`.
certify() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=days -keyout "$CERTIFICATES/days.key" \
		-out days.csr 2>/dev/null
	printf 'subjectAltName=IP:127.0.0.1' >extensions
	openssl x509 -req -in days.csr -CA "$CERTIFICATES/ca.crt" -CAkey "$CERTIFICATES/ca.key" \
		-CAcreateserial -days "$1" -extfile extensions -out "$CERTIFICATES/days.crt" 2>/dev/null
}

# --- this host ----------------------------------------------------------------

# bats test_tags=native
@test "doctor: /proc that is not mounted, and few files" {
	unshare --mount true 2>/dev/null || skip "mounts take privileges"
	good_server
	run -71 --separate-stderr unshare --mount sh -c 'mount -t tmpfs tmpfs /proc && exec "$@"' \
		sh timeout 30 "$RLOCKRUN" --doctor --json
	found proc error "/proc is not mounted" "mount -t proc"
	run -1 --separate-stderr sh -c 'ulimit -n 40 && exec "$@"' \
		sh timeout 30 "$RLOCKRUN" --doctor --json
	found files warning "40 may be open" "ulimit -n"
}

# bats test_tags=native
@test "doctor: a user who may start few processes, or none" {
	need_other_user
	good_server
	chmod -R o+rwx own
	run -1 --separate-stderr as_other_user bash -c 'ulimit -u 6 && exec "$@"' \
		sh timeout 30 ./rlockrun --doctor --json
	found processes warning "in use, the limit is 6" "ulimit -u"
	run -71 --separate-stderr as_other_user prlimit --nproc=1 ./rlockrun --doctor --json
	found processes error "1 in use, the limit is 1: the guard cannot start" "ulimit -u"
}

#!/usr/bin/env bats
# A static build in a root that has nothing else: `make check-static`. The job is
# the program itself, as there is no other one.
# shellcheck disable=SC2016 # the inner shells are to expand that

load ../helpers/suite
load ../helpers/connect

is_static() {
	! readelf -l "$RLOCKRUN" 2>/dev/null | grep -q INTERP
}

setup_file() {
	is_static || return 0
	export SUITE_DIR=$BATS_FILE_TMPDIR/redis
	make_certificates
	choose_port
	export PLAIN_PORT=$PORT
	start_tls_server "$SUITE_DIR" server --port "$PLAIN_PORT"
	export SUITE_PORT=$PORT
}
teardown_file() { stop_suite_server; }

setup() {
	is_static || not_here 'not a static build'
	unshare -m true 2>/dev/null || skip 'a mount namespace takes privileges'
	begin_test
	unset SSL_CERT_FILE SSL_CERT_DIR
	PORT=$SUITE_PORT
	PLAIN=redis://127.0.0.1:$PLAIN_PORT
	TLS=rediss://127.0.0.1:$SUITE_PORT
	mkdir -p root/proc
	cp "$RLOCKRUN" root/rlockrun
}
teardown() { end_test; }

# there COMMAND...: in the root, with /proc, if there is such a folder. MOUNT is a
# folder of this system that is there, too.
there() {
	timeout -k 1 30 unshare -m sh -c '[ ! -d root/proc ] || mount -t proc proc root/proc
		for folder in $MOUNT; do
			mkdir -p "root$folder" && mount --rbind "$folder" "root$folder"
		done
		exec chroot root "$@"' - "$@"
}

# runs URL ARGUMENT...: a job of the root.
runs() {
	run -0 there /rlockrun -k "$KEY" --server-timeout 2 -v -r "$1" "${@:2}" -- /rlockrun -V
	echo "$output"
	[[ $output == *"$KEY"* && $output == *$'\nrlockrun '[0-9]*'static build'* ]]
	[[ $(cli exists "$KEY") == 0 ]]
}

# has_certificates FILE: those of the suite's authority are there in the root.
has_certificates() {
	mkdir -p "root$(dirname "$1")"
	cp "$CERTIFICATES/ca.crt" "root$1"
}

@test "static: nothing of it is loaded, and -V says so" {
	run -0 readelf -ld "$RLOCKRUN"
	[[ $output != *NEEDED* && $output != *INTERP* ]]
	run -0 there /rlockrun -V
	[[ ${#lines[@]} == 3 && ${lines[0]} == 'rlockrun '[0-9]* ]]
	[[ ${lines[1]} == 'hiredis '[0-9]* && ${lines[2]} == 'OpenSSL '[1-9]*' (static build'*')' ]]
}

@test "static: TCP, a unix socket and TLS in an empty root" {
	runs "$PLAIN"
	cp "$CERTIFICATES/ca.crt" root/ca.crt
	runs "$TLS" --tls-ca /ca.crt
	MOUNT=$SUITE_DIR runs "unix://$SUITE_DIR/s"
}

@test "static: the system's authorities, wherever a distribution keeps them" {
	local place
	for place in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt \
		/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem /etc/ssl/ca-bundle.pem \
		/etc/ssl/cert.pem; do
		has_certificates "$place"
		runs "$TLS"
		rm -r root/etc
	done
	for place in /etc/ssl/certs /etc/pki/tls/certs \
		/etc/pki/ca-trust/extracted/pem/directory-hash; do
		has_certificates "$place/ca.pem"
		openssl rehash "root$place"
		runs "$TLS"
		rm -r root/etc
	done
}

@test "static: SSL_CERT_FILE and SSL_CERT_DIR" {
	has_certificates /a/ca.crt
	SSL_CERT_FILE=/a/ca.crt runs "$TLS"
	openssl rehash root/a
	SSL_CERT_DIR=/none:/a runs "$TLS"
	# As with the library, it is no mistake if there is nothing in them.
	SSL_CERT_FILE=/none run -69 there /rlockrun -k "$KEY" -r "$TLS" /rlockrun
	[[ $output == *'unknown CA (--tls-ca'* ]]
}

@test "static: without authorities, 78 names the places" {
	mkdir -p root/etc/ssl/certs
	run -78 there /rlockrun -k "$KEY" -r "$TLS" /rlockrun -V
	[[ ${#lines[@]} == 1 && $output == *'no CA certificates'*'--tls-ca'* ]]
	[[ $output == *' /etc/ssl/certs '*' /etc/pki/tls/certs/ca-bundle.crt '*' /etc/ssl/cert.pem; command not started' ]]
	# Plain connections require none.
	runs "$PLAIN"
}

@test "static: the host's openssl.cnf does not count" {
	cp "$CERTIFICATES/ca.crt" root/ca.crt
	printf '%s\n' 'openssl_conf = init' '[init]' 'providers = all' '[all]' 'none = none' \
		'[none]' 'module = /none.so' 'activate = 1' >root/openssl.cnf
	OPENSSL_CONF=/openssl.cnf runs "$TLS" --tls-ca /ca.crt
}

# A server's key of 1024 bits has 80 bits of security, less than level 2 requires.
@test "static: security level 2" {
	openssl req -x509 -newkey rsa:1024 -nodes -keyout weak.key -out weak.crt -days 2 \
		-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
	SUITE_DIR=$PWD/own
	choose_port
	printf '%s\n' 'openssl_conf = init' '[init]' 'ssl_conf = ssl' '[ssl]' \
		'system_default = policy' '[policy]' 'CipherString = DEFAULT@SECLEVEL=0' >policy.cnf
	OPENSSL_CONF=$PWD/policy.cnf start_server "$SUITE_DIR" --tls-port "$PORT" \
		--bind 127.0.0.1 --tls-cert-file "$PWD/weak.crt" \
		--tls-key-file "$PWD/weak.key" --tls-ca-cert-file "$PWD/weak.crt" --tls-auth-clients no \
		--tls-ciphers DEFAULT@SECLEVEL=0
	cp weak.crt root/ca.crt
	run -69 there /rlockrun -k "$KEY" -r "rediss://127.0.0.1:$PORT" --tls-ca /ca.crt /rlockrun -V
	echo "$output"
	[[ $output == *'too weak'* ]]
}

# getent_there: with the libraries and the files that it reads.
getent_there() {
	local getent
	getent=$(type -P getent)
	mkdir -p root/usr/bin root/etc
	cp "$getent" root/usr/bin/getent
	ldd "$getent" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "root$(dirname "$library")"
		cp "$library" "root$library"
	done
	echo 'hosts: files' >root/etc/nsswitch.conf
	echo 'multi on' >root/etc/host.conf
	echo '127.0.0.1 lock.example localhost' >root/etc/hosts
}

@test "static: names by getent" {
	getent_there
	runs "redis://lock.example:$PLAIN_PORT"
	cp "$CERTIFICATES/ca.crt" root/ca.crt
	runs "rediss://localhost:$PORT" --tls-ca /ca.crt
	run -69 there /rlockrun -k "$KEY" --server-timeout 5 -r redis://none.example /rlockrun -V
	[[ $output == *'cannot resolve redis://none.example:6379: '*' (check the host name); command not started' ]]
	# A host that looks like an option is none.
	run -69 there /rlockrun -k "$KEY" --server-timeout 5 -r redis://--help /rlockrun -V
	[[ $output == *'cannot resolve redis://--help:6379: '* && $output != *Usage* ]]
}

@test "static: every address of a name is tried" {
	local address
	getent_there
	printf '%s\n' '::1 two.example' '127.0.0.1 two.example' >root/etc/hosts
	for address in ::1 127.0.0.1; do
		SUITE_DIR=$PWD/own
		start_tcp_server "$SUITE_DIR" "$address"
		runs "redis://two.example:$PORT"
		stop_server "$SUITE_DIR"
	done
}

@test "static: a name without getent: 69 at once, use an address" {
	run -69 there /rlockrun -k "$KEY" --server-timeout 5m -r "redis://localhost:$PLAIN_PORT" /rlockrun -V
	[[ ${#lines[@]} == 1 && $output == *"cannot resolve redis://localhost:$PLAIN_PORT: "*getent*'/usr/bin/getent'*' (use an address); command not started' ]]
	# One that cannot be executed is none.
	mkdir -p root/usr/bin
	echo nothing >root/usr/bin/getent
	chmod 755 root/usr/bin/getent
	run -69 there /rlockrun -k "$KEY" --server-timeout 5m -r "redis://localhost:$PLAIN_PORT" /rlockrun -V
	[[ $output == *'(use an address)'* ]]
	run -69 there /rlockrun --status -k "$KEY" --server-timeout 5m -r "redis://localhost:$PLAIN_PORT"
	[[ $output == *'(use an address)'* ]]
}

@test "static: a getent that hangs ends with rlockrun" {
	printf '%s\n' '#!/bin/sh' "echo \$\$ >$PWD/pid" 'exec sleep 60' >getent
	chmod 755 getent
	run -69 timeout 30 unshare -m sh -c 'mount --bind getent /usr/bin/getent && exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" --server-timeout 1 -r redis://localhost:1 true
	wait_until gone "$(<pid)"
}

@test "static: without /proc: 71, and no job" {
	rmdir root/proc
	run -71 there /rlockrun -k "$KEY" -r "$PLAIN" /rlockrun -V
	[[ $output == *'cannot be guarded: /proc is not mounted'* && $output != *OpenSSL* ]]
	mkdir root/proc
	run -71 unshare -m chroot root /rlockrun -k "$KEY" -r "$PLAIN" /rlockrun -V
	[[ $output == *'cannot be guarded: /proc is not mounted'* && $output != *OpenSSL* ]]
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "static: without /dev/null and /etc/passwd it works, unless stdio is closed" {
	[[ ! -e root/dev && ! -e root/etc ]]
	runs "$PLAIN"
	run -71 unshare -m sh -c 'mount -t proc proc root/proc && exec chroot root "$@" <&-' - \
		/rlockrun -k "$KEY" -r "$PLAIN" /rlockrun -V
	[[ $output == *'cannot open /dev/null'* ]]
}

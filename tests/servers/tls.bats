#!/usr/bin/env bats
# TLS: what is verified and what is said when it isn't right, client
# certificates, a lock's life over TLS, and what runs without it don't pay.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/connect

setup_file() {
	export SUITE_DIR=$BATS_FILE_TMPDIR/redis
	make_certificates
	start_tls_server "$SUITE_DIR" server
	export SUITE_PORT=$PORT
}
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	PORT=$SUITE_PORT
	export RLOCKRUN_REDIS=rediss://localhost:$PORT
	export RLOCKRUN_TLS_CA=$CERTIFICATES/ca.crt
}
teardown() { end_test; }

# A server of this test's own.
tls_server() {
	SUITE_DIR=$PWD/own
	start_tls_server "$SUITE_DIR" "$@"
	export RLOCKRUN_REDIS=rediss://localhost:$PORT
}

# refused_there WORDS ARGUMENT...: and the message has the port.
refused_there() {
	refused "$@"
	[[ $output == *"redis"*"//"*":$PORT: "*"$1"* ]]
}

given_up_there() {
	given_up "$@"
	[[ $output == *"redis"*"//"*":$PORT: "*"$1"* ]]
}

# --- good certificates ----------------------------------------------------------

@test "a name, IPv4, IPv6, db" {
	reaches "rediss://localhost:$PORT"
	reaches "rediss://127.0.0.1:$PORT"
	reaches "rediss://[::1]:$PORT/5" 5
	reaches "rediss://[::1%25lo]:$PORT/5" 5
}

# dotted HOST [ARGUMENT...]: a run at the server there, whose name is in a file of hosts.
dotted() {
	with_hosts "127.0.0.1 $1" timeout -k 1 90 "$RLOCKRUN" -k "$KEY" -n \
		-r "rediss://$1:$PORT" --server-timeout 5 "${@:2}" true
}

@test "the final dot of a name is no part of what a certificate is for" {
	run -0 dotted localhost.
	[[ -z $output ]]
	tls_server other
	run -69 dotted localhost.
	[[ $output == *"rediss://localhost.:$PORT: its certificate is not for localhost, but for "* ]]
	run -0 dotted other.example.
	run -69 dotted other.example..
	[[ $output == *'its certificate is not for other.example., but for '* ]]
	run -69 dotted . # without the dot there would be no name to verify
	[[ $output == *'its certificate is not for ., but for '* ]]
}

@test "the name that is indicated to the server has no final dot" {
	choose_port
	start /usr/bin/python3 -c 'if True:
		import socket, ssl, sys
		port, certificate, key = sys.argv[1:]
		context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		context.load_cert_chain(certificate, key)
		context.sni_callback = lambda _, name, context: print(name, flush=True)
		listener = socket.create_server(("127.0.0.1", int(port)))
		while True:
			try:
				context.wrap_socket(listener.accept()[0], server_side=True).close()
			except OSError:
				pass' "$PORT" "$CERTIFICATES/server.crt" "$CERTIFICATES/server.key"
	wait_until listens
	run -69 dotted localhost. --server-timeout 2
	[[ $(sort -u out.1) == localhost ]]
}

@test "a password" {
	tls_server server --requirepass secret
	RLOCKRUN_PASSWORD=secret run -0 rl true
	run -0 rl -r "rediss://:secret@localhost:$PORT" true
	run -77 rl true
	[[ $output == *"rediss://localhost:$PORT: NOAUTH"* ]]
}

@test "the system's authorities" {
	unset RLOCKRUN_TLS_CA
	SSL_CERT_FILE=$CERTIFICATES/ca.crt run -0 rl true
	SSL_CERT_FILE=/dev/null SSL_CERT_DIR=/dev/null refused_there 'unknown CA (--tls-ca'
	# --tls-ca takes their place.
	SSL_CERT_FILE=$CERTIFICATES/ca.crt refused_there 'unknown CA' \
		--tls-ca "$CERTIFICATES/stranger.crt"
}

@test "the system's folder of authorities is enough" {
	unset RLOCKRUN_TLS_CA
	mkdir folder
	cp "$CERTIFICATES/ca.crt" folder
	openssl rehash folder
	mkfifo pipe # nobody could read it to the end
	SSL_CERT_DIR=$PWD/folder SSL_CERT_FILE=$PWD/pipe run -0 rl true
}

@test "an authority of the system's file that the folder has another of that name for" {
	unset RLOCKRUN_TLS_CA
	mkdir folder
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key \
		-out folder/ca.crt -days 2 -subj /CN=ca
	openssl rehash folder
	export SSL_CERT_DIR=$PWD/folder
	SSL_CERT_FILE=/dev/null refused_there 'its certificate'
	export SSL_CERT_FILE=$CERTIFICATES/ca.crt
	run -0 rl true
	tls_server other
	refused_there 'its certificate is not for localhost, but for "other.example"'
}

@test "TLS 1.2" {
	tls_server server --tls-protocols TLSv1.2
	run -0 rl true
	stop_server "$SUITE_DIR"
	tls_server server --tls-protocols TLSv1.2 --tls-auth-clients yes
	refused_there 'perhaps it requires a certificate (--tls-cert, --tls-key)'
	run -0 rl --tls-cert "$CERTIFICATES/client.crt" \
		--tls-key "$CERTIFICATES/client.key" true
}

@test "a client certificate" {
	tls_server server --tls-auth-clients yes
	refused_there 'it requires a certificate (--tls-cert, --tls-key)'
	client=$CERTIFICATES/client
	run -0 rl --tls-cert "$client.crt" --tls-key "$client.key" true
	RLOCKRUN_TLS_CERT=$client.crt RLOCKRUN_TLS_KEY=$client.key run -0 rl true
	cat "$client.crt" "$client.key" >both
	run -0 rl --tls-cert both true
	refused_there 'it refused our certificate' --tls-cert "$CERTIFICATES/unknown.crt" \
		--tls-key "$CERTIFICATES/unknown.key"
	refused_there 'our certificate has expired' --tls-cert "$CERTIFICATES/expired.crt" \
		--tls-key "$CERTIFICATES/expired.key"
}

# --- bad ones ---------------------------------------------------------------------

@test "the certificate of another host" {
	tls_server other
	refused_there 'its certificate is not for localhost, but for "other.example" (use such a name in the URL); '
	refused_there 'its certificate is not for 127.0.0.1, but for "other.example"' -r "rediss://127.0.0.1:$PORT"
	run -69 rl --server-timeout 1h --status
	[[ $output == *'but for "other.example" (use such a name in the URL)' ]]
}

# names CERTIFICATE WORDS: what is said of a certificate for others.
names() {
	tls_server "$1"
	refused_there "its certificate is not for localhost, but for $2"
	stop_server "$SUITE_DIR"
	rm -r "$SUITE_DIR"
}

@test "the names of another host's certificate, at most five" {
	names several '"a.example", "*.b.example", "192.0.2.1", "2001:db8::1" (use'
	names many '"n1.example", "n2.example", "n3.example", "n4.example", "n5.example" and 95 more (use'
	names strange '"\x1b[31m\"", "localhost?.evil" (use'
	names nameless 'no host: its common name "nameless" does not count'
}

@test "a certificate that names the host by its common name only" {
	tls_server common
	refused_there "its certificate is not for localhost, but for no host: its common name \"localhost\" does not count, only a subjectAltName does"
}

@test "an expired certificate, or authority" {
	tls_server expired
	refused_there 'its certificate has expired'
	stop_server "$SUITE_DIR"
	tls_server late
	refused_there "or its CA's has" --tls-ca "$CERTIFICATES/bygone.crt"
}

@test "a self-signed certificate" {
	tls_server self
	refused_there 'its certificate is self-signed (--tls-ca'
}

@test "the certificate of an unknown authority" {
	tls_server unknown
	refused_there 'its certificate is issued by an unknown CA (--tls-ca'
}

# bats test_tags=night
@test "nothing older than TLS 1.2" {
	tls_server server --tls-protocols TLSv1.1 --tls-ciphers DEFAULT@SECLEVEL=0
	refused_there 'it does not speak TLS 1.2 or newer'
}

# A static build reads no openssl.cnf.
need_system_openssl() {
	readelf -l "$RLOCKRUN" | grep -q INTERP || not_here 'a static build'
}

need_loaded_openssl() {
	! "$RLOCKRUN" -V | grep -Eq '^OpenSSL .*\((linked|static build.*)\)$' || not_here 'OpenSSL is linked'
}

# policy LINE...: what the system's openssl.cnf would say.
policy() {
	printf '%s\n' 'openssl_conf = init' '[init]' 'ssl_conf = ssl' '[ssl]' \
		'system_default = policy' '[policy]' "$@" >policy.cnf
	export OPENSSL_CONF=$PWD/policy.cnf
}

@test "a system that requires more than TLS 1.2" {
	need_system_openssl
	tls_server server --tls-protocols TLSv1.2
	policy 'MinProtocol = TLSv1.3'
	refused_there 'it does not speak TLS 1.3 or newer, as openssl.cnf requires'
	policy 'MinProtocol = TLSv1.2'
	run -0 rl true
}

# offers COMMAND...: the ciphers, and by their numbers the extensions for groups,
# signatures and versions, in the greeting that the command sends to $PORT.
offers() {
	rm -f listening
	start python3 -c 'import socket, struct, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open("listening", "w").write("now")
stream = server.accept()[0].makefile("rb")
record = stream.read(struct.unpack(">3xH", stream.read(5))[0])
def take(size):
    global record
    length = int.from_bytes(record[:size], "big")
    part, record = record[size:size + length], record[size + length:]
    return part
record = record[4 + 2 + 32:]
take(1)
print("ciphers", take(2).hex())
take(1)
record = take(2)
while record:
    number, record = int.from_bytes(record[:2], "big"), record[2:]
    value = take(2).hex()
    if number in (10, 13, 43):
        print(number, value)' "$PORT"
	wait_for_file listening
	"$@" >client.log 2>&1 </dev/null || :
	exits_with 0 "$PID"
}

@test "all that the system permits is offered" {
	need_system_openssl
	choose_port
	offers rl -r "rediss://127.0.0.1:$PORT" --server-timeout 1 true
	sort "out.${#STARTED[@]}" >ours
	offers openssl s_client -min_protocol TLSv1.2 -connect "127.0.0.1:$PORT"
	sort "out.${#STARTED[@]}" >theirs
	[[ $(wc -l <ours) == 4 ]]
	diff ours theirs
}

# --- not TLS -----------------------------------------------------------------------

@test "a plain server at a TLS URL" {
	SUITE_DIR=$PWD/own
	start_tcp_server "$SUITE_DIR" 127.0.0.1 --requirepass secret
	url=rediss://:secret@127.0.0.1:$PORT
	refused_there 'it does not speak TLS' -r "$url"
	given_up_there 'perhaps it does not speak TLS' -r "$url" -w 1
	run -69 rl --server-timeout 1h --status -r "$url"
	[[ $output == *'it does not speak TLS' ]]
	# It came once, with this very question.
	[[ $(cli --pass secret info commandstats) == *cmdstat_auth:calls=1,* ]]
}

@test "a TLS server at a plain URL" {
	refused_there 'it speaks TLS' -r "redis://127.0.0.1:$PORT"
	run -69 rl --server-timeout 1h --status -r "redis://127.0.0.1:$PORT"
	[[ $output == *'it speaks TLS' ]]
}

# --- files -------------------------------------------------------------------------

# bad_file WORDS ARGUMENT...: 78 without a job.
bad_file() {
	run -78 rl "${@:2}" touch ran
	echo "$output"
	[[ ${#lines[@]} == 1 && $output == "rlockrun: "*"$1"*"; command not started" && ! -e ran ]]
}

@test "files that are missing or hold something else: 78" {
	client=$CERTIFICATES/client
	bad_file 'CA file "nowhere": No such file or directory' --tls-ca nowhere
	bad_file 'CA file ".": Is a directory' --tls-ca .
	bad_file 'holds no certificate' --tls-ca "$client.key"
	bad_file 'holds no certificate' --tls-ca /dev/null
	bad_file 'certificate "nowhere": No such' --tls-cert nowhere --tls-key "$client.key"
	bad_file 'holds no certificate' --tls-cert "$client.key"
	bad_file 'key "nowhere": No such' --tls-cert "$client.crt" --tls-key nowhere
	bad_file 'not in PEM format' --tls-cert "$client.crt"
	bad_file 'not that of the certificate' --tls-cert "$client.crt" \
		--tls-key "$CERTIFICATES/server.key"
	RLOCKRUN_TLS_CA=nowhere bad_file 'CA file "nowhere"'
}

@test "files that hold something else, without a server: 78" {
	choose_port
	bad_file 'holds no certificate' -r "rediss://127.0.0.1:$PORT" --tls-ca /dev/null
	bad_file 'holds no certificate' -r "rediss://127.0.0.1:$PORT" -n --tls-ca /dev/null
	bad_file 'holds no certificate' -r "rediss://192.0.2.1:$PORT" --tls-ca /dev/null
	run -78 rl -r "rediss://127.0.0.1:$PORT" --status --tls-ca /dev/null
}

@test "files that hold something else, beside plain servers: 78, and nothing is locked" {
	choose_port
	bad_file 'holds no certificate' -r "unix://$SUITE_DIR/s" -r "rediss://127.0.0.1:$PORT" \
		--min-uptime 0 --tls-ca /dev/null
	[[ $(redis-cli -s "$SUITE_DIR/s" exists "$KEY") == 0 ]]
}

@test "TERM while nobody writes to the pipe that is the CA file" {
	((EUID == 0)) || skip "seeing what rlockrun waits for takes privileges"
	mkfifo ca
	start "$RLOCKRUN" -k "$KEY" --tls-ca ca touch ran
	wait_until waits_for_a_writer
	kill -TERM "$PID"
	exits_with 143 "$PID"
	[[ ! -e ran ]]
}

waits_for_a_writer() { [[ $(<"/proc/$PID/wchan") == wait_for_partner ]]; }

# bats test_tags=night
@test "a key with a passphrase: 78, without a prompt" {
	run -78 timeout -k 1 10 script -qec "$RLOCKRUN -k $KEY \
		--tls-cert $CERTIFICATES/client.crt \
		--tls-key $CERTIFICATES/client.locked touch ran" /dev/null </dev/null
	[[ $output == *'encrypted'* && $output != *phrase* && ! -e ran ]]
}

@test "options for TLS without TLS" {
	for option in --tls-ca --tls-cert --tls-key; do
		run -64 rl -r "unix://$SUITE_DIR/s" "$option" "$CERTIFICATES/ca.crt" touch ran
		[[ $output == *"$option needs a server with TLS"* ]]
	done
	# A variable is for all servers.
	RLOCKRUN_TLS_CA=nowhere run -0 rl -r "unix://$SUITE_DIR/s" true
	run -64 rl --tls-key "$CERTIFICATES/client.key" touch ran
	[[ ! -e ran ]]
}

# --- OpenSSL -----------------------------------------------------------------------

# The library of the headers with which rlockrun was built, as it is installed here.
soname() { "$RLOCKRUN" -V | sed -nE 's/^OpenSSL (1\.1|[0-9]+).*/libssl.so.\1/p'; }
other_soname() { [[ $(soname) == *.3 ]] && echo libssl.so.1.1 || echo libssl.so.3; }

@test "without OpenSSL: 71; runs without TLS don't need it" {
	need_loaded_openssl
	run -0 "$RLOCKRUN" -V
	[[ ${lines[2]} == 'OpenSSL '[1-9]*' (loaded when a URL asks for TLS)' ]]
	name=$(soname)
	echo none | tee "$(soname)" "$(other_soname)" >/dev/null
	export LD_LIBRARY_PATH=$PWD
	run -71 timeout -k 1 30 "$RLOCKRUN" -k "$KEY" touch ran
	[[ ${#lines[@]} == 1 && ! -e ran ]]
	[[ $output == "rlockrun: TLS needs OpenSSL, which cannot be loaded: "*"$name"* ]]
	run -0 "$RLOCKRUN" -k "$KEY" -r "unix://$SUITE_DIR/s" true
	run -0 "$RLOCKRUN" -V
	[[ ${#lines[@]} == 3 && ${lines[2]} == 'TLS needs OpenSSL, which cannot be loaded: '* ]]
}

@test "OpenSSL is loaded for TLS only, and not by the guard" {
	need_loaded_openssl
	hold
	grep -q libssl "/proc/$PID/maps"
	run -1 grep libssl "/proc/$(pgrep -P "$PID" -x rlockrun-guard)/maps"
	touch "done"
	exits_with 0 "$PID"
	rm job "done"
	hold -r "unix://$SUITE_DIR/s"
	run -1 grep libssl "/proc/$PID/maps"
	touch "done"
	exits_with 0 "$PID"
}

@test "OpenSSL of another version is loaded if that of the headers is missing" {
	need_loaded_openssl
	hold
	ln -s "$(awk '/libssl/ { print $6; exit }' "/proc/$PID/maps")" "$(other_soname)"
	touch "done"
	exits_with 0 "$PID"
	echo none >"$(soname)"
	export LD_LIBRARY_PATH=$PWD
	run -0 rl echo ran
	[[ $output == ran ]]
}

@test "the program's note lists for packagers what is loaded" {
	need_loaded_openssl
	type readelf >/dev/null 2>&1 || skip 'no readelf'
	readelf -p .note.dlopen "$RLOCKRUN" | sed -n 's/^ *\[ *[0-9a-f]*\] *\(\[.*\)/\1/p' >note
	[[ $(jq -c '.[0] | [.priority, .soname[0]]' note) == "[\"recommended\",\"$(soname)\"]" ]]
}

# --- a lock's life -------------------------------------------------------------------

@test "held and renewed, waited for, cut off, and freed" {
	hold -t 9
	first=$PID
	cli pexpire "$KEY" 7000
	start rl sh -c 'echo second >second'
	wait_until grep -q waiting "$ERR"
	wait_until left_above 7000
	[[ ! -e second ]]
	redis-cli -s "$SUITE_DIR/s" client kill type normal skipme yes
	touch "done"
	exits_with 0 "$first"
	exits_with 0 "$PID"
	[[ -e second && -z $(keys_left) ]]
}

@test "a byte at a time" {
	to=$PORT
	choose_port
	start socat -b 1 "TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr,fork" "TCP:127.0.0.1:$to"
	wait_until listens
	run -0 rl -r "rediss://127.0.0.1:$PORT" echo ran
	[[ $output == ran && -z $(keys_left) ]]
}

@test "the job gets none of it" {
	run -0 rl sh -c 'ls -l /proc/self/fd; env'
	[[ $output != *socket* && $output != *libssl* ]]
}

# --- round trips ---------------------------------------------------------------------

# sends URL: how often a run writes to its server.
sends() {
	rm -f trace
	strace -f -o trace -e trace=connect,sendto "$RLOCKRUN" -k "$KEY" -r "$1" true
	grep -o "sendto($(sed -n 's/.*connect(\([0-9]*\),.*sin_port=htons('"$PORT"').*/\1/p' trace | tail -n 1)," trace | wc -l
}

# bats test_tags=native
@test "OpenSSL is loaded while we connect, and after the guard is forked" {
	need_loaded_openssl
	need_strace
	strace -o trace -e trace=connect,clone,clone3,openat \
		"$RLOCKRUN" -k "$KEY" -r "rediss://127.0.0.1:$PORT" true
	cat trace
	steps=$(grep -oE 'sin_port|^clone|/libssl\.so.*= [0-9]' trace | sed 's/\.so.*//')
	[[ $steps == $'sin_port\nclone\n/libssl' ]]
}

# bats test_tags=native
@test "TLS adds its handshake and a goodbye, nothing else" {
	need_strace
	# Greeting; the handshake's end with acquire; release; goodbye.
	[[ $(sends "rediss://127.0.0.1:$PORT") == 4 ]]
}

#!/usr/bin/env bats
# Passwords and certificates that are replaced while rlockrun runs: their files are
# read again when a connection is made. What was read before counts as long as they
# cannot be used.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/queue
load ../helpers/sentinel

setup_file() { make_certificates; }
setup() { begin_queue_test; }
teardown() { end_test; }

# set_password WORD: in the file, by a rename.
set_password() {
	(umask 077 && echo "$1" >password.new)
	mv password.new password
}

# own_user: a server with the user job, whose password is in the file.
own_user() {
	own_server
	cli acl setuser job on '>first' '~*' +@all
	set_password first
	export RLOCKRUN_USER=job RLOCKRUN_PASSWORD_FILE=$PWD/password
}

# change_on_server WORD: the user's password; its connections are closed.
change_on_server() {
	cli acl setuser job resetpass ">$1"
	cut
}

cut() {
	cli client kill user job >/dev/null
}

logs() {
	wait_until grep -q "$@" "$ERR"
}

# The holder renews its lock from now on.
renews() {
	cli pexpire "$KEY" 750
	wait_until left_above 750
}

ends_well() {
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

# --- passwords ------------------------------------------------------------------

@test "a new password that comes after a refused reconnect: the lock is renewed" {
	own_user
	hold -t 6
	change_on_server second
	logs 'cannot renew.*WRONGPASS'
	set_password second
	logs 'renewed again'
	ends_well
	run ! grep -e first -e second "$ERR"
}

@test "a new password without a user, written in place" {
	own_server --requirepass first
	set_password first
	export RLOCKRUN_PASSWORD_FILE=$PWD/password
	hold -t 2
	export REDISCLI_AUTH=first
	cli config set requirepass second
	REDISCLI_AUTH=second
	echo second >password
	cli client kill type normal
	cli client kill type normal skipme yes
	renews
	ends_well
	[[ ! -s $ERR ]]
}

@test "a waiter reconnects with the new password, and keeps its position" {
	own_user
	cli set "$KEY" foreign px 60000
	enqueue A
	first=$PID
	cli acl setuser job '>second'
	set_password second
	cli acl setuser job '<first'
	queued=$(cli --raw zrange "$Q" 0 -1)
	cut
	heartbeats_pass
	[[ $(cli --raw zrange "$Q" 0 -1) == "$queued" ]]
	cli del "$KEY"
	wait_for_file A.started
	touch go
	exits_with 0 "$first"
	run ! grep -e WRONGPASS -e password err.1
}

# warned WHY: once since the last time.
warned() {
	WARNINGS=$((${WARNINGS:-0} + 1))
	cat "$ERR"
	[[ $(tail -n 1 "$ERR") == "rlockrun: $1; using what was read before" ]]
	[[ $(wc -l <"$ERR") == "$WARNINGS" ]]
}

# warns_of REASON: the file as it is now cannot be used; the password from before
# still counts, however often a connection is made.
warns_of() {
	for _ in 1 2; do
		cut
		renews
	done
	warned "password file \"$PWD/password\": $1"
	set_password first
	cut
	renews
}

@test "a file that cannot be used: one warning, and the password from before" {
	own_user
	hold -t 1
	rm password
	warns_of 'No such file or directory'
	: >password
	warns_of 'empty'
	chmod o+r password
	warns_of 'others can read or write it (chmod o-rwx)'
	rm password
	mkfifo -m 600 password
	warns_of 'not a regular file any more'
	ends_well
}

@test "a pipe is read once" {
	own_user
	hold -t 2 --password-file <(printf first)
	cut
	renews
	ends_well
	[[ ! -s $ERR ]]
}

@test "a file of the sentinels' password" {
	SENTINEL_OPTIONS='requirepass first' own_sentinels 0
	set_password first
	hold -t 6 --sentinel-password-file password
	for i in 0 1 2; do
		REDISCLI_AUTH=first at "s$i" acl setuser default resetpass '>second'
	done
	cli client kill type normal
	logs 'cannot renew'
	set_password second
	logs 'renewed again'
	ends_well
}

# opens FILE COMMAND...: how often the command opens it or asks about it.
opens() {
	rm -f trace
	strace -f -qq -o trace -e trace=%file "${@:2}" >/dev/null
	grep -c "\"$1\"" trace
}

# bats test_tags=native
@test "a run that makes one connection reads the file once" {
	need_strace
	own_user
	[[ $(opens "$PWD/password" "$RLOCKRUN" -k "$KEY" true) == 1 ]]
}

# --- certificates ---------------------------------------------------------------

# own_tls [OPTION...]: a server whose certificate can be replaced, like ours.
own_tls() {
	mkdir theirs ours
	SUITE_DIR=$PWD/own
	choose_port
	install_pair theirs server
	install_pair ours client
	cp "$CERTIFICATES/ca.crt" theirs/ca.crt
	cp "$CERTIFICATES/ca.crt" ours/ca.crt
	start_server "$SUITE_DIR" --tls-port "$PORT" --bind 127.0.0.1 \
		--tls-cert-file "$PWD/theirs/pair.crt" \
		--tls-key-file "$PWD/theirs/pair.key" \
		--tls-ca-cert-file "$PWD/theirs/ca.crt" "$@"
	export RLOCKRUN_REDIS=rediss://127.0.0.1:$PORT RLOCKRUN_TLS_CA=$PWD/ours/ca.crt
}

# install_file FOLDER/FILE CERTIFICATE: by a rename.
install_file() {
	cp "$CERTIFICATES/$2" "$1.new"
	mv "$1.new" "$1"
}

install_pair() {
	install_file "$1/pair.crt" "$2.crt"
	install_file "$1/pair.key" "$2.key"
}

# renew_server: it reads its files; its connections over TLS are closed.
renew_server() {
	cli config set tls-cert-file "$PWD/theirs/pair.crt"
	cut_tls
}

cut_tls() {
	cli client kill type normal skipme yes >/dev/null
}

@test "a server with a new authority: the lock is renewed when we have it, too" {
	own_tls --tls-auth-clients no
	hold -t 6
	install_pair theirs unknown
	renew_server
	logs 'cannot renew.*unknown CA'
	install_file ours/ca.crt stranger.crt
	logs 'renewed again'
	ends_well
}

@test "a waiter learns the new authority, too" {
	own_tls --tls-auth-clients no
	cli set "$KEY" foreign px 60000
	enqueue A -v
	first=$PID
	install_pair theirs unknown
	renew_server
	logs 'unknown CA.*; trying again'
	install_file ours/ca.crt stranger.crt
	heartbeats_pass
	cli del "$KEY"
	wait_for_file A.started
	touch go
	exits_with 0 "$first"
}

@test "a new certificate of our own; it counts when its key is there" {
	own_tls --tls-auth-clients yes
	export RLOCKRUN_TLS_CERT=$PWD/ours/pair.crt RLOCKRUN_TLS_KEY=$PWD/ours/pair.key
	hold -t 2
	install_file ours/pair.crt unknown.crt
	for _ in 1 2; do
		cut_tls
		renews
	done
	warned "key \"$PWD/ours/pair.key\": not in PEM format, encrypted, or not that of the certificate"
	install_file ours/pair.key unknown.key
	install_file theirs/ca.crt stranger.crt
	renew_server
	renews
	ends_well
	[[ $(wc -l <"$ERR") == 1 ]]
}

@test "files for TLS that vanish or become pipes: one warning, nothing blocks" {
	own_tls --tls-auth-clients no
	hold -t 2
	for reason in 'No such file or directory' 'not a regular file any more'; do
		rm ours/ca.crt
		[[ $reason == No* ]] || mkfifo ours/ca.crt
		cut_tls
		renews
		warned "TLS file \"$PWD/ours/ca.crt\": $reason"
		install_file ours/ca.crt ca.crt
		cut_tls
		renews
	done
	ends_well
}

# bats test_tags=native
@test "a run that makes one connection reads its certificates once" {
	need_strace
	own_tls --tls-auth-clients no
	# For the time of their change, for a message, by OpenSSL.
	[[ $(opens "$PWD/ours/ca.crt" "$RLOCKRUN" -k "$KEY" true) == 3 ]]
}

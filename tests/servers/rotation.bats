#!/usr/bin/env bats
# Passwords and certificates that are replaced while rlockrun runs: their files are
# read again when a connection is made. What was read before counts as long as they
# cannot be used.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/queue

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

ends_well() {
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

# --- passwords ------------------------------------------------------------------

@test "a new password that comes after a refused reconnect: the lock is renewed" {
	own_user
	hold -t 9
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
	export REDISCLI_AUTH=first
	hold -t 9
	cli config set requirepass second
	REDISCLI_AUTH=second
	echo second >password
	cli client kill type normal
	cli client kill type normal skipme yes
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
	grep 'using what was read before' "$ERR" >warnings
	cat "$ERR"
	[[ $(tail -n 1 warnings) == "rlockrun: $1; using what was read before" ]]
	[[ $(wc -l <warnings) == "$WARNINGS" ]]
}

# waits [OPTION...]: behind another user, and connects anew whenever its connection
# ends.
waits() {
	start env -u RLOCKRUN_USER -u RLOCKRUN_PASSWORD_FILE "$RLOCKRUN" -k "$KEY" \
		-r "unix://$SUITE_DIR/s" -- "$A_JOB" job=%p until:done
	wait_for_file job
	start "$RLOCKRUN" -q -k "$KEY" "$@" true
	wait_until waits_again
}

# reconnects COMMAND: twice, by what that command does.
reconnects() {
	for _ in 1 2; do
		"$1"
		wait_until waits_again
	done
}

# By another connection than the last time.
waits_again() {
	local id
	id=$(cli client list | sed -n 's/^id=\([0-9]*\) .*name=rlockrun.* cmd=blpop .*/\1/p')
	[[ $id && $id != "${BLOCKED:-}" ]] && BLOCKED=$id
}

# The lock is free.
gets_it() {
	touch "done"
	exits_with 0 "$PID"
	wait_until none_left
}

@test "a pipe is read once" {
	own_user
	waits --password-file <(printf first)
	reconnects cut
	gets_it
	run ! grep password "$ERR"
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
	waits
	install_file ours/pair.crt unknown.crt
	reconnects cut_tls
	warned "key \"$PWD/ours/pair.key\": not in PEM format, encrypted, or not that of the certificate"
	install_file ours/pair.key unknown.key
	install_file theirs/ca.crt stranger.crt
	reconnects renew_server
	gets_it
	[[ $(grep -c 'read before' "$ERR") == 1 ]]
}

@test "files for TLS that vanish or become pipes: one warning, nothing blocks" {
	own_tls --tls-auth-clients no
	waits
	for reason in 'No such file or directory' 'not a regular file any more'; do
		rm ours/ca.crt
		[[ $reason == No* ]] || mkfifo ours/ca.crt
		reconnects cut_tls
		warned "TLS file \"$PWD/ours/ca.crt\": $reason"
		install_file ours/ca.crt ca.crt
		reconnects cut_tls
	done
	gets_it
}

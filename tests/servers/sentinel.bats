#!/usr/bin/env bats
# Servers that sentinels know: who is asked, what is said when nobody helps, and what a
# failover does to locks: one for each class. The simulation plays them in each state.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/sentinel

setup_file() {
	export SUITE_DIR=$BATS_FILE_TMPDIR/p0
	start_sentinels "$BATS_FILE_TMPDIR" 1
	export SUITE_SENTINELS=$SENTINELS SUITE_PORTS=${PORTS[*]}
}

teardown_file() { stop_suite_server; }

setup() {
	begin_test
	SENTINELS=$SUITE_SENTINELS
	read -ra PORTS <<<"$SUITE_PORTS"
	RLOCKRUN_REDIS=redis-sentinel://$SENTINELS/primary
}
teardown() {
	# What a test has frozen of the suite's.
	kill -CONT "$(<"$BATS_FILE_TMPDIR/p1/pid")"
	end_test
}

# denied WORDS ARGUMENT...: 77 with one line that names a sentinel, and no job.
denied() {
	run -77 rl --server-timeout 1h "${@:2}" touch ran
	echo "$output"
	is_last_word ": sentinel redis://127.0.0.1:"
	[[ $output == *"$1"* && ! -e ran ]]
}

# --- asking ---------------------------------------------------------------------

@test "the primary, by its name; db" {
	run -0 rl sh -c 'redis-cli -s "$0" get "$RLOCKRUN_KEY"' "$SUITE_DIR/s"
	[[ $output =~ ^[0-9a-f-]{36}$ ]]
	run -0 rl -r "$RLOCKRUN_REDIS/3" sh -c 'redis-cli -s "$0" -n 3 get "$RLOCKRUN_KEY"' "$SUITE_DIR/s"
	[[ $output =~ ^[0-9a-f-]{36}$ ]]
	[[ -z $(keys_left) ]]
}

@test "-v and --status name the primary that was found, and the db" {
	run -0 rl -v true
	[[ ${lines[0]} == "rlockrun: \"$KEY\": acquired on redis://127.0.0.1:${PORTS[0]} (primary), fence "* ]]
	run -0 rl -v -r "$RLOCKRUN_REDIS/3" true
	[[ ${lines[0]} == *": acquired on redis://127.0.0.1:${PORTS[0]}/3 (primary), fence "* ]]
	run -0 rl --status -r "$RLOCKRUN_REDIS/3"
	[[ ${lines[1]} == "server:   redis://127.0.0.1:${PORTS[0]}/3 (primary), db 3, no prefix" ]]
}

@test "a sentinel that says nothing costs a part of the time only" {
	serve 'head -c 99999 >/dev/null'
	# shellcheck disable=SC2153 # serve sets PORT
	run -0 rl --server-timeout 60 -r "redis-sentinel://127.0.0.1:$PORT,$SENTINELS/primary" true
}

# bats test_tags=native
@test "sentinels add one question; ROLE travels with the first command" {
	need_strace
	strace -f -o trace -e trace=connect,sendto "$RLOCKRUN" -k "$KEY" true
	[[ $(grep -c 'connect(' trace) == 2 ]]
	grep 'sendto([0-9]*, "\*' trace >sent
	[[ $(wc -l <sent) == 3 ]]
	[[ $(sed -n 2p sent) == *ROLE* ]]
}

# --- credentials ------------------------------------------------------------------

@test "a password for the server, none for the sentinels" {
	SENTINEL_OPTIONS='sentinel auth-pass primary s3cr3t' \
		own_sentinels 0 --requirepass s3cr3t
	run -0 rl -r "redis-sentinel://:s3cr3t@$SENTINELS/primary" env
	[[ $output != *s3cr3t* ]]
	RLOCKRUN_PASSWORD=s3cr3t run -0 rl true
	run -77 rl true
	[[ $output == *"redis://127.0.0.1:${PORTS[0]} (primary): NOAUTH"* ]]
}

@test "a password for the sentinels" {
	SENTINEL_OPTIONS='requirepass hush' own_sentinels 0
	denied 'it requires a password (give it by --sentinel-password-file or RLOCKRUN_SENTINEL_PASSWORD, which a job does not inherit)'
	# The server's isn't told to them.
	RLOCKRUN_PASSWORD=hush denied 'it requires a password'
	RLOCKRUN_SENTINEL_PASSWORD=hush run -0 rl env
	[[ $output != *hush* && $output != *SENTINEL_PASSWORD* ]]
	(umask 077 && echo hush >password)
	run -0 rl --sentinel-password-file password true
	RLOCKRUN_SENTINEL_PASSWORD_FILE=password run -0 rl true
	RLOCKRUN_SENTINEL_PASSWORD=wrong denied 'WRONGPASS (check the user and the password for the sentinels)'
	RLOCKRUN_SENTINEL_PASSWORD=hush run -0 rl --sentinel-user default true
	run -78 rl --sentinel-password-file nowhere touch ran
	RLOCKRUN_SENTINEL_PASSWORD=hush RLOCKRUN_SENTINEL_PASSWORD_FILE=password \
		run -78 rl touch ran
	[[ $output == *'exclude each other; command not started' && ! -e ran ]]
}

# deny NUMBER...: those sentinels don't tell us who is the primary.
deny() {
	local i
	for i; do at "s$i" acl setuser default -sentinel; done
}

@test "sentinels that refuse the query: one that replies is enough" {
	own_sentinels 0
	deny 1 2
	run -0 rl true
	run -0 rl -r "redis-sentinel://${SENTINELS#*,},${SENTINELS%%,*}/primary" true
	deny 0
	denied NOPERM
	run -77 rl --status
	[[ $output == *": sentinel redis://127.0.0.1:"*NOPERM* ]]
	# Three primaries whose sentinels refuse are no majority.
	run -77 rl -r "$RLOCKRUN_REDIS" -r "$RLOCKRUN_REDIS/1" -r "$RLOCKRUN_REDIS/2" touch ran
	[[ $output == *": sentinel redis://127.0.0.1:"*NOPERM* && ! -e ran ]]
}

@test "over TLS, sentinels and servers" {
	make_certificates
	SUITE_DIR=$PWD/p0
	start_tls_server "$SUITE_DIR" server
	PORTS=("$PORT")
	export SENTINEL_PORT
	SENTINEL_PORT=$(printf 'tls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\ntls-auth-clients no\ntls-replication yes\nport 0\ntls-port' \
		"$CERTIFICATES/server.crt" "$CERTIFICATES/server.key" "$CERTIFICATES/ca.crt")
	run_sentinels "$PWD"
	RLOCKRUN_REDIS=rediss-sentinel://$SENTINELS/primary
	refused 'unknown CA'
	run -0 rl --tls-ca "$CERTIFICATES/ca.crt" true
	run -0 with_hosts '127.0.0.1 localhost.' timeout -k 1 90 "$RLOCKRUN" -k "$KEY" \
		--tls-ca "$CERTIFICATES/ca.crt" -r "${RLOCKRUN_REDIS//127.0.0.1/localhost.}" true
	[[ -z $output ]]
	refused 'TLS' -r "redis-sentinel://$SENTINELS/primary"
}

# --- nobody helps -----------------------------------------------------------------

@test "no sentinel knows the master" {
	refused 'its sentinels know no master "other"' -r "redis-sentinel://$SENTINELS/other"
	run -69 rl --server-timeout 1h --status -r "redis-sentinel://$SENTINELS/other"
	given_up '1 of 2 sentinels answer, and know no such master' \
		-r "redis-sentinel://${SENTINELS%%,*},127.0.0.1:1/other"
}

@test "a plain server at a sentinel URL, a sentinel at a plain one" {
	refused "redis://127.0.0.1:${PORTS[0]}: it is not a sentinel" \
		-r "redis-sentinel://127.0.0.1:${PORTS[0]}/primary"
	run -77 rl -r "redis://${SENTINELS%%,*}" touch ran
	[[ ${#lines[@]} == 1 && $output == *'perhaps it is a sentinel ('*'; command not started'* && ! -e ran ]]
}

@test "sentinels that disagree: a server that is no primary is not used" {
	false_sentinel "${PORTS[1]}"
	start "$RLOCKRUN" -k "$KEY" --server-timeout 1h -r "redis-sentinel://127.0.0.1:$PORT/primary" touch ran
	wait_until grep -qF "redis://127.0.0.1:${PORTS[1]} (primary): it is a replica, not the primary; " "$ERR"
	kill "$PID"
	exits_with 143 "$PID"
	run -0 rl -r "redis-sentinel://127.0.0.1:$PORT,$SENTINELS/primary" true
	[[ ! -e ran ]]
	false_sentinel 20001
	run -0 rl -r "redis-sentinel://127.0.0.1:$PORT,$SENTINELS/primary" true
	[[ -z $(keys_left) ]]
}

# --- failovers ----------------------------------------------------------------------

@test "the primary is killed while one holds, one waits and one asks" {
	own_sentinels 1
	hold
	start rl touch second
	wait_until grep -q waiting err.2
	[[ $(cli wait 1 5000) == 1 ]]
	stop_server "$PWD/p0"
	start rl --server-timeout 60 touch third
	wait_until is_primary p1
	SUITE_DIR=$PWD/p1
	wait_until eval '[[ $(cli client list) == *cmd=blpop*cmd=blpop* ]]'
	is_held
	[[ ! -e second && ! -e third ]]
	touch "done"
	for PID in "${STARTED[@]}"; do exits_with 0 "$PID"; done
	[[ -e second && -e third && -z $(keys_left) ]]
}

@test "S13: a failover by hand while one holds and two wait" {
	own_sentinels 1
	hold
	first=$PID
	start rl sh -c 'echo B >>order'
	wait_until grep -q waiting err.2
	second=$PID
	start rl sh -c 'echo C >>order'
	wait_until grep -q waiting err.3
	at s0 sentinel failover primary
	wait_until is_primary p1
	# For eight seconds more both would be primaries.
	at p0 replicaof 127.0.0.1 "${PORTS[1]}"
	wait_until eval '[[ $(at p1 client list) == *cmd=blpop*cmd=blpop* ]]'
	kill -0 "$first"
	[[ ! -e order ]]
	SUITE_DIR=$PWD/p1
	[[ $(cli exists "$KEY") == 1 ]]
	touch "done"
	exits_with 0 "$first"
	exits_with 0 "$second"
	exits_with 0 "$PID"
	[[ $(sort order | tr -d '\n') == BC && -z $(keys_left) ]]
}

# lose_writes: from here on the replica gets nothing, and it can't come back as
# long as it is frozen.
lose_writes() {
	kill -STOP "$(<p1/pid)"
	at p0 client kill type replica >/dev/null
}

# --- replicas -------------------------------------------------------------------------

is_renewed() {
	cli pexpire "$KEY" 7000
	wait_until left_above 7000
}

@test "--wait-replicas: as many as are wanted have it" {
	run -0 rl --wait-replicas 1 redis-cli -p "${PORTS[1]}" exists "$KEY"
	[[ $output == 1 ]]
	hold -t 9 --wait-replicas 1:2s
	is_renewed
	touch "done"
	exits_with 0 "$PID"
	[[ ! -s $ERR && -z $(keys_left) ]]
}

@test "--wait-replicas: too few, 69; nothing is left" {
	given_up "not safe on redis://127.0.0.1:${PORTS[0]} (primary): 1 of 2 replicas have the lock" \
		-n -t 4 --wait-replicas 2
	run -69 rl -w 1 --wait-replicas 2:100ms touch ran
	[[ $output == *'1 of 2 replicas have the lock; command not started' && ! -e ran ]]
	[[ -z $(keys_left) ]]
}

freeze_replica() { kill -STOP "$(<"$BATS_FILE_TMPDIR/p1/pid")"; }

# has_waited COUNT: WAIT was sent so many times.
has_waited() {
	[[ $(cli info commandstats) =~ cmdstat_wait:calls=([0-9]+) ]] &&
		((BASH_REMATCH[1] >= $1))
}

# Each grant that too few have is withdrawn, and it is the newest all the same.
@test "S51: --newest with --wait-replicas: nobody is overtaken by itself" {
	freeze_replica
	cli config resetstat
	start rl --newest --wait-replicas 1:100ms touch ran
	wait_until has_waited 3
	[[ ! -e ran ]]
	kill -CONT "$(<"$BATS_FILE_TMPDIR/p1/pid")"
	exits_with 0 "$PID"
	[[ -e ran && $(<"$ERR") != *overtaken* ]]
	[[ -z $(keys_left) ]]
}

@test "S12: with --wait-replicas 1 the job never ran" {
	own_sentinels 1
	lose_writes
	start "$RLOCKRUN" -k "$KEY" -t 10 --wait-replicas 1:100ms touch ran
	wait_until grep -q '0 of 1 replicas' "$ERR"
	stop_server "$PWD/p0"
	kill -CONT "$(<p1/pid)"
	wait_until is_primary p1
	SUITE_DIR=$PWD/p1
	run -0 rl true
	# There is no replica any more.
	[[ ! -e ran ]]
	kill -TERM "$PID"
	exits_with 143 "$PID"
	[[ ! -e ran && -z $(keys_left) ]]
}

@test "S52: --wait-replicas: a release that too few have is warned of" {
	hold --wait-replicas 1:2s --min-hold 1h
	freeze_replica
	touch "done"
	exits_with 0 "$PID"
	[[ $(<"$ERR") == *": 0 of 1 replicas have confirmed the release; a failover may forget it" ]]
	[[ $(wc -l <"$ERR") == 1 ]]
	(($(left_ms) > 3000000))
	cli del "$KEY"
}

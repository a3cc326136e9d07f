#!/usr/bin/env bats
# A failover in each state of a lock's life, with a primary, two replicas and
# three sentinels: the primary is killed, frozen, or replaced by hand (SENTINEL
# FAILOVER, after which it believes for ten seconds more that it is one).
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/sentinel

setup() {
	export SUITE_DIR=$PWD/p0
	begin_test
	own_sentinels 2
	KIND=()
}
teardown() { end_test; }

# begin_failover HOW: all replicas have what was written before.
begin_failover() {
	HOW=$1
	[[ $(cli wait 2 5000) == 2 ]]
	case $1 in
	killed) stop_server "$PWD/p0" ;;
	frozen) freeze ;;
	switched) at s0 sentinel failover primary ;;
	esac
}

# fail_over HOW: until there is another primary, which cli then talks to.
fail_over() {
	begin_failover "$1"
	wait_until find_primary
}

find_primary() {
	local replica
	for replica in p1 p2; do
		is_primary "$replica" || continue
		SUITE_DIR=$PWD/$replica
		return 0
	done
	return 1
}

# ends CODE...: what was started ends so, in that order, and leaves nothing on the
# new primary.
ends() {
	local i=0 code
	for code in "$@"; do
		exits_with "$code" "${STARTED[i++]}" || return
	done
	nothing_left
}

# What was freed on a primary that was replaced by hand and does not know it yet lasts for
# a ttl on the new one.
nothing_left() {
	if [[ $HOW == switched ]]; then
		rl -t 1 "${KIND[@]}" true
	else
		[[ -z $(keys_left) ]]
	fi
}

acquiring() {
	begin_failover "$1"
	start rl -t 5 touch ran
	exits_with 0 "$PID"
	wait_until find_primary
	[[ -e ran ]]
	nothing_left
}

# bats test_tags=night
@test "acquiring: killed" { acquiring killed; }
# bats test_tags=night
@test "acquiring: frozen" { acquiring frozen; }
# bats test_tags=night
@test "acquiring: SENTINEL FAILOVER" { acquiring switched; }

# The try is out when the primary goes, which lets nobody write until then.
trying() {
	cli client pause 60000 write >/dev/null
	start rl -t 5 touch ran
	wait_until eval '[[ $(cli client list) == *rlockrun* ]]'
	[[ ! -e ran ]]
	begin_failover "$1"
	exits_with 0 "$PID"
	wait_until find_primary
	nothing_left
}

# bats test_tags=night
@test "a try is out: killed" { trying killed; }
# bats test_tags=night
@test "a try is out: frozen" { trying frozen; }

waiting() {
	hold -t 20
	start rl -t 20 sh -c 'echo B >>order'
	wait_until grep -q waiting err.2
	start rl -t 20 sh -c 'echo C >>order'
	wait_until grep -q waiting err.3
	fail_over "$1"
	wait_until eval '[[ $(cli client list) == *cmd=blpop*cmd=blpop* ]]'
	is_held
	[[ ! -e order ]]
	touch "done"
	ends 0 0 0
	[[ $(sort order | tr -d '\n') == BC ]]
}

@test "waiting: killed" { waiting killed; }
# bats test_tags=night
@test "waiting: frozen" { waiting frozen; }
# bats test_tags=night
@test "waiting: SENTINEL FAILOVER" { waiting switched; }

# holding HOW [OPTION...]: for longer than a ttl, so that it was renewed there.
holding() {
	hold -t 8 "${@:2}"
	fail_over "$1"
	renewed_at=$(now_ms)
	WAIT_SECONDS=30 wait_until outlives $((renewed_at + 8500))
	is_held
	run -75 rl -n true
	touch "done"
	ends 0
}

outlives() {
	gone "${STARTED[0]}" || (($(now_ms) > $1))
}

# bats test_tags=night
@test "holding: killed" { holding killed; }
# bats test_tags=night
@test "holding: frozen" { holding frozen; }
# The old primary is one for longer than this lease: --wait-replicas tells.
# bats test_tags=night
@test "holding: SENTINEL FAILOVER" { holding switched --wait-replicas 1; }

several() {
	hold -t 12 -k "$KEY:2"
	fail_over "$1"
	touch "done"
	ends 0
}

# bats test_tags=night
@test "holding several: killed" { several killed; }
# bats test_tags=night
@test "holding several: frozen" { several frozen; }
# bats test_tags=night
@test "holding several: SENTINEL FAILOVER" { several switched; }

releasing() {
	hold -t 10
	begin_failover "$1"
	touch "done"
	exits_with 0 "$PID"
	wait_until find_primary
	nothing_left
	run -0 rl -t 1 true
}

# bats test_tags=night
@test "releasing: killed" { releasing killed; }
# bats test_tags=night
@test "releasing: frozen" { releasing frozen; }
# bats test_tags=night
@test "releasing: SENTINEL FAILOVER" { releasing switched; }

nested() {
	start rl -t 12 sh -c '"$RLOCKRUN" -t 12 -k "$KEY" sh -c "echo \$RLOCKRUN_TOKEN >inner
		until [ -e done ]; do sleep 0.05; done; exit 3"'
	wait_for_file inner
	fail_over "$1"
	[[ $(cli get "$KEY") == "$(<inner)" ]]
	touch "done"
	ends 3
}

# bats test_tags=night
@test "nested: killed" { nested killed; }
# bats test_tags=night
@test "nested: frozen" { nested frozen; }
# bats test_tags=night
@test "nested: SENTINEL FAILOVER" { nested switched; }

permits() {
	KIND=(-p 2)
	hold -t 12 -p 2
	rm job
	hold -t 12 -p 2
	start rl -t 12 -p 2 touch third
	wait_until grep -q '2 of 2 permits' err.3
	fail_over "$1"
	[[ $(cli zcard "$KEY") == 2 && ! -e third ]]
	touch "done"
	ends 0 0 0
	[[ -e third ]]
}

# bats test_tags=night
@test "permits: killed" { permits killed; }
# bats test_tags=night
@test "permits: frozen" { permits frozen; }
# bats test_tags=night
@test "permits: SENTINEL FAILOVER" { permits switched; }

# --- servers that are not ready --------------------------------------------------

# bats test_tags=night
@test "LOADING: a primary that is back and loads is waited for, or another is found" {
	cli config set rdbcompression no
	cli eval 'for i = 1, 300 do redis.call("SET", "filler" .. i, string.rep("x", 2000)) end' 0
	cli save
	stop_server "$PWD/p0"
	start_server "$PWD/p0" --port "${PORTS[0]}" --bind 127.0.0.1 \
		--key-load-delay 10000 --loading-process-events-interval-bytes 1024 3>&- &
	wait_until eval '[[ $(at p0 get "$KEY" 2>&1) == LOADING* ]]'
	start rl -t 5 touch ran
	exits_with 0 "$PID"
	[[ -e ran ]]
}

@test "MASTERDOWN: a replica without its primary is left for a primary" {
	for i in 0 1 2; do
		at "p$i" config set replica-serve-stale-data no
		at "p$i" acl setuser locker on '>secret' '~*' +@all -role
	done
	# A sentinel that names the replica, which doesn't tell its role.
	at p1 replicaof 127.0.0.1 1
	false_sentinel "${PORTS[1]}"
	[[ $(at p1 get "$KEY" 2>&1) == MASTERDOWN* ]]
	begun=$(now_ms)
	run -0 rl -r "redis-sentinel://locker:secret@127.0.0.1:$PORT,$SENTINELS/primary" echo ran
	[[ $output == ran && -z $(keys_left) ]]
	(($(now_ms) - begun < 4000)) # before the sentinels have mended that
}

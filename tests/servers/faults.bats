#!/usr/bin/env bats
# Connections that end or fall silent in each state, replies that are lost, late or
# doubled.
# shellcheck disable=SC2016,SC2034 # the jobs' shells expand that; helpers use it

load ../helpers/suite
load ../helpers/faults

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- the connection ends ------------------------------------------------------------

# ends_at RULE: a run meets that and goes on as if nothing had been, even with -n.
ends_at() {
	through "$1"
	running -n "${@:2}"
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
	[[ ! -s $ERR ]]
}

# (The reply table's cells of EOF are those of this part, those of a time-out are in
# the next one: before acquire, renewal and release, and instead of their replies.)

@test "the connection ends while it is made" {
	ends_at lose:CLIENT:1
}

# auth_ends_at RULE: the same with a user's password.
auth_ends_at() {
	cli acl setuser "$KEY" on '>secret' '~*' +@all
	through "$1"
	RLOCKRUN_REDIS=unix://${KEY//:/%3a}:secret@$PWD/proxy/s
	running -n
	ends_well
	[[ ! -s $ERR ]]
	cli acl deluser "$KEY"
}

@test "the connection ends before the server hears of AUTH" {
	auth_ends_at lose:AUTH:1
}

@test "the connection ends instead of the reply to AUTH" {
	auth_ends_at cut:AUTH:1
}

@test "the connection ends after AUTH" {
	auth_ends_at hangup:AUTH:1
}

@test "the connection ends after the handshake" {
	ends_at hangup:CLIENT:1
}

@test "the connection ends before the server hears of the acquire" {
	ends_at lose:EVAL/8:1
}

@test "a lost reply of an acquire: the waiter does not wait for its own lease" {
	ends_at cut:EVAL/8:1
	# The second try found its own token there, and was given a new fence.
	has_passed proxy EVAL/8 2
	[[ $(cli get "{$KEY}:rlk:f") == "$(<fence)" ]]
}

@test "the connection ends after the acquire: it is opened anew for the release" {
	ends_at hangup:EVAL/8:1
}

# bats test_tags=night
@test "the connection ends while holding idle: it is opened anew for the renewal" {
	through hangup:EVAL/8:1
	running -t 2
	passed EVAL/1 2
	(($(connections) == 2))
	ends_well
	[[ ! -s $ERR ]]
}

# bats test_tags=night
@test "the connection ends while waiting" {
	cli set "$KEY" other
	through hangup:EVAL/8:2 cut:EVAL/8:3 lose:EVAL/8:4
	job
	passed EVAL/8 6
	(($(connections) == 4))
	cli del "$KEY"
	wait_for_file job
	ends_well
	[[ $(wc -l <"$ERR") == 2 && $(tail -n 1 "$ERR") == *": acquired after "* ]]
}

# bats test_tags=night
@test "the connection ends before the server hears of a renewal" {
	through lose:EVAL/1:1
	running -t 2
	says "renewed again"
	(($(connections) == 2))
	ends_well
}

@test "a lost reply of a renewal: renewed again" {
	through cut:EVAL/1:1
	running -t 2
	says "renewed again"
	has_passed proxy EVAL/1 2
	ends_well
}

@test "the connection ends before the server hears of the release" {
	ends_at lose:EVAL/9:1
	(($(connections) == 2))
}

@test "a lost reply of a release: the job's status, the lock is free, no loss is reported" {
	ends_at cut:EVAL/9:1
	has_passed proxy EVAL/9 2
}

@test "the connection ends at each release: a warning, the job's status" {
	through lose:EVAL/9
	running -t 1
	touch "done"
	wait_until gone "$PID"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release"*": lost the connection to "* ]]
	wait_until is_free
}

# --- the other end is gone and says nothing --------------------------------------------

# bats test_tags=night
@test "half-open while connecting: by way of another connection" {
	through hold
	RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
	job
	wait_until is_connecting
	rules
	wait_for_file job
	ends_well
	[[ $(wc -l <"$ERR") -le 1 ]]
}

# In state SYN-SENT.
is_connecting() {
	grep -qi " 0100007F:$(printf %04X "$PORT") 02 " /proc/net/tcp
}

@test "half-open at the first acquire: 69 in time, or -w" {
	through vanish:CLIENT
	run -69 rl --server-timeout 0.5 touch ran
	[[ $output == *"no answer from unix://$PWD/proxy/s"* ]]
	run -69 rl -w 0.5 touch ran
	[[ $output == *"no answer from unix://$PWD/proxy/s"* && ! -e ran ]]
	[[ -z $(keys_left) ]]
}

# bats test_tags=serial,night
@test "half-open while waiting: noticed within 5 s, then the wait continues" {
	local since
	cli set "$KEY" other
	through
	job
	says waiting
	rules vanish:EVAL/8:1
	since=$(now_ms)
	cli del "$KEY"
	wait_for_file job
	since=$(($(now_ms) - since))
	echo "after $since ms"
	((since < 6500))
	ends_well
}

@test "half-open while holding: noticed by a renewal, nothing is lost" {
	through vanish:PEXPIRE:1
	running -t 3
	says "renewed again"
	grep -q 'cannot renew .*no answer from' "$ERR"
	ends_well
}

# bats test_tags=night
@test "silence instead of the reply to a renewal: renewed again" {
	through drop:EVAL/1:1
	running -t 3
	says "renewed again"
	ends_well
}

@test "S28: the first reply never comes: acquired on a second connection" {
	through drop:CLIENT:1
	run -7 rl --server-timeout 3 -n sh -c 'exit 7'
	[[ -z $output && -z $(keys_left) ]]
	(($(connections) == 2))
}

# bats test_tags=night
@test "S28: a waiter whose reply never comes keeps its place on a second connection" {
	hold
	first=$PID
	through
	start rl -w 20 --server-timeout 3 sh -c 'echo B >>order'
	says waiting
	rules drop:EVAL/8:1
	passed EVAL/8 2
	RLOCKRUN_REDIS=unix://$SUITE_DIR/s start rl -w 20 sh -c 'echo C >>order'
	says waiting
	passed EVAL/8 3
	(($(connections) == 2))
	touch "done"
	wait_until eval '[[ -e order && $(wc -l <order) == 2 ]]'
	[[ $(tr -d "\n" <order) == BC ]]
	exits_with 0 "$first"
	wait_until none_left
}

@test "S30: a try that comes late plants nothing that its owner believes" {
	through late:3000:EVAL/8:1
	running -t 12 --server-timeout 3
	(($(connections) == 2))
	[[ $(cli getdel "$KEY") == "$(<token)" ]]
	RLOCKRUN_REDIS=unix://$SUITE_DIR/s run -0 rl true
	[[ $(cli exists "$KEY") == 0 ]]
	# The first try has arrived, and what it planted is not the job's token.
	passed EVAL/8 2
	exits_with 79 "$PID"
	wait_until none_left
}

# bats test_tags=night
@test "S30: a job that ends before it learns of the loss exits 79, too" {
	through late:3000:EVAL/8:1 lose:EVAL/6
	running -t 60 --server-timeout 3
	[[ $(cli getdel "$KEY") == "$(<token)" ]]
	passed EVAL/8 2
	wait_until eval '[[ $(cli exists "$KEY") == 1 ]]'
	[[ $(cli get "$KEY") != "$(<token)" ]]
	touch "done"
	exits_with 79 "$PID"
	wait_until none_left
}

# bats test_tags=night
@test "S28: round trips of 0.7 s and a ttl of 2 s: nothing is lost, nothing is said" {
	through delay:700
	running -t 2
	passed EVAL/1 4
	ends_well
	[[ ! -s $ERR ]]
}

# bats test_tags=night
@test "S28: a second connection renews beside one that has died unnoticed" {
	through
	running -t 4
	rules vanish:EVAL/1:1
	says "renewed again"
	grep -q 'cannot renew .*no answer from' "$ERR"
	(($(connections) == 2))
	ends_well
}

# bats test_tags=night
@test "a second connection finds the key deleted: lost, whatever the first would reply" {
	through delay:9000:EVAL/1:1
	running -t 4
	passed EVAL/1 1
	cli del "$KEY"
	exits_with 79 "$PID"
	grep -q "\"$KEY\" was lost: its key was taken away or has expired; stopping the job" "$ERR"
	has_passed proxy EVAL/1 2
	[[ $(cli exists "$KEY") == 0 ]]
	cli del "{$KEY}:rlk:i"
}

# bats test_tags=night
@test "a renewal that is out on two connections: the release waits for its reply" {
	through
	running -t 4 --min-hold 3s
	rules delay:9000:EVAL/1:1 late:500:EVAL/1:2
	passed CLIENT 2
	touch "done"
	exits_with 7 "$PID"
	[[ $(grep '^EVAL' proxy/log | tail -n 2 | xargs) == 'EVAL/1 EVAL/9' ]]
	cli del "$KEY" "{$KEY}:rlk:i"
}

# bats test_tags=night
@test "a renewal that reaches the server late does not lengthen a kept lock" {
	through
	running -t 4 --min-hold 8s
	rules late:1500:EVAL/1:1
	passed EVAL/1 1 # on the second connection
	touch "done"
	exits_with 7 "$PID"
	[[ $(grep '^EVAL' proxy/log | tail -n 3 | xargs) == 'EVAL/1 EVAL/1 EVAL/9' ]]
	cli del "$KEY" "{$KEY}:rlk:i"
}

# bats test_tags=night
@test "a renewal that is out on two connections when the lease ends: freed all the same" {
	through delay:9000:EVAL/1
	running -t 2
	passed EVAL/1 2
	touch "done"
	exits_with 7 "$PID"
	passed EVAL/9 1
	[[ $(cli exists "$KEY") == 0 && $(tail -n 1 "$ERR") == *"cannot confirm the release"* ]]
}

# bats test_tags=night
@test "half-open when the job ends: freed by way of another connection" {
	ends_at vanish:EVAL/9:1
	(($(connections) == 2))
}

# bats test_tags=night
@test "silence instead of the reply to a release: the job's status, freed, not lost" {
	ends_at drop:EVAL/9:1
	has_passed proxy EVAL/9 2
}

# --- too late --------------------------------------------------------------------------

@test "an acquire that arrives after -w is undone" {
	through late:1500:EVAL/8:1
	run -69 rl -w 0.5 touch ran
	[[ ! -e ran ]]
	run ! has_passed proxy EVAL/9 1
	passed EVAL/9 1
	wait_until none_left
}

# bats test_tags=night
@test "an acquire that arrives after --server-timeout is undone" {
	through late:1500:EVAL/8:1
	run -69 rl --server-timeout 0.5 touch ran
	[[ ! -e ran ]]
	passed EVAL/9 1
	wait_until none_left
}

# bats test_tags=night
@test "an acquire that arrives after a signal is undone" {
	through late:1500:EVAL/8:1
	job
	wait_until is_blocked "$PID"
	kill -TERM "$PID"
	exits_with 143 "$PID"
	passed EVAL/9 1
	wait_until none_left
	[[ ! -e job ]]
}

# Whether the proxy has its first connection, and so the try.
is_blocked() {
	grep -q '^CLIENT' proxy/log
}

# bats test_tags=night
@test "a retry that arrives after -w, and the first one's reply was lost: undone" {
	through cut:EVAL/8:1 late:1500:EVAL/8:2
	run -69 rl -w 1 touch ran
	[[ ! -e ran ]]
	passed EVAL/9 1
	wait_until none_left
}

# bats test_tags=night
@test "a grant that is 0.6 TTL late is asked for again, the job has a fresh lease" {
	through delay:1200:EVAL/8:1
	running -t 2
	has_passed proxy EVAL/8 2
	[[ $(cli get "$KEY") == "$(<token)" && $(cli get "{$KEY}:rlk:f") == "$(<fence)" ]]
	left_above 1000
	ends_well
}

# bats test_tags=night
@test "grants that are always 0.6 TTL late: no job, 69, nothing is left" {
	through delay:1200:EVAL/8
	run -69 rl -t 2 --server-timeout 6 touch ran
	[[ $output == *"too slow for this ttl"* && ! -e ran ]]
	passed EVAL/9 1
	wait_until none_left
}

# bats test_tags=night
@test "grants that are later than the lease: no job, 69, nothing is left" {
	through delay:1300:EVAL/8
	run -69 rl -t 1 -w 3 touch ran
	[[ ! -e ran ]]
	wait_until none_left
}

# bats test_tags=night
@test "renewals that are 0.6 TTL late: never a job beyond its lease" {
	through delay:1200:EVAL/1
	job -t 2
	wait_for_file job
	wait_until gone "$PID"
	gone "$(<job)"
	exits_with 79 "$PID"
	wait_until none_left
}

# --- too many -----------------------------------------------------------------------------

@test "a doubled reply of the handshake is not that of the acquire" {
	through twice:CLIENT:1
	running -n
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
}

@test "a doubled reply of an acquire: the connection is opened anew" {
	through twice:EVAL/8:1
	running -t 2
	passed EVAL/1 2
	(($(connections) == 2))
	ends_well
	[[ ! -s $ERR ]]
}

# bats test_tags=night
@test "a doubled reply of a try that found it busy is not that of the next" {
	cli set "$KEY" other
	through twice:EVAL/8
	job
	passed EVAL/8 4
	[[ ! -e job ]]
	cli del "$KEY"
	wait_for_file job
	[[ $(cli get "$KEY") == "$(<token)" ]]
	ends_well
}

# bats test_tags=night
@test "a doubled reply is not that of a renewal which never was" {
	through twice:PEXPIRE late:5000:EVAL/1
	running -t 1
	wait_until gone "$PID"
	exits_with 79 "$PID"
	gone "$(<job)"
	run ! grep -q "renewed again" "$ERR"
}

# bats test_tags=night
@test "a doubled reply of a renewal: renewed again on another connection" {
	through twice:EVAL/1:1
	running -t 2
	passed EVAL/1 3
	(($(connections) == 2))
	ends_well
}

@test "a doubled reply of a release" {
	ends_at twice:EVAL/9:1
}

# bats test_tags=night
@test "a server that speaks unasked while waiting" {
	cli set "$KEY" other
	through also:EVAL/8:2:+hello
	job
	passed EVAL/8 4
	(($(connections) == 2))
	cli del "$KEY"
	wait_for_file job
	ends_well
}

@test "a server that speaks unasked while holding" {
	through 'also:EVAL/8:1::1'
	running -t 2
	passed EVAL/1 2
	(($(connections) == 2))
	ends_well
}

# bats test_tags=night
@test "a server that pushes while holding" {
	through 'also:EVAL/8:1:>2\r\n+message\r\n+hello'
	running -t 2
	passed EVAL/1 2
	(($(connections) == 2))
	ends_well
}

# bats test_tags=night
@test "a server that speaks before a renewal's reply: not taken for it" {
	through 'also:PEXPIRE::+hello' late:5000:EVAL/1
	running -t 1
	wait_until gone "$PID"
	exits_with 79 "$PID"
	gone "$(<job)"
	run ! grep -q "renewed again" "$ERR"
}

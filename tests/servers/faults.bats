#!/usr/bin/env bats
# Connections that end or fall silent in each state, replies that are lost, late or
# doubled: a process for each class. Each fault at each step is a row of the unit tests
# of acquire, lease and release, and the simulation plays them all.
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
	echo "$1"
	rules "$1"
	running -n
	[[ $(cli get "$KEY") == "$(<token)" ]]
	[[ $(cli hget "{$KEY}:rlk:i" f) == "$(<fence)" ]]
	ends_well
	[[ ! -s $ERR ]]
}

# Of an acquire whose reply was lost, the second try finds its own token.
@test "the connection ends before, instead of or after any reply: nobody notices" {
	local rule
	through
	for rule in lose:CLIENT:1 hangup:CLIENT:1 lose:EVAL/acquire:1 cut:EVAL/acquire:1 hangup:EVAL/acquire:1 \
		lose:EVAL/release:1 cut:EVAL/release:1; do
		ends_at "$rule"
	done
	cli acl setuser "$KEY" on '>secret' '~*' +@all
	RLOCKRUN_REDIS=unix://${KEY//:/%3a}:secret@$PWD/proxy/s
	for rule in lose:AUTH:1 cut:AUTH:1 hangup:AUTH:1; do
		ends_at "$rule"
	done
	cli acl deluser "$KEY"
}

@test "the connection ends while waiting, again and again: reported once" {
	cli set "$KEY" other
	through hangup:EVAL/acquire:2 cut:EVAL/acquire:3 lose:EVAL/acquire:4
	job
	passed EVAL/acquire 6
	(($(connections) == 4))
	cli del "$KEY"
	wait_for_file job
	ends_well
	[[ $(wc -l <"$ERR") == 2 && $(tail -n 1 "$ERR") == *": acquired after "* ]]
}

# The doubled reply of the grant, and what follows unasked, count for nothing.
@test "while holding: the connection ends, a reply is lost, doubled or unasked: renewed again" {
	through twice:EVAL/acquire:1 cut:EVAL/1:1 lose:EVAL/1:2 'also:EVAL/1:3:>2\r\n+message\r\n+hello' \
		twice:EVAL/1:4
	running
	says "renewed again"
	ends_well
	(($(connections) >= 4))
	grep -q 'cannot renew ' "$ERR"
}

@test "the connection ends at each release: a warning, the job's status" {
	through lose:EVAL/release
	running -t 3
	touch "done"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release"*": lost the connection to "* ]]
	wait_until is_free
}

# --- the other end is gone and says nothing --------------------------------------------

@test "S28: the first reply never comes: acquired on a second connection" {
	through drop:CLIENT:1
	run -7 rl --server-timeout 60 -n sh -c 'exit 7'
	(($(connections) == 2))
	[[ -z $(keys_left) ]]
}

@test "silence instead of the reply to a release: the job's status, freed, not lost" {
	local rule
	for rule in vanish:EVAL/release:1 drop:EVAL/release:1; do
		through
		ends_at "$rule"
		(($(connections) == 2))
		stop_proxy
	done
}

# --- too late --------------------------------------------------------------------------

@test "S30: a try that comes late plants nothing that its owner believes" {
	through stay:late:EVAL/acquire:1
	running -t 9
	(($(connections) == 2))
	[[ $(cli getdel "$KEY") == "$(<token)" ]]
	RLOCKRUN_REDIS=unix://$SUITE_DIR/s run -0 rl true
	[[ $(cli exists "$KEY") == 0 ]]
	touch proxy/late
	# The first try has arrived, and what it planted is not the job's token.
	passed EVAL/acquire 2
	exits_with 79 "$PID"
	wait_until none_left
}

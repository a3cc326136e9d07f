#!/usr/bin/env bats
# What an error of the server means to a lock that is acquired, held and released: a
# process for each way to take it. All errors in each state are rows of
# unit/errors_test.c. A proxy replies in place of the server; some real servers follow.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/faults

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# Who acquires gets ERROR once: `again` on the same connection, `anew` on another
# one, else the status with which it ends. What isn't to be tried again is asked once
# more with fewer keys.
acquiring() {
	local before status=$2
	before=$(connections)
	if [[ $2 == a* ]]; then
		rules "answer:EVAL/acquire:1:-$1"
		run -7 rl -n sh -c 'exit 7'
		[[ -z $output ]]
		[[ $2 == again ]] && before=$((before + 1)) || before=$((before + 2))
		[[ $(connections) == "$before" ]]
		status=69
	fi
	# As long as the server speaks so there is no lock, and no loop either.
	rules "answer:EVAL/acquire::-$1" "answer:EVAL/1::-$1"
	ends_unserved "$status" "${1%% *}"
	[[ $output == *"rlockrun: \"$KEY\""* && -z $(keys_left) ]]
	(($(grep -c '^answered EVAL/acquire' proxy/log) < 30))
}

# Who releases gets ERROR once: `again` and `anew` as above. Else a release with the lock's
# key alone follows, and if that gets ERROR, too, it is `told`.
releasing() {
	local before
	rules "answer:EVAL/release:1:-$1"
	running
	before=$(connections)
	[[ $2 != anew ]] || before=$((before + 1))
	if [[ $2 == told ]]; then
		ends_well
		[[ ! -s $ERR ]]
		rules "answer:EVAL/release::-$1" "answer:EVAL/1::-$1"
		running
		before=$((before + 1))
		touch "done"
		exits_with 7 "$PID"
		[[ $(<"$ERR") == "rlockrun: \"$KEY\": cannot confirm the release, the lock may last for its ttl: error from unix://$PWD/proxy/s: "*"$1"* ]]
		[[ $(cli del "$KEY") == 1 ]]
	else
		ends_well
		[[ ! -s $ERR ]]
	fi
	[[ $(connections) == "$before" ]]
}

@test "an error in place of the grant, or of the reply to a release" {
	local acquiring releasing error
	through
	while read -r acquiring releasing error; do
		acquiring "$error" "$acquiring"
		releasing "$error" "$releasing"
	done <<-END
		again again LOADING Redis is loading the dataset in memory
		anew anew READONLY You can't write against a read only replica.
		76 told WRONGTYPE Operation against a key holding the wrong kind of value
		77 told NOPERM this user has no permissions to run the 'eval' command
		69 told ERR the moon is full
	END
}

# NOSCRIPT: see lock/digests.bats.

# is_lost PID NAME WHY
is_lost() {
	exits_with 79 "$1"
	grep -q "^rlockrun: \"$2\" was lost: $3; stopping the job" err.*
}

@test "a renewal that finds no key, or something else: the job is stopped, 79" {
	local taken name=$KEY
	running -t 9
	taken=$PID
	KEY+=:other
	through "answer:EVAL/1:1:-WRONGTYPE a list"
	running -t 9
	[[ $(cli del "$name") == 1 ]]
	is_lost "$taken" "$name" 'its key was taken away or has expired'
	is_lost "$PID" "$KEY" 'its key holds something else now'
	gone "$(<job)"
	cli del "$KEY"
}

# --- the same from real servers ---------------------------------------------------

@test "S50: an outer run leaves the lock of a replica to a nested one once it is none" {
	own_server
	through
	start "$RLOCKRUN" -t 600 -k "$KEY" sh -c 'setsid "$RLOCKRUN" -k "$KEY" "$0" in=%p until:in.go \
			</dev/null >/dev/null 2>nested.err &
		exec "$0" until:done' "$A_JOB"
	wait_for_file in
	cli replicaof 127.0.0.1 1
	touch "done"
	passed EVAL/release 2
	cli replicaof no one
	exits_with 0 "$PID"
	is_held
	touch in.go
	wait_until is_free
	[[ ! -s $ERR && ! -s nested.err ]]
}

is_busy() {
	[[ $(cli get "$KEY" 2>&1) == BUSY* ]]
}

# A script that does not end, from when on there is no other reply than BUSY.
keep_busy() {
	start redis-cli -s "$SUITE_DIR/s" eval 'while true do end' 0
	wait_until is_busy
}

@test "a real server that is busy with a script at the release: the lock is freed then" {
	own_server --busy-reply-threshold 50
	running
	keep_busy
	ERR=err.1
	touch "done"
	wait_until gone "$(<job)"
	run -1 gone "${STARTED[0]}"
	cli script kill
	ends_well "${STARTED[0]}"
	[[ ! -s err.1 ]]
}

#!/usr/bin/env bats
# The lease: that no job outlives it, whatever dies, hangs or pauses, and that
# the exit status tells when it was lost.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	write_work
}
teardown() { end_test; }

# work NAME: a job that finds out whether another one runs beside it; until file `done`
# is there. Its id is in NAME.pid, its fence in NAME.fence. Nothing but KILL ends it.
write_work() {
	cat >work <<-END
		exec "$A_JOB" ignore:TERM alone:overlaps "\$1.fence=%{RLOCKRUN_FENCE}" "\$1.pid=%p" until:done
	END
}

# job_of NAME [OPTION...]: starts a rlockrun that runs it.
job_of() {
	start "$RLOCKRUN" -k "$KEY" "${@:2}" -- sh ./work "$1"
}

# --- the key is taken away ------------------------------------------------

@test "S3: an overwritten key is left alone, and the holder exits 79" {
	hold
	cli set "$KEY" other PX 60000
	touch "done"
	exits_with 79 "$PID"
	[[ $(cli get "$KEY") == other ]]
	# A slow server may be too late for the record of the run, which is said, too.
	[[ $(head -n 1 "$ERR") == "rlockrun: \"$KEY\" was lost: another client removed it while the job ran" ]]
}

# bats test_tags=smoke
@test "S4: a key that is gone is not planted again; the job is stopped" {
	hold -t 9
	[[ $(cli del "$KEY") == 1 ]]
	run -0 rl -n true
	[[ $(cli exists "$KEY") == 0 ]]
	exits_with 79 "$PID"
	wait_until gone "$(<job)"
	[[ -z $(keys_left) ]]
}

# --- the server is away -----------------------------------------------------

@test "S5: server frozen, job ignores TERM: dead when the lease ends, no overlap" {
	own_server
	job_of A -t 3
	holder=$PID
	wait_for_file A.pid
	freeze
	job_of B --server-timeout 60
	wait_until gone "$(<A.pid)"
	thaw
	wait_for_file B.pid
	[[ ! -e overlaps ]]
	exits_with 79 "$holder"
	touch "done"
	exits_with 0 "$PID"
}

# After a third of the lease the first one asks, after another quarter the second.
@test "L13: a renewal's reply is held back: a second connection asks, nothing is lost" {
	start_proxy slow until:go:EVAL/1:1
	hold
	wait_for_file slow/go.held
	cli pexpire "$KEY" 18000
	has_connections() { (($(cli client list | grep -c "name=rlockrun:$PID ") == $1)); }
	wait_until left_above 20000
	has_connections 2
	touch slow/go
	wait_until has_connections 1
	touch "done"
	exits_with 0 "$PID"
	run -1 grep lost "$ERR"
	[[ -z $(keys_left) ]]
}

# bats test_tags=smoke
@test "a server that is frozen when the job ends: a warning, the job's status" {
	own_server
	start "$RLOCKRUN" -k "$KEY" -t 3 "$A_JOB" job=%p until:done exit:7
	wait_for_file job
	freeze
	touch "done"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release"* ]]
	thaw
	run -0 rl -n true
}

# --- rlockrun is stopped or killed --------------------------------------------

@test "S6: rlockrun stopped past its lease: the job is dead, the next runs" {
	job_of A -t 3
	holder=$PID
	wait_for_file A.pid
	job_of B
	wait_for_file "$ERR"
	kill -STOP "$holder"
	wait_until gone "$(<A.pid)"
	wait_for_file B.pid
	kill -CONT "$holder"
	exits_with 79 "$holder"
	[[ ! -e overlaps ]]
	(($(<B.fence) > $(<A.fence)))
	touch "done"
	exits_with 0 "$PID"
}

@test "S7: rlockrun stopped for less than its lease: a warning only" {
	# It is late for what is due after a second by a fifth of the ttl.
	hold --warn-after 1
	kill -STOP "$PID"
	wait_until left_below 22500
	kill -CONT "$PID"
	wait_for_file "$ERR"
	touch "done"
	exits_with 0 "$PID"
	grep -q "rlockrun was paused for at least [0-9.]* s" "$ERR"
	run -1 grep lost "$ERR"
}

@test "L1: kill -9 of the holder: its whole job is gone before the next starts" {
	start "$RLOCKRUN" -k "$KEY" -- bash -c 'sh ./work A1 & timeout 60 sh ./work A2 & setsid sh ./work A3 & wait'
	holder=$PID
	for name in A1 A2 A3; do
		wait_for_file $name.pid
	done
	rm overlaps # they are one job
	job_of B
	wait_for_file "$ERR"
	kill -KILL "$holder"
	for name in A1 A2 A3; do
		wait_until gone "$(<$name.pid)"
	done
	is_held
	end_lease
	wait_for_file B.pid
	[[ ! -e overlaps ]]
	touch "done"
	exits_with 0 "$PID"
}

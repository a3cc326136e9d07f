#!/usr/bin/env bats
# The lease: that no job outlives it, whatever dies, hangs or pauses, and that
# the exit status tells when it was lost.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/clock

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

@test "S3: a renewal finds that the key is another's: 79, whatever the job does" {
	local job kind runs=()
	for kind in set list success stubborn warn; do
		KEY+=:$kind
		job=("$A_JOB" "$kind.job=%p" until:done)
		case $kind in
		stubborn) job=("$A_JOB" ignore:TERM "$kind.job=%p" until:never) ;;
		success) job=(sh -c 'trap "exit 0" TERM; "$0" success.job=%p until:never & wait; wait' "$A_JOB") ;;
		warn) job+=(exit:0) ;;
		esac
		start "$RLOCKRUN" -k "$KEY" -t 9 --on-lost "$([[ $kind == warn ]] && echo warn || echo stop)" -- "${job[@]}"
		runs+=("$PID")
		wait_for_file "$kind.job"
		cli del "$KEY" >/dev/null
		[[ $kind != list ]] || cli rpush "$KEY" a >/dev/null
		[[ $kind == @(list|warn) ]] || cli set "$KEY" other PX 60000 >/dev/null
		KEY=${KEY%":$kind"}
	done
	wait_until grep -q "was lost: .*; the job continues without it" err.5
	run -1 gone "$(<warn.job)"
	for kind in 0 1 2 3; do
		exits_with 79 "${runs[kind]}"
	done
	touch "done"
	exits_with 79 "${runs[4]}"
	for kind in set list success stubborn; do
		gone "$(<$kind.job)"
	done
	[[ $(cli get "$KEY:set") == other && $(cli lrange "$KEY:list" 0 -1) == a ]]
	grep -q "\"$KEY:set\" was lost: .*; stopping the job$" err.1
	grep -q "holds something else now; stopping the job$" err.2
	for kind in 1 2 3 4 5; do
		[[ $(grep -cE ' was lost: | holds something else' "err.$kind") == 1 ]]
	done
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

# bats test_tags=night
@test "--on-lost warn: the end of the lease doesn't stop the job either" {
	own_server
	hold -t 1 --on-lost=warn
	freeze
	wait_until grep -q "cannot renew" "$ERR"
	sleep 1.2
	run -1 gone "$(<job)"
	thaw
	wait_until grep -q "was lost" "$ERR"
	run -1 gone "$(<job)"
	touch "done"
	exits_with 79 "$PID"
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

# bats test_tags=night
@test "a server that is back between TERM and KILL: the job is killed, 79" {
	own_server
	job_of A -t 3 --kill-after 1
	wait_for_file A.pid
	freeze
	wait_until grep -q "is being lost" "$ERR"
	thaw
	exits_with_soon 79 "$PID"
	gone "$(<A.pid)"
	flock -n witness true
	[[ -z $(keys_left) ]]
}

# One that should have been killed may live for ever.
exits_with_soon() {
	wait_until gone "$2"
	exits_with "$@"
}

# bats test_tags=night
@test "a server that is gone when the job ends: a warning, the job's status" {
	own_server
	start "$RLOCKRUN" -k "$KEY" -t 3 "$A_JOB" job=%p until:done exit:7
	wait_for_file job
	stop_server "$SUITE_DIR"
	touch "done"
	exits_with 7 "$PID"
	[[ $(tail -n 1 "$ERR") == *": cannot confirm the release, the lock may last for its ttl: "* ]]
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

# bats test_tags=smoke
@test "a connection that was cut is opened anew for the release" {
	own_server
	hold
	cli client kill type normal skipme yes
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

# bats test_tags=night
@test "refused while holding: the password may come back before the lease ends" {
	own_server
	cli acl setuser job on '>secret' '~*' +@all
	export RLOCKRUN_REDIS=unix://job:secret@$SUITE_DIR/s
	hold -t 3
	wait_until left_above 2900
	cli acl setuser job off
	cli client kill user job
	wait_until grep -q "cannot renew" "$ERR"
	cli acl setuser job on
	wait_until grep -q "renewed again" "$ERR"
	touch "done"
	exits_with 0 "$PID"
}

# --- the server is full, or its clock is stepped -------------------------------

@test "the clock of the server is stepped forward: the lock ends too soon, 79" {
	own_clock
	hold -t 9
	local holder=$PID
	run -75 rl -n true
	step_clock 3600
	run -0 rl -n true
	exits_with 79 "$holder"
	grep -q "was lost: .*; stopping the job" "$ERR"
	gone "$(<job)"
	[[ -z $(keys_left) ]]
}

# Each is an EVAL: scripts that the server knows are sent by their digests, but for those.
has_renewed() { (($(renewals) > $1)); }
renewals() { cli info commandstats | awk -F '[=,]' '/^cmdstat_eval:/ { n = $2 } END { print n + 0 }'; }

# bats test_tags=night
@test "the clock of the server is stepped back: renewed and freed; a lock that nobody frees lasts longer" {
	own_clock
	hold
	step_clock -3600
	wait_until left_above 3600000
	calls=$(renewals)
	wait_until has_renewed "$calls"
	run -75 rl -n true
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
	rm job "done"
	hold
	kill -KILL "$PID"
	step_clock -7200
	wait_until left_above 3600000
	cli del "$KEY" "{$KEY}:rlk:i"
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

# bats test_tags=night
@test "a lease that ran out before the release was sent leaves no record" {
	hold -t 3
	kill -STOP "$PID"
	touch "done"
	wait_until gone "$(<job)"
	wait_until is_free
	kill -CONT "$PID"
	wait_until gone "$PID"
	[[ -z $(keys_left) ]]
}

#!/usr/bin/env bats
# The descriptors of the caller from 3 up: rlockrun keeps them as long as the job
# runs, as flock(1) and tini(1) do, and no longer. Those that systemd passes are the
# job's, and so are its variables.
# shellcheck disable=SC2016 # the jobs expand that

load ../helpers/suite
load ../helpers/faults

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# with_file FILE COMMAND...: in the background, FILE as descriptor 7.
with_file() { start sh -c 'file=$1; shift; exec "$@" 7<>"$file"' sh "$@"; }

@test "P7: a reader of the job's descriptor sees its end before the release is answered" {
	own_server
	mkfifo third
	start sh -c 'exec "$@" 7>third' sh "$RLOCKRUN" -k "$KEY" -- \
		"$A_JOB" ready=%p until:done exit:4
	exec {reader}<third
	wait_for_file ready
	freeze
	touch ./done
	run ! read -rt "$WAIT_SECONDS" -u "$reader" _
	[[ $status == 1 ]]
	run ! gone "$PID"
	thaw
	exits_with 4 "$PID"
}

# A sudo closes all from 3 up.
@test "a lock of flock(1) on a descriptor is kept until a job that closes it ends" {
	with_file local sh -c 'flock -n 7 && exec "$@"' sh "$RLOCKRUN" -k "$KEY" -- \
		sh -c 'exec 7>&-; echo >ready; until [ -e done ]; do sleep 0.02; done'
	wait_for_file ready
	run ! flock -n local true
	touch ./done
	exits_with 0 "$PID"
	flock -n local true
}

@test "a password file on a descriptor is read again for the release" {
	cli acl setuser "$KEY" on '>secret' '~*' '&*' +@all
	(umask 077 && echo secret >password)
	through
	with_file password "$RLOCKRUN" -k "$KEY" --user "$KEY" --password-file /dev/fd/7 \
		-- sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done; exit 7'
	wait_for_file job
	rules cut:EVAL:1
	touch ./done
	exits_with 7 "$PID"
	[[ ! -s $ERR ]] || { cat "$ERR" && false; }
	cli acl deluser "$KEY"
	is_free
}

# --- sockets and the watchdog of systemd --------------------------------------

PRINT='echo $(($$ == LISTEN_PID)) $(($$ == WATCHDOG_PID)) $LISTEN_FDS ${LISTEN_PIDFDID-none}'

@test "LISTEN_PID and WATCHDOG_PID that name rlockrun name the job" {
	run -0 sh -c 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_PIDFDID=7 WATCHDOG_PID=$$ exec "$@" 3</dev/null' sh \
		"$RLOCKRUN" -k "$KEY" -- sh -c "$PRINT"
	[[ $output == '1 1 1 none' ]]
	printf '#!/bin/sh\n%s\n' "$PRINT" >script
	chmod +x script
	run -0 sh -c 'WATCHDOG_PID=$$ LISTEN_PIDFDID=7 exec "$@"' sh "$RLOCKRUN" -k "$KEY" -- ./script
	[[ $output == '0 1 7' ]]
}

@test "a server that systemd gives its socket to is served through rlockrun" {
	command -v systemd-socket-activate >/dev/null || skip 'systemd-socket-activate is not installed'
	start systemd-socket-activate -l "$PWD/socket" "-ERLOCKRUN_REDIS=$RLOCKRUN_REDIS" \
		"$RLOCKRUN" -k "$KEY" -- python3 -S -c '
import os, socket
assert int(os.environ["LISTEN_PID"]) == os.getpid()
client, _ = socket.socket(fileno=3).accept()
client.sendall(b"served\n")'
	wait_until test -S socket
	run -0 timeout "$WAIT_SECONDS" socat -u UNIX-CONNECT:socket -
	[[ $output == served ]]
	exits_with 0 "$PID"
}

#!/usr/bin/env bats
# --hook: which events run it, what it is given, and that it never delays, harms or
# outlives a run.
# shellcheck disable=SC1010,SC2016,SC2154 # the hooks expand it; `run` sets stderr

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	LOG=$PWD/log
	# One line for each event.
	NOTE="echo \"\$RLOCKRUN_EVENT \$RLOCKRUN_STATUS \$RLOCKRUN_REASON\" >>'$LOG'"
}
teardown() { end_test; }

# The events so far, on one line.
events() { paste -sd , "$LOG" | sed 's/ *,/,/g; s/ *$//'; }

has_event() { grep -q "^$1 " "$LOG" 2>/dev/null; }

# find_runner: of this test's only rlockrun with hooks, into RUNNER.
find_runner() {
	local pid name
	RUNNER=
	for pid in $(live_in "$PWD"); do
		{ read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
		[[ $name != rlockrun-hooks ]] || RUNNER=$pid
	done
	[[ $RUNNER ]]
}

# Their end: a hook may be stubborn.
none_below() { ! find_runner && [[ -z $(live_in "$PWD/below") ]]; }

# --- events -----------------------------------------------------------------

@test "hook: a run that succeeds, and one that fails" {
	run -0 --separate-stderr rl --hook "$NOTE" true
	[[ -z $stderr && $(events) == 'acquired,released 0 job_ended' ]]
	rm log
	run -3 --separate-stderr rl --hook "$NOTE" sh -c 'exit 3'
	[[ -z $stderr && $(events) == 'acquired,released 3 job_ended,failed 3 job_ended' ]]
	rm log
	run -127 rl --hook "$NOTE" "$PWD/nothing"
	[[ $(events) == 'failed 127 no_command' ]]
}

# note NAME: a hook that says that it is this one.
note() { echo "echo \"$1 \$RLOCKRUN_EVENT\" >>'$LOG'"; }

@test "hook: several, each for its events, in the order given" {
	run -3 --separate-stderr rl --hook "$(note A)" --hook "failed,lost=$(note B)" --hook "busy=$(note C)" \
		--hook "released,failed=$(note D)" sh -c 'exit 3'
	[[ -z $stderr && $(events) == 'A acquired,A released,D released,A failed,B failed,D failed' ]]
	rm log
	hold
	run -75 rl -n --hook "lost=$(note B)" --hook "waiting,busy=$(note C)" true
	touch "done"
	exits_with 0 "$PID"
	[[ $(events) == 'C busy' ]]
	rm log
	# One that is slow does not keep others from running, nor is one lost that fails.
	run -0 rl --hook 'acquired=exit 9' --hook "all=$(note E)" true
	[[ $(events) == 'E acquired,E released' ]]
}

@test "hook: busy, and waiting once" {
	hold
	run -75 rl -n --hook "$NOTE; echo \"\$RLOCKRUN_HOLDER/\$RLOCKRUN_MESSAGE\" >>text" true
	[[ $(events) == 'busy 75 busy' ]]
	[[ $(<text) == "$(hostname) (pid "*") since "*"/\"$KEY\" is held by $(hostname) "*"; command not started" ]]
	rm log
	start "$RLOCKRUN" -k "$KEY" -w 20 --hook "$NOTE" true
	wait_until has_event waiting
	touch done
	exits_with 0 "$PID"
	[[ $(events) == 'waiting,acquired,released 0 job_ended' ]]
	rm log done job
	hold
	run -9 rl -w 0.2 -E 9 --hook "$NOTE" true
	[[ $(events) == 'waiting,busy 9 wait_over' ]]
	touch done
}

@test "hook: slow, and a lock that is lost is neither released nor failed" {
	start "$RLOCKRUN" -k "$KEY" -t 9 --warn-after 0.1 --hook "$NOTE" -- sleep 60
	wait_until has_event slow
	cli del "$KEY" >/dev/null
	exits_with 79 "$PID"
	[[ $(events) == 'acquired,slow,lost 79 lost' ]]
}

@test "hook: losing, when the server is silent, and then lost" {
	own_server
	start "$RLOCKRUN" -k "$KEY" -t 4 --hook "$NOTE" -- sleep 60
	wait_until has_event acquired
	freeze
	exits_with 79 "$PID"
	thaw
	[[ $(events) == 'acquired,losing,lost 79 not_renewed' ]]
}

@test "hook: a signal to a waiter, and to a job" {
	hold
	# A waiter dies at once: its hooks go on.
	start env --default-signal "$RLOCKRUN" -k "$KEY" --hook "$NOTE; echo \"\$RLOCKRUN_MESSAGE\" >text; [ \$RLOCKRUN_EVENT != failed ] || until [ -e dead ]; do sleep 0.02; done; echo >after" true
	wait_until has_event waiting
	kill -TERM "$PID"
	exits_with 143 "$PID"
	rm -f after
	touch dead
	wait_for_file after
	wait_until none_below
	[[ $(events) == 'waiting,failed 143 signal' ]]
	[[ $(<text) == "\"$KEY\": ended with status 143 (signal 15), reason signal" ]]
	touch done
	exits_with 0 "${STARTED[0]}"
	rm log
	run -137 rl --hook "$NOTE; echo \"\$RLOCKRUN_MESSAGE\" >text" sh -c 'kill -KILL $$'
	[[ $(events) == 'acquired,released 137 job_ended,failed 137 job_ended' ]]
	[[ $(<text) == "\"$KEY\": the job ended with status 137 (signal 9)" ]]
}

@test "hook: none for a run that is not due, without the lock, or with 'none'" {
	run -0 rl --once-per 1h true
	run -75 rl --once-per 1h --hook "$NOTE" true
	run -0 rl -r "unix://$PWD/nothing" --server-timeout 0.1 --on-unavailable run --hook "$NOTE" true
	export RLOCKRUN_HOOK=$NOTE
	run -0 rl --hook none true
	run -0 rl --hook '' true
	run -0 "$RLOCKRUN" --status -k "$KEY"
	[[ ! -e log ]]
	run -0 rl true
	[[ $(events) == 'acquired,released 0 job_ended' ]]
}

@test "hook: with several locks one event for all, one line for each" {
	run -0 rl -k "$KEY:b" --hook "$NOTE; echo \"\$RLOCKRUN_KEY/\$RLOCKRUN_FENCE/\$RLOCKRUN_SHORT_TOKEN\" >text" true
	[[ $(events) == 'acquired,released 0 job_ended' ]]
	[[ $(<text) == "$KEY"$'\n'"$KEY:b/"+([0-9])$'\n'+([0-9])/+([0-9a-f])$'\n'+([0-9a-f]) ]]
}

@test "hook: a nested run neither acquires nor releases" {
	run -3 rl --hook "$NOTE" "$RLOCKRUN" -k "$KEY" --hook "${NOTE/"$LOG"/"$PWD/inner"}" sh -c 'exit 3'
	[[ $(events) == 'acquired,released 3 job_ended,failed 3 job_ended' ]]
	[[ $(<inner) == 'failed 3 job_ended' ]]
}

# --- what it is given -------------------------------------------------------

@test "hook: its variables, none of them secret" {
	own_server --requirepass s3cr3t
	RLOCKRUN_REDIS=${RLOCKRUN_REDIS/unix:\/\//unix://:s3cr3t@} RLOCKRUN_HELD=x:old:old \
		RLOCKRUN_TTL_MS=old RLOCKRUN_STATUS=old RLOCKRUN_SENTINEL_PASSWORD=s3cr3t \
		run -0 rl --label 'a "b"' --hook 'env >env.$RLOCKRUN_EVENT; cat /proc/$PPID/environ >>all' \
		sh -c 'echo $RLOCKRUN_TOKEN $RLOCKRUN_FENCE >job'
	local token fence
	read -r token fence <job
	run ! grep -q s3cr3t env.* all
	run ! grep -qF "$token" env.*
	grep ^RLOCKRUN_ env.acquired
	[[ $(grep -c ^RLOCKRUN_ env.acquired) == 15 ]] # and RLOCKRUN_REDIS, RLOCKRUN_CONFIG
	grep -qx "RLOCKRUN_KEY=$KEY" env.acquired
	grep -qx "RLOCKRUN_SHORT_TOKEN=${token:0:8}" env.acquired
	grep -qx "RLOCKRUN_FENCE=$fence" env.acquired
	grep -qx 'RLOCKRUN_SERVER=unix://.*/s' env.acquired
	grep -qx 'RLOCKRUN_LABEL=a "b"' env.acquired
	grep -qx 'RLOCKRUN_STATUS=' env.acquired
	grep -qx 'RLOCKRUN_STATUS=0' env.released
	grep -qxE 'RLOCKRUN_WAITED_MS=[0-9]+' env.released
	grep -qxE 'RLOCKRUN_HELD_MS=[0-9]+' env.released
	grep -qx "RLOCKRUN_MESSAGE=\"$KEY\": released" env.released
	run ! grep -E '^RLOCKRUN_(TOKEN|HELD|TTL_MS)=' env.released
}

# bats test_tags=night
@test "hook: names of 1 kB, with newlines and quotes" {
	local name="$KEY"$'\n'"\"'\$(touch ran)\`;"
	name+=$(printf %0900d 0)
	run -0 rl --hook 'printf %s "$RLOCKRUN_KEY" >name' -k "$(printf %01000d 1)" true
	name=${name:0:1000}
	run -0 "$RLOCKRUN" -k "$name" --hook 'printf %s "$RLOCKRUN_KEY" >name; printf "%s\n" "$RLOCKRUN_MESSAGE" >text' true
	[[ $(<name) == "$name" && $(wc -l <text) == 1 && ! -e ran ]]
}

@test "hook: a session and descriptors of its own, signals by default" {
	exec 7>leak
	run -0 --separate-stderr env --ignore-signal=HUP,PIPE timeout -k 1 30 "$RLOCKRUN" -k "$KEY" \
		--hook 'exec 9>&2 2>/dev/null; ls -l /proc/self/fd >fds; cat /proc/self/stat >stat
			sed -n "s/^Sig\(Blk\|Ign\):.*\(....\)$/\1\2/p" /proc/self/status >signals; echo said >&9' cat <<<input
	exec 7>&-
	[[ $output == input && $stderr == said$'\n'said ]]
	[[ $(grep -c -- '[012] -> /dev/null$' fds) == 2 ]] # ls has its stdout in a file
	run ! grep -q 'leak\|socket\|signalfd' fds
	# Its shell leads the session.
	[[ $(cut -d' ' -f4 stat) == "$(cut -d' ' -f6 stat)" ]]
	[[ $(<signals) == Blk0000$'\n'Ign0000 ]]
	# Also where our stderr is closed they have one.
	"$RLOCKRUN" -k "$KEY" --hook 'readlink /proc/$$/fd/2 >>where' true 2>&-
	[[ $(<where) == /dev/null$'\n'/dev/null ]]
}

@test "hook: the job is the same with and without" {
	local look='env | grep -v ^RLOCKRUN_TOKEN= | grep -v ^RLOCKRUN_FENCE= | grep -v ^RLOCKRUN_HELD=; ls /proc/$$/fd; grep "^Sig[BIC]" /proc/self/status; cut -d" " -f 5 /proc/$$/stat | grep -c "^$$\$"; :'
	run -0 rl sh -c "$look"
	printf '%s\n' "$output" >without
	run -0 rl --hook true sh -c "$look"
	printf '%s\n' "$output" | diff without -
}

@test "hook: a rlockrun that it starts runs no hooks and is not nested" {
	export RLOCKRUN_HOOK="$NOTE; '$RLOCKRUN' -vk other:$KEY true 2>>err; echo \$? >>status"
	run -0 rl true
	[[ $(events) == 'acquired,released 0 job_ended' && $(<status) == 0$'\n'0 ]]
	run ! grep -E 'variable|joined' err
	# The lock itself is held under the hook of its acquisition.
	RLOCKRUN_HOOK='[ $RLOCKRUN_EVENT != acquired ] || '"'$RLOCKRUN' -nqE 9 -k $KEY true || echo \$? >held"
	run -0 rl sh -c 'until [ -e held ]; do sleep 0.02; done'
	[[ $(<held) == 9 ]]
}

# --- bad ones ---------------------------------------------------------------

@test "hook: one that fails or does not exist is reported and changes nothing" {
	run -3 --separate-stderr rl --hook 'case $RLOCKRUN_EVENT in acquired) exit 5;; released) kill -9 $$;; *) "$PWD"/nothing 2>/dev/null;; esac' sh -c 'exit 3'
	[[ $stderr == 'rlockrun: the hook for acquired ended with status 5
rlockrun: the hook for released was ended by signal 9
rlockrun: the hook for failed ended with status 127' ]]
}

@test "hook: a full disk and a denied one are reported and change nothing" {
	: >denied
	run -3 --separate-stderr rl --hook 'acquired=exec 2>&-; printf x >/dev/full' \
		--hook "released=exec 2>&-; $PWD/denied" sh -c 'exit 3'
	[[ $stderr == 'rlockrun: the hook for acquired ended with status '[12]'
rlockrun: the hook for released ended with status 126' ]]
}

@test "S47: hook: one that hangs delays neither job nor release, and then makes way" {
	mkdir below
	# A tree that ignores TERM, with a session of its own.
	start env --default-signal "$RLOCKRUN" -k "$KEY" --hook "$NOTE
		cd below; trap '' TERM HUP; (setsid sh -c 'sleep 60; :' & sleep 61; :) & sleep 62; :" sh -c 'exit 3'
	wait_until has_event acquired
	wait_until is_free
	# It still waits, for 3 s and then for what is left of 5 s.
	is_running "$PID"
	exits_with 3 "$PID"
	none_below
	[[ $(events) == 'acquired,released 3 job_ended' ]]
	[[ $(<"$ERR") == 'rlockrun: the hook for acquired took too long and was killed
rlockrun: the hook for released took too long and was killed
rlockrun: 1 hook was not run' ]]
}

@test "hook: what it leaves in the background is waited for" {
	run -0 rl --hook '(until [ -e after ]; do sleep 0.02; done; echo $RLOCKRUN_EVENT >>log) & [ $RLOCKRUN_EVENT = acquired ] || touch after' true
	[[ $(sort log) == acquired$'\n'released ]]
}

@test "hook: a signal ends the wait, the status stays, and the hook goes on" {
	start env --default-signal "$RLOCKRUN" -k "$KEY" --hook "$NOTE; [ \$RLOCKRUN_EVENT != released ] || until [ -e done ]; do sleep 0.02; done; echo >after" sh -c 'exit 3'
	wait_until has_event released
	kill -HUP "$PID"
	exits_with 3 "$PID"
	find_runner
	touch done
	wait_until none_below
	[[ -e after && $(events) == *'failed 3 job_ended' ]]
}

@test "hook: kill -9 of rlockrun ends an idle runner" {
	start "$RLOCKRUN" -k "$KEY" --hook "$NOTE" -- sh -c 'echo >job; exec sleep 60'
	wait_until has_event acquired
	wait_for_file job
	kill -KILL "$PID"
	wait_until none_below
	cli del "$KEY" >/dev/null
}

# bats test_tags=night
@test "hook: kill -9 of rlockrun ends its hooks after a while" {
	mkdir below
	start "$RLOCKRUN" -k "$KEY" --hook "$NOTE; cd below; setsid -f sleep 60" -- sleep 60
	wait_until has_event acquired
	kill -KILL "$PID"
	wait_until none_below
	[[ $(<"$ERR") == 'rlockrun: hooks left processes running, which are killed' ]]
	cli del "$KEY" >/dev/null
}

# bats test_tags=native
@test "hook: none without /proc, which is said, and a hold needs none" {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	run -0 --separate-stderr unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" --hold 1m --hook "$NOTE"
	[[ $stderr == 'rlockrun: cannot run hooks: /proc is not mounted'* && ! -e log ]]
	cli del "$KEY" >/dev/null
}

# without_first_fork COMMAND...: where that fails.
without_first_fork() {
	strace -qq -o /dev/null -e trace=clone,clone3,fork \
		-e inject=all:error=EAGAIN:when=1 "$@"
}

# bats test_tags=native
@test "S34: a hook that cannot be had ends no run that was not asked for it" {
	need_strace
	run -71 --separate-stderr without_first_fork "$RLOCKRUN" -k "$KEY" --hook "$NOTE" true
	[[ $stderr == 'rlockrun: cannot run hooks: Resource temporarily unavailable; command not started' ]]
	export RLOCKRUN_HOOK=$NOTE
	for quiet in -q ''; do
		# shellcheck disable=SC2086 # no option is no word
		run -3 --separate-stderr without_first_fork "$RLOCKRUN" $quiet -k "$KEY" sh -c 'exit 3'
		[[ $stderr == 'rlockrun: cannot run hooks: Resource temporarily unavailable' ]]
	done
	[[ ! -e log ]]
}

@test "S47: hook: a runner that was killed is reported once" {
	start "$RLOCKRUN" -k "$KEY" --hook "$NOTE" -- "$A_JOB" until:done exit:3
	wait_until has_event acquired
	find_runner
	kill -KILL "$RUNNER"
	wait_until gone "$RUNNER"
	touch done
	exits_with 3 "$PID"
	[[ $(events) == acquired ]]
	[[ $(<"$ERR") == 'rlockrun: the hook runner has ended; no more hooks are run' ]]
}

# A job that ends with 3, and frees its lock, while the RUNNER is stopped.
end_with_stopped_runner() {
	start "$RLOCKRUN" -k "$KEY" --hook "$NOTE" -- "$A_JOB" until:done exit:3
	wait_until has_event acquired
	find_runner
	kill -STOP "$RUNNER"
	wait_until is_stopped "$RUNNER"
	touch done
	wait_until is_free
}

# bats test_tags=night
@test "S47: hook: a runner that is stopped delays rlockrun for 6 s at most" {
	end_with_stopped_runner
	exits_with 3 "$PID"
	wait_until none_below
	[[ $(<"$ERR") == 'rlockrun: the hook runner does not end; killing all hooks'* ]]
}

# --- where rlockrun is the parent of all ------------------------------------

# as_subreaper COMMAND...: that the runner belongs to, as to PID 1 of a container.
as_subreaper() {
	start /usr/bin/python3 -c 'import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

@test "hook: rlockrun as the parent of the runner" {
	as_subreaper "$RLOCKRUN" -k "$KEY" --hook "$NOTE; setsid -f true" -- "$A_JOB" until:done exit:3
	wait_until has_event acquired
	find_runner
	is_child_of "$RUNNER" "$PID"
	touch done
	exits_with 3 "$PID"
	[[ $(events) == 'acquired,released 3 job_ended,failed 3 job_ended' && ! -s $ERR ]]
}

# bats test_tags=night
@test "hook: no proof then that the job of a dead guard has ended" {
	as_subreaper "$RLOCKRUN" -k "$KEY" -t 9 --hook "$NOTE" -- sh -c 'echo $$ >job; exec sleep 60'
	wait_for_file job
	wait_until has_event acquired
	find_guard "$PID"
	kill -KILL "$GUARD"
	exits_with 71 "$PID"
	gone "$(<job)"
	grep -q 'cannot prove that the job has ended' "$ERR"
	[[ $(events) == 'acquired,failed 71 unkillable' ]]
	wait_until is_free
}

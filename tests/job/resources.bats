#!/usr/bin/env bats
# bats file_tags=native
# Out of something: the status is 71, no job runs unguarded, the lock is freed.
# shellcheck disable=SC2016  # what is in single quotes, the jobs expand
load ../helpers/suite

setup_file() { start_suite_server --unixsocketperm 777; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- descriptors ------------------------------------------------------------

@test "out of descriptors: 71 and no job, or the job as always" {
	local limit code ran=0 refused=0
	for limit in {4..16}; do
		rm -f ran
		code=0
		(
			exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
			ulimit -n "$limit"
			exec "$RLOCKRUN" -k "$KEY" --server-timeout 3 -- /bin/sh -c 'touch ran; exit 5'
		) 2>err || code=$?
		echo "$limit: $code $(<err)"
		[[ $code == 71 || $code == 5 ]]
		if [[ $code == 71 ]]; then
			[[ ! -e ran && -s err ]]
			refused=1
		else
			[[ -e ran ]]
			ran=1
		fi
		is_free
	done
	((ran && refused))
}

@test "out of descriptors: metrics of the environment end no run" {
	local limit
	for limit in {4..16}; do
		(
			exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
			ulimit -n "$limit"
			RLOCKRUN_METRICS=$PWD exec "$RLOCKRUN" -k "$KEY" --server-timeout 3 -- /bin/true
		) 2>err || true
		echo "$limit: $(<err)"
		run ! grep 'cannot write metrics.*command not started' err
	done
}

# A job that takes no descriptor to speak of: a shell would need one above 10.
FRUGAL='import os, time
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(60)
open("guard", "w").write(str(os.getppid()))
open("child", "w").write(str(child))
open("ready", "w").write(str(os.getpid()))
time.sleep(60)'

# With the fewest descriptors with which rlockrun starts that job; PID is its pid.
start_frugally() {
	local limit
	for limit in {8..20}; do
		start bash -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
			ulimit -n "$0"
			exec "$@"' "$limit" "$RLOCKRUN" -k "$KEY" -- /usr/bin/python3 -S -c "$FRUGAL"
		wait_until ready_or_gone "$PID"
		[[ ! -s ready ]] || return 0
	done
	return 1
}

ready_or_gone() { [[ -s ready ]] || gone "$1"; }

@test "the fewest descriptors that do are enough to end the job when the guard is killed" {
	start_frugally
	kill -KILL "$(<guard)"
	exits_with 71 "$PID"
	gone "$(<ready)"
	gone "$(<child)"
	is_free
}

@test "the fewest descriptors that do are enough to end the job when rlockrun is killed" {
	start_frugally
	kill -KILL "$PID"
	wait_until gone "$(<ready)"
	wait_until gone "$(<child)"
}

# limit_descriptors PID ROOM: it can open only so many more.
limit_descriptors() {
	local limit=0 room=$2
	while [[ -e /proc/$1/fd/$limit ]] || ((room-- > 0)); do
		limit=$((limit + 1))
	done
	prlimit --pid "$1" --nofile="$limit"
}

@test "S23: kill -9 of the guard with a full descriptor table: the job is ended, 71" {
	local room
	for room in 0 1 2; do
		rm -f ready guard child
		start "$RLOCKRUN" -k "$KEY" -- /usr/bin/python3 -S -c "$FRUGAL"
		wait_for_file ready
		limit_descriptors "$PID" "$room"
		kill -KILL "$(<guard)"
		exits_with 71 "$PID"
		gone "$(<ready)"
		gone "$(<child)"
		is_free
	done
}

# --- processes --------------------------------------------------------------

# Root has no limit, so another user is needed.

# as_user_with_limit LIMIT COMMAND...: with so many processes.
as_user_with_limit() {
	as_other_user bash -c 'ulimit -u "$0"; exec "$@"' "$@"
}

@test "out of processes for the guard: 71 and the lock is free" {
	need_other_user
	run -71 --separate-stderr as_user_with_limit 1 ./rlockrun -k "$KEY" -- sh -c 'echo >ran'
	# shellcheck disable=SC2154 # bats sets it
	[[ $stderr == *"cannot be guarded"* ]]
	[[ ! -e ran ]]
	is_free
	[[ -z $(keys_left) ]]
}

@test "out of processes for the job: 71 at once and the lock is free" {
	need_other_user
	for _ in {1..3}; do
		run -71 --separate-stderr as_user_with_limit 2 ./rlockrun -k "$KEY" -- sh -c 'echo >ran'
		[[ $stderr == *"cannot be guarded"* ]]
		[[ ! -e ran ]]
		is_free
		[[ -z $(keys_left) ]]
	done
}

@test "out of processes for asking the name server: 71 at once, and no job" {
	need_other_user
	export RLOCKRUN_REDIS=redis://localhost:1
	run -71 --separate-stderr as_user_with_limit 1 ./rlockrun -k "$KEY" --server-timeout 1h -- sh -c 'echo >ran'
	[[ -n $stderr && ! -e ran ]]
}

# A job that takes all the processes there are, each in a session of its own.
# PID is rlockrun's.
start_greedily() {
	need_other_user
	chmod 777 .
	cat >greedy <<-'END'
		import os, time
		open("guard", "w").write(str(os.getppid()))
		try:
		    while True:
		        if os.fork() == 0:
		            os.setsid()
		            time.sleep(60)
		except OSError as error:
		    open("ready", "w").write(str(error))
		time.sleep(60)
	END
	start setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups \
		bash -c 'ulimit -u "$0"; exec "$@"' 20 \
		./rlockrun -k "$KEY" -t 9 -- /usr/bin/python3 -S greedy
	wait_for_file ready
	(($(processes_of_user) == 20))
}

processes_of_user() {
	ps -o stat= -u "$OTHER_USER" | awk '!/^Z/ { n++ } END { print n + 0 }'
}

@test "a job that has taken all processes is ended when its lock is lost" {
	start_greedily
	cli del "$KEY"
	exits_with 79 "$PID"
	[[ $(processes_of_user) == 0 ]]
}

@test "a job that has taken all processes is ended when the guard is killed" {
	start_greedily
	kill -KILL "$(<guard)"
	exits_with 71 "$PID"
	[[ $(processes_of_user) == 0 ]]
	is_free
}

# --- /proc ------------------------------------------------------------------

@test "/proc is not mounted: 71, the job cannot be guarded" {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	run -71 --separate-stderr unshare -m sh -c \
		'mount -t tmpfs none /proc && exec "$@"' - "$RLOCKRUN" -k "$KEY" -- sh -c 'echo >ran'
	[[ $stderr == *"cannot be guarded"* ]]
	[[ ! -e ran ]]
	is_free
	[[ -z $(keys_left) ]]
}

@test "/proc is another namespace's: 71, the job cannot be guarded" {
	unshare --fork --pid true 2>/dev/null || skip "a pid namespace takes privileges"
	run -71 --separate-stderr unshare --fork --pid "$RLOCKRUN" -k "$KEY" -- sh -c 'echo >ran'
	[[ $stderr == *"cannot be guarded"*"/proc belongs to another pid namespace"* ]]
	[[ ! -e ran ]]
	is_free
}

# A process that nobody but root can look into: the program is not readable.
# hidepid=2 hides it from its own user. (A mount of its own, as a remount would
# change the one that all use.)
start_hidden() {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	need_other_user
	chmod 777 .
	cp /bin/sleep hidden
	chmod 711 hidden
	cat >leave-hidden <<-'END'
		setsid ./hidden 40 &
		echo $! >child
		echo $PPID >guard
		echo $$ >ready
		exec sleep 41
	END
	start unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' - \
		setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups \
		./rlockrun -k "$KEY" -- sh leave-hidden
	wait_for_file ready
	wait_until is_hidden
}

is_hidden() { [[ $(ps -o comm= -p "$(<child)") == hidden ]]; }

@test "S23: kill -9 of the guard with hidepid=2 and a process that it hides: 71, all is gone" {
	start_hidden
	kill -KILL "$(<guard)"
	exits_with 71 "$PID"
	gone "$(<child)"
	gone "$(<ready)"
	is_free
}

@test "hidepid=2 and a command that it hides gets TERM" {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
	need_other_user
	cp /bin/sleep hidden
	chmod 711 hidden
	start unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' - \
		setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups \
		./rlockrun -k "$KEY" --max-run 0.5 --kill-after 1h -- ./hidden 40
	exits_with 124 "$PID"
}

# --- memory -----------------------------------------------------------------

# limited KB: a run with so much address space; sets code, makes ran and err.
limited() {
	rm -f ran
	code=0
	timeout -k 1 20 bash -c 'ulimit -v "$0" && exec "$@"' "$1" "$RLOCKRUN" -k "$KEY" -t 2 \
		--server-timeout 3 -- /bin/sh -c 'echo >ran; exit 5' 2>err || code=$?
}

# bats test_tags=night
@test "little address space: 71 and no job, or the job as always, the lock is free" {
	[[ $RLOCKRUN != */coverage/* ]] || not_here 'what counts needs memory, too'
	local code enough kb ran=0 refused=0
	for ((enough = 1024; ; enough += 64)); do
		limited "$enough"
		((code != 5)) || break
	done
	for ((kb = enough - 256; kb < enough + 64; kb += 8)); do
		limited "$kb"
		echo "$kb: $code $(<err)"
		if [[ $code == 5 ]]; then
			[[ -e ran && ! -s err ]]
			ran=1
		else
			[[ ! -e ran && -s err ]]
			# Below that the loader fails, before there is a rlockrun.
			[[ $code == 71 ]] || [[ $code == 127 && $(<err) != rlockrun:* ]]
			[[ $code == 127 ]] || refused=1
		fi
		is_free
	done
	((ran && refused))
}

# From here on no more memory than it has for a rlockrun that holds the lock, and
# for its guard; the job has a child in a session of its own. PID is rlockrun's.
start_then_starve() {
	start "$RLOCKRUN" -k "$KEY" -t 9 -- sh -c 'setsid sh -c "echo \$\$ >child; exec sleep 60" &
		echo "$PPID" >guard
		echo "$$" >ready
		until [ -e done ]; do sleep 0.05; done
		kill "$!"
		exit 5'
	wait_for_file ready
	wait_for_file child
	prlimit --as=1:1 --pid "$PID"
	prlimit --as=1:1 --pid "$(<guard)"
}

job_gone() { gone "$(<ready)" && gone "$(<child)"; }

@test "out of memory while the job runs: renewed, the job's status, released" {
	start_then_starve
	cli pexpire "$KEY" 7000
	wait_until left_above 7000
	touch "done"
	exits_with 5 "$PID"
	is_free
	[[ ! -s $ERR && -z $(keys_left) ]]
}

@test "out of memory and the connection is cut: connected anew, or 79 in time" {
	local code=0
	start_then_starve
	cli client kill type normal
	cli pexpire "$KEY" 7000
	wait_until eval 'left_above 7000 || job_gone'
	touch "done"
	wait "$PID" || code=$?
	echo "$code"
	[[ $code == 5 || $code == 79 ]]
	wait_until job_gone
}

@test "out of memory and the lock is lost: the job is ended, 79" {
	start_then_starve
	cli del "$KEY"
	exits_with 79 "$PID"
	job_gone
}

@test "out of memory and the guard is killed: the job is ended, 71" {
	start_then_starve
	kill -KILL "$(<guard)"
	exits_with 71 "$PID"
	job_gone
	is_free
}

# --- disk -------------------------------------------------------------------

# on_full_disk COMMAND...: in a mount namespace where `full` has not a byte left.
on_full_disk() {
	mkdir -p full
	timeout -k 1 20 unshare -m sh -c 'mount -t tmpfs -o size=16k none full &&
		{ cat /dev/zero >full/all 2>/dev/null || :; } &&
		: >full/out && : >full/err && exec "$@"' - "$@"
}

need_full_disk() {
	on_full_disk true 2>/dev/null || skip "a mount namespace takes privileges"
	run ! on_full_disk sh -c 'echo word >full/out'
}

@test "a full disk behind stderr: the job and its status, the lock is free" {
	need_full_disk
	run -5 on_full_disk sh -c 'exec "$@" 2>full/err' - \
		"$RLOCKRUN" -v -k "$KEY" -- sh -c 'echo >ran; exit 5'
	[[ -e ran && -z $output ]]
	is_free
	[[ -z $(keys_left) ]]
}

@test "a full disk behind stderr: busy is 75, lost is 79, unavailable is 69" {
	need_full_disk
	hold
	run -75 on_full_disk sh -c 'exec "$@" 2>full/err' - "$RLOCKRUN" -k "$KEY" -n true
	run -75 on_full_disk sh -c 'exec "$@" 2>full/err' - "$RLOCKRUN" -k "$KEY" -w 0.2 true
	touch "done"
	exits_with 0 "$PID"
	run -79 on_full_disk sh -c 'exec "$@" 2>full/err' - "$RLOCKRUN" -k "$KEY" \
		sh -c 'redis-cli -s "$0" del "$1"; exit 5' "$SUITE_DIR/s" "$KEY"
	run -69 on_full_disk sh -c 'exec "$@" 2>full/err' - "$RLOCKRUN" -k "$KEY" \
		--redis unix:///nowhere/s --server-timeout 0.2 true
	is_free
}

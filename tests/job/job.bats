#!/usr/bin/env bats
# The job: how it is found and started, what it inherits, how its end is told.
# Promises 4 and 7, scenarios P5, P6 and P7.
# shellcheck disable=SC2016  # what is in single quotes, the jobs expand
# bats file_tags=everywhere

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
}
teardown() { end_test; }

# A rlockrun in the foreground.
locked() { "$RLOCKRUN" -k "$KEY" "$@"; }

# ends_with STATUS COMMAND...: its stderr is in `err`.
ends_with() {
	local expected=$1 code=0
	shift
	"$@" 2>err || code=$?
	[[ $code == "$expected" ]] || {
		echo "exit code $code, not $expected: $*" >&2
		cat err >&2
		return 1
	}
}

# same_with_and_without COMMAND...: what it prints doesn't depend on rlockrun.
same_with_and_without() {
	local prefix=()
	while [[ $1 != -- ]]; do
		prefix+=("$1")
		shift
	done
	shift
	"${prefix[@]}" "$@" >out </dev/null
	mv out without
	"${prefix[@]}" "$RLOCKRUN" -k "$KEY" -- "$@" >out </dev/null
	mv out with
	[[ -s without ]]
	diff -u without with
}

# --- how it ended -----------------------------------------------------------

@test "P5: exit codes are the job's own, also those that we use" {
	local code
	for code in 0 1 2 63 {64..80} {124..129} 137 143 254 255; do
		ends_with "$code" locked -- sh -c "exit $code"
		[[ ! -s err ]]
	done
	is_free
	[[ -z $(keys_left) ]]
}

# dies_of NAME: rlockrun, when its job kills itself by that signal. (Shells ignore
# QUIT, so it is a python.)
dies_of() {
	env --default-signal "$HELPERS/ended" end "$RLOCKRUN" -k "$KEY" -- \
		/usr/bin/python3 -S -c 'import os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
number = int(sys.argv[1])
if number != signal.SIGKILL:
    signal.signal(number, signal.SIG_DFL)
os.kill(os.getpid(), number)
os._exit(99)' "$(kill -l "$1")" 2>err
	[[ $(<end) == "signal $1" && ! -s err ]] || {
		echo "$1: $(<end) $(<err)" >&2
		return 1
	}
	is_free
}

@test "P5: rlockrun dies by the signal that ended the job, and leaves no core" {
	local name
	ulimit -c unlimited 2>/dev/null || skip "core files can't be allowed here"
	for name in HUP INT QUIT ABRT KILL SEGV PIPE TERM SYS RTMIN RTMAX; do
		dies_of "$name"
	done
	[[ -z $(find . -name 'core*') ]]
}

@test "P5: a job ended by a signal that is ignored or blocked here is reported correctly" {
	env --ignore-signal=TERM "$HELPERS/ended" end "$RLOCKRUN" -k "$KEY" -- \
		env --default-signal=TERM sh -c 'kill -TERM $$; sleep 20'
	[[ $(<end) == "signal TERM" ]]
	env --block-signal=TERM "$HELPERS/ended" end "$RLOCKRUN" -k "$KEY" -- \
		/usr/bin/python3 -S -c 'import os, signal
signal.pthread_sigmask(signal.SIG_SETMASK, [])
os.kill(os.getpid(), signal.SIGTERM)'
	[[ $(<end) == "signal TERM" ]]
}

@test "P5: a command that is not found is 127 and nothing happens on the server" {
	local before
	cp /bin/true file
	before=$(cli info commandstats | grep -c cmdstat_eval || :)
	ends_with 127 locked -- no-such-command-here
	[[ $(<err) == 'rlockrun: cannot run "no-such-command-here": not found; command not started' ]]
	ends_with 127 locked -- ./no-such-command
	ends_with 127 locked -- /no/such/folder/command
	ends_with 127 locked -- file/command
	[[ $(wc -l <err) == 1 ]]
	[[ $(cli info commandstats | grep -c cmdstat_eval || :) == "$before" ]] ||
		[[ $(cli exists "{$KEY}:rlk:i") == 0 ]]
}

@test "P5: a file that can't be executed is 126, and so is a folder" {
	echo 'echo ran' >plain
	mkdir folder
	ends_with 126 locked -- ./plain
	[[ $(<err) == 'rlockrun: cannot run "./plain": Permission denied; command not started' ]]
	ends_with 126 locked -- ./folder
	[[ $(<err) == 'rlockrun: cannot run "./folder": Is a directory; command not started' ]]
	ends_with 126 locked -- /
	[[ $(cli exists "{$KEY}:rlk:i") == 0 ]]
}

@test "P5: a bad interpreter is 126 and the message says so" {
	printf '#!/no/such/interpreter\n' >script
	printf '#!%s/plain\n' "$PWD" >script2
	echo >plain
	chmod +x script script2
	ends_with 126 locked -- ./script
	[[ $(<err) == "rlockrun: \"$KEY\": cannot run \"./script\": its interpreter is not found; command not started" ]]
	is_free
	ends_with 126 locked --log-to log -- ./script2
	[[ $(<err) == *'cannot run "./script2": Permission denied; command not started' ]]
	run -1 grep 'the job ended' log
	is_free
	[[ -z $(keys_left) ]]
}

@test "P5: a command that is removed while we wait is 127, and the lock is freed" {
	cp /bin/true command
	hold
	start "$RLOCKRUN" -k "$KEY" -- ./command
	wait_until grep -q waiting err.2
	rm command
	touch ./done
	exits_with 127 "${STARTED[1]}"
	grep -q 'cannot run "./command": No such file or directory; command not started' err.2
	is_free
}

@test "P5: arguments that are too long for the system are 126" {
	local megabyte
	megabyte=$(head -c 130000 /dev/zero | tr '\0' x)
	# One argument may have 128 KiB, all together a quarter of the stack's limit.
	ulimit -s 600
	ends_with 126 env X1="${megabyte:0:75000}" X2="${megabyte:0:75000}" \
		"$RLOCKRUN" -k "$KEY" -- /bin/true "$(head -c 3500 /dev/zero | tr '\0' x)" ||
		skip "no length here at which only the job's start fails"
	grep -q 'Argument list too long' err
	is_free
}

@test "a script without #! is run by sh, with its arguments" {
	echo 'echo "$0 $#: $1, $2"; exit 9' >script
	chmod +x script
	ends_with 9 locked -- ./script 'one 1' two >out
	[[ $(<out) == "./script 2: one 1, two" ]]
}

@test "argv[0] is as given" {
	locked -- sh -c 'tr "\0" " " </proc/$$/cmdline' >out
	[[ $(<out) == "sh -c "* ]]
}

# --- what it inherits -------------------------------------------------------

# Where each descriptor leads; find's own are in /proc.
FDS='find /proc/self/fd -type l -not -lname "/proc/*" -printf "%f %l\n"'

@test "P6: the job has the descriptors that rlockrun got, and no other" {
	same_with_and_without env -- sh -c "$FDS"
}

@test "P6: a descriptor of the caller's passes" {
	echo words >words
	same_with_and_without env -- sh -c "$FDS; echo more >&9" 7<words 9>added
	grep -q '^7 .*/words$' with
	[[ $(<added) == more$'\n'more ]]
}

@test "P6: also through -c and a script without #!" {
	echo "$FDS" >script
	chmod +x script
	locked -- ./script >script.out </dev/null 7<script
	SHELL=/bin/sh locked -c "$FDS" >c.out </dev/null 7<script
	run -0 grep -c '^[0-9]' script.out
	run ! grep -E 'anon_inode|socket:|memfd|/dev/zero' script.out c.out
	grep -q '^7 ' script.out
	grep -q '^7 ' c.out
}

SIGNALS=(grep -E '^Sig(Pnd|Blk|Ign|Cgt)|^ShdPnd' /proc/self/status)

@test "P6: signal mask and ignored signals are as inherited" {
	same_with_and_without env -- "${SIGNALS[@]}"
	same_with_and_without env --default-signal -- "${SIGNALS[@]}"
	same_with_and_without env --ignore-signal -- "${SIGNALS[@]}"
	same_with_and_without env --block-signal -- "${SIGNALS[@]}"
	same_with_and_without env --block-signal=USR1,TERM,CHLD -- "${SIGNALS[@]}"
	same_with_and_without env --ignore-signal=INT,QUIT,HUP -- "${SIGNALS[@]}"
}

@test "P6: SIGPIPE is as inherited, ignored or not" {
	same_with_and_without env --ignore-signal=PIPE -- "${SIGNALS[@]}"
	grep -q '^SigIgn:.*[13579bdf]...$' with
	same_with_and_without env --default-signal=PIPE -- "${SIGNALS[@]}"
	grep -q '^SigIgn:.*[02468ace]...$' with
}

@test "P6: SIGCHLD stays ignored as inherited, and the exit code is reported" {
	same_with_and_without env --ignore-signal=CHLD -- "${SIGNALS[@]}"
	grep -q '^SigIgn:.*[1-9a-f]....$' with
	ends_with 7 env --ignore-signal=CHLD "$RLOCKRUN" -k "$KEY" -- \
		sh -c 'exit 7'
}

@test "P6: folder, umask, niceness and session are as inherited" {
	umask 027
	same_with_and_without nice -n 3 -- sh -c 'pwd; umask; nice; ps -o sid= -p $$'
}

@test "P6: nothing of ours is left in the job's process: name, subreaper, death signal" {
	same_with_and_without env -- /usr/bin/python3 -S -c 'import ctypes
libc = ctypes.CDLL(None)
word = ctypes.c_int()
libc.prctl(37, ctypes.byref(word), 0, 0, 0)
print("subreaper", word.value)
print(open("/proc/self/comm").read())'
}

# --- environment ------------------------------------------------------------

@test "environment: key, token, fence, ttl and what is held are the lock's, over what was inherited" {
	RLOCKRUN_KEY=old RLOCKRUN_TOKEN=old RLOCKRUN_FENCE=old RLOCKRUN_TTL_MS=old \
		locked -t 7.5 -- sh -c "env; redis-cli -s '$SUITE_DIR/s' get '$KEY'" >out
	[[ $(grep -c '^RLOCKRUN_' out) == 7 ]] # and RLOCKRUN_REDIS, RLOCKRUN_CONFIG
	run ! grep '=old$' out
	grep -qx "RLOCKRUN_KEY=$KEY" out
	grep -qx "RLOCKRUN_TTL_MS=7500" out
	grep -qx "RLOCKRUN_FENCE=$(cli hget "{$KEY}:rlk:i" f)" out
	grep -qx "RLOCKRUN_TOKEN=$(tail -n 1 out)" out
	grep -qx "RLOCKRUN_HELD=x:$(tail -n 1 out):$KEY" out
}

# bats test_tags=smoke
@test "environment: all else is as inherited" {
	env >without
	locked -- env | grep -v '^RLOCKRUN_\(KEY\|TOKEN\|FENCE\|TTL_MS\|HELD\)=' >with
	# _, and what counts coverage.
	diff -u <(grep -Ev '^(_|__LLVM_[A-Z_]*)=' without) <(grep -Ev '^(_|__LLVM_[A-Z_]*)=' with)
}

@test "environment: the longest name of a lock reaches the job" {
	local name
	name=$(printf '%s%0*d' "$KEY" $((1024 - ${#KEY})) 0)
	"$RLOCKRUN" -k "$name" env >out
	grep -qx "RLOCKRUN_KEY=$name" out
	grep -qx "RLOCKRUN_HELD=x:[0-9a-f-]*:$name" out
}

# The job's environment, and all that others can see of the guard and of us.
OURS='env
for pid in $PPID $(ps -o ppid= -p $PPID); do
	tr "\0" "\n" </proc/$pid/environ
	tr "\0" "\n" </proc/$pid/cmdline
done'

@test "environment: no password is in the job's, nor in ours" {
	local port
	port=$(/usr/bin/python3 -S -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
	start_server "$PWD/secret" --port "$port" --requirepass s3cr3t
	STARTED+=("$(<secret/pid)")
	RLOCKRUN_REDIS=unix://$PWD/secret/s RLOCKRUN_PASSWORD=s3cr3t \
		locked -- sh -c "$OURS" >out
	grep -q '^RLOCKRUN_TOKEN=.' out
	run ! grep s3cr3t out
	RLOCKRUN_REDIS=redis://:s3cr3t@127.0.0.1:$port locked -- sh -c "$OURS" >out
	grep -q "^RLOCKRUN_REDIS=redis://127.0.0.1:$port" out
	run ! grep s3cr3t out
	locked -r "redis://:s3cr3t@127.0.0.1:$port" -- sh -c "$OURS" >out
	run ! grep s3cr3t out
	run ! grep '^RLOCKRUN_PASSWORD' out
	stop_server "$PWD/secret"
}

# --- how it is called -------------------------------------------------------

@test "-c runs the words through \$SHELL, through /bin/sh without one" {
	printf '#!/bin/sh\necho "my shell: $*"\n' >shell
	chmod +x shell
	SHELL=$PWD/shell locked -c 'a  b; c' >out
	[[ $(<out) == "my shell: -c a  b; c" ]]
	env -u SHELL "$RLOCKRUN" -k "$KEY" -c 'echo "$0 $((6 * 7))"' >out
	[[ $(<out) == "/bin/sh 42" ]]
	SHELL='' locked -c 'echo $((6 * 7))' >out
	[[ $(<out) == 42 ]]
	SHELL=/bin/bash ends_with 13 locked -c 'exit 13'
}

@test "-c with a \$SHELL that is not there is 127" {
	SHELL=/no/such/shell ends_with 127 locked -c true
	[[ $(cli exists "{$KEY}:rlk:i") == 0 ]]
}

@test "options after the command are the command's" {
	locked printf '%s,' -k other -n --help -- >out
	[[ $(<out) == "-k,other,-n,--help,--," ]]
	locked -- printf '%s,' -k other >out
	[[ $(<out) == "-k,other," ]]
}

@test "after -- a command may look like an option" {
	mkdir bin
	echo 'echo ran' >bin/-n
	chmod +x bin/-n
	PATH=$PWD/bin:$PATH locked -- -n >out
	[[ $(<out) == ran ]]
}

# --- stdin, stdout, stderr --------------------------------------------------

@test "stdin and stdout are the job's: a binary megabyte passes unchanged" {
	head -c 1048576 /dev/urandom >data
	locked -v -- cat <data >copy 2>err
	cmp data copy
	# shellcheck disable=SC2002 # pipes are what is tested
	cat data | locked -v -- cat 2>err | cat >copy
	cmp data copy
}

@test "what the job doesn't read of stdin stays there" {
	printf 'one\ntwo\n' | {
		locked -- sh -c 'read -r line; echo "job: $line"'
		cat
	} >out
	[[ $(<out) == "job: one"$'\n'two ]]
}

CLOSED='for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && printf "open " >>seen || printf "closed " >>seen; done; exit 5'

look_at_stdio() { locked -v -- sh -c "$CLOSED"; }

# stays_closed SEEN REDIRECTIONS: the job has these, and runs.
stays_closed() {
	local code=0
	rm -f seen
	eval "look_at_stdio $2" || code=$?
	[[ $code == 5 && $(<seen) == "$1 " ]]
	is_free
}

@test "closed stdin, stdout and stderr stay closed for the job, which runs" {
	stays_closed 'closed open open' '2>err <&-'
	stays_closed 'open closed open' '2>err >&-'
	grep -q released err
	stays_closed 'open open closed' '2>&-'
	# Our words go nowhere else.
	stays_closed 'closed closed closed' '<&- >&- 2>&-'
}

@test "a message on a stderr beyond the limit for files is no signal for the job" {
	# bats has put stderr into a file.
	run -3 --separate-stderr bash -c 'ulimit -f 0 && exec "$@"' - \
		"$RLOCKRUN" -k "$KEY" --warn-after 0.1 -- sh -c 'trap "exit 9" XFSZ; sleep 0.3; exit 3'
	[[ -z $stderr ]]
}

@test "a waiter with a full pipe behind stderr gets the lock" {
	local pid
	mkfifo pipe
	exec 8<>pipe
	dd if=/dev/zero of=/proc/self/fd/8 bs=4096 oflag=nonblock 2>/dev/null || :
	hold
	"$RLOCKRUN" -v -k "$KEY" -- sh -c 'exit 5' 2>&8 3>&- &
	pid=$!
	STARTED+=("$pid")
	wait_until test -e "/proc/$pid/task/$pid/children"
	touch ./done
	exits_with 5 "$pid"
	exec 8>&-
}

@test "the job meets a reader that has gone: rlockrun dies of SIGPIPE too" {
	local codes
	env --default-signal=PIPE "$HELPERS/ended" end "$RLOCKRUN" -k "$KEY" -- \
		yes | head -n 1 >out
	codes=("${PIPESTATUS[@]}")
	[[ ${codes[1]} == 0 ]]
	wait_for_file end
	[[ $(<end) == "signal PIPE" ]]
	[[ $(<out) == y ]]
	is_free
}

# --- what it left running ---------------------------------------------------

WORKER='(until [ -e done ]; do sleep 0.05; done; echo >finished) >/dev/null 2>&1 & echo $! >worker'

@test "P7: a command that ends by itself frees the lock; what it left continues" {
	local i
	for i in {1..5}; do
		ends_with 3 locked -- sh -c "$WORKER; exit 3"
		STARTED+=("$(<worker)")
		is_free
	done
	for i in "${STARTED[@]}"; do
		run ! gone "$i"
	done
	# Nothing of ours is left with it.
	locked -n -- true
	touch ./done
	wait_for_file finished
}

@test "P7: with --wait-all the lock is kept until the last has ended" {
	start "$RLOCKRUN" -k "$KEY" --wait-all -- sh -c "$WORKER; exit 3"
	wait_for_file worker
	wait_until no_child_named sh
	is_held
	ends_with 75 locked -n -- true
	run ! gone "$PID"
	touch ./done
	exits_with 3 "$PID"
	is_free
}

# Whether the guard's own command has ended: only the orphaned worker is left.
no_child_named() {
	[[ $(ps -o ppid= -p "$(<worker)" | xargs ps -o comm= -p) == rlockrun-guard ]]
}

@test "P7: the status of --wait-all is the command's, whatever the others' are" {
	ends_with 3 locked --wait-all -- sh -c '(sleep 0.2; exit 7) & exit 3'
	ends_with 0 locked --wait-all -- sh -c '(sleep 0.2; kill -KILL $$) & exit 0'
	ends_with 0 locked --wait-all -- sh -c '(setsid sh -c "sleep 0.2; exit 9" &) & exit 0'
	"$HELPERS/ended" end "$RLOCKRUN" -k "$KEY" --wait-all -- \
		sh -c 'sleep 0.2 & kill -USR1 $$'
	[[ $(<end) == "signal USR1" ]]
}

@test "P7: TERM under --wait-all ends what the command left, its own status stays" {
	start env --default-signal "$RLOCKRUN" -k "$KEY" --wait-all -- sh -c "$WORKER; exit 3"
	wait_for_file worker
	wait_until no_child_named sh
	kill -TERM "$PID"
	exits_with 3 "$PID"
	gone "$(<worker)"
	[[ ! -e finished ]]
	is_free
}

@test "P7: after a TERM what the command left is ended first, then the lock is freed" {
	start env --default-signal "$RLOCKRUN" -k "$KEY" -- \
		sh -c 'trap "exit 4" TERM; '"$WORKER"'; while :; do sleep 0.05; done'
	wait_for_file worker
	is_held
	kill -TERM "$PID"
	exits_with 4 "$PID"
	gone "$(<worker)"
	is_free
}

#!/usr/bin/env bats
# --hold: a lock without a job, for maintenance.
# shellcheck disable=SC2034,SC2154 # helpers and run set and use these

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/admin
load ../helpers/queue
load ../helpers/signals

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	export LOGNAME=deploy
	I="{$KEY}:rlk:i"
}
teardown() {
	cli del "$KEY" "$I" >/dev/null
	end_test
}

# keep DUR [OPTION...]: a hold of KEY; TOKEN is what it printed.
keep() {
	run -0 --separate-stderr rl --hold "$@"
	TOKEN=$output
	[[ $TOKEN =~ ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$ && -z $stderr ]]
	[[ $(cli get "$KEY") == "$TOKEN" ]]
}

# keep_in_background DUR [OPTION...]
keep_in_background() {
	start "$RLOCKRUN" -k "$KEY" --hold "$@"
}

# ends_at FORMAT [SECONDS]: the wall clock's time of the end of the lease, or so much
# later. The server's clock is this machine's.
ends_at() {
	local at
	at=$(cli eval 'local time = redis.call("TIME")
		return time[1] * 1000 + math.floor(time[2] / 1000) + redis.call("PTTL", KEYS[1])' 1 "$KEY")
	date -d "@$((at / 1000 + ${2:-0}))" "+$1"
}

is_end() {
	[[ $1 == "$(ends_at %T)" || $1 == "$(ends_at %T 1)" ]]
}

# is_shown OUTPUT: the hold, its user, its label and its end.
is_shown() {
	[[ $1 =~ "$(uname -n) (deploy, \"db migration\") since "..:..:..", until "(..:..:..) ]]
	is_end "${BASH_REMATCH[1]}"
}

# --- what it is ---------------------------------------------------------------------

# bats test_tags=smoke
@test "the token alone is printed, and the lock stays when the process has ended" {
	keep 2h
	left_above 7190000
	left_below 7200001
	[[ $(cli strlen "$KEY") == 36 ]]
	run -75 rl -n touch ran
	[[ ! -e ran ]]
	[[ -z $(cli set "$KEY" other nx px 1000) ]]
}

@test "others see user, label and end: in messages, status, list and JSON" {
	keep 2h --label 'db migration'
	run -75 rl -n true
	[[ $output == "rlockrun: \"$KEY\" is held by "* && ${#lines[@]} == 1 ]]
	is_shown "$output"
	run -0 rlockrun --status -k "$KEY"
	[[ $output =~ "holder:   $(uname -n) (deploy) since "..:..:..", until "(..:..:..) ]]
	is_end "${BASH_REMATCH[1]}"
	[[ $output == *$'\nlabel:    db migration\njob:      none; this is a --hold\n'* ]]
	[[ $output == *$'\nttl left: 1h59m\n'* ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"user":"deploy","label":"db migration","command":null,' '"ended":false,"hold":true,"paused":false,"replaceable":false}],'
	[[ $output =~ '"prefix":"","ttl_ms":'([1-9][0-9]{0,5}|[1-6][0-9]{6}|7[01][0-9]{5}|7200000), ]]
	rlockrun --list "$KEY" | grep -qE "^$KEY +exclusive +[^ ]+ +- +deploy +[0-9]+s +1h59m hold +0 +[0-9]+  db migration$"
	run -0 rlockrun --list --json "$KEY"
	has_json '"hold":true'
}

@test "a run is no hold" {
	hold
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"hold":false'
	touch "done"
	exits_with 0 "$PID"
}

@test "a waiter runs when a hold has ended by itself" {
	keep 1h
	enqueue A
	[[ ! -e A.started ]]
	end_lease
	touch go
	all_end_well
}

# bats test_tags=native
@test "no process is started for it" {
	need_strace
	strace -f -o trace -e trace=clone,clone3,fork,vfork,execve \
		"$RLOCKRUN" -k "$KEY" --hold 60 >token
	[[ $(<token) == "$(cli get "$KEY")" ]]
	[[ $(grep -c 'execve(' trace) == 1 ]]
	run ! grep -E 'fork\(|clone3?\(' trace
}

@test "a name that looks like a glob is held with a warning, and extended without one" {
	for name in "$KEY:*" "$KEY-?" "$KEY-[12]"; do
		run -0 --separate-stderr rlockrun --hold 60 -k "$name"
		[[ ${stderr_lines[*]} == "rlockrun: \"$name\": --hold uses this as a plain name and expands no globs" ]]
		[[ $output == "$(cli get "$name")" ]]
		run -0 --separate-stderr rlockrun --hold 90 --token "$output" -k "$name"
		[[ -z $stderr ]]
		run -75 rlockrun -n -k "$name" true
		[[ $output != *glob* ]]
		cli del "$name" >/dev/null
	done
	run -0 --separate-stderr rlockrun --hold 60 -k "$KEY-]{}"
	[[ -z $stderr ]]
}

@test "-v: on which server, and until when" {
	run -0 --separate-stderr rl --hold 2h -v
	[[ ${stderr_lines[0]} == "rlockrun: \"$KEY\": acquired on "* ]]
	[[ ${stderr_lines[1]} =~ ^"rlockrun: \"$KEY\": held until "(..:..:..)$ ]]
	is_end "${BASH_REMATCH[1]}"
}

# --- waiting ------------------------------------------------------------------------

@test "a hold waits in the queue like a run, and takes no lock away" {
	holds A
	keep_in_background 1h
	hold=$PID
	wait_until is_queued "$PID"
	enqueue C
	touch go.A
	exits_with 0 "$hold"
	TOKEN=$(<out.2)
	[[ $(cli get "$KEY") == "$TOKEN" && $(<order) == A ]]
	wait_until are_queued 1
	run -0 rlockrun --force-release --token "$TOKEN" -k "$KEY"
	is_shown "$output" || [[ $output == *"released, it was held by $(uname -n) (deploy) since"* ]]
	touch go
	all_end_well
	[[ $(paste -sd' ' order) == "A C" ]]
}

@test "--force-release with the token wakes the next waiter at once" {
	keep 1h
	enqueue A
	run -0 rlockrun --force-release --token "$TOKEN" -k "$KEY"
	touch go
	all_end_well
	wait_until none_left
}

@test "a lock that is held: 75, or -E; -w, -q and --max-waiters as with a run" {
	hold
	run -75 --separate-stderr rl --hold 1h -n
	[[ -z $output && $stderr == "rlockrun: \"$KEY\" is held by $(uname -n) (pid $PID, deploy) since "* ]]
	[[ $stderr != *"not started"* ]]
	run -3 rl --hold 1h -n -E 3 -q
	[[ -z $output ]]
	run -75 --separate-stderr rl --hold 1h -w 2
	[[ -z $output && ${stderr_lines[1]} == *"; gave up after 2s" ]]
	run -75 rl --hold 1h --max-waiters 0
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

# bats test_tags=smoke
@test "a signal ends the wait, and the waiter leaves the queue" {
	hold
	for signal in TERM INT; do
		launch --hold 1h
		wait_until are_queued 1
		kill -"$signal" "$PID"
		ended_by "signal $signal"
		are_queued 0
	done
	run ! grep -h . out.*
	touch "done"
	exits_with 0 "${STARTED[0]}"
	[[ -z $(keys_left) ]]
}

@test "the end that a waiter shows moves when the hold is extended" {
	keep 1h
	start "$RLOCKRUN" --progress always -k "$KEY" -- true
	wait_until grep -q until "$ERR"
	run -0 rl --hold 3h --token "$TOKEN"
	wait_until grep -qE "until ($(ends_at %H:%M)|$(ends_at %H:%M 1))" "$ERR"
	run -0 rlockrun --force-release --token "$TOKEN" -k "$KEY"
	exits_with 0 "$PID"
}

@test "on a terminal the token stands alone on its line" {
	hold
	start "$HELPERS/on-pty" screen -- "$RLOCKRUN" -k "$KEY" --hold 1h
	wait_until grep -q 'waiting' screen
	touch "done"
	exits_with 0 "$PID"
	token=$(cli get "$KEY")
	[[ $(<screen) == *$'\r\e[K'"$token"$'\r' ]]
}

# --- the token cannot be printed ----------------------------------------------------

# bats test_tags=smoke
@test "a token that cannot be printed undoes the hold: 71" {
	enqueue_after() {
		run -0 rl -n true
		[[ -z $(keys_left) ]]
	}
	code=0
	rl --hold 1h >/dev/full 2>err || code=$?
	[[ $code == 71 && $(<err) == "rlockrun: \"$KEY\": cannot write the token to stdout: No space left on device; releasing the lock" ]]
	enqueue_after
	code=0
	rl --hold 1h >&- 2>err || code=$?
	[[ $code == 71 && $(<err) == *"Bad file descriptor; releasing the lock" ]]
	enqueue_after
	{
		wait_for_file closed
		rl --hold 1h 2>err || echo $? >code
	} | {
		exec <&-
		echo >closed
	}
	[[ $(<code) == 71 && $(<err) == *"Broken pipe; releasing the lock" ]]
	enqueue_after
}

@test "an undone hold wakes the next waiter" {
	holds A
	# shellcheck disable=SC2016
	start sh -c 'exec "$RLOCKRUN" -k "$KEY" --hold 1h >/dev/full'
	hold=$PID
	wait_until is_queued "$PID"
	enqueue C
	touch go
	exits_with 71 "$hold"
	exits_with 0 "$PID"
	[[ $(paste -sd' ' order) == "A C" ]]
}

# full_pipe DUR: a hold that cannot print, as `pipe` takes no more.
full_pipe() {
	mkfifo pipe
	exec 8<>pipe
	dd if=/dev/zero of=pipe bs=4096 oflag=nonblock status=none 2>/dev/null || true
	# shellcheck disable=SC2016
	start sh -c 'exec "$RLOCKRUN" -k "$KEY" --hold "$1" >pipe 8>&-' sh "$1"
	wait_until is_held
}

@test "between grant and print: a signal undoes the hold" {
	full_pipe 1h
	wait_until left_above 3500000
	kill -TERM "$PID"
	exits_with 143 "$PID"
	exec 8>&-
	[[ -z $(keys_left) ]]
	[[ $(cli exists "{$KEY}:rlk:r") == 0 ]] # it was no run
}

@test "between grant and print: a full pipe that is read gets the token" {
	full_pipe 1h
	wait_until left_above 3500000
	is_running "$PID"
	head -c 65536 <&8 >/dev/null
	exits_with 0 "$PID"
	read -r token <&8
	exec 8>&-
	[[ $token == "$(cli get "$KEY")" ]]
}

@test "between grant and print: a lock that is lost is not announced: 79" {
	full_pipe 9s
	cli del "$KEY"
	exits_with 79 "$PID"
	grep -q "\"$KEY\" was lost: its key was taken away" "$ERR"
	run ! grep 'not started' "$ERR"
	exec 8>&-
}

# --- extending ----------------------------------------------------------------------

# bats test_tags=smoke
@test "--token extends the hold from now, and keeps its label" {
	keep 10s --label 'db migration'
	run -0 rl --hold 5h --token "$TOKEN"
	[[ -z $output ]]
	left_above 17990000
	left_below 18000001
	(($(cli pttl "$I") > 18000000))
	[[ $(cli get "$KEY") == "$TOKEN" ]]
	run -75 rl -n true
	is_shown "$output"
}

@test "--token never shortens a hold" {
	keep 5h
	run -0 rl --hold 10s --token "$TOKEN" -v
	[[ $output =~ ^"rlockrun: \"$KEY\": held until "(..:..:..)$ ]]
	is_end "${BASH_REMATCH[1]}"
	left_above 17990000
	(($(cli pttl "$I") > 18000000))
}

@test "--token of a hold that has ended: 79, and nothing is changed" {
	run -79 rl --hold 1h --token 0b24d5c6-9d10-4a4e-8f2c-0d4d1f9a3c55
	[[ $output == "rlockrun: \"$KEY\": the hold with that token has ended" ]]
	is_free
	keep 1h
	for token in wrong '' "${TOKEN}x" 'x*' "${TOKEN:1}"; do
		run -79 rl --hold 5h --token "$token"
		[[ $output == *": the hold with that token has ended; the lock is held by $(uname -n) (deploy) since "* ]]
	done
	left_below 3600001
	[[ $(cli get "$KEY") == "$TOKEN" ]]
}

@test "--token of a run, or of a lock that --min-hold keeps, extends nothing: 75" {
	hold
	run -75 rl --hold 5h --token "$(cli get "$KEY")"
	[[ $output == "rlockrun: \"$KEY\" is held by $(uname -n) (pid $PID, deploy) since "*", which is not a --hold; nothing was changed" ]]
	left_below 30001
	touch "done"
	exits_with 0 "$PID"
	run -0 rl --min-hold 20 true
	run -75 rl --hold 5h --token "$(cli get "$KEY" | cut -d : -f 1)"
	left_below 20001
}

@test "--token: where rules deny the record, the token is enough" {
	not_over sentinel cluster
	keep 1h
	cli del "$I"
	run -0 rl --hold 5h --token "$TOKEN"
	left_above 17990000
}

# --- faults -------------------------------------------------------------------------

@test "a grant whose reply is lost: the next try takes it over" {
	start_proxy proxy cut:EVAL/acquire:1
	keep 1h
	left_above 3590000
}

@test "without any reply to a grant: 69, and the lock lasts 30 s at most" {
	start_proxy proxy cut:EVAL/acquire
	RLOCKRUN_TTL=10m run -69 rl --hold 1h --server-timeout 1
	[[ $output != *"not started"* ]]
	left_below 30001
}

@test "a renewal whose reply is lost is repeated; without any the hold is undone: 69" {
	start_proxy proxy cut:EVAL/1:1
	run -0 --separate-stderr rl --hold 1h
	[[ $output == "$(cli get "$KEY")" && $stderr == *"renewed again"* ]]
	left_above 3590000
	cli del "$KEY" "$I"
	set_rules proxy cut:EVAL/1
	run -69 --separate-stderr rl --hold 1h --server-timeout 1
	[[ -z $output && $stderr == *"cannot renew the lock"* ]]
	is_free
}

@test "--wait-replicas: a hold is acquired and extended only if replicas have it" {
	start_tcp_server "$PWD/primary" 127.0.0.1 --repl-diskless-sync-delay 0
	start_server "$PWD/replica" --replicaof 127.0.0.1 "$PORT"
	wait_until replicates "$PWD/primary" 1
	SUITE_DIR=$PWD/primary RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
	keep 1h --wait-replicas 1:7s
	[[ $(redis-cli -s replica/s get "$KEY") == "$TOKEN" ]]
	run -0 rl --hold 2h --token "$TOKEN" --wait-replicas 1:7s
	(($(redis-cli -s replica/s pttl "$KEY") > 7190000))
	run -69 rl --hold 3h --token "$TOKEN" --wait-replicas 2:50ms --server-timeout 0.5
	[[ $output == *"1 of 2 replicas have the lock"* ]]
	cli del "$KEY"
	run -69 --separate-stderr rl --hold 1h --wait-replicas 2:50ms -w 0.5
	[[ -z $output ]]
	is_free
}

@test "a server that is not there: 69; no lock: 76" {
	run -69 --separate-stderr rl -r "unix://$PWD/none" --hold 1h --server-timeout 0.3
	[[ -z $output && $stderr == *"cannot connect to unix://$PWD/none: "* ]]
	run -69 rl -r "unix://$PWD/none" --hold 1h --server-timeout 0.3 --token x
	cli rpush "$KEY" x
	run -76 rl --hold 1h
	run -76 rl --hold 1h --token x
	[[ $(cli llen "$KEY") == 1 ]]
}

# --- inside a job -------------------------------------------------------------------

@test "inside a job that holds the lock: 64, because it would wait for itself" {
	for kind in --exclusive --shared; do
		# shellcheck disable=SC2016
		run -64 rl "$kind" -- sh -c '"$RLOCKRUN" -k "$KEY" --hold 1h'
		[[ $output == "rlockrun: \"$KEY\" is held "*" by the outer run, which would wait for itself" ]]
	done
	[[ -z $(keys_left) ]]
	# What has ended meanwhile is no reason.
	RLOCKRUN_HELD="x:0b24d5c6-9d10-4a4e-8f2c-0d4d1f9a3c55:$KEY" keep 1h
}

# --- options ------------------------------------------------------------------------

@test "what goes with a job or with others is refused: 64" {
	while read -r option; do
		# shellcheck disable=SC2086 # several words
		run -64 rl --hold 1h $option
		[[ ${#lines[@]} == 1 && $output == *"; try 'rlockrun --help'" ]]
	done <<-END
		-s
		--permits 2
		-t 5
		--min-hold 5
		--splay 1
		--wait-all
		--max-run 5
		--warn-after 5
		--on-lost warn
		--kill-after 5
		--on-unavailable run
		-c true
		true
		-k other
		-r unix://$PWD/a -r unix://$PWD/b
		--json
		--yes
		--status
		--list
		--force-release
		-n -w 5
	END
	for duration in 0 999ms 366d x ''; do
		run -64 rl --hold "$duration"
	done
	run -64 "$RLOCKRUN" --hold 1h
	is_free
}

@test "variables of runs change nothing about a hold; several servers: 78" {
	RLOCKRUN_SHARED=yes RLOCKRUN_TTL=10h RLOCKRUN_ON_UNAVAILABLE=run RLOCKRUN_SPLAY=10h \
		RLOCKRUN_MIN_HOLD=10h keep 1h
	[[ $(cli type "$KEY") == string ]]
	left_below 3600001
	RLOCKRUN_REDIS="unix://$PWD/a unix://$PWD/b" run -78 rl --hold 1h
	[[ $output == *"--hold needs a single server"* ]]
}

@test "a key that lies nowhere beside others is held without a record" {
	KEY="test}$BATS_TEST_NUMBER:$KEY"
	keep 1h
	run -0 rl --hold 5h --token "$TOKEN"
	left_above 17990000
	run -0 rlockrun --force-release --token "$TOKEN" -k "$KEY"
	is_free
}

#!/usr/bin/env bats
# Who can read a password in memory, where it stands while a job runs, and that
# the job is none the worse for it.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

PASSWORD=hush-4eb1d3c7a9

setup() {
	begin_test
	start_tcp_server "$PWD/own" 127.0.0.1 --requirepass "$PASSWORD"
	export RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
}

teardown() { end_test; }

# hold_by COMMAND...: such a rlockrun holds the lock; its pid is PID, that of the
# guard GUARD.
hold_by() {
	start "$@" -k "$KEY" -- "$A_JOB" job=%p until:done
	wait_for_file job
	find_guard "$PID"
	is_child_of "$(<job)" "$GUARD"
}

let_go() {
	touch "done"
	exits_with 0 "$PID"
	rm "done" job
}

copies() { "$HELPERS/copies-in-memory" "$1" "$PASSWORD"; }

# one_copy COMMAND...: in rlockrun, and none in the guard.
one_copy() {
	hold_by "$@"
	echo "$(copies "$PID") and $(copies "$GUARD") copies: $*"
	[[ $(copies "$PID") == 1 && $(copies "$GUARD") == 0 ]]
	let_go
}

only_root() {
	((EUID == 0)) || skip "reading rlockrun's memory takes privileges"
}

# --- copies -----------------------------------------------------------------------

# bats test_tags=native
@test "a password stands once in our memory, and not in the guard's" {
	only_root
	# What is read in vectors with it depends on what lies before it.
	for pad in x{,xxxxxxxx}{,xxxxxxxxxxxxxxxx}; do
		one_copy env PAD="$pad" "$RLOCKRUN" -r "redis://:$PASSWORD@127.0.0.1:$PORT"
	done
	one_copy env RLOCKRUN_REDIS="redis://:$PASSWORD@127.0.0.1:$PORT" "$RLOCKRUN"
	one_copy env RLOCKRUN_PASSWORD="$PASSWORD" "$RLOCKRUN"
	(umask 077 && echo "$PASSWORD" >password)
	one_copy "$RLOCKRUN" --password-file password
	one_copy "$RLOCKRUN" --user default --password-file <(echo "$PASSWORD")
	# A name has to be looked up.
	one_copy "$RLOCKRUN" -r "redis://localhost:$PORT" --password-file password
}

# What vectors take in depends on the alignment of the arguments, half of which the
# kernel chooses.
# bats test_tags=night,native
@test "a password stands once wherever its argument lies" {
	local pad
	only_root
	for pad in {1..16}; do
		PAD=$(printf "%${pad}s") one_copy "$RLOCKRUN" -r "redis://:$PASSWORD@127.0.0.1:$PORT"
	done
}

# bats test_tags=native
@test "a password that was replaced in its file takes the place of the old one" {
	only_root
	(umask 077 && echo first-"$PASSWORD" >password)
	redis-cli -s own/s --no-auth-warning -a "$PASSWORD" config set requirepass first-"$PASSWORD"
	hold_by "$RLOCKRUN" --password-file password -t 9
	export REDISCLI_AUTH=first-$PASSWORD
	redis-cli -s own/s config set requirepass "$PASSWORD"
	REDISCLI_AUTH=$PASSWORD
	echo "$PASSWORD" >password
	redis-cli -s own/s client kill type normal
	wait_until renewed_by_another
	[[ $(copies "$PID") == 1 && $(copies "$GUARD") == 0 ]]
	let_go
}

renewed_by_another() {
	redis-cli -s own/s client list | grep -q 'name=rlockrun:.*cmd=eval'
}

# bats test_tags=night,native
@test "variables that stand twice in the environment are wiped twice" {
	only_root
	one_copy "$HELPERS/with-variables" "RLOCKRUN_PASSWORD=$PASSWORD" \
		"RLOCKRUN_PASSWORD=$PASSWORD" "RLOCKRUN_SENTINEL_PASSWORD=a" \
		"RLOCKRUN_SENTINEL_PASSWORD=$PASSWORD" -- "$RLOCKRUN"
	url=redis://:$PASSWORD@127.0.0.1:$PORT
	one_copy "$HELPERS/with-variables" "RLOCKRUN_REDIS=$url" \
		"RLOCKRUN_REDIS=$url" "RLOCKRUN_REDIS=$PASSWORD@" -- "$RLOCKRUN"
}

@test "of variables that stand twice, the job gets none with a password" {
	url=redis://:$PASSWORD@127.0.0.1:$PORT
	run -0 "$HELPERS/with-variables" "RLOCKRUN_REDIS=$url" "RLOCKRUN_REDIS=$url" \
		"RLOCKRUN_PASSWORD=x" "RLOCKRUN_PASSWORD=$PASSWORD" -- "$RLOCKRUN" -k "$KEY" env
	[[ $output != *"$PASSWORD"* && $output != *RLOCKRUN_PASSWORD* ]]
	[[ $(grep -c '^RLOCKRUN_REDIS=' <<<"$output") == 1 ]]
	[[ $output == *"RLOCKRUN_REDIS=redis://127.0.0.1:$PORT"* ]]
	run -0 "$HELPERS/with-variables" "RLOCKRUN_REDIS=redis://127.0.0.1:$PORT" \
		"RLOCKRUN_REDIS=$url" "RLOCKRUN_PASSWORD=$PASSWORD" -- "$RLOCKRUN" -k "$KEY" env
	[[ $output != *"$PASSWORD"* ]]
}

# bats test_tags=native
@test "a connection that is still being made keeps no password in the guard" {
	only_root
	# shellcheck disable=SC2034 # the proxy's server
	SUITE_DIR=$PWD/own
	start_proxy proxy hold
	start env RLOCKRUN_PASSWORD="$PASSWORD" "$RLOCKRUN" -r "redis://127.0.0.1:$PORT" \
		-k "$KEY" true
	wait_until find_guard "$PID"
	[[ $(copies "$GUARD") == 0 ]]
	kill "$PID"
	wait_until gone "$PID"
}

# --- others -----------------------------------------------------------------------

@test "the job's user can read neither us nor the guard, but the job" {
	need_other_user
	chown "$OTHER_USER" .
	hold_by env RLOCKRUN_PASSWORD="$PASSWORD" setpriv --reuid "$OTHER_USER" \
		--regid "$OTHER_USER" --clear-groups ./rlockrun
	for pid in "$PID" "$GUARD"; do
		for file in environ mem maps auxv; do
			run ! as_other_user cat "/proc/$pid/$file"
			[[ $output == *"Permission denied"* ]]
		done
		run ! as_other_user ls "/proc/$pid/fd"
	done
	as_other_user cat "/proc/$(<job)/environ" | grep -qz '^RLOCKRUN_KEY='
	let_go
}

@test "the job is as dumpable as ever, and its limit of cores is the same" {
	limit=$(ulimit -c)
	RLOCKRUN_PASSWORD=$PASSWORD run -0 rl -- sh -c 'ulimit -c
		exec /usr/bin/python3 -S -c "import ctypes; print(ctypes.CDLL(None).prctl(3))"'
	[[ ${lines[0]} == "$limit" && ${lines[1]} == 1 ]]
	(umask 077 && echo "$PASSWORD" >password)
	export RLOCKRUN_PASSWORD_FILE=$PWD/password
	run -0 rl -- "$RLOCKRUN" -k "$KEY" -- \
		/usr/bin/python3 -S -c 'import ctypes; print(ctypes.CDLL(None).prctl(3))'
	[[ $output == 1 ]]
}

# bats test_tags=native
@test "with hidepid=2 a plain user's job and all it started are stopped as ever" {
	need_other_user
	unshare -m mount -t proc -o hidepid=2 proc /proc 2>/dev/null ||
		skip "a mount namespace takes privileges"
	chown "$OTHER_USER" .
	RLOCKRUN_PASSWORD=$PASSWORD run -124 unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc &&
		exec setpriv --reuid "$0" --regid "$0" --clear-groups "$@"' "$OTHER_USER" \
		./rlockrun -k "$KEY" --max-run 0.3 -- \
		sh -c 'trap "echo >told; exit" TERM; (trap "echo >told.too; exit" TERM; while :; do sleep 0.05; done) & while :; do sleep 0.05; done'
	[[ -e told && -e told.too ]]
}

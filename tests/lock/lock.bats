#!/usr/bin/env bats
# The lock on one server: who gets it, who has to wait, what is on the wire and
# what is left behind.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/clock

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# A job that counts, not atomically, and notices when it is not alone.
write_counting_job() {
	echo 0 >count
	cat >counting <<-'END'
		mkdir inside || echo overlap >>overlaps
		read -r count <count
		echo "$((count + 1))" >count
		rmdir inside
	END
}

# Waits for all that was started.
statuses() {
	local pid code
	for pid in "${STARTED[@]}"; do
		code=0
		wait "$pid" || code=$?
		echo "$code"
	done
}

# --- exclusion ----------------------------------------------------------------

@test "S1: 40 at once: exact count, no overlap, nothing left" {
	local pid
	write_counting_job
	for _ in {1..40}; do
		start "$RLOCKRUN" -k "$KEY" sh ./counting
	done
	for pid in "${STARTED[@]}"; do
		wait "$pid"
	done
	[[ $(<count) == 40 && ! -e overlaps && -z $(keys_left) ]]
}

# All but the one that runs have said why they don't.
all_but_one_refused() {
	[[ $(cat err.* | wc -l) == 19 ]]
}

# bats test_tags=smoke
@test "S2: of 20 -n at once one runs, 19 exit 75" {
	for _ in {1..20}; do
		start "$RLOCKRUN" -k "$KEY" -n "$A_JOB" runs+=%p until:done
	done
	wait_until all_but_one_refused
	touch "done"
	statuses >codes
	[[ $(grep -cx 0 codes) == 1 && $(grep -cx 75 codes) == 19 ]]
	[[ $(wc -l <runs) == 1 ]]
}

# --- busy and waiting -------------------------------------------------------

@test "busy names the holder" {
	LOGNAME=deploy hold
	run -75 rl -n true
	[[ ${#lines[@]} == 1 ]]
	pattern="^rlockrun: \"$KEY\" is held by $(uname -n) \(pid $PID, deploy\)"
	pattern+=' since [0-9]{2}:[0-9]{2}:[0-9]{2}, [0-9]+s ago; command not started$'
	[[ $output =~ $pattern ]]
}

@test "L7: a try that is granted after the time-out is undone" {
	own_clock
	cli set "$KEY" plain PX 60000
	start "$RLOCKRUN" -k "$KEY" -w 2 touch ran
	wait_for_file "$ERR"
	freeze
	# The status says whether it was silent for longer than the server may be.
	wait_until gone "$PID"
	step_clock 3600
	thaw
	# By its clock, which stands still, a lease would never end.
	run -0 rl -w 60 true
	[[ ! -e ran && -z $(keys_left) ]]
}

@test "L9: SCRIPT FLUSH between commands has no effect" {
	hold
	holder=$PID
	start "$RLOCKRUN" -k "$KEY" sh -c 'exit 4'
	wait_for_file "$ERR"
	cli script flush
	touch "done"
	exits_with 0 "$holder"
	cli script flush
	exits_with 4 "$PID"
	[[ ! -s err.1 && $(<"$ERR") == *"; waiting"$'\n'*": acquired after "* && $(wc -l <"$ERR") == 2 ]]
}

# --- fences -----------------------------------------------------------------

@test "S9: fences of 20 holders strictly increase, FLUSHALL or not" {
	own_server
	for turn in {1..20}; do
		rl sh -c 'echo "$RLOCKRUN_FENCE"' >>fences
		[[ $turn != 10 ]] || cli flushall
	done
	sort -c -n -u fences
	[[ $(wc -l <fences) == 20 ]]
}

# --- keys -------------------------------------------------------------------

# named KEY HELPERS: the lock's own key is KEY, those beside it begin so.
named() {
	KEY=$1
	local inside='redis-cli -s "$0" exists "$RLOCKRUN_KEY" "$1i"'
	run -0 rl -n sh -c "$inside" "$SUITE_DIR/s" "$2"
	[[ $output == 2 && $(cli exists "$1") == 0 && $(cli exists "$2i" "$2r") == 2 ]]
}

@test "any name will do, and the keys beside it are named after it" {
	not_over cluster # where nothing can lie beside some
	for name in 'a b' $'line\nfeed' 'ü/日本' '*?[x]' '"quoted\"' '-k' \
		'a}b' 'a{}b' '{}{a}b' '{a' '}{'; do
		named "$name:$KEY" "{$name:$KEY}:rlk:" || echo "$name" >>wrong
		KEY=test:$BATS_SUITE_TEST_NUMBER:$BATS_TEST_NUMBER
	done
	for name in '{a}b' 'a{b}' 'x{{a}}' '{a}{}' 'a}{b}'; do
		named "$name:$KEY" "$name:$KEY:rlkt:" || echo "$name" >>wrong
		KEY=test:$BATS_SUITE_TEST_NUMBER:$BATS_TEST_NUMBER
	done
	cat wrong || true
	[[ ! -e wrong ]]
}

@test "the lock is a UUIDv4 with the ttl, and its record describes the holder" {
	uuid='^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
	USER=deploy hold -t 60
	token=$(cli get "$KEY")
	[[ $token =~ $uuid ]]
	left=$(cli pttl "$KEY")
	((left > 30000 && left <= 60000))
	grep -qzx "RLOCKRUN_TOKEN=$token" "/proc/$(<job)/environ"
	run -0 rl --status --json
	[[ $output == *'"token":"'"$token"'"'*'"host":"'"$(uname -n)"'","pid":'"$PID,"*'"command":"'"$A_JOB"'"'* ]]
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
	run -0 rl sh -c 'echo "$RLOCKRUN_TOKEN"'
	[[ $output =~ $uuid && $output != "$token" ]]
}

# --- renewals ---------------------------------------------------------------

# bats test_tags=smoke
@test "a lease is renewed for as long as the job runs" {
	hold
	is_renewed
	touch "done"
	exits_with 0 "$PID"
}

# --- round trips ------------------------------------------------------------

# What each write to the server holds, of a run with these options.
traced_writes() {
	rl true # the server has the scripts from here on
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 timeout 30 \
		strace -f -qq -s 5000 -o trace -e trace=connect,sendto,write,writev \
		"$RLOCKRUN" "$@" -k "$KEY" true
	[[ $(grep -c 'connect(' trace) == 1 ]]
	grep -F '"*' trace
}

@test "connecting, acquiring and releasing are three round trips" {
	need_strace
	not_over tls sentinel
	traced_writes >writes
	[[ $(wc -l <writes) == 2 ]]
	sed -n 1p writes | grep SETNAME | grep EVAL
	sed -n 2p writes | grep EVAL
}

# The release and the notification are one, the woken waiter's try the other.
@test "from the release to the next job it is two round trips" {
	need_strace
	not_over tls sentinel
	hold
	holder=$PID
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 start \
		strace -f -qq -s 300 -o trace -e trace=sendto,write,writev,execve "$RLOCKRUN" -k "$KEY" true
	wait_until grep -q BLPOP trace
	touch "done"
	exits_with 0 "$PID"
	exits_with 0 "$holder"
	[[ $(awk '/BLPOP/ { sent = 0; next } /"\*/ { sent++ } /execve\(.*true/ { sent_before = sent }
		END { print sent_before }' trace) == 1 ]]
	[[ $(awk '/BLPOP/ { woken = 1 } woken && /"\*/' trace | tail -n 2 | grep -c EVAL) == 2 ]]
}

@test "password and db go along in the first write" {
	need_strace
	not_over cluster # which has no other db
	cli acl setuser "$KEY" on '>secret' '~*' +@all
	traced_writes -r "unix://${KEY//:/%3A}:secret@$SUITE_DIR/s?db=3" >writes
	cli acl deluser "$KEY"
	[[ $(wc -l <writes) == 2 ]]
	sed -n 1p writes | grep 'AUTH.*SELECT.*SETNAME.*EVAL'
	sed -n 2p writes | grep EVAL
}

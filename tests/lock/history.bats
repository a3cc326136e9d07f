#!/usr/bin/env bats
# The record of the last run (:r): who writes it and when, how long it lives, and
# that nothing in it can stop a run.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/queue
load ../helpers/kinds
load ../helpers/faults
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_kinds_test
	R="{$KEY}:rlk:r"
}
teardown() {
	end_monitor
	end_test
}

# history FIELD
history() { cli --raw hget "$R" "$1"; }

# is_recorded FIELD VALUE
is_recorded() {
	[[ $(history "$1") == "$2" ]] || {
		cli hgetall "$R" >&2
		return 1
	}
}

# user RULE...: RLOCKRUN_REDIS is the URL of that user, who may use K and the
# helper keys as an access rule of former versions lists them.
user() {
	cli acl setuser "$KEY" reset on '>secret' "~$KEY" "~{$KEY}:rlk:[finqlm]*" "$@" >/dev/null
	RLOCKRUN_REDIS=unix://${KEY//:/%3a}:secret@$SUITE_DIR/s
}

# --- what is written ------------------------------------------------------------

@test "the start is recorded with the grant, the end with the release" {
	local before
	before=$(server_ms)
	LOGNAME=deploy hold --label 'nightly sync'
	is_recorded token "$(cli get "$KEY")"
	is_recorded host "$(hostname)"
	is_recorded pid "$PID"
	is_recorded user deploy
	is_recorded label 'nightly sync'
	is_recorded fence "$(cli get "$F")"
	is_recorded end ''
	is_recorded status ''
	(($(history start) >= before && $(history start) <= $(server_ms)))
	[[ -z $(history success) ]]
	before=$(server_ms)
	touch "done"
	exits_with 0 "$PID"
	(($(history end) >= before && $(history end) <= $(server_ms)))
	is_recorded status 0
	is_recorded success "$(history end)"
	is_recorded success_fence "$(history fence)"
	is_recorded success_host "$(hostname)"
	(($(cli pttl "$R") > 345590000 && $(cli pttl "$R") <= 345600000))
}

@test "the last success outlives later failures" {
	run -0 rl true
	local success fence
	success=$(history success)
	fence=$(history success_fence)
	run -3 rl sh -c 'exit 3'
	is_recorded status 3
	run -137 rl sh -c 'kill -9 $$'
	is_recorded status 137
	printf '#!/nowhere\n' >job
	chmod +x job
	run -126 rl ./job
	is_recorded status 126
	run -124 rl --max-run 0.1 sleep 10
	is_recorded status 124
	is_recorded success "$success"
	is_recorded success_fence "$fence"
	[[ $(history fence) != "$fence" ]]
}

@test "a run that is killed records no end; one that loses its lock does so by its fence" {
	hold
	kill -KILL "$PID"
	end_lease
	is_recorded end ''
	is_recorded pid "$PID"
	for loss in "$RLOCKRUN --force-release --yes -k $KEY" "redis-cli -s $SUITE_DIR/s del $KEY"; do
		rm -f job "done"
		hold
		$loss
		touch "done"
		exits_with 79 "$PID"
		wait_until is_recorded status 79
		is_recorded pid "$PID"
		(($(history end) >= $(history start)))
		[[ -z $(history success) ]]
	done
	wait_until none_left
}

@test "--min-hold: the end is recorded when the job ends" {
	run -0 rl --min-hold 1h true
	is_recorded status 0
	is_recorded token "$(cli get "$KEY")"
	cli del "$KEY" "$I"
}

@test "a nested run records nothing, the outer run its own end" {
	start "$RLOCKRUN" -k "$KEY" sh -c '"$0" -k "$1" "$2" inside=%p until:done exit:9 &
		"$2" until:inside exit:4' "$RLOCKRUN" "$KEY" "$A_JOB"
	exits_with 4 "$PID"
	is_held
	is_recorded pid "$PID"
	is_recorded status 4
	local end
	end=$(history end)
	touch "done"
	wait_until is_free
	is_recorded status 4
	is_recorded end "$end"
	wait_until none_left
}

@test "shared: each grant is the last run, each success counts" {
	local kind
	for kind in -s -p2; do
		cli del "$R"
		rm -f ./*.started go*
		STARTED=()
		holds A "$kind"
		holds B "$kind"
		is_recorded pid "${STARTED[1]}"
		touch go.A
		exits_with 0 "${STARTED[0]}"
		is_recorded end ''
		is_recorded pid "${STARTED[1]}"
		(($(history success) > 0))
		[[ $(history success_fence) != "$(history fence)" ]]
		touch go
		exits_with 0 "${STARTED[1]}"
		is_recorded status 0
		is_recorded success_fence "$(history fence)"
	done
}

# bats test_tags=night
@test "a grant that no job has used is no run" {
	run -0 rl true
	own=$RLOCKRUN_REDIS
	start_proxy late late:700:EVAL/8:1
	run -69 rl -w 0.5 touch ran
	wait_until has_passed late EVAL/9 1
	RLOCKRUN_REDIS=$own
	wait_until is_recorded token ''
	[[ ! -e ran ]]
	(($(history success) > 0))
	wait_until none_left
	# Released again, as the other one is held.
	run -0 rl true
	start "$RLOCKRUN" -k "$KEY:z" "$A_JOB" other=%p until:done
	wait_for_file other
	run -75 rl -k "$KEY:z" -n touch ran
	is_recorded token ''
	touch "done"
	exits_with 0 "$PID"
	[[ ! -e ran ]]
}

# --- how long it lives ----------------------------------------------------------

@test "--keep-history: the longest time counts, at least two ttls" {
	run -0 rl --keep-history 1h true
	(($(cli pttl "$R") > 3590000 && $(cli pttl "$R") <= 3600000))
	run -0 rl --keep-history 3h true
	(($(cli pttl "$R") > 3 * 3590000))
	run -0 rl --keep-history 1h true
	(($(cli pttl "$R") > 3 * 3590000))
	cli del "$R"
	run -0 rl --keep-history 1 -t 100 true
	(($(cli pttl "$R") > 190000 && $(cli pttl "$R") <= 200000))
	cli del "$R"
	RLOCKRUN_KEEP_HISTORY=1h run -0 rl true
	(($(cli pttl "$R") > 3590000 && $(cli pttl "$R") <= 3600000))
}

# bats test_tags=night
@test "the record lasts as long as a job that is longer than --keep-history" {
	own_server
	monitor
	hold -t 1 --keep-history 1
	wait_until eval '(($(grep -c "\"PEXPIRE\" \"$R\" \"2000\"" "$MONITOR") > 3))'
	is_recorded pid "$PID"
	touch "done"
	exits_with 0 "$PID"
	is_recorded status 0
}

# bats test_tags=night
@test "a long job does not shorten the life that another run has set" {
	own_server
	monitor
	run -0 rl --keep-history 1h true
	hold -t 1 --keep-history 1
	wait_until eval '(($(grep -c "\"PEXPIRE\" \"$I\"" "$MONITOR") > 7))'
	(($(cli pttl "$R") > 3500000))
	touch "done"
	exits_with 0 "$PID"
	(($(cli pttl "$R") > 3500000))
}

# bats test_tags=night
@test "a long history is not armed with each renewal" {
	own_server
	monitor
	hold -t 1
	wait_until eval '(($(grep -c "\"PEXPIRE\" \"$I\"" "$MONITOR") > 3))'
	touch "done"
	exits_with 0 "$PID"
	catch_up
	# By acquire; after so short a time the release has to lengthen it, too.
	[[ $(grep -c "\"PEXPIRE\" \"$R\"" "$MONITOR") == 2 ]]
}

@test "--keep-history 0 does not even name the key" {
	own_server
	run -0 rl true
	local before
	before=$(cli hgetall "$R")
	monitor
	run -5 rl --keep-history 0 sh -c 'exit 5'
	run -0 rl --keep-history 0 --min-hold 0.1 true
	catch_up
	run ! grep -F "$R" "$MONITOR"
	[[ $(cli hgetall "$R") == "$before" ]]
}

# --- what cannot be kept --------------------------------------------------------

@test "a user without permission for the record runs as before, with the queue" {
	user +@all
	run -0 rl true
	[[ -z $output ]]
	hold
	start "$RLOCKRUN" -k "$KEY" -v true
	wait_until is_queued "$PID"
	touch "done"
	exits_with 0 "$PID"
	grep -q "\"$KEY\": the run is not recorded: error from .*NOPERM" "$ERR"
	run ! grep "queue cannot be used" "$ERR"
	exits_with 0 "${STARTED[0]}"
	[[ ! -s err.1 && $(cli exists "$R") == 0 ]]
	run -0 rl -v --keep-history 0 true
	[[ $output != *recorded* ]]
	cli acl deluser "$KEY"
}

@test "it costs such a user one more try, and others none" {
	own_server
	start_proxy proxy
	run -0 rl true
	[[ $(grep -c '^EVAL/' proxy/log) == 2 ]]
	cli acl setuser default resetkeys '~test:*' '~{test:*}:rlk:[finqlm]*'
	run -0 rl true
	cli acl setuser default resetkeys '~*'
	tail -n 3 proxy/log | xargs >seen
	[[ $(<seen) == 'EVAL/8 EVAL/7 EVAL/8' ]]
}

@test "several servers record nothing, and -v says so" {
	own_server
	start_server "$PWD/two"
	start_server "$PWD/three"
	run -0 rl --min-uptime 0 -v -r "unix://$SUITE_DIR/s" -r "unix://$PWD/two/s" \
		-r "unix://$PWD/three/s" true
	[[ $output == *"\"$KEY\": the run is not recorded: several servers keep none"* ]]
	[[ $(cli exists "$R") == 0 ]]
}

# --- damage ---------------------------------------------------------------------

@test "a record of the wrong type is replaced" {
	local damage
	for damage in "set $R x" "rpush $R a b c" "zadd $R 1 a" "sadd $R a"; do
		cli del "$R"
		# shellcheck disable=SC2086 # a command is several words
		cli $damage >/dev/null
		run -0 rl true
		[[ -z $output && $(cli type "$R") == hash ]]
		is_recorded status 0
	done
}

@test "garbage in the record is overwritten, and what the job does to it stops nothing" {
	local damage
	cli hset "$R" token x start 1e300 end -7 status 1e300 fence garbage success nan \
		success_host "$(printf 'x%.0s' {1..5000})" other thing
	run -0 rl true
	[[ -z $output ]]
	is_recorded status 0
	is_recorded other thing
	for damage in "del $R" "set $R x" "hset $R token x end 5 start 1e300"; do
		# shellcheck disable=SC2086 # a command is several words
		run -0 rl redis-cli -s "$SUITE_DIR/s" $damage
		run -0 rl true
		[[ -z $output ]]
		is_recorded status 0
	done
}

@test "a full server: the lock is acquired or not as before, and always freed" {
	own_server
	hold
	cli config set maxmemory 1
	touch "done"
	exits_with 0 "$PID"
	[[ ! -s err.1 && -z $(keys_left) ]]
	cli config set maxmemory 0
	run -0 rl true
	is_recorded status 0
}

# --- R2 -------------------------------------------------------------------------

@test "R2: a release that comes twice records one end" {
	own_server
	monitor
	run -3 rl sh -c 'exit 3'
	catch_up
	local before
	before=$(cli hgetall "$R")
	run -0 "$HELPERS/again" "$MONITOR" "$SUITE_DIR/s" EVAL/9 1
	[[ $(cli hgetall "$R") == "$before" ]]
}

# --- what is shown of it --------------------------------------------------------

# status OPTION...
status() {
	run -0 --separate-stderr "$RLOCKRUN" --status -k "$KEY" "$@"
	printf '%s\n' "$output" "$stderr"
}

# record FIELD VALUE...: a last run of an hour ago, with these fields changed.
record() {
	local now
	now=$(server_ms)
	cli del "$R" >/dev/null
	cli hset "$R" token gone host web-3 pid 421 user ci label '' fence 17 \
		start $((now - 3606000)) end $((now - 3360000)) status 0 \
		success $((now - 3360000)) success_fence 17 success_host web-3 "$@" >/dev/null
}

# at AGO_MS: that time as a message shows it.
at() { date -d "@$(($(server_ms) / 1000 - $1 / 1000))" +%H:%M; }

@test "--status shows the last run, also if nobody holds the lock" {
	status
	[[ $output != *"last run"* && $output != *success* ]]
	record
	status
	[[ -z $stderr && $output == *"holder:   nobody"* ]]
	[[ $output =~ "last run: web-3 (pid 421, ci), "([0-9-]+ )?$(at 3606000):..' to '([0-9-]+ )?$(at 3360000):..' (4m06s), status 0' ]]
	[[ $output != *success:* ]]
	record label 'nightly sync' status 3 success_host web-1
	cli hset "$R" success $(($(server_ms) - 7200000))
	status
	[[ $output == *'last run: web-3 (pid 421, ci, "nightly sync"), '*" (4m06s), status 3"* ]]
	[[ $output =~ "success:  web-1 at "([0-9-]+ )?$(at 7200000):..", 2h00m ago" ]]
	record token ''
	status
	[[ -z $stderr && $output != *"last run"* && $output == *"success:  web-3 at "* ]]
	run -0 "$RLOCKRUN" --status -q -k "$KEY"
	[[ -z $output ]]
}

@test "--status: a run without an end did not finish, unless it still holds the lock" {
	local kind
	record end '' status ''
	status
	[[ $output =~ "last run: web-3 (pid 421, ci), since "([0-9-]+ )?$(at 3606000):..", did not finish" ]]
	for kind in -x -s -p2; do
		rm -f job "done"
		hold "$kind"
		status
		[[ $output == *"holder:   "* && $output != *"last run"* && $output == *"success:  "*" at "* ]]
		status --json
		has_json '"last_run":{"running":true,"host":"'"$(uname -n)\",\"pid\":$PID," '"end_ms":null,"status":null'
		touch "done"
		exits_with 0 "$PID"
	done
	run -0 rl --min-hold 1h true
	status
	[[ $output == *"kept for --min-hold"*"last run: "*"status 0"* ]]
	cli del "$KEY" "$I"
}

@test "--status --json has all of it" {
	status --json
	has_json '"last_run":null,"last_success":null'
	LOGNAME=deploy run -3 rl --label x sh -c 'exit 3'
	status --json
	[[ $output =~ '"start_ms":'([0-9]+)',"end_ms":'([0-9]+)',"status":3,"reason":'[^,]*',"waited_ms":'[^,]*',"fence":'([0-9]+)'}' ]]
	((BASH_REMATCH[1] <= BASH_REMATCH[2]))
	has_json "\"fence\":${BASH_REMATCH[3]},\"kind\""
	has_json "\"last_run\":{\"running\":false,\"host\":\"$(hostname)\",\"pid\":" '"user":"deploy","label":"x"' \
		'"status":3,' '"last_success":null'
	run -0 rl true
	status --json
	[[ $output =~ '"end_ms":'([0-9]+),.*'"last_success":{"end_ms":'([0-9]+)',"host":"'"$(hostname)"'"' ]]
	[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
	run -0 "$RLOCKRUN" --list --json "$KEY"
	[[ $output != *last_run* ]]
}

@test "--status: garbage is reported or cut, never shown raw" {
	local number field
	for number in 1e300 -5; do
		for field in start end success; do
			record "$field" "$number"
			status
			[[ $stderr == "rlockrun: \"$KEY\": damaged: $R: $field is no number in range" ]]
			status --json
			has_json "\"problems\":[\"$R: $field is no number in range\"]"
		done
		for field in pid status fence; do
			record "$field" "$number"
			status
			[[ $stderr == *"damaged: $R: $field is no number in range"* ]]
			[[ $output == *"last run: web-3"* ]]
		done
	done
	record host $'web\e[2J\n' user "$(printf 'u%.0s' {1..5000})" label $'\a"x'
	status
	[[ $output == *'last run: web\x1b[2J\n (pid 421, uuu'* && $output != *$'\e'* && $output != *$'\a'* ]]
	((${#output} < 2000))
	cli del "$R"
	cli rpush "$R" a b
	status
	[[ $stderr == "rlockrun: \"$KEY\": damaged: $R: WRONGTYPE "* ]]
	cli del "$R"
	cli hset "$R" other thing
	status
	[[ -z $stderr && $output != *"last run"* ]]
}

@test "--status: a success in the future is shown as such" {
	cli hset "$R" success $(($(server_ms) + 5400000)) success_host web-1
	status
	[[ -z $stderr && $output =~ "success:  web-1 at "[0-9:\ -]+", 1h"(29|30)"m in the future by the clock of the server" ]]
	[[ $output != *" ago"* ]]
	cli hset "$R" success $(($(server_ms) + 30000))
	status
	[[ $output == *"success:  web-1 at "*", 0s ago"* && $output != *future* ]]
}

@test "a run in the future is shown as such by --status, --history and --list --all" {
	local now ahead
	now=$(server_ms)
	ahead=$((now + 2592060000))
	record start $ahead end $((ahead + 2000)) success $((ahead + 2000)) expect 3600000
	status
	[[ $output =~ "last run: web-3 (pid 421, ci), "[0-9-]+" "[0-9:]+" (future) to "[0-9-]+" "[0-9:]+" (future) (2s), status 0" ]]
	[[ $output == *"expected: a success every 1h00m; whether it is overdue is not known"* ]]
	run -0 "$RLOCKRUN" --history -k "$KEY"
	[[ ${lines[1]} =~ ^[0-9-]+\ [0-9:]+\ "(future)  2s " ]]
	run -0 --separate-stderr "$RLOCKRUN" --list --all "$KEY"
	[[ ${lines[1]} == "$KEY "*" (future)  2s "*" future   -" ]]
	record start $((now + 30000)) end $((now + 32000)) success $((now + 32000)) expect 3600000
	status
	[[ $output == *"last run: "* && $output != *future* && $output != *"not known"* ]]
	run -0 "$RLOCKRUN" --history -k "$KEY"
	[[ $output != *future* ]]
	run -0 --separate-stderr "$RLOCKRUN" --list --all "$KEY"
	[[ $output != *future* && $output == *" 0s "* ]]
}

@test "--status: without permission for the record the rest is shown, -v says why" {
	record
	user +@all
	status
	[[ -z $stderr && $output == *"holder:   nobody"* && $output != *"last run"* ]]
	status -v
	[[ $stderr == "rlockrun: \"$KEY\": the last run is not shown: refused by "*NOPERM* ]]
	cli acl deluser "$KEY"
}

# --- several locks ---------------------------------------------------------------

# of NUMBER FIELD
of() { cli --raw hget "{$KEY:$1}:rlk:r" "$2"; }

# two COMMAND...: under the locks KEY:1 and KEY:2.
two() { start "$RLOCKRUN" -k "$KEY:1" -k "$KEY:2" "$@"; }

is_free_pair() { [[ $(cli exists "$KEY:1" "$KEY:2") == 0 ]]; }

# two_released COMMAND...: the same, until only KEY:2 has been released: the server
# puts the other release off.
two_released() {
	# shellcheck disable=SC2046 # several rules
	through $(printf 'answer:EVAL/9:%d:-LOADING\n' {2..99})
	two "$@"
	wait_until eval '[[ -n $(of 2 success) ]]'
}

@test "S31: a lock lost after the others were confirmed: the success is taken back" {
	two_released true
	cli del "$KEY:1"
	rules
	exits_with 79 "$PID"
	[[ $(of 2 status) == 79 && -z $(of 2 success) && -z $(of 2 success_fence) ]]
	[[ -z $(of 1 success) && $(of 1 status) == 79 ]]
}

@test "S31: it is taken back, too, if the reply to its release was lost" {
	# shellcheck disable=SC2046 # several rules
	through cut:EVAL/9:1 $(printf 'answer:EVAL/9:%d:-LOADING\n' {2..99})
	two true
	wait_until eval '[[ -n $(of 2 success) ]]'
	passed answered 2
	cli del "$KEY:1"
	rules
	exits_with 79 "$PID"
	[[ $(of 2 status) == 79 && -z $(of 2 success) && -z $(of 2 success_fence) ]]
}

@test "what a later run has recorded meanwhile is not taken back" {
	local success
	two_released true
	timeout 20 "$RLOCKRUN" -r "$SUITE_URL" -k "$KEY:2" true
	success=$(of 2 success)
	cli del "$KEY:1"
	rules
	exits_with 79 "$PID"
	[[ $(of 2 status) == 0 && $(of 2 success) == "$success" ]]
}

@test "a correction that does not reach the server is repeated" {
	two_released true
	cli del "$KEY:1"
	rules lose:EVAL/1:1
	exits_with 79 "$PID"
	[[ $(of 2 status) == 79 && -z $(of 2 success) ]]
	grep -q '^EVAL/1' proxy/log
}

@test "a renewal after the job whose reply is lost is repeated before the release" {
	through cut:EVAL/1:2
	two -- sh -c 'exit 3'
	exits_with 3 "$PID"
	[[ $(of 1 status) == 3 && $(of 2 status) == 3 && ! -s $ERR && -z $(keys_left) ]]
}

# bats test_tags=night
@test "a server that is silent after the job does not keep it from its end" {
	own_server
	two -t 30 -- sh -c 'kill -STOP "$(cat own/pid)"; exit 3'
	wait_until grep -q "cannot confirm the release" "$ERR"
	exits_with 3 "$PID"
	thaw
}

@test "TERM after the job, to one whose server is frozen: all are free when it goes on" {
	own_server
	two -t 30 -- sh -c 'kill -STOP "$(cat own/pid)"; echo >frozen; exit 3'
	wait_for_file frozen
	kill -TERM "$PID"
	exits_with 3 "$PID"
	thaw
	wait_until is_free_pair
	[[ $(of 1 status) == 3 && $(of 2 status) == 3 ]]
}

#!/usr/bin/env bats
# The last runs (:r) and the last success (:i): who records them and when, how long
# they live, and that nothing in them can stop a run.
# shellcheck disable=SC2016,SC2154 # the jobs' shells expand that, and run sets stderr

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

# last FIELD: of the last run, as --status --json shows it; nothing for null.
# success FIELD: of the last success.
last() { field "$KEY" last_run "$1"; }
success() { field "$KEY" last_success "$1"; }
field() {
	timeout 20 "$RLOCKRUN" --status --json -r "unix://$SUITE_DIR/s" -k "$1" |
		sed -n 's/.*"'"$2"'":{[^}]*"'"$3"'":"\?\([^",}]*\).*/\1/p' | sed 's/^null$//'
}

# is_recorded FIELD VALUE
is_recorded() {
	[[ $(last "$1") == "$2" ]] || {
		cli lrange "$R" 0 -1 >&2
		cli hgetall "$I" >&2
		return 1
	}
}

# --- what is written ------------------------------------------------------------

@test "the start is recorded with the grant, the end with the release" {
	local before
	before=$(server_ms)
	LOGNAME=deploy hold --label 'nightly sync'
	is_recorded running true
	is_recorded host "$(hostname)"
	is_recorded pid "$PID"
	is_recorded user deploy
	is_recorded label 'nightly sync'
	is_recorded fence "$(fence)"
	is_recorded end_ms ''
	is_recorded status ''
	(($(last start_ms) >= before && $(last start_ms) <= $(server_ms)))
	[[ -z $(success end_ms) ]]
	before=$(server_ms)
	touch "done"
	exits_with 0 "$PID"
	(($(last end_ms) >= before && $(last end_ms) <= $(server_ms)))
	is_recorded running false
	is_recorded status 0
	is_recorded end_ms "$(success end_ms)"
	is_recorded fence "$(success fence)"
	[[ $(success host) == "$(hostname)" ]]
	for key in "$R" "$I"; do
		(($(cli pttl "$key") > 345590000 && $(cli pttl "$key") <= 345600000))
	done
}

@test "the last success outlives later failures" {
	run -0 rl true
	local ended fence
	ended=$(success end_ms)
	fence=$(success fence)
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
	[[ $(success end_ms) == "$ended" && $(success fence) == "$fence" ]]
	[[ $(last fence) != "$fence" ]]
}

@test "a run that is killed records no end; one that loses its lock does so by its fence" {
	hold
	kill -KILL "$PID"
	end_lease
	is_recorded end_ms ''
	is_recorded pid "$PID"
	for loss in "$RLOCKRUN --force-release --yes -k $KEY" "redis-cli -s $SUITE_DIR/s del $KEY"; do
		rm -f job "done"
		hold
		$loss
		touch "done"
		exits_with 79 "$PID"
		wait_until is_recorded status 79
		is_recorded pid "$PID"
		(($(last end_ms) >= $(last start_ms)))
		[[ -z $(success end_ms) ]]
	done
	wait_until none_left
}

@test "--min-hold: the end is recorded when the job ends" {
	run -0 rl --min-hold 1h true
	is_recorded status 0
	[[ -n $(success end_ms) ]]
	cli del "$KEY"
}

@test "a nested run records nothing, the outer run its own end" {
	start "$RLOCKRUN" -k "$KEY" sh -c '"$0" -k "$1" "$2" inside=%p until:done exit:9 &
		"$2" until:inside exit:4' "$RLOCKRUN" "$KEY" "$A_JOB"
	exits_with 4 "$PID"
	is_held
	is_recorded pid "$PID"
	is_recorded status 4
	local end
	end=$(last end_ms)
	touch "done"
	wait_until is_free
	is_recorded status 4
	is_recorded end_ms "$end"
	wait_until none_left
}

@test "shared: each grant is the last run, each success counts" {
	local kind
	for kind in -s -p2; do
		cli del "$R" "$I"
		rm -f ./*.started go*
		STARTED=()
		holds A "$kind"
		holds B "$kind"
		is_recorded pid "${STARTED[1]}"
		touch go.A
		exits_with 0 "${STARTED[0]}"
		is_recorded end_ms ''
		is_recorded pid "${STARTED[1]}"
		(($(success end_ms) > 0))
		[[ $(success fence) != "$(last fence)" ]]
		touch go
		exits_with 0 "${STARTED[1]}"
		is_recorded status 0
		is_recorded fence "$(success fence)"
	done
}

# bats test_tags=night
@test "a grant that no job has used is no run" {
	run -0 rl true
	own=$RLOCKRUN_REDIS
	start_proxy late late:700:EVAL/acquire:1
	run -69 rl -w 0.5 touch ran
	wait_until has_passed late EVAL/release 1
	RLOCKRUN_REDIS=$own
	wait_until none_left
	is_recorded status 0
	is_recorded fence "$(success fence)"
	# Released again, as the other one is held.
	start "$RLOCKRUN" -k "$KEY:z" "$A_JOB" other=%p until:done
	wait_for_file other
	run -75 rl -k "$KEY:z" -n touch ran
	is_recorded fence "$(success fence)"
	touch "done"
	exits_with 0 "$PID"
	[[ ! -e ran ]]
}

# --- how long it lives ----------------------------------------------------------

# lives KEY MS: so long, but for the seconds of this test.
lives() {
	ask pttl "$1"
	echo "$1 lives $REPLY"
	((REPLY > $2 - 30000 && REPLY <= $2))
}

@test "--keep-history: how long the runs are kept; what is known of the lock, an hour at least" {
	run -0 rl --keep-history 2h true
	lives "$R" 7200000
	lives "$I" 7200000
	run -0 rl --keep-history 3h true
	lives "$R" 10800000
	run -0 rl --keep-history 1h true
	lives "$I" 10800000
	cli del "$R" "$I"
	run -0 rl --keep-history 60 true
	lives "$R" 60000
	lives "$I" 3600000
	RLOCKRUN_KEEP_HISTORY=2h run -0 rl true
	lives "$R" 7200000
}

@test "--keep-history 0 records no run and no success" {
	run -0 rl true
	local before
	before=$(last fence)
	run -5 rl --keep-history 0 sh -c 'exit 5'
	run -0 rl --keep-history 0 true
	run -0 rl --keep-history 0 --min-hold 0.1 true
	is_recorded fence "$before"
	[[ $(success fence) == "$before" && $(cli llen "$R") == 1 ]]
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
	local key damage
	for key in "$R" "$I"; do
		for damage in "set $key x" "zadd $key 1 a" "sadd $key a"; do
			cli del "$key"
			# shellcheck disable=SC2086 # a command is several words
			cli $damage >/dev/null
			run -0 rl true
			[[ -z $output && $(cli type "$R") == list && $(cli type "$I") == hash ]]
			is_recorded status 0
		done
	done
}

@test "garbage in the record is overwritten, and what the job does to it stops nothing" {
	local damage long
	long=$(printf 'x%.0s' {1..5000})
	cli hset "$I" f garbage s "nan $long" h "$long 1e300 -7 run $long" t 1e300 other thing
	cli rpush "$R" '' garbage "-1 1e300 nan $long" "$long"
	run -0 rl true
	[[ -z $output ]]
	is_recorded status 0
	[[ $(last fence) =~ ^[0-9]{16}$ && $(cli hget "$I" other) == thing ]]
	for damage in "del $R $I" "set $R x" "set $I x" "hset $I h x s x f -5" "lpush $R x"; do
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

# --- what was refused --------------------------------------------------------------

# shows LINE...: --status has such lines; X stands for a time.
shows() {
	local line
	run -0 rl --status
	for line; do
		line=${line//X/[0-9:]*}
		# shellcheck disable=SC2053 # a pattern
		grep -qx "$line" <<<"$output" || {
			echo "$line" >&2
			return 1
		}
	done
}

@test "each skip is shown with its host, its time and its reason" {
	local here
	here=$(hostname)
	run -0 rl --once-per 1h true
	run -75 rl -q --once-per 1h true
	shows "last skipped: $here, X, not due: succeeded on $here at X"
	hold --replaceable
	run -75 rl -q -n true
	run -75 rl -q -w 0.1 true
	shows "last skipped: $here, X, not due: succeeded on $here at X" \
		"last skipped: $here, X, busy: held by $here (pid $PID, .*) since X" \
		"last skipped: $here, X, the wait was over: held by $here (pid $PID, .*) since X"
	run -0 rl -q --replace true
	exits_with 80 "$PID"
	shows "$here (pid $PID, .*) was replaced at X by $here (pid [0-9]*, .*)"
	cli pexpire "$I" 60000
	run -75 rl -q --once-per 1h true
	(($(cli pttl "$I") > 60000))
}

@test "a run is skipped, too, by a full server" {
	own_server
	run -0 rl --once-per 1h true
	hold
	cli config set maxmemory 1
	run -75 rl -n true
	[[ $output == *"is held by "* ]]
	touch "done"
	exits_with 0 "$PID"
	run -75 rl -n --once-per 1h true
	[[ $output == *"last succeeded on "* ]]
	cli config set maxmemory 0
}

# --- R2 -------------------------------------------------------------------------

@test "R2: a release that comes twice records one end" {
	own_server
	monitor
	run -3 rl sh -c 'exit 3'
	catch_up
	local before
	before=$(cli lrange "$R" 0 -1; cli hgetall "$I")
	run -0 "$HELPERS/again" "$MONITOR" "$SUITE_DIR/s" EVAL/release 1
	[[ $(cli lrange "$R" 0 -1; cli hgetall "$I") == "$before" ]]
}

# --- what is shown of it --------------------------------------------------------

# status OPTION...
status() {
	run -0 --separate-stderr "$RLOCKRUN" --status -k "$KEY" "$@"
	printf '%s\n' "$output" "$stderr"
}

# record START END [STATUS]: the only run, a success unless the status says
# otherwise; without an end "-".
record() {
	local run="17 $1 run 0 421 web-3 ci - sh"
	cli del "$R" "$I" >/dev/null
	cli rpush "$R" "$2 ${3:-0} 5 job_ended $run" >/dev/null
	[[ ${3:-0} != 0 ]] || cli hset "$I" s "$2 $run" >/dev/null
}

@test "--status: a run without an end did not finish, unless it still holds the lock" {
	local kind
	record $(($(server_ms) - 3606000)) - -
	status
	[[ $output == *"last run: web-3 (pid 421, ci), since "*", did not finish"* ]]
	run -0 rl true
	for kind in -x -s -p2; do
		rm -f job "done"
		hold "$kind"
		status
		[[ $output == *"holder:   "* && $output != *"last run"* ]]
		status --json
		has_json '"last_run":{"running":true,"host":"'"$(uname -n)\",\"pid\":$PID," '"end_ms":null,"status":null'
		touch "done"
		exits_with 0 "$PID"
	done
	run -0 rl --min-hold 1h true
	status
	[[ $output == *"kept for --min-hold"*"last run: "*"status 0"* ]]
	cli del "$KEY"
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

@test "a run in the future is shown as such by --status, --history and --list --all" {
	local now ahead
	now=$(server_ms)
	ahead=$((now + 2592060000))
	record $ahead $((ahead + 2000))
	cli hset "$I" e 3600000
	status
	[[ $output =~ "last run: web-3 (pid 421, ci), "[0-9-]+" "[0-9:]+" (future) to "[0-9-]+" "[0-9:]+" (future) (2s), status 0" ]]
	[[ $output == *"expected: a success every 1h00m; whether it is overdue is not known"* ]]
	run -0 "$RLOCKRUN" --history -k "$KEY"
	[[ ${lines[1]} =~ ^[0-9-]+\ [0-9:]+\ "(future)  2s " ]]
	run -0 --separate-stderr "$RLOCKRUN" --list --all "$KEY"
	[[ ${lines[1]} == "$KEY "*" (future)  2s "*" future   -" ]]
	record $((now + 30000)) $((now + 32000))
	cli hset "$I" e 3600000
	status
	[[ $output == *"last run: "* && $output != *future* && $output != *"not known"* ]]
	run -0 "$RLOCKRUN" --history -k "$KEY"
	[[ $output != *future* ]]
	run -0 --separate-stderr "$RLOCKRUN" --list --all "$KEY"
	[[ $output != *future* && $output == *" 0s "* ]]
}

# --- several locks ---------------------------------------------------------------

# two COMMAND...: under the locks KEY:1 and KEY:2.
two() { start "$RLOCKRUN" -k "$KEY:1" -k "$KEY:2" "$@"; }

are_recorded() {
	[[ $(field "$KEY:1" last_run status) == "$1" && $(field "$KEY:2" last_run status) == "$1" ]]
}

is_free_pair() { [[ $(cli exists "$KEY:1" "$KEY:2") == 0 ]]; }

@test "a renewal after the job whose reply is lost is repeated before the release" {
	through cut:EVAL/1:2
	two -- sh -c 'exit 3'
	exits_with 3 "$PID"
	are_recorded 3
	[[ ! -s $ERR && -z $(keys_left) ]]
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
	are_recorded 3
}

#!/usr/bin/env bats
# The last ten runs of a lock, and the last run of all locks: --history, and --list
# with --all and --failed.
# shellcheck disable=SC2016,SC2154 # the jobs' shells are to expand that; run sets stderr

load ../helpers/suite
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	R="{$KEY}:rlk:r"
}
teardown() {
	cli acl deluser "$KEY" >/dev/null
	end_test
}

# shown COLUMNS...: these columns of --history, without its titles.
shown() {
	local columns
	printf -v columns '$%d" "' "$@"
	"$RLOCKRUN" --history -k "$KEY" | awk "NR > 1 { print $columns }" | sed 's/ *$//' |
		paste -sd ,
}

# listed OPTION...: of --list these: name, state and status, in the order of names.
listed() {
	"$RLOCKRUN" --list "$@" "$KEY*" 2>summary | awk 'NR > 1 { print $1, $2, $7 }' | sort | paste -sd ,
}

@test "the last ten runs of thirteen, the newest first" {
	local i
	for i in {1..13}; do
		run "-$((i % 3))" rl sh -c "exit $((i % 3))"
	done
	[[ $(shown 4) == "1,0,2,1,0,2,1,0,2,1" ]]
	[[ $(cli hget "$R" runs) == 12 && $(cli hlen "$R") == 25 ]]
	run -0 "$RLOCKRUN" --history -k "$KEY"
	[[ ${lines[0]} =~ ^STARTED\ +TOOK\ +WAITED\ +STATUS\ +REASON\ +HOST\ +PID\ +USER\ +FENCE\ +LABEL$ ]]
	[[ ${#lines[@]} == 11 ]]
	run -0 "$RLOCKRUN" --history --json -k "$KEY"
	is '[r["status"] for r in it["runs"]], it["runs"][0] == it["last_run"], sorted(it["runs"][5])' \
		"([1, 0, 2, 1, 0, 2, 1, 0, 2, 1], True, ['end_ms', 'fence', 'host', 'label', 'pid', 'reason', 'running', 'start_ms', 'status', 'user', 'waited_ms'])"
	run -0 "$RLOCKRUN" --history -k "$KEY:other"
	[[ $output == "rlockrun: \"$KEY:other\": no run is recorded" ]]
}

@test "why a run ended: by itself, stopped, lost, killed, still running" {
	run -3 rl --label 'a b' sh -c 'exit 3'
	run -124 rl --max-run 0.1 sleep 10
	hold -t 1
	cli del "$KEY"
	exits_with 79 "$PID"
	wait_until eval '[[ $(cli hget "$R" status) == 79 ]]'
	rm job
	hold -t 1
	kill -KILL "$PID"
	wait_until is_free
	rm job
	hold
	[[ $(shown 4 5) == "- running,- no,79 lost,124 overrun,3 job_ended" ]]
	run -0 "$RLOCKRUN" --history -k "$KEY"
	[[ ${lines[2]} == *" no end recorded "* && ${lines[5]} == *" a b" ]]
	run -0 "$RLOCKRUN" --status -k "$KEY"
	touch "done"
	exits_with 0 "$PID"
	run -0 "$RLOCKRUN" --history --json -k "$KEY"
	is '[(r["status"], r["reason"], r["end_ms"] is None, r["running"]) for r in it["runs"]][:2]' \
		"[(0, 'job_ended', False, False), (None, None, True, False)]"
}

@test "a run that lost its lock to another one gets its end behind that one" {
	hold -t 1
	kill -STOP "$PID"
	wait_until is_free
	run -0 rl true
	kill -CONT "$PID"
	exits_with 79 "$PID"
	wait_until eval '[[ $(shown 4) == "0,79" ]]'
	[[ $(cli hget "$R" success_fence) == "$(cli hget "$R" fence)" ]]
}

@test "shared: one that ends after others have started keeps its place, and gets its end" {
	local i
	start "$RLOCKRUN" -s -k "$KEY" sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done; exit 5'
	wait_for_file job
	for i in 1 2 3; do
		run -0 rl -s true
	done
	[[ $(shown 4) == "0,0,0,-" ]]
	touch "done"
	exits_with 5 "$PID"
	[[ $(shown 4 5) == "0 job_ended,0 job_ended,0 job_ended,5 job_ended" ]]
}

@test "a grant that no job has used is no run, and leaves those before it" {
	run -3 rl sh -c 'exit 3'
	start "$RLOCKRUN" -k "$KEY:z" sh -c 'echo >other; until [ -e done ]; do sleep 0.02; done'
	wait_for_file other
	run -75 rl -k "$KEY:z" -n touch ran
	[[ $(shown 4) == 3 ]]
	run -4 rl sh -c 'exit 4'
	[[ $(shown 4) == 4,3 ]]
	touch "done"
	exits_with 0 "$PID"
}

@test "what others wrote is cut, filed and never shown raw; damage costs what it hides" {
	cli hset "$R" token gone host $'web\e[2J\n'"$(printf 'h%.0s' {1..5000})" user "$(printf 'u%.0s' {1..5000})" \
		label $'\a"x'"$(printf 'l%.0s' {1..5000})" pid 1e300 fence x start "$(server_ms)" end -5 status nan \
		more "$(printf '1 1 z%.0s' {1..5000})" runs 99999999999999999999 run3 garbage run4 $'- - -\n\n\n' run5 ''
	run -0 rl true
	[[ -z $output ]]
	(($(cli hstrlen "$R" run0) < 900 && $(cli hget "$R" runs) == 1))
	cli hset "$R" token gone who $'gone 1 2 3\n'"$(printf 'h%.0s' {1..5000})" more '1 2 3 4 z' runs 0
	run -0 rl true
	(($(cli hstrlen "$R" run0) < 900 && $(cli hget "$R" runs) == 1))
	run -0 --separate-stderr "$RLOCKRUN" --history -k "$KEY"
	[[ ${#lines[@]} == 3 && $output != *$'\e'* && $output != *$'\a'* ]]
	cli hset "$R" runs 6
	run -0 --separate-stderr "$RLOCKRUN" --history -k "$KEY"
	[[ ${#lines[@]} == 3 && $stderr == "rlockrun: \"$KEY\": damaged: $R: a former run is damaged" ]]
	run -0 "$RLOCKRUN" --history --json -k "$KEY"
	has_json "\"problems\":[\"$R: a former run is damaged\"]"
	cli del "$R"
	cli set "$R" x
	run -0 "$RLOCKRUN" --history -k "$KEY"
	[[ $output == *"damaged: $R: WRONGTYPE "* ]]
}

@test "a full server keeps no history and runs all the same" {
	own_server
	run -0 rl true
	hold
	cli config set maxmemory 1
	touch "done"
	exits_with 0 "$PID"
	cli config set maxmemory 0
	run -0 rl true
	[[ $(shown 4) == "0,-,0" || $(shown 4) == "0,0,0" ]]
}

@test "--list --all: held and free ones with their last run; --failed: those that failed" {
	run -0 "$RLOCKRUN" -k "$KEY:ok" true
	run -3 "$RLOCKRUN" -k "$KEY:bad" sh -c 'exit 3'
	KEY=$KEY:on hold
	cli set "$KEY:foreign" x
	run -7 "$RLOCKRUN" -k "$KEY:mixed" sh -c 'exit 7'
	cli set "$KEY:mixed" token px 60000
	[[ $(listed --all) == "$KEY:bad free 3,$KEY:mixed exclusive 7,$KEY:ok free 0,$KEY:on exclusive -" ]]
	grep -q "^rlockrun: 4 locks found on " summary
	[[ $(listed --failed) == "$KEY:bad free 3,$KEY:mixed exclusive 7" ]]
	[[ $(listed --all --failed) == "$(listed --failed)" ]]
	run -0 "$RLOCKRUN" --list --failed --json "$KEY:b*"
	has_json "\"name\":\"$KEY:bad\"" '"last_run":{"running":false' '"status":3' '"last_success":null'
	[[ ${#lines[@]} == 1 ]]
	# A run that has begun since does not hide that the one before it failed.
	start "$RLOCKRUN" -k "$KEY:bad" sh -c 'echo >again; until [ -e done ]; do sleep 0.02; done'
	wait_for_file again
	[[ $(listed --failed) == "$KEY:bad exclusive -,$KEY:mixed exclusive 7" ]]
	touch "done"
	exits_with 0 "${STARTED[0]}"
	exits_with 0 "${STARTED[1]}"
	[[ $(listed --failed) == "$KEY:mixed exclusive 7" ]]
	[[ $("$RLOCKRUN" --list --all --prefix "$KEY:" 'o*' 2>/dev/null | awk 'NR > 1 { print $1 }' | sort | paste -sd ,) == "ok,on" ]]
	cli del "$KEY:mixed" "$KEY:foreign"
}

@test "--list --all: a lock whose history is damaged is listed, and a message says so" {
	local bad="{$KEY:bad}:rlk:r"
	run -0 "$RLOCKRUN" -k "$KEY:ok" true
	cli rpush "$bad" x
	[[ $(listed --all) == "$KEY:bad free -,$KEY:ok free 0" ]]
	run -0 --separate-stderr "$RLOCKRUN" --list --failed "$KEY*"
	[[ ${#lines[@]} == 1 && $stderr == "rlockrun: \"$KEY:bad\": damaged: $bad: WRONGTYPE "* ]]
	run -0 --separate-stderr "$RLOCKRUN" --list --all --json "$KEY:b*"
	has_json "\"problems\":[\"$bad: WRONGTYPE " '"last_run":null'
	[[ ${#lines[@]} == 1 && $stderr != *damaged* ]]
	run -0 --separate-stderr "$RLOCKRUN" --list "$KEY*"
	[[ ${#lines[@]} == 1 && $stderr != *damaged* ]]
}

@test "without permission for the history: 77, and why" {
	run -0 rl true
	cli acl setuser "$KEY" reset on '>secret' "~$KEY" "~{$KEY}:rlk:[finqlm]*" +@all >/dev/null
	export RLOCKRUN_REDIS=unix://${KEY//:/%3a}:secret@$SUITE_DIR/s
	run -77 "$RLOCKRUN" --history -k "$KEY"
	[[ $output == *NOPERM* ]]
	run -77 "$RLOCKRUN" --list --all "$KEY*"
	[[ $output == *NOPERM* ]]
}

@test "what does not go together is wrong usage" {
	local options
	for options in '--history' '--history -k a -k b' '--history -k a b' '--history --list' '--all -k a true' \
		'--failed --status -k a' '--list --all -q' '--list --failed --older-than 1s' '--list --all --watch'; do
		# shellcheck disable=SC2086 # several words
		run -64 "$RLOCKRUN" $options
		[[ ${#lines[@]} == 1 && $output == *"; try 'rlockrun --help'" ]]
	done
}

# --- an older version ---------------------------------------------------------------

@test "a version that knows no former runs: its run is filed, ours are kept" {
	run -3 rl sh -c 'exit 3'
	run -4 rl sh -c 'exit 4'
	# What it writes, by its acquire and by its release.
	cli hset "$R" token old host web-9 pid 5 user ci label '' start "$(server_ms)" fence 17 end '' status ''
	cli hset "$R" end "$(server_ms)" status 9
	[[ $(shown 4 5) == "9 -,3 job_ended" ]]
	run -0 rl true
	[[ $(shown 4 5) == "0 job_ended,9 -,3 job_ended" ]]
}

#!/usr/bin/env bats
# --expect and --check: whether jobs have succeeded in time, in the manner of Nagios.
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

# check STATUS ARGUMENT...
check() {
	run "-$1" "$RLOCKRUN" --check "${@:2}"
}

# night NAME SUCCESS_AGO_S STATUS EXPECT_S [FIELD VALUE...]: the last run of that lock
# ended half a minute ago, and the last success so long ago; 0: there was none.
night() {
	local now success=''
	now=$(server_ms)
	(($2 == 0)) || success=$((now - $2 * 1000))
	cli hset "{$KEY:$1}:rlk:r" token gone host web-3 pid 421 user ci label '' fence 17 \
		start $((now - 60000)) end $((now - 30000)) status "$3" success "$success" success_host web-1 \
		expect $(($4 * 1000)) more "17 $((now - 30000)) ${3:-0} 5 job_ended" "${@:5}" >/dev/null
}

@test "--expect is kept with the start, lives four times as long, and ends with 0" {
	local since
	run -0 rl --expect 2d true
	[[ $(cli hget "$R" expect) == 172800000 ]]
	(($(cli pttl "$R") > 8 * 86390000 && $(cli pttl "$R") <= 8 * 86400000))
	run -0 rl true
	[[ $(cli hget "$R" expect) == 172800000 ]]
	run -0 "$RLOCKRUN" --status -k "$KEY"
	[[ $output == *"expected: a success every 2d00h"* && $output != *overdue* ]]
	run -0 "$RLOCKRUN" --status --json -k "$KEY"
	has_json '"expect_ms":172800000'
	run -3 rl --expect 1h sh -c 'exit 3'
	[[ $(cli hget "$R" expect) == 3600000 ]]
	run -0 rl --expect 0 true
	run -0 "$RLOCKRUN" --status --json -k "$KEY"
	has_json '"expect_ms":null'
	RLOCKRUN_EXPECT=1h run -0 rl --metrics . true
	grep -qx "rlockrun_expect_seconds{key=\"$KEY\"} 3600.000" "rlockrun-$KEY.prom"
	since=$(grep "^rlockrun_expect_since_timestamp_seconds{key=\"$KEY\"} " "rlockrun-$KEY.prom")
	run -3 rl --metrics . --expect 2h sh -c 'exit 3'
	grep -qxF "$since" "rlockrun-$KEY.prom"
	run -0 rl --metrics . --expect 0 true
	grep -qx "rlockrun_expect_seconds{key=\"$KEY\"} 0.000" "rlockrun-$KEY.prom"
	run -1 grep '^rlockrun_expect_since_timestamp_seconds{' "rlockrun-$KEY.prom"
}

@test "--check: without a success the period counts from when --expect was first stated, whatever has run since" {
	local since i
	run -3 rl --expect 1h sh -c 'exit 3'
	since=$(cli hget "$R" expect_since)
	[[ $since == "$(cli hget "$R" start)" ]]
	# More runs than are kept.
	for i in {1..12}; do
		run -3 rl --expect 2h sh -c 'exit 3'
	done
	[[ $(cli hget "$R" expect_since) == "$since" ]]
	check 1 "$KEY"
	cli hset "$R" expect_since $((since - 7200001)) >/dev/null
	run -3 rl --expect 2h sh -c 'exit 3'
	run -3 rl sh -c 'exit 3'
	run -0 "$RLOCKRUN" --status --json -k "$KEY"
	has_json "\"expect_ms\":7200000,\"expect_since_ms\":$((since - 7200001))"
	check 2 "$KEY"
	[[ ${lines[1]} == "overdue  \"$KEY\": no success is known, due every 2h00m; last run: status 3 "* ]]
	run -0 "$RLOCKRUN" --status -k "$KEY"
	[[ $output == *"expected: a success every 2h00m, overdue for "* ]]
	# Withdrawn, and stated again: that is another statement.
	run -3 rl --expect 0 sh -c 'exit 3'
	run -0 "$RLOCKRUN" --status --json -k "$KEY"
	has_json '"expect_ms":null,"expect_since_ms":null'
	run -3 rl --expect 2h sh -c 'exit 3'
	[[ $(cli hget "$R" expect_since) == "$(cli hget "$R" start)" ]]
	check 1 "$KEY"
}

@test "--expect: a time of the first statement that is damaged or in the future is set anew" {
	local bad
	for bad in x 1e300 '' $(($(server_ms) + 3600000)); do
		cli hset "$R" expect 7200000 expect_since "$bad" >/dev/null
		run -3 rl --expect 1h sh -c 'exit 3'
		[[ $(cli hget "$R" expect_since) == "$(cli hget "$R" start)" ]]
	done
	# The clocks of two servers, of which one replaces the other, differ a little.
	cli hset "$R" expect_since $(($(server_ms) + 30000)) >/dev/null
	run -3 rl --expect 1h sh -c 'exit 3'
	(($(cli hget "$R" expect_since) > $(cli hget "$R" start)))
	cli hset "$R" expect_since x >/dev/null
	check 3 -k "$KEY"
}

@test "--check: a lock that -k names and a glob matches counts once" {
	night fine 3000 0 3600
	night other 3000 0 3600
	check 0 -k "$KEY:fine" "$KEY:*"
	[[ ${lines[0]} == "RLOCKRUN OK - 0 overdue, 0 failed, 2 ok | ok=2 failed=0 overdue=0 unknown=0" && ${#lines[@]} == 3 ]]
	check 0 --prefix "$KEY:" -k fine 'f*'
	[[ $output == *', 1 ok'* ]]
}

@test "--check: 0 fine, 1 failed but not overdue, 2 overdue, 3 unknown" {
	night fine 3000 0 3600
	check 0 "$KEY:*"
	[[ ${lines[0]} == "RLOCKRUN OK - 0 overdue, 0 failed, 1 ok | ok=1 failed=0 overdue=0 unknown=0" && ${#lines[@]} == 2 ]]
	[[ ${lines[1]} == "ok       \"$KEY:fine\": last success 50m0"?"s ago on web-1" ]]
	night failed 3000 3 3600
	check 1 "$KEY:*"
	[[ ${lines[0]} == "RLOCKRUN WARNING - 0 overdue, 1 failed, 1 ok | ok=1 failed=1 overdue=0 unknown=0" ]]
	[[ ${lines[1]} == "failed   \"$KEY:failed\": last success 50m0"?"s ago on web-1; last run: status 3 (job_ended) on web-3 at "* ]]
	night late 4000 0 3600
	night never 0 3 20
	night 'killed' 100 '' 0 end ''
	check 2 "$KEY:*"
	[[ ${lines[0]} == "RLOCKRUN CRITICAL - 2 overdue, 2 failed, 1 ok | ok=1 failed=2 overdue=2 unknown=0" && ${#lines[@]} == 6 ]]
	[[ ${lines[1]} == "overdue  \"$KEY:late\": last success 1h06m ago on web-1, due every 1h00m" ]]
	[[ ${lines[2]} == "overdue  \"$KEY:never\": no success is known, due every 20s; last run: status 3 "* ]]
	[[ ${lines[4]} == "failed   \"$KEY:killed\": "*"; last run: no end recorded of a run on web-3 since "* ]]
	check 3 "$KEY:none*"
	[[ $output == "RLOCKRUN UNKNOWN - 0 overdue, 0 failed, 0 ok; no such lock is known | ok=0 failed=0 overdue=0 unknown=0" ]]
	check 1 -q "$KEY:failed"
	[[ -z $output ]]
}

@test "--check: a last success more than a minute in the future is unknown, whatever else is known" {
	local month=$((30 * 86400 + 60))
	night near -45 0 3600
	check 0 "$KEY:*"
	[[ ${lines[1]} == "ok       \"$KEY:near\": last success 0s ago on web-1" ]]
	night ahead -$month 0 3600
	check 3 "$KEY:*"
	[[ ${lines[0]} == "RLOCKRUN UNKNOWN - 0 overdue, 0 failed, 1 ok, 1 unknown | ok=1 failed=0 overdue=0 unknown=1" ]]
	[[ ${lines[1]} == "unknown  \"$KEY:ahead\": last success 30d00h in the future on web-1, by the clock of the server" ]]
	check 3 -k "$KEY:ahead" -k "$KEY:near"
	night failed -$month 3 0
	check 3 "$KEY:failed"
	[[ ${lines[1]} == "unknown  "*"; last run: status 3 (job_ended) on web-3 at "* ]]
	# No success, and the time from which one is due is no better.
	night stated 0 3 3600 expect_since $(($(server_ms) + month * 1000))
	check 3 "$KEY:stated"
	[[ ${lines[1]} == "unknown  \"$KEY:stated\": no success is known, and the time from which one is due lies in the future, by the clock of the server; last run: "* ]]
	night late 4000 0 3600
	check 2 "$KEY:*"
	# The next success ends that.
	run -0 "$RLOCKRUN" -k "$KEY:ahead" true
	check 0 "$KEY:ahead"
}

@test "--check: a vertical bar begins performance data, and is in no name or text of others" {
	night 'a|b=7' 4000 3 3600 host 'web|3' success_host '|' more ''
	check 2 "$KEY:*"
	[[ ${lines[0]} == "RLOCKRUN CRITICAL - 1 overdue, 0 failed, 0 ok | ok=0 failed=0 overdue=1 unknown=0" ]]
	[[ ${lines[1]} == "overdue  \"$KEY:a\\x7cb=7\": last success 1h06m ago on \\x7c, due every 1h00m; last run: status 3 on web\\x7c3 at "* ]]
	[[ ${#lines[@]} == 2 && $(tr -cd '|' <<<"$output") == '|' ]]
	# A backslash in a name is doubled: no other name looks like that one.
	night 'a\x7cb=7' 30 0 3600
	check 0 "$KEY:a\\\\x*"
	[[ ${lines[1]} == "ok       \"$KEY:a\\\\x7cb=7\": "* ]]
	run -3 --separate-stderr "$RLOCKRUN" --check -r 'unix:///no|where' --server-timeout 1 -k 'x|y'
	[[ ${lines[0]} == *"; not all could be asked | ok=0 failed=0 overdue=0 unknown=1" ]]
	[[ ${lines[1]} == 'unknown  "x\x7cy": cannot connect to unix:///no'* && $(tr -cd '|' <<<"$output") == '|' ]]
}

@test "--check -k: a lock that never ran is overdue, one that is damaged unknown" {
	night fine 30 0 3600
	check 0 -k "$KEY:fine"
	check 2 -k "$KEY:fine" -k "$KEY:missing"
	[[ ${lines[1]} == "overdue  \"$KEY:missing\": no run is known" && ${lines[2]} == "ok "* ]]
	check 0 --prefix "$KEY:" -k fine
	[[ $output == *', 1 ok'* ]]
	check 0 --prefix "$KEY:" 'f*'
	[[ $output == *', 1 ok'* ]]
	cli set "{$KEY:bad}:rlk:r" x
	check 3 -k "$KEY:bad" -k "$KEY:fine"
	[[ ${lines[1]} == "unknown  \"$KEY:bad\": its history is damaged" ]]
	night bad2 30 0 3600 expect 1e300
	check 3 -k "$KEY:bad2"
}

@test "--check: options may follow a glob" {
	night fine 30 0 3600
	check 2 "$KEY:f*" -k "$KEY:missing"
	[[ ${lines[1]} == "overdue  \"$KEY:missing\": no run is known" && ${lines[2]} == "ok "* ]]
	check 0 "$KEY:f*" -q
	[[ -z $output ]]
}

@test "--check with a glob: a history that is damaged or withheld is unknown, never fine" {
	night fine 30 0 3600
	night bad 30 0 3600 expect 1e300
	check 3 "$KEY:*"
	[[ ${lines[0]} == "RLOCKRUN UNKNOWN - 0 overdue, 0 failed, 1 ok, 1 unknown | ok=1 failed=0 overdue=0 unknown=1" ]]
	[[ ${lines[1]} == "unknown  \"$KEY:bad\": its history is damaged" ]]
	cli del "{$KEY:bad}:rlk:r"
	cli rpush "{$KEY:bad}:rlk:r" x
	check 3 "$KEY:*"
	[[ ${lines[1]} == "unknown  \"$KEY:bad\": its history is damaged" ]]
	cli acl setuser "$KEY" reset on '>secret' '~*' +@all -hmget >/dev/null
	check 3 -r "unix://${KEY//:/%3a}:secret@$SUITE_DIR/s" -k "$KEY:fine"
	[[ ${lines[1]} == "unknown  \"$KEY:fine\": its history may not be read" ]]
	check 3 -r "unix://${KEY//:/%3a}:secret@$SUITE_DIR/s" "$KEY:*"
	[[ $output == *"unknown  \"$KEY:fine\": its history may not be read"* ]]
}

@test "--expect without HMGET is refused" {
	cli acl setuser "$KEY" reset on '>secret' '~*' +@all -hmget >/dev/null
	run -77 rl -r "unix://${KEY//:/%3a}:secret@$SUITE_DIR/s" --expect 1d touch ran
	[[ ! -e ran && $(cli exists "$R") == 0 ]]
}

@test "--check: a run that holds the lock hides neither a failure nor that it is late" {
	night on 3000 3 3600
	start "$RLOCKRUN" -k "$KEY:on" sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done'
	wait_for_file job
	check 1 "$KEY:on"
	[[ ${lines[1]} == *"; running" ]]
	cli hset "{$KEY:on}:rlk:r" expect 1000
	check 2 "$KEY:on"
	touch "done"
	exits_with 0 "$PID"
	check 0 "$KEY:on"
}

@test "--check: a reader that another one follows has not failed while it runs" {
	start "$RLOCKRUN" -s -k "$KEY" sh -c 'echo >job; until [ -e done ]; do sleep 0.02; done'
	wait_for_file job
	start "$RLOCKRUN" -s -k "$KEY" sh -c 'echo >job2; until [ -e done ]; do sleep 0.02; done'
	wait_for_file job2
	check 0 "$KEY"
	run -0 "$RLOCKRUN" --list --failed --json "$KEY"
	[[ $output != *'"held"'* ]]
	touch "done"
	exits_with 0 "$PID"
}

@test "--check: what cannot be asked is 3, also with names and texts of others" {
	check 3 -r unix:///nowhere --server-timeout 1 -k a
	[[ $output == *"RLOCKRUN UNKNOWN - "*"; not all could be asked"*"unknown  \"a\": cannot connect to unix:///nowhere"* ]]
	check 3 -r unix:///nowhere --server-timeout 1
	run -0 rl true
	cli acl setuser "$KEY" reset on '>secret' "~$KEY" "~{$KEY}:rlk:[finqlm]*" +@all >/dev/null
	check 3 -r "unix://${KEY//:/%3a}:secret@$SUITE_DIR/s" -k "$KEY"
	check 3 -r "unix://${KEY//:/%3a}:secret@$SUITE_DIR/s" "$KEY"
	night $'x\e[2J\ny' 4000 3 3600 host $'web\e[2J\n' success_host $'w\a'
	check 2 "$KEY:x*"
	[[ $output != *$'\e'* && $output != *$'\a'* && ${#lines[@]} == 2 ]]
}

# --- a scenario --------------------------------------------------------------------

# promtool's test of the shipped rules with these locks of the night: the alert fires
# for that one alone.
fires_for() {
	local promtool=$ROOT/build/promtool/promtool
	[[ -x $promtool ]] || skip "no promtool: \`make check\` fetches it"
	/usr/bin/python3 - "$ROOT/packaging/examples/rlockrun.rules.yml" "$1" m/*.prom >rules.yml <<-'END'
		import re, sys

		rules, key, *files = sys.argv[1:]
		print(f"rule_files: [{rules}]\ntests:\n  - interval: 1m\n    input_series:")
		for name in files:
		    with open(name, encoding="utf-8") as file:
		        samples = re.findall(r"^(\w+)\{(.*)\} (\S+)$", file.read(), re.M)
		    now = max(float(value) for name, _, value in samples if "_updated_" in name)
		    for name, labels, value in samples:
		        value = float(value) - (now if name.endswith("_timestamp_seconds") else 0)
		        # Written a minute after time 0; the late one 26 hours before that.
		        if name.endswith("_timestamp_seconds"):
		            value += 60 if f'"{key}"' not in labels else 60 - 26 * 3600
		        print(f"      - series: '{name}{{{labels}, instance=\"h\"}}'")
		        print(f"        values: '{value:.3f}x20'")
		print("    promql_expr_test:")
		print("      - expr: ALERTS{alertname=~'RlockrunNoSuccess', alertstate='firing'} * 1")
		print("        eval_time: 10m")
		print(f"        exp_samples: [{{labels: '{{alertname=\"RlockrunNoSuccess\", alertstate=\"firing\","
		      f" key=\"{key}\", severity=\"warning\"}}', value: 1}}]")
	END
	"$promtool" test rules rules.yml
}

@test "S35: a morning after twenty nightly jobs: where each ran, which failed, which is overdue" {
	local i
	mkdir m
	export RLOCKRUN_EXPECT=25h RLOCKRUN_METRICS=m RLOCKRUN_PREFIX="$KEY:"
	for i in {01..20}; do
		rlockrun -k "nightly:$i" sh -c "exit $((10#$i == 7 ? 3 : 0))" || :
	done
	# The thirteenth has not run since the night before.
	cli hset "{$KEY:nightly:13}:rlk:r" start $(($(server_ms) - 93600000)) end $(($(server_ms) - 93500000)) \
		success $(($(server_ms) - 93500000))
	run -0 --separate-stderr "$RLOCKRUN" --list --all 'nightly:*'
	[[ $(sed 1d <<<"$output" | awk -v host="$(hostname)" '$3 == host' | wc -l) == 20 ]]
	run -0 --separate-stderr "$RLOCKRUN" --list --failed 'nightly:*'
	[[ ${#lines[@]} == 2 && ${lines[1]} == "nightly:07 "*" 3 "* ]]
	check 2 'nightly:*'
	[[ ${lines[0]} == "RLOCKRUN CRITICAL - 1 overdue, 1 failed, 18 ok | ok=18 failed=1 overdue=1 unknown=0" && ${#lines[@]} == 21 ]]
	[[ ${lines[1]} == "overdue  \"nightly:13\": last success 1d01h ago on $(hostname), due every 1d01h" ]]
	[[ ${lines[2]} == "failed   \"nightly:07\": no success is known; last run: status 3 (job_ended) on $(hostname) at "* ]]
	fires_for "$KEY:nightly:13"
}

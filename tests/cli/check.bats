#!/usr/bin/env bats
# S35: the morning after nightly jobs, with the shipped rules for their metrics. What
# --check prints is in tests/tables/check.txt.

load ../helpers/suite
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

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

@test "S35: a morning after nightly jobs: which failed, which is overdue, and the alert" {
	local i
	mkdir m
	export RLOCKRUN_EXPECT=25h RLOCKRUN_METRICS=m RLOCKRUN_PREFIX="$KEY:"
	for i in {1..4}; do
		rlockrun -k "nightly:$i" sh -c "exit $((i == 2 ? 3 : 0))" || :
	done
	# The third has not run since the night before.
	cli hset "{$KEY:nightly:3}:rlk:r" start $(($(server_ms) - 93600000)) end $(($(server_ms) - 93500000)) \
		success $(($(server_ms) - 93500000))
	run -2 rlockrun --check 'nightly:*'
	[[ ${lines[0]} == "RLOCKRUN CRITICAL - 1 overdue, 1 failed, 2 ok | ok=2 failed=1 overdue=1 unknown=0" && ${#lines[@]} == 5 ]]
	[[ ${lines[1]} == "overdue  \"nightly:3\": last success 1d01h ago on $(hostname), due every 1d01h" ]]
	[[ ${lines[2]} == "failed   \"nightly:2\": no success is known; last run: status 3 (job_ended) on $(hostname) at "* ]]
	fires_for "$KEY:nightly:3"
}

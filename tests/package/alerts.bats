#!/usr/bin/env bats
# The alert rules and the dashboard of packaging/examples, with promtool, and with
# metrics that rlockrun has written.
# shellcheck disable=SC2016 # hooks' shells are to expand that

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	EXAMPLES=$ROOT/packaging/examples
	RULES=$EXAMPLES/rlockrun.rules.yml
	PROMTOOL=$ROOT/build/promtool/promtool
	mkdir m
}
teardown() { end_test; }

need_promtool() {
	[[ -x $PROMTOOL ]] || skip "no promtool: \`make check\` fetches it"
}

# What rlockrun has written, as the series of a unit test that begins at 0, half an
# hour before.
series() {
	/usr/bin/python3 - m/*.prom <<-'END'
		import re, sys

		samples = []
		for name in sys.argv[1:]:
		    with open(name, encoding="utf-8") as file:
		        samples += re.findall(r"^(\w+)\{(.*)\} (\S+)$", file.read(), re.M)
		now = max(float(value) for name, _, value in samples if "_updated_" in name)
		for name, labels, value in samples:
		    value = float(value)
		    if name.endswith("_timestamp_seconds"):
		        value -= now - 1800
		    print(f"      - series: '{name}{{{labels}, instance=\"h\"}}'")
		    print(f"        values: '_x29 {value:.3f}x10'")
	END
}

# alerts_now ALERT: with what was written this alert fires, and no other of
# those about a lock.
alerts_now() {
	{
		echo "rule_files: [$RULES]"
		echo 'tests:'
		echo '  - interval: 1m'
		echo '    input_series:'
		series
		echo '    promql_expr_test:'
		echo "      - expr: sort(count by (alertname) (ALERTS{key='$KEY'}))"
		echo '        eval_time: 31m'
		echo "        exp_samples: [{labels: '{alertname=\"$1\"}', value: 1}]"
	} >now.yml
	"$PROMTOOL" test rules now.yml
}

# bats test_tags=night
@test "the rules are valid, fire when they should, and not otherwise" {
	need_promtool
	"$PROMTOOL" check rules "$RULES"
	sed "s|RULES|$RULES|" "$BATS_TEST_DIRNAME/rules.yml" >rules.yml
	"$PROMTOOL" test rules rules.yml
}

@test "message, log, hook, metric and alert report a loss with the same facts" {
	need_promtool
	hold --metrics m --log-to log --log-format json --hook 'env >"hook.$RLOCKRUN_EVENT"' -t 1
	cli del "$KEY"
	exits_with 79 "$PID"
	grep -q "^rlockrun: \"$KEY\" was lost: " "$ERR"
	/usr/bin/python3 - "$KEY" <<-'END'
		import json, re, sys

		key = sys.argv[1]
		with open("log", encoding="ascii") as file:
		    log = [json.loads(line) for line in file]
		with open("hook.lost", encoding="ascii") as file:
		    hook = dict(line.rstrip("\n").split("=", 1) for line in file)
		with open(f"m/rlockrun-{key}.prom", encoding="ascii") as file:
		    metrics = dict(re.findall(r"^rlockrun_(.*) (\S+)$", file.read(), re.M))
		lost, = [line for line in log if line["event"] == "ending"]
		end = log[-1]
		assert end["event"] == "ended" and hook["RLOCKRUN_EVENT"] == "lost"
		for line in lost, end:
		    assert line["key"] == hook["RLOCKRUN_KEY"] == key, line
		    assert line["token"] == hook["RLOCKRUN_SHORT_TOKEN"], line
		    assert str(line["fence"]) == hook["RLOCKRUN_FENCE"], line
		    assert str(line["status"]) == hook["RLOCKRUN_STATUS"], line
		    assert line["reason"] == hook["RLOCKRUN_REASON"], line
		labels = f'key="{key}"'
		reason = f'{labels},outcome="lost",reason="{end["reason"]}"'
		assert metrics[f"runs_total{{{reason}}}"] == "1"
		assert metrics[f"last_status{{{labels}}}"] == str(end["status"])
		assert metrics[f"lost_total{{{labels}}}"] == "1"
	END
	alerts_now RlockrunLost
}

@test "rules and dashboard name only metrics that are written" {
	rl --metrics m true
	sed -n 's/^# TYPE \([^ ]*\) summary$/\1_sum\n\1_count/p; s/^# TYPE \([^ ]*\) .*/\1/p' \
		"m/rlockrun-$KEY.prom" | sort -u >written
	(($(wc -l <written) > 20))
	for file in "$RULES" "$EXAMPLES/rlockrun.dashboard.json"; do
		grep -oE 'rlockrun_[a-z_]+' "$file" | sort -u >named
		(($(wc -l <named) > 5))
		[[ -z $(comm -13 written named) ]]
	done
}

@test "the manual lists the metrics that are written" {
	rl --metrics m true
	sed -n 's/^# TYPE \([^ ]*\) summary$/\1_sum\n\1_count/p; t; s/^# TYPE \([^ ]*\) .*/\1/p' \
		"m/rlockrun-$KEY.prom" | sort >written
	sed -n '/^\.Sh METRICS/,/^\.Sh SEE/p' "$ROOT/man/rlockrun-events.7" | grep '^\.It Li' |
		grep -oE 'rlockrun_[a-z_]+' | sort | diff written -
}

@test "the dashboard is valid" {
	need_promtool
	/usr/bin/python3 - "$EXAMPLES/rlockrun.dashboard.json" >queries.yml <<-'END'
		import json, sys

		with open(sys.argv[1], encoding="ascii") as file:
		    board = json.load(file)
		panels = board["panels"]
		assert len({panel["id"] for panel in panels}) == len(panels) > 5
		assert {each["name"] for each in board["templating"]["list"]} >= {"key", "instance"}
		places = set()
		print("groups:\n  - name: queries\n    rules:")
		for panel in panels:
		    assert panel["title"] and panel["description"], panel
		    place = panel["gridPos"]
		    for x in range(place["x"], place["x"] + place["w"]):
		        for y in range(place["y"], place["y"] + place["h"]):
		            assert x < 24 and (x, y) not in places, panel["title"]
		            places.add((x, y))
		    for target in panel["targets"]:
		        query = target["expr"].replace("$__rate_interval", "5m")
		        name = f"panel:{panel['id']}:{target['refId']}"
		        print(f"      - record: {name}\n        expr: {json.dumps(query)}")
	END
	"$PROMTOOL" check rules queries.yml
}

#!/usr/bin/env bats
# --label: what others are shown of a run, in place of its command.
# shellcheck disable=SC2030,SC2031 # each test sets variables for its runs
# shellcheck disable=SC2034,SC2154 # run sets output, helpers use it

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# is_busy WORDS [OPTION...]: -n finds the lock held by PID, described like this.
is_busy() {
	run -75 rl "${@:2}" -n true
	[[ $output == *" (pid $PID, deploy$1) since "* ]]
}

# bats test_tags=smoke
@test "the label is in messages, status and list, for each kind of lock" {
	export LOGNAME=deploy
	for kind in --exclusive --shared --permits=2; do
		hold "$kind" --label 'nightly sync'
		is_busy ', "nightly sync"'
		run -0 rlockrun --status -k "$KEY"
		[[ $output == *"holder:   "*" (pid $PID, deploy) since "* ]]
		[[ $output == *$'\nlabel:    nightly sync\n'* && $output != *command:* ]]
		run -0 rlockrun --status --json -k "$KEY"
		has_json '"user":"deploy","label":"nightly sync"'
		rlockrun --list "$KEY" | grep -qE "^$KEY .* deploy .* [0-9]+  nightly sync$"
		touch "done"
		exits_with 0 "$PID"
		rm "done" job
	done
}

@test "without a label nothing is shown or stored of it" {
	export LOGNAME=deploy
	for kind in --exclusive --shared; do
		hold "$kind"
		cli --raw hgetall "{$KEY}:rlk:i" >record
		run ! grep label record
		is_busy '' --permits 1
		run -0 rlockrun --status -k "$KEY"
		[[ $output != *label:* ]]
		run -0 rlockrun --status --json -k "$KEY"
		has_json '"holders":[{' '"label":null'
		rlockrun --list "$KEY" | grep -qE "^$KEY .* [0-9]+  -$"
		touch "done"
		exits_with 0 "$PID"
		rm "done" job
	done
}

@test "each holder has its own label" {
	start "$RLOCKRUN" -k "$KEY" -s --label one sh -c 'echo >>a; until [ -e done ]; do sleep 0.02; done'
	wait_for_file a
	RLOCKRUN_LABEL=two start "$RLOCKRUN" -k "$KEY" -s sh -c 'echo >>b; until [ -e done ]; do sleep 0.02; done'
	wait_for_file b
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"label":"one"' '"label":"two"'
	touch "done"
}

@test "each of several locks has the label" {
	start "$RLOCKRUN" -k "$KEY" -k "$KEY:b" --label both sh -c 'echo >a; until [ -e done ]; do sleep 0.02; done'
	wait_for_file a
	for name in "$KEY" "$KEY:b"; do
		run -0 rlockrun --status -k "$name"
		[[ $output == *$'\nlabel:    both\n'* ]]
	done
	touch "done"
}

@test "the variable gives a label to nested runs, too; a joined lock keeps its own" {
	export RLOCKRUN_LABEL=outer KEY RLOCKRUN
	# shellcheck disable=SC2016 # the job's shell is to expand that
	run -0 rl sh -c '"$RLOCKRUN" -k "$KEY" --label inner "$RLOCKRUN" -k "$KEY:b" sh -c "
		\"\$RLOCKRUN\" --status -k \"\$KEY\"; \"\$RLOCKRUN\" --status -k \"\$KEY:b\""'
	[[ $(grep -c '^label:    outer$' <<<"$output") == 2 && $output != *inner* ]]
}

@test "a label stays while --min-hold keeps the lock" {
	run -0 rl --min-hold 30 --label 'nightly sync' true
	run -75 rl -n true
	[[ $output == *"is kept for "*', "nightly sync") since '* ]]
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *$'\nlabel:    nightly sync\njob:      has ended'* ]]
}

@test "a label with control characters, quotes and bytes that are not UTF-8 is escaped" {
	evil=$'a\nb\e[2J"\\\xff'
	for kind in --exclusive --shared; do
		hold "$kind" --label "$evil"
		run -75 rl --permits 1 -n true
		[[ ${#lines[@]} == 1 && $output == *', "a\nb\x1b[2J\"\\\xff") since '* ]]
		run -0 rlockrun --status -k "$KEY"
		[[ $output == *$'\nlabel:    a\\nb\\x1b[2J"\\\\xff\n'* ]]
		touch "done"
		exits_with 0 "$PID"
		rm "done" job
	done
}

@test "a label that is too long is cut, and does not refuse the run" {
	export LOGNAME=deploy
	cut=$(printf %0252d... 7)
	label=${cut%...}é$cut
	hold --label "$label"
	is_busy ", \"$cut\""
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *$'\n'"label:    $cut"$'\n'* ]]
	touch "done"
	exits_with 0 "$PID"
	rm "done" job
	RLOCKRUN_LABEL=$label run -0 rl -v --log-format json true
	has_json "\"label\":\"$cut\""
	echo "label = $label" >conf
	run -0 rl --config conf --show-config
	[[ $output == *"label = $label "* ]]
}

@test "an empty label is none, also in place of another" {
	export LOGNAME=deploy
	hold --label ''
	is_busy ''
	touch "done"
	exits_with 0 "$PID"
	rm "done" job
	echo 'label =' >conf
	run -0 rl --config conf true
	RLOCKRUN_LABEL=other hold --label ''
	is_busy ''
}

@test "the longest label is shown whole; of a longer one on the server, the beginning" {
	label=$(printf %0256d 7)
	hold --label "$label"
	run -75 rl -n true
	[[ $output == *", \"$label\") since "*"command not started" ]]
	cli hset "{$KEY}:rlk:i" label "$label$label$label$label$label" >/dev/null
	run -75 rl -n true
	[[ $output == *", \"$label\") since "*"command not started" ]]
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *$'\n'"label:    $label"$'\n'* ]]
}

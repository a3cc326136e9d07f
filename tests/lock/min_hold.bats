#!/usr/bin/env bats
# --min-hold: a lock that is kept after a short job.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/queue
load ../helpers/kinds

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_kinds_test; }
teardown() {
	end_monitor
	end_test
}

# --- --min-hold -------------------------------------------------------------------------

@test "--min-hold: of ten that come one runs" {
	for n in {1..10}; do
		start "$RLOCKRUN" -k "$KEY" -n --min-hold 1h -- sh -c 'echo >>ran'
		[[ $n != 1 ]] || wait_for_file ran
	done
	codes=
	for pid in "${STARTED[@]}"; do
		code=0
		wait "$pid" || code=$?
		codes+="$code "
	done
	[[ $(wc -l <ran) == 1 && $(grep -o 75 <<<"$codes" | wc -l) == 9 ]]
	grep -qE " is kept for [0-9hms]+; it was held by .* ago; command not started$" err.10
	cli del "$KEY" "$I"
}

score_or_pttl() {
	if [[ $(cli type "$KEY") == string ]]; then
		cli pttl "$KEY"
	else
		echo $(($(score_of_first) - $(server_ms)))
	fi
}

@test "--min-hold longer than the ttl lasts, on the server alone" {
	for option in -x -s '-p 2'; do
		# shellcheck disable=SC2086
		run -0 rl $option -t 30 --min-hold 1h true
		left=$(score_or_pttl)
		((left > 3500000 && left <= 3600000 && $(cli pttl "$KEY") >= left - 2000))
		run -75 rl -n touch ran
		[[ $output == *" is kept for 1h00m; "* || $output == *" is kept for 59m"??"s; "* ]]
		# Who is known, for as long as it lasts.
		(($(cli pttl "$I") >= left - 2000))
		cli del "$KEY" "$I"
	done
	[[ ! -e ran ]]
}

@test "--min-hold: what could not be executed is not kept" {
	printf '#!/nowhere\n' >job
	chmod +x job
	run -126 rl --min-hold 60 ./job
	[[ -z $(keys_left) ]]
}

# What suites share in which a server or network misbehaves. What a real server
# can't be made to do, helpers/fault-proxy does for it.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the jobs expand it; run sets output

# job [OPTION...]: a rlockrun that runs a job until file `done` is there, which ends
# with 7 and leaves its token in file `token` and its fence in `fence`. PID is its pid.
job() {
	rm -f "done" job token fence
	start "$RLOCKRUN" -k "$KEY" "$@" -- "$A_JOB" "token=%{RLOCKRUN_TOKEN}" \
		"fence=%{RLOCKRUN_FENCE}" job=%p until:done exit:7
}

# running [OPTION...]: the same, and waits until it runs.
running() {
	job "$@"
	wait_for_file job
}

# ends_well [PID]: the job's status, no lock is left, nobody is told of a loss.
ends_well() {
	touch "done"
	wait_until gone "${1:-$PID}"
	exits_with 7 "${1:-$PID}"
	run ! grep -E 'lost:|being lost|cannot confirm' "$ERR"
	[[ -z $(keys_left) ]]
}

# ends_unserved STATUS WORDS: a run without a lock, and with one line that says so. Where
# a machine is too slow for any reply, it gets more time.
ends_unserved() {
	local patience
	for patience in 1 15; do
		run "-$1" rl -n --server-timeout "$patience" touch ran
		echo "$output"
		[[ $output != *"$2"* ]] || break
	done
	[[ $output == *"$2"* && ! -e ran ]]
	[[ $(grep -vc '; trying again$' <<<"$output") == 1 ]]
}

through() {
	start_proxy proxy "$@"
}

stop_proxy() {
	stop_server proxy
	rm -r proxy
	RLOCKRUN_REDIS=$SUITE_URL
}

rules() {
	set_rules proxy "$@"
}

passed() {
	wait_until has_passed proxy "$@"
}

# Connections that the proxy saw since it was started: each names itself first.
connections() {
	grep -c '^CLIENT' proxy/log || :
}

says() {
	wait_until grep -qF -- "$1" "$ERR"
}

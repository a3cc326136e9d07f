# What suites share in which a server or network misbehaves. What a real server
# can't be made to do, helpers/fault-proxy does for it.
# shellcheck shell=bash disable=SC2016,SC2034 # the jobs expand it; rlockrun reads it

# job [OPTION...]: a rlockrun that runs a job until file `done` is there, which ends
# with 7 and leaves its token in file `token` and its fence in `fence`. PID is its pid.
# When it is stopped and its `sleep` ends first, its shell prints "Terminated".
job() {
	rm -f "done" job token fence
	start "$RLOCKRUN" -k "$KEY" "$@" -- sh -c 'echo "$RLOCKRUN_TOKEN" >token
		echo "$RLOCKRUN_FENCE" >fence
		echo $$ >job; until [ -e done ]; do sleep 0.02; done 2>/dev/null; exit 7'
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

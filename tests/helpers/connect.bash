# What suites about reaching servers share. Their jobs would touch `ran`.
# shellcheck shell=bash disable=SC2154 # run sets output and lines

# reaches URL [DB]: a run there holds its lock on the suite's server.
reaches() {
	# shellcheck disable=SC2016 # the job's shell is to expand that
	local inside='redis-cli -s "$0" -n "$1" get "$RLOCKRUN_KEY"'
	run -0 rl -r "$1" sh -c "$inside" "$SUITE_DIR/s" "${2:-0}"
	[[ $output =~ ^[0-9a-f-]{36}$ ]]
	[[ $(cli -n "${2:-0}" exists "$KEY") == 0 ]]
}

# with_hosts LINES COMMAND...: in a user and mount namespace of its own, with these
# lines as the file of hosts.
with_hosts() {
	printf '%s\n' "$1" >hosts
	unshare -rm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' - "${@:2}"
}

# refused WORDS ARGUMENT...: 69 with one line, and no job, at once.
refused() {
	given_up_once "$1" --server-timeout 1h "${@:2}"
}

# given_up WORDS ARGUMENT...: the same when --server-timeout has passed. Of several tries
# the last one decides, whose reply may come too late on a busy machine.
given_up() {
	wait_until given_up_once "$@"
}

given_up_once() {
	run -69 rl --server-timeout 1 "${@:2}" touch ran || return
	echo "$output"
	is_last_word "$1" && [[ ! -e ran ]]
}

# is_last_word WORDS: the last line says so, and each other one only that it is tried
# again.
is_last_word() {
	[[ $(grep -vc '; trying again$' <<<"$output") == 1 &&
		${lines[-1]} == "rlockrun: \"$KEY\": "*"$1"* ]]
}

# serve COMMAND: accepts connections on PORT, and replies with what it prints.
serve() {
	choose_port
	start socat "TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr,fork" SYSTEM:"$1"
	wait_until listens
}

listens() {
	(: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null
}

# serve_text TEXT: the same with a text, in which printf's escapes are replaced.
serve_text() {
	local answer=answer.${#STARTED[@]}
	printf %b "$1" >"$answer"
	serve "head -c 9 >/dev/null; cat $answer; head -c 9999 >/dev/null"
}

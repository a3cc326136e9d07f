# Servers that sentinels watch, for a test alone.
# shellcheck shell=bash disable=SC2034 # suites and helpers use what is set

load ../helpers/connect

# own_sentinels REPLICAS [OPTION...]: for this test alone.
own_sentinels() {
	SUITE_DIR=$PWD/p0
	start_sentinels "$PWD" "$@"
	RLOCKRUN_REDIS=redis-sentinel://$SENTINELS/primary
}

# The server in a folder.
at() {
	SUITE_DIR=$PWD/$1 cli "${@:2}"
}

is_primary() {
	[[ $(at "$1" role 2>/dev/null) == master* ]]
}

# false_sentinel PORT [HOST]: a sentinel that says the primary is there; its own is
# PORT.
false_sentinel() {
	local host=${2-127.0.0.1}
	serve_text "+OK\r\n*2\r\n\$${#host}\r\n$host\r\n\$${#1}\r\n$1\r\n"
}

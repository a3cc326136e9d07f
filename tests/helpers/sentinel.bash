# Servers that sentinels watch, for a test alone.
# shellcheck shell=bash disable=SC2034 # suites and helpers use what is set

# own_sentinels REPLICAS [OPTION...]: for this test alone.
own_sentinels() {
	SUITE_DIR=$PWD/p0
	start_sentinels "$PWD" "$@"
	RLOCKRUN_REDIS=redis-sentinel://$SENTINELS/primary
}

# The server in a folder.
at() {
	redis-cli -s "$PWD/$1/s" "${@:2}"
}

is_primary() {
	[[ $(at "$1" role 2>/dev/null) == master* ]]
}

is_replica() {
	[[ $(at "$1" role 2>/dev/null) == slave* ]]
}

# stranger COMMAND: takes connections on PORT and answers by that command.
stranger() {
	choose_port
	start socat "TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr,fork" SYSTEM:"$1"
	wait_until listens
}

listens() {
	(: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null
}

# answers TEXT: takes connections on PORT and answers that, with the escapes of
# printf, to whatever is said.
answers() {
	printf %b "$1" >answer
	stranger 'head -c 9 >/dev/null; cat answer; head -c 9999 >/dev/null'
}

# liar PORT: a sentinel that says the primary is there; its own port is PORT.
liar() {
	answers "+OK\r\n*2\r\n\$9\r\n127.0.0.1\r\n\$5\r\n$1\r\n"
}

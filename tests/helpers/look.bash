# What a server has: asked over one connection, which each test keeps, and of that the
# keys of its lock.
# shellcheck shell=bash

# Suites that look at no server also run beside a program of another processor.
start_asking() {
	ASK=
	[[ ! -x ${A_JOB%/*}/ask ]] || ASK=$BATS_FILE_TMPDIR/ask.$BATS_TEST_NUMBER
	[[ ! $ASK ]] || "${A_JOB%/*}/ask" "$ASK" $$
}

stop_asking() {
	[[ $ASK ]] || return 0
	kill "$(<"$ASK/pid")"
	rm "$ASK/pid"
}

# ask WORD...: a command for the suite's server, over the connection that the test
# keeps; what it replies is in REPLY. Those are bytes: at the end of half a character
# bash would wait for the rest of it.
ask() {
	local status=0 LC_ALL=C
	read -rN 1 _ <"$ASK/turn"
	printf '%s\0' $# "$SUITE_DIR/s" "$@" >"$ASK/question"
	IFS= read -rd '' REPLY <"$ASK/reply"
	printf . >"$ASK/turn"
	[[ $REPLY == 0* ]] || status=1
	REPLY=${REPLY:1}
	return "$status"
}

# cli [OPTION...] WORD...: the same on stdout. What has options, blocks, or changes
# the connection is a redis-cli's.
cli() {
	[[ ${1:-} != --raw ]] || shift
	case ${ASK:+${REDISCLI_AUTH:+-}${1:-}} in
	'' | -* | auth | bl* | br* | bz* | debug | eval* | hello | monitor | multi | select | \
		shutdown | *subscribe | wait | xread)
		redis-cli --raw -s "$SUITE_DIR/s" "$@"
		;;
	*)
		ask "$@" || {
			echo "$REPLY" >&2
			return 1
		}
		printf '%s\n' "$REPLY"
		;;
	esac
}

# The keys of this test's lock that are left, except those that outlast a run: what
# is known about the lock, and its last runs.
keys_left() {
	cli --raw keys "*$KEY*" | grep -v ':rlkt\?:[ir]$'
}

none_left() {
	[[ -z $(keys_left) ]]
}

is_held() { ask exists "$KEY" && [[ $REPLY == 1 ]]; }

is_free() { ask exists "$KEY" && [[ $REPLY == 0 ]]; }

# Each key of this test's lock, and its type.
list_keys() {
	local key
	cli --raw keys "*$KEY*" | sort | while read -r key; do
		echo "$key $(cli type "$key")"
	done
}

# The last fencing number.
fence() { cli hget "{$KEY}:rlk:i" f; }

# How long the lease still lasts.
left_ms() { cli pttl "$KEY"; }

left_above() { ask pttl "$KEY" && ((REPLY > $1)); }

left_below() { ask pttl "$KEY" && ((REPLY < $1)); }

# end_lease [KEY]: as if its time were over, by the server's clock.
end_lease() { cli pexpire "${1:-$KEY}" 0 >/dev/null; }

# is_renewed: a lease of 30 s, of which less was left.
is_renewed() {
	cli pexpire "$KEY" 18000 >/dev/null
	wait_until left_above 20000
}

# The server's clock.
server_ms() {
	local time
	ask time
	read -rd '' -a time <<<"$REPLY" || :
	echo $((time[0] * 1000 + time[1] / 1000))
}

# What a server has, and of that the keys of a test's lock.
# shellcheck shell=bash

# ask WORD...: a command for the suite's server; what it replies is in REPLY.
ask() {
	REPLY=$(redis-cli --raw -s "$SUITE_DIR/s" "$@")
}

# cli [OPTION...] WORD...: the same on stdout.
cli() {
	redis-cli --raw -s "$SUITE_DIR/s" "$@"
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

# What suites share that look at locks or release them by force. Queues are written
# here as a waiter writes them, so that it is known what has to be shown.
# shellcheck shell=bash disable=SC2154 # run sets output

rlockrun() {
	timeout -k 1 60 "$RLOCKRUN" "$@"
}

# waiter NAME HOST AGO_MS ALIVE_MS: came so long ago, lives for so long yet.
# WAITER is what it is called in the queue of NAME.
waiter() {
	local now
	now=$(server_ms)
	TOKEN=$(</proc/sys/kernel/random/uuid)
	WAITER="x:$TOKEN:77@$2"
	cli zadd "{$1}:rlk:q" "$((now - $3))000" "$WAITER" >/dev/null
	cli zadd "{$1}:rlk:l" "$((now + $4))" "$WAITER" >/dev/null
}

# held NAME HOST [SECONDS_AGO]: a lock with a record, without a holder behind it.
held() {
	cli set "$1" "token of $1" px 600000 >/dev/null
	cli hset "{$1}:rlk:i" token "token of $1" host "$2" pid 41 user deploy \
		command sh kind x since "$(($(server_ms) - ${3:-0} * 1000))" >/dev/null
}

# counted NAME KIND LIMIT TOKEN:HOST:AGO_MS:LEFT_MS:FLAG...: a counted lock with
# such records.
counted() {
	local name=$1 kind=$2 now one token host ago left flag member
	now=$(server_ms)
	cli hset "{$name}:rlk:i" kind "$kind" limit "$3" >/dev/null
	for one in "${@:4}"; do
		IFS=: read -r token host ago left flag <<<"$one"
		member=$token
		[[ $kind != s ]] || member=s:$token
		cli zadd "$name" $((now + left)) "$member" >/dev/null
		[[ -z $host ]] || cli hset "{$name}:rlk:i" "$token" \
			"$((now - ago)) $flag 7$ago 41 $host deploy" >/dev/null
	done
	cli pexpire "$name" 600000 >/dev/null
}

# has_json TEXT...: the JSON document in $output has each of these, such as
# '"pid":41' (no interpreter is started for that).
has_json() {
	local text
	for text in "$@"; do
		[[ $output == *"$text"* ]] || {
			echo "no $text in $output" >&2
			return 1
		}
	done
}

# count REGEX: how often it is in $output.
count() {
	grep -oE -- "$1" <<<"$output" | wc -l
}

# is EXPRESSION WANTED: of the JSON document in $output, as `it`; for what takes
# more than a look at the text.
is() {
	local got
	got=$(/usr/bin/python3 -c 'import json, sys
print(eval(sys.argv[2], {"it": json.loads(sys.argv[1])}))' "$output" "$1")
	[[ $got == "$2" ]] || {
		echo "$1 is $got, not $2" >&2
		return 1
	}
}

# bulk COUNT: so many locks that are held.
bulk() {
	cli eval 'local t = redis.call("TIME")
		for i = 1, ARGV[1] do
			local name, info = "bulk:" .. i, "{bulk:" .. i .. "}:rlk:i"
			redis.call("SET", name, i, "PX", 3600000)
			redis.call("HSET", info, "token", i, "host", "h", "pid", i,
				"user", "u", "kind", "x", "since", t[1] * 1000)
		end' 0 "$1" >/dev/null
}

# on_terminal KEYS [OPTION...]: a force-release that is answered so.
on_terminal() {
	local typed=$1
	shift
	timeout 30 "$HELPERS/on-pty" screen "screen:$typed" -- \
		"$RLOCKRUN" --force-release -k "$KEY" "$@"
}

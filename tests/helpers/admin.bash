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

# record HOST [LABEL]: what a run of a script says of itself.
record() {
	echo "run 0 41 $1 deploy ${2:--} sh"
}

# held NAME HOST [SECONDS_AGO [RECORD]]: a lock with a record, without a holder
# behind it.
held() {
	local token=00000000-0000-4000-8000-000000000000
	cli set "$1" $token px 600000 >/dev/null
	cli hset "{$1}:rlk:i" h "$token 7 $(($(server_ms) - ${3:-0} * 1000)) ${4:-$(record "$2")}" \
		>/dev/null
}

# counted NAME KIND TOKEN:HOST:AGO_MS:LEFT_MS...: a counted lock with such records.
counted() {
	local name=$1 now one token host ago left member
	now=$(server_ms)
	for one in "${@:3}"; do
		IFS=: read -r token host ago left <<<"$one"
		member=$token
		[[ $2 != s ]] || member=s:$token
		cli zadd "$name" $((now + left)) "$member" >/dev/null
		cli hset "{$name}:rlk:i" "h:$member" "$member 7 $((now - ago)) $(record "$host")" >/dev/null
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
			redis.call("HSET", info, "h", string.format("%d 7 %d000 run 0 %d h u - sh",
				i, t[1], i))
		end' 0 "$1" >/dev/null
}

# on_terminal KEYS [OPTION...]: a force-release that is answered so.
on_terminal() {
	local typed=$1
	shift
	timeout 30 "$HELPERS/on-pty" screen "screen:$typed" -- \
		"$RLOCKRUN" --force-release -k "$KEY" "$@"
}

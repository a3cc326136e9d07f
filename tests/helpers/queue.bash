# What suites about the queue share: Q and L are the names of its keys.
# shellcheck shell=bash

begin_queue_test() {
	begin_test
	write_turn
	Q="{$KEY}:rlk:q"
	L="{$KEY}:rlk:l"
}

# turn NAME: notes its turn in `order` and its fence in `fences`, and in `overlaps`
# that it is not alone; ends as soon as go.NAME is there, or `go`.
write_turn() {
	cat >turn <<-END
		exec "$A_JOB" alone:overlaps fences+=%{RLOCKRUN_FENCE} "\$1.started=%t" "order+=\$1" "until:go.\$1,go"
	END
}

# enqueue NAME [OPTION...]: a waiter, and until it is in the queue. PID is its pid.
enqueue() {
	start "$RLOCKRUN" -k "$KEY" "${@:2}" -- sh ./turn "$1"
	wait_until is_queued "$PID"
}

# holds NAME [OPTION...]: a holder whose job is a turn, too.
holds() {
	start "$RLOCKRUN" -k "$KEY" "${@:2}" -- sh ./turn "$1"
	wait_for_file "$1.started"
}

is_queued() {
	ask zrange "$Q" 0 -1 && [[ $REPLY == *":$1@"* ]]
}

are_queued() {
	ask zcard "$Q" && [[ $REPLY == "$1" ]]
}

# All that was started ends well.
all_end_well() {
	local pid
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
}

# Every waiter has told that it is alive once more than until now.
heartbeats_pass() {
	cli --raw zrange "$L" 0 -1 withscores | paste - - | sort >before
	wait_until all_beat_since
}

all_beat_since() {
	cli --raw zrange "$L" 0 -1 withscores | paste - - | sort >after
	join before after | awk '$3 <= $2 { late = 1 } END { exit late || NR == 0 }'
}

# monitor: from here on, in the file MONITOR; until end_monitor, or the teardown.
monitor() {
	MONITOR=$PWD/monitor
	rm -f "$MONITOR" # of an earlier one
	redis-cli -s "$SUITE_DIR/s" monitor >"$MONITOR" 2>&1 3>&- &
	MONITOR_PID=$!
	wait_for_file "$MONITOR"
}

end_monitor() {
	[[ ${MONITOR_PID:-} ]] || return 0
	kill "$MONITOR_PID"
	wait "$MONITOR_PID" || true
	MONITOR_PID=
}

# was_rung TOKEN: since monitor was called.
was_rung() {
	catch_up
	grep -qF "lua] \"RPUSH\" \"{$KEY}:rlk:m:$1\"" "$MONITOR"
}

# member_of PID: its name in line.
member_of() {
	cli --raw zrange "$Q" 0 -1 | grep ":$1@"
}
token_of() {
	local member
	member=$(member_of "$1")
	member=${member#x:}
	echo "${member%%:*}"
}

# outlive_all PID...: they are stopped, and no script takes them for dead nevertheless,
# nor for one that was rung already.
outlive_all() {
	local pid
	for pid; do
		cli zadd "$L" $(($(server_ms) + 3600000)) "$(member_of "$pid")" >/dev/null
	done
}

# Nothing is left but doorbells that were rung for those who were killed.
only_bells_left() {
	local key
	keys_left >left || true
	cat left
	run -1 grep -v ':rlk:m:' left
	while read -r key; do
		(($(cli pttl "$key") <= 10000)) || return
	done <left
}

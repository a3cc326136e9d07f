#!/usr/bin/env bats
# Looking at locks, and taking them away. Queues are written here as a waiter
# writes them, so that what is shown can be told beforehand.
# shellcheck disable=SC2154 # run sets stderr and stderr_lines

# bats file_tags=everywhere

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

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

# is EXPRESSION WANTED: of the JSON document in $output, as `it`.
is() {
	local got
	got=$(/usr/bin/python3 -c 'import json, sys
print(eval(sys.argv[2], {"it": json.loads(sys.argv[1])}))' "$output" "$1")
	[[ $got == "$2" ]] || {
		echo "$1 is $got, not $2" >&2
		return 1
	}
}

# --- status -------------------------------------------------------------------

@test "status of a lock that is free" {
	run -0 rlockrun --status -k "$KEY"
	[[ ${#lines[@]} == 3 ]]
	[[ ${lines[0]} == "lock:     $KEY" ]]
	[[ ${lines[1]} == "holder:   nobody" ]]
	[[ ${lines[2]} == "waiting:  0" ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["held"]' False
	is '[it[k] for k in ("kind", "ttl_ms", "fence", "holders", "permits", "free")]' '[None, None, None, [], None, None]'
	[[ $(cli exists "$KEY" "{$KEY}:rlk:i" "{$KEY}:rlk:q" "{$KEY}:rlk:l") == 0 ]]
}

# bats test_tags=smoke
@test "status of a lock that is held, with everything about its holder" {
	LOGNAME=deploy hold -t 20
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ -z $stderr && ${#lines[@]} == 7 ]]
	pattern="^holder:   $(uname -n) \(pid $PID, deploy\)"
	pattern+=' since [0-9]{2}:[0-9]{2}:[0-9]{2}, [0-9]+s ago$'
	[[ ${lines[1]} =~ $pattern ]]
	[[ ${lines[2]} == "command:  sh" ]]
	[[ ${lines[3]} == "token:    $(cli get "$KEY")" ]]
	pattern='^ttl left: (1[0-9]|20)\.[0-9]s$'
	[[ ${lines[4]} =~ $pattern ]]
	[[ ${lines[5]} == "fence:    $(cli get "{$KEY}:rlk:f")" ]]
	[[ ${lines[6]} == "waiting:  0" ]]
	run -0 --separate-stderr rlockrun --status --json -k "$KEY"
	is 'it["held"], it["name"] == it["key"], it["waiting"], it["problems"]' \
		'(True, True, 0, [])'
	is 'it["holders"][0]["token"]' "$(cli get "$KEY")"
	is 'it["fence"]' "$(cli get "{$KEY}:rlk:f")"
	is '10000 < it["ttl_ms"] <= 20000' True
	is 'it["holders"][0]["pid"]' "$PID"
	is 'it["holders"][0]["host"]' "$(uname -n)"
	is 'it["holders"][0]["fence"]' "$(cli get "{$KEY}:rlk:f")"
	is 'it["holders"][0]["user"], it["holders"][0]["command"], it["kind"]' \
		"('deploy', 'sh', 'exclusive')"
	is 'abs(it["holders"][0]["since_ms"] + it["holders"][0]["held_ms"] - '"$(server_ms)) < 5000" True
}

@test "status: the prefix makes the key, and is not shown in the name" {
	hold --prefix app:
	run -0 rlockrun --status --prefix app: -k "$KEY"
	[[ ${lines[0]} == "lock:     $KEY" && ${lines[2]} == "command:  sh" ]]
	run -0 rlockrun --status --json --prefix app: -k "$KEY"
	is 'it["name"], it["key"]' "('$KEY', 'app:$KEY')"
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *nobody* ]]
}

@test "status: another client's lock is said to be that" {
	cli set "$KEY" plain
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[1]} == "holder:   another client (not a rlockrun), without a time limit" ]]
	[[ ${lines[2]} == "token:    plain" && ${lines[3]} == "ttl left: no limit" ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["held"], it["ttl_ms"], it["holders"]' "(True, None, [{'token': 'plain', 'ttl_ms': None, 'fence': None, 'host': None, 'pid': None, 'user': None, 'command': None, 'since_ms': None, 'held_ms': None, 'ended': None}])"
	# A record that is not this holder's is not believed.
	held "$KEY" web-1
	cli set "$KEY" plain PX 100000
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *"another client"*"ttl left: 1m"* && $output != *web-1* ]]
}

@test "status: the queue in order, without the dead" {
	held "$KEY" web-1
	waiter "$KEY" late 2000 9000
	waiter "$KEY" dead 90000 -1
	waiter "$KEY" stepped 80000 3600000
	waiter "$KEY" early 65000 9000
	cli zadd "{$KEY}:rlk:q" 5 "$(printf 'no\nwaiter')"
	cli zadd "{$KEY}:rlk:l" "$(($(server_ms) + 9000))" "$(printf 'no\nwaiter')"
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[*]} == *"waiting:  3 "* ]]
	[[ ${lines[-3]} == "     1.   ? (pid ?) for "* ]]
	[[ ${lines[-2]} =~ ^'     2.   early (pid 77) for 1m0'[5-9]s$ ]]
	[[ ${lines[-1]} =~ ^'     3.   late (pid 77) for '[2-6]s$ ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["waiting"]' 3
	is '[(w["place"], w["host"], w["pid"]) for w in it["queue"]]' \
		"[(1, '?', None), (2, 'early', 77), (3, 'late', 77)]"
	is 'it["queue"][0]["id"]' "$(printf 'no\nwaiter')"
	is '65000 <= it["queue"][1]["waiting_ms"] < 75000' True
}

@test "status: of very many waiters the first thousand" {
	held "$KEY" web-1
	cli eval 'local t = redis.call("TIME")
		for i = 1, 3000 do
			local w = string.format("x:%036d:%d@host-%d", i, i, i)
			redis.call("ZADD", KEYS[1], i, w)
			redis.call("ZADD", KEYS[2], t[1] * 1000 + 15000, w)
		end' 2 "{$KEY}:rlk:q" "{$KEY}:rlk:l"
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *"waiting:  3000"*"     1.   host-1 (pid 1)"*"  1000.   host-1000 (pid 1000)"* ]]
	[[ ${lines[-1]} == *"and 2000 more" ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["waiting"], len(it["queue"])' "(3000, 1000)"
}

@test "status: nested runs that live, and that the outer one has ended" {
	held "$KEY" web-1
	now=$(server_ms)
	cli zadd "{$KEY}:rlk:n" $((now + 9000)) "token of $KEY:one" \
		$((now - 1)) "token of $KEY:gone" +inf "another:released" +inf another:run
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *"nested:   1 run inside"* && $output != *ended* ]]
	cli zadd "{$KEY}:rlk:n" $((now + 9000)) "token of $KEY:two" \
		+inf "token of $KEY:released"
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *"nested:   2 runs inside; the outer one has ended"* ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["nested"], it["outer_ended"]' "(2, True)"
}

@test "status: damaged keys beside the lock are told, the rest is shown" {
	held "$KEY" web-1
	waiter "$KEY" web-2 1000 9000
	cli set "{$KEY}:rlk:f" nonsense
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ $stderr == "rlockrun: $KEY: damaged: {$KEY}:rlk:f: the fence is no number in range" ]]
	[[ $output == *web-1*web-2* && $output != *fence* ]]
	for letter in f q l n; do
		run -0 cli del "{$KEY}:rlk:$letter"
		cli hset "{$KEY}:rlk:$letter" a b
		run -0 --separate-stderr rlockrun --status -k "$KEY"
		[[ $output == *"holder:   web-1"* ]]
		[[ $stderr == *"rlockrun: $KEY: damaged: {$KEY}:rlk:$letter: WRONGTYPE "* ]]
	done
	run -0 cli del "{$KEY}:rlk:i"
	cli rpush "{$KEY}:rlk:i" a
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ $output == *"another client"* && ${#stderr_lines[@]} == 5 ]]
	run -0 --separate-stderr rlockrun --status --json -k "$KEY"
	[[ -z $stderr ]]
	is 'len(it["problems"]), it["waiting"], it["queue"]' "(5, None, [])"
}

# bats test_tags=extra
@test "status: records with absurd numbers do no harm" {
	cli set "$KEY" t px 60000
	for since in 1e300 -1e300 -5 99999999999999999999 nan inf 0x10; do
		cli hset "{$KEY}:rlk:i" token t host h pid "-1 or so" user u since "$since"
		cli zadd "{$KEY}:rlk:q" inf a -inf b 1e300 c
		cli zadd "{$KEY}:rlk:l" "$(($(server_ms) + 9000))" a "$(($(server_ms) + 9000))" b inf c
		cli zadd "{$KEY}:rlk:n" inf t:a -inf t:b inf t inf a:b
		cli set "{$KEY}:rlk:f" 99999999999999999999
		run -0 rlockrun --status -k "$KEY"
		run -0 rlockrun --status --json -k "$KEY"
		is 'it["fence"], it["waiting"], it["nested"]' "(None, 2, 1)"
	done
	is 'it["holders"][0]["pid"]' None
}

# bats test_tags=extra
@test "status: numbers of a record that are none are reported as damaged" {
	own_server
	held "$KEY" web-1
	cli hset "{$KEY}:rlk:i" fence 17
	run -0 --separate-stderr rlockrun --status --json -k "$KEY"
	is 'it["problems"], it["holders"][0]["pid"], it["holders"][0]["fence"]' "([], 41, 17)"
	for field in pid fence; do
		for value in x -1 0x10 1e3 9007199254740992 99999999999999999999; do
			cli hset "{$KEY}:rlk:i" "$field" "$value"
			run -0 --separate-stderr rlockrun --status -k "$KEY"
			[[ $stderr == "rlockrun: $KEY: damaged: {$KEY}:rlk:i: $field is no number in range" ]]
			[[ $output == *"web-1 (pid "* && ($field == fence || $output == *"(pid ?, "*) ]]
			run -0 rlockrun --status --json -k "$KEY"
			is "it['holders'][0]['$field'], len(it['problems'])" "(None, 1)"
			run -0 rlockrun --list --json
			is "it['holders'][0]['$field'], len(it['problems'])" "(None, 1)"
		done
		cli hset "{$KEY}:rlk:i" "$field" 5
	done
	for value in x -1 0 nan 1e300 "$(($(server_ms) + 320000000000))"; do
		cli hset "{$KEY}:rlk:i" since "$value"
		run -0 --separate-stderr rlockrun --status -k "$KEY"
		[[ $stderr == "rlockrun: $KEY: damaged: {$KEY}:rlk:i: since is no number in range" ]]
		[[ $output == *"holder:   web-1 (pid 5, deploy)"$'\n'* ]]
		run -0 rlockrun --list
		[[ ${lines[1]} =~ ^"$KEY  exclusive  web-1   5    deploy  -     " && ${#lines[@]} == 2 ]]
		run -0 rlockrun --list --json
		is "it['holders'][0]['since_ms'], it['holders'][0]['held_ms']" "(None, None)"
		run -0 rlockrun --list --older-than 0.1
		[[ ${#lines[@]} == 1 ]]
	done
	counted "$KEY-p" p x a:web-1:1:20000:-
	run -0 --separate-stderr rlockrun --status -k "$KEY-p"
	[[ $stderr == *": limit is no number in range" && $output == *"permits, 1 used"* ]]
}

# --- status of counted locks ------------------------------------------------

@test "status of readers: each, and those who were killed not" {
	counted "$KEY" s 0 a:web-1:65000:20000:- b:web-2:5000:30500:k \
		dead:web-3:5000:-1:- c::0:40000:-
	waiter "$KEY" web-9 2000 9000
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ -z $stderr && ${#lines[@]} == 14 ]]
	[[ ${lines[1]} == "kind:     shared, 3 holders" ]]
	[[ ${lines[2]} == "holder:   web-1 (pid 41, deploy) since "*", 1m"[01]?"s ago" ]]
	[[ ${lines[3]} == "token:    a" && ${lines[4]} =~ ^"ttl left: "(1[0-9]|20).[0-9]s$ ]]
	[[ ${lines[5]} == "holder:   web-2 (pid 41, deploy) since "*"s ago" ]]
	[[ ${lines[6]} == "job:      has ended; kept for --min-hold" ]]
	[[ ${lines[7]} == "token:    b" && ${lines[8]} =~ ^"ttl left: "[23][0-9].[0-9]s$ ]]
	[[ ${lines[9]} == "holder:   another client (not a rlockrun)" ]]
	[[ ${lines[10]} == "token:    c" && ${lines[12]} == "waiting:  1" ]]
	[[ $output != *web-3* ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["held"], it["kind"], it["count"], it["permits"], it["free"]' \
		"(True, 'shared', 3, None, None)"
	is '[(h["token"], h["host"], h["pid"], h["fence"], h["ended"]) for h in it["holders"]]' \
		"[('a', 'web-1', 41, 765000, False), ('b', 'web-2', 41, 75000, True), ('c', None, None, None, None)]"
	is '30000 < it["ttl_ms"] <= 40000 and 65000 <= it["holders"][0]["held_ms"] < 75000' True
	is 'len(it["queue"])' 1
	[[ $(cli zcard "$KEY") == 4 ]]
}

@test "status of permits: used and free, also of one who is alone" {
	hold -p 3
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[1]} == "kind:     3 permits, 1 used, 2 free" ]]
	[[ ${lines[2]} == "holder:   $(uname -n) (pid $PID, "* ]]
	[[ ${lines[3]} == "token:    $(cli --raw zrange "$KEY" 0 0)" ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["kind"], it["count"], it["permits"], it["free"]' "('permits', 1, 3, 2)"
	is 'it["holders"][0]["fence"] == it["fence"]' True
	touch "done"
	exits_with 0 "$PID"
	# Fewer permits than holders, and nothing that tells how many.
	counted "$KEY" p 1 a:web-1:5000:20000:- b:web-2:5000:30500:-
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[1]} == "kind:     1 permit, 2 used, 0 free" ]]
	cli del "{$KEY}:rlk:i"
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[1]} == "kind:     permits, 2 used" && $output == *"another client"* ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["permits"], it["free"], it["count"]' "(None, None, 2)"
}

@test "status: an exclusive lock that is kept; a counted one whose holders are dead" {
	held "$KEY" web-1
	cli hset "{$KEY}:rlk:i" kept 1
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[2]} == "job:      has ended; kept for --min-hold" && $output != *command* ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["holders"][0]["ended"]' True
	cli del "$KEY" "{$KEY}:rlk:i"
	counted "$KEY" s 0 a:web-1:65000:-5:-
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[1]} == "holder:   nobody" ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["held"], it["kind"], it["count"]' "(False, None, 0)"
}

@test "status: of very many readers a hundred" {
	cli eval 'local t = redis.call("TIME")
		for i = 1, 3000 do
			redis.call("ZADD", KEYS[1], t[1] * 1000 + 60000 + i, "s:" .. i)
		end
		redis.call("PEXPIRE", KEYS[1], 100000)' 1 "$KEY"
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[1]} == "kind:     shared, 3000 holders" ]]
	[[ $(grep -c ^holder: <<<"$output") == 100 && $output == *"holders:  2900 more"* ]]
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["count"], len(it["holders"])' "(3000, 100)"
}

# bats test_tags=extra
@test "status: records of counted locks with anything in them do no harm" {
	for record in '' x '1 2' '1e300 - 1 2 h u' '99999999999999999999 - 99999999999999999999 p h u' \
		$'5 - 5 p\e h\e u\e\nv' '5 -  p h u'; do
		counted "$KEY" s 0 a:web-1:1:20000:-
		cli hset "{$KEY}:rlk:i" a "$record"
		run -0 rlockrun --status -k "$KEY"
		[[ $output == *"token:    a"* && ! ${output//$'\n'/} =~ [[:cntrl:]] ]]
		run -0 rlockrun --status --json -k "$KEY"
		is 'it["count"]' 1
		run -75 rlockrun -n -k "$KEY" true
		[[ ${#lines[@]} == 1 && ! $output =~ [[:cntrl:]] ]]
	done
}

@test "status changes nothing, and is one script" {
	own_server
	held "$KEY" web-1
	waiter "$KEY" dead 9000 -1
	cli config resetstat
	before=$(cli --raw dump "$KEY" && cli --raw zrange "{$KEY}:rlk:q" 0 -1)
	run -0 rlockrun --status -k "$KEY"
	[[ $(cli --raw dump "$KEY" && cli --raw zrange "{$KEY}:rlk:q" 0 -1) == "$before" ]]
	[[ $(cli info commandstats) == *cmdstat_eval:calls=1,* ]]
	[[ ! $(cli info commandstats) =~ cmdstat_(z(add|rem)|del|pexpire|set|hset) ]]
}

# --- list ---------------------------------------------------------------------

# The names that a list shows, sorted.
names() {
	rlockrun --list "$@" >rows || return
	[[ $(head -n 1 rows) == "NAME "* ]]
	sed 1d rows | awk '{ print $1 }' | sort | paste -sd' '
}

@test "list: locks that are held, aligned" {
	own_server
	[[ $(rlockrun --list) == "NAME  KIND  HOLDER  PID  USER  HELD  TTL  WAITING  FENCE" ]]
	held job:b web-12345 3723
	held ü:日本 h
	cli set job:b:stale x
	held gone h && cli del gone
	held stolen h && cli set stolen somebody
	waiter job:b web-2 1000 9000
	rlockrun --list >out
	cat out
	[[ $(wc -l <out) == 3 ]]
	[[ $(sed -n 1p out) == "NAME   KIND       HOLDER     PID  USER    HELD   TTL    WAITING  FENCE" ]]
	grep -qxE 'job:b  exclusive  web-12345  41   deploy  1h02m  9m5[0-9]s  1        -' out
	grep -qxE 'ü:日本   exclusive  h          41   deploy  [0-9]s     9m5[0-9]s  0        -' out
}

@test "list: another client's lock, when a rlockrun waits for it" {
	own_server
	cli set plain t px 60000
	cli set lonely t px 60000
	waiter plain web-2 1000 9000
	[[ $(names) == plain ]]
	grep -qE '^plain +exclusive +\(another client\) +- +- +- +(1m00|5[0-9]\.[0-9])s +1 +-$' rows
	[[ -z $(names --older-than 0.001) ]]
}

@test "list: kinds, the one who has held it for longest, and what is kept" {
	own_server
	counted readers s 0 a:web-1:5000:20000:- b:web-2:65000:30500:-
	counted three p 3 a:web-3:3723000:20000:k
	counted dead p 3 a:web-3:5000:-5:-
	counted net p 0 a::5000:20000:-
	waiter net web-9 1000 9000
	rlockrun --list >out
	cat out
	[[ $(wc -l <out) == 4 ]]
	grep -qxE 'readers +2 shared +web-2 +41 +deploy +1m[01][0-9]s +[23][0-9]\.[0-9]s +0 +-' out
	grep -qxE 'three +1/3 permits +web-3 +41 +deploy +1h02m +[12][0-9]\.[0-9]s kept +0 +-' out
	grep -qxE 'net +1 permit +\(another client\) +- +- +- +[12][0-9]\.[0-9]s +1 +-' out
	[[ $(names --older-than 1h) == three && $(names --older-than 1m) == "readers three" ]]
	run -0 rlockrun --list --json three
	is 'it["kind"], it["free"], it["holders"][0]["ended"]' "('permits', 2, True)"
}

@test "list: globs, several of them, and options behind them" {
	own_server
	for name in a:1 a:2 b/1 'c*' '-d'; do
		held "$name" h
	done
	[[ $(names) == "-d a:1 a:2 b/1 c*" ]]
	[[ $(names 'a:*') == "a:1 a:2" ]]
	[[ $(names 'a:[2-9]' '?/?' --server-timeout 5) == "a:2 b/1" ]]
	[[ $(names '*1') == "a:1 b/1" ]]
	[[ $(names 'c\*') == "c*" ]]
	[[ -z $(names 'a') ]]
	[[ $(names -- -d) == "-d" ]]
	[[ -z $(names -- --json) ]]
	[[ $(names '[[:alpha:]]:1') == "a:1" ]]
	run -0 rlockrun --list 'a:1' --json
	is 'it["name"], it["holders"][0]["host"], "queue" in it' "('a:1', 'h', False)"
}

shows_lines() {
	[[ $(rlockrun --list "${@:2}" | wc -l) == "$1" ]]
}

@test "list: any name, with a hash tag or without, and the prefix" {
	not_over cluster # where nothing can lie beside some
	own_server
	n=0
	for name in 'a b' $'line\nfeed' 'a}b' 'a{}b' '{}{a}b' '{a' '{a}b' 'x{{a}}' 'p:{q}r'; do
		start "$RLOCKRUN" -k "$name" sleep 30
		n=$((n + 1))
	done
	wait_until shows_lines "$n" --json
	rlockrun --list --json | /usr/bin/python3 -c 'import json, sys
print(sorted(json.loads(line)["name"] for line in sys.stdin))' >got
	[[ $(<got) == "['a b', 'a{}b', 'a}b', 'line\\nfeed', 'p:{q}r', 'x{{a}}', '{a', '{a}b', '{}{a}b']" ]]
	run -0 rlockrun --list --json --prefix p:
	[[ ${#lines[@]} == 1 ]]
	is 'it["name"], it["key"]' "('{q}r', 'p:{q}r')"
	[[ $(names --prefix p: '*r') == "{q}r" ]]
	[[ -z $(names --prefix p: 'p*') ]]
}

@test "list: only locks that are held for longer" {
	own_server
	held young h 5
	held old h 7200
	[[ $(names --older-than 1h) == old ]]
	[[ $(names --older-than 1) == "old young" ]]
	[[ $(names --older-than 0) == "old young" ]]
	[[ -z $(names --older-than 1d) ]]
	[[ $(names 'y*' --older-than 1s) == young ]]
}

@test "list: what looks like a helper key and is none does no harm" {
	own_server
	held good h
	cli hset "{bad}:rlk:i" a b
	cli rpush bad 1
	cli set ":rlk:i" x
	cli set "{a{b}:rlk:i" x
	cli set "x:rlkt:i" x
	cli set "{s}:rlk:i" x
	cli set s x
	printf 'SET "{nul\\x00}:rlk:i" x\n' | redis-cli -s "$SUITE_DIR/s"
	[[ $(names) == good ]]
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

# bats test_tags=extra
@test "list: each of 20,000 locks once, among as many other keys, by SCAN" {
	own_server
	bulk 20000
	cli eval 'for i = 1, 20000 do redis.call("SET", "other:" .. i, i) end' 0
	cli config resetstat
	rlockrun --list >out
	[[ $(wc -l <out) == 20001 ]]
	[[ $(sed 1d out | awk '{ print $1 }' | sort -u | wc -l) == 20000 ]]
	[[ $(cli info commandstats) != *cmdstat_keys* ]]
}

has_begun() {
	(($(wc -l <out.1) > 300))
}

# bats test_tags=extra
@test "list: 200,000 locks stream in little memory, and can be interrupted" {
	own_server
	bulk 200000
	# A background process of a script ignores INT.
	start env --default-signal=INT "$RLOCKRUN" --list
	wait_until has_begun
	peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$PID/status")
	echo "peak: $peak kB"
	[[ $RLOCKRUN == */asan/* || $RLOCKRUN == */valgrind/* ]] || ((peak < 8000))
	kill -INT "$PID"
	exits_with 130 "$PID"
	[[ ! -s $ERR && $(wc -l <out.1) -lt 200000 ]]
	run -0 rlockrun --list 'bulk:123456' --json
	is 'it["name"]' bulk:123456
}

@test "list: who closes the pipe ends it" {
	own_server
	bulk 5000
	for option in '' --json; do
		code=0
		# shellcheck disable=SC2086
		{ rlockrun --list $option 2>err || echo $? >code; } | head -n 2 >out
		[[ $(wc -l <out) == 2 && ! -s err && $(<code) == 141 ]]
	done
}

# --- force-release ------------------------------------------------------------

# bats test_tags=smoke
@test "force-release: the holder stops its job at its next renewal" {
	hold -t 1
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $output =~ ^"rlockrun: $KEY: released, it was held by $(uname -n) (pid $PID, " ]]
	exits_with 79 "$PID"
	[[ -z $(keys_left) ]]
}

@test "B3: force-release with a token: only that holder's; a wrong one changes nothing" {
	hold -t 30
	waiter "$KEY" web-2 1000 9000
	cli zadd "{$KEY}:rlk:n" "$(($(server_ms) + 9000))" nested
	before=$(cli --raw hgetall "{$KEY}:rlk:i")
	for token in wrong '' "$(cli get "$KEY")x" 'x*'; do
		run -75 rlockrun --force-release --token "$token" -k "$KEY"
		[[ ${#lines[@]} == 1 ]]
		[[ $output == "rlockrun: $KEY is held by $(uname -n) (pid $PID, "*", not with that token; nothing was changed" ]]
		run -75 rlockrun --force-release --yes --token "$token" -k "$KEY"
	done
	[[ $(cli --raw hgetall "{$KEY}:rlk:i") == "$before" && -n $(cli get "$KEY") ]]
	[[ $(cli exists "{$KEY}:rlk:n" "{$KEY}:rlk:m:$TOKEN") == 1 ]]
	run -0 rlockrun --force-release --token "$(cli get "$KEY")" -k "$KEY"
	[[ $output == *": released, it was held by "* ]]
	[[ $(cli exists "$KEY" "{$KEY}:rlk:i" "{$KEY}:rlk:n") == 0 ]]
	[[ $(cli exists "{$KEY}:rlk:f" "{$KEY}:rlk:m:$TOKEN") == 2 ]]
	touch "done"
	exits_with 79 "$PID"
}

# bats test_tags=serial
@test "B3: force-release while A holds and B waits: B within 100 ms, A stops its job" {
	hold -t 2
	holder=$PID
	start "$RLOCKRUN" -k "$KEY" sh -c 'cut -d" " -f1 /proc/uptime >began'
	waiter=$PID
	wait_for_file "$ERR"
	run -0 rlockrun --status --json -k "$KEY"
	is '[w["pid"] for w in it["queue"]]' "[$waiter]"
	released=$(cut -d' ' -f1 /proc/uptime)
	run -0 rlockrun --force-release --yes -k "$KEY"
	exits_with 0 "$waiter"
	exits_with 79 "$holder"
	grep -q "$KEY was lost: its key was taken away" err.1
	took=$(awk -v from="$released" '{ printf "%d", ($1 - from) * 1000 }' began)
	echo "took $took ms, with the start of the force-release"
	((took <= 100))
	[[ -z $(keys_left) ]]
}

@test "force-release: what is free is free already" {
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $output == "rlockrun: $KEY is free already" ]]
	run -0 rlockrun --force-release --token any -k "$KEY"
	[[ $output == "rlockrun: $KEY is free already" ]]
}

@test "force-release: another client's lock, whatever its token" {
	cli set "$KEY" plain
	run -75 rlockrun --force-release --token plai -k "$KEY"
	run -0 rlockrun --force-release --token plain -k "$KEY"
	[[ $output == *"released, it was held by another client (not a rlockrun), without a time limit" ]]
	[[ $(cli exists "$KEY") == 0 ]]
	printf 'SET "%s" "a\\x00b\\xff"\n' "$KEY" | redis-cli -s "$SUITE_DIR/s"
	run -75 rlockrun --force-release --token a -k "$KEY"
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "$KEY") == 0 ]]
	cli set "$KEY" ''
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "what is no lock is neither shown nor touched: 76" {
	for create in 'rpush list 1' 'hset hash a b' 'zadd zset 1 a' 'sadd set a' 'xadd stream * a b'; do
		# shellcheck disable=SC2086
		cli ${create/ / $KEY:} >/dev/null
		name=${create#* }
		name=$KEY:${name%% *}
		for action in '--status' '--force-release --yes' '--force-release --token x'; do
			# shellcheck disable=SC2086
			run -76 rlockrun $action -k "$name"
			[[ ${#lines[@]} == 1 && $output == "rlockrun: $name is not a lock: "* ]]
		done
		[[ $(cli exists "$name") == 1 ]]
	done
	cli set "$KEY" "$(printf %02000d 0)"
	run -76 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli strlen "$KEY") == 2000 ]]
	run -0 rlockrun --status -k "$KEY"
}

@test "force-release wakes the first who is alive, and gives it a second" {
	cli set "$KEY" plain
	waiter "$KEY" dead 9000 -1
	dead=$WAITER
	waiter "$KEY" stepped 8000 3600000
	waiter "$KEY" first 5000 9000
	bell="{$KEY}:rlk:m:$TOKEN" first=$WAITER
	waiter "$KEY" second 1000 9000
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli llen "$bell") == 1 && $(cli pttl "$bell") -gt 5000 ]]
	[[ $(cli exists "{$KEY}:rlk:m:$TOKEN") == 0 ]]
	[[ $(cli --raw zrange "{$KEY}:rlk:q" 0 -1) == "$first"$'\n'"$WAITER" ]]
	[[ -z $(cli --raw zscore "{$KEY}:rlk:l" "$dead") ]]
	((alive = $(cli --raw zscore "{$KEY}:rlk:l" "$first") - $(server_ms)))
	((alive > -3000 && alive <= 1000))
	# A bell never holds more than one.
	cli set "$KEY" plain
	cli zadd "{$KEY}:rlk:l" "$(($(server_ms) + 9000))" "$first"
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli llen "$bell") == 1 ]]
}

@test "force-release: damaged helper keys don't keep it" {
	for letter in i q l n f; do
		cli set "$KEY" plain
		cli set "{$KEY}:rlk:$letter" garbage
		run -0 rlockrun --force-release --yes -k "$KEY"
		[[ $(cli exists "$KEY") == 0 ]]
	done
	cli del "{$KEY}:rlk:q" "{$KEY}:rlk:l"
	cli set "$KEY" plain
	waiter "$KEY" first 5000 9000
	cli set "{$KEY}:rlk:m:$TOKEN" garbage
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "$KEY") == 0 ]]
}

# --- force-release of counted locks -------------------------------------------

@test "force-release of one reader by its token: the others keep it" {
	hold -s -t 1
	a=$PID
	token=$(cli --raw zrange "$KEY" 0 0)
	rm job
	hold -s -t 1
	for wrong in x "$token" "${token#s:}x"; do
		run -75 rlockrun --force-release --yes --token "$wrong" -k "$KEY"
		[[ $output == "rlockrun: $KEY is held by $(uname -n) (pid "*", and by 1 other, not with that token; nothing was changed" ]]
	done
	[[ $(cli zcard "$KEY") == 2 ]]
	run -0 rlockrun --force-release --token "${token#s:}" -k "$KEY"
	[[ $output == "rlockrun: $KEY: released, it was held by $(uname -n) (pid $a, "*" ago" ]]
	exits_with 79 "$a"
	[[ $(cli zcard "$KEY") == 1 ]]
	touch "done"
	exits_with 0 "$PID"
	[[ -z $(keys_left) ]]
}

@test "force-release of all who share a lock, and those in line are rung" {
	hold -s -t 1
	a=$PID
	rm job
	hold -s -t 1
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $output == *": released, it was held by "*" ago, and by 1 other" ]]
	exits_with 79 "$a"
	exits_with 79 "$PID"
	[[ -z $(keys_left) ]]
	# Two of three permits are free then: two of those in line are rung.
	counted "$KEY" p 3 a:web-1:5000:20000:- b:web-2:5000:30500:- c:web-3:5000:40000:-
	bells=()
	for n in 1 2 3 4; do
		waiter "$KEY" "$n" $((9000 - n)) 9000
		cli zrem "{$KEY}:rlk:q" "$WAITER"
		cli zadd "{$KEY}:rlk:q" "$n" "p${WAITER#x}"
		cli zadd "{$KEY}:rlk:l" "$(($(server_ms) + 9000))" "p${WAITER#x}"
		bells+=("{$KEY}:rlk:m:$TOKEN")
	done
	run -0 rlockrun --force-release --token b -k "$KEY"
	[[ $(cli exists "${bells[@]}") == 1 && $(cli llen "${bells[0]}") == 1 ]]
	run -0 rlockrun --force-release --token c -k "$KEY"
	[[ $(cli exists "${bells[@]}") == 2 && $(cli llen "${bells[1]}") == 1 ]]
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "${bells[@]}") == 3 && $(cli exists "$KEY" "{$KEY}:rlk:i") == 0 ]]
}

@test "force-release: a foreign permit, and one whose token is no text" {
	counted "$KEY" p 3 a:web-1:5000:20000:- net::0:30000:-
	run -0 rlockrun --force-release --token net -k "$KEY"
	[[ $output == *"released, it was held by another client (not a rlockrun)" ]]
	[[ $(cli --raw zrange "$KEY" 0 -1) == a ]]
	printf 'ZADD "%s" %s "a\\x00b\\xff"\n' "$KEY" $(($(server_ms) + 60000)) | redis-cli -s "$SUITE_DIR/s"
	run -0 rlockrun --status --json -k "$KEY"
	is 'it["count"]' 2
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "force-release: of 5,000 readers all that were seen, and it says so" {
	cli eval 'local t = redis.call("TIME")
		for i = 1, 5000 do
			redis.call("ZADD", KEYS[1], t[1] * 1000 + 60000 + i, "s:" .. i)
		end
		redis.call("PEXPIRE", KEYS[1], 100000)' 1 "$KEY"
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ ${lines[1]} == "rlockrun: $KEY: 1000 others still hold it; release it again" ]]
	[[ $(cli zcard "$KEY") == 1000 ]]
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ ${#lines[@]} == 1 && $(cli exists "$KEY") == 0 ]]
}

# on_terminal KEYS [OPTION...]: a force-release that is answered so.
on_terminal() {
	local typed=$1
	shift
	timeout 30 "$HELPERS/on-pty" screen "screen:$typed" -- \
		"$RLOCKRUN" --force-release -k "$KEY" "$@"
}

@test "force-release asks on a terminal, and takes only a yes for one" {
	LOGNAME=deploy hold -t 30
	for answer in 'n\n' '\n' '\x04' 'yep\n' 'yn\n' 'nein y\n'; do
		run -75 on_terminal "$answer"
		grep -qE "^rlockrun: $KEY is held by $(uname -n) \(pid $PID, deploy\) since .* ago; release it\? \[y/N\] " screen
		grep -q "rlockrun: $KEY: nothing was changed" screen
		[[ -n $(cli get "$KEY") ]]
	done
	run -130 on_terminal '\x03'
	[[ -n $(cli get "$KEY") ]]
	run -0 on_terminal 'y\n'
	grep -q "released, it was held by" screen
	[[ $(cli exists "$KEY") == 0 ]]
	touch "done"
	exits_with 79 "$PID"
	cli set "$KEY" plain
	run -0 on_terminal 'yes\n'
	run -0 on_terminal ''
	grep -q "is free already" screen
	cli set "$KEY" plain
	run -0 on_terminal '' --token plain
	grep -vq "release it?" screen
}

# asked_and_then FUNCTION: answers yes when that has been done.
asked_and_then() {
	rm -f fifo screen
	timeout 30 "$HELPERS/on-pty" screen @fifo -- \
		"$RLOCKRUN" --force-release -k "$KEY" &
	wait_until grep -qs "release it?" screen
	"$1"
	printf '%s\n' 'type y\n' >fifo
	code=0
	wait $! || code=$?
	cat screen
}

change_hands() { cli set "$KEY" other; }
change_queue() {
	cli del "{$KEY}:rlk:q"
	waiter "$KEY" other 1000 9000
}
free() { cli del "$KEY"; }

@test "force-release: who got the lock during the question keeps it" {
	cli set "$KEY" plain
	asked_and_then change_hands
	[[ $code == 75 && $(cli get "$KEY") == other ]]
	grep -q "it has another holder by now; nothing was changed" screen
	asked_and_then free
	[[ $code == 0 ]]
}

join_them() {
	cli zadd "$KEY" $(($(server_ms) + 50000)) s:later
}

@test "force-release: a reader who came during the question keeps the lock" {
	counted "$KEY" s 0 a:web-1:5000:20000:- b:web-2:5000:30000:-
	asked_and_then join_them
	[[ $code == 0 && $(cli --raw zrange "$KEY" 0 -1) == s:later ]]
}

@test "force-release: who came first during the question is woken" {
	cli set "$KEY" plain
	waiter "$KEY" first 5000 9000
	asked_and_then change_queue
	[[ $code == 0 && $(cli llen "{$KEY}:rlk:m:$TOKEN") == 1 ]]
	[[ $(cli pttl "{$KEY}:rlk:m:$TOKEN") -gt 5000 ]]
}

# --- names and records that mean harm -------------------------------------------

@test "characters that control, reorder or hide text are escaped in all that is shown" {
	own_server
	evil=$'e\e]0;t\a\nrlockrun: \xc2\x9b\xff\xe2\x80\xae\xf3\xa0\x81\x81"\\'
	held "$evil" "$evil"
	cli hset "{$evil}:rlk:i" user "$evil" command "$evil" pid "$evil"
	waiter "$evil" "$evil" 5000 9000
	# shellcheck disable=SC1003 # that backslash is meant
	escaped='e\x1b]0;t\x07\nrlockrun: \xc2\x9b\xff\xe2\x80\xae\xf3\xa0\x81\x81"\'
	run -0 --separate-stderr rlockrun --status -k "$evil"
	[[ $stderr == *": pid is no number in range" && ! $stderr =~ [[:cntrl:]] ]]
	[[ ${lines[0]} == "lock:     $escaped" ]]
	[[ ${lines[1]} == "holder:   $escaped (pid "* ]]
	[[ ${lines[2]} == "command:  $escaped" ]]
	[[ ${lines[-1]} == "     1.   $escaped (pid 77) for "* ]]
	[[ ! ${output//$'\n'/} =~ [[:cntrl:]] ]]
	run -0 rlockrun --list
	[[ ${#lines[@]} == 2 && ${lines[1]} == "$escaped  exclusive  $escaped  "* ]]
	[[ ! ${output//$'\n'/} =~ [[:cntrl:]] ]]
	for action in "--status -k" --list; do
		# shellcheck disable=SC2086
		run -0 rlockrun --json $action "${evil//\\/\\}"
		[[ ${#lines[@]} == 1 && ! $output =~ [[:cntrl:]] ]] || [[ $action == --list ]]
	done
	run -0 rlockrun --json --list
	[[ ${#lines[@]} == 1 && ! $output =~ [[:cntrl:]] ]]
	is 'it["name"] == "e\x1b]0;t\x07\nrlockrun: \x9b\xff\u202e\U000e0041\"\\"' True
	[[ $output == *'\u202e\udb40\udc41'* ]]
	is 'it["holders"][0]["host"] == it["name"] and it["holders"][0]["pid"] is None' True
	cp /dev/null screen
	KEY=$evil
	run -75 on_terminal 'n\n'
	[[ $(tr -d '\r\n' <screen) != *[[:cntrl:]]* ]]
}

# --- servers and stdout -----------------------------------------------------------

@test "no server: 69; passwords and rules: 77" {
	not_over cluster # which has no other db
	for action in "--status -k a" --list "--force-release --yes -k a"; do
		# shellcheck disable=SC2086
		run -69 rlockrun --server-timeout 0.2 -r "unix://$PWD/none" $action
		[[ ${#lines[@]} == 1 && $output == *"cannot connect to unix://$PWD/none: "* ]]
		# shellcheck disable=SC2086
		run -77 rlockrun -r "unix://ghost:boo@$SUITE_DIR/s" $action
		[[ ${#lines[@]} == 1 && $output == *"refused by "*WRONGPASS* ]]
		# shellcheck disable=SC2086
		run -77 rlockrun -r "unix://$SUITE_DIR/s?db=16" $action
		[[ $output == *"DB index is out of range"* ]]
	done
}

# bats test_tags=extra
@test "a server that comes back in time is asked again" {
	own_server
	held "$KEY" web-1
	stop_server "$SUITE_DIR"
	start "$RLOCKRUN" --status -k "$KEY"
	sleep 0.3
	start_server "$SUITE_DIR"
	exits_with 0 "$PID"
	[[ $(<out.1) == *"holder:   nobody"* ]]
}

@test "the access rules of the man page are enough, and each is needed" {
	own_server
	held job:1 web-1
	waiter job:1 dead 9000 -1
	waiter job:1 web-2 1000 9000
	look="+eval +time +get +pttl +hmget +zcount +zrange +zscore +client|setname"
	# shellcheck disable=SC2086
	cli acl setuser viewer on '>v' '~job:*' '~{job:*}:rlk:*' $look
	url=unix://viewer:v@$SUITE_DIR/s
	run -0 --separate-stderr rlockrun -r "$url" --status -k job:1
	[[ -z $stderr && $output == *web-1*web-2* ]]
	run -77 rlockrun -r "$url" --list
	[[ $output == *"'scan'"* ]]
	cli acl setuser viewer +scan
	run -0 --separate-stderr rlockrun -r "$url" --list
	[[ -z $stderr && $output == *job:1*web-1* ]]
	run -77 rlockrun -r "$url" --force-release --yes -k job:1
	[[ $(cli exists job:1) == 1 ]]
	cli acl setuser viewer +del +zadd +zrem +rpush +pexpire
	run -0 rlockrun -r "$url" --force-release --yes -k job:1
	[[ $(cli exists job:1) == 0 && $(cli llen "{job:1}:rlk:m:$TOKEN") == 1 ]]
	held job:1 web-1
	for rule in +hmget +zcount +zrange +zscore; do
		cli acl setuser viewer "-${rule#+}"
		run -0 --separate-stderr rlockrun -r "$url" --status -k job:1
		[[ $stderr == *"damaged: "* ]] || [[ $rule == +zscore ]]
		cli acl setuser viewer "$rule"
	done
}

@test "what stdout doesn't take: 71" {
	own_server
	bulk 300
	for action in "--status -k bulk:1" --list "--list --json" "--status --json -k bulk:1"; do
		code=0
		# shellcheck disable=SC2086
		rlockrun $action >/dev/full 2>err || code=$?
		[[ $code == 71 && $(<err) == "rlockrun: cannot write to stdout: No space left on device" ]]
		rm -f closed code
		# shellcheck disable=SC2086
		{
			wait_for_file closed
			(trap '' PIPE && rlockrun $action) 2>err || echo $? >code
		} | {
			exec <&-
			echo >closed
		}
		[[ $(<code) == 71 && $(<err) == "rlockrun: cannot write to stdout: Broken pipe" ]]
	done
}

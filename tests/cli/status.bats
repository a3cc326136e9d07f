#!/usr/bin/env bats
# --status: the holders of a lock and its queue, as text and as JSON.
# shellcheck disable=SC2034,SC2153,SC2154 # helpers and run set and use these

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# Whether --status and --force-release call the free lock known, or not.
is_known() {
	[[ $(rlockrun --status -k "$KEY") == *$'\nholder:   nobody\n'* ]]
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $output == "rlockrun: \"$KEY\" is already free" ]]
}
is_unknown() {
	[[ $(rlockrun --status -k "$KEY") == *$'\nholder:   nobody; no such lock is known\n'* ]]
	run -0 rlockrun --force-release --yes -k "$KEY"
	[[ $output == "rlockrun: \"$KEY\" is already free; no such lock is known" ]]
}

# --- status -------------------------------------------------------------------

@test "status of a lock that is free" {
	run -0 rlockrun --status -k "$KEY"
	[[ ${#lines[@]} == 4 ]]
	[[ ${lines[0]} == "lock:     $KEY" ]]
	[[ ${lines[2]} == "holder:   nobody; no such lock is known" ]]
	[[ ${lines[3]} == "waiting:  0" ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json '{"held":false,' '"kind":null,' '"holders":[]'
	[[ $(cli exists "$KEY" "{$KEY}:rlk:i" "{$KEY}:rlk:q" "{$KEY}:rlk:l") == 0 ]]
}

# Each trace alone is enough, and so is one that cannot be read.
@test "status and force-release: a lock is known by its fence, last run, success or waiters" {
	rl true
	cli del "{$KEY}:rlk:f" >/dev/null
	is_known
	cli hdel "{$KEY}:rlk:r" token >/dev/null
	is_known
	cli del "{$KEY}:rlk:r" >/dev/null
	is_unknown
	cli set "{$KEY}:rlk:f" 7 >/dev/null
	is_known
	cli del "{$KEY}:rlk:f" >/dev/null
	waiter "$KEY" web-2 1000 9000
	is_known
	cli del "{$KEY}:rlk:q" "{$KEY}:rlk:l" >/dev/null
	is_unknown
	for helper in f q r; do
		cli lpush "{$KEY}:rlk:$helper" damaged >/dev/null
		[[ $(rlockrun --status -k "$KEY" 2>/dev/null) != *"no such lock"* ]]
		cli del "{$KEY}:rlk:$helper" >/dev/null
	done
}

# bats test_tags=smoke
@test "status of a lock that is held, with everything about its holder" {
	LOGNAME=deploy hold -t 20
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ -z $stderr && ${#lines[@]} == 8 ]]
	pattern="^holder:   $(uname -n) \(pid $PID, deploy\)"
	pattern+=' since [0-9]{2}:[0-9]{2}:[0-9]{2}, [0-9]+s ago$'
	[[ ${lines[2]} =~ $pattern ]]
	[[ ${lines[3]} == "command:  sh" ]]
	[[ ${lines[4]} == "token:    $(cli get "$KEY")" ]]
	pattern='^ttl left: (1[0-9]|20)\.[0-9]s$'
	[[ ${lines[5]} =~ $pattern ]]
	[[ ${lines[6]} == "fence:    $(cli get "{$KEY}:rlk:f")" ]]
	[[ ${lines[7]} == "waiting:  0" ]]
	run -0 --separate-stderr rlockrun --status --json -k "$KEY"
	has_json '{"held":true,"name":"'"$KEY"'","key":"'"$KEY"'",' '"kind":"exclusive"' \
		"\"holders\":[{\"token\":\"$(cli get "$KEY")\"," '"problems":[]' '"waiting":0' \
		"\"fence\":$(cli get "{$KEY}:rlk:f"),\"kind\"" \
		"\"fence\":$(cli get "{$KEY}:rlk:f"),\"host\":\"$(uname -n)\",\"pid\":$PID,\"user\":\"deploy\",\"label\":null,\"command\":\"sh\","
	has_json '"db":0,"prefix":""'
	[[ $output =~ '"ttl_ms":'(1[0-9]{4}|20000), ]]
	[[ $output =~ '"since_ms":'([0-9]+)',"held_ms":'([0-9]+), ]]
	since=$((BASH_REMATCH[1] + BASH_REMATCH[2] - $(server_ms)))
	((since > -5000 && since < 5000))
}

@test "status: the prefix makes the key, and is not shown in the name" {
	hold --prefix app:
	run -0 rlockrun --status --prefix app: -k "$KEY"
	[[ ${lines[0]} == "lock:     $KEY" && ${lines[3]} == "command:  sh" ]]
	run -0 rlockrun --status --json --prefix app: -k "$KEY"
	has_json "\"name\":\"$KEY\",\"key\":\"app:$KEY\""
	run -0 rlockrun --status -k "$KEY"
	[[ $output == *nobody* ]]
}

@test "status -q: nothing is printed, the exit status says it" {
	run -0 rlockrun --status -q -k "$KEY"
	[[ -z $output ]]
	hold
	for option in '' --json '-E 75'; do
		# shellcheck disable=SC2086 # several words
		run -75 rlockrun --status -q $option -k "$KEY"
		[[ -z $output ]]
	done
	run -3 rlockrun --status -q -E 3 -k "$KEY"
	run -0 rlockrun --status -q -E 0 -k "$KEY"
	run -0 rlockrun --status -E 3 -k "$KEY"
	[[ -n $output ]]
	# Damage does not hide it, and is no result.
	cli set "{$KEY}:rlk:n" garbage
	run -75 rlockrun --status -q -k "$KEY"
	[[ -z $output ]]
	# The variables are those of runs.
	RLOCKRUN_QUIET=yes run -0 rlockrun --status -k "$KEY"
	[[ $output == *"holder:   $(uname -n)"* ]]
	RLOCKRUN_CONFLICT_EXIT_CODE=0 run -75 rlockrun --status -q -k "$KEY"
	cli del "{$KEY}:rlk:n"
	touch "done"
	exits_with 0 "$PID"
	run -0 rlockrun --status -q -k "$KEY"
	# Errors stay errors, with their message.
	run -69 rlockrun --server-timeout 0.2 -r "unix://$PWD/none" --status -q -k "$KEY"
	[[ ${#lines[@]} == 1 && $output == *"cannot connect to unix://$PWD/none: "* ]]
	cli rpush "$KEY" x
	run -76 rlockrun --status -q -k "$KEY"
	[[ $output == *"is not a lock"* ]]
	cli del "$KEY"
}

@test "status -q of several servers: held on any of them; an error counts more" {
	not_over cluster # which has no other db
	hold
	url=unix://$SUITE_DIR/s
	run -75 rlockrun -r "$url" -r "$url?db=3" --status -q -k "$KEY"
	run -75 rlockrun -r "$url?db=3" -r "$url" --status -q -k "$KEY"
	run -0 rlockrun -r "$url?db=3" -r "$url?db=4" --status -q -k "$KEY"
	[[ -z $output ]]
	for servers in "-r $url -r unix://$PWD/none" "-r unix://$PWD/none -r $url"; do
		# shellcheck disable=SC2086 # several words
		run -69 rlockrun --server-timeout 0.2 $servers --status -q -k "$KEY"
		[[ ${#lines[@]} == 1 ]]
	done
}

@test "status of a db, of several servers, and never a password" {
	not_over cluster # which has no other db
	hold
	url=unix://$SUITE_DIR/s
	cli acl setuser viewer on '>hush' '~*' +@all
	run -0 rlockrun -r "unix://viewer:hush@$SUITE_DIR/s?db=3" -r "$url" --status -k "$KEY"
	[[ $output != *hush* && $output != *viewer* ]]
	[[ $output == "lock:     $KEY"$'\n'"server:   $url?db=3, db 3, no prefix"$'\n'"holder:   nobody"* ]]
	[[ $output == *"waiting:  0"$'\n\n'"lock:     $KEY"$'\n'"server:   $url, db 0, no prefix"$'\n'"holder:   $(uname -n)"* ]]
	run -0 rlockrun -r "unix://viewer:hush@$SUITE_DIR/s?db=3" --status --json -k "$KEY"
	has_json "\"server\":\"$url?db=3\",\"db\":3,"
	cli acl deluser viewer
}

@test "status: another client's lock is said to be that" {
	cli set "$KEY" plain
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[2]} == "holder:   another client (not a rlockrun), without a time limit" ]]
	[[ ${lines[3]} == "token:    plain" && ${lines[4]} == "ttl left: no limit" ]]
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
	has_json '"waiting":3' '"queue":[{"place":1,"host":"?","pid":null,"id":"no\nwaiter",' \
		'{"place":2,"host":"early","pid":77,' '{"place":3,"host":"late","pid":77,'
	[[ $(count '"place":') == 3 && $output =~ '@early","waiting_ms":'(6[5-9]|7[0-4])[0-9]{3}'}' ]]
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
	has_json '"waiting":3000,'
	[[ $(count '"place":') == 1000 ]]
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
	has_json '"nested":2,"outer_ended":true'
}

@test "status: damaged keys beside the lock are reported, the rest is shown" {
	held "$KEY" web-1
	waiter "$KEY" web-2 1000 9000
	cli set "{$KEY}:rlk:f" nonsense
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ $stderr == "rlockrun: \"$KEY\": damaged: {$KEY}:rlk:f: the fence is no number in range" ]]
	[[ $output == *web-1*web-2* && $output != *fence* ]]
	for letter in f q l n; do
		run -0 cli del "{$KEY}:rlk:$letter"
		cli hset "{$KEY}:rlk:$letter" a b
		run -0 --separate-stderr rlockrun --status -k "$KEY"
		[[ $output == *"holder:   web-1"* ]]
		[[ $stderr == *"rlockrun: \"$KEY\": damaged: {$KEY}:rlk:$letter: WRONGTYPE "* ]]
	done
	run -0 cli del "{$KEY}:rlk:i"
	cli rpush "{$KEY}:rlk:i" a
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ $output == *"another client"* && ${#stderr_lines[@]} == 5 ]]
	run -0 --separate-stderr rlockrun --status --json -k "$KEY"
	[[ -z $stderr ]]
	has_json '"waiting":null,' '"queue":[]'
	[[ $(count "\"{$KEY}:rlk:[a-z]: ") == 5 ]]
}

# bats test_tags=night
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
		has_json '"fence":null,"kind"' '"nested":1' '"waiting":2'
	done
	has_json '"host":"h","pid":null,"user":"u"'
}

# bats test_tags=night
@test "status: numbers of a record that are none are reported as damaged" {
	own_server
	held "$KEY" web-1
	cli hset "{$KEY}:rlk:i" fence 17
	run -0 --separate-stderr rlockrun --status --json -k "$KEY"
	has_json '"problems":[]' '"pid":41' '"fence":17,"host"'
	for field in pid fence; do
		for value in x -1 0x10 1e3 9007199254740992 99999999999999999999; do
			cli hset "{$KEY}:rlk:i" "$field" "$value"
			run -0 --separate-stderr rlockrun --status -k "$KEY"
			[[ $stderr == "rlockrun: \"$KEY\": damaged: {$KEY}:rlk:i: $field is no number in range" ]]
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
		[[ $stderr == "rlockrun: \"$KEY\": damaged: {$KEY}:rlk:i: since is no number in range" ]]
		[[ $output == *"holder:   web-1 (pid 5, deploy)"$'\n'* ]]
		run -0 --separate-stderr rlockrun --list
		[[ ${lines[1]} =~ ^"$KEY  exclusive  web-1   5    deploy  -     " && ${#lines[@]} == 2 ]]
		run -0 rlockrun --list --json
		is "it['holders'][0]['since_ms'], it['holders'][0]['held_ms']" "(None, None)"
		run -0 --separate-stderr rlockrun --list --older-than 0.1
		[[ ${#lines[@]} == 1 ]]
	done
	counted "$KEY-p" p x a:web-1:1:20000:-
	run -0 --separate-stderr rlockrun --status -k "$KEY-p"
	[[ $stderr == *": limit is no number in range" && $output == *"permits, 1 used"* ]]
}

# --- status of counted locks ------------------------------------------------

@test "status of readers: each, except those that were killed" {
	counted "$KEY" s 0 a:web-1:65000:20000:- b:web-2:5000:30500:k \
		dead:web-3:5000:-1:- c::0:40000:-
	waiter "$KEY" web-9 2000 9000
	run -0 --separate-stderr rlockrun --status -k "$KEY"
	[[ -z $stderr && ${#lines[@]} == 15 ]]
	[[ ${lines[2]} == "kind:     shared, 3 holders" ]]
	[[ ${lines[3]} == "holder:   web-1 (pid 41, deploy) since "*", 1m"[01]?"s ago" ]]
	[[ ${lines[4]} == "token:    a" && ${lines[5]} =~ ^"ttl left: "(1[0-9]|20).[0-9]s$ ]]
	[[ ${lines[6]} == "holder:   web-2 (pid 41, deploy) since "*"s ago" ]]
	[[ ${lines[7]} == "job:      has ended; kept for --min-hold" ]]
	[[ ${lines[8]} == "token:    b" && ${lines[9]} =~ ^"ttl left: "[23][0-9].[0-9]s$ ]]
	[[ ${lines[10]} == "holder:   another client (not a rlockrun)" ]]
	[[ ${lines[11]} == "token:    c" && ${lines[13]} == "waiting:  1" ]]
	[[ $output != *web-3* ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json '{"held":true,' '"kind":"shared","count":3,"permits":null,"free":null'
	[[ $output =~ '"holders":[{"token":"a",'[^}]*'"fence":765000,"host":"web-1","pid":41,'[^}]*'"ended":false,'[^}]*'},{"token":"b",'[^}]*'"fence":75000,"host":"web-2","pid":41,'[^}]*'"ended":true,'[^}]*'},{"token":"c",'[^}]*'"fence":null,"host":null,"pid":null,'[^}]*'"ended":null,'[^}]*'}],' ]]
	[[ $output =~ '"prefix":"","ttl_ms":'(3[0-9]{4}|40000), && $output =~ '"held_ms":'(6[5-9]|7[0-4])[0-9]{3}, ]]
	[[ $(count '"place":') == 1 ]]
	[[ $(cli zcard "$KEY") == 4 ]]
}

@test "status of permits: used and free, also of a single holder" {
	hold -p 3
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[2]} == "kind:     3 permits, 1 used, 2 free" ]]
	[[ ${lines[3]} == "holder:   $(uname -n) (pid $PID, "* ]]
	[[ ${lines[4]} == "token:    $(cli --raw zrange "$KEY" 0 0)" ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"kind":"permits","count":1,"permits":3,"free":2'
	[[ $output =~ '"fence":'([0-9]+)',"kind"'.*'"fence":'([0-9]+)',"host"' ]]
	[[ ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
	touch "done"
	exits_with 0 "$PID"
	# Fewer permits than holders, and nothing that tells how many.
	counted "$KEY" p 1 a:web-1:5000:20000:- b:web-2:5000:30500:-
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[2]} == "kind:     1 permit, 2 used, 0 free" ]]
	cli del "{$KEY}:rlk:i"
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[2]} == "kind:     permits, 2 used" && $output == *"another client"* ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"count":2,"permits":null,"free":null'
}

@test "status: an exclusive lock that is kept; a counted one whose holders are dead" {
	held "$KEY" web-1
	cli hset "{$KEY}:rlk:i" kept 1
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[3]} == "job:      has ended; kept for --min-hold" && $output != *command* ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"ended":true'
	cli del "$KEY" "{$KEY}:rlk:i"
	counted "$KEY" s 0 a:web-1:65000:-5:-
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[2]} == "holder:   nobody"* ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json '{"held":false' '"kind":null,"count":0'
}

@test "status: of very many readers a hundred" {
	cli eval 'local t = redis.call("TIME")
		for i = 1, 3000 do
			redis.call("ZADD", KEYS[1], t[1] * 1000 + 60000 + i, "s:" .. i)
		end
		redis.call("PEXPIRE", KEYS[1], 100000)' 1 "$KEY"
	run -0 rlockrun --status -k "$KEY"
	[[ ${lines[2]} == "kind:     shared, 3000 holders" ]]
	[[ $(grep -c ^holder: <<<"$output") == 100 && $output == *"holders:  2900 more"* ]]
	run -0 rlockrun --status --json -k "$KEY"
	has_json '"count":3000,'
	[[ $(count '"token":') == 100 ]]
}

# bats test_tags=night
@test "status: records of counted locks with anything in them do no harm" {
	for record in '' x '1 2' '1e300 - 1 2 h u' '99999999999999999999 - 99999999999999999999 p h u' \
		$'5 - 5 p\e h\e u\e\nv' '5 -  p h u'; do
		counted "$KEY" s 0 a:web-1:1:20000:-
		cli hset "{$KEY}:rlk:i" a "$record"
		run -0 rlockrun --status -k "$KEY"
		[[ $output == *"token:    a"* && ! ${output//$'\n'/} =~ [[:cntrl:]] ]]
		run -0 rlockrun --status --json -k "$KEY"
		has_json '"count":1,'
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
	[[ $(cli info commandstats) == *cmdstat_evalsha:calls=1,* ]]
	[[ ! $(cli info commandstats) =~ cmdstat_(z(add|rem)|del|pexpire|set|hset) ]]
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

# bats test_tags=night
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
	[[ $stderr == *": 1 lock found on "* && $output == *job:1*web-1* ]]
	run -77 rlockrun -r "$url" --force-release --yes -k job:1
	[[ $(cli exists job:1) == 1 ]]
	cli acl setuser viewer +del +zadd +zrem +rpush +pexpire
	run -0 rlockrun -r "$url" --force-release --yes -k job:1
	[[ $(cli exists job:1) == 0 && $(cli llen "{job:1}:rlk:m:$TOKEN") == 1 ]]
}

@test "status without one of its permissions: not permitted, which is not damaged" {
	own_server
	held job:1 web-1
	waiter job:1 web-2 1000 9000
	waiter job:1 web-3 900 9000
	cli zadd "{job:1}:rlk:n" "$(($(server_ms) + 9000))" "token of job:1:one"
	cli incr "{job:1}:rlk:f"
	cli acl setuser viewer on '>v' '~job:*' '~{job:*}:rlk:*' +eval +time +get \
		+pttl +hmget +zcount +zrange +zscore +client\|setname
	url=unix://viewer:v@$SUITE_DIR/s
	for rule in hmget zcount zrange zscore; do
		cli acl setuser viewer "-$rule"
		run -0 --separate-stderr rlockrun -r "$url" --status -k job:1
		[[ $output == *"lock:     job:1"* && $output != *nobody* && $stderr != *damaged* ]]
		for line in "${stderr_lines[@]}"; do
			[[ $line == "rlockrun: \"job:1\": not permitted to read {job:1}:rlk:"[ilqnr]": "*"${rule^^}"*" (permit it: see ACCESS RULES in rlockrun-servers(7))" ]]
		done
		wanted=1
		# Of the holder and the last run; of the queue and nested runs.
		[[ $rule != hmget && $rule != zrange ]] || wanted=2
		[[ ${#stderr_lines[@]} == "$wanted" ]]
		run -0 --separate-stderr rlockrun -r "$url" --status --json -k job:1
		[[ -z $stderr ]]
		[[ $output =~ '"problems":["'[^\"]*"${rule^^}" ]]
		cli acl setuser viewer "+$rule"
	done
	for rule in eval time get pttl; do
		cli acl setuser viewer "-$rule"
		run -77 rlockrun -r "$url" --status -k job:1
		[[ ${#lines[@]} == 1 && ${output,,} =~ \"job:1\":\ refused\ by.*[^a-z]${rule}[^a-z].*"(permit it: " ]]
		cli acl setuser viewer "+$rule"
	done
	cli acl setuser viewer resetkeys '~job:*'
	run -77 rlockrun -r "$url" --status -k job:1
	[[ ${#lines[@]} == 1 && $output == *": refused by "*NOPERM*"(permit it: "* ]]
}

@test "an unreachable server is reported after 2 s, once, and at the end; with -q only then" {
	for action in "--status -k a" "-v --list" "-q --status -k a"; do
		# shellcheck disable=SC2086
		start "$RLOCKRUN" -r "unix://$PWD/none" --server-timeout 4 $action
	done
	for pid in "${STARTED[@]}"; do exits_with 69 "$pid"; done
	for n in 1 2; do
		[[ $(wc -l <err.$n) == 2 && $(head -n 1 err.$n) == *"cannot connect to unix://"*"; trying again" ]]
	done
	[[ $(wc -l <err.3) == 1 && $(<err.3) == *"cannot connect to unix://"* ]]
}

@test "a server that comes late: the line about it is erased" {
	own_server
	stop_server "$SUITE_DIR"
	start "$RLOCKRUN" --progress always --status -k "$KEY"
	wait_until grep -q 'cannot connect' "$ERR"
	start_server "$SUITE_DIR"
	exits_with 0 "$PID"
	grep -q '^holder: *nobody' out.1
	[[ $(<"$ERR") == $'\r\e[Krlockrun: "'"$KEY"'": cannot connect to '*$'...\r\e[K' ]]
}

@test "what stdout doesn't take: 71" {
	own_server
	bulk 300
	for action in "--status -k bulk:1" --list "--list --json" "--status --json -k bulk:1"; do
		code=0
		# shellcheck disable=SC2086
		rlockrun $action >/dev/full 2>err || code=$?
		[[ $code == 71 && $(<err) == "rlockrun: cannot write to stdout: No space left on device" ]]
		code=0
		# shellcheck disable=SC2086
		rlockrun $action >&- 2>err || code=$?
		[[ $code == 71 && $(<err) == "rlockrun: cannot write to stdout: Bad file descriptor" ]]
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

#!/usr/bin/env bats
# --list: which locks are held, by name and by age; names and records that would do
# harm on a screen.
# shellcheck disable=SC2034,SC2153,SC2154 # helpers and run set and use these

# bats file_tags=everywhere

load ../helpers/suite
load ../helpers/admin

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- list ---------------------------------------------------------------------

# The names that a list shows, sorted.
names() {
	rlockrun --list "$@" >rows || return
	[[ $(head -n 1 rows) == "NAME "* ]]
	sed 1d rows | awk '{ print $1 }' | sort | paste -sd' '
}

@test "list: locks that are held, aligned" {
	own_server
	[[ $(rlockrun --list) == "NAME  KIND  HOLDER  PID  USER  HELD  TTL  WAITING  FENCE  LABEL" ]]
	held job:b web-12345 3723
	held ü:日本 h
	cli set job:b:stale x
	held gone h && cli del gone
	held stolen h && cli set stolen somebody
	waiter job:b web-2 1000 9000
	rlockrun --list >out
	cat out
	[[ $(wc -l <out) == 3 ]]
	[[ $(sed -n 1p out) == "NAME    KIND       HOLDER     PID  USER    HELD   TTL    WAITING  FENCE  LABEL" ]]
	grep -qxE 'job:b   exclusive  web-12345  41   deploy  1h02m  9m5[0-9]s  1        -      -' out
	grep -qxE 'ü:日本  exclusive  h          41   deploy  [0-9]s     9m5[0-9]s  0        -      -' out
}

@test "list: what was found and where is printed to stderr, for people" {
	own_server
	place="$RLOCKRUN_REDIS, db 0"
	run -0 --separate-stderr rlockrun --list
	[[ ${#lines[@]} == 1 && $stderr == "rlockrun: no locks found on $place, no prefix" ]]
	held app:a h
	run -0 --separate-stderr rlockrun --list --prefix app:
	[[ ${#lines[@]} == 2 && $stderr == "rlockrun: 1 lock found on $place, prefix \"app:\"" ]]
	held app:b h
	run -0 --separate-stderr rlockrun --list
	[[ ${#lines[@]} == 3 && $stderr == "rlockrun: 2 locks found on $place, no prefix" ]]
	run -0 --separate-stderr rlockrun --list '*:b'
	[[ ${#lines[@]} == 2 && $stderr == "rlockrun: 1 lock found on "* ]]
	for glob in '*:b' none; do
		run -0 --separate-stderr rlockrun --list --json "$glob"
		[[ -z $stderr ]]
	done
}

@test "list -q: nothing is printed, the exit status says whether any is held" {
	own_server
	run -0 rlockrun --list -q
	[[ -z $output ]]
	held job:a h 7200
	for option in '' --json 'job:*' 'x job:a' '--older-than 1h'; do
		# shellcheck disable=SC2086 # several words
		run -75 rlockrun --list -q $option
		[[ -z $output ]]
	done
	for option in 'x:*' '--older-than 1d' '--prefix x:'; do
		# shellcheck disable=SC2086
		run -0 rlockrun --list -q $option
		[[ -z $output ]]
	done
	run -4 rlockrun --list -q -E 4
	RLOCKRUN_QUIET=yes run -0 rlockrun --list
	[[ $output == *"job:a "* ]]
	run -69 rlockrun --server-timeout 0.2 -r "unix://$PWD/none" --list -q
	[[ ${#lines[@]} == 1 ]]
}

# bats test_tags=night
@test "list -q ends at the first lock" {
	not_over cluster # where each node is asked
	own_server
	bulk 20000
	cli config resetstat
	run -75 rlockrun --list -q
	[[ $(cli info commandstats) == *cmdstat_scan:calls=1,* ]]
	[[ $(cli info commandstats) =~ cmdstat_evalsha:calls=([0-9]+), ]]
	((BASH_REMATCH[1] <= 12))
}

@test "list without permission for the records: the locks, and one warning" {
	own_server
	cli acl setuser viewer on '>v' '~*' +@all -hmget
	held a h
	held b h
	waiter b web-2 1000 9000
	url=unix://viewer:v@$SUITE_DIR/s
	run -0 --separate-stderr rlockrun -r "$url" --list
	[[ ${#lines[@]} == 3 && ${lines[1]} == [ab]"     exclusive  (another client)  "* ]]
	[[ ${#stderr_lines[@]} == 2 && ${stderr_lines[1]} == *" 2 locks found on "* ]]
	[[ ${stderr_lines[0]} == "rlockrun: \""[ab]"\": not permitted to read {"[ab]"}:rlk:i: "*HMGET*" (permit it: "* ]]
	run -75 rlockrun -r "$url" --list -q
	[[ -z $output ]]
	run -0 --separate-stderr rlockrun -r "$url" --list --json
	[[ ${#lines[@]} == 2 && $output == *HMGET* && -z $stderr ]]
}

@test "list of several servers: where each table comes from" {
	not_over cluster # which has no other db
	own_server
	url=unix://$SUITE_DIR/s
	held a h
	run -0 --separate-stderr rlockrun --list -r "unix://default:x@$SUITE_DIR/s?db=5" -r "$url"
	mapfile -t rows <<<"$output"
	[[ ${#rows[@]} == 6 && ${rows[1]} == "NAME "* && -z ${rows[2]} ]]
	[[ ${rows[0]} == "$url?db=5, db 5, no prefix:" ]]
	[[ ${rows[3]} == "$url, db 0, no prefix:" && ${rows[5]} == "a  "* ]]
	[[ ${stderr_lines[0]} == "rlockrun: no locks found on $url?db=5, db 5, no prefix" ]]
	[[ ${stderr_lines[1]} == "rlockrun: 1 lock found on $url, db 0, no prefix" ]]
}

@test "list: another client's lock, when a rlockrun waits for it" {
	own_server
	cli set plain t px 60000
	cli set lonely t px 60000
	waiter plain web-2 1000 9000
	[[ $(names) == plain ]]
	grep -qE '^plain +exclusive +\(another client\) +- +- +- +(1m00|5[0-9]\.[0-9])s +1 +- +-$' rows
	[[ -z $(names --older-than 0.001) ]]
}

@test "list: kinds, the holder of longest standing, and locks that are kept" {
	own_server
	counted readers s 0 a:web-1:5000:20000:- b:web-2:65000:30500:-
	counted three p 3 a:web-3:3723000:20000:k
	counted dead p 3 a:web-3:5000:-5:-
	counted net p 0 a::5000:20000:-
	waiter net web-9 1000 9000
	rlockrun --list >out
	cat out
	[[ $(wc -l <out) == 4 ]]
	grep -qxE 'readers +2 shared +web-2 +41 +deploy +1m[01][0-9]s +[23][0-9]\.[0-9]s +0 +- +-' out
	grep -qxE 'three +1/3 permits +web-3 +41 +deploy +1h02m +[12][0-9]\.[0-9]s kept +0 +- +-' out
	grep -qxE 'net +1 permit +\(another client\) +- +- +- +[12][0-9]\.[0-9]s +1 +- +-' out
	[[ $(names --older-than 1h) == three && $(names --older-than 1m) == "readers three" ]]
	run -0 rlockrun --list --json three
	has_json '"kind":"permits"' '"free":2,' '"ended":true'
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
	has_json '"name":"a:1"' '"host":"h"'
	[[ $output != *'"queue"'* ]]
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
	rlockrun --list --json | sed -E 's/.*"name":"([^"]*)".*/\1/' | LC_ALL=C sort >got
	diff - got <<-'END'
		a b
		a{}b
		a}b
		line\nfeed
		p:{q}r
		x{{a}}
		{a
		{a}b
		{}{a}b
	END
	run -0 rlockrun --list --json --prefix p:
	[[ ${#lines[@]} == 1 ]]
	has_json '"name":"{q}r","key":"p:{q}r"'
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

# bats test_tags=night
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

# bats test_tags=night
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
	has_json '"name":"bulk:123456"'
}

@test "list: a reader that closes the pipe ends it" {
	own_server
	bulk 5000
	for option in '' --json; do
		# shellcheck disable=SC2086
		{ rlockrun --list $option 2>err || echo $? >code; } | head -n 2 >out
		[[ $(wc -l <out) == 2 && ! -s err && $(<code) == 141 ]]
	done
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
	[[ ${lines[2]} == "holder:   $escaped (pid "* ]]
	[[ ${lines[3]} == "command:  $escaped" ]]
	[[ ${lines[-1]} == "     1.   $escaped (pid 77) for "* ]]
	[[ ! ${output//$'\n'/} =~ [[:cntrl:]] ]]
	run -0 --separate-stderr rlockrun --list
	[[ ${#lines[@]} == 2 && ${lines[1]} == "$escaped  exclusive  $escaped  "* ]]
	[[ ! ${output//$'\n'/} =~ [[:cntrl:]] ]]
	for action in "--status -k" --list; do
		# shellcheck disable=SC2086
		run -0 rlockrun --json $action "${evil//\\/\\}"
		[[ ${#lines[@]} == 1 && ! $output =~ [[:cntrl:]] ]] || [[ $action == --list ]]
	done
	run -0 rlockrun --json --list
	[[ ${#lines[@]} == 1 && ! $output =~ [[:cntrl:]] ]]
	escaped='"e\u001b]0;t\u0007\nrlockrun: \u009b\u00ff\u202e\udb40\udc41\"\\"'
	has_json "\"name\":$escaped," "\"host\":$escaped,\"pid\":null,"
	cp /dev/null screen
	KEY=$evil
	run -75 on_terminal 'n\n'
	[[ $(tr -d '\r\n' <screen) != *[[:cntrl:]]* ]]
}

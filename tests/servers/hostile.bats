#!/usr/bin/env bats
# Servers that reply with nonsense or with what could do harm, and those that are no
# Redis server at all.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/faults

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- answers that are none -----------------------------------------------------------------

# peak_below KB: of the rlockrun that still runs.
peak_below() {
	local peak
	peak=$(awk '/VmHWM/ { print $2 }' "/proc/$PID/status")
	echo "at most $peak kB"
	[[ $RLOCKRUN != */release/* ]] || ((peak < $1))
}

# nonsense WORDS TEXT: TEXT as the reply of an acquire: 69 in time, with WORDS in one
# line.
nonsense() {
	through "answer:EVAL/8::$2"
	since=$(now_ms)
	run -69 rl -n --server-timeout 0.6 touch ran
	since=$(($(now_ms) - since))
	echo "after $since ms: ${output:0:1000}"
	((since < 4000 * SLOWER))
	[[ ${#lines[@]} == 1 && $output == "rlockrun: \"$KEY\": "*"$RLOCKRUN_REDIS: "*$1* ]]
	[[ ! -e ran ]]
}

# always_nonsense WORDS TEXT: and in the middle of all else. While waiting and while
# holding nothing is lost, by a new connection; releasing ends with the job's status,
# and freed. Never much memory.
always_nonsense() {
	nonsense "$@"
	rules
	cli set "$KEY" other
	job -t 2
	says waiting
	rules "answer:EVAL/8:1:$2"
	wait_until answered EVAL/8
	passed EVAL/8 3
	peak_below 8000
	rules "answer:EVAL/1:1:$2"
	cli del "$KEY"
	wait_for_file job
	says "renewed again"
	grep -q 'cannot renew the lock, .*: .*'"$RLOCKRUN_REDIS: .*$1" "$ERR"
	peak_below 8000
	rules "answer:EVAL/9:1:$2"
	ends_well
}

answered() {
	grep -q "^answered $1" proxy/log
}

# bats test_tags=night
@test "a reply of a gigabyte" {
	always_nonsense 'too large' '$1000000000\r\n|x'
}

# bats test_tags=night
@test "a reply that is nested 10,000 deep" {
	always_nonsense '' "$(printf '*1\\r\\n%.0s' {1..10000}):1"
}

# bats test_tags=night
@test "a reply that is nested without end" {
	nonsense '' '|*1\r\n'
}

# bats test_tags=night
@test "a reply of one line that never ends" {
	always_nonsense 'too large' '+|x'
}

# bats test_tags=night
@test "a reply of 2,147,483,647 parts" {
	nonsense '' '*2147483647\r\n|:1\r\n'
}

@test "a reply of -5 parts" {
	nonsense '' '*-5'
}

# bats test_tags=night
@test "a reply of 10,000 strings" {
	nonsense '' '*10000\r\n|$1\r\nx\r\n'
}

# bats test_tags=night
@test "a reply that is a string" {
	always_nonsense '' '$5\r\nhello'
}

# bats test_tags=night
@test "a reply that is a status" {
	always_nonsense '' '+OK'
}

# bats test_tags=night
@test "a reply that is nothing" {
	always_nonsense '' '$-1'
}

# bats test_tags=night
@test "a reply that is an array of nothing" {
	always_nonsense '' '*0'
}

# bats test_tags=night
@test "a reply with parts of the wrong type" {
	always_nonsense '' '*3\r\n$1\r\n1\r\n*1\r\n:1\r\n+x'
}

@test "a reply with a number out of range" {
	nonsense '' ':99999999999999999999999999'
}

# bats test_tags=night
@test "a reply with a number that is none" {
	nonsense '' ':1x'
}

@test "a reply of RESP3: a push" {
	nonsense '' '>2\r\n+message\r\n+hello'
}

# bats test_tags=night
@test "a reply of RESP3: a map" {
	nonsense '' '%1\r\n+proto\r\n:3'
}

@test "a reply of zeros" {
	nonsense '' '\x00|\x00'
}

# reply WORD...: an array of texts, =TEXT, and of numbers.
reply() {
	local word
	printf '*%d' $#
	for word; do
		case $word in
		=*) printf '\\r\\n$%d\\r\\n%s' $((${#word} - 1)) "${word#=}" ;;
		*) printf '\\r\\n:%s' "$word" ;;
		esac
	done
}

# is_refused WORD...: such an answer to an acquire, of one that waits and of one that
# does not: 69 with one line, no crash, no job.
is_refused() {
	local options patience
	rules "answer:EVAL/8::$(reply "$@")"
	for options in -n '-w 5' "-p 3 -n"; do
		# On a busy machine the answer itself may take longer than that.
		for patience in 0.2 2 20; do
			# shellcheck disable=SC2086 # several words
			run rl $options --server-timeout $patience touch ran
			[[ $output == *"no answer from"* ]] || break
		done
		[[ $status == 69 && ${#lines[@]} == 1 && ! -e ran &&
			$output == *"unexpected answer from $RLOCKRUN_REDIS: "* ]] || {
			echo "$options, $*: $status, $output"
			return 1
		}
	done
}

BIG=9223372036854775807

# bats test_tags=night
@test "S29: numbers of a busy reply out of range: 69, no crash, no job" {
	through
	rules "answer:EVAL/8::$(reply 0 100 0 1 =known =x 1 0 =h =1 =u = 5 0)"
	run -75 rl -n touch ran
	# left, rank, how many wait, who, kind, count, permits, host, pid, user, label, held
	is_refused 0 "$BIG" 0 1 =known =x 1 0 =h =1 =u = 5 0
	is_refused 0 -2 0 1 =known =x 1 0 =h =1 =u = 5 0
	is_refused 0 100 -2 1 =known =x 1 0 =h =1 =u = 5 0
	is_refused 0 100 -1000000000 1 =known =x 1 0 =h =1 =u = 5 0
	is_refused 0 100 -"$BIG" 1 =known =x 1 0 =h =1 =u = 5 0
	is_refused 0 100 "$BIG" 1 =known =x 1 0 =h =1 =u = 5 0
	is_refused 0 100 0 -1 =known =x 1 0 =h =1 =u = 5 0
	is_refused 0 100 0 1 =other =x 1 0 =h =1 =u = 5 0
	is_refused 0 100 0 1 =known =y 1 0 =h =1 =u = 5 0
	is_refused 0 100 0 1 =known =x -"$BIG" 0 =h =1 =u = 5 0
	is_refused 0 100 0 1 =known =x 0 0 =h =1 =u = 5 0
	is_refused 0 100 0 1 =free = 1 0 =h =1 =u = 5 0
	is_refused 0 100 0 1 =known =x 1 -1 =h =1 =u = 5 0
	is_refused 0 100 0 1 =known =x 1 "$BIG" =h =1 =u = 5 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u = -1 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u = "$BIG" 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u = 5 2
	is_refused 0 100 0 1 =known =x 1 0 =h =1 "=$(printf %0300d 0)" = 5 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u "=$(printf %0257d 0)" 5 0
	is_refused 0 100 0 1 =known =x 1 0 =h =x1 =u = 5 0
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u = 5
	is_refused 0 100 0 1 =known =x 1 0 =h =1 =u = 5 0 7
}

# bats test_tags=night
@test "S29: a grant out of range, or the reply to another request: 69, no job" {
	local fence
	through
	is_refused 1
	is_refused 2
	is_refused 0
	is_refused -1 =5 = 0
	is_refused 2 -1 =h
	is_refused 2 "$BIG" =h
	is_refused 2 5 "=$(printf %0300d 0)"
	is_refused 1 =5 = 0 -1
	is_refused 1 =5 = 0 "$BIG"
	is_refused 1 =5 = -1 0
	is_refused 1 =5 = "$BIG" 0
	is_refused 1 5 = 0 0
	for fence in x5 5x -5 0x5 9007199254740992 '5;6' ' 5' 00000000000000005; do
		is_refused 1 "=$fence" = 0 0
	done
	# shellcheck disable=SC2046 # words
	is_refused 1 =5 = 0 0 $(printf '=w%d ' {1..51})
}

@test "S29: to a nested run: 69, no crash, no job" {
	export RLOCKRUN
	for answer in "$(reply 2 =x)" "$(reply 3)" "$(reply 0 9 0 1 =known =x 1 0 =h =1 =u 5 0)" \
		"$(reply 1)" "$(reply 1 5 =)" "$(reply 1 =x =)" "$(reply 1 =5 = 0 0)"; do
		through "answer:EVAL/7:1:$answer" "answer:EVAL/7:2:$answer" \
			"answer:EVAL/7:3:$answer" "answer:EVAL/7:4:$answer"
		run -5 rl -n sh -c '"$RLOCKRUN" -k "$KEY" --server-timeout 1 touch ran
			[ $? = 69 ] && exit 5'
		echo "$answer: $output"
		[[ $output == *"unexpected answer from "* && ! -e ran ]]
		stop_proxy
	done
}

# bats test_tags=night
@test "S29: while holding and releasing, a reply out of range counts as none" {
	local answer
	for answer in "$(reply 2)" "$(reply -1)" "$(reply 1 1)" "$(reply 0 0)" "$(reply "$BIG")"; do
		through "answer:EVAL/1:1:$answer" "answer:EVAL/9:1:$(reply 4)"
		running -t 3
		says "unexpected answer from "
		says "renewed again"
		ends_well
		stop_proxy
	done
}

# Of servers that speak something else the first words are the answer.

# foreign_server WORDS TEXT: a server that meets us with TEXT, at first and in the middle
# of a job, is told by WORDS; when it is Redis again nothing is lost.
foreign_server() {
	through "answer:CLIENT::$2" answer:EVAL::+OK
	run -69 rl -n --server-timeout 1 touch ran
	[[ ${#lines[@]} == 1 && ! -e ran ]]
	[[ $output == "rlockrun: \"$KEY\": no Redis server at $RLOCKRUN_REDIS: $1; command not started" ]]
	rules hangup:EVAL/8:1 "answer:CLIENT:2:$2" answer:EVAL/1:1:+OK
	running -t 3
	says "no Redis server at $RLOCKRUN_REDIS: $1"
	says "renewed again"
	ends_well
}

# bats test_tags=night
@test "a server that speaks HTTP: named as such" {
	foreign_server "it speaks HTTP" 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n'
}

# bats test_tags=night
@test "a server that sends a TLS alert: named as such" {
	foreign_server "it speaks TLS" '\x15\x03\x01\x00\x02\x02\x46'
}

# real_foreign_server NAME PYTHON: a program that prints its port, and may use what it
# finds in the standard library.
real_foreign_server() {
	/usr/bin/python3 -u -c "$2" >port 2>/dev/null 3>&- &
	STARTED+=("$!")
	wait_for_file port
	run -69 rl -n --server-timeout 2 -r "redis://127.0.0.1:$(<port)" touch ran
	echo "$output"
	[[ ${#lines[@]} == 1 && $output == "rlockrun: \"$KEY\": "*"redis://127.0.0.1:$(<port): "*"$1"* ]]
	[[ ! -e ran ]]
}

@test "a real HTTP server: named as such" {
	real_foreign_server HTTP '
import http.server
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(server.server_port)
server.serve_forever()'
}

# OpenSSL hangs up without an alert on who does not greet it.
@test "a real TLS server: named as such" {
	real_foreign_server TLS '
import socket, ssl
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1])
while True:
    try:
        context.wrap_socket(listener.accept()[0], server_side=True)
    except OSError:
        pass'
}

@test "words of a server that fill a whole reply are cut" {
	through "answer:EVAL::-ERR $(printf 'x%.0s' {1..60000})"
	run -69 rl -n touch ran
	[[ ${#lines[@]} == 1 && ${#output} -lt 1000 && ! -e ran ]]
}

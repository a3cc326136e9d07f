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

# nonsense WORDS TEXT: TEXT as the reply of an acquire: 69, with WORDS in one line.
nonsense() {
	echo "$2"
	rules "answer:EVAL/acquire::$2"
	ends_unserved 69 "$1"
	[[ $output == *"rlockrun: \"$KEY\": "*"$RLOCKRUN_REDIS: "* ]]
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

# All fields and their bounds are rows of unit/answer_test.c.
@test "S29: replies out of range: 69, no crash, no job" {
	local answer
	through
	rules "answer:EVAL/acquire::$(reply 0 100 0 1 =5 0 =x 1 5 =)"
	run -75 rl -n touch ran
	for answer in "$(reply 0 -2 0 1 =5 0 =x 1 5 =)" "$(reply 1 =5x 5 5 0 = =)" \
		"$(reply 0 100 0 1 "=$(printf %0300d 0)" 0 =x 1 5 =)"; do
		nonsense 'unexpected answer from ' "$answer"
	done
}

# Of servers that speak something else the first words are the answer.

# real_foreign_server NAME PYTHON: a program that prints its port, and may use what it
# finds in the standard library.
real_foreign_server() {
	/usr/bin/python3 -u -c "$2" >port 2>/dev/null 3>&- &
	STARTED+=("$!")
	wait_for_file port
	run -69 rl -n --server-timeout 60 -r "redis://127.0.0.1:$(<port)" touch ran
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

@test "--on-unavailable: replies that are none count as no server, an error does not" {
	through "answer:EVAL/acquire::+OK"
	run -75 rl --on-unavailable skip --server-timeout 0.2 touch ran
	[[ $output == *"unexpected answer from "*"; command not started" ]]
	run -0 rl --cron --on-unavailable skip --server-timeout 0.2 touch ran
	[[ -z $output && ! -e ran ]]
	rules "answer:EVAL/acquire::-ERR it stays"
	run -69 rl --on-unavailable skip touch ran
	run -69 rl --cron --on-unavailable skip touch ran
	[[ ${#lines[@]} == 1 && $output == *"ERR it stays; command not started" ]]
	run -69 rl --on-unavailable run touch ran
	[[ ! -e ran ]]
}

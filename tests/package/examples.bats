#!/usr/bin/env bats
# packaging/examples and packaging/systemd, read and run like what they are written for,
# with a real server that wants a password. bin/ stands for /usr/local/bin, where rlockrun
# and the jobs are.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/manual

setup_file() {
	start_suite_server
	# What the man page says a user needs, for all names.
	local rules
	read -ra rules <<<"$(sed -n 's/^user locker .*\(+eval .*\)/\1/p' "$ROOT/packaging/examples/users.acl")"
	((${#rules[@]} > 30))
	cli acl setuser locker on '>secret' '~*' "${rules[@]}"
}

teardown_file() { stop_suite_server; }

setup() {
	begin_test
	EXAMPLES=$ROOT/packaging/examples
	mkdir bin
	ln -s "$RLOCKRUN" bin/rlockrun
	install -m 440 /dev/stdin redis <<<secret
	# The names of the examples' locks are the same in all tests.
	SERVER_HERE=(RLOCKRUN_CONFIG=none RLOCKRUN_REDIS="$RLOCKRUN_REDIS" RLOCKRUN_PREFIX="$KEY:")
}

teardown() { end_test; }

# job NAME LINE...: a shell script in bin/.
job() {
	local name=$1
	shift
	printf '%s\n' '#!/bin/sh' "$@" >"bin/$name"
	chmod +x "bin/$name"
}

# example_texts: all of them, and those of the manual and the README. A line goes on behind \.
example_texts() {
	{
		cat "$EXAMPLES"/{report.cron,*.service,*.yml,Jenkinsfile,*.sh} "$ROOT"/packaging/systemd/*
		literal_texts rlockrun.1 EXAMPLES
		sed -n '/^## Recipes/,/^## /s/^    //p' "$ROOT/README.md"
	} | sed -e ':a' -e '/\\$/{N;s/\\\n */ /;ba' -e '}'
}

@test "the options of each example, and of each recipe of the README, are valid" {
	# shellcheck disable=SC2034 # of some of them
	local key=deploy:shop CI_JOB_URL=https://ci.example.com/1 line count=0
	while read -r line; do
		eval "set -- ${line//%d/$PWD}"
		run -0 "$RLOCKRUN" "$@" --show-config
		count=$((count + 1))
	done < <(example_texts | grep -v '^ *#' | sed -n 's/.*\<rlockrun \(-.*\) -- .*/\1/p')
	((count == 14))
}

@test "each variable that an example names is one of the program" {
	"$RLOCKRUN" --dump-options | cut -f4 | sort >known
	example_texts | grep -oE 'RLOCKRUN_[A-Z_]+' | grep -vxE 'RLOCKRUN_(KEY|FENCE)' |
		grep -vxFf <(sed -n 's/^\.It Ev \(RLOCKRUN_[A-Z_]*\)$/\1/p' "$ROOT/man/rlockrun-events.7") |
		sort -u | comm -23 - known | diff /dev/null -
	/usr/bin/python3 -c 'import sys, yaml
for name in sys.argv[1:]: assert yaml.safe_load(open(name, encoding="ascii"))' "$EXAMPLES"/*.yml
}

# --- cron -----------------------------------------------------------------------

cron_environment() {
	grep -E '^[A-Za-z_]+=' "$EXAMPLES/report.cron"
}

# The lines with a time, a user and a command.
cron_jobs() {
	grep -vE '^[A-Za-z_]+=|^#|^$' "$EXAMPLES/report.cron"
}

# start_cron: the command as cron starts it, on one of the hosts.
start_cron() {
	local environment path
	mapfile -t environment < <(cron_environment)
	path=$(cron_environment | sed -n 's/^PATH=//p')
	start env -i --chdir="$PWD" HOME="$PWD" LOGNAME=report USER=report \
		"${environment[@]}" PATH="${path/'/usr/local/bin'/$PWD/bin}" \
		"${SERVER_HERE[@]}" RLOCKRUN_PASSWORD_FILE="$PWD/redis" \
		/bin/sh -c "$(cron_jobs | sed -E 's/^([^ ]+ +){6}//')"
}

@test "cron: every line is valid" {
	[[ $(cron_jobs | wc -l) == 1 ]]
	cron_jobs | grep -qE '^([0-9*,/-]+ +){5}[a-z_][a-z0-9_-]* +[^ ]'
	# It would be a newline.
	run -1 grep -E '^[^#]*[^\\]%' <(cron_jobs)
	# A last line without an end is ignored.
	[[ -z $(tail -c 1 "$EXAMPLES/report.cron") ]]
	cron_environment | grep -qx SHELL=/bin/sh
	# All users can read it.
	run -1 grep -E 'PASSWORD=|://.*@' <(cron_environment)
}

@test "cron: one run, without a mail; the status is the report's, and errors are mailed" {
	job nightly-report 'echo run >>runs' 'exit 3'
	start_cron
	exits_with 3 "$PID"
	for _ in {1..3}; do start_cron; done
	for pid in "${STARTED[@]:1}"; do exits_with 0 "$pid"; done
	[[ $(<runs) == run && -z $(cat out.* err.*) ]]
	# The server keeps it for a while, and has nothing else that lasts.
	(($(cli pttl "$KEY:report") > 30000))
	cli del "$KEY:report"
	[[ -z $(keys_left) ]]
	# A failure is repeated, a success is not.
	job nightly-report 'echo run >>runs'
	start_cron
	exits_with 0 "$PID"
	cli del "$KEY:report"
	start_cron
	exits_with 0 "$PID"
	[[ $(wc -l <runs) == 2 && -z $(cat out.* err.*) ]]
	install -m 440 /dev/stdin redis <<<wrong
	start_cron
	exits_with 77 "$PID"
	[[ $(<"$ERR") == 'rlockrun: '* && $(<"$ERR") != *wrong* ]]
}

# --- systemd --------------------------------------------------------------------

# make_here ARGUMENT...: in the tree, without building anything.
make_here() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$ROOT" --no-print-directory -s \
		-o all VARIANT="$(basename "$(dirname "$RLOCKRUN")")" "$@"
}

# variable NAME: BINDIR is where `make install` puts the program.
variable() {
	make_here --eval "print: ; @echo \$($1)" print
}

# setting FILE NAME: its values, one a line.
setting() {
	sed -n "s/^$2=//p" "$1"
}

@test "systemd: the units are valid" {
	command -v systemd-analyze >/dev/null || skip 'no systemd-analyze'
	mkdir units
	make_here DESTDIR="$PWD/dest" UNITDIR=/units install
	for unit in "$EXAMPLES"/*.service "$EXAMPLES"/*.timer dest/units/*; do
		sed "s|$(variable BINDIR)/rlockrun|$RLOCKRUN|" "$unit" >"units/$(basename "$unit")"
	done
	run -0 systemd-analyze --man=no verify units/*
	[[ -z $output ]]
	for unit in report.timer rlockrun@.timer; do
		systemd-analyze calendar "$(setting units/$unit OnCalendar)"
	done
}

@test "systemd: only rlockrun gets TERM, and it is given the time that it needs" {
	for unit in "$EXAMPLES"/*.service "$ROOT"/packaging/systemd/*.service; do
		[[ $(setting "$unit" KillMode) == mixed ]]
		kill_after=$(sed -n 's/^[^#]*--kill-after \([0-9]*\)s.*/\1/p' "$unit")
		# The release may take 10s, and the default of --kill-after is 5s.
		[[ $(setting "$unit" TimeoutStopSec) =~ ^([0-9]+)s$ ]]
		((BASH_REMATCH[1] > ${kill_after:-5} + 10))
		# An instance has the password of rlockrun.conf.
		[[ $unit == *@* || $(setting "$unit" LoadCredential) == redis:* ]]
	done
}

# --- the deploy script ------------------------------------------------------------

# archive NAME: an archive of one file that holds NAME.
archive() {
	mkdir -p "content.$1"
	echo "$1" >"content.$1/name"
	tar -C "content.$1" -cf "$1.tar" name
}

# start_deploy SHELL ARCHIVE
start_deploy() {
	start env PATH="$PWD/bin:$PATH" DEPLOY_DIR="$PWD/shop" "${SERVER_HERE[@]}" \
		"$1" "$EXAMPLES/deploy.sh" "$2"
}

@test "deploy.sh: deploys, and the newest is current" {
	archive one
	archive two
	for name in one two; do
		start_deploy sh $name.tar
		exits_with 0 "$PID"
		[[ $(<shop/current/name) == "$name" ]]
		[[ $(<"out.${#STARTED[@]}") == "deployed $(readlink shop/current)" ]]
	done
	[[ $(find shop -mindepth 1 -maxdepth 2 | wc -l) == 4 ]]
	[[ -z $(keys_left) ]]
	# As it is, and by another shell.
	start_deploy bash one.tar
	exits_with 0 "$PID"
	env PATH="$PWD/bin:$PATH" DEPLOY_DIR="$PWD/shop" "${SERVER_HERE[@]}" \
		"$EXAMPLES/deploy.sh" two.tar
	[[ $(<shop/current/name) == two ]]
}

@test "deploy.sh: leaves no half a release" {
	archive one
	start_deploy sh one.tar
	exits_with 0 "$PID"
	current=$(readlink shop/current)

	head -c 100 one.tar >broken.tar
	start_deploy sh broken.tar
	exits_with 2 "$PID"

	# TERM while it unpacks: the shell acts on it when tar has ended; where it
	# comes too late for that, it is tar's failure that ends it.
	mkfifo slow.tar
	start_deploy sh slow.tar
	# That waits for tar.
	exec 8>slow.tar
	compgen -G 'shop/releases/*.part'
	kill -TERM "$PID"
	exec 8>&-
	status=0
	wait "$PID" || status=$?
	[[ $status == 143 || $status == 2 ]]

	[[ $(readlink shop/current) == "$current" ]]
	[[ $(find shop/releases -mindepth 1 -maxdepth 1) == "shop/$current" ]]
	[[ -z $(keys_left) ]]
}

# --- hooks ----------------------------------------------------------------------

# start_web: a server on PORT, whose requests are in the file `requests`, each as
# method, path, type and body.
start_web() {
	start /usr/bin/python3 -c '
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open("requests", "ab") as file:
            file.write(b"%s %s %s %s\n" % (self.command.encode(), self.path.encode(),
                self.headers.get("Content-Type", "-").encode(), body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_GET = do_POST
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open("port", "w") as file:
    print(server.server_port, file=file)
server.serve_forever()'
	wait_for_file port
	PORT=$(<port)
}

# with_hook EXAMPLE [OPTION...] -- COMMAND...
with_hook() {
	env --ignore-signal=PIPE "${SERVER_HERE[@]}" PATH="$PWD/bin:$PATH" \
		RLOCKRUN_PASSWORD_FILE="$PWD/redis" "$RLOCKRUN" --user locker \
		--hook "$EXAMPLES/hook-$1.sh" "${@:2}"
}

@test "hook: mail about a failure and a loss, none of a success" {
	job mail 'printf "%s\n" "$@" >>mails' 'cat >>mails'
	run -0 --separate-stderr with_hook mail -k job -- true
	[[ ! -e mails && -z $stderr ]]
	MAILTO=ops@example.com run -3 --separate-stderr with_hook mail -k job -- sh -c 'exit 3'
	[[ -z $stderr ]]
	[[ $(head -n 4 mails) == "-s
rlockrun on $(uname -n): failed
ops@example.com
\"job\": the job ended with status 3" ]]
	grep -qx 'status:  3' mails
	rm mails
	run -79 with_hook mail -t 3 -k job -- sh -c "redis-cli -s '$SUITE_DIR/s' del '$KEY:job' >removed; sleep 20"
	grep -qx "rlockrun on $(uname -n): lost" mails
	grep -qx 'status:  79' mails
	rm mails
	MAIL_ALL=1 run -0 --separate-stderr with_hook mail -k job -- true
	grep -qx "rlockrun on $(uname -n): acquired" mails
	grep -qx "rlockrun on $(uname -n): released" mails
}

@test "hook: a dead man's switch hears of successes only" {
	command -v curl >/dev/null || skip 'no curl'
	start_web
	export PING_URL=http://127.0.0.1:$PORT/switch
	run -3 --separate-stderr with_hook ping -k job -- sh -c 'exit 3'
	[[ ! -e requests && -z $stderr ]]
	run -0 --separate-stderr with_hook ping -k job -- true
	[[ $(<requests) == 'GET /switch - ' && -z $stderr ]]
	rm requests
	export PING_START_URL=$PING_URL/%k/start PING_FAIL_URL=$PING_URL/%k/fail
	PING_URL+=/%k
	run -0 --separate-stderr with_hook ping -k nightly:7 -- true
	run -3 --separate-stderr with_hook ping -k nightly:7 -- sh -c 'exit 3'
	[[ $(cut -d' ' -f2 requests) == "/switch/nightly-7/start
/switch/nightly-7
/switch/nightly-7/start
/switch/nightly-7/fail" ]]
	PING_URL=http://127.0.0.1:1/ run -0 --separate-stderr with_hook ping -k job -- true
	[[ $stderr == *'rlockrun: the hook for released ended with status 7' ]]
}

@test "hook: a chat gets valid JSON, whatever the lock is called" {
	command -v curl >/dev/null || skip 'no curl'
	start_web
	export CHAT_URL=http://127.0.0.1:$PORT/room
	name=$'a"b\\c\nd\e[31mé\xff'
	run -3 --separate-stderr with_hook chat -k "$name" -- sh -c 'exit 3'
	[[ -z $stderr && $(wc -l <requests) == 1 ]]
	/usr/bin/python3 - <<'END'
import json, socket
with open("requests", encoding="utf-8") as file:
    method, path, kind, body = file.read().split(" ", 3)
assert (method, path, kind) == ("POST", "/room", "application/json")
want = r'failed: "a\"b\\c\nd\x1b[31mé\xff": the job ended with status 3'
assert json.loads(body) == {"text": f"{socket.gethostname()}: {want}"}, body
END
}

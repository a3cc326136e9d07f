#!/usr/bin/env bats
# packaging/examples and packaging/systemd, each as what it is written for would read
# and run it, with a real server that wants a password. bin/ stands for /usr/local/bin, where
# rlockrun and the jobs are; a `sleep` there waits for the file `done` instead.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite

setup_file() {
	start_suite_server
	# What the man page says a user needs, for all names.
	cli acl setuser locker on '>secret' '~*' +eval +time +get +pttl +hmget +set \
		+del +hset +pexpire +zrange +zscore +zrank +zcount +zadd +zrem +rpush +blpop \
		'+client|setname'
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

# A job that says that it runs, counts signals and waits for `done`.
patient_job() {
	job "$1" 'trap "echo TERM >>signals" TERM' 'trap "echo INT >>signals" INT' \
		'echo "$0 $*" >>runs' \
		'until [ -e done ]; do /bin/sleep 0.02; done' "exit ${2:-0}"
}

# hold_elsewhere NAME: somebody else has the lock NAME until `done` is there.
hold_elsewhere() {
	start env "${SERVER_HERE[@]}" "$RLOCKRUN" -k "$1" -- \
		sh -c 'echo >held; until [ -e done ]; do sleep 0.02; done'
	wait_for_file held
}

lines_in() {
	[[ -e $1 ]] && wc -l <"$1" || echo 0
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

# It is kept for a minute by the server, where nothing else of it is left.
forget_report() {
	(($(cli pttl "$KEY:report") > 0))
	cli del "$KEY:report" "{$KEY:report}:rlk:i"
	[[ -z $(keys_left) ]]
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

@test "cron: thirty hosts, one run, no mail" {
	job nightly-report 'echo run >>runs'
	for _ in {1..30}; do
		start_cron
	done
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ $(<runs) == run ]]
	[[ -z $(cat out.* err.*) ]]
	forget_report
}

@test "cron: the status is the report's, and errors are mailed" {
	job nightly-report 'exit 3'
	start_cron
	exits_with 3 "$PID"
	[[ -z $(<"$ERR") ]]

	install -m 440 /dev/stdin redis <<<wrong
	start_cron
	exits_with 77 "$PID"
	[[ $(<"$ERR") == 'rlockrun: '* && $(<"$ERR") != *wrong* ]]
}

# --- systemd --------------------------------------------------------------------

# unit NAME: its file. A template is one that `make install` has put into dest, and
# an instance of it is called report.
unit() {
	case $1 in
	*@.*) echo "$PWD/dest$(variable UNITDIR)/$1" ;;
	*) echo "$EXAMPLES/$1" ;;
	esac
}

# setting UNIT NAME: its values, one a line.
setting() {
	sed -n "s/^$2=//p" "$(unit "$1")"
}

# The words of ExecStart=, as systemd splits and expands them.
exec_start() {
	/usr/bin/python3 - "$(unit "$1")" "$PWD" <<-'END'
		import re, shlex, sys
		text = open(sys.argv[1], encoding="ascii").read().replace("\\\n", " ")
		line, = re.findall(r"^ExecStart=(.*)$", text, re.M)
		for word in shlex.split(line):
		    assert not re.search(r"(?<!\$)(\$\$)*\$(?!\$)", word), word
		    print(word.replace("$$", "$").replace("%d", sys.argv[2]).replace("%i", "report"))
	END
}

# make_here ARGUMENT...: in the tree, without building anything.
make_here() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$ROOT" --no-print-directory -s \
		-o all VARIANT="$(basename "$(dirname "$RLOCKRUN")")" "$@"
}

# variable NAME: BINDIR is where `make install` puts the program.
variable() {
	make_here --eval "print: ; @echo \$($1)" print
}

# install_units: with the rest, in dest.
install_units() {
	make_here DESTDIR="$PWD/dest" install
}

# here COMMAND: bin/ stands for the folders of the host's programs.
here() {
	sed -E "s,^(/usr/local/bin|/etc/rlockrun\.d)/,$PWD/bin/," <<<"$1"
}

# start_unit UNIT: its command, in a session of its own. PID is the main one.
start_unit() {
	local words environment
	mapfile -t words < <(exec_start "$1")
	[[ ${words[0]} == "$(variable BINDIR)/rlockrun" ]]
	read -ra environment <<<"$(setting "$1" Environment)"
	start env -i PATH="$PWD/bin:/usr/bin:/bin" "${environment[@]}" \
		"${SERVER_HERE[@]}" setsid "$RLOCKRUN" \
		"${words[@]:1:${#words[@]}-2}" "$(here "${words[-1]}")"
}

# seconds DUR: as systemd and rlockrun write it here.
seconds() {
	[[ $1 =~ ^([0-9]+)s$ ]]
	echo "${BASH_REMATCH[1]}"
}

@test "systemd: the units are valid" {
	command -v systemd-analyze >/dev/null || skip 'no systemd-analyze'
	mkdir units
	install_units
	for unit in "$EXAMPLES"/*.service "$EXAMPLES"/*.timer "$PWD/dest$(variable UNITDIR)"/*; do
		sed "s|$(variable BINDIR)/rlockrun|$RLOCKRUN|" "$unit" >"units/$(basename "$unit")"
	done
	[[ -e units/rlockrun@.service && -e units/rlockrun@.timer ]]
	run -0 systemd-analyze --man=no verify units/*
	[[ -z $output ]]
	for unit in report.timer rlockrun@.timer; do
		systemd-analyze calendar "$(setting $unit OnCalendar)"
	done
}

@test "systemd: only rlockrun gets TERM, and it is given the time that it needs" {
	install_units
	for unit in report.service worker.service rlockrun@.service; do
		[[ $(setting $unit KillMode) == mixed ]]
		kill_after=$(exec_start $unit | grep -A 1 -x -- --kill-after | tail -n 1)
		# The release may take 10s, and the default of --kill-after is 5s.
		(($(seconds "$(setting $unit TimeoutStopSec)") > $(seconds "${kill_after:-5s}") + 10))
		# An instance has the password of rlockrun.conf.
		[[ $unit == *@* || $(setting $unit LoadCredential) == redis:* ]]
	done
}

@test "systemd: the template runs the program of that name under the lock of that name" {
	install_units
	job report 'echo "$RLOCKRUN_KEY" >>runs' 'exit 3'
	start_unit rlockrun@.service
	exits_with 3 "$PID"
	[[ $(<runs) == report ]]
	start_unit rlockrun@.service
	exits_with "$(setting rlockrun@.service SuccessExitStatus)" "$PID"
	[[ $(<"$ERR") == 'rlockrun: "report" is kept for '*'; it was held by '* ]]
	[[ $(<runs) == report ]]
	forget_report
}

@test "systemd: stopping the report ends all of it, with one signal each" {
	patient_job nightly-report
	start_unit report.service
	wait_for_file runs
	kill -TERM "$PID"
	wait_for_file signals
	# The lock outlives what the shell has left.
	[[ -n $(keys_left) ]]
	touch ./done
	exits_with 0 "$PID"
	[[ $(<signals) == TERM ]]
	forget_report
}

@test "systemd: one worker in the fleet, another takes over" {
	patient_job worker
	start_unit worker.service
	first=$PID
	wait_for_file runs
	start_unit worker.service
	second=$PID
	wait_for_file "$ERR"
	[[ $(<"$ERR") == 'rlockrun: "worker" is held by '* ]]
	[[ $(lines_in runs) == 1 ]]

	kill -TERM "$first"
	wait_for_file signals
	touch ./done
	exits_with 0 "$first"
	exits_with 0 "$second"
	[[ $(<signals) == TERM ]]
	[[ $(lines_in runs) == 2 ]]
	[[ -z $(keys_left) ]]
}

# --- CI -------------------------------------------------------------------------

# ci_step gitlab|github|jenkins: its script into step, the environment that the
# file sets into environment, one variable a line.
ci_step() {
	/usr/bin/python3 - "$1" "$EXAMPLES" <<-'END'
		import re, sys, yaml

		def read(name):
		    with open(f"{sys.argv[2]}/{name}", encoding="ascii") as file:
		        return file.read()

		if sys.argv[1] == "gitlab":
		    document = yaml.safe_load(read("gitlab-ci.yml"))
		    job = document["integration-test"]
		    assert set(job) <= {"stage", "timeout", "variables", "script"}, job
		    script = "\n".join(job["script"])
		    environment = job["variables"]
		elif sys.argv[1] == "github":
		    document = yaml.safe_load(read("github-actions.yml"))
		    # YAML 1.1 takes "on" for a truth value.
		    assert set(document) == {"name", True, "jobs"}, document
		    job = document["jobs"]["integration-test"]
		    step = job["steps"][-1]
		    assert job["runs-on"] and job["timeout-minutes"] > 20
		    assert set(step) == {"name", "env", "run"}, step
		    script = step["run"]
		    environment = step["env"]
		    assert re.fullmatch(r"\$\{\{ secrets\.\w+ \}\}",
		                        environment.pop("RLOCKRUN_PASSWORD"))
		else:
		    text = read("Jenkinsfile")
		    assert text.count("{") == text.count("}")
		    script, = re.findall(r"^\t+sh '([^'\\]*)'$", text, re.M)
		    environment = dict(re.findall(r"^\t+(\w+) = '([^']*)'$", text, re.M))
		    assert re.search(r"^\t+RLOCKRUN_PASSWORD = credentials\('", text, re.M)
		with open("step", "w", encoding="ascii") as file:
		    file.write(script + "\n")
		with open("environment", "w", encoding="ascii") as file:
		    for item in environment.items():
		        file.write("%s=%s\n" % item)
	END
	grep -qx 'RLOCKRUN_REDIS=rediss://[a-z.]*' environment
	run -1 grep PASSWORD environment
}

# start_ci gitlab|github|jenkins: as its runner does; the password is a secret of
# the runner's.
start_ci() {
	local environment shell
	mapfile -t environment <environment
	case $1 in
	gitlab) shell=(bash -eo pipefail) ;;
	github) shell=(bash -e) ;;
	jenkins) shell=(sh -xe) ;;
	esac
	start env -i --default-signal=INT PATH="$PWD/bin:/usr/bin:/bin" HOME="$PWD" \
		RLOCKRUN_PASSWORD=secret "${environment[@]}" "${SERVER_HERE[@]}" \
		"${shell[@]}" step
}

# What each of them has to do.
ci_passes_on_and_waits() {
	ci_step "$1"
	job make 'echo "$*" >>runs' 'env >environment.job' 'exit 2'
	start_ci "$1"
	exits_with 2 "$PID"
	[[ $(<runs) == integration-test ]]
	run -1 grep -i -e secret -e password environment.job
	grep -qx RLOCKRUN_KEY=ci:test-system environment.job

	rm runs
	hold_elsewhere ci:test-system
	start_ci "$1"
	wait_until grep -q '"ci:test-system" is held by' "$ERR"
	[[ ! -e runs ]]
	touch ./done
	exits_with 2 "$PID"
	[[ $(<runs) == integration-test ]]
	[[ -z $(keys_left) ]]
}

@test "GitLab CI, GitHub Actions, Jenkins: the step waits, and its status is that of the tests" {
	for runner in gitlab github jenkins; do
		ci_passes_on_and_waits $runner
		rm -f runs held "done"
	done
}

@test "GitHub Actions: a cancelled run's signals reach the tests" {
	ci_step github
	patient_job make 7
	start_ci github
	wait_for_file runs
	kill -INT "$PID"
	wait_until grep -q INT signals
	kill -TERM "$PID"
	wait_until grep -q TERM signals
	touch ./done
	exits_with 7 "$PID"
	[[ $(<signals) == $'INT\nTERM' ]]
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

@test "deploy.sh: five at once, one after the other" {
	for name in {1..5}; do
		archive "$name"
		start_deploy sh "$name.tar"
	done
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ $(find shop/releases -mindepth 1 -maxdepth 1 | wc -l) == 5 ]]
	[[ $(readlink shop/current) == "releases/$(find shop/releases -mindepth 1 \
		-maxdepth 1 -printf '%f\n' | sort -n | tail -n 1)" ]]
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

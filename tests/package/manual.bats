#!/usr/bin/env bats
# Those examples of the manual pages that are more than one command, and the access
# rules, word for word, except for the places of servers and files. bin/ has the programs
# that the examples run. The options of all are tried by examples.bats.
# shellcheck disable=SC2016 # the examples' shells are to expand that
# shellcheck disable=SC2034 # helpers use what is set

load ../helpers/suite
load ../helpers/queue
load ../helpers/manual

setup_file() {
	start_suite_server
	cli acl setuser locker on '>secret' '~*' +@all
}

teardown_file() { stop_suite_server; }

setup() {
	begin_queue_test
	mkdir bin
	PATH=$PWD/bin:$(dirname "$RLOCKRUN"):$PATH
	install -m 440 /dev/stdin redis <<<secret
	# The names of the locks are the same in all tests.
	export RLOCKRUN_PREFIX=$KEY:
}

teardown() { end_test; }

# job NAME LINE...: a shell script in bin/.
job() {
	printf '%s\n' '#!/bin/sh' "${@:2}" >"bin/$1"
	chmod +x "bin/$1"
}

# example NUMBER: that of EXAMPLES, with places that exist here.
example() {
	local url=${RLOCKRUN_REDIS/'unix://'/unix://locker@}
	literal_text rlockrun.1 EXAMPLES "$1" |
		sed "s|/usr/local/bin/rlockrun|rlockrun|; s|rediss://locks.example.com|$url|
			s|/etc/rlockrun.pw|$PWD/redis|; s|/opt/report|$PWD/bin/report|
			s|/opt/nightly|$PWD/bin/nightly|; s|\./deploy.sh|bin/deploy.sh|; s|\./migrate.sh|bin/migrate.sh|"
}

# hold_elsewhere NAME: until `done` is there.
hold_elsewhere() {
	start rlockrun -k "$1" -- sh -c 'echo >held; until [ -e done ]; do sleep 0.02; done'
	wait_for_file held
}

# end_elsewhere: and its lock is free.
end_elsewhere() {
	touch "done"
	exits_with 0 "$PID"
	rm held "done"
}

@test "example: cron, silent when another host runs the report" {
	job report 'echo run >>runs'
	example 1 | sed 's/^\([^ ]* *\)\{5\}//' >cron.sh
	hold_elsewhere report
	run -0 sh cron.sh
	[[ -z $output && ! -e runs ]]
	end_elsewhere
	# That was a success, too.
	run -0 sh cron.sh
	[[ -z $output && ! -e runs ]]
	cli del "{$KEY:report}:rlk:i" "{$KEY:report}:rlk:r"
	run -0 sh cron.sh
	[[ -z $output && $(<runs) == run ]]
	run -0 sh cron.sh
	[[ -z $output && $(<runs) == run ]]
	# The README and the tutorial have the same.
	literal_text rlockrun.1 EXAMPLES 1 >line
	sed -n 's/^    0 3 /0 3 /p' "$ROOT/README.md" | diff line -
	sed -n '/^0 3 /s/nightly/report/p' "$ROOT/man/book/tutorial.md" | diff line -
	sed -n '/^0 3 /p' "$ROOT/man/book/cron.md" | diff line -
}

@test "example: the deploy script, also under set -e" {
	job deploy.sh 'echo deployed' 'exit "$(cat status)"'
	echo 0 >status
	for shell in sh 'sh -e' 'bash -e -o pipefail'; do
		example 2 >script
		# shellcheck disable=SC2086 # a shell and its options
		run -0 $shell script
		[[ $output == deployed ]]
	done
	echo 3 >status
	run -3 sh -e script
	[[ $output == deployed ]]
	job deploy.sh 'redis-cli -s "$SUITE_DIR/s" del "$RLOCKRUN_PREFIX$RLOCKRUN_KEY" >/dev/null'
	run -79 sh -e script
	[[ ${lines[-1]} == "stopped: the lock was lost" ]]
	hold_elsewhere deploy:shop
	sed -i 's/-w 10min/-n/' script
	run -75 sh -e script
	[[ ${lines[-1]} == "somebody else is deploying" ]]
	end_elsewhere
}

@test "example: list, and release by the token" {
	hold_elsewhere nightly:report
	token=$(cli get "$KEY:nightly:report")
	example 4 >script
	sed -i "s/TOKEN/$token/" script
	run -0 sh -e script
	echo "$output"
	[[ ${lines[-1]} == 'rlockrun: "nightly:report": released, it was held by '* ]]
	[[ $(cli exists "$KEY:nightly:report") == 0 ]]
	touch "done"
	exits_with 79 "$PID"
}

@test "example: a maintenance during which no nightly job starts" {
	job migrate.sh 'rlockrun -n -k nightly:report -- touch ran' 'echo $? >status'
	hold_elsewhere nightly:report
	example 5 >script
	start sh -e script
	Q="{$KEY:nightly:report}:rlk:q"
	wait_until are_queued 1
	[[ ! -e status ]]
	touch "done"
	exits_with 0 "$PID"
	[[ $(<status) == 75 && ! -e ran && $(cli exists "$KEY:nightly:report") == 0 ]]
	grep -q '"db migration"' "$ERR"
}

# --- files to paste ---------------------------------------------------------------

@test "files among the examples are those of the manual" {
	local examples=$ROOT/packaging/examples
	literal_text rlockrun.conf.5 'CONFIGURATION FILES' 1 | diff - "$examples/rlockrun.conf"
	literal_text rlockrun-events.7 FILE 1 | diff - "$examples/rlockrun.logrotate"
	# The doctor's own rules stand behind those of a run.
	diff <(literal_text rlockrun-servers.7 'ACCESS RULES' 1 | tr ' ' '\n' | grep '^[~+>]'
		sed -n '/^has this user, with$/{n;s/^.Ql //p}' "$ROOT/man/rlockrun-servers.7" | tr ' ' '\n') \
		<(grep '^user locker ' "$examples/users.acl" | tr ' ' '\n' | grep '^[~+>]')
	grep -qF ".Ql $(grep '^user default ' "$examples/users.acl") ," "$ROOT/man/rlockrun-servers.7"
}

@test "users.acl is a file that a server loads" {
	sed 's/>[A-Z-]*PASSWORD/>secret/' "$ROOT/packaging/examples/users.acl" >users.acl
	own_server --aclfile "$PWD/users.acl"
	unset RLOCKRUN_PREFIX
	run -0 rlockrun -r "unix://locker:secret@$SUITE_DIR/s" -k job:acl -- true
	[[ -z $output ]]
	# And it is the user of rlockrun.conf, with rules for all of its locks.
	(umask 077; echo secret >rlockrun.pw)
	sed "s|^redis = .*|redis = unix://$SUITE_DIR/s|; s|/etc/|$PWD/|" \
		"$ROOT/packaging/examples/rlockrun.conf" >rlockrun.conf
	unset RLOCKRUN_REDIS
	RLOCKRUN_CONFIG=$PWD/rlockrun.conf run -0 rlockrun -k nightly:report --min-hold 0 -- true
	[[ -z $output ]]
	[[ $(redis-cli -s "$SUITE_DIR/s" --user locker -a secret --no-auth-warning \
		hmget '{job:nightly:report}:rlk:i' f) == 1* ]]
}

# --- access rules ---------------------------------------------------------------

# own_locker: a server with the user of the manual.
own_locker() {
	own_server
	unset RLOCKRUN_PREFIX
	literal_texts rlockrun-servers.7 'ACCESS RULES' | sed '/^#/d; s/>PASSWORD/>secret/' >rules
	cli <rules
	export RLOCKRUN_REDIS=unix://locker:secret@$SUITE_DIR/s
}

# plays KEY: a queue of all kinds, and a nested run, without a warning.
plays() {
	KEY=$1
	begin_queue_names
	rm -f order go err.* ./*.started
	STARTED=()
	holds A
	enqueue B
	enqueue C -s
	enqueue D -p 2
	touch go
	all_end_well
	[[ $(tr '\n' ' ' <order) == "A B "* && $(wc -l <order) == 4 ]]
	run -0 rlockrun -k "$KEY" --min-hold 0.01 -- rlockrun -k "$KEY" -- true
	[[ -z $output ]]
	# It may have to wait for the end of --min-hold, and says so.
	run -0 --separate-stderr rlockrun -k "$KEY" --hold 5
	token=$output
	[[ $token == "$(cli get "$KEY")" ]]
	run -0 rlockrun -k "$KEY" --hold 9 --token "$token"
	[[ -z $output ]]
	run -0 rlockrun -k "$KEY" --force-release --token "$token"
	cat err.* >said
	run -1 grep -v "; waiting\|: acquired after" said
}

# The names of the queue's keys, as the manual has them.
begin_queue_names() {
	case $KEY in
	*'{'*'}'*) Q=$KEY:rlkt:q L=$KEY:rlkt:l ;;
	*) Q="{$KEY}:rlk:q" L="{$KEY}:rlk:l" ;;
	esac
}

@test "access rules: enough for names with and without a hash tag" {
	own_locker
	plays job:plain
	plays 'job:{tag}'
	plays 'job:a}b'
	run -77 rlockrun -k other -- true
	run -77 rlockrun -k 'other:{job:}' -- true
}

@test "access rules: without the second pattern names without a hash tag have no queue" {
	own_locker
	cli acl setuser locker resetkeys '~job:*'
	run -0 rlockrun -k job:plain -- true
	[[ ${#lines[@]} == 1 && $output == *'"job:plain": the queue cannot be used: '* ]]
	plays 'job:{tag}'
	for pattern in '[ir]' '[irn]'; do
		cli acl setuser locker resetkeys '~job:*' "~{job:*}:rlk:$pattern"
		run -0 rlockrun -k job:plain -- true
		[[ ${#lines[@]} == 1 && $output == *'"job:plain": the queue cannot be used: '* ]]
	done
}

#!/usr/bin/env bats
# Thirty hosts under a real cron, which are thirty lines here: who runs, and what is mailed.
# A whole night, with skewed clocks, is played in virtual time: tests/sim/night.
# bats file_tags=night
# shellcheck disable=SC2016 # the hosts' shell is to expand that

load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

# Each line of the crontab: a host, and a job.
write_host() {
	cat >host <<-'END'
		#!/bin/sh
		cd "${0%/*}" || exit
		echo "$*" >>begun
		[ "$1" != 30 ] || unset RLOCKRUN_REDIS
		./rlockrun --cron --once-per "$3" -k "$2" -- ./job "$2"
		echo "$* $?" >>ended
	END
	cat >job <<-'END'
		#!/bin/sh
		echo "$1" >>ran
		[ "$1" != broken ] || { echo 'the job fails' >&2; exit 3; }
	END
	chmod +x host job
	cp "$RLOCKRUN" rlockrun
}

# The lock is kept for longer than the test takes, whatever the machine does.
write_crontab() {
	local host
	printf '%s\n' SHELL=/bin/sh MAILTO=ops "RLOCKRUN_REDIS=$RLOCKRUN_REDIS" \
		RLOCKRUN_CONFIG=none RLOCKRUN_MIN_HOLD=1h
	for host in {1..30}; do
		printf "* * * * * root $PWD/host $host %s\n" 'report 20h' 'broken 20h' 'hourly 30min' \
			'monthly 20d'
	done
}

all_have() {
	[[ -e $1 && $(sort -u "$1" | wc -l) -ge 120 ]]
}

@test "a minute of thirty hosts: four jobs, an outage, a pause, and two that are mailed" {
	local cron=$ROOT/build/cron/cron
	[[ -x $cron ]] || skip "no cron: \`make check\` fetches it"
	((EUID == 0)) || skip "it needs root"
	own_server
	write_host
	write_crontab >table
	"$RLOCKRUN" -q --pause 'm*' -k monthly >/dev/null
	# All of them begin while the server does not reply, and ride that out.
	freeze
	start "$HELPERS/under-cron" "$cron" table
	WAIT_SECONDS=150 wait_until all_have begun
	thaw
	wait_until all_have ended
	kill -KILL "$PID"
	[[ $(sort ran | paste -sd ' ') == 'broken hourly report' ]]
	# One of the hosts failed; all others were not needed, but for the one that knows no server.
	[[ $(grep -c ' 3$' ended) == 1 && $(grep -v '^30 ' ended | grep -vc ' [03]$') == 0 ]]
	[[ $(grep '^30 ' ended | grep -vc ' 78$') == 0 ]]
	[[ $(grep -l 'the job fails' mail.* | wc -l) == 1 ]]
	grep -L 'the job fails' mail.* >other
	(($(wc -l <other) >= 4))
	xargs grep -L 'no server is configured (put "redis = URL" into /etc/rlockrun.conf); command not started' \
		<other | diff /dev/null -
}

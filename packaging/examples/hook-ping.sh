#!/bin/sh
# A dead man's switch: reports each success to PING_URL, a service that raises an
# alarm when no report has come for too long (Healthchecks, Cronitor, a push monitor
# of Uptime Kuma). For all jobs of a host, in /etc/rlockrun.conf:
#
#     hook = acquired,released,lost,failed=/usr/local/bin/hook-ping.sh
#
# and in the environment of the jobs, as in the crontab, where %k is the name of the
# lock, with a - for what is no letter and no digit:
#
#     PING_URL=https://hc-ping.com/PROJECT/%k
#     PING_START_URL=https://hc-ping.com/PROJECT/%k/start    if starts are to be reported
#     PING_FAIL_URL=https://hc-ping.com/PROJECT/%k/fail      and failures
#
# Of many hosts with a job, the one that ran it reports. A host that could not ask for
# the lock reports a failure, too. Requires curl.
set -eu

case $RLOCKRUN_EVENT$RLOCKRUN_STATUS in
acquired*) url=${PING_START_URL-} ;;
released0) url=$PING_URL ;;
lost* | failed*) url=${PING_FAIL_URL-} ;;
*) exit 0 ;;
esac
[ "$url" ] || exit 0

case $url in
*%k*) url=${url%%%k*}$(printf %s "$RLOCKRUN_KEY" | tr -c a-zA-Z0-9 -)${url#*%k} ;;
esac
# rlockrun waits 5s for its hooks.
exec curl -fsS --max-time 4 -o /dev/null "$url"

#!/bin/sh
# A dead man's switch: reports each success to PING_URL, a service that raises an
# alarm when no report has come for too long (Healthchecks, Cronitor, a push monitor
# of Uptime Kuma).
#
#     PING_URL=https://hc-ping.com/UUID \
#         rlockrun --hook /usr/local/bin/hook-ping.sh -k report -- nightly-report
#
# Of many hosts with this job, the one that ran it reports. Requires curl.
set -eu

if [ "$RLOCKRUN_EVENT" = released ] && [ "$RLOCKRUN_STATUS" = 0 ]; then
	# rlockrun waits 5s for its hooks.
	exec curl -fsS --max-time 4 -o /dev/null "$PING_URL"
fi

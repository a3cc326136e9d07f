#!/bin/sh
# Mails what went wrong with a run to MAILTO:
#
#     rlockrun --hook /usr/local/bin/hook-mail.sh -k report -- nightly-report
#
# Or for all runs of a host, in /etc/rlockrun.conf, also starts and successes:
#
#     hook = losing,lost,failed=/usr/local/bin/hook-mail.sh
#     hook = acquired,released=MAIL_ALL=1 /usr/local/bin/hook-mail.sh
#
# Requires a mail(1).
set -eu

case $RLOCKRUN_EVENT in
losing | lost | failed) ;;
*) [ "${MAIL_ALL-}" ] || exit 0 ;;
esac

# The message is one line without control characters. A name of a lock need not be.
mail -s "rlockrun on $(uname -n): $RLOCKRUN_EVENT" "${MAILTO:-root}" <<END
$RLOCKRUN_MESSAGE

lock:    $RLOCKRUN_KEY
event:   $RLOCKRUN_EVENT $RLOCKRUN_REASON
status:  ${RLOCKRUN_STATUS:-still running}
server:  $RLOCKRUN_SERVER
fence:   $RLOCKRUN_FENCE
waited:  ${RLOCKRUN_WAITED_MS:-0} ms
held:    ${RLOCKRUN_HELD_MS:-0} ms
END

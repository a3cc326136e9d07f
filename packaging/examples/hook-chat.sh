#!/bin/sh
# Sends a message to a chat room, by the incoming webhook CHAT_URL (Mattermost,
# Slack, Rocket.Chat):
#
#     CHAT_URL=https://chat.example.com/hooks/SECRET \
#         rlockrun --hook /usr/local/bin/hook-chat.sh --warn-after 1h -k report -- nightly-report
#
# Requires curl.
set -eu

case $RLOCKRUN_EVENT in
slow | losing | lost | failed) ;;
*) exit 0 ;;
esac

# A string of JSON. The message has no control characters, so quotes and backslashes
# are all that needs an escape.
text=$(printf '%s' "$(uname -n): $RLOCKRUN_EVENT: $RLOCKRUN_MESSAGE" | sed 's/[\\"]/\\&/g')

# The URL is a password: --config keeps it out of ps(1). rlockrun waits 5s for its
# hooks.
exec curl -fsS --max-time 4 -o /dev/null -H 'Content-Type: application/json' \
	--data-binary "{\"text\": \"$text\"}" --config - <<END
url = "$CHAT_URL"
END

# Sessions in the documents: each console block is a command behind "$ " (its further
# lines behind "> "), then what it prints.
# shellcheck shell=bash

# console FILE [HEADING]: the lines of the console blocks, of one section only.
console() {
	awk -v heading="${2:-}" '/^## / { inside = $0 == "## " heading }
		(inside || heading == "") && /^```console$/ { block = 1; next }
		/^```$/ { block = 0 }
		block' "$1"
}

# mask: what differs from host to host and from time to time looks the same.
mask() {
	sed -E "s/\b$(uname -n)\b/web-1/g"'
		s/^[^ ]+: line [0-9]+: *[0-9]+ (Killed).*/\1/
		s/\(pid [0-9]+/(pid 1/g
		s/[0-9]{2}:[0-9]{2}:[0-9]{2}/00:00:00/g
		s/\b[0-9]+(\.[0-9]+)?(ms|s)( ago)?\b/1s\3/g
		s/ +/ /g'
}

# plays FILE [HEADING]: its commands, in one shell, print what it says. The server is
# at PORT. MASK=cat compares word for word.
plays() {
	console "$@" | sed -n 's/^[$>] //p' | sed "s/127.0.0.1:6379/127.0.0.1:$PORT/" >commands
	console "$@" | grep -v '^[$>] ' | ${MASK:-mask} >expected
	[[ -s commands ]]
	LOGNAME=anna PATH=$(dirname "$RLOCKRUN"):$PATH bash commands 3>&- 2>&1 |
		${MASK:-mask} >got
	diff expected got
}

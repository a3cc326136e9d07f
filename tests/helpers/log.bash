# Logs of runs, and what receives them.
# shellcheck shell=bash

# plain FILE: its lines of text without the time and the process; times become T.
plain() {
	sed -E 's/^[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z rlockrun\[[0-9]+\] //
		s/(waited|held) [0-9]+\.[0-9]{3} s/\1 T/g' "$1"
}

# json FILE EXPRESSION: of the objects in it, as `all`, and the last one, as `it`;
# `of(EVENT)` is the first one of that event.
json() {
	/usr/bin/python3 -c 'import json, sys
all = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
print(eval(sys.argv[2], {"all": all, "it": all[-1],
    "of": lambda event: next(one for one in all if one["event"] == event)}))' "$1" "$2"
}

# is_json FILE EXPRESSION WANTED
is_json() {
	local got
	got=$(json "$1" "$2")
	[[ $got == "$3" ]] || {
		echo "$2 is $got, not $3" >&2
		return 1
	}
}

need_mounts() {
	unshare -m true 2>/dev/null || skip "a mount namespace takes privileges"
}

# with_small_disk KB COMMAND...: in a mount namespace where ./disk is a file system
# of that size.
with_small_disk() {
	mkdir -p disk
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs -o size="$1"k none disk && shift && exec "$@"' - "$@"
}

# with_dev COMMAND...: in a mount namespace with a /dev of its own, without /dev/log.
with_dev() {
	mkdir -p dev
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs none dev || exit
		for one in null zero full random urandom tty; do
			: >dev/$one && mount --bind /dev/$one dev/$one || exit
		done
		ln -s /proc/self/fd dev/fd
		mount --move dev /dev && exec "$@"' - "$@"
}

# Logs of runs, and what receives them.
# shellcheck shell=bash disable=SC2034 # has_json looks at output

# plain FILE: its lines of text without the time and the process; times become T.
plain() {
	sed -E 's/^[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z rlockrun\[[0-9]+\] //
		s/(waited|held) [0-9]+\.[0-9]{3} s/\1 T/g' "$1"
}

# members FILE NAME: what that member is in each line of JSON that has it.
members() {
	sed -nE 's/.*[{,]"'"$2"'":("([^"\\]|\\.)*"|[^],}]*).*/\1/p' "$1" | paste -sd ' '
}

# all_have FILE TEXT...: each line has all of these.
all_have() {
	local text
	for text in "${@:2}"; do
		run ! grep -vF -- "$text" "$1"
	done
}

# last_has FILE TEXT...: the last line does; it is in output.
last_has() {
	output=$(tail -n 1 "$1")
	has_json "${@:2}"
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

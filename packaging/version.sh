#!/bin/sh
# Compares the version with all places that state it: the Makefile, CHANGELOG.md,
# packaging/debian/changelog, packaging/rlockrun.spec, the manual pages, and what `COMMAND -V` prints:
#
#     packaging/version.sh VERSION [COMMAND...]
#
# The first that differs is one line, with exit status 1.
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)
version=${1:?usage: packaging/version.sh VERSION [COMMAND...]}
shift

# compare PLACE STATED
compare() {
	[ "$2" != "$version" ] || return 0
	echo "version.sh: $1 is for ${2:-no version}, not for $version" >&2
	exit 1
}

compare Makefile "$(sed -n 's/^VERSION := //p' "$top/Makefile")"
# Its version ends in one of Debian's own.
compare packaging/debian/changelog \
	"$(sed -n '1s/^rlockrun (\(.*\)-[^-]*).*/\1/p' "$top/packaging/debian/changelog")"
compare packaging/rlockrun.spec "$(sed -n 's/^Version: *//p' "$top/packaging/rlockrun.spec")"
for page in "$top"/man/rlockrun*.[1-8]; do
	compare "man/${page##*/}" "$(sed -n 's/^\.Os rlockrun //p' "$page")"
done
"$top/packaging/notes.sh" "$version" >/dev/null
[ $# -eq 0 ] || compare "$*" "$("$@" -V | sed -n '1s/^rlockrun //p')"

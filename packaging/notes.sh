#!/bin/sh
# Prints the release notes of a version, its section of CHANGELOG.md:
#
#     packaging/notes.sh VERSION [dated]
#
# A version without a section is being prepared: its changes are under [Unreleased],
# and its notes say so, so that a release can be built and tried at any time. Signing
# makes it a release, and that takes `dated`, which refuses such a version.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
version=${1:?usage: packaging/notes.sh VERSION [dated]}

# section NAME: what is under its heading; the date is behind the name.
section() {
	awk -v name="$1" -v version="$version" '
		/^## / { own = index($0, "## [" name "]") == 1
		         date = $4 ? $4 : "not yet released"
		         if (own) print "# rlockrun " version ", " date
		         next }
		own' CHANGELOG.md
}

notes=$(section "$version")
[ "$notes" ] || [ "${2-}" ] || notes=$(section Unreleased)
if [ "$(echo "$notes" | grep -c .)" -lt 2 ]; then
	echo "notes.sh: CHANGELOG.md has no section [$version]" >&2
	exit 1
fi
echo "$notes"

# A later version of the packages of a release, for suites that replace one by the
# other.
# shellcheck shell=bash

# newer_packages ARCHIVE ARCH FOLDER: packages of the program in that archive of a
# release, as a version of which each digit is 9. NEWER is that version, which the
# program prints, too.
newer_packages() {
	local name version
	name=$(basename "$1" .tar.gz)
	version=${name#rlockrun-}
	version=${version%-linux-*}
	NEWER=${version//[0-9]/9}
	mkdir -p "$3"
	tar -xzf "$1" -C "$3"
	LC_ALL=C sed -i "s/${version//./\\.}/$NEWER/g" "$3/$name/bin/rlockrun"
	SOURCE_DATE_EPOCH=1 "$(dirname "${BASH_SOURCE[0]}")/../../packaging/static/packages.sh" \
		"$NEWER" "$3/$name" "$2" "$3"
}

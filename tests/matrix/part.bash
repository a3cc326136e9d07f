# What the parts share.
# shellcheck shell=bash

skip() {
	echo "$1"
	exit 77
}

# find_archive: RELEASE is this Debian's, ARCHIVE where apt is set up to get it
# from, KEYRING what its signatures are checked with.
find_archive() {
	KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
	type apt-get >/dev/null 2>&1 || skip 'no apt-get here'
	[[ -r $KEYRING ]] || skip 'no keys of the Debian archive here'
	RELEASE=$(. /etc/os-release && echo "${VERSION_CODENAME:-none}")
	ARCHIVE=$(archive)
	[[ $ARCHIVE ]] || {
		apt-get -qq update || true
		ARCHIVE=$(archive)
	}
	[[ $ARCHIVE ]] || skip "apt knows no archive of a Debian release $RELEASE"
}

# shellcheck disable=SC2016 # apt-get is to expand that
archive() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' \
		'Component: main' "Codename: $RELEASE" | grep -E '^(https?|file):' | head -n 1
}

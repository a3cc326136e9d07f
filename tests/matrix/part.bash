# What the parts share.
# shellcheck shell=bash disable=SC2034 # the parts use what is set here

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

# use_suites FOLDER ARCHITECTURE SUITE...: `options` are those with which apt looks
# only at these suites of the archive, and downloads into FOLDER. Nothing counts as
# installed there, and apt's own lists stay as they are. Fails if a list can't be
# fetched.
use_suites() {
	local dir=$1 architecture=$2 suite
	shift 2
	mkdir -p "$dir"/lists/partial "$dir"/cache/archives/partial
	for suite; do
		echo "deb [signed-by=$KEYRING] $ARCHIVE $suite main"
	done >"$dir/sources.list"
	: >"$dir/status"
	options=(-o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
		-o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache"
		-o "Dir::State::Status=$dir/status" -o "APT::Architecture=$architecture"
		-o "APT::Architectures=$architecture" -o Acquire::Languages=none
		-o "APT::Sandbox::User=$(id -un)" -o APT::Update::Error-Mode=any
		-o Debug::NoLocking=1)
	apt-get -qq "${options[@]}" update
}

# find_server SUITE KIND FOLDER: SERVER is the program of the package KIND-tools of
# that suite, VERSION that of the package. It and the libraries that it depends on
# are unpacked in the folder, and run by their own loader. False if the suite has no
# such package. What cannot be fetched as a whole is skipped.
find_server() {
	local suite=$1 package=$2-tools dir=$3 base=${1%-backports} release=
	[[ $suite != experimental ]] || base=unstable
	rm -rf "$dir"
	mkdir -p "$dir/partial"
	[[ $base == "$suite" ]] || release=$base
	use_suites "$dir" "$(dpkg --print-architecture)" ${release:+"$release"} "$suite" ||
		skip "the lists of $suite cannot be fetched"
	[[ $(apt-cache "${options[@]}" madison "$package") == *" $suite/"* ]] || return 1
	fetch "$package of $suite" apt-get -qq -y "${options[@]}" --download-only \
		--no-install-recommends -t "$suite" install "$package/$suite"
	unpack_server "$dir" "$package" "$2"
}

# fetch WHAT COMMAND...: skips with the last line of the command if it fails.
fetch() {
	local words
	words=$("${@:2}" 2>&1) || skip "$1 cannot be fetched: $(tail -n 1 <<<"$words")"
}

# unpack_server FOLDER PACKAGE KIND: under another name until it is whole. The
# program of the server is that of KIND-check-rdb: its name decides what it does.
unpack_server() {
	local dir=$1 archive loader libraries
	for archive in "$dir"/cache/archives/*.deb; do
		[[ $archive != */"$2"_* ]] || VERSION=$(dpkg-deb -f "$archive" Version)
		dpkg-deb -x "$archive" "$dir/partial" ||
			skip "${archive##*/} cannot be unpacked"
	done
	mv "$dir/partial" "$dir/unpacked"
	rm -rf "$dir/cache" "$dir/lists"
	ln -s "$3-check-rdb" "$dir/unpacked/usr/bin/$3-server.own"
	mapfile -t loader < <(find "$dir/unpacked" -name 'ld-linux*.so.*' -path '*lib*')
	libraries=$(find "$dir/unpacked" -name '*.so.*' -printf '%h\n' | sort -u | paste -sd :)
	[[ ${loader[0]:-} && $libraries ]] || skip "the libraries of $2 lack a loader"
	cat >"$dir/$3-server" <<-END
		#!/bin/sh
		exec "${loader[0]}" --library-path "$libraries" "$dir/unpacked/usr/bin/$3-server.own" "\$@"
	END
	chmod +x "$dir/$3-server"
	SERVER=$dir/$3-server
}

# play_server: with SERVER those suites that look at servers, and at what every run asks
# of them, and the simulation's double beside it. That is
# one of Redis 7.0, and of what later servers are known to do otherwise.
play_server() {
	local rc=0
	: "${TESTS:=$(echo tests/cli/{access,admin,denying,doctor}.bats \
		tests/lock/{kinds,lease,lock}.bats tests/queue/queue.bats)}"
	export TESTS
	make --no-print-directory WERROR=1 check SERVER="$SERVER" || rc=1
	case $("$SERVER" --version) in
	'Redis server v=6.'* | 'Redict '* | 'Valkey server v=9.'*)
		echo 'with: no comparison with the double'
		;;
	*) make --no-print-directory WERROR=1 differential SERVER="$SERVER" || rc=1 ;;
	esac
	return "$rc"
}

# A package in a root: found or built, installed, replaced and removed.
# shellcheck shell=bash disable=SC2034,SC2154 # root sets what is used, and uses what is set

# files: each file and folder of the root but those of dpkg and rpm. The size of a
# folder depends on what was in it.
files() {
	(cd "$root" && find . -path ./proc -prune -o -path ./s -prune -o \
		-path ./var/lib/dpkg -prune -o -path ./var/lib/rpm -prune -o \
		-path ./var/log -prune -o -type d -printf '%p %m\n' -o -printf '%p %m %s\n' | sort)
}

# find_package: OWN is that of `make release`, ARCHIVE has the same program.
find_package() {
	local name=rlockrun-$version-linux-$machine
	archive=$release/$name.tar.gz
	case $kind in
	deb) own=$release/rlockrun_$version-0static1_$arch.deb ;;
	rpm) own=$release/rlockrun-$version-0.static1.$machine.rpm ;;
	esac
	# Files of another commit stay in the folder until they are built anew.
	[[ -e $own && $(tar -xzOf "$archive" "$name/share/doc/rlockrun/licences/README") == \
		*", commit $(git rev-parse HEAD),"* ]] ||
		skip "no ${own##*/} of this commit in $release: make release${emulator:+ ARCH=$arch} makes it"
}

# build_package: OWN is that of `make deb`, which depends on libraries of this Debian
# release. So SUITE is this release.
build_package() {
	find_archive
	suite=$RELEASE
	own=$(DEB_BUILD_OPTIONS=nocheck make --no-print-directory deb | tail -n 1)
	[[ -s $own ]]
}

# install_libraries: those that OWN depends on and that the root lacks.
install_libraries() {
	local name
	mkdir "$work/libraries"
	for name in $(dpkg-deb -f "$own" Depends | tr ',' '\n' | awk '{ print $1 }'); do
		[[ ! -e $root/var/lib/dpkg/info/$name:$arch.list ]] || continue
		(cd "$work/libraries" && fetch "$name" apt-get -qq -o "APT::Sandbox::User=$(id -un)" download "$name")
		dpkg --root="$root" -i "$work/libraries/$name"_*.deb
	done
}

# newer_deb PACKAGE FOLDER: what newer_packages does, with a .deb.
newer_deb() {
	local tree=$2/tree name=${1##*/}
	NEWER=${version//[0-9]/9}
	mkdir "$2"
	dpkg-deb -R "$1" "$tree"
	sed -i "/^Version:/s/$version/$NEWER/" "$tree/DEBIAN/control"
	LC_ALL=C sed -i "s/${version//./\\.}/$NEWER/g" "$tree/usr/bin/rlockrun"
	dpkg-deb --root-owner-group -b "$tree" "$2/${name//"$version"/$NEWER}"
}

install_package() {
	case $kind in
	deb) dpkg --root="$root" --force-architecture -i "$1" ;;
	rpm) rpm --root "$root" --dbpath /var/lib/rpm --ignorearch -U --oldpackage "$1" ;;
	esac
}

remove_package() {
	case $kind in
	deb) dpkg --root="$root" -r rlockrun ;;
	rpm) rpm --root "$root" --dbpath /var/lib/rpm -e rlockrun ;;
	esac
}

# is_installed VERSION: the program says so.
is_installed() {
	local words
	# shellcheck disable=SC2086 # of another architecture it is an argument of the emulator
	words=$(if [[ $emulator ]]; then "$emulator" "$root/usr/bin/rlockrun" -V; else there rlockrun -V; fi)
	[[ $words == "rlockrun $1"$'\n'* ]]
}

# is_renewed MS: the lease is longer than it was then.
is_renewed() { (($(cli pttl package) > $1)); }

# replace FILE VERSION: while a job runs, which goes on and keeps its lock.
replace() {
	local job token left rc=0
	rm -f "$work"/s/{started,end}
	there rlockrun -k package -r unix:///s/s -t 3 sh -c \
		': >/s/started; while ! [ -e /s/end ]; do sleep 0.1; done; exit 7' &
	job=$!
	wait_until test -e "$work/s/started"
	token=$(cli get package)
	install_package "$1"
	is_installed "$2"
	left=$(cli pttl package)
	wait_until is_renewed "$left"
	[[ $token && $(cli get package) == "$token" ]]
	kill -0 $job
	: >"$work/s/end"
	wait $job || rc=$?
	[[ $rc == 7 && $(cli exists package) == 0 ]]
}

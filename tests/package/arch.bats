#!/usr/bin/env bats
# What `make static ARCH=...` does before it compiles anything, and what it says if it
# cannot. `make check-static ARCH=...` tests what it builds.

load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

target() { "$ROOT/packaging/static/target.sh" "$@"; }
compiler() { "$ROOT/packaging/static/compiler.sh" "$PWD/cross/$1" "$1"; }

# make_here ARGUMENT...: what make would run.
make_here() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u ARCH make -C "$ROOT" --no-print-directory -s -n "$@"
}

# An architecture for which this machine needs another compiler.
other() {
	local arch
	for arch in s390x arm64; do
		[[ $(target "$arch" other) != "$arch" ]] || echo "$arch"
	done | head -n 1
}

@test "ARCH: one that is unknown is refused, with those that are known" {
	run -1 target mips other
	[[ $output == 'target.sh: unknown ARCH=mips: it is one of amd64 arm64 '* && ${#lines[@]} == 1 ]]
	run -2 make_here libraries ARCH=mips
	[[ $output == *'ARCH=mips is unknown'* ]]
}

@test "ARCH: that of this machine takes no other compiler" {
	local arch own=''
	for arch in amd64 arm64 armhf i386 s390x; do
		[[ $(target "$arch" machine) != "$(uname -m)" ]] || own=$arch
	done
	[[ $own ]] || skip "$(uname -m) is not in the table"
	[[ -z $(target "$own" other) ]]
	[[ $(make_here libraries ARCH="$own") == "$(make_here libraries)" ]]
	[[ $(make_here libraries) != *cross* ]]
	[[ $(make_here libraries ARCH="$(other)") == *"compiler.sh build/cross/$(other) "* ]]
}

# A machine of another architecture is built by a make within `make check-machines`.
@test "ARCH: a make within make chooses a compiler of its own" {
	unset MUSL_CC
	run -0 make_here --eval='show:; +@printenv MUSL_CC || echo none' show
	[[ ${lines[-1]} == none ]]
	[[ $(make_here libraries ARCH="$(other)") == *"MUSL_CC=$ROOT/build/cross/$(other)/bin/musl-gcc "* ]]
}

@test "ARCH: without a cross compiler, one line says what installs it" {
	local arch
	arch=$(other)
	mkdir path
	for tool in sh realpath dirname grep uname; do ln -s "$(type -P $tool)" path; done
	PATH=$PWD/path run -1 compiler "$arch"
	[[ $output == "compiler.sh: no "*"-gcc (packaging/deps.sh $arch installs it)" && ${#lines[@]} == 1 ]]
	[[ ! -e cross ]]
}

# apt with no servers.
empty_apt() {
	mkdir -p etc/apt.conf.d etc/sources.list.d
	: >etc/sources.list
	echo "Dir::Etc \"$PWD/etc\";" >apt.conf
}

@test "ARCH: a musl that cannot be downloaded is one line, and nothing remains" {
	local arch
	arch=$(other)
	type apt-get dpkg-deb "$(target "$arch" gnu)-gcc" >/dev/null 2>&1 || not_here 'no apt or cross compiler'
	empty_apt
	APT_CONFIG=$PWD/apt.conf run -1 compiler "$arch"
	[[ $output == "compiler.sh: apt cannot download musl-dev for $arch: Unable to locate package musl-dev" ]]
	[[ -z $(ls cross) ]]
}

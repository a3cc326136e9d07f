#!/bin/sh
# `make deb`: builds a Debian package of the working tree, and the other files
# that dpkg writes, in build/. Does not require root. The package is built in a
# copy, in which packaging/debian is debian/. The unit tests run, unless
# DEB_BUILD_OPTIONS says nocheck.
#
#     packaging/deb.sh VERSION
set -eu
cd "$(dirname "$0")/.."
version=${1:?usage: packaging/deb.sh VERSION}

packaging/version.sh "$version"

umask 022
rm -rf build/deb build/rlockrun_* build/rlockrun-dbgsym_*
mkdir -p build/deb
cp -R -- *.md LICENSE Makefile completions man packaging src tests build/deb
mv build/deb/packaging/debian build/deb/debian

# Settings for the tree, from another make or the user, do not apply to the package.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES VARIANT WERROR CC CFLAGS CPPFLAGS \
	LDFLAGS HIREDIS TLS PREFIX DESTDIR BINDIR MANDIR BASHCOMPDIR ZSHCOMPDIR FISHCOMPDIR DOCDIR \
	SYSCONFDIR UNITDIR
cd build/deb
dpkg-buildpackage --build=binary --no-sign >../deb.log 2>&1 || {
	tail -n 60 ../deb.log >&2
	exit 1
}
cd ..
ls -d "$PWD"/rlockrun_*.deb

#!/bin/sh
# `make deb`: builds a Debian package of the working tree, with all that dpkg
# writes beside it, into build/. Needs no root. The package is built in a copy,
# where packaging/debian stands as debian/.
#
#     packaging/deb.sh VERSION
set -eu
cd "$(dirname "$0")/.."
version=${1:?usage: packaging/deb.sh VERSION}

packaged=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
if [ "${packaged%-*}" != "$version" ]; then
	echo "deb.sh: packaging/debian/changelog is for $packaged, the Makefile's VERSION is $version" >&2
	exit 1
fi

umask 022
rm -rf build/deb build/rlockrun_* build/rlockrun-dbgsym_*
mkdir -p build/deb
cp -R -- *.md LICENSE Makefile completions man packaging src build/deb
mv build/deb/packaging/debian build/deb/debian

# What another make or the user chose for the tree isn't meant for the package.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES VARIANT WERROR CC CFLAGS CPPFLAGS \
	LDFLAGS PREFIX DESTDIR BINDIR MANDIR BASHCOMPDIR ZSHCOMPDIR FISHCOMPDIR
cd build/deb
dpkg-buildpackage --build=binary --no-sign >../deb.log 2>&1 || {
	tail -n 60 ../deb.log >&2
	exit 1
}
cd ..
ls -d "$PWD"/rlockrun_*.deb

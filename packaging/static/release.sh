#!/bin/sh
# `make release`: packs the static build of what is committed, in
# build/rlockrun-VERSION, beside what is there for other architectures:
#
#     rlockrun-VERSION-linux-MACHINE.tar.gz  program, manual pages, completions, licences
#     rlockrun_VERSION-0static1_ARCH.deb, rlockrun-VERSION-0.static1.MACHINE.rpm
#                                            with REVISION=2: 0static2, a newer package
#     rlockrun-VERSION.tar.gz                the source
#     rlockrun_VERSION-N.dsc, .orig.tar.gz, .debian.tar.gz  Debian's source package
#     rlockrun-VERSION.spdx.json             which libraries are in the archives
#     rlockrun-VERSION-notes.md              what has changed
#     SHA256SUMS                             of all that is there
#
# An image of former archives and a signature of former sums are removed.
#
# Built twice from one commit, with the same compiler and libraries, the files are
# equal to the bit: nothing in them depends on the time, the user or the folder.
#
# What is there stays as it is until all files are complete.
#
#     packaging/static/release.sh VERSION [LIBRARIES [ARCH]]
#
# LIBRARIES is the folder that packaging/static/libraries.sh made. With ARCH
# it is for that architecture, whose compiler is in build/cross/ARCH. Without LIBRARIES
# it only checks the tools and the clock, so that nothing is compiled in vain.
#
# A library that was built without Debian's patches may lack fixes: it is refused unless
# UNPATCHED names it.
set -eu
cd "$(dirname "$0")/../.."
version=${1:?usage: packaging/static/release.sh VERSION [LIBRARIES [ARCH]]}

fail() {
	echo "release.sh: $*" >&2
	exit 1
}
for tool in git make gzip tar strip dpkg dpkg-deb dpkg-query dpkg-source rpmbuild; do
	command -v $tool >/dev/null || fail "no $tool (packaging/deps.sh release installs it)"
done
SOURCE_DATE_EPOCH=$(packaging/source.sh time)
export SOURCE_DATE_EPOCH
[ "$(date +%s)" -ge "$SOURCE_DATE_EPOCH" ] ||
	fail "the clock of this machine is before the last commit, $(date -d "@$SOURCE_DATE_EPOCH")"
case ${REVISION:=1} in 0* | *[!0-9]*) fail "REVISION=$REVISION is no number from 1" ;; esac
[ "${2-}" ] || exit 0

libraries=$(realpath "$2")
[ -r "$libraries/licences/VERSIONS" ] ||
	fail "$libraries has no licences/VERSIONS (make libraries makes it)"
unpatched=$(sed -n 's/^\([a-z]*\): .*, without the patches of .*/\1/p' "$libraries/licences/VERSIONS")
for library in $unpatched; do
	case " ${UNPATCHED-} " in
	*" $library "*) ;;
	*) fail "$library was built without Debian's patches and may lack fixes (UNPATCHED=$library releases it)" ;;
	esac
done
arch=${3-}
machine=$(uname -m) debian=${arch:-$(dpkg --print-architecture)} musl=/
if [ "$arch" ]; then
	machine=$(packaging/static/target.sh "$arch" machine)
	musl=$PWD/build/cross/$arch
	PATH=$musl/bin:$PATH
fi
name=rlockrun-$version-linux-$machine
out=build/rlockrun-$version
work=build/release-files
top=$work/$name

if [ -e .git ] && [ "$(git status --porcelain --untracked-files=no)" ]; then
	echo "release.sh: what is not committed is not in it" >&2
fi
umask 022
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES VARIANT WERROR CC CFLAGS CPPFLAGS \
	LDFLAGS PREFIX DESTDIR BINDIR MANDIR BASHCOMPDIR ZSHCOMPDIR FISHCOMPDIR DOCDIR SYSCONFDIR UNITDIR
export LC_ALL=C TZ=UTC

rm -rf "$work"
mkdir -p "$work/source" "$top"
source=rlockrun-$version.tar.gz
packaging/source.sh archive "$version" >"$work/source.tar"
gzip -9n <"$work/source.tar" >"$work/$source"
tar -xzf "$work/$source" -C "$work/source" --strip-components=1
rm -rf "$work/debian"
cp -R "$work/source" "$work/debian"
make -C "$work/source" --no-print-directory -s -j"$(nproc)" VARIANT=static CFLAGS='-O2 -g0' \
	ARCH="$arch" MUSL_CC=musl-gcc LIBRARIES="$libraries" PREFIX=/ \
	UNITDIR=/lib/systemd/system DESTDIR="$PWD/$top" install >"$work/log" 2>&1 || {
	tail -n 60 "$work/log" >&2
	exit 1
}
strip "$top/bin/rlockrun"
# shellcheck disable=SC2046 # nothing is no word
"$work/source/packaging/version.sh" "$version" \
	$([ ! "$arch" ] || packaging/static/target.sh "$arch" emulator) "$top/bin/rlockrun"

doc=$top/share/doc/rlockrun
licence=$musl/usr/share/doc/musl-dev/copyright
[ -r "$licence" ] || fail "$licence is missing, the licence of musl"
mkdir -p "$doc/licences"
cp "$work/source/README.md" "$work/source/CHANGELOG.md" "$doc"
cp "$work/source/LICENSE" "$doc/licences/rlockrun"
cp "$libraries/licences/openssl" "$libraries/licences/hiredis" "$doc/licences"
cp "$licence" "$doc/licences/musl"
cat >"$doc/licences/README" <<-END
	rlockrun $version, commit $(packaging/source.sh commit), is under the MIT licence. These
	libraries are a part of the program; the files beside this one are their
	licences. \`make static\` in the source of rlockrun compiles them anew.

	$(cat "$libraries/licences/VERSIONS")
	musl: Debian's musl $(if [ "$arch" ]; then cat "$musl/version"; else
		dpkg-query -W -f '${source:Version}' musl-dev
	fi)
END

tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar \
	--mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -9n >"$work/$name.tar.gz"

# Debian's source package: the .orig is the source, and its debian/ packaging/debian.
cp "$work/$source" "$work/rlockrun_$version.orig.tar.gz"
cp -R "$work/debian/packaging/debian" "$work/debian/debian"
(cd "$work" && dpkg-source -Zgzip -z9 -b debian) >"$work/log" 2>&1 || {
	tail -n 20 "$work/log" >&2
	exit 1
}

# Beside the former files, of which those for other architectures stay.
new=$out.new
trap 'rm -rf "$new"' EXIT
rm -rf "$new"
mkdir -p "$new"
# A run that was killed between the last two steps left only this.
[ -d "$out" ] || [ ! -d "$out.old" ] || mv "$out.old" "$out"
[ ! -d "$out" ] || cp -Rp "$out/." "$new"
(cd "$new" && rm -f "rlockrun-$version-oci.tar" SHA256SUMS* ./*.dsc ./*.debian.tar.gz \
	rlockrun_*"_$debian.deb" rlockrun-*".$machine.rpm")
"$work/source/packaging/static/packages.sh" "$version" "$top" "$debian" "$new" "$REVISION"
"$work/source/packaging/notes.sh" "$version" >"$work/rlockrun-$version-notes.md"
mv "$work"/rlockrun*.tar.gz "$work"/*.dsc "$work"/*.md "$new"
packaging/static/sbom.sh "$version" "$new"
(cd "$new" && sha256sum rlockrun* >SHA256SUMS)
rm -rf "$out.old"
[ ! -d "$out" ] || mv "$out" "$out.old"
mv "$new" "$out"
rm -rf "$out.old"
echo "$PWD/$out"

#!/bin/sh
# Makes a compiler for musl on another architecture, for `make static ARCH=...`:
#
#     packaging/static/compiler.sh FOLDER ARCH
#
#     FOLDER/bin    musl-gcc, ar, ranlib and strip for that architecture
#     FOLDER/usr    what Debian's package musl-dev of that architecture has
#     FOLDER/stamp  its version, and that of the compiler
#
# musl is downloaded from the servers that apt is set up with, and not installed. The
# compiler is Debian's cross compiler (`packaging/deps.sh ARCH` installs it).
set -eu
umask 022
here=$(dirname "$(realpath "$0")")
folder=${1:?usage: packaging/static/compiler.sh FOLDER ARCH}
arch=${2:?usage: packaging/static/compiler.sh FOLDER ARCH}
gnu=$("$here/target.sh" "$arch" gnu)
musl=$("$here/target.sh" "$arch" musl)
export LC_ALL=C

# shellcheck source=packaging/static/apt.sh
. "$here/apt.sh"

fail() {
	echo "compiler.sh: $*" >&2
	exit 1
}

command -v "$gnu-gcc" >/dev/null ||
	fail "no $gnu-gcc (packaging/deps.sh $arch installs it)"
for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || fail "no $tool, by which musl for $arch is downloaded"
done

# Complete or not there at all: the folder gets its name at the end.
describe_inputs() {
	sha256sum <"$0"
	echo "$folder"
	"$gnu-gcc" -v 2>&1 | tail -n 1
}
mkdir -p "$(dirname "$folder")"
folder=$(realpath "$folder")
inputs=$(describe_inputs)
[ ! -f "$folder/stamp" ] || [ "$(cat "$folder/stamp")" != "$inputs" ] || exit 0

new=$folder.new
rm -rf "$new"
mkdir -p "$new/bin"
trap 'rm -rf "$new"' EXIT

apt_arch=$arch
cd "$new"
# A list that a mirror lacks may be another one than that with musl.
apt_prepare "$new/apt" deb >log 2>&1 || :
with_lists apt-get download musl-dev >>log 2>&1 ||
	fail "apt cannot download musl-dev for $arch: $(sed -n '/^E: /{s///p;q;}' log)"
dpkg-deb -x musl-dev_*.deb .
dpkg-deb -f musl-dev_*.deb Version >version

# Its options for gcc name the folders where it would be installed.
specs=usr/lib/$musl/musl-gcc.specs
sed -i "s|/usr/include/$musl|$folder&|g; s|/usr/lib/$musl|$folder&|g" "$specs"
printf '#!/bin/sh\nexec %s-gcc "$@" -specs %s\n' "$gnu" "$folder/$specs" >bin/musl-gcc
chmod 755 bin/musl-gcc
for tool in ar ranlib strip; do
	ln -s "$(command -v "$gnu-$tool")" "bin/$tool"
done
echo "$inputs" >stamp
rm -rf apt log musl-dev_*.deb
rm -rf "$folder"
mv "$new" "$folder"

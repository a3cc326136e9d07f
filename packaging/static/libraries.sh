#!/bin/sh
# Compiles OpenSSL and hiredis for musl, for `make static`:
#
#     packaging/static/libraries.sh FOLDER [ARCH]
#
#     FOLDER/include, lib  headers, libssl.a, libcrypto.a, libhiredis.a
#     FOLDER/licences      their licences, and VERSIONS: a line for each
#     FOLDER/sources       what was downloaded
#     FOLDER/stamp         changes with any of them
#
# The sources are those of Debian's packages with Debian's patches, from the servers
# that apt is set up with, which sign their checksums. They are downloaded and
# compiled again when apt knows of a newer version (`apt-get update`).
#
# OPENSSL_SOURCE, HIREDIS_SOURCE  a tar file of OpenSSL 3 or hiredis instead
# MUSL_CC                         the compiler (default: musl-gcc); of another ARCH
#                                 that of packaging/static/compiler.sh
#
# Nothing in the libraries depends on the time or the folder. What is in FOLDER stays
# as it is until the new libraries are complete.
set -eu
umask 022
self=$(realpath "$0")
folder=${1:?usage: packaging/static/libraries.sh FOLDER [ARCH]}
arch=${2-}
cc=${MUSL_CC:-musl-gcc}
openssl_source=${OPENSSL_SOURCE:+$(realpath "$OPENSSL_SOURCE")}
hiredis_source=${HIREDIS_SOURCE:+$(realpath "$HIREDIS_SOURCE")}
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC CFLAGS CPPFLAGS LDFLAGS
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=0

# shellcheck source=packaging/static/apt.sh
. "${self%/*}/apt.sh"

fail() {
	echo "libraries.sh: $*" >&2
	exit 1
}

# log COMMAND...: shows what it prints only if it fails.
log() {
	"$@" >"$folder/log" 2>&1 || {
		tail -n 30 "$folder/log" >&2
		fail "failed: $*"
	}
}

# --- is it done already? -----------------------------------------------------------

# Only its name, as OpenSSL stores what it was compiled with. Beside that of another
# architecture are its ar and ranlib.
case $cc in */*) PATH=$(cd "$(dirname "$cc")" && pwd):$PATH cc=${cc##*/} ;; esac
command -v "$cc" >/dev/null || fail "no $cc (packaging/deps.sh static installs it)"
for source in "$openssl_source" "$hiredis_source"; do
	[ -z "$source" ] || [ -r "$source" ] || fail "$source cannot be read"
done
uses_apt() {
	[ ! "$openssl_source" ] || [ ! "$hiredis_source" ]
}
if uses_apt && ! command -v apt-get >/dev/null; then
	fail 'without apt, OPENSSL_SOURCE and HIREDIS_SOURCE must name tar files of the sources'
fi

describe_inputs() {
	cat "$self" ${openssl_source:+"$openssl_source"} ${hiredis_source:+"$hiredis_source"} |
		sha256sum
	"$cc" -v 2>&1 | tail -n 1
	! uses_apt || apt-cache policy libssl-dev libhiredis-dev | grep Candidate:
}
mkdir -p "$folder/sources"
folder=$(cd "$folder" && pwd)
inputs=$(describe_inputs)
[ ! -f "$folder/stamp" ] || [ "$(cat "$folder/stamp")" != "$inputs" ] || exit 0

cd "$folder"
rm -rf work
trap 'rm -rf "$folder/work" "$folder/log"' EXIT
new=$folder/work/new
mkdir -p "$new/include" "$new/lib" "$new/licences"

# --- the sources -------------------------------------------------------------------

prepare_apt() {
	log apt_prepare "$folder/work/apt" deb-src
	with_lists apt-cache showsrc openssl >/dev/null 2>&1 ||
		fail 'apt has no sources of openssl: OPENSSL_SOURCE and HIREDIS_SOURCE must name tar files'
}

# unpack_package NAME: the package's source with its patches. A mirror may lack them,
# but has what they are applied to.
unpack_package() {
	cd "$folder/work" # where none of it is yet
	with_lists apt-get source --print-uris "$1" >"$folder/log"
	package=$(sed -n 's/.* \([^ ]*\)\.dsc .*/\1/p' "$folder/log")
	tar=$(sed -n 's/.* \([^ ]*\.orig\.tar\.[a-z0-9]*\) .*/\1/p' "$folder/log")
	cd "$folder/sources"
	if with_lists apt-get source --download-only "$1" >"$folder/log" 2>&1; then
		log dpkg-source --no-check -x "$package.dsc" "$folder/work/$1"
		echo "$1: Debian's ${package%_*} ${package#*_}, SHA256 $(sha256sum <"$package.dsc" | cut -d' ' -f1)" >>"$new/licences/VERSIONS"
		return
	fi
	with_lists apt-get source --download-only --tar-only "$1" >"$folder/log" 2>&1 ||
		fail "the source of $1 cannot be downloaded: $(sed -n '/^E: /{s///p;q;}' "$folder/log")"
	echo "libraries.sh: the mirror lacks Debian's patches to $1 ${package#*_}: built without" >&2
	unpack_tar "$1" "$tar"
	sed -i '$ s/$/, without the patches of Debian'"'s ${package#*_}/" "$new/licences/VERSIONS"
}

# unpack_tar NAME FILE
unpack_tar() {
	mkdir "$folder/work/$1"
	tar -xf "$2" -C "$folder/work/$1" --strip-components=1 >"$folder/log" 2>&1 ||
		fail "$2 is no complete tar file: $(grep -m 1 . "$folder/log")"
	echo "$1: $(basename "$2"), SHA256 $(sha256sum <"$2" | cut -d' ' -f1)" >>"$new/licences/VERSIONS"
}

! uses_apt || prepare_apt
if [ "$openssl_source" ]; then unpack_tar openssl "$openssl_source"; else unpack_package openssl; fi
if [ "$hiredis_source" ]; then unpack_tar hiredis "$hiredis_source"; else unpack_package hiredis; fi

# --- the libraries -----------------------------------------------------------------

flags='-O2 -g0 -fno-pie -fstack-protector-strong'

# What a client of TLS 1.2 and 1.3 does not use. Of the ciphers and digests there
# remain those that its default list and certificates have.
without='shared pic module dso engine legacy tests makedepend autoload-config deprecated
	threads async secure-memory sock ui-console
	ssl3 ssl3-method tls1 tls1_1 tls1-method tls1_1-method dtls comp psk srp srtp
	nextprotoneg ct ocsp cms cmp ts rfc3779 multiblock
	aria bf blake2 camellia cast cmac des dsa ec2m gost idea md4 mdc2 ocb rc2 rc4
	rmd160 scrypt seed siphash siv sm2 sm3 sm4 whirlpool'

# The folder of certificates and that of openssl.cnf are never used: tls_static.c.
compile_openssl() {
	cd "$folder/work/openssl"
	target=''
	[ ! "$arch" ] || target=$("${self%/*}/target.sh" "$arch" openssl)
	# shellcheck disable=SC2046,SC2086 # options are words
	log ./Configure $target CC="$cc" CFLAGS="$flags" --prefix=/usr --openssldir=/etc/ssl \
		$(printf 'no-%s ' $without)
	# Without makedepend nothing says which objects need the headers of the first.
	log make -s -j"$(nproc)" build_generated
	log make -s -j"$(nproc)" libssl.a libcrypto.a
	cp libssl.a libcrypto.a "$new/lib"
	cp -R include/openssl "$new/include"
	cp LICENSE.txt "$new/licences/openssl"
}

compile_hiredis() {
	cd "$folder/work/hiredis"
	log make -s -j"$(nproc)" libhiredis.a CC="$cc" OPTIMIZATION="$flags" DEBUG_FLAGS=
	cp libhiredis.a "$new/lib"
	mkdir "$new/include/hiredis"
	cp ./*.h "$new/include/hiredis"
	cp COPYING "$new/licences/hiredis"
}

# Headers of Linux, which are not musl's: those of the cross compiler or the system.
link_linux_headers() {
	for headers in linux asm-generic asm; do
		for place in "/usr/$("$cc" -dumpmachine)/include" /usr/include \
			"/usr/include/$("$cc" -print-multiarch 2>/dev/null)"; do
			[ -d "$place/$headers" ] || continue
			ln -sfn "$place/$headers" "$new/include/$headers"
			break
		done
	done
}

compile_openssl
compile_hiredis
link_linux_headers
cd "$folder"
rm -rf stamp include lib licences
mv "$new"/* .
echo "$inputs" >"$folder/stamp"

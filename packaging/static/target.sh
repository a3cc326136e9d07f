#!/bin/sh
# What others call an architecture that Debian calls ARCH:
#
#     packaging/static/target.sh ARCH machine|gnu|musl|openssl|emulator|other
#
# machine  name in `uname -m`, and of RPM
# gnu      prefix of Debian's cross compiler
# musl     folder of Debian's musl
# openssl  target of OpenSSL's Configure
# emulator runs a program of it (qemu-user-static)
# other    ARCH, or nothing if it is that of this machine, which needs no cross compiler
set -eu

table='
amd64 x86_64  x86_64-linux-gnu    x86_64-linux-musl    linux-x86_64  x86_64
arm64 aarch64 aarch64-linux-gnu   aarch64-linux-musl   linux-aarch64 aarch64
armhf armv7hl arm-linux-gnueabihf arm-linux-musleabihf linux-armv4   arm
i386  i686    i686-linux-gnu      i386-linux-musl      linux-x86     i386
s390x s390x   s390x-linux-gnu     s390x-linux-musl     linux64-s390x s390x
'

usage='usage: packaging/static/target.sh ARCH machine|gnu|musl|openssl|emulator|other'
arch=${1:?$usage}
row=$(echo "$table" | grep "^$arch ") || {
	echo "target.sh: unknown ARCH=$arch: it is one of" \
		"$(echo "$table" | sed '/./!d; s/ .*//' | paste -sd' ')" >&2
	exit 1
}
# shellcheck disable=SC2086 # a row is words
set -- "${2:?$usage}" $row
case $1 in
machine) echo "$3" ;;
gnu) echo "$4" ;;
musl) echo "$5" ;;
openssl) echo "$6" ;;
emulator) echo "qemu-$7-static" ;;
other) [ "$(uname -m)" = "$3" ] || echo "$2" ;;
*) echo "$usage" >&2 && exit 64 ;;
esac

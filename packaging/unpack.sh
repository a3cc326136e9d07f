#!/bin/sh
# Links a program, or unpacks it from one of Debian's packages, into FOLDER. Where that
# package were installed, it would start a service:
#
#     packaging/unpack.sh FOLDER usr/bin/promtool promtool prometheus
#
# The first of the packages that can be had is taken.
set -eu

usage='usage: packaging/unpack.sh FOLDER PATH PACKAGE...'
folder=${1:?$usage} path=${2:?$usage} program=${2##*/}
: "${3:?$usage}"
shift 2
mkdir -p "$folder"
cd "$folder"
# Debian keeps some of them out of PATH.
if installed=$(PATH=$PATH:/usr/sbin command -v "$program"); then
	ln -sf "$installed" "$program"
	exit
fi
for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || {
		echo "unpack.sh: $program is not installed, and there is no $tool" >&2
		exit 1
	}
done
rm -rf new
mkdir new
cd new
download() {
	for package; do
		apt-get -qq -o APT::Sandbox::User=root download "$package" 2>/dev/null && return
	done
	return 1
}
download "$@" || { apt-get -qq update 2>/dev/null && download "$@"; } || {
	echo "unpack.sh: apt-get cannot download $program" >&2
	exit 1
}
dpkg-deb --fsys-tarfile ./*.deb | tar -x "./$path"
mv "$path" "../$program"
cd ..
rm -rf new

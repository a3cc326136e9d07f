#!/bin/sh
# Links or unpacks promtool, which checks metrics and alert rules, into FOLDER:
#
#     packaging/promtool.sh FOLDER
#
# It is Debian's package promtool. Before Debian 13 it belongs to prometheus, which would
# start a service if it were installed.
set -eu

folder=${1:?usage: packaging/promtool.sh FOLDER}
mkdir -p "$folder"
cd "$folder"
if installed=$(command -v promtool); then
	ln -sf "$installed" promtool
	exit
fi
for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || {
		echo "promtool.sh: promtool is not installed, and there is no $tool" >&2
		exit 1
	}
done
download() { apt-get -qq -o APT::Sandbox::User=root download "$1" 2>/dev/null; }
fetch() { download promtool || download prometheus; }
fetch || { apt-get -qq update 2>/dev/null && fetch; } || {
	echo 'promtool.sh: apt-get cannot download promtool' >&2
	exit 1
}
rm -rf new
mkdir new
dpkg-deb --fsys-tarfile prom*_*.deb | tar -x -C new ./usr/bin/promtool
mv new/usr/bin/promtool promtool
rm -rf -- new prom*_*.deb

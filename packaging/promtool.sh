#!/bin/sh
# Links or unpacks promtool, which checks metrics and alert rules, into FOLDER:
#
#     packaging/promtool.sh FOLDER
#
# It belongs to Debian's package prometheus, which would start a service if it were
# installed.
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
fetch() { apt-get -qq -o APT::Sandbox::User=root download prometheus 2>/dev/null; }
fetch || { apt-get -qq update 2>/dev/null && fetch; } || {
	echo 'promtool.sh: apt-get cannot download prometheus' >&2
	exit 1
}
rm -rf new
mkdir new
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x -C new ./usr/bin/promtool
mv new/usr/bin/promtool promtool
rm -rf -- new prometheus_*.deb

#!/bin/sh
# Links or unpacks cron, which runs the tests' crontab, into FOLDER:
#
#     packaging/cron.sh FOLDER
#
# If Debian's package cron were installed, it would start a service.
set -eu

folder=${1:?usage: packaging/cron.sh FOLDER}
mkdir -p "$folder"
cd "$folder"
# Debian keeps it out of PATH.
if installed=$(PATH=$PATH:/usr/sbin command -v cron); then
	ln -sf "$installed" cron
	exit
fi
for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || {
		echo "cron.sh: cron is not installed, and there is no $tool" >&2
		exit 1
	}
done
download() { apt-get -qq -o APT::Sandbox::User=root download cron 2>/dev/null; }
download || { apt-get -qq update 2>/dev/null && download; } || {
	echo 'cron.sh: apt-get cannot download cron' >&2
	exit 1
}
rm -rf new
mkdir new
dpkg-deb --fsys-tarfile cron_*.deb | tar -x -C new ./usr/sbin/cron
mv new/usr/sbin/cron cron
rm -rf -- new cron_*.deb

#!/bin/sh
# Links PostgreSQL's initdb, postgres and psql into FOLDER/bin: those of this machine,
# otherwise those of Debian's packages, which are unpacked in FOLDER together with the
# libraries that this machine lacks (FOLDER/lib):
#
#     packaging/postgresql.sh FOLDER
#
# If the packages were installed, they would start a service.
set -eu

folder=${1:?usage: packaging/postgresql.sh FOLDER}
mkdir -p "$folder"
cd "$folder"
rm -rf -- bin lib usr new

# link_programs FOLDER: each finds its own files from where its link leads.
link_programs() {
	for program in initdb postgres psql; do
		[ -x "$1/$program" ] || return
	done
	mkdir bin
	ln -s "$1/initdb" "$1/postgres" "$1/psql" bin
}

# Debian keeps them out of PATH.
installed=$(command -v initdb) || installed=/
for programs in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) "${installed%/*}"; do
	! link_programs "$programs" || exit 0
done

for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || {
		echo "postgresql.sh: PostgreSQL is not installed, and there is no $tool" >&2
		exit 1
	}
done

# plan: the packages, without the compiler for queries, which the server loads only if
# it exists, and the Perl of scripts that are not used here.
plan() {
	server=$(apt-cache depends postgresql | sed -n 's/^ *Depends: \(postgresql-[0-9]*\)$/\1/p')
	[ -n "$server" ] || return
	echo "$server" "postgresql-client-${server#postgresql-}"
	apt-get -s --no-install-recommends install "$server" |
		sed -n 's/^Inst \(lib[^ ]*\) .*/\1/p' | grep -Ev 'llvm|z3|perl' || :
}
fetch() (
	mkdir -p new
	cd new
	packages=$(plan 2>/dev/null) || return
	# shellcheck disable=SC2086 # a word for each
	apt-get -qq -o APT::Sandbox::User=root download $packages 2>/dev/null
)
fetch || { apt-get -qq update 2>/dev/null && fetch; } || {
	echo 'postgresql.sh: apt-get cannot download postgresql' >&2
	exit 1
}
for package in new/*.deb; do dpkg-deb -x "$package" new; done
mkdir -p lib usr/lib usr/share
find new -path '*/lib/*-linux-*/lib*.so.*' -exec mv -t lib {} +
mv new/usr/lib/postgresql usr/lib
mv new/usr/share/postgresql usr/share
rm -rf -- new
for programs in usr/lib/postgresql/*/bin; do
	LD_LIBRARY_PATH=$PWD/lib "$programs/postgres" --version >/dev/null
	LD_LIBRARY_PATH=$PWD/lib "$programs/psql" --version >/dev/null
	link_programs "$PWD/$programs"
done

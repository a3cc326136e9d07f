#!/usr/bin/env bats
# `make deb`, what is in the package and where it is installed; `make install` and `make
# uninstall`. Roots of Debian, in which it runs and is removed, are in tests/packages.
#
# The package is built once, by the first test that needs it, in a copy of the
# tree, and as an ordinary user when the suite is run by root.

# shellcheck disable=SC2016 # fish is to expand that
load ../helpers/suite
load ../helpers/manual

# as_user COMMAND...: in the copy, as an ordinary user, with a tidy environment.
as_user() {
	local become=()
	((EUID)) || become=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	env -i --chdir="$PACKAGE_DIR/tree" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
		HOME="$PACKAGE_DIR/home" TMPDIR="$PACKAGE_DIR/tmp" "${become[@]}" "$@"
}

# copy_tree FOLDER: what a package is made of.
copy_tree() {
	mkdir "$1"
	(cd "$ROOT" &&
		cp -R -- *.md LICENSE Makefile completions man packaging src tests "$1")
	((EUID)) || chown -R 65534:65534 "$1"
}

setup_file() {
	start_suite_server
	type dpkg-buildpackage dh lintian >/dev/null 2>&1 || return 0
	# bats' folders are closed to others.
	PACKAGE_DIR=$(mktemp -d /tmp/rlockrun-package.XXXXXX)
	export PACKAGE_DIR
	chmod 755 "$PACKAGE_DIR"
	mkdir -m 1777 "$PACKAGE_DIR/home" "$PACKAGE_DIR/tmp"
}

build_deb() {
	copy_tree "$PACKAGE_DIR/tree"
	as_user make --no-print-directory deb 3>&- \
		>"$PACKAGE_DIR/log" 2>&1 || {
		cat "$PACKAGE_DIR/log" >&2
		return 1
	}
}

teardown_file() {
	stop_suite_server
	[[ -z ${PACKAGE_DIR:-} ]] || rm -rf "$PACKAGE_DIR"
}

setup() { begin_test; }
teardown() { end_test; }

# Sets DEB, or skips the test: other systems have no such package.
need_deb() {
	[[ ${PACKAGE_DIR:-} ]] || skip 'no debhelper, dpkg-dev or lintian'
	[[ -e $PACKAGE_DIR/tree ]] || build_deb || return
	local built=("$PACKAGE_DIR"/tree/build/rlockrun_*.deb)
	DEB=${built[0]}
	[[ -s $DEB && ${#built[@]} == 1 ]]
}

version() {
	sed -n 's/^VERSION := //p' "$ROOT/Makefile"
}

# All that isn't a folder, from FOLDER on, by name.
files_in() {
	(cd "$1" && find . ! -type d | sed 's/^\.//' | sort)
}

# in_root ARGUMENT...: dpkg on root/, whose only other packages are those that
# ours depends on.
in_root() {
	PATH=$PATH:/usr/sbin:/sbin dpkg --root="$PWD/root" --log=/dev/null \
		--force-not-root --force-script-chrootless "$@"
}

make_root() {
	local names
	mkdir -p root/var/lib/dpkg/{info,updates}
	names=$(dpkg-deb -f "$DEB" Depends | tr ',' '\n' | awk '{ print $1 }')
	# shellcheck disable=SC2086 # names have no blanks
	dpkg-query -s $names >root/var/lib/dpkg/status
}

# make_here TARGET: in the tree, without building anything.
make_here() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$ROOT" \
		--no-print-directory -s -o all VARIANT="$(basename "$(dirname "$RLOCKRUN")")" \
		DESTDIR="$PWD/dest" "$@"
}

# bats test_tags=night
@test "make deb: lintian finds nothing" {
	need_deb
	run -0 as_user lintian --fail-on error,warning --display-info --pedantic \
		"${DEB%.deb}.changes"
	[[ -z $output ]]
}

# bats test_tags=night
@test "make deb: the unit tests pass, and without them it is the same bytes in another folder" {
	need_deb
	grep -Eqx '[0-9]{4,} passed, 0 failed' "${DEB%/*}/deb.log"
	copy_tree "$PACKAGE_DIR/another-tree"
	again=$(as_user make -C "$PACKAGE_DIR/another-tree" --no-print-directory \
		DEB_BUILD_OPTIONS=nocheck deb 3>&-)
	cmp "$DEB" "$again"
	run -1 grep ' passed, ' "${again%/*}/deb.log"
}

# bats test_tags=night
@test "dpkg: installs what belongs there, and it works" {
	need_deb
	make_root
	in_root -i "$DEB"
	[[ $(dpkg-query --admindir=root/var/lib/dpkg -W -f '${Status}' rlockrun) == \
		'install ok installed' ]]

	(cd root && find . ! -type d ! -path './var/*' | sed 's/^\.//' | sort) >got
	{
		cat <<-END
			/usr/bin/rlockrun
			/usr/lib/systemd/system/rlockrun@.service
			/usr/lib/systemd/system/rlockrun@.timer
			/usr/share/bash-completion/completions/rlockrun
			/usr/share/doc/rlockrun/README.md.gz
			/usr/share/doc/rlockrun/changelog.Debian.gz
			/usr/share/doc/rlockrun/changelog.gz
			/usr/share/doc/rlockrun/copyright
			/usr/share/fish/vendor_completions.d/rlockrun.fish
			/usr/share/lintian/overrides/rlockrun
			/usr/share/zsh/vendor-completions/_rlockrun
		END
		for file in "$ROOT"/packaging/examples/*; do
			echo "/usr/share/doc/rlockrun/examples/$(basename "$file")"
		done
		man_pages | sed 's|.*|/usr/&.gz|'
	} | sort | diff - got

	for page in $(man_pages); do
		zcat "root/usr/$page.gz" | cmp - "$ROOT/man/${page##*/}"
	done
	(cd root && md5sum --quiet -c var/lib/dpkg/info/rlockrun.md5sums)
	# Elsewhere than make install.
	run -0 grep -ho '^ExecStart=[^ ]*' root/usr/share/doc/rlockrun/examples/*.service \
		root/usr/lib/systemd/system/*
	[[ $(sort -u <<<"$output") == ExecStart=/usr/bin/rlockrun && ${#lines[@]} == 3 ]]
	[[ $(root/usr/bin/rlockrun -V) == *" $(version)"* ]]
	run -7 root/usr/bin/rlockrun -k "$KEY" -- sh -c 'exit 7'
	[[ -z $output ]]
}

@test "make install and make uninstall: program, pages, completions and examples, then none" {
	make_here install
	files_in dest | diff - <({
		cat <<-END
			/etc/fish/completions/rlockrun.fish
			/usr/local/bin/rlockrun
			/usr/local/share/bash-completion/completions/rlockrun
			/usr/local/share/zsh/site-functions/_rlockrun
		END
		man_pages | sed 's|^|/usr/local/|'
		(cd "$ROOT/packaging" && printf '/usr/local/share/doc/rlockrun/%s\n' examples/*)
	} | sort)
	cmp "$RLOCKRUN" dest/usr/local/bin/rlockrun
	[[ -x dest/usr/local/bin/rlockrun ]]

	# Others' files stay.
	touch dest/usr/local/bin/other
	make_here uninstall
	[[ $(files_in dest) == /usr/local/bin/other ]]
	# It isn't an error to do it twice.
	make_here uninstall
}

@test "make install: to another prefix, whose paths are those in units, examples and pages" {
	local to=(PREFIX=/opt/x UNITDIR=/opt/x/units SYSCONFDIR=/opt/etc)
	make_here install "${to[@]}"
	[[ $(files_in dest | grep -cv '^/opt/x/') == 0 ]]
	[[ $(files_in dest/opt/x/units) == /rlockrun@.service$'\n'/rlockrun@.timer ]]
	run -0 grep -rho '^ExecStart=[^ ]*' dest
	[[ $(sort -u <<<"$output") == ExecStart=/opt/x/bin/rlockrun && ${#lines[@]} == 3 ]]
	run -1 grep -rE --exclude-dir=bin '/usr/local/bin/rlockrun|[^t]/etc/rlockrun\.conf|@BINDIR@' dest
	for file in share/man/man5/rlockrun.conf.5 share/zsh/site-functions/_rlockrun units/rlockrun@.service; do
		grep -q '/opt/etc/rlockrun\.conf' "dest/opt/x/$file"
	done
	make_here uninstall "${to[@]}"
	[[ -z $(files_in dest) ]]
}

# Without XDG_DATA_DIRS, as on a terminal without a desktop.
@test "make install: fish looks where its completions are" {
	type fish >/dev/null 2>&1 || skip 'no fish'
	grep -qs '^ID=debian' /etc/os-release || not_here 'not Debian'
	make_here install
	folder=$(cd dest && find . -name rlockrun.fish -printf '/%P\n')
	# shellcheck disable=SC2016 # a variable of fish
	env -u XDG_DATA_DIRS HOME="$PWD" fish -c 'printf "%s\n" $fish_complete_path' |
		grep -qx "${folder%/*}"
}

# bats test_tags=night
@test "rlockrun.spec: rpmbuild makes a package with the libraries of the system" {
	type rpmbuild >/dev/null 2>&1 || skip 'no rpmbuild'
	[[ -e $ROOT/.git ]] || skip 'no history'
	mkdir -p rpm/SOURCES
	"$ROOT/packaging/source.sh" archive "$(version)" | gzip >"rpm/SOURCES/rlockrun-$(version).tar.gz"
	# Here no package of rpm has the compiler. The unit tests are those of make deb.
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u VARIANT rpmbuild -bb --nodeps --nocheck \
		--define "_topdir $PWD/rpm" "$ROOT/packaging/rlockrun.spec" >log 2>&1 || {
		tail -n 40 log
		return 1
	}
	built=(rpm/RPMS/*/rlockrun-"$(version)"-1.*.rpm)
	run -0 rpm -qpR "${built[0]}"
	[[ $output == *libhiredis.so* && $output == *libssl.so* ]]
	mkdir root
	(cd root && rpm2cpio "../${built[0]}" | cpio -idm --quiet)
	[[ $(root/usr/bin/rlockrun -V) == "rlockrun $(version)"$'\n'*'(shared library)'*'(linked)' ]]
	grep -q '^ExecStart=/usr/bin/rlockrun ' root/usr/lib/systemd/system/rlockrun@.service
	for file in $(man_pages) share/fish/vendor_completions.d/rlockrun.fish share/doc/rlockrun/examples/rlockrun.conf; do
		compgen -G "root/usr/$file*" >/dev/null
	done
}

# bats test_tags=night
@test "make image: its name when it is loaded, annotations, and no version of a tool" {
	type buildah >/dev/null 2>&1 || skip 'no buildah'
	[[ -e $ROOT/.git ]] || skip 'no history'
	((EUID == 0)) || skip 'buildah requires root here'
	version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
	mkdir tree
	"$ROOT/packaging/source.sh" archive "$version" | tar -xf - -C tree --strip-components=1
	release=$PWD/tree/build/rlockrun-$version
	for machine in x86_64 aarch64; do
		name=rlockrun-$version-linux-$machine
		mkdir -p "$name/bin" "$name/share/doc/rlockrun/licences" "$release"
		cp "$RLOCKRUN" "$name/bin"
		cp "$ROOT/LICENSE" "$name/share/doc/rlockrun/licences/rlockrun"
		tar -czf "$release/$name.tar.gz" "$name"
	done
	cp "$ROOT/packaging/static/image.sh" tree/packaging/static
	tree/packaging/static/image.sh "$version"
	image=$release/rlockrun-$version-oci.tar
	mkdir layout
	tar -xf "$image" -C layout
	run -1 grep -rlaF buildah layout
	commit=$("$ROOT/packaging/source.sh" commit)
	for words in "version\":\"$version" "revision\":\"$commit" "source\":\"rlockrun-$version.tar.gz" \
		'licenses":"MIT AND Apache-2.0 AND BSD-3-Clause'; do
		[[ $(grep -rlaF "org.opencontainers.image.$words\"" layout/blobs | wc -l) == 2 ]]
	done
	store=(buildah --root "$PWD/store" --runroot "$PWD/run" --storage-driver vfs)
	"${store[@]}" pull -q "oci-archive:$image"
	run -0 "${store[@]}" images --format '{{.Name}}:{{.Tag}}'
	[[ $output == "localhost/rlockrun:$version" ]]
}

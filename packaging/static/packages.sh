#!/bin/sh
# Makes packages of the static program that are for any release of Debian, Ubuntu,
# Fedora, RHEL and others, as they depend on nothing:
#
#     packaging/static/packages.sh VERSION TREE ARCH FOLDER [REVISION]
#
#     FOLDER/rlockrun_VERSION-0staticREVISION_ARCH.deb
#     FOLDER/rlockrun-VERSION-0.staticREVISION.MACHINE.rpm
#
# TREE is what `make install PREFIX=/` installed there, with the licences of
# packaging/static/release.sh. ARCH is Debian's name of the architecture. REVISION, 1 at
# first, counts builds of one version, with libraries that were fixed. The release 0
# lets a package of a distribution, which begins at 1, take over.
#
# SOURCE_DATE_EPOCH is the time of all that is in them. Either package appears complete
# or not at all.
set -eu
umask 022
usage='usage: packaging/static/packages.sh VERSION TREE ARCH FOLDER [REVISION]'
version=${1:?$usage}
tree=$(realpath "${2:?$usage}")
arch=${3:?$usage}
folder=$(realpath "${4:?$usage}")
revision=${5:-1}
: "${SOURCE_DATE_EPOCH:?packages.sh: it must be set}"
cd "$(dirname "$0")/../.."
machine=$(packaging/static/target.sh "$arch" machine)
export LC_ALL=C TZ=UTC

fail() {
	echo "packages.sh: $*" >&2
	exit 1
}
for tool in dpkg-deb rpmbuild; do
	command -v $tool >/dev/null || fail "no $tool (packaging/deps.sh release installs it)"
done

work=$folder/packages.new
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

# common FOLDER ZSH: what both have, with zsh's completions where that system looks.
common() {
	doc=$1/usr/share/doc/rlockrun
	mkdir -p "$1/usr"
	cp -R "$tree/bin" "$tree/lib" "$tree/share" "$1/usr"
	gzip -9n "$1"/usr/share/man/man?/*
	if [ "$2" != site-functions ]; then
		mv "$1/usr/share/zsh/site-functions" "$1/usr/share/zsh/$2"
	fi
	sed -i 's|/usr/local/bin/rlockrun|/usr/bin/rlockrun|' "$doc"/examples/*.service
	sed -i 's|^ExecStart=rlockrun|ExecStart=/usr/bin/rlockrun|' "$1"/usr/lib/systemd/system/*.service
}

# The first paragraph of the description, from what is said to Debian.
describe() {
	sed -n '/^Description:/,$p' packaging/debian/control
}

# --- deb ---------------------------------------------------------------------------

root=$work/deb
common "$root" vendor-completions
mv "$doc/CHANGELOG.md" "$doc/changelog"
cat >"$doc/changelog.Debian" <<-END
	rlockrun ($version-0static$revision) unstable; urgency=medium

	  * The static program of the release $version, whose changes are listed in
	    /usr/share/doc/rlockrun/changelog.gz.

	 -- The rlockrun authors <rlockrun@rlockrun.invalid>  $(date -uRd "@$SOURCE_DATE_EPOCH")
END
gzip -9n "$doc/changelog" "$doc/changelog.Debian" "$doc/README.md"
{
	cat packaging/debian/copyright
	printf '\nComment:\n OpenSSL (Apache-2.0, see /usr/share/common-licenses/Apache-2.0), hiredis and\n'
	printf ' musl are a part of the program. Their licences are in the folder licences.\n'
} >"$doc/copyright"
mkdir -p "$root/usr/share/lintian/overrides" "$root/DEBIAN"
cat >"$root/usr/share/lintian/overrides/rlockrun" <<-END
	# That is what it is for.
	rlockrun: statically-linked-binary [usr/bin/rlockrun]
	# OpenSSL, hiredis and musl are in it on purpose: the licences are there.
	rlockrun: extra-license-file *
	# Built by its authors and not uploaded to Debian, so there is no bug to close.
	rlockrun: initial-upload-closes-no-bugs *
END
(cd "$root" && find usr -type f | sort | xargs md5sum >DEBIAN/md5sums)
{
	printf 'Package: rlockrun\nVersion: %s-0static%s\nArchitecture: %s\n' "$version" "$revision" "$arch"
	printf 'Maintainer: The rlockrun authors <rlockrun@rlockrun.invalid>\n'
	printf 'Installed-Size: %s\n' "$(find "$root/usr" -type f -printf '%s\n' | awk '{ kb += int(($1 + 1023) / 1024) } END { print kb }')"
	printf 'Section: utils\nPriority: optional\nSuggests: redis-server | valkey-server\n'
	describe
} >"$root/DEBIAN/control"
deb=rlockrun_$version-0static${revision}_$arch.deb
dpkg-deb --root-owner-group -Zgzip -z9 --build "$root" "$work/$deb" >"$work/log" 2>&1 ||
	fail "dpkg-deb: $(tail -n 1 "$work/log")"

# --- rpm ---------------------------------------------------------------------------

# rpm removes only folders that a package owns, so it owns those of the completions and
# units, whose shells and systemd need not be installed. The manual's are those of the
# package filesystem.
root=$work/tree
common "$root" site-functions
cat >"$work/rlockrun.spec" <<-END
	Name: rlockrun
	Version: $version
	Release: 0.static$revision
	Summary: Run a command while holding a lock shared through Redis
	License: MIT AND Apache-2.0 AND BSD-3-Clause
	Group: Applications/System
	Packager: The rlockrun authors <rlockrun@rlockrun.invalid>
	AutoReqProv: no

	%description
	$(describe | sed '1d; s/^ //; s/^\.$//')

	%install
	mkdir -p %{buildroot}
	cp -R $root/. %{buildroot}

	%files
	%attr(755, root, root) /usr/bin/rlockrun
	%dir %attr(755, root, root) /usr/lib/systemd
	%dir %attr(755, root, root) /usr/lib/systemd/system
	%attr(-, root, root) /usr/lib/systemd/system/rlockrun@.*
	%dir %attr(755, root, root) /usr/share/bash-completion
	%dir %attr(755, root, root) /usr/share/bash-completion/completions
	%attr(-, root, root) /usr/share/bash-completion/completions/rlockrun
	%dir %attr(755, root, root) /usr/share/fish
	%dir %attr(755, root, root) /usr/share/fish/vendor_completions.d
	%attr(-, root, root) /usr/share/fish/vendor_completions.d/rlockrun.fish
	%dir %attr(755, root, root) /usr/share/zsh
	%dir %attr(755, root, root) /usr/share/zsh/site-functions
	%attr(-, root, root) /usr/share/zsh/site-functions/_rlockrun
	%doc %attr(-, root, root) /usr/share/man/man?/rlockrun*.gz
	%dir %attr(755, root, root) /usr/share/doc/rlockrun
	%dir %attr(755, root, root) /usr/share/doc/rlockrun/examples
	%dir %attr(755, root, root) /usr/share/doc/rlockrun/licences
	%doc %attr(-, root, root) /usr/share/doc/rlockrun/*.md
	%doc %attr(-, root, root) /usr/share/doc/rlockrun/examples/*
	%license %attr(-, root, root) /usr/share/doc/rlockrun/licences/*

	%changelog
	* $(date -ud "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y') The rlockrun authors <rlockrun@rlockrun.invalid> - $version-0.static$revision
	- The changes are listed in /usr/share/doc/rlockrun/CHANGELOG.md.
END
# Debian's scripts would strip the program again, and look for what it needs.
rpmbuild -bb --quiet --target "$machine-unknown-linux" --buildroot "$work/buildroot" \
	--define "_topdir $work/rpm" --define "_rpmdir $work" --define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
	--define '__os_install_post %{nil}' --define 'debug_package %{nil}' \
	--define '_build_id_links none' --define '_binary_payload w9.gzdio' \
	--define '_buildhost rlockrun' --define 'use_source_date_epoch_as_buildtime 1' \
	--define 'clamp_mtime_to_source_date_epoch 1' --define '_dbpath /var/empty' \
	"$work/rlockrun.spec" >"$work/log" 2>&1 || {
	tail -n 20 "$work/log" >&2
	fail 'rpmbuild failed'
}
rpm=rlockrun-$version-0.static$revision.$machine.rpm
mv "$work/$deb" "$work/$rpm" "$folder"

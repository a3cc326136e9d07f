#!/usr/bin/env bats
# `make sign` and packaging/verify.sh: a release that is whole, and each way in which
# it is not. The files are small ones in their place; release.bats has real ones.

load ../helpers/suite

setup() {
	begin_test
	SH=(sh)
	mkdir release
	source_of c0ffee
	build amd64 c0ffee
	echo '# rlockrun 1.2.3, 2026-12-01' >release/rlockrun-1.2.3-notes.md
	bill
}
teardown() { end_test; }

# source_of COMMIT: in a tar file like that of git, and Debian's package of it.
source_of() {
	local name size sum
	tar --format=pax --pax-option=comment="$1" -czf release/rlockrun-1.2.3.tar.gz --files-from=/dev/null
	cp release/rlockrun-1.2.3.tar.gz release/rlockrun_1.2.3.orig.tar.gz
	echo debian >release/rlockrun_1.2.3-1.debian.tar.gz
	{
		printf 'Source: rlockrun\nVersion: 1.2.3-1\nChecksums-Sha256:\n'
		for name in rlockrun_1.2.3{.orig,-1.debian}.tar.gz; do
			read -r sum _ < <(sha256sum "release/$name")
			size=$(stat -c %s "release/$name")
			echo " $sum $size $name"
		done
	} >release/rlockrun_1.2.3-1.dsc
}
# build ARCH COMMIT: the three files of an architecture.
build() {
	local machine
	machine=$("$ROOT/packaging/static/target.sh" "$1" machine)
	archive "$machine" "$2"
	echo "package of $1" >"release/rlockrun_1.2.3-0static1_$1.deb"
	echo "package of $1" >"release/rlockrun-1.2.3-0.static1.$machine.rpm"
}
# archive MACHINE COMMIT
archive() {
	local name=rlockrun-1.2.3-linux-$1
	local licences=$name/share/doc/rlockrun/licences
	mkdir -p "$licences"
	echo "rlockrun 1.2.3, commit $2, is under the MIT licence." >"$licences/README"
	printf '%s: x-3.4.tar.gz\n' openssl hiredis musl >>"$licences/README"
	tar -czf "release/$name.tar.gz" "$name"
}
# bill: of the archives and the source, and the sums of all.
bill() {
	SOURCE_DATE_EPOCH=0 "$ROOT/packaging/static/sbom.sh" 1.2.3 release
	sums
}
sums() { (cd release && sha256sum rlockrun* >SHA256SUMS); }
verify() { "${SH[@]}" "$ROOT/packaging/verify.sh" release "$@"; }

# refused TEXT ARGUMENT...: in one line.
refused() {
	run -1 verify "${@:2}"
	[[ $output == "verify.sh: $1" && ${#lines[@]} == 1 ]]
}

# keys NAME: a key without a password, in NAME.sec and NAME.pub.
keys() {
	type minisign >/dev/null 2>&1 || skip 'no minisign'
	minisign -G -W -f -s "$1.sec" -p "$1.pub" >/dev/null
}
# sign NAME [COMMENT]
sign() { minisign -S -s "$1.sec" -m release/SHA256SUMS -t "${2-rlockrun 1.2.3}" >/dev/null; }

@test "verify.sh: a release that is whole" {
	run -0 verify
	[[ $output == 'rlockrun 1.2.3: 9 files; the signature was not checked' ]]
	keys ours
	sign ours
	run -0 verify ours.pub
	[[ $output == 'rlockrun 1.2.3: 9 files, signed with ours.pub' ]]
}

@test "verify.sh: a signature that is missing, of another key, or of other sums" {
	keys ours
	keys other
	refused 'release has no SHA256SUMS.minisig' ours.pub
	sign other
	refused 'SHA256SUMS was not signed with ours.pub' ours.pub
	sign ours
	echo changed >release/rlockrun_1.2.3-0static1_amd64.deb
	sums
	run -0 verify
	refused 'SHA256SUMS was not signed with ours.pub' ours.pub
	refused 'none.pub cannot be read' none.pub
}

@test "verify.sh: a signature that was made for another version" {
	local comment
	keys ours
	for comment in 'rlockrun 1.2.2' 'rlockrun 1.2.3 ' 'rlockrun 1x2.3' none; do
		sign ours "$comment"
		refused "SHA256SUMS was signed as \"$comment\", not as \"rlockrun 1.2.3\"" ours.pub
	done
	sign ours $'\e[2J'
	refused 'SHA256SUMS was signed as "?[2J", not as "rlockrun 1.2.3"' ours.pub
	sed -i 's/^trusted comment: .*/trusted comment: rlockrun 1.2.3/' release/SHA256SUMS.minisig
	refused 'SHA256SUMS was not signed with ours.pub' ours.pub
}

@test "verify.sh: files that are changed, half, missing, or too many" {
	truncate -s 4 release/rlockrun-1.2.3-linux-x86_64.tar.gz
	refused 'rlockrun-1.2.3-linux-x86_64.tar.gz is not what was released'
	rm release/rlockrun-1.2.3-linux-x86_64.tar.gz
	refused 'rlockrun-1.2.3-linux-x86_64.tar.gz is missing'
	sums
	echo >release/.hidden
	refused '.hidden is not in SHA256SUMS'
	rm release/.hidden
	echo >release/rlockrun_1.2.4-0static1_amd64.deb
	sums
	refused 'the files have different versions: 1.2.3 1.2.4'
}

# unsigned_file NAME TEXT: a file that the release did not have is refused.
unsigned_file() {
	echo other >"release/$1"
	refused "$2"
	rm "release/$1"
}

@test "verify.sh: sums without the end of their last line" {
	truncate -s -1 release/SHA256SUMS
	refused 'SHA256SUMS is incomplete: its last line has no end'
	echo changed >release/rlockrun_1.2.3-0static1_amd64.deb
	refused 'SHA256SUMS is incomplete: its last line has no end'
	sums
	sed -i 1p release/SHA256SUMS
	refused "SHA256SUMS has two lines for rlockrun-1.2.3-0.static1.x86_64.rpm"
	printf '\e[2J' >release/SHA256SUMS
	refused 'SHA256SUMS has a line that is none: 1:?[2J'
}

@test "verify.sh: names that look like those of the release, or are hidden" {
	local deb=rlockrun_1.2.3-0static1_amd64.deb odd
	unsigned_file rlockrun_1.2.3-0static1_amd64xdeb 'rlockrun_1.2.3-0static1_amd64xdeb is not in SHA256SUMS'
	unsigned_file "${deb%.deb}" "${deb%.deb} is not in SHA256SUMS"
	unsigned_file _amd64.deb '_amd64.deb is not in SHA256SUMS'
	unsigned_file ..evil '..evil is not in SHA256SUMS'
	unsigned_file -e '-e is not in SHA256SUMS'
	for odd in "${deb%.deb}*.deb" '[!-~]*' 'rlockrun.*' "$deb"$'\n'"$deb" ' ' $'\e[2J' 'rlockrun~'; do
		unsigned_file "$odd" "release has a name with other characters: ${odd//[!0-9A-Za-z._+-]/?}"
	done
}

@test "verify.sh: links, folders and pipes in place of files" {
	local name
	ln -s none release/dangling
	refused 'dangling is not a regular file'
	rm release/dangling
	mkdir release/folder
	refused 'folder is not a regular file'
	rmdir release/folder
	for name in rlockrun_1.2.3-0static1_amd64.deb SHA256SUMS; do
		mv "release/$name" kept
		ln -s ../kept "release/$name"
		refused "$name is not a regular file"
		rm "release/$name"
		mv kept "release/$name"
	done
	mkfifo release/pipe
	refused 'pipe is not a regular file'
}

@test "verify.sh: no release, and sums that name other places" {
	run -1 "$ROOT/packaging/verify.sh" none
	[[ $output == 'verify.sh: none is no folder' ]]
	sha256sum /etc/passwd >>release/SHA256SUMS
	run -1 verify
	[[ $output == 'verify.sh: SHA256SUMS has a line that is none: 10:'*'/etc/passwd' && ${#lines[@]} == 1 ]]
	rm release/SHA256SUMS
	refused 'release has no SHA256SUMS'
}

@test "verify.sh: notes or a bill of materials that are missing or of another release" {
	echo '# rlockrun 1.2.2, 2026-11-01' >release/rlockrun-1.2.3-notes.md
	sums
	refused 'rlockrun-1.2.3-notes.md is not of rlockrun 1.2.3'
	rm release/rlockrun-1.2.3-notes.md
	sums
	refused 'rlockrun-1.2.3-notes.md is missing'
	echo '# rlockrun 1.2.3, 2026-12-01' >release/rlockrun-1.2.3-notes.md
	source_of beef
	sums
	refused 'rlockrun-1.2.3.spdx.json is not of rlockrun-1.2.3.tar.gz'
	echo '{}' >release/rlockrun-1.2.3.spdx.json
	sums
	refused 'rlockrun-1.2.3.spdx.json is no SPDX 2.3'
	rm release/rlockrun-1.2.3.spdx.json
	sums
	refused 'rlockrun-1.2.3.spdx.json is missing'
}

@test "verify.sh: archives of two commits, or of none" {
	build arm64 c0ffee
	sums
	refused 'rlockrun-1.2.3.spdx.json is not of rlockrun-1.2.3-linux-aarch64.tar.gz'
	bill
	run -0 verify
	build arm64 beef
	bill
	refused 'rlockrun-1.2.3-linux-aarch64.tar.gz was not built from rlockrun-1.2.3.tar.gz: its commit is another one'
	archive aarch64 none
	bill
	refused 'rlockrun-1.2.3-linux-aarch64.tar.gz does not state its commit'
}

# layered_image: with one layer, whose sum is in $sum.
layered_image() {
	mkdir -p image/blobs/sha256
	echo layer >image/layer
	sum=$(sha256sum <image/layer)
	mv image/layer "image/blobs/sha256/${sum%% *}"
	pack_image
}
pack_image() { tar -C image -cf release/rlockrun-1.2.3-oci.tar . && sums; }

@test "verify.sh: each architecture has an archive and two packages" {
	local name
	for name in rlockrun-1.2.3-linux-x86_64.tar.gz rlockrun_1.2.3-0static1_amd64.deb \
		rlockrun-1.2.3-0.static1.x86_64.rpm; do
		mv "release/$name" kept
		sums
		refused "$name is missing"
		mv kept "release/$name"
	done
	sums
	mkdir kept
	mv release/*x86_64* release/*amd64* kept
	sums
	refused 'release has no files of any architecture'
	mv kept/* release
	for name in armhf i386 s390x; do
		build "$name" c0ffee
	done
	bill
	run -0 verify
	[[ $output == 'rlockrun 1.2.3: 18 files; '* ]]
	echo >release/rlockrun-1.2.3-linux-vax.tar.gz
	sums
	refused 'rlockrun-1.2.3-linux-vax.tar.gz is no file of a release'
}

@test "verify.sh: the architectures are those of target.sh" {
	table() { awk "/^table='/ { inside = 1; next } /^'/ { inside = 0 } inside { print \$1, \$2 }" "$1"; }
	diff <(table "$ROOT/packaging/static/target.sh") <(table "$ROOT/packaging/verify.sh")
	[[ $(table "$ROOT/packaging/verify.sh") == 'amd64 x86_64'$'\n'* ]]
}

@test "verify.sh: a source that is missing, of another commit, or not that of Debian's package" {
	local name
	for name in rlockrun-1.2.3.tar.gz rlockrun_1.2.3.orig.tar.gz rlockrun_1.2.3-1.debian.tar.gz; do
		mv "release/$name" kept
		sums
		refused "$name is missing"
		mv kept "release/$name"
	done
	mv release/*.dsc kept
	sums
	refused 'rlockrun_1.2.3-*.dsc is missing'
	cp kept release/rlockrun_1.2.3-1.dsc
	cp kept release/rlockrun_1.2.3-2.dsc
	sums
	refused 'the release has more than one .dsc'
	rm release/rlockrun_1.2.3-2.dsc
	echo other >release/rlockrun_1.2.3-1.debian.tar.gz
	sums
	refused 'rlockrun_1.2.3-1.dsc is not of rlockrun_1.2.3-1.debian.tar.gz'
	source_of c0ffee
	echo other >release/rlockrun_1.2.3.orig.tar.gz
	bill
	refused 'rlockrun_1.2.3.orig.tar.gz is not rlockrun-1.2.3.tar.gz'
	source_of beef
	bill
	refused 'rlockrun-1.2.3-linux-x86_64.tar.gz was not built from rlockrun-1.2.3.tar.gz: its commit is another one'
	echo other >release/rlockrun-1.2.3.tar.gz
	bill
	refused 'rlockrun-1.2.3.tar.gz does not state its commit'
}

@test "verify.sh: an image whose layers are damaged" {
	layered_image
	run -0 verify
	echo other >"image/blobs/sha256/${sum%% *}"
	pack_image
	refused "rlockrun-1.2.3-oci.tar has a blob that is not ${sum%% *}"
	rm -r image/blobs
	pack_image
	refused 'rlockrun-1.2.3-oci.tar has no images'
}

# As on Alpine and in rescue systems: neither GNU's tools nor another shell.
@test "verify.sh: with nothing but busybox" {
	type busybox >/dev/null 2>&1 || skip 'no busybox'
	mkdir applets
	busybox --install -s applets
	SH=(env "PATH=$PWD/applets" "$(type -P busybox)" sh)
	layered_image
	run -0 verify
	[[ $output == 'rlockrun 1.2.3: 10 files; the signature was not checked' ]]
	unsigned_file ..evil '..evil is not in SHA256SUMS'
	unsigned_file $'a\n*' 'release has a name with other characters: a??'
	touch ours.pub
	refused 'no minisign, which checks signatures' ours.pub
	echo other >"image/blobs/sha256/${sum%% *}"
	pack_image
	refused "rlockrun-1.2.3-oci.tar has a blob that is not ${sum%% *}"
	rm release/rlockrun-1.2.3-oci.tar
	refused 'rlockrun-1.2.3-oci.tar is missing'
	build arm64 beef
	bill
	refused 'rlockrun-1.2.3-linux-aarch64.tar.gz was not built from rlockrun-1.2.3.tar.gz: its commit is another one'
	sha256sum /etc/passwd >>release/SHA256SUMS
	run -1 verify
	[[ $output == 'verify.sh: SHA256SUMS has a line that is none: '*'/etc/passwd' && ${#lines[@]} == 1 ]]
	sed -i '$d' release/SHA256SUMS
	echo >>release/rlockrun-1.2.3.tar.gz
	refused 'rlockrun-1.2.3.tar.gz is not what was released'
}

# tree: what sign.sh looks at, with the release in it.
tree() {
	mkdir -p tree/build tree/man
	cp -R "$ROOT/packaging" tree
	echo 'VERSION := 1.2.3' >tree/Makefile
	echo '.Os rlockrun 1.2.3' | tee tree/man/rlockrun.1 >tree/man/rlockrun-job.7
	echo 'rlockrun (1.2.3-1) unstable; urgency=medium' >tree/packaging/debian/changelog
	printf '## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n- One.\n\n## [1.2.2] - 2026-11-01\n\n- Two.\n' >tree/CHANGELOG.md
	tree/packaging/notes.sh 1.2.3 >release/rlockrun-1.2.3-notes.md
	sums
	mv release tree/build/rlockrun-1.2.3
	ln -s tree/build/rlockrun-1.2.3 release
}

@test "notes.sh: the section of a version, or of what is not yet released" {
	tree
	run -0 tree/packaging/notes.sh 1.2.3 dated
	[[ $output == $'# rlockrun 1.2.3, 2026-12-01\n\n- One.' ]]
	run -1 tree/packaging/notes.sh 1.2.4
	[[ $output == 'notes.sh: CHANGELOG.md has no section [1.2.4]' ]]
	sed -i 's/^## \[1.2.3.*/- Three./' tree/CHANGELOG.md
	run -0 tree/packaging/notes.sh 1.2.3
	[[ $output == $'# rlockrun 1.2.3, not yet released\n'*'- One.' ]]
	run -1 tree/packaging/notes.sh 1.2.3 dated
	[[ $output == 'notes.sh: CHANGELOG.md has no section [1.2.3]' ]]
}

# differs WHERE VERSION FILE PATTERN: and the file is as it was.
differs() {
	cp "$3" saved
	sed -i "$4" "$3"
	run -1 tree/packaging/version.sh 1.2.3 ./program
	[[ $output == "version.sh: $1 is for $2, not for 1.2.3" ]]
	cp saved "$3"
}

@test "version.sh: each place that has another version" {
	tree
	printf '#!/bin/sh\necho rlockrun 1.2.3\n' >program
	chmod +x program
	run -0 tree/packaging/version.sh 1.2.3 ./program
	differs Makefile 1.2.4 tree/Makefile s/3/4/
	differs packaging/debian/changelog 1.2.2 tree/packaging/debian/changelog s/2.3-/2.2-/
	differs man/rlockrun-job.7 'no version' tree/man/rlockrun-job.7 's/ rlockrun.*//'
	differs ./program 1.3 program s/1.2.3/1.3/
	sed -i 's/\[.*\]/[0.1]/' tree/CHANGELOG.md
	run -1 tree/packaging/version.sh 1.2.3
	[[ $output == 'notes.sh: CHANGELOG.md has no section [1.2.3]' ]]
}

@test "make sign: a release of one version, with notes of a dated one" {
	keys ours
	tree
	run -1 tree/packaging/sign.sh 1.2.3
	[[ $output == 'sign.sh: KEY=FILE must name the secret key '* ]]
	run -1 tree/packaging/sign.sh 1.2.3 none.sec
	[[ $output == 'sign.sh: none.sec cannot be read' ]]
	sed -i 's/One/Other/' tree/CHANGELOG.md
	run -1 tree/packaging/sign.sh 1.2.3 "$PWD/ours.sec"
	[[ $output == 'sign.sh: the release was built with another CHANGELOG.md' ]]
	sed -i 's/Other/One/' tree/CHANGELOG.md
	tree/packaging/sign.sh 1.2.3 "$PWD/ours.sec"
	run -0 verify ours.pub
	sed -i '/1\.2\.3/d' tree/CHANGELOG.md
	run -1 tree/packaging/sign.sh 1.2.3 "$PWD/ours.sec"
	[[ $output == 'notes.sh: CHANGELOG.md has no section [1.2.3]' ]]
}

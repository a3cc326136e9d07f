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
	packages "$1" "rlockrun-1.2.3-linux-$machine/bin/rlockrun"
}
# packages ARCH PROGRAM: a .deb and an .rpm with it.
packages() {
	mkdir -p tree/usr/bin
	cp "$2" tree/usr/bin/rlockrun
	deb_of tree >"release/rlockrun_1.2.3-0static1_$1.deb"
	rpm_of tree/usr/bin/rlockrun \
		>"release/rlockrun-1.2.3-0.static1.$("$ROOT/packaging/static/target.sh" "$1" machine).rpm"
	rm -r tree
}
# deb_of TREE: an archive of ar(1).
deb_of() {
	local file
	echo 2.0 >debian-binary
	printf xyz >control.tar.gz # of an odd size
	tar -C "$1" -czf data.tar.gz .
	printf '!<arch>\n'
	for file in debian-binary control.tar.gz data.tar.gz; do
		printf '%-16s%-12d%-6d%-6d%-8s%-10d`\n' "$file" 0 0 0 100644 "$(stat -c %s "$file")"
		cat "$file"
		(($(stat -c %s "$file") % 2 == 0)) || echo
	done
}
# rpm_of PROGRAM: the lead, two headers of one entry each, and files of cpio(1).
rpm_of() {
	local magic='\x8e\xad\xe8\x01\0\0\0\0'
	printf '\xed\xab\xee\xdb%-92s' lead
	printf "$magic"'\0\0\0\1\0\0\0\x4%-16s%4s%4s' entry data padding | head -c 40
	printf "$magic"'\0\0\0\1\0\0\0\x5%-16s%5s' entry store
	echo configuration >rlockrun.conf
	{
		cpio_entry ./etc/rlockrun.conf rlockrun.conf
		cpio_entry ./usr/bin/rlockrun "$1"
	} | gzip
}
# cpio_entry NAME FILE
cpio_entry() {
	local size
	size=$(stat -c %s "$2")
	printf 070701
	printf %08x 1 $((0100755)) 0 0 1 0 "$size" 0 0 0 0 $((${#1} + 1)) 0
	printf '%s\0' "$1"
	head -c $(((4 - (110 + ${#1} + 1) % 4) % 4)) /dev/zero
	cat "$2"
	head -c $(((4 - size % 4) % 4)) /dev/zero
}
# archive MACHINE COMMIT
archive() {
	local name=rlockrun-1.2.3-linux-$1
	local licences=$name/share/doc/rlockrun/licences
	mkdir -p "$licences" "$name/bin"
	echo "program for $1" >"$name/bin/rlockrun"
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
	echo '- Changed.' >>release/rlockrun-1.2.3-notes.md
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
	refused 'rlockrun-1.2.3-oci.tar is missing'
	build arm64 beef
	bill
	refused 'rlockrun-1.2.3-linux-aarch64.tar.gz was not built from rlockrun-1.2.3.tar.gz: its commit is another one'
	archive aarch64 none
	bill
	refused 'rlockrun-1.2.3-linux-aarch64.tar.gz does not state its commit'
}

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

# blob FILE: moves it to its place in the image, and prints its digest.
blob() {
	local sum
	read -r sum _ < <(sha256sum "$1")
	mkdir -p image/blobs/sha256
	mv "$1" "image/blobs/sha256/$sum"
	echo "sha256:$sum"
}
# manifest_of ARCH: with its config, and with one layer that has the program.
manifest_of() {
	local machine layer config
	machine=$("$ROOT/packaging/static/target.sh" "$1" machine)
	tar -C "rlockrun-1.2.3-linux-$machine" -czf layer bin
	layer=$(blob layer)
	echo "{\"architecture\":\"${2:-$1}\",\"os\":\"linux\",\"rootfs\":{\"diff_ids\":[\"sha256:0\"]}}" >config
	config=$(blob config)
	printf '{"config":{"digest":"%s","size":1},"layers":[{"digest":"%s","size":1}]}' "$config" "$layer" >manifest
	blob manifest
}
# index_of DIGEST ARCH...: of manifests.
index_of() {
	local separator='' own
	{
		printf '{"schemaVersion": 2, "manifests": ['
		while (($#)); do
			printf '%s{"digest":"%s","size":1,"platform":{"architecture":"%s","os":"linux"}}' "$separator" "$1" "$2"
			separator=,
			shift 2
		done
		echo ']}'
	} >index
	own=$(blob index)
	echo "{\"schemaVersion\":2,\"manifests\":[{\"digest\":\"$own\",\"size\":1}]}" >image/index.json
	pack_image
}
pack_image() { tar -C image -cf release/rlockrun-1.2.3-oci.tar . && bill; }
# both: a release of both architectures with their image.
both() {
	build arm64 c0ffee
	amd64=$(manifest_of amd64)
	arm64=$(manifest_of arm64)
	index_of "$amd64" amd64 "$arm64" arm64
}
# path_of DIGEST: of a blob.
path_of() { echo "image/blobs/${1/://}"; }
# inner NAME MANIFEST: a digest in it.
inner() { sed "s/.*\"$1\":\[*{\"digest\":\"\(sha256:[0-9a-f]*\)\".*/\1/" "$(path_of "$2")"; }

@test "verify.sh: an image of both architectures" {
	both
	run -0 verify
	[[ $output == 'rlockrun 1.2.3: 13 files; the signature was not checked' ]]
	mv release/rlockrun-1.2.3-oci.tar kept
	sums
	refused 'rlockrun-1.2.3-oci.tar is missing'
	mv kept release/rlockrun-1.2.3-oci.tar
	rm release/*aarch64* release/*arm64*
	bill
	refused 'rlockrun-1.2.3-linux-aarch64.tar.gz is missing'
}

@test "verify.sh: an image that is damaged or cut short" {
	local sum
	both
	truncate -s 2148 release/rlockrun-1.2.3-oci.tar
	sums
	refused 'rlockrun-1.2.3-oci.tar is no complete tar file'
	truncate -s 0 release/rlockrun-1.2.3-oci.tar
	sums
	refused 'rlockrun-1.2.3-oci.tar is no complete tar file'
	head -c 9000 /dev/urandom >release/rlockrun-1.2.3-oci.tar
	sums
	refused 'rlockrun-1.2.3-oci.tar is no complete tar file'
	echo other >"$(path_of "$amd64")"
	pack_image
	refused "rlockrun-1.2.3-oci.tar has a blob that is not ${amd64#*:}"
	rm -r image/blobs
	pack_image
	refused 'rlockrun-1.2.3-oci.tar has no blobs'
}

@test "verify.sh: an image whose parts are missing" {
	local digest config layer
	both
	config=$(inner config "$arm64")
	layer=$(inner layers "$amd64")
	for digest in "$amd64" "$config" "$layer"; do
		mv "$(path_of "$digest")" kept
		pack_image
		refused "rlockrun-1.2.3-oci.tar has no blob $digest"
		mv kept "$(path_of "$digest")"
	done
	rm image/index.json
	pack_image
	refused 'rlockrun-1.2.3-oci.tar has no index'
	echo '{"manifests":[]}' >image/index.json
	pack_image
	refused 'rlockrun-1.2.3-oci.tar has no index'
	echo '{"config":{}}' >odd
	index_of "$(blob odd)" amd64 "$arm64" arm64
	refused 'rlockrun-1.2.3-oci.tar has no layers for amd64'
}

@test "verify.sh: an image for other architectures than it says" {
	both
	index_of "$amd64" amd64
	refused 'rlockrun-1.2.3-oci.tar is for "amd64", not for "amd64 arm64"'
	index_of "$arm64" arm64
	refused 'rlockrun-1.2.3-oci.tar is for "arm64", not for "amd64 arm64"'
	index_of
	refused 'rlockrun-1.2.3-oci.tar is for "", not for "amd64 arm64"'
	index_of "$amd64" amd64 "$arm64" arm64 "$arm64" s390x
	refused 'rlockrun-1.2.3-oci.tar is for "amd64 arm64 s390x", not for "amd64 arm64"'
	index_of "$amd64" amd64 "$(manifest_of arm64 amd64)" arm64
	refused 'rlockrun-1.2.3-oci.tar has a configuration of amd64 for arm64'
}

@test "verify.sh: the program of the packages and the image is that of the archive" {
	local deb=rlockrun_1.2.3-0static1_amd64.deb rpm=rlockrun-1.2.3-0.static1.x86_64.rpm
	local name program=rlockrun-1.2.3-linux-x86_64/bin/rlockrun
	both
	echo other >"$program"
	mkdir kept
	cp release/*.deb release/*.rpm kept
	packages amd64 "$program"
	cp "kept/$rpm" release
	sums
	refused "$deb does not have the program of rlockrun-1.2.3-linux-x86_64.tar.gz"
	packages amd64 "$program"
	cp "kept/$deb" release
	sums
	refused "$rpm does not have the program of rlockrun-1.2.3-linux-x86_64.tar.gz"
	cp kept/* release
	index_of "$(manifest_of amd64)" amd64 "$arm64" arm64
	refused 'rlockrun-1.2.3-oci.tar does not have the program of rlockrun-1.2.3-linux-x86_64.tar.gz'
	index_of "$amd64" amd64 "$arm64" arm64
	run -0 verify
	for name in "$deb" "$rpm"; do
		truncate -s 200 "release/$name"
		sums
		refused "$name does not have the program of rlockrun-1.2.3-linux-x86_64.tar.gz"
		head -c 9000 /dev/urandom >"release/$name"
		sums
		refused "$name does not have the program of rlockrun-1.2.3-linux-x86_64.tar.gz"
		cp "kept/$name" release
	done
	rm -r "${program%/*}"
	tar -czf release/rlockrun-1.2.3-linux-x86_64.tar.gz rlockrun-1.2.3-linux-x86_64
	bill
	refused 'rlockrun-1.2.3-linux-x86_64.tar.gz has no program'
}

# As on Alpine and in rescue systems: neither GNU's tools nor another shell.
@test "verify.sh: with nothing but busybox" {
	type busybox >/dev/null 2>&1 || skip 'no busybox'
	mkdir applets
	busybox --install -s applets
	SH=(env "PATH=$PWD/applets" "$(type -P busybox)" sh)
	both
	run -0 verify
	[[ $output == 'rlockrun 1.2.3: 13 files; the signature was not checked' ]]
	packages amd64 rlockrun-1.2.3-linux-aarch64/bin/rlockrun
	cp release/rlockrun-1.2.3-0.static1.aarch64.rpm release/rlockrun-1.2.3-0.static1.x86_64.rpm
	sums
	refused 'rlockrun_1.2.3-0static1_amd64.deb does not have the program of rlockrun-1.2.3-linux-x86_64.tar.gz'
	packages amd64 rlockrun-1.2.3-linux-x86_64/bin/rlockrun
	cp release/rlockrun-1.2.3-0.static1.aarch64.rpm release/rlockrun-1.2.3-0.static1.x86_64.rpm
	sums
	refused 'rlockrun-1.2.3-0.static1.x86_64.rpm does not have the program of rlockrun-1.2.3-linux-x86_64.tar.gz'
	packages amd64 rlockrun-1.2.3-linux-x86_64/bin/rlockrun
	sums
	run -0 verify
	unsigned_file ..evil '..evil is not in SHA256SUMS'
	unsigned_file $'a\n*' 'release has a name with other characters: a??'
	touch ours.pub
	refused 'no minisign, which checks signatures' ours.pub
	truncate -s 2148 release/rlockrun-1.2.3-oci.tar
	sums
	run -1 verify # its tar lists the names of what is cut off
	[[ $output == 'verify.sh: rlockrun-1.2.3-oci.tar '* && ${#lines[@]} == 1 ]]
	index_of "$arm64" arm64
	refused 'rlockrun-1.2.3-oci.tar is for "arm64", not for "amd64 arm64"'
	echo other >"$(path_of "$amd64")"
	pack_image
	refused "rlockrun-1.2.3-oci.tar has a blob that is not ${amd64#*:}"
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

@test "make image: an archive that is missing is named" {
	type buildah >/dev/null 2>&1 || skip 'no buildah'
	tree
	run -1 tree/packaging/static/image.sh 1.2.3
	[[ $output == "image.sh: no $PWD/tree/build/rlockrun-1.2.3/rlockrun-1.2.3-linux-aarch64.tar.gz: make release ARCH=arm64 makes it" ]]
	rm release/*x86_64.tar.gz
	run -1 tree/packaging/static/image.sh 1.2.3
	[[ $output == "image.sh: no $PWD/tree/build/rlockrun-1.2.3/rlockrun-1.2.3-linux-x86_64.tar.gz: make release ARCH=amd64 makes it" ]]
	[[ ! -e tree/build/image ]]
}

@test "make sign: a release without the image is incomplete" {
	keys ours
	tree
	run -1 tree/packaging/sign.sh 1.2.3 "$PWD/ours.sec"
	[[ $output == 'sign.sh: the release has no image: make release-all builds all of it' ]]
	rm tree/build/rlockrun-1.2.3/*
	rmdir tree/build/rlockrun-1.2.3
	run -1 tree/packaging/sign.sh 1.2.3 "$PWD/ours.sec"
	[[ $output == 'sign.sh: no build/rlockrun-1.2.3: make release-all builds it' ]]
}

@test "make sign: a release of one version, with notes of a dated one" {
	keys ours
	both
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
	run -1 tree/packaging/sign.sh 1.2.3 none.sec check
	[[ $output == 'sign.sh: none.sec cannot be read' ]]
	rm release/*
	run -0 tree/packaging/sign.sh 1.2.3 "$PWD/ours.sec" check
	[[ -z $output && -z $(ls release/) ]]
	sed -i '/1\.2\.3/d' tree/CHANGELOG.md
	run -1 tree/packaging/sign.sh 1.2.3 "$PWD/ours.sec" check
	[[ $output == 'notes.sh: CHANGELOG.md has no section [1.2.3]' ]]
}

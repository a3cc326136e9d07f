#!/usr/bin/env bats
# `make sign` and packaging/verify.sh: a release that is whole, and each way in which
# it is not. The files are small ones in their place; release.bats has real ones.

load ../helpers/suite

setup() {
	begin_test
	mkdir release
	echo archive >release/rlockrun-1.2.3-linux-x86_64.tar.gz
	echo package >release/rlockrun_1.2.3-0static1_amd64.deb
	sums
}
teardown() { end_test; }

sums() { (cd release && sha256sum rlockrun* >SHA256SUMS); }
verify() { "$ROOT/packaging/verify.sh" release "$@"; }

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
sign() { minisign -S -s "$1.sec" -m release/SHA256SUMS >/dev/null; }

@test "verify.sh: a release that is whole" {
	run -0 verify
	[[ $output == 'rlockrun 1.2.3: 2 files; the signature was not checked' ]]
	keys ours
	sign ours
	run -0 verify ours.pub
	[[ $output == 'rlockrun 1.2.3: 2 files, signed with ours.pub' ]]
}

@test "verify.sh: a signature that is missing, of another key, or of other sums" {
	keys ours
	keys other
	refused 'release has no SHA256SUMS.minisig' ours.pub
	sign other
	refused 'SHA256SUMS was not signed with ours.pub' ours.pub
	sign ours
	echo changed >release/rlockrun-1.2.3-linux-x86_64.tar.gz
	sums
	run -0 verify
	refused 'SHA256SUMS was not signed with ours.pub' ours.pub
	refused 'none.pub cannot be read' none.pub
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

@test "verify.sh: no release, and sums that name other places" {
	run -1 "$ROOT/packaging/verify.sh" none
	[[ $output == 'verify.sh: none is no folder' ]]
	sha256sum /etc/passwd >>release/SHA256SUMS
	run -1 verify
	[[ $output == 'verify.sh: SHA256SUMS has a line that is none: 3:'*'/etc/passwd' && ${#lines[@]} == 1 ]]
	rm release/SHA256SUMS
	refused 'release has no SHA256SUMS'
}

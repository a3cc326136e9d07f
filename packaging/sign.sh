#!/bin/sh
# `make sign`: signs the checksums of a release with the maintainer's key of minisign:
#
#     packaging/sign.sh VERSION SECRET_KEY [check]
#
# With `check` it only looks at the key, the version and its date, before a release is
# built.
#
#     build/rlockrun-VERSION/SHA256SUMS.minisig
set -eu
cd "$(dirname "$0")/.."
version=${1:?usage: packaging/sign.sh VERSION SECRET_KEY [check]}
key=${2-}

fail() {
	echo "sign.sh: $*" >&2
	exit 1
}
[ "$key" ] || fail 'KEY=FILE must name the secret key (minisign -G makes one)'
[ -r "$key" ] || fail "$key cannot be read"
command -v minisign >/dev/null || fail 'no minisign (packaging/deps.sh sign installs it)'
packaging/version.sh "$version"
notes=$(packaging/notes.sh "$version" dated)
[ "${3-}" != check ] || exit 0
out=build/rlockrun-$version
[ -d "$out" ] || fail "no $out: make release-all builds it"
packaging/verify.sh "$out" '' "$version" >/dev/null
[ -f "$out/rlockrun-$version-oci.tar" ] ||
	fail 'the release has no image: make release-all builds all of it'
[ "$notes" = "$(cat "$out/rlockrun-$version-notes.md")" ] ||
	fail 'the release was built with another CHANGELOG.md'
minisign -S -s "$key" -m "$out/SHA256SUMS" -t "rlockrun $version" >&2 || fail 'not signed'
echo "$PWD/$out/SHA256SUMS.minisig"

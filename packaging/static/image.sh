#!/bin/sh
# `make image`: an OCI layout with one index, of the archives that `make release` has
# left for amd64 and arm64:
#
#     packaging/static/image.sh VERSION
#
#     build/rlockrun-VERSION/rlockrun-VERSION-oci.tar
#
# Its images have nothing but rlockrun: packaging/Containerfile. Nothing in them
# depends on the time, the folder or the version of buildah. They have no history, in
# which it would write sums that differ from system to system. `podman load` shows the
# image as localhost/rlockrun:VERSION.
set -eu
cd "$(dirname "$0")/../.."
version=${1:?usage: packaging/static/image.sh VERSION}
out=$PWD/build/rlockrun-$version
work=$PWD/build/image
umask 022
export LC_ALL=C TZ=UTC

fail() {
	echo "image.sh: $*" >&2
	exit 1
}

# in_store COMMAND ARGUMENT...: of buildah, with a store of its own.
in_store() {
	buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@" \
		>"$work/log" 2>&1 || fail "buildah: $(tail -n 1 "$work/log")"
}

# archive_for ARCH
archive_for() {
	echo "$out/rlockrun-$version-linux-$(packaging/static/target.sh "$1" machine).tar.gz"
}

command -v buildah >/dev/null || fail 'no buildah (packaging/deps.sh image installs it)'
for arch in amd64 arm64; do
	[ -f "$(archive_for $arch)" ] || fail "no $(archive_for $arch): make release ARCH=$arch makes it"
done
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/archive"
epoch=$(packaging/source.sh time)
key=org.opencontainers.image
for arch in amd64 arm64; do
	cp "$(archive_for $arch)" "$work/archive"
	in_store build --isolation chroot --timestamp "$epoch" --omit-history --identity-label=false \
		--annotation "$key.version=$version" --annotation "$key.source=rlockrun-$version.tar.gz" \
		--annotation "$key.revision=$(packaging/source.sh commit)" \
		--annotation "$key.licenses=MIT AND Apache-2.0 AND BSD-3-Clause" \
		--platform linux/$arch --manifest rlockrun -f packaging/Containerfile "$work/archive"
	rm "$work/archive"/*
done
in_store manifest push --all rlockrun "oci:$work/oci:rlockrun:$version"
image=rlockrun-$version-oci.tar
tar -C "$work/oci" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar \
	--mtime="@$epoch" -cf "$work/$image" .
mv "$work/$image" "$out"
rm -f "$out/SHA256SUMS.minisig"
(cd "$out" && sha256sum rlockrun* >SHA256SUMS)
echo "$out/$image"

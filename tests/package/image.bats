#!/usr/bin/env bats
# `make image`, of archives that have the program of this build: what it is called and
# what it says of itself. verify.sh looks at the image of a release.

load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

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

#!/usr/bin/env bats
# `make release`: what is in it, that it is the same bytes each time, and the
# container that has nothing else. Built in a clone: `make check-static`. With ARCH,
# that of another architecture, whose programs EMULATOR runs as far as it can.
# shellcheck disable=SC2016 # the inner shell is to expand that

load ../helpers/suite

# build_release FOLDER [VARIABLE=VALUE...]: in a clone of what is committed.
build_release() {
	git clone -q "$ROOT" "$1" &&
		env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$1" --no-print-directory release "${@:2}"
}

is_static() {
	! readelf -l "$RLOCKRUN" | grep -q INTERP
}

setup_file() {
	export BATS_TEST_TIMEOUT=400 # for compiling OpenSSL
	start_suite_server
	is_static || return 0
	git -C "$ROOT" rev-parse HEAD >/dev/null 2>&1 || return 0
	build_release "$BATS_FILE_TMPDIR/one" LIBRARIES="$ROOT/build/libraries${ARCH:+-$ARCH}" 3>&- >"$BATS_FILE_TMPDIR/out"
}
teardown_file() { stop_suite_server; }

setup() {
	is_static || not_here 'not a static build'
	git -C "$ROOT" rev-parse HEAD >/dev/null 2>&1 || skip 'no history'
	begin_test
	version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
	machine=$(uname -m)
	[[ ! ${ARCH:-} ]] || machine=$("$ROOT/packaging/static/target.sh" "$ARCH" machine)
	name=rlockrun-$version-linux-$machine
	build=$BATS_FILE_TMPDIR/one/build
}
teardown() { end_test; }

@test "make release: program, manual page, completions, licences, checksum" {
	[[ $(<"$BATS_FILE_TMPDIR/out") == "$build/$name.tar.gz" ]]
	(cd "$build" && sha256sum --quiet -c SHA256SUMS)
	tar -tzf "$build/$name.tar.gz" | grep -v '/$' | sort | diff - <(
		printf "$name/%s\n" bin/rlockrun share/bash-completion/completions/rlockrun \
			share/doc/rlockrun/{CHANGELOG,README}.md \
			share/doc/rlockrun/licences/{README,hiredis,musl,openssl,rlockrun} \
			share/fish/vendor_completions.d/rlockrun.fish share/man/man1/rlockrun.1 \
			share/zsh/site-functions/_rlockrun | sort
	)
	tar -xzf "$build/$name.tar.gz"
	run -0 readelf -ldS "$name/bin/rlockrun"
	[[ $output != *NEEDED* && $output != *INTERP* && $output != *.debug_* ]]
	(($(stat -c %s "$name/bin/rlockrun") < 7000000))
	[[ $(${EMULATOR:-} "$name/bin/rlockrun" -V) == "rlockrun $version"$'\n'*'(static build)' ]]
	[[ ${EMULATOR:-} ]] || run -7 "$name/bin/rlockrun" -k "$KEY" sh -c 'exit 7'
	for library in musl openssl hiredis; do
		grep -q "^$library: .*[0-9]" "$name/share/doc/rlockrun/licences/README"
	done
	grep -q 'Apache License' "$name/share/doc/rlockrun/licences/openssl"
	grep -q 'Salvatore Sanfilippo' "$name/share/doc/rlockrun/licences/hiredis"
	grep -q 'Rich Felker' "$name/share/doc/rlockrun/licences/musl"
	# Nothing says where it was built.
	run -1 grep -rl -e "$BATS_FILE_TMPDIR" -e "$ROOT" "$name"
}

# Of the libraries, too, from the same sources.
@test "make release: the same bytes in another folder" {
	mkdir -p some/other/folder/libraries
	cp -R "$ROOT/build/libraries${ARCH:+-$ARCH}/sources" some/other/folder/libraries
	again=$(build_release "$PWD/some/other/folder/clone" \
		LIBRARIES="$PWD/some/other/folder/libraries" 3>&-)
	cmp "$build/$name.tar.gz" "$again"
}

# by_hand ROOT: what the Containerfile says, where there is no buildah.
by_hand() {
	mkdir -p archive "$1"
	tar -xzf "$build/$name.tar.gz" -C archive
	grep '^COPY --from=archive' "$ROOT/packaging/Containerfile" | while read -r _ _ from to; do
		mkdir -p "$1$(dirname "$to")"
		# shellcheck disable=SC2086 # it is a pattern
		cp -R archive$from "$1$to"
	done
}

# by_buildah ROOT: false if that is not possible here.
by_buildah() {
	local options=(--root "$PWD/store" --runroot "$PWD/run" --storage-driver vfs) image container
	image=$(buildah "${options[@]}" build -q --isolation chroot \
		-f "$ROOT/packaging/Containerfile" "$build" 2>buildah.log) &&
		container=$(buildah "${options[@]}" from "$image" 2>>buildah.log) &&
		cp -R "$(buildah "${options[@]}" mount "$container")" "$1"
}

@test "Containerfile: an image with nothing else, in which a run works" {
	[[ ! ${EMULATOR:-} ]] || not_here 'the emulator has no subreaper, so no job runs'
	unshare -m true 2>/dev/null || skip 'a mount namespace takes privileges'
	by_hand "$PWD/root"
	(cd root && find . ! -type d ! -path './share/*') | diff - <(echo ./bin/rlockrun)
	grep -qx 'ENTRYPOINT \["/bin/rlockrun"\]' "$ROOT/packaging/Containerfile"
	if type buildah >/dev/null 2>&1 && by_buildah "$PWD/built"; then
		diff -r root built
	fi
	mkdir root/proc root/s
	run -0 unshare -m sh -c 'mount -t proc proc root/proc && mount --bind "$1" root/s && shift &&
		exec chroot root "$@"' - "$SUITE_DIR" /bin/rlockrun -k "$KEY" -r unix:///s/s /bin/rlockrun -V
	[[ $output == "rlockrun $version"$'\n'* ]]
}

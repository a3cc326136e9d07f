#!/usr/bin/env bats
# `make release`: what is in it, that it is the same bytes each time, and the
# container that has nothing else. Built in a clone: `make check-static`. With ARCH,
# that of another architecture, whose programs EMULATOR runs as far as it can.
# shellcheck disable=SC2016 # the inner shell is to expand that

load ../helpers/suite
load ../helpers/manual

# build_release FOLDER [VARIABLE=VALUE...]: in a clone of what is committed, or in what was
# unpacked there, at the time AT. That is not for libraries: dpkg-source cannot set times under faketime.
# A mirror may lack Debian's patches.
build_release() {
	local make=(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$1" --no-print-directory
		ARCH="${ARCH:-}" UNPATCHED='openssl hiredis')
	{ [[ -e $1 ]] || git clone -q "$ROOT" "$1"; } &&
		"${make[@]}" libraries "${@:2}" >&2 &&
		${AT:+faketime "$AT"} "${make[@]}" release "${@:2}"
}

is_static() {
	! readelf -l "$RLOCKRUN" | grep -q INTERP
}

setup_file() {
	export BATS_TEST_TIMEOUT=1200 # for compiling OpenSSL on a busy machine
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
	build=$BATS_FILE_TMPDIR/one/build/rlockrun-$version
	deb=$build/rlockrun_$version-0static1_${ARCH:-$(dpkg --print-architecture)}.deb
	rpm=$build/rlockrun-$version-0.static1.$machine.rpm
}
teardown() { end_test; }

@test "make release: program, manual pages, completions, licences, checksum" {
	[[ $(<"$BATS_FILE_TMPDIR/out") == "$build" ]]
	run -0 "$ROOT/packaging/verify.sh" "$build"
	[[ $output == "rlockrun $version: 9 files; the signature was not checked" ]]
	cp -R "$build" changed
	echo more >>"changed/$name.tar.gz"
	run -1 "$ROOT/packaging/verify.sh" changed
	[[ $output == "verify.sh: "*"$name.tar.gz"* && ${#lines[@]} == 1 ]]
	tar -xzOf "$build/rlockrun-$version.tar.gz" "rlockrun-$version/Makefile" | grep -qx "VERSION := $version"
	tar -tzf "$build/$name.tar.gz" | grep -v '/$' | sort | diff - <({
		printf "$name/%s\n" bin/rlockrun lib/systemd/system/rlockrun@.{service,timer} share/bash-completion/completions/rlockrun \
			share/doc/rlockrun/{CHANGELOG,README}.md \
			share/doc/rlockrun/licences/{README,hiredis,musl,openssl,rlockrun} \
			share/fish/vendor_completions.d/rlockrun.fish \
			share/zsh/site-functions/_rlockrun
		man_pages | sed "s|^|$name/|"
		(cd "$ROOT/packaging" && printf "$name/share/doc/rlockrun/%s\\n" examples/*)
	} | sort)
	tar -xzf "$build/$name.tar.gz"
	run -0 readelf -ldS "$name/bin/rlockrun"
	[[ $output != *NEEDED* && $output != *INTERP* && $output != *.debug_* ]]
	(($(stat -c %s "$name/bin/rlockrun") < 7000000))
	[[ $(${EMULATOR:-} "$name/bin/rlockrun" -V) == "rlockrun $version"$'\n'*'(static build'*')' ]]
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

# refuses WORDS ARGUMENT...: verify.sh does, in one line.
refuses() {
	run -1 "$ROOT/packaging/verify.sh" "${@:2}"
	[[ $output == "verify.sh: "*"$1"* && ${#lines[@]} == 1 ]]
}

@test "verify.sh: another version than the one expected, and revisions" {
	refuses "this is rlockrun $version-1, not 9.9.9" "$build" '' 9.9.9
	refuses "this is rlockrun $version-1, not $version-2" "$build" '' "$version-2"
	cp -R "$build" rlockrun-9.9.9
	refuses "this is rlockrun $version-1, not 9.9.9" rlockrun-9.9.9
	run -0 "$ROOT/packaging/verify.sh" rlockrun-9.9.9 '' "$version"
	run -0 "$ROOT/packaging/verify.sh" "$build" '' "$version-1"
	(cd rlockrun-9.9.9 && mv "${deb##*/}" "$(basename "${deb/0static1/0static2}")" && sha256sum rlockrun* >SHA256SUMS)
	refuses 'the packages have different revisions: 1 2' rlockrun-9.9.9
	REVISION=x run -1 "$ROOT/packaging/static/release.sh" "$version"
	[[ $output == 'release.sh: REVISION=x is no number from 1' ]]
}

@test "packages: those of another revision have its number and the same files" {
	tar -xzf "$build/$name.tar.gz"
	SOURCE_DATE_EPOCH=$("$ROOT/packaging/source.sh" time) "$ROOT/packaging/static/packages.sh" \
		"$version" "$name" "${ARCH:-$(dpkg --print-architecture)}" . 2
	[[ $(dpkg-deb -f "$(basename "${deb/0static1/0static2}")" Version) == "$version-0static2" ]]
	[[ $(rpm -qp --qf '%{RELEASE}' "$(basename "${rpm/0.static1/0.static2}")") == 0.static2 ]]
	dpkg --compare-versions "$version-0static2" gt "$version-0static1"
}

# A program of another machine, in an archive whose sums and bill are right.
@test "verify.sh: a program that is not for the machine of its archive" {
	cp -R "$build" changed
	tar -xzf "$build/$name.tar.gz"
	printf '\377' | dd of="$name/bin/rlockrun" bs=1 seek=18 conv=notrunc status=none
	tar -czf "changed/$name.tar.gz" "$name"
	was=$(sha256sum <"$build/$name.tar.gz")
	is=$(sha256sum <"changed/$name.tar.gz")
	sed -i "s/${was%% *}/${is%% *}/" "changed/rlockrun-$version.spdx.json"
	(cd changed && sha256sum rlockrun* >SHA256SUMS)
	refuses "the program of $name.tar.gz is not for that machine" changed
}

@test "make release: a library without its patches is refused, unless it is named" {
	mkdir -p libraries/licences
	run -1 "$ROOT/packaging/static/release.sh" 0 "$PWD/libraries"
	[[ $output == "release.sh: $PWD/libraries has no licences/VERSIONS (make libraries makes it)" ]]
	echo "openssl: openssl_3.0.22.orig.tar.gz, SHA256 0, without the patches of Debian's 1" >libraries/licences/VERSIONS
	run -1 "$ROOT/packaging/static/release.sh" 0 "$PWD/libraries"
	[[ $output == "release.sh: openssl was built without Debian's patches and may lack fixes (UNPATCHED=openssl releases it)" ]]
	UNPATCHED=hiredis run -1 "$ROOT/packaging/static/release.sh" 0 "$PWD/libraries"
	[[ $output == *UNPATCHED=openssl* ]]
}

@test "make release: the bill of materials is one by SPDX 2.3" {
	run -0 /usr/bin/python3 - "$build/rlockrun-$version.spdx.json" <<-'END'
		import json, re, sys
		with open(sys.argv[1], encoding="utf-8") as file:
		    document = json.load(file)
		packages = document["packages"]
		ids = {package["SPDXID"] for package in packages} | {document["SPDXID"]}
		assert len(ids) == len(packages) + 1 >= 6
		for package in packages:
		    assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]), package
		    assert re.fullmatch(r"NOASSERTION|Organization: .+", package["supplier"]), package
		    assert package["licenseDeclared"] and package["downloadLocation"], package
		    if "packageFileName" not in package:
		        locator = package["externalRefs"][0]["referenceLocator"]
		        assert re.fullmatch(r"pkg:(deb/debian|generic)/[a-z]+@[^@ ]+", locator), package
		archive = next(package for package in packages if "-linux-" in package["SPDXID"])
		assert archive["licenseDeclared"] == "MIT AND Apache-2.0 AND BSD-3-Clause"
		for relation in document["relationships"]:
		    assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= ids
	END
}

@test "make release: the bill of materials has the versions of the sources" {
	local libraries=$ROOT/build/libraries${ARCH:+-$ARCH}
	run -0 jq -r '.packages[] | select(.packageFileName | not) | .name + " " + .versionInfo' \
		"$build/rlockrun-$version.spdx.json"
	[[ ${#lines[@]} == 3 ]]
	stated=$(sed -n 's/.*define OPENSSL_VERSION_STR "\(.*\)"/\1/p' "$libraries/include/openssl/opensslv.h")
	[[ $output == "openssl $stated"* ]]
	stated=$(awk '/define HIREDIS_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' \
		"$libraries/include/hiredis/hiredis.h")
	[[ $output == *$'\n'"hiredis $stated"* && $output == *$'\n'"musl "* ]]
}

# Of the libraries, too, from the same sources.
@test "make release: the same bytes from its own source, a year later, with another umask" {
	umask 077
	mkdir -p some/other/folder/libraries
	cp -R "$ROOT/build/libraries${ARCH:+-$ARCH}/sources" some/other/folder/libraries
	mkdir some/other/folder/tree
	tar -xzf "$build/rlockrun-$version.tar.gz" -C some/other/folder/tree --strip-components=1
	again=$(AT='+370 days' TZ=Asia/Tokyo build_release "$PWD/some/other/folder/tree" \
		LIBRARIES="$PWD/some/other/folder/libraries" 3>&-)
	diff -r "$build" "$again"
}

@test "packages: lintian and rpmlint find no errors, and they depend on nothing" {
	run -0 lintian --fail-on error,warning "$deb"
	run -0 rpmlint -c "$ROOT/packaging/static/rpmlint.toml" "$rpm"
	[[ $output == *' 0 errors, '* ]]
	[[ -z $(dpkg-deb -f "$deb" Depends Pre-Depends) ]]
	run -0 rpm -qpR "$rpm"
	[[ $(grep -cv '^rpmlib(' <<<"$output") == 0 ]]
	dpkg-deb -x "$deb" x
	tar -xzf "$build/$name.tar.gz"
	cmp x/usr/bin/rlockrun "$name/bin/rlockrun"
	[[ -s x/usr/share/man/man1/rlockrun.1.gz && -s x/usr/share/zsh/vendor-completions/_rlockrun ]]
	[[ $(rpm -qpl "$rpm") == *'/usr/share/man/man1/rlockrun.1.gz'*'/usr/share/zsh/site-functions/_rlockrun' ]]
}

# by_hand ROOT: what the Containerfile says.
by_hand() {
	mkdir -p archive "$1"
	tar -xzf "$build/$name.tar.gz" -C archive
	grep '^COPY --from=archive' "$ROOT/packaging/Containerfile" | while read -r _ _ from to; do
		mkdir -p "$1$(dirname "$to")"
		# shellcheck disable=SC2086 # it is a pattern
		cp -R archive$from "$1$to"
	done
}

@test "Containerfile: an image with nothing else, in which a run works" {
	[[ ! ${EMULATOR:-} ]] || not_here 'the emulator has no subreaper, so no job runs'
	unshare -m true 2>/dev/null || skip 'a mount namespace takes privileges'
	by_hand "$PWD/root"
	(cd root && find . ! -type d ! -path './share/*') | diff - <(echo ./bin/rlockrun)
	grep -qx 'ENTRYPOINT \["/bin/rlockrun"\]' "$ROOT/packaging/Containerfile"
	# As PID 1 and another user, on a read-only root.
	mkdir root/proc root/s
	chmod 755 "$SUITE_DIR"
	chmod 777 "$SUITE_DIR/s"
	run -0 unshare -mpf sh -c 'mount --bind root root && mount -t proc proc root/proc &&
		mount --bind "$1" root/s && mount -o remount,bind,ro root && shift &&
		exec chroot --userspec=65534:65534 root "$@"' - "$SUITE_DIR" \
		/bin/rlockrun -k "$KEY" -r unix:///s/s /bin/rlockrun -V
	[[ $output == "rlockrun $version"$'\n'* && $(cli exists "$KEY") == 0 ]]
}

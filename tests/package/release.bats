#!/usr/bin/env bats
# `make release`: what is in it, that it is the same bytes each time, and the
# container that has nothing else. Built in a clone: `make check-static`. With ARCH,
# that of another architecture, whose programs EMULATOR runs as far as it can.
# shellcheck disable=SC2016 # the inner shell is to expand that

load ../helpers/suite
load ../helpers/manual
load ../helpers/packages

# build_release FOLDER [VARIABLE=VALUE...]: in a clone of what is committed, at the
# time AT. That is not for libraries: dpkg-source cannot set times under faketime.
build_release() {
	local make=(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$1" --no-print-directory)
	git clone -q "$ROOT" "$1" &&
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

@test "make release: the bill of materials has the versions of the sources" {
	local bill=$build/rlockrun-$version.spdx.json libraries=$ROOT/build/libraries${ARCH:+-$ARCH}
	jq -e --arg version "$version" --arg sum "$(sha256sum <"$build/$name.tar.gz" | cut -d' ' -f1)" '
		.spdxVersion == "SPDX-2.3" and .dataLicense == "CC0-1.0" and
		.SPDXID == "SPDXRef-DOCUMENT" and .name == "rlockrun-" + $version and
		(.documentNamespace | startswith("https://")) and
		(.creationInfo.created | fromdate > 0) and (.creationInfo.creators | length > 0) and
		all(.packages[]; .name and .versionInfo and .downloadLocation and
			.licenseConcluded and .licenseDeclared and .copyrightText and .filesAnalyzed == false) and
		([.packages[].SPDXID, .SPDXID] | length == (unique | length)) and
		([.relationships[] | .spdxElementId, .relatedSpdxElement] | unique) ==
			([.packages[].SPDXID, .SPDXID] | unique) and
		any(.packages[]; .checksums[]?.checksumValue == $sum)' "$bill"
	run -0 jq -r '.packages[] | select(.packageFileName | not) | .name + " " + .versionInfo' "$bill"
	[[ ${#lines[@]} == 3 ]]
	stated=$(sed -n 's/.*define OPENSSL_VERSION_STR "\(.*\)"/\1/p' "$libraries/include/openssl/opensslv.h")
	[[ $output == "openssl $stated"* ]]
	stated=$(awk '/define HIREDIS_(MAJOR|MINOR|PATCH) / { printf "%s%s", dot, $3; dot = "." }' \
		"$libraries/include/hiredis/hiredis.h")
	[[ $output == *$'\n'"hiredis $stated"* ]]
	[[ $output == *$'\n'"musl $(tar -xzOf "$build/$name.tar.gz" "$name/share/doc/rlockrun/licences/README" |
		sed -n "s/^musl: Debian's musl //p")" ]]
}

@test "make release: notes, and Debian's source package" {
	head -n 1 "$build/rlockrun-$version-notes.md" | grep -q "^# rlockrun $version, "
	run -0 dpkg-source --require-strong-checksums -x "$build"/*.dsc unpacked
	diff -r "$ROOT/packaging/debian" unpacked/debian
}

@test "make release: a clock before the last commit" {
	git clone -q "$ROOT" clone
	GIT_COMMITTER_DATE='@4102444800 +0000' git -C clone -c user.name=x -c user.email=x@x \
		commit -q --allow-empty -m later
	run -1 clone/packaging/static/release.sh "$version" "$ROOT/build"
	[[ $output == 'release.sh: the clock of this machine is before the last commit, '*2100* ]]
	[[ ${#lines[@]} == 1 && ! -e clone/build ]]
	# Before the libraries are compiled, too.
	run -2 --separate-stderr env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
		make -s --no-print-directory -C clone LIBRARIES="$PWD/libraries" release
	# shellcheck disable=SC2154 # bats sets them
	[[ -z $output && $stderr == 'release.sh: the clock of this machine is before '* ]]
	# shellcheck disable=SC2154
	[[ ${#stderr_lines[@]} == 2 && ! -e libraries ]] # the other is that of make
}

# without TOOL: a PATH in which all others are.
without() {
	mkdir tools
	ln -s /usr/bin/* tools
	rm "tools/$1"
}

@test "make release: a tool that is missing, before anything is compiled" {
	git clone -q "$ROOT" clone
	without dpkg-source
	PATH=$PWD/tools run -1 clone/packaging/static/release.sh "$version" "$ROOT/build"
	[[ $output == 'release.sh: no dpkg-source (packaging/deps.sh release installs it)' && ! -e clone/build ]]
}

@test "make release: one that fails leaves the former one as it was" {
	git clone -q "$ROOT" clone
	mkdir clone/build
	cp -R "$build" clone/build
	[[ ! ${ARCH:-} ]] || cp -R "$ROOT/build/cross" clone/build
	echo image >"clone/build/rlockrun-$version/rlockrun-$version-oci.tar"
	cp -R "clone/build/rlockrun-$version" before
	without rpmbuild
	printf '#!/bin/sh\necho no space left\nexit 1\n' >tools/rpmbuild
	chmod +x tools/rpmbuild
	PATH=$PWD/tools run -1 clone/packaging/static/release.sh "$version" \
		"$ROOT/build/libraries${ARCH:+-$ARCH}" ${ARCH:+"$ARCH"}
	[[ $output == *'packages.sh: rpmbuild failed'* ]]
	diff -r before "clone/build/rlockrun-$version"
	[[ $(cd clone/build && echo rlockrun-*) == "rlockrun-$version" ]]
}

# Of the libraries, too, from the same sources.
@test "make release: the same bytes in another folder, a year later, with another umask" {
	umask 077
	mkdir -p some/other/folder/libraries
	cp -R "$ROOT/build/libraries${ARCH:+-$ARCH}/sources" some/other/folder/libraries
	again=$(AT='+370 days' TZ=Asia/Tokyo build_release "$PWD/some/other/folder/clone" \
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

# there COMMAND...: in the root, with /proc and the server.
there() {
	unshare -m sh -c 'mkdir -p root/proc root/s && mount -t proc proc root/proc &&
		mount --bind "$1" root/s && shift && exec chroot root "$@"' - "$SUITE_DIR" "$@"
}

# needs_root [FOLDER...]: a clean one, in which a job runs, with these folders.
needs_root() {
	[[ ! ${EMULATOR:-} ]] || not_here 'the emulator has no subreaper, so no job runs'
	unshare -m true 2>/dev/null || skip 'a mount namespace takes privileges'
	mkdir -p root/{etc,proc,s} "${@/#/root}"
	echo 'wait = 30' >root/etc/rlockrun.conf
	belongs_to_system >before
}

# replaced_while_running VERSION INSTALL...: the job is rlockrun, which waits for a lock
# that another client holds until the package is replaced; then it runs the new one.
replaced_while_running() {
	local url=unix:///s/s rc=0 wanted=$1 token
	shift
	rm -f out err # of the time before, which has such a line, too
	cli set "$KEY-2" other >/dev/null
	there /usr/bin/rlockrun -k "$KEY" -r $url /usr/bin/rlockrun -k "$KEY-2" -r $url \
		/usr/bin/rlockrun -V >out 2>err 3>&- &
	wait_until grep -q 'held by another' err
	token=$(cli get "$KEY")
	"$@"
	[[ $token && $(cli get "$KEY") == "$token" ]]
	cli del "$KEY-2" >/dev/null
	wait $! || rc=$?
	cat err
	[[ $rc == 0 && $(<out) == "rlockrun $wanted"$'\n'* && $(cli exists "$KEY") == 0 ]]
}

# belongs_to_system: each file and folder of the root but those of dpkg and rpm.
belongs_to_system() {
	find root -path root/var -prune -o -path root/usr/lib/sysimage -prune -o -printf '%p %y %m\n' | sort
}

# only_configuration: what was there before the package, folders included.
only_configuration() {
	belongs_to_system | diff before -
	[[ -e root/etc/rlockrun.conf ]]
}

in_dpkg() {
	dpkg --root="$PWD/root" --log=/dev/null --force-not-root "$@"
}

@test "deb: installed, replaced while a job runs, and removed but for the configuration" {
	needs_root
	mkdir -p root/var/lib/dpkg/{info,updates}
	: >root/var/lib/dpkg/status
	in_dpkg -i "$deb"
	run -0 there /usr/bin/rlockrun -k "$KEY" -r unix:///s/s /usr/bin/rlockrun -V
	newer_packages "$build/$name.tar.gz" "${ARCH:-$(dpkg --print-architecture)}" new
	replaced_while_running "$NEWER" in_dpkg -i new/*.deb
	replaced_while_running "$version" in_dpkg -i "$deb" # and back
	in_dpkg -r rlockrun
	only_configuration
	# Half a download is none.
	head -c 300000 "$deb" >half.deb
	run -1 in_dpkg -i half.deb
	only_configuration
}

in_rpm() {
	rpm --root "$PWD/root" --dbpath /var/lib/rpm "$@"
}

@test "rpm: installed, replaced while a job runs, and removed but for the configuration" {
	# Those of Fedora's package filesystem. Any other one is a trace.
	needs_root /usr/{bin,lib,share/doc,share/man/man{1,5,7}}
	in_rpm --initdb
	in_rpm -i "$rpm"
	run -0 there /usr/bin/rlockrun -k "$KEY" -r unix:///s/s /usr/bin/rlockrun -V
	newer_packages "$build/$name.tar.gz" "${ARCH:-$(dpkg --print-architecture)}" new
	replaced_while_running "$NEWER" in_rpm -U new/*.rpm
	replaced_while_running "$version" in_rpm -U --oldpackage "$rpm"
	in_rpm -e rlockrun
	only_configuration
	head -c 300000 "$rpm" >half.rpm
	run -1 in_rpm -i half.rpm
	only_configuration
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

# machine_of PROGRAM: for which it is.
machine_of() { readelf -h "$1" | sed -n 's/^ *Machine: *//p'; }

# archive_of_another_machine MACHINE: like that of a release, with this program but for
# the machine in its header. No other one can be built here in seconds.
archive_of_another_machine() {
	local code='\x3e' top=other/rlockrun-$version-linux-$1 # EM_X86_64
	[[ $1 != aarch64 ]] || code='\xb7'
	mkdir other
	tar -xzf "$build/$name.tar.gz" -C other
	mv "other/$name" "$top"
	printf %b "$code" | dd of="$top/bin/rlockrun" bs=1 seek=18 conv=notrunc status=none
	tar -C other -czf "$build/${top##*/}.tar.gz" "${top##*/}"
}

# unpack_image ARCH: in image/rootfs the layers of it, and in image/args its command.
unpack_image() {
	mkdir -p image/oci image/rootfs
	tar -xf "$build/rlockrun-$version-oci.tar" -C image/oci
	/usr/bin/python3 - "$1" <<-'END'
		import json, sys, tarfile

		def blob(digest):
		    return "image/oci/blobs/" + digest.replace(":", "/")

		with open("image/oci/index.json") as file:
		    (index,) = json.load(file)["manifests"]
		with open(blob(index["digest"])) as file:
		    manifests = json.load(file)["manifests"]
		print(sorted(one["platform"]["architecture"] for one in manifests))
		(own,) = [one for one in manifests if one["platform"]["architecture"] == sys.argv[1]]
		with open(blob(own["digest"])) as file:
		    manifest = json.load(file)
		for layer in manifest["layers"]:
		    with tarfile.open(blob(layer["digest"])) as archive:
		        archive.extractall("image/rootfs")
		with open(blob(manifest["config"]["digest"])) as file:
		    config = json.load(file)
		assert not config.get("history"), "it differs from system to system"
		print(config["config"]["Entrypoint"])
	END
}

# in_container ARGUMENT...: of the image's program: as PID 1 and another user, on a
# read-only root, without capabilities, and without the mount WITHOUT. crun wants no cgroups of version 1.
in_container() {
	(cd image && rm -f config.json && crun spec)
	/usr/bin/python3 - "$SUITE_DIR" "$@" <<-'END'
		import json, os, sys

		with open("image/config.json") as file:
		    config = json.load(file)
		process = config["process"]
		process.update(terminal=False, args=["/bin/rlockrun"] + sys.argv[2:], capabilities={},
		               user={"uid": 65534, "gid": 65534})
		config["root"]["readonly"] = True
		config["linux"].pop("resources", None)
		config["linux"]["namespaces"] = [
		    one for one in config["linux"]["namespaces"] if one["type"] != "cgroup"]
		config["mounts"] = [
		    one for one in config["mounts"] if one["type"] not in ("cgroup", "mqueue")]
		without = os.environ.get("WITHOUT")
		if without:
		    config["mounts"] = [
		        one for one in config["mounts"] if one["destination"] != without]
		    config["linux"].pop("maskedPaths", None)
		    config["linux"].pop("readonlyPaths", None)
		config["mounts"].append({"destination": "/s", "source": sys.argv[1], "type": "bind",
		                         "options": ["bind"]})
		with open("image/config.json", "w") as file:
		    json.dump(config, file)
	END
	(cd image && timeout -k 1 30 unshare -m sh -c 'umount -R /sys/fs/cgroup
		mount -t cgroup2 none /sys/fs/cgroup &&
			exec crun --root "$PWD/state" --cgroup-manager=disabled run "$0"' "c$$" </dev/null)
}

@test "image: one index for both architectures, the same bytes each time, and a run in it" {
	local arch=${ARCH:-$(dpkg --print-architecture)} other=x86_64
	type buildah crun >/dev/null 2>&1 || skip 'no buildah or crun'
	[[ $arch == amd64 || $arch == arm64 ]] || not_here 'no image for this architecture'
	unshare -m true 2>/dev/null || skip 'a mount namespace takes privileges'
	[[ $machine != x86_64 ]] || other=aarch64
	archive_of_another_machine "$other"
	run -0 make -C "$BATS_FILE_TMPDIR/one" --no-print-directory -s image
	[[ $output == "$build/rlockrun-$version-oci.tar" ]]
	cp "$output" first
	run -0 make -C "$BATS_FILE_TMPDIR/one" --no-print-directory -s image
	cmp first "$output"
	rm "$build/rlockrun-$version-linux-$other.tar.gz"
	run -0 unpack_image "$arch"
	[[ $output == "['amd64', 'arm64']"$'\n'"['/bin/rlockrun']" ]]
	(cd image/rootfs && find . ! -type d ! -path './share/*') | diff - <(echo ./bin/rlockrun)
	[[ $(machine_of image/rootfs/bin/rlockrun) == "$(machine_of "$RLOCKRUN")" ]]
	mv image own
	run -0 unpack_image "$([[ $other == x86_64 ]] && echo amd64 || echo arm64)"
	cmp image/rootfs/bin/rlockrun "other/rlockrun-$version-linux-$other/bin/rlockrun"
	[[ $(machine_of image/rootfs/bin/rlockrun) != "$(machine_of "$RLOCKRUN")" ]]
	rm -rf image
	mv own "$BATS_FILE_TMPDIR/image"
}

# needs_image: that of this machine, which the test before has unpacked.
needs_image() {
	[[ ! ${EMULATOR:-} ]] || not_here 'the emulator has no subreaper, so no job runs'
	[[ -e $BATS_FILE_TMPDIR/image ]] || skip 'no image was made'
	cp -R "$BATS_FILE_TMPDIR/image" .
	chmod 755 "$SUITE_DIR"
	chmod 777 "$SUITE_DIR/s"
}

@test "image: a run as PID 1 and another user, on a read-only root, without capabilities" {
	needs_image
	run in_container -k "$KEY" -r unix:///s/s /bin/rlockrun -V
	echo "$output"
	[[ $status == 0 && $output == *"rlockrun $version"$'\n'* ]]
	[[ $(cli exists "$KEY") == 0 ]]
	# The status of the job, and one that cannot be run.
	run in_container -k "$KEY" -r unix:///s/s /bin/rlockrun --no-such-option
	echo "$output"
	[[ $status == 64 ]]
	run -127 in_container -k "$KEY" -r unix:///s/s sh
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "image: without /proc no job runs, and one line says so" {
	needs_image
	WITHOUT=/proc run in_container -k "$KEY" -r unix:///s/s /bin/rlockrun -V
	echo "$output"
	[[ $status == 71 && $output == 'rlockrun: '*/proc* && ${#lines[@]} == 1 ]]
	[[ $(cli exists "$KEY") == 0 ]]
}

@test "image: a run needs neither /dev nor /tmp" {
	needs_image
	mv image/rootfs root # crun would make a /dev
	run -0 there /bin/rlockrun -k "$KEY" -r unix:///s/s /bin/rlockrun -V
	[[ $output == "rlockrun $version"$'\n'* && ! -e root/dev && ! -e root/tmp ]]
	[[ $(cli exists "$KEY") == 0 ]]
}

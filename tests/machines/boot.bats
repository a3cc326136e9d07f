#!/usr/bin/env bats
# What `make check-machines` says of a machine that can't be made, doesn't boot, hangs,
# or ends too soon, and that no qemu outlives it. The kernel is one that this system
# has downloaded before.
# bats file_tags=night

load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

need_qemu() {
	type qemu-system-x86_64 cpio >/dev/null 2>&1 || not_here 'no qemu or cpio'
}

need_kernel() {
	local kernels=("$ROOT"/build/machines/amd64-*/kernel)
	need_qemu
	KERNEL=${kernels[0]}
	[[ -s $KERNEL ]] || not_here 'no kernel, make check-machines downloads it'
	[[ -s $ROOT/build/machines/amd64/archive ]] || not_here 'no programs, make check-machines downloads them'
}

# make_initrd LINE...: of a machine whose process 1 says and does that.
make_initrd() {
	mkdir -p tree
	printf '%s\n' '#!/bin/bash' "$@" >tree/init
	chmod 755 tree/init
	(cd tree && find . | cpio -o -H newc --quiet) | cat "$ROOT/build/machines/amd64/archive" - >initrd
}

# boot_with LINE...
boot_with() {
	make_initrd "$@"
	LIMIT=${LIMIT:-60} run "$ROOT/tests/machines/boot" amd64 "$KERNEL" initrd
	echo "$output"
}

HANG='while :; do read -t 1000 <><(:); done'

@test "machines: the status is that with which the machine says that it ended" {
	need_kernel
	boot_with 'echo "machine: ended with status 3"' 'busybox reboot -f'
	[[ $status == 3 ]]
	boot_with 'echo "machine: ended with status 0"' 'busybox reboot -f'
	[[ $status == 0 ]]
}

@test "machines: one that ends without a word, or by a panic, is a failure" {
	need_kernel
	boot_with 'echo "machine: up"' 'busybox reboot -f'
	[[ $status == 1 && ${lines[-1]} == 'boot: the machine did not end by itself: '*' ended with status 0 after '* ]]
	boot_with 'exit 0'
	[[ $status == 1 && ${lines[-1]} == 'boot: the machine did not boot: '* ]]
}

@test "machines: one that hangs ends at the limit" {
	need_kernel
	LIMIT=40 boot_with 'echo "machine: up"' "$HANG"
	[[ $status == 1 && ${lines[-1]} == "boot: the machine did not end by itself within 40 s" ]]
}

@test "machines: what is no kernel does not boot" {
	need_qemu
	echo nothing >kernel
	: >initrd
	LIMIT=5 run -1 "$ROOT/tests/machines/boot" amd64 kernel initrd
	echo "$output"
	[[ ${lines[-1]} == 'boot: the machine did not boot'* ]]
	LIMIT=5 run -1 "$ROOT/tests/machines/boot" amd64 none initrd
	[[ ${lines[-1]} == 'boot: the machine did not boot'* ]]
}

@test "machines: qemu ends with who started it" {
	need_kernel
	make_initrd 'echo "machine: up"' "$HANG"
	start env LIMIT=60 "$ROOT/tests/machines/boot" amd64 "$KERNEL" initrd
	wait_until grep -q 'machine: up' out.1
	[[ $(processes_left) == *qemu-system-x86_64* ]]
	kill -KILL "$PID"
	wait_until no_processes_left
}

@test "machines: an unknown machine: 64" {
	run -64 "$ROOT/tests/machines/run" vax
	[[ $output == *'no machine is called vax' ]]
	run -64 "$ROOT/tests/machines/boot" vax kernel initrd
	[[ $output == *'architecture vax is '* ]]
}

# a_tree: with the scripts alone, whose build folder is its own.
a_tree() {
	mkdir -p tree/tests
	cp -R "$ROOT"/tests/{machines,matrix,helpers,job,lock,queue} tree/tests
	cp "$ROOT/tests/parts.bash" tree/tests
	cd tree || return
}

# run_machine STATUS LINE: the last line of a machine's script.
run_machine() {
	run "-$1" tests/machines/machine amd64-newest
	echo "$output"
	[[ ${lines[-1]} == "$2" ]]
	[[ ! -e build/machines/amd64/archive && ! -e build/machines/amd64-newest/version ]]
}

@test "machines: without qemu: skipped, with its name" {
	a_tree
	mkdir path
	ln -s "$(type -P bash)" "$(type -P grep)" "$(type -P env)" path
	PATH=$PWD/path run_machine 77 'qemu-system-x86_64 is not installed'
}

@test "machines: what cannot be downloaded is not here, and leaves nothing" {
	need_qemu
	type apt-get >/dev/null 2>&1 || not_here 'no apt-get'
	a_tree
	mkdir -p path build/static
	# The program is not what is asked for here.
	printf '#!/bin/sh\n' >path/make
	cp path/make build/static/rlockrun
	chmod 755 path/make build/static/rlockrun
	cat >>tests/matrix/part.bash <<-END
		find_archive() { KEYRING=/none RELEASE=gone ARCHIVE=file:$PWD/none; }
	END
	PATH=$PWD/path:$PATH run_machine 77 'not here: the lists of gone for amd64 cannot be downloaded'
	STRICT=1 PATH=$PWD/path:$PATH run -0 tests/machines/run amd64-newest
	[[ $output == *'skipped: not here: the lists of gone '*'0 passed, 0 failed' ]]
}

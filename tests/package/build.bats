#!/usr/bin/env bats
# Which libraries the program is built with: HIREDIS and TLS of the Makefile. A program
# with TLS=linked is tested by `make check-matrix PARTS=linked`.
load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

# would_build ARGUMENT...: the commands that make would run, in a folder of no build.
would_build() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u HIREDIS -u TLS \
		make -C "$ROOT" --no-print-directory -n VARIANT=none all "$@"
}

# refuses REASON ARGUMENT...
refuses() {
	run -2 would_build "${@:2}"
	[[ ${#lines[@]} == 1 && $output == *": *** $1.  Stop." ]]
}

@test "build: a value that is not known is refused in one line" {
	refuses 'HIREDIS=yes is neither static nor shared' HIREDIS=yes
	refuses 'TLS=1.2 is neither loaded nor linked' TLS=1.2
	# A compiler that links nothing finds no library.
	refuses 'HIREDIS=static, but the linker finds no libhiredis.a' HIREDIS=static CC=false
}

@test "build: hiredis is linked as HIREDIS says, by default from an archive if there is one" {
	run -0 would_build HIREDIS=shared
	[[ ${lines[-2]} == *' -lhiredis '* && ${lines[-1]} == *'hiredis: shared library; '* ]]
	run -0 would_build CC=false
	[[ ${lines[-2]} == *' -lhiredis '* && ${lines[-1]} == *'hiredis: shared library; '* ]]
	[[ -e $(cc -print-file-name=libhiredis.a) ]] || skip 'no libhiredis.a'
	run -0 would_build
	[[ ${lines[-2]} == *' -l:libhiredis.a '* && ${lines[-1]} == *'hiredis: static library; '* ]]
	run -0 would_build HIREDIS=static
	[[ ${lines[-2]} == *' -l:libhiredis.a '* ]]
}

@test "build: OpenSSL is loaded, or linked with TLS=linked" {
	run -0 would_build
	[[ ${lines[-2]} == *tls_loaded.o* && ${lines[-2]} != *-lssl* ]]
	[[ ${lines[-1]} == *'OpenSSL: loaded when a URL asks for TLS'* ]]
	run -0 would_build TLS=linked
	[[ ${lines[-2]} == *tls_linked.o*' -lssl -lcrypto '* && ${lines[-2]} != *tls_loaded* ]]
	[[ ${lines[-1]} == *'OpenSSL: linked'* ]]
}

@test "build: SYSCONFDIR is compiled in, and OpenSSL's headers are those of pkg-config" {
	mkdir pc
	printf '%s\n' 'Name: OpenSSL' 'Description: x' 'Version: 3' 'Cflags: -I/opt/ssl' 'Libs: -lssl' >pc/libssl.pc
	PKG_CONFIG_PATH=$PWD/pc run -0 would_build SYSCONFDIR=/opt/etc
	[[ ${lines[-3]} == *"-DRLOCKRUN_SYSCONFDIR='\"/opt/etc\"'"*' -isystem/opt/ssl '* ]]
}

@test "build: in another folder, make -f does what it does in the tree" {
	run -0 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -f "$ROOT/Makefile" -n VARIANT=none all
	[[ $output == *'-o build/none/rlockrun '* && ! -e build ]]
	run -0 env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -f "$ROOT/Makefile" help
	[[ $output == *'  install '* ]]
}

@test "build: another Makefile's ARCH in the environment changes nothing" {
	ARCH=riscv run -0 would_build
	plain=$output
	run -0 would_build
	[[ $output == "$plain" ]]
	run -2 would_build ARCH=riscv
	[[ $output == *'ARCH=riscv is unknown'* ]]
}

@test "build: anything but Linux is refused in one line" {
	mkdir bin
	printf '#!/bin/sh\necho Darwin\n' >bin/uname
	chmod +x bin/uname
	PATH=$PWD/bin:$PATH refuses 'rlockrun is for Linux only'
}

@test "build: -V says which libraries were taken" {
	run -0 "$RLOCKRUN" -V
	version=$output
	run -0 readelf -d "$RLOCKRUN"
	[[ $version == *$'\nhiredis '[0-9]*' (shared library)'$'\n'* || $output != *libhiredis* ]]
	[[ $version == *$'\nhiredis '[0-9]*' (static library)'$'\n'* || $output == *libhiredis* ]]
	[[ $version == *$'\nOpenSSL '[1-9]*' (linked)' || $output != *libssl* ]]
}

@test "source: the archive is equal to the bit in a tree that was unpacked from one" {
	[[ -e $ROOT/.git ]] || skip 'no history'
	"$ROOT/packaging/source.sh" archive 1.0 >one.tar
	mkdir tree
	tar -xf one.tar -C tree --strip-components=1
	mkdir tree/build
	touch tree/build/other
	tree/packaging/source.sh archive 1.0 | cmp one.tar -
	for what in commit time; do
		[[ $(tree/packaging/source.sh $what) == "$("$ROOT/packaging/source.sh" $what)" ]]
	done
	# A copy of the files alone says so.
	cp "$ROOT/packaging/commit" tree/packaging/commit
	run -1 tree/packaging/source.sh archive 1.0
	[[ $output == 'source.sh: this tree is neither a clone nor what git archive made of one' ]]
}

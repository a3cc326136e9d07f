#!/usr/bin/env bats
# How the program is built, against what a mistake in it would allow. The static one is
# at a fixed address: STATIC BUILD in rlockrun-operations(7).
load ../helpers/suite

setup() { begin_test; }
teardown() { end_test; }

# is_hardened PROGRAM: prints what it lacks.
is_hardened() {
	readelf --wide --program-headers --dynamic --symbols "$1" >elf
	grep -q GNU_RELRO elf || echo 'no RELRO'
	grep -q 'GNU_STACK .* RW ' elf || echo 'an executable stack'
	! grep -Eq 'LOAD .* RWE ' elf || echo 'memory to write and execute'
	! grep -Eq 'TEXTREL|RPATH|RUNPATH' elf || echo 'relocations of text, or a path of libraries'
	grep -q __stack_chk_fail elf || echo 'no stack protector'
	grep -q 'INTERP' elf || return 0
	grep -q 'FLAGS_1.*NOW.*PIE' elf || echo 'a fixed address, or late binding'
	grep -q '__[a-z]*_chk@' elf || echo 'no _FORTIFY_SOURCE'
}

@test "the program is hardened" {
	[[ $RLOCKRUN != */asan/* ]] || skip "not here: sanitizers take the place of these"
	run -0 is_hardened "$RLOCKRUN"
	[[ -z $output ]]
}

#!/usr/bin/env bats
# The pictures of the manual are those that their descriptions and the program make.
# bats file_tags=night,native

load ../helpers/suite

setup() {
	begin_test
	PICTURES=$ROOT/man/pictures
}

teardown() { end_test; }

@test "each picture is what its description and the source of the program make" {
	"$PICTURES/draw" .
	for picture in *.svg; do
		cmp "$picture" "$PICTURES/$picture" || {
			echo "draw it again: man/pictures/draw"
			return 1
		}
	done
}

@test "the recording of a terminal is what a real run shows" {
	"$PICTURES/record" "$RLOCKRUN" terminal.svg
	cmp terminal.svg "$PICTURES/terminal.svg" || {
		echo "record it again: man/pictures/record build/release/rlockrun man/pictures/terminal.svg"
		return 1
	}
}

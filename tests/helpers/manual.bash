# shellcheck shell=bash
# The manual pages.

# man_pages: where each is installed, below the prefix.
man_pages() {
	(cd "$ROOT/man" && printf '%s\n' *.[157]) | sed 's|.*\.\(.\)$|share/man/man\1/&|'
}

# literal_texts PAGE SECTION: the literal texts of a section, each after a line with
# its number.
literal_texts() {
	awk -v heading="$2" '/^\.S[hs] / { inside = substr($0, 5) == heading }
		inside && /^\.Bd -literal/ { print "# " ++count; text = 1; next }
		/^\.Ed/ { text = 0 }
		inside && text' "$ROOT/man/$1" | sed 's/\\e/\\/g; s/\\&//g'
}

# The literal text NUMBER of a section.
literal_text() {
	literal_texts "$1" "$2" | awk -v number="$3" '/^# [0-9]+$/ { inside = $2 == number; next } inside'
}

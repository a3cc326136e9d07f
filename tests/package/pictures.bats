#!/usr/bin/env bats
# The pictures of the manual are those that their descriptions make.
# guards: man/pictures

load ../helpers/suite

setup() {
	begin_test
	PICTURES=$ROOT/man/pictures
}

teardown() { end_test; }

# bats test_tags=native
@test "each picture is what its description and the source of the program make" {
	"$PICTURES/draw" .
	local picture drawn=0
	for picture in *.svg; do
		cmp "$picture" "$PICTURES/$picture" || {
			echo "draw it again: man/pictures/draw"
			return 1
		}
		drawn=$((drawn + 1))
	done
	((drawn >= 6))
}

# bats test_tags=native
@test "a picture whose texts meet, or are cut off, is refused" {
	mkdir -p tree/man/pictures
	ln -s "$ROOT/src" tree/src
	cp "$PICTURES/draw" tree/man/pictures
	printf '%s\n' 'size 300 100' 'text ink 20 40 : one text' 'text ink 30 44 : another' \
		'text ink 280 80 : beyond the edge' >tree/man/pictures/bad.pic
	run -1 tree/man/pictures/draw .
	[[ $output == *"bad.pic: 'another' meets 'one text'"*"'beyond the edge' is cut off"* ]]
}

# bats test_tags=native
@test "each picture is well-formed, has a title, a description and a caption" {
	local picture name
	for picture in "$PICTURES"/*.svg; do
		name=${picture##*/}
		/usr/bin/python3 -c 'import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
for tag in "title", "desc":
    assert root.findtext("{http://www.w3.org/2000/svg}" + tag), tag' "$picture"
		grep -q 'prefers-color-scheme: dark' "$picture"
		grep -qF "| [$name]($name) |" "$PICTURES/captions.md"
	done
}

# bats test_tags=native
@test "each colour in the picture of the bench has another one in the dark" {
	/usr/bin/python3 - "$ROOT/man/bench.svg" <<-'END'
		import re, sys
		with open(sys.argv[1], encoding="utf-8") as file:
		    style, drawn = file.read().split("</style>")
		assert "prefers-color-scheme: dark" in style
		drawn = re.findall(r"\b(fill|color) ?= ?['\"](#[0-9a-f]{6}|rgb.*?)['\"]", drawn) + \
		    re.findall(r"<(?:path|polyline) (stroke)='(rgb.*?)'", drawn)
		assert len(set(drawn)) >= 8
		for name, colour in drawn:
		    assert f'[{name}="{colour}"] {{' in style, (name, colour)
	END
}

# bats test_tags=native
@test "the README and the book show each caption below its picture" {
	/usr/bin/python3 - "$ROOT/README.md" "$ROOT"/man/book/*.md >shown <<-'END'
		import re, sys
		for path in sys.argv[1:]:
		    with open(path, encoding="utf-8") as file:
		        text = file.read()
		    for name, caption in re.findall(
		            r"^!\[[^]]*\]\(\S*pictures/(\S+)\)(?:\\\n\*(.*?)\*$)?", text, re.M | re.S):
		        print(f"| [{name}]({name}) | {' '.join(caption.split())} |")
	END
	grep '^| \[' "$PICTURES/captions.md" | sort >known
	sort -u shown | diff known -
}

# bats test_tags=native
@test "the site shows each picture with its caption, as a link to itself" {
	type lowdown mandoc >/dev/null 2>&1 || skip 'no lowdown or mandoc'
	"$ROOT/packaging/site.sh" site
	grep -ho '!\[.*pictures/[a-z]*\.svg' "$ROOT"/man/book/*.md |
		sed 's|.*/|pictures/|' >known
	/usr/bin/python3 - site/*.html >shown <<-'END'
		import re, sys
		for path in sys.argv[1:]:
		    with open(path, encoding="utf-8") as file:
		        text = file.read()
		    for link, picture in re.findall(
		            r'<figure>\n<a href="(\S+)">\n'
		            r'(?:<img src="\S+-still.svg" class="still" alt="[^"]+" />\n)?'
		            r'<img src="(\S+)" alt="[^"]+" />\n</a>\n<figcaption>[^*]+?</figcaption>\n</figure>\n\n', text):
		        assert link == picture
		        print(picture)
	END
	diff <(sort known) <(sort shown)
	run -1 grep -E 'animation|transform' site/pictures/terminal-still.svg
	grep -qF 'src="pictures/terminal-still.svg"' site/tutorial.html
	# On a narrow screen a row has no other headings.
	grep -qF '<td data-label="remedy">' site/messages.html
	run -1 grep -F '<td>' site/*[a-z].html
}

# bats test_tags=night,native
@test "the recording of a terminal is what a real run shows" {
	"$PICTURES/record" "$RLOCKRUN" terminal.svg
	cmp terminal.svg "$PICTURES/terminal.svg" || {
		echo "record it again: man/pictures/record build/release/rlockrun man/pictures/terminal.svg"
		return 1
	}
}

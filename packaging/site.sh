#!/bin/sh
# Makes static pages of the book (man/book) and of the manual pages:
#
#     packaging/site.sh FOLDER
#
# They refer to each other by relative links, so they work from a web server as from
# a disk. Requires lowdown and mandoc.
set -eu
root=$(dirname "$(realpath "$0")")/..
mkdir -p "$1"
out=$(realpath "$1")
cd "$root/man"
# By section, then by name.
manuals=$(printf '%s\n' *.[157] | sed 's/.*\.\(.\)$/\1 &/' | LC_ALL=C sort | cut -d ' ' -f 2)
# Pictures that move, each followed by a blank.
moving=$(grep -ls '^@media (prefers-reduced-motion' pictures/*.svg | tr '\n' ' ')

# Text that is shown: no "&", "<" or ">" of it is HTML.
escape() {
	sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'
}

# chapters: "FILE TITLE", in the order of the links in index.md.
chapters() {
	sed -n 's/^[-*] \[\(.*\)\](\([a-z-]*\)\.md).*/\2 \1/p' book/index.md
}

# entry FILE TITLE CURRENT: one line of the contents.
entry() {
	if [ "$1" = "$3" ]; then
		here=' aria-current="page"'
	else
		here=
	fi
	printf '<li><a href="%s.html"%s>%s</a></li>\n' "$1" "$here" "$(echo "$2" | escape)"
}

# page FILE TITLE: standard input is its content.
page() {
	cat <<-END
		<!DOCTYPE html>
		<html lang="en">
		<head>
		<meta charset="utf-8">
		<meta name="viewport" content="width=device-width, initial-scale=1">
		<meta name="color-scheme" content="light dark">
		<title>$(echo "$2" | escape)</title>
		<link rel="stylesheet" href="style.css">
		</head>
		<body>
		<header><a href="index.html">rlockrun</a></header>
		<main>
	END
	cat
	echo '</main>'
	echo '<nav aria-label="Contents">'
	echo '<ul>'
	chapters | while read -r file title; do
		entry "$file" "$title" "$1"
	done
	echo '</ul>'
	echo '<p>Manual pages</p>'
	echo '<ul>'
	for manual in $manuals; do
		entry "$manual" "${manual%.*}(${manual##*.})" "$1"
	done
	echo '</ul>'
	echo '</nav>'
	echo '</body>'
	echo '</html>'
}

# figures: a picture and the emphasised lines below it become a figure with a caption.
# The picture is a link to itself: a telephone shows it too small to be read. One that
# moves has a still copy for paper, which would otherwise show a random frame.
figures() {
	awk -v moving=" $moving" '/^<p><img .*<br ?\/>$/ {
			sub(/^<p>/, "")
			sub(/<br ?\/>$/, "")
			match($0, /src="[^"]*"/)
			picture = substr($0, RSTART + 5, RLENGTH - 6)
			print "<figure>"
			print "<a href=\"" picture "\">"
			if (index(moving, " " picture " ")) {
				still = $0
				sub(/\.svg"/, "-still.svg\" class=\"still\"", still)
				print still
			}
			print
			print "</a>"
			inside = 1
			next
		}
		inside {
			sub(/^<em>/, "<figcaption>")
			inside = !sub(/<\/em><\/p>$/, "</figcaption>\n</figure>")
		}
		{ print }'
}

# labels: each cell names its column, for narrow screens that show a row as a paragraph.
labels() {
	awk '/<table>/ { headings = 0 }
		/<tr>/ { column = 0 }
		/<th[ >]/ {
			heading = $0
			gsub(/<[^>]*>/, "", heading)
			name[++headings] = heading
		}
		/<td[ >]/ && ++column <= headings {
			sub(/<td/, "<td data-label=\"" name[column] "\"")
		}
		{ print }'
}

# sessions: commands of a session are told from their output.
sessions() {
	awk '/<pre><code class="language-console">/ { inside = 1 }
		/<\/pre>/ { inside = 0 }
		inside && match($0, /^(<pre><code class="language-console">)?(\$|&#62;) /) {
			start = index($0, "<code") == 6 ? \
				length("<pre><code class=\"language-console\">") : 0
			$0 = substr($0, 1, start) "<b>" substr($0, start + 1) "</b>"
		}
		{ print }'
}

# tree_files: what the chapters refer to in the rest of the tree. The site has copies.
tree_files() {
	grep -oh '](\.\./\.\./[^)#]*' book/*.md | cut -d / -f 3- |
		grep -v '^packaging/examples/' | sort -u
}

# chapter FILE: its text as HTML. Links to files of the tree become links to the
# pages and copies in the site.
chapter() {
	lowdown -t html "book/$1.md" |
		sed -E 's|(href="[a-z-]+)\.md([#"])|\1.html\2|g
			s|href="\.\./(rlockrun[a-z.-]*\.[157])([#"])|href="\1.html\2|g
			s|(src="\|href=")\.\./pictures/|\1pictures/|g
			s|href="\.\./\.\./packaging/examples/|href="examples/|g
			s|href="\.\./\.\./([^"#]*)(#[^"]*)?"|href="tree/\1.txt"|g
			s|href="tree/([^"]*)\.md\.txt"|href="tree/\1.txt"|g
			s|<code>([^ <]{1,28})</code>|<code class="word">\1</code>|g
			s|<table>|<div class="table"><table>|
			s|</table>|</table></div>|' |
		figures | labels | sessions
}

cp book/style.css "$out"
rm -rf "$out/examples" "$out/pictures" "$out/tree"
tree_files | while read -r file; do
	mkdir -p "$out/tree/$(dirname "$file")"
	cp "../$file" "$out/tree/${file%.md}.txt"
done
cp -R ../packaging/examples "$out/examples"
if [ -d pictures ]; then
	mkdir "$out/pictures"
	cp pictures/*.svg "$out/pictures"
	for picture in $moving; do
		sed '/^@media (prefers-reduced-motion/,/^}/d' "$picture" >"$out/${picture%.svg}-still.svg"
	done
fi

for file in index $(chapters | cut -d ' ' -f 1); do
	title=$(sed -n 's/^# //p' "book/$file.md")
	[ "$file" = index ] || title="$title - rlockrun"
	chapter "$file" | page "$file" "$title" >"$out/$file.html"
done

# mandoc links to a page if it finds that file here.
for manual in $manuals; do
	: >>"$out/$manual.html"
done
for manual in $manuals; do
	(cd "$out" && mandoc -T html -O "fragment,toc,man=%N.%S.html;https://manpages.debian.org/%N.%S" \
		"$OLDPWD/$manual") | page "$manual" "${manual%.*}(${manual##*.})" >"$out/new"
	mv "$out/new" "$out/$manual.html"
done

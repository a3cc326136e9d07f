# Puts the scripts together and prints them as C strings, each with its digest.
# EVAL carries the script, so comments, spaces and unused functions are left out,
# and local names are short: a0, a1...
#
#     awk -f embed.awk -v out=FOLDER LIMITS.H SCRIPT.LUA...
#
# Rules for the Lua sources:
#   -- include: NAME   stands for shared/NAME.lua beside this file, also inside a
#                      function. KIND as a name, or the beginning of one, stands for
#                      exclusive and counted, and makes two scripts of one.
#   LIMIT_...          stands for the number of that name in LIMITS.H.
#   A comment has lines of its own, a string has single quotes. A function has
#   its first line and its end on lines of their own, or is one line.
# FOLDER gets each script as it is sent, and FOLDER-named with its own names: for
# the linters.

function fail(text) {
	print "embed.awk: " text >"/dev/stderr"
	exit 1
}

function read_limits(file,  line, word) {
	while ((getline line <file) > 0)
		if (split(line, word) > 2 && word[1] == "#define")
			limit[word[2]] = word[3]
}

function read_lua(file, kind,  line, name, status) {
	while ((status = (getline line <file)) > 0) {
		if (line ~ /^ *-- include: /) {
			name = line
			sub(/^ *-- include: /, "", name)
			sub(/^KIND/, kind, name)
			read_lua("src/lock/script/shared/" name ".lua")
		} else if (line !~ /^ *(--|$)/) {
			lines[++count] = line
		}
	}
	if (status < 0)
		fail("cannot read " file)
	close(file)
}

# Whether any line but those from first to last has the name.
function is_used(name, first, last,  i) {
	for (i = 1; i <= count; i++)
		if ((i < first || i > last) &&
		    lines[i] ~ "(^|[^A-Za-z0-9_.])" name "([^A-Za-z0-9_]|$)")
			return 1
	return 0
}

function drop_unused_functions(  first, last, name, again) {
	for (first = 1; first <= count; first++) {
		if (lines[first] !~ /^local function /)
			continue
		name = lines[first]
		gsub(/^local function |[(].*/, "", name)
		last = first
		if (lines[first] !~ / end$/)
			while (lines[last] != "end" && last < count)
				last++
		if (is_used(name, first, last))
			continue
		for (; first <= last; first++)
			lines[first] = ""
		again = 1
	}
	if (again)
		drop_unused_functions()
}

# Gives short names to those that a line declares after that word.
function shorten(line, word,  list, name, i) {
	while (match(line, word)) {
		line = substr(line, RSTART + RLENGTH)
		match(line, /^[a-z_, ]*/)
		split(substr(line, 1, RLENGTH), list, /[, ]+/)
		for (i = 1; i in list && list[i] !~ /^(in)?$/; i++) {
			name = list[i]
			if (length(name) > 2 && !(name in short) && !(name in fields))
				short[name] = substr("abcdefghijklmnopqrstuvwxyz",
				    1 + int(names / 10), 1) (names++ % 10)
		}
	}
}

# A local name that is a field somewhere, too, stays as it is. A field that no line
# reads may be renamed.
function name_locals(  i, text) {
	delete short
	delete fields
	names = 0
	for (i = 1; i <= count; i++) {
		text = lines[i]
		if (text ~ /(^|[^A-Za-z0-9_])[a-z][0-9]([^A-Za-z0-9_]|$)/)
			fail("a name like those of locals: " text)
		while (match(text, /[.][a-z_]+/)) {
			fields[substr(text, RSTART + 1, RLENGTH - 1)]
			text = substr(text, RSTART + RLENGTH)
		}
	}
	for (i = 1; i <= count; i++) {
		shorten(lines[i], "(^| )local (function )?")
		shorten(lines[i], "function [a-z_]*[(]")
		shorten(lines[i], "function[(]")
		shorten(lines[i], "(^| )for ")
	}
	if (names > 260)
		fail("too many local names")
}

# Strings are left alone.
function renamed(line,  name, result) {
	while (match(line, /\047[^\047]*\047|[A-Za-z_][A-Za-z0-9_]*/)) {
		name = substr(line, RSTART, RLENGTH)
		result = result substr(line, 1, RSTART - 1) \
		    (name in short ? short[name] : name)
		line = substr(line, RSTART + RLENGTH)
	}
	return result line
}

function with_limits(line,  name) {
	while (match(line, /LIMIT_[A-Z_]+/)) {
		name = substr(line, RSTART, RLENGTH)
		if (!(name in limit))
			fail("unknown " name)
		line = substr(line, 1, RSTART - 1) limit[name] substr(line, RSTART + RLENGTH)
	}
	return line
}

# Without indentation, and without spaces that Lua does not need: around signs and
# strings, which stand between single quotes, and behind brackets.
function squeezed(line,  part, count, i, j, text) {
	count = split(line, part, "'")
	for (i = 1; i <= count; i++) {
		if (i % 2 == 1) {
			gsub(/, /, ",", part[i])
			for (j = 1; j <= signs; j++)
				gsub(" " sign[j] " ", as_sent[j], part[i])
			gsub(/\) /, ")", part[i])
			gsub(/\} /, "}", part[i])
			gsub(/\] /, "]", part[i])
			if (i > 1)
				sub(/^ /, "", part[i])
			if (i < count)
				sub(/ $/, "", part[i])
		}
		text = text (i > 1 ? "'" : "") part[i]
	}
	return text
}

function digest_of(file,  command, line) {
	command = "sha1sum <" file
	if ((command | getline line) <= 0)
		fail("cannot run sha1sum")
	close(command)
	return substr(line, 1, 40)
}

function embed(name, file, kind,  i, line, path, named) {
	count = 0
	read_lua(file, kind)
	drop_unused_functions()
	name_locals()
	path = out "/" name ".lua"
	named = out "-named/" name ".lua"
	print "\nconst struct script script_" name " = {"
	for (i = 1; i <= count; i++) {
		line = lines[i]
		sub(/^ */, "", line)
		line = with_limits(line)
		if (line == "")
			continue
		print line >named
		line = squeezed(renamed(line))
		print line >path
		gsub(/[\\"]/, "\\\\&", line)
		print "\t\"" line "\\n\""
	}
	close(path)
	close(named)
	print "\t,\n\t\"" digest_of(path) "\"};"
}

BEGIN {
	signs = split("= < > [+] [*] / % - == ~= <= >= [.][.]", sign, " ")
	split("= < > + * / % - == ~= <= >= ..", as_sent, " ")
	read_limits(ARGV[1])
	print "#include \"admin/script.h\"\n#include \"lock/script.h\""
	for (at = 2; at < ARGC; at++) {
		name = ARGV[at]
		gsub(/.*\/|[.]lua$/, "", name)
		has_kinds = 0
		while ((getline line <ARGV[at]) > 0)
			has_kinds += line ~ /^ *-- include: KIND/
		close(ARGV[at])
		if (has_kinds) {
			embed(name "_exclusive", ARGV[at], "exclusive")
			embed(name "_counted", ARGV[at], "counted")
		} else {
			embed(name, ARGV[at])
		}
	}
}

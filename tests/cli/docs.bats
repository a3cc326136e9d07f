#!/usr/bin/env bats
# The documents agree with the program: the table of options in
# src/options/opts_table.c and the statuses in src/base/exitcode.h with the manual
# pages and the completions; the walks in src/README.md with the functions.
# shellcheck disable=SC2016 # backquotes of Markdown
#
# Options are compared one name a line, with a '=' behind what needs an
# argument. Formats that are looked for:
#   man page  .It Fl x , Fl Fl long Ar ARG   (or Cm this | that)
#             .It Fl Fl long Ns Op = Ns Ar ARG   (it may be left out)
#             Ev NAME in ENVIRONMENT of rlockrun.conf(5), .It 64 in EXIT STATUS

setup() {
	bats_require_minimum_version 1.5.0
	root=$BATS_TEST_DIRNAME/../..
	man=$root/man/rlockrun.1
	table=$BATS_TEST_TMPDIR/table
	"${RLOCKRUN:=$root/build/release/rlockrun}" --dump-options >"$table"
	[[ -s $table ]]
}

# same_as WHAT FILE: standard input, what WHAT says, has the lines of FILE in
# any order; else the difference is shown.
same_as() {
	diff -u --label table --label "$1" <(sort -u "$2") <(sort -u)
}

# The names of all options, '=' for an argument.
names() {
	awk -F'\t' '
	function show(list, dashes, count, part, i) {
		count = split(list, part, ",")
		for (i = 1; i <= count; i++)
			print dashes part[i] ($3 ~ /^[^[]/ ? "=" : "")
	}
	{ show($1, "-"); show($2, "--") }' "$table"
}

# One option a line: "-x --long ARG".
rows() {
	awk -F'\t' '$2 != "" {
		text = ""
		count = split($1, part, ",")
		for (i = 1; i <= count; i++)
			text = text "-" part[i] " "
		count = split($2, part, ",")
		for (i = 1; i <= count; i++)
			text = text "--" part[i] " "
		print text $3
	}' "$table" | sed 's/ $//' >"$table.rows"
	echo "$table.rows"
}

# descriptions: one name a line, and its help text without the default.
descriptions() {
	awk -F'\t' '$2 != "" {
		sub(/ \[[^]]*\]$/, "", $6)
		count = split($1, part, ",")
		for (i = 1; i <= count; i++)
			print "-" part[i] " " $6
		count = split($2, part, ",")
		for (i = 1; i <= count; i++)
			print "--" part[i] " " $6
	}' "$table" >"$table.descriptions"
	echo "$table.descriptions"
}

# The table's variables.
variables() {
	cut -f4 "$table" | grep . >"$table.variables"
	echo "$table.variables"
}

# Exit statuses that are ours.
statuses() {
	sed -n 's/^\tEXITCODE_[A-Z_]* = \([1-9][0-9]*\),.*/\1/p' \
		"$root/src/base/exitcode.h" >"$table.statuses"
	echo "$table.statuses"
}

# section NAME [PAGE]
section() {
	awk -v heading=".Sh $1" '/^\.Sh / { inside = $0 == heading } inside' \
		"$root/man/${2:-rlockrun.1}"
}

@test "man page: options" {
	awk '/^\.It Fl / {
		text = argument = ""
		optional = 0
		for (i = 2; i <= NF; i++) {
			if ($i == "Fl" && $(i + 1) == "Fl") {
				text = text "--" $(i + 2) " "
				i += 2
			} else if ($i == "Fl") {
				text = text "-" $(++i) " "
			} else if ($i == "Op") {
				optional = 1
			} else if ($i !~ /^(,|Ar|Cm|Ns)$/) {
				argument = argument $i
			}
		}
		print text (optional ? "[" argument "]" : argument)
	}' "$man" | sed 's/ $//' | same_as "$man" "$(rows)"
}

@test "man page: environment variables" {
	# What the job gets is no setting.
	section ENVIRONMENT rlockrun.conf.5 | grep -oE 'Ev (RLOCKRUN_[A-Z_]+|REDIS_URL)' |
		sed 's/^Ev //' |
		grep -vxE 'RLOCKRUN_(KEY|TOKEN|FENCE|TTL_MS|HELD)' |
		same_as rlockrun.conf.5 "$(variables)"
}

@test "man page: exit statuses" {
	section 'EXIT STATUS' | grep '^\.It' | grep -oE '[0-9]+' | grep -vx 0 |
		same_as "$man" "$(statuses)"
}

@test "man pages: each option of a list is marked as one" {
	run -1 grep -E '^\.[A-Za-z ]*Fl Fl [a-z-]+ , [a-z]{2}' "$root"/man/*.[157]
	[[ -z $output ]]
}

# tags PAGE SECTION MACRO: the words of that macro in the tags of a section's lists.
tags() {
	awk -v heading="$2" '/^\.S[hs] / { inside = substr($0, 5) == heading } inside' \
		"$root/man/$1" | sed -n "s/^\.It $3 //p" | grep -oE '[A-Za-z_]+'
}

# members FILE...: those of the JSON that these files of src/ print.
members() {
	(cd "$root/src" && cat "$@") |
		grep -oE 'json[a-z_]*\([^(",]*, "[a-z_]+"|\\"[a-z_]+\\":' | grep -oE '[a-z_]{2,}\\?"' |
		tr -d '\\"' | sort -u >"$table.members"
	echo "$table.members"
}

@test "man page: the members of a log line are those of the program" {
	members sink/log_line.c >/dev/null
	sed -n 's/.*\.ms = "\([a-z_]*\)".*/\1/p' "$root/src/run/event.c" >>"$table.members"
	(($(sort -u "$table.members" | wc -l) > 25))
	tags rlockrun-events.7 JSON Li | same_as rlockrun-events.7 "$table.members"
}

@test "man page: the members of --json are those of the program" {
	awk '/^\.S[hs] / { inside = $2 == "JSON" } inside' "$man" "$root/man/rlockrun-locks.7" |
		sed -nE 's/^\.(It Li|Ql) //p' | grep -oE '\b[a-z_]{2,}\b' | grep -vx eu |
		same_as rlockrun-locks.7 "$(members admin/{look,pause,resume}.c)"
	sed -n '/^prints one object on one line:/,/^Later/s/^\.Li //p' "$root/man/rlockrun-operations.7" |
		grep -oE '[a-z]+' |
		same_as rlockrun-operations.7 "$(members doctor/findings.c)"
}

@test "man page: the reasons are those of the program" {
	sed -n 's/^\t\[ENDING_.*("\([a-z_]*\)".*/\1/p' "$root/src/run/event.c" >"$table.reasons"
	(($(wc -l <"$table.reasons") > 30))
	sed -n '/^These are the reasons/,/^\.El/s/^\.Li //p' "$root/man/rlockrun-events.7" |
		grep -oE '[a-z_]+' | same_as rlockrun-events.7 "$table.reasons"
}

@test "man page: the events are those of the program, but for warnings" {
	sed -n 's/^\t\[EVENT_.*ROW("\([a-z_]\{1,\}\)", \([A-Z]*\).*/\1 \2/p' "$root/src/run/event.c" |
		sort -u >"$table.events"
	(($(wc -l <"$table.events") > 50))
	tags rlockrun-events.7 EVENTS Li | sort -u >"$table.said"
	# Each is one of the program; only warnings may be left out.
	cut -d' ' -f1 "$table.events" | comm -23 "$table.said" - | diff /dev/null -
	sed -n '/ WARNING$/!s/ .*//p' "$table.events" | comm -23 - "$table.said" | diff /dev/null -
}

@test "man page: the events and variables of hooks are those of the program" {
	sed -n 's/^ *\[OPTS_HOOK_.*= WORD("\(.*\)"),/\1/p' "$root/src/options/opts_hook.c" >"$table.hooks"
	tags rlockrun-events.7 HOOKS Cm | same_as rlockrun-events.7 "$table.hooks"
	grep -oE 'hook_put[a-z_]*\([^"]*"[A-Z_]+"' <(tr '\n' ' ' <"$root/src/sink/event_hook.c") |
		sed 's/.*"\(.*\)"/RLOCKRUN_\1/' >"$table.hooks"
	(($(wc -l <"$table.hooks") > 8))
	tags rlockrun-events.7 HOOKS Ev | same_as rlockrun-events.7 "$table.hooks"
}

@test "man page: the variables of a job are those of the program" {
	grep -oE '"RLOCKRUN_[A-Z_]+="' "$root/src/job/child.c" | tr -d '"=' >"$table.job"
	section ENVIRONMENT rlockrun.conf.5 | sed -n 's/^\.It Ev \(RLOCKRUN_[A-Z_]*\)$/\1/p' |
		grep -vxFf "$(variables)" | same_as rlockrun.conf.5 "$table.job"
}

# sections PAGE: "PAGE.7 SECTION" of each.
sections() {
	sed -n "s/^\.S[hs] /$1 /p" "$root/man/$1"
}

@test "references to the manual lead to pages and sections" {
	local file
	for file in "$root"/man/*.[157]; do
		sections "${file##*/}"
		echo "${file##*/}"
	done | sort -u >"$table.there"
	for file in "$root"/man/*.[157]; do
		# .Sx SECTION, .Xr PAGE 7, SECTION in<newline>.Xr PAGE 7
		sed -nE "s/^\.(Pq see )?Sx (.*[^ .,:;)]).*/${file##*/} \2/p" "$file"
		tr '\n' ' ' <"$file" | grep -oE '([A-Z]{2,}( [A-Z]+)* in )?\.?Xr rlockrun[a-z.-]* [157]' |
			sed -E 's/^(([A-Z ]*) in )?\.?Xr (.*) ([157])$/\3.\4 \2/; s/ $//'
	done >"$table.named"
	(($(wc -l <"$table.named") > 80))
	# Of a page and its section in parentheses, also over the end of a line of a comment.
	find "$root"/{src,tests,packaging,completions} "$root"/*.md -type f ! -path '*/build/*' \
		-exec sh -c 'for file; do tr "\n" " " <"$file"; done' - {} + |
		sed -E 's/ +[*#] / /g; s/[[:blank:]]+/ /g' |
		grep -aoE '([A-Z]{3,}( [A-Z]+)* (in|of) )?`?rlockrun[a-z.-]*\([157]\)' |
		sed -E 's/^([A-Z ]*) (in|of) `?([^ ]*)\(([157])\)$/\3.\4 \1/; s/^`?([^ ]*)\(([157])\)$/\1.\2/' \
			>>"$table.named"
	sort -u "$table.named" | comm -23 - "$table.there" | diff /dev/null -
}

@test "bash completion: options" {
	# shellcheck source=completions/rlockrun.bash
	source "$root/completions/rlockrun.bash"
	COMP_WORDS=(rlockrun -) COMP_CWORD=1 COMP_LINE='rlockrun -'
	_rlockrun rlockrun
	((${#COMPREPLY[@]}))
	for name in "${COMPREPLY[@]}"; do
		if _rlockrun_argument "$name" ''; then
			printf '%s=\n' "$name"
		else
			printf '%s\n' "$name"
		fi
	done | same_as rlockrun.bash <(names)
}

@test "bash completion: nothing of ours behind the command" {
	# shellcheck source=completions/rlockrun.bash
	source "$root/completions/rlockrun.bash"
	for line in 'ls -' '-k job ls -' '-qt 5 ls --on' '-- ls -' '-kjob ls -'; do
		read -ra COMP_WORDS <<<"rlockrun $line"
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		# shellcheck disable=SC2034 # _rlockrun reads it
		COMP_LINE="rlockrun $line"
		_rlockrun rlockrun || true
		[[ ${#COMPREPLY[@]} == 0 ]]
	done
}

@test "zsh completion: options" {
	# '(excluded)'{-x+,--long=}'[help]...' and '--long=[help]...'
	sed -n "s/^[[:blank:]]*\('([^)]*)'\)\{0,1\}\([^[]*\)\[.*/\2/p" \
		"$root/completions/_rlockrun" | sed 's/=-$//' |
		grep -oE -- '--?[[:alpha:]][[:alpha:]-]*[+=]?' | tr + = |
		same_as _rlockrun <(names)
	# What excludes each other exists, too.
	while read -r name; do
		names | grep -qxE -- "$name=?"
	done < <(grep -oE "^[[:blank:]]*'\([^)]*\)" "$root/completions/_rlockrun" |
		grep -oE -- '--?[[:alpha:]][[:alpha:]-]*')
}

@test "zsh completion: descriptions are those of --help" {
	# {-k+,--key=}'[text]:argument' or '--json[text]', with \: for a colon.
	sed -nE "s/^[[:blank:]]*(['*]*\([^)]*\)'|'\*')?([^[]*)\[([^]]*)\].*/\2 \3/p" \
		"$root/completions/_rlockrun" | sed 's/\\:/:/g' |
		while read -r list text; do
			grep -oE -- '--?[[:alpha:]][[:alpha:]-]*' <<<"$list" |
				sed "s|\$| $text|"
		done | same_as _rlockrun "$(descriptions)"
}

@test "fish completion: options" {
	awk '/^complete .* -[sl] / {
		argument = / -[xr] / ? "=" : ""
		for (i = 1; i < NF && $i !~ /^[\47"]/; i++) {
			if ($i == "-s")
				print "-" $++i argument
			else if ($i == "-l")
				print "--" $++i argument
		}
	}' "$root/completions/rlockrun.fish" | same_as rlockrun.fish <(names)
}

@test "fish completion: descriptions are those of --help" {
	# They begin with a capital letter.
	awk '/^complete .* -d / {
		text = $0
		sub(/.* -d ./, "", text)
		text = tolower(substr(text, 1, 1)) substr(text, 2, length(text) - 2)
		for (i = 1; $i != "-d"; i++) {
			if ($i == "-s")
				print "-" $++i " " text
			else if ($i == "-l")
				print "--" $++i " " text
		}
	}' "$root/completions/rlockrun.fish" |
		same_as rlockrun.fish <(sed -E 's/^(-[^ ]* )(.)/\1\L\2/' "$(descriptions)")
}

@test "fish completion: options are told apart from the command" {
	# x/long= is a short and a long name, a single letter a short one; behind =?
	# an argument may be left out.
	sed -n '/set -l options/,/[^\\]$/p' "$root/completions/rlockrun.fish" |
		sed 's/set -l options//; s/=?//g' | grep -oE '[a-zA-Z/=-]+' |
		sed -E 's/^(.)\/([^=]*)(=?)$/-\1\3\n--\2\3/; t; s/^.=?$/-&/; t; s/^/--/' |
		same_as rlockrun.fish <(names)
}

@test "src/README: the functions of the walks are in the files named beside them" {
	local name file count=0
	while read -r name file; do
		grep -q "^$name(" "$root/src/$file" || {
			echo "src/$file has no function $name"
			return 1
		}
		count=$((count + 1))
	done < <(sed -n 's/^| .\([a-z_]*\). | \[\([a-z_/.]*\)\].*/\1 \2/p' \
		"$root/src/README.md")
	((count > 10))
}

@test "links between the documents lead to files" {
	local page link
	for page in "$root"/*.md "$root"/src/*.md "$root"/src/*/*.md "$root"/tests/*.md; do
		while read -r link; do
			[[ -e $(dirname "$page")/$link ]] || {
				echo "$page: $link does not exist"
				return 1
			}
		done < <(sed 's/](/\n](/g' "$page" | sed -n 's/^](\([^):#]*\)[)#].*/\1/p')
	done
}

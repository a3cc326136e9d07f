#!/usr/bin/env bats
# The documents agree with the program: the table of options in
# src/options/opts_table.c and the statuses in src/base/exitcode.h with the manual
# page, the README and the completions; the walks in src/README.md with the
# functions.
#
# Options are compared one name a line, with a '=' behind what needs an
# argument. Formats that are looked for:
#   man page  .It Fl x , Fl Fl long Ar ARG   (or Cm this | that)
#             .It Fl Fl long Ns Op = Ns Ar ARG   (it may be left out)
#             Ev NAME in ENVIRONMENT, .It 64 in EXIT STATUS
#   README    | `-x`, `--long ARG` | text |, rows | 64 | text | in the section
#             whose heading ends with "xit status"

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

# One section of the man page.
section() {
	awk -v heading=".Sh $1" '/^\.Sh / { inside = $0 == heading } inside' "$man"
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
	section ENVIRONMENT | grep -oE 'Ev (RLOCKRUN_[A-Z_]+|REDIS_URL)' |
		sed 's/^Ev //' |
		grep -vxE 'RLOCKRUN_(KEY|TOKEN|FENCE|TTL_MS|HELD)' |
		same_as "$man" "$(variables)"
}

@test "man page: exit statuses" {
	section 'EXIT STATUS' | grep '^\.It' | grep -oE '[0-9]+' | grep -vx 0 |
		same_as "$man" "$(statuses)"
}

@test "README: options" {
	sed -n 's/\\|/\//g; s/^| *\(`-[^|]*\).*/\1/p' "$root/README.md" |
		sed 's/[`,]//g; s/\[=/ &/; s/ *$//; s/ *\/ */|/g' |
		same_as README.md "$(rows)"
}

@test "README: exit statuses" {
	awk '/^#/ { inside = /xit status$/ } inside' "$root/README.md" |
		sed -n 's/^| *\(`\{0,1\}[0-9][^|]*\)|.*/\1/p' |
		grep -oE '[0-9]+' | grep -vx 0 |
		same_as README.md "$(statuses)"
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

#!/usr/bin/env bats
# The documents agree with the program: the table of options in
# src/options/opts_table.c and the statuses in src/base/exitcode.h with the manual
# pages and the completions; what the program prints with the lists of the manual.
# --dump-options is the table, and what a document says is brought into its form.

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

# One name a line, with '=' if it needs an argument, and its help text without the default.
names() {
	awk -F'\t' '
	function show(list, dashes, count, part, i) {
		count = split(list, part, ",")
		for (i = 1; i <= count; i++)
			print dashes part[i] ($3 ~ /^[^[]/ ? "=" : "") " " $6
	}
	{ sub(/ \[[^]]*\]$/, "", $6); show($1, "-"); show($2, "--") }' "$table"
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

# .It Fl x , Fl Fl long Ar ARG, or Cm this | that; Ns Op = Ns Ar ARG may be left out.
@test "man page: options" {
	sed -nE 's/^\.It (Fl .*)/ \1/p' "$man" |
		sed -E 's/ Ns Op (.*)/ [\1]/; s/ (Ar|Cm|Ns|,)//g; s/ (\||=) ?/\1/g; s/([|=[]) /\1/g
			s/ Fl Fl / --/g; s/ Fl / -/g; s/^ //' | same_as "$man" "$(rows)"
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

# tags PAGE SECTION MACRO: the words of that macro in the tags of a section's lists.
tags() {
	awk -v heading="$2" '/^\.S[hs] / { inside = substr($0, 5) == heading } inside' \
		"$root/man/$1" | sed -n "s/^\.It $3 //p" | grep -oE '[A-Za-z_]+'
}

# members_are PAGE FILE...: standard input has each member of the JSON that these files
# of src/ print by its name, and only words of theirs.
members_are() {
	sort -u >"$table.said"
	(cd "$root/src" && cat "${@:2}") >"$table.source"
	grep -oE 'row_(open|string|text|number|digits|bool|null|seconds)\(&?row, (NULL, |"[A-Z]+", )?"[a-z_]+"' "$table.source" |
		sed 's/.*"\(.*\)"/\1/' | sort -u >"$table.members"
	[[ -s $table.members ]]
	comm -13 "$table.said" "$table.members" | diff --label "$1" --label members /dev/null -
	grep -oE '"[a-z_]+"' "$table.source" | tr -d '"' | sort -u |
		comm -13 - "$table.said" | diff --label program --label "$1" /dev/null -
}

@test "man page: the members of a log line are those of the program" {
	sed -nE 's/^	\{"[a-z]*", "([a-z_]+)",.*/\1/p' "$root/src/sink/event_fields.c" >"$table.members"
	grep -ohE 'row_[a-z]+\(&?row, "[a-z_]+"' "$root"/src/sink/{event_fields,log_line}.c |
		sed 's/.*"\(.*\)"/\1/' >>"$table.members"
	sed -n 's/.*\.ms = "\([a-z_]*\)".*/\1/p' "$root/src/run/event.c" >>"$table.members"
	(($(sort -u "$table.members" | wc -l) > 25))
	tags rlockrun-events.7 JSON Li | same_as rlockrun-events.7 "$table.members"
}

@test "man page: the members of --json are those of the program" {
	awk '/^\.S[hs] / { inside = $2 == "JSON" } inside' "$man" "$root/man/rlockrun-locks.7" |
		sed -nE 's/^\.(It Li|Ql) //p' | grep -oE '\b[a-z_]{2,}\b' | grep -vx eu |
		members_are rlockrun-locks.7 admin/{lock_row,look,pause,force}.c
	sed -n '/^prints one object on one line:/,/^Later/s/^\.Li //p' "$root/man/rlockrun-operations.7" |
		grep -oE '[a-z]+' | members_are rlockrun-operations.7 doctor/findings.c
	sed -n '/^prints one object on one line:/,/^\.Pp/s/^\.Li //p' "$root/man/rlockrun-locks.7" |
		grep -oE '[a-z]+' | members_are rlockrun-locks.7 admin/check.c
	sed -n '/^prints the same as one object on one line:/,/^\.Pp/s/^\.Li //p' "$root/man/rlockrun.conf.5" |
		grep -oE '[a-z]+' | members_are rlockrun.conf.5 options/settings_text.c
}

@test "man page: the reasons are those of the program" {
	sed -n 's/^\t\[ENDING_.*("\([a-z_]*\)".*/\1/p' "$root/src/run/event.c" >"$table.reasons"
	(($(wc -l <"$table.reasons") > 30))
	sed -n '/^The reasons, by/,/^\.El/s/^\.Li //p' "$root/man/rlockrun-events.7" |
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
	sed -nE 's/^	\{"[a-z]*", "[a-z_]*", "([A-Z_]+)",.*/RLOCKRUN_\1/p' "$root/src/sink/event_fields.c" >"$table.hooks"
	(($(wc -l <"$table.hooks") > 8))
	tags rlockrun-events.7 HOOKS Ev | same_as rlockrun-events.7 "$table.hooks"
}

@test "man page: the variables of a job are those of the program" {
	grep -oE '"RLOCKRUN_[A-Z_]+="' "$root/src/job/child.c" | tr -d '"=' >"$table.job"
	section ENVIRONMENT rlockrun.conf.5 | sed -n 's/^\.It Ev \(RLOCKRUN_[A-Z_]*\)$/\1/p' |
		grep -vxFf "$(variables)" | same_as rlockrun.conf.5 "$table.job"
}

@test "bash completion: options" {
	# shellcheck source=completions/rlockrun.bash
	source "$root/completions/rlockrun.bash"
	COMP_WORDS=(rlockrun -) COMP_CWORD=1 COMP_LINE='rlockrun -'
	_rlockrun rlockrun
	((${#COMPREPLY[@]}))
	for name in "${COMPREPLY[@]}"; do
		printf '%s\n' "$name$(! _rlockrun_argument "$name" '' || echo '=')"
	done | same_as rlockrun.bash <(names | cut -d' ' -f1)
}

@test "zsh completion: options and their descriptions" {
	# '(excluded)'{-x+,--long=}'[text]...', with \: for a colon.
	sed -nE "s/^[[:blank:]]*(['*]*\([^)]*\)'|'\*')?([^[]*)\[([^]]*)\].*/\2 \3/p" \
		"$root/completions/_rlockrun" | sed 's/\\:/:/g' |
		while read -r list text; do
			grep -oE -- '--?[[:alpha:]][[:alpha:]-]*[+=]?-?' <<<"$list" |
				sed -E "s/=-$//; s/[+=]$/=/; s|\$| $text|"
		done | same_as _rlockrun <(names)
}

@test "fish completion: options and their descriptions" {
	# These begin with a capital letter.
	awk '/^complete .* -[sl] / {
		text = $0
		sub(/.* -d ./, "", text)
		text = tolower(substr(text, 1, 1)) substr(text, 2, length(text) - 2)
		argument = / -[xr] / ? "=" : ""
		for (i = 1; i < NF && $i !~ /^[\47"]/; i++)
			if ($i ~ /^-[sl]$/)
				print ($i == "-s" ? "-" : "--") $(i + 1) argument " " text
	}' "$root/completions/rlockrun.fish" |
		same_as rlockrun.fish <(names | sed -E 's/^(-[^ ]* )(.)/\1\L\2/')
}

@test "fish completion: options are told apart from the command" {
	# x/long= is a short and a long name, a single letter a short one; behind =?
	# an argument may be left out.
	sed -n '/set -l options/,/[^\\]$/p' "$root/completions/rlockrun.fish" |
		sed 's/set -l options//; s/=?//g' | grep -oE '[a-zA-Z/=-]+' |
		sed -E 's/^(.)\/([^=]*)(=?)$/-\1\3\n--\2\3/; t; s/^.=?$/-&/; t; s/^/--/' |
		same_as rlockrun.fish <(names | cut -d' ' -f1)
}

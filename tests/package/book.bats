#!/usr/bin/env bats
# The book: each console block of a chapter is played and prints what the book says, in
# one session from the beginning to the end of the chapter.
# Chapters that sleep until a job has begun play at night.
# shellcheck disable=SC2016 # backquotes are Markdown's, and a job's shell is to expand
# shellcheck disable=SC2034 # helpers use what is set

load ../helpers/suite
load ../helpers/document
load ../helpers/manual

setup_file() {
	choose_port
	export PORT
	start_suite_server --port "$PORT"
}

teardown_file() { stop_suite_server; }

setup() {
	begin_test
	BOOK=$ROOT/man/book
	RLOCKRUN_REDIS=redis://127.0.0.1:$PORT
	cli flushall
}

teardown() { end_test; }

# bats test_tags=night
@test "the tutorial prints what it says" {
	plays "$BOOK/tutorial.md"
}

@test "cron: the chapter prints what it says" {
	plays "$BOOK/cron.md"
}

@test "messages: the page has words of each message, and no others" {
	run "$HELPERS/messages"
	echo "$output"
	((status == 0))
}

# cited CHAPTER: code that begins like `lock/lease.bats: S5` or `tables/list.txt: globs`,
# or is a scene, `sim/scenes/full-server.txt`.
cited() {
	grep -oE '`([a-z]+/[a-z_]+\.(bats|txt): [^`]+|sim/scenes/[^`]+)`' "$BOOK/$1.md" | tr -d '`'
}

# cites_tests CHAPTER LEAST: at least so many; each is a scene that expects something, or
# the whole name of one test, else the beginning of one name only, up to a punctuation mark
# if several begin like it.
cites_tests() {
	(($(cited "$1" | wc -l) >= $2))
	while IFS= read -r line; do
		name=${line#*: } awk '
			BEGIN { name = ENVIRON["name"] }
			/^expect / && FILENAME ~ /[/]scenes[/]/ { count[1] = 1 }
			sub(/^(@test "|== )/, "") && index($0, name) == 1 {
				next_one = substr($0, length(name) + 1, 1)
				++count[next_one ~ /^"?$/ ? 1 : next_one ~ /[:;,]/ ? 2 : 3]
			}
			END { exit (count[1] ? count[1] : count[2] ? count[2] : count[3]) != 1 }
		' "$ROOT/tests/${line%%: *}" || echo "$line"
	done < <(cited "$1") >missing
	cat missing
	[[ ! -s missing ]]
}

@test "security and promises: the tests that they name exist" {
	cites_tests security 25
	cites_tests promises 25
}

# bats test_tags=night
@test "code: the chapter prints what it says" {
	plays "$BOOK/code.md"
}

# The table's server has no read-only scripts that could be taken away.
sort_words() {
	local name words
	while read -r name words; do
		echo "$name $(tr ' ' '\n' <<<"$words" | grep -vx '.*_ro' | sort | paste -sd ' ')"
	done | sort
}

@test "managed servers: the chapter prints what it says, and its table is that of the tests" {
	plays "$BOOK/managed.md"
	# There a heading has the date, and each provider takes the same commands away.
	awk '/^== .*, [0-9-]+(:|$)/ { name = substr($2, 1, length($2) - 1) }
		name && sub(/^lua s1 self:remove\(./, "") { print name, substr($0, 1, length($0) - 2); name = "" }' \
		"$ROOT/tests/tables/denying.txt" | sort_words >known
	sed -n '/^| service/,/^$/p' "$BOOK/managed.md" | sed '1,2d;/^$/d' |
		sed -E 's/^\| ([^|]*) \| ([^|]*) \| .*/\1|\2/' |
		while IFS='|' read -r name commands; do
			echo "${name// /-} ${commands//\`/}"
		done | sort_words >shown
	diff known shown
}

# bats test_tags=night
@test "CI: the chapter prints what it says" {
	plays "$BOOK/ci.md"
}

@test "coming from others: the chapter prints what it says" {
	plays "$BOOK/coming-from.md"
}

@test "security: the chapter prints what it says" {
	plays "$BOOK/security.md"
}

@test "Kubernetes: the command of the CronJob is one" {
	words=$(/usr/bin/python3 - "$BOOK/kubernetes.md" <<-'END'
		import re, shlex, sys, yaml
		with open(sys.argv[1], encoding="utf-8") as file:
		    block = re.search(r"^```yaml\n(.*?)^```", file.read(), re.S | re.M)[1]
		spec = yaml.safe_load(block)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
		print(shlex.join(spec["containers"][0]["command"]))
	END
	)
	PATH=$(dirname "$RLOCKRUN"):$PATH
	run -0 sh -c "${words/'/opt/report'/echo ran}"
	[[ $output == ran ]]
	run -0 sh -c "${words/'/opt/report'/echo ran}"
	[[ $output != *ran ]]
}

# --- fencing ----------------------------------------------------------------------

# start_database: PostgreSQL on a socket in this test's folder.
start_database() {
	local postgresql=$ROOT/build/postgresql as=()
	[[ -x $postgresql/bin/postgres ]] || skip "no PostgreSQL: \`make check\` fetches it"
	PATH=$postgresql/bin:$PATH
	# Only packages that are unpacked there have libraries.
	[[ ! -e $postgresql/lib ]] || export LD_LIBRARY_PATH=$postgresql/lib
	# It refuses to run as root, and another user may not enter the folders above.
	# access(2) ignores the capability unless the fixup is off.
	((EUID)) || as=(setpriv --reuid=65534 --regid=65534 --clear-groups
		--inh-caps=+dac_override --ambient-caps=+dac_override --securebits=+no_setuid_fixup)
	export PGHOST=$PWD/database PGDATABASE=postgres PGUSER=postgres
	mkdir database
	"${as[@]}" initdb -D "$PGHOST/data" -U postgres -A trust -N --no-locale -E UTF8 >log 2>&1 || {
		cat log
		return 1
	}
	"${as[@]}" postgres -D "$PGHOST/data" -k "$PGHOST" -c listen_addresses= -c fsync=off \
		>>log 2>&1 3>&- &
	STARTED+=("$!")
	wait_until psql -qc 'SELECT 1' || {
		cat log
		return 1
	}
}

# bats test_tags=night
@test "code: a late writer is refused by PostgreSQL" {
	start_database
	awk '/^```sql$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$BOOK/code.md" |
		psql -q -v ON_ERROR_STOP=1
	PATH=$(dirname "$RLOCKRUN"):$PATH
	write=$(grep '^rlockrun -k report -c .psql' "$BOOK/code.md")
	run -0 bash -c "$write"
	[[ $(psql -Atc 'SELECT total FROM report') == 42 ]]
	# This one comes after the next holder has written.
	run -0 rlockrun -k report -c 'echo "$RLOCKRUN_FENCE"'
	late=$output
	run -0 bash -c "${write/42/43}"
	run -1 env RLOCKRUN_FENCE="$late" sh -c \
		'psql -q -v ON_ERROR_STOP=1 -c "SELECT set_total(44, $RLOCKRUN_FENCE)"'
	[[ $output == *"a newer holder has written; fence $late is too old"* ]]
	[[ $(psql -Atc 'SELECT total FROM report') == 43 ]]
	# So does the example of the manual page.
	write=$(literal_text rlockrun.1 EXAMPLES 3)
	[[ $write == *'fence <= $RLOCKRUN_FENCE'* ]]
	run -0 bash -c "$write"
	[[ $(psql -Atc 'SELECT total FROM report') == 42 ]]
	write=${write#*"'"}
	run -1 env RLOCKRUN_FENCE="$late" sh -c "${write%"'"*}"
	[[ $output == *'division by zero'* ]]
	[[ $(psql -Atc 'SELECT total FROM report') == 42 ]]
}

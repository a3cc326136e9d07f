# Counts and shows the TAP of one program after the other, for tests/run.
# shellcheck shell=bash

passed=0 failed=0 skipped=0 elsewhere=0
asserted=0 # of the passed, those of unit tests

[[ -t 1 ]] && erase=$'\r\e[K' || erase=
say() { printf '%s%s\n' "$erase" "$1"; }
progress() { [[ -z $erase ]] || printf '\r%d passed, %d failed' "$passed" "$failed"; }
fail() {
	failed=$((failed + 1))
	say "$1"
}

# count NAME STATUS FILE: the TAP that a program left there.
count() {
	local name=$1 rc=$2 line plan='' seen=0 bad=0 loud=0
	while IFS= read -r line; do
		case $line in
		'not ok'*)
			seen=$((seen + 1)) bad=1 loud=1
			fail "$name: $line"
			;;
		'ok '*'# skip not here: '*)
			seen=$((seen + 1)) loud=0 elsewhere=$((elsewhere + 1))
			;;
		'ok '*'# '[sS][kK][iI][pP]*)
			seen=$((seen + 1)) loud=0
			if [[ ${STRICT:-} ]]; then
				fail "$name: $line"
			else
				skipped=$((skipped + 1))
			fi
			;;
		'ok'*)
			seen=$((seen + 1)) loud=0 passed=$((passed + 1))
			[[ $name == *.bats* ]] || asserted=$((asserted + 1))
			;;
		1..*) plan=${line#1..} plan=${plan%% *} ;;
		*) ((loud)) && say "$line" ;;
		esac
	done <"$3"
	if [[ $plan != "$seen" ]]; then
		fail "$name: ${plan:-no} tests planned, $seen seen, exit status $rc"
		((bad)) || tail -n 20 "$3"
	elif ((rc && !bad)); then
		fail "$name: exit status $rc although all tests passed"
	fi
	progress
}

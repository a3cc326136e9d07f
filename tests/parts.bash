# Plays parts, one after the other: those of a change and of the night (tests/parts),
# and of `make check-matrix`, `make check-machines` and `make check-packages`.
#
# A part is a command; what it prints is in its log, and its totals are the sum of the
# lines `N passed, N failed`. Without such a line it counts as one. A part that can't
# run here says why and exits with 77: it is skipped, which is a failure only with
# STRICT=1, and none if it says `not here`. A failed part does not keep the others from
# running. A line `with: ...` says what it ran with.
# shellcheck shell=bash

# What another make was told isn't meant for those of the parts.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
passed=0 failed=0 skipped=0

# All processes and mounts of a part end with it, however it ends.
jail=(unshare --mount --pid --fork --kill-child --mount-proc)
"${jail[@]}" true 2>/dev/null || jail=()

# Not in the foreground, where Ctrl-C would have to wait for it.
job=
trap '[[ -z $job ]] || kill "$job" 2>/dev/null; wait; exit 130' INT TERM

# run_part NAME LOG SECONDS COMMAND...: also sets PART, the three totals of this one.
run_part() {
	local name=$1 log=$2 limit=$3 start=$SECONDS rc with at user system TIMEFORMAT='%0U %0S'
	shift 3
	echo "== $name"
	JAILED=${jail[*]:+yes} timeout -k 2 "$limit" "${jail[@]}" "$@" >"$log" 2>&1 </dev/null &
	job=$!
	{
		time wait "$job"
		rc=$?
	} 2>"$log.time"
	job=
	read -r user system < <(tail -n 1 "$log.time")
	count_part "$log" "$rc"
	# Indented, so that no total in there counts twice.
	((PART[1] == 0)) || tail -n 150 "$log" | sed 's/^/    /'
	((rc != 124 && rc != 137)) || echo "== $name: out of time"
	with=$(sed -n 's/^with: //p' "$log" | paste -sd ' ')
	at=$(git log -1 --format=', at %h, %cs' 2>/dev/null)
	((rc != 77)) || with="skipped: $(tail -n 1 "$log")"
	echo "== $name: ${with:+$with: }$(say_totals "${PART[@]}")$at, $((SECONDS - start)) s, CPU $((user + system)) s"
	add_totals "${PART[@]}"
}

# count_part LOG STATUS
count_part() {
	read -ra PART < <(awk '/^[0-9]+ passed, [0-9]+ failed(, .*)?$/ {
			seen = 1
			passed += $1
			failed += $3
			if (match($0, /[0-9]+ skipped/))
				skipped += substr($0, RSTART)
		}
		END { if (seen) print passed, failed, skipped + 0 }' "$1")
	if (($2 == 77)); then
		PART=(0 0 1)
		[[ ! ${STRICT:-} ]] || PART=(0 1 0)
		[[ $(tail -n 1 "$1") != 'not here: '* ]] || PART=(0 0 0)
	elif ((${#PART[@]} == 0)); then
		PART=($(($2 == 0)) $(($2 != 0)) 0)
	elif (($2 && PART[1] == 0)); then
		PART[1]=1 # a failure that the totals don't show is one nevertheless
	fi
}

# add_totals PASSED FAILED SKIPPED
add_totals() {
	passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# say_totals PASSED FAILED SKIPPED
say_totals() {
	echo "$1 passed, $2 failed$( (($3)) && echo ", $3 skipped")"
}

# end_parts: the total, with ABOUT if there is more to say, and its status.
end_parts() {
	echo "$(say_totals "$passed" "$failed" "$skipped")${ABOUT:+, $ABOUT}"
	exit $((failed > 0))
}

# Runs parts, one after the other, for `make check-matrix`, `make check-machines` and
# `make check-packages`.
# A part is a script; what it prints is in its log, all that it makes beside it.
#
# A part that can't run here says why and exits with 77: skipped, which is no failure
# but with STRICT=1, unless it says `not here`. A failed part doesn't keep the others
# from running. A line `with: ...` says what it ran with.
# shellcheck shell=bash

# What another make was told isn't meant for those of the parts.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
status=0 passed=0 failed=0
at=$(git log -1 --format='at %h, %cs' 2>/dev/null) || at=

# All processes and mounts of a part end with it, however it ends.
jail=(unshare --mount --pid --fork --kill-child --mount-proc)
"${jail[@]}" true 2>/dev/null || jail=()

# Not in the foreground, where Ctrl-C would have to wait for it.
job=
trap '[[ -z $job ]] || kill "$job" 2>/dev/null; wait; exit 130' INT TERM

# run_part NAME LOG SECONDS SCRIPT [ARGUMENT...]
run_part() {
	local name=$1 log=$2 limit=$3 start=$SECONDS rc totals with
	shift 3
	echo "== $name"
	JAILED=${jail[*]:+yes} timeout -k 2 "$limit" "${jail[@]}" "$@" >"$log" 2>&1 </dev/null &
	job=$!
	wait "$job"
	rc=$?
	job=
	if ((rc == 77)); then
		echo "== $name: skipped: $(tail -n 1 "$log")"
		[[ ! ${STRICT:-} || $(tail -n 1 "$log") == 'not here: '* ]] || status=1
		return
	fi
	with=$(sed -n 's/^with: //p' "$log" | paste -sd ' ')
	totals=$(grep -Ex '[0-9]+ passed, [0-9]+ failed(, .*)?' "$log" | tail -n 1)
	if [[ $totals =~ ^([0-9]+)\ passed,\ ([0-9]+) ]]; then
		passed=$((passed + BASH_REMATCH[1]))
		failed=$((failed + BASH_REMATCH[2]))
	fi
	if ((rc)); then
		status=1
		tail -n 150 "$log"
		((rc == 124 || rc == 137)) && echo "== $name: out of time"
	fi
	echo "== $name: ${with:+$with: }${totals:-exit status $rc}${at:+, $at}, $((SECONDS - start)) s"
}

# end_parts: the total, and its status.
end_parts() {
	echo "$passed passed, $failed failed"
	exit $status
}

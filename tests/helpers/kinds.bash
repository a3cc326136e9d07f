# What suites about readers, permits and locks that are kept share: a job whose turns
# are logged. Q, L and I are names of the lock's keys.
# shellcheck shell=bash disable=SC2034 # suites use what is set

begin_kinds_test() {
	begin_test
	write_logged_turn
	Q="{$KEY}:rlk:q"
	L="{$KEY}:rlk:l"
	I="{$KEY}:rlk:i"
	export RLOCKRUN
}

# turn NAME: notes in `log` that it starts and that it ends, and when it started;
# ends as soon as go.NAME is there, or `go`.
write_logged_turn() {
	cat >turn <<-END
		exec "$A_JOB" "log+=+ \$1" fences+=%{RLOCKRUN_FENCE} "\$1.started=%t" "until:go.\$1,go" "log+=- \$1"
	END
}

has_started() {
	local name
	for name in "$@"; do
		[[ -s $name.started ]] || return 1
	done
}
members() {
	ask zcard "$KEY" && [[ $REPLY == "$1" ]]
}
live_members() {
	(($(cli zcount "$KEY" "$(server_ms)" +inf) == $1))
}
# In which order turns began.
order() {
	sed -n 's/^+ //p' log | paste -sd ' '
}
# together LOG: the most that were in a turn at once, by the first letter of their
# names; the other letters never at the same time.
together() {
	awk '{ letter = substr($2, 1, 1) }
		$1 == "+" && !($2 in inside) { inside[$2]; n[letter]++ }
		$1 == "-" && ($2 in inside) { delete inside[$2]; n[letter]-- }
		{
			kinds = 0
			for (one in n) {
				kinds += n[one] > 0
				if (n[one] > most[one]) most[one] = n[one]
			}
			if (kinds > 1) print "together: line " NR
		}
		END { for (one in most) print one, most[one] }' "$1" | sort
}

has_lines() {
	(($(wc -l <"$1") >= $2))
}

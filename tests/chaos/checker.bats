# The checker of chaos: each violation that is planted into a history is found, the
# same history without it is clean, and what CAVEATS explains is excused.
# guards: tests/chaos
# bats file_tags=native

bats_require_minimum_version 1.5.0
shopt -s extglob

# Each check needs Python to compile all of it, unless somebody has done that.
setup_file() {
	export CHAOS=$BATS_FILE_TMPDIR
	cp "$BATS_TEST_DIRNAME"/{*.py,tale} "$CHAOS"
	/usr/bin/python3 -SBm compileall -q "$CHAOS"
}

# is_clean TOPOLOGY STATEMENT...: a history without findings. All statements are those
# of `tale`.
is_clean() {
	check "$@"
	[[ $status == 0 && $output == *'findings: none; excused: none' ]] || explain
}

# finds KIND[,KIND] TOPOLOGY STATEMENT...: findings of these kinds, and no others.
finds() {
	check "${@:2}"
	local kinds=${lines[-1]#findings: }
	kinds=${kinds%; excused: *}
	kinds=${kinds// x +([0-9])/}
	[[ $status == 1 && $kinds == @("${1/,/, }"|"${1#*,}, ${1%,*}") ]] || explain
}

# excuses REASON TOPOLOGY STATEMENT...: all findings are excused, at least one so.
excuses() {
	check "${@:2}"
	[[ $status == 0 && ${lines[-1]} == *'findings: none; excused: '*"$1"* ]] || explain
}

check() {
	"$CHAOS/tale" "$@" >"$BATS_TEST_TMPDIR/history" || return
	run "$CHAOS/check.py" "$BATS_TEST_TMPDIR/history"
}

# says TEXT: the last check has printed it.
says() {
	[[ $output == *"$1"* ]] || explain
}

explain() {
	echo "status $status: $output"
	return 1
}

# --- one at a time ----------------------------------------------------------

@test "an overlap by stamps is found" {
	is_clean one 'job(1, 1000, 2000)' 'job(2, 2000, 3000)'
	is_clean one 'job(1, 1000, 2000)' 'job(2, 1500, 3000, keys=["b"])'
	is_clean one 'job(1, 1000, 2000, mode="shared")' 'job(2, 1500, 3000, mode="shared")'
	finds overlap,status one 'job(1, 1000, 2000)' 'job(2, 1990, 3000)'
	says 'overlap at 1.990 s: jobs of "a" ran at the same time: exclusive since 1.000 s, exclusive since 1.990 s, for 10.0 ms (runs 1, 2)'
	finds overlap one 'job(1, 1000, 2000, mode="shared")' \
		'job(2, 1500, 3000, mode="permits", permits=2)'
	finds overlap redlock3 'job(1, 1000, 2000, keys=["a", "b"])' 'job(2, 1500, 3000, keys=["b", "c"])'
}

@test "an overlap that the later job saw is found" {
	# A stopped process does not stamp.
	local first='job(1, 1000, 2000, True, 79, mode="%s", ended=2900)'
	local struck='fault("job", "stop", 2000, 2800, run=1)'
	is_clean one "${first/\%s/exclusive}" "$struck" 'job(2, 2100, 3000)'
	finds overlap one "${first/\%s/exclusive}" "$struck" 'job(2, 2100, 3000, saw=[1])'
	is_clean one "${first/\%s/shared}" "$struck" 'job(2, 2100, 3000, saw=[1], mode="shared")'
}

@test "processes belong to the job until its command ends by itself" {
	is_clean one 'job(1, 1000, 2000)' 'child(1, 1100, 2500)' 'job(2, 2100, 3000)'
	finds overlap one 'job(1, 1000, 2000, wait_all=True, ended=2600)' \
		'child(1, 1100, 2500)' 'job(2, 2100, 3000)'
	finds overlap one 'job(1, 1000, 2000, True, -15, ended=2500)' 'child(1, 1100, 2500)' \
		'fault("wrapper", "term", 1900, run=1)' 'job(2, 2100, 3000)'
	is_clean one 'job(1, 1000, 2000, True, -9)' 'child(1, 1100, 2500)' \
		'fault("job", "kill", 2000, run=1)' 'job(2, 2100, 3000, saw=[1])'
}

@test "nested runs belong to the outer one" {
	is_clean one 'job(1, 1000, 2000)' 'job(2, 1200, 1800, token="token-1", outer=1)'
	finds overlap one 'job(1, 1000, 1500)' 'job(2, 1200, 1800, token="token-1", outer=1)' \
		'job(3, 1700, 2500)'
}

@test "too many holders of permits are found" {
	local two=('job(1, 1000, 2000, mode="permits", permits=2)'
		'job(2, 1100, 2000, mode="permits", permits=2)')
	is_clean one "${two[@]}"
	is_clean one "${two[@]}" 'job(3, 2000, 2500, mode="permits", permits=2)'
	finds permits one "${two[@]}" 'job(3, 1900, 2500, mode="permits", permits=2)'
	says 'the job is one of 3 of "a", with 2 permits'
	local lost='fault("wrapper", "stop", 1200, 2100, run=1)' unguarded='fault("guard", "stop", 1200, 2100, run=1)'
	excuses 'at the same time' one "${two[@]}" 'job(3, 1900, 2500, mode="permits", permits=2)' "$lost" "$unguarded"
	finds permits one "${two[@]}" 'job(3, 1900, 2500, mode="permits", permits=2)' \
		'job(4, 1950, 2500, mode="permits", permits=2)' "$lost" "$unguarded"
}

@test "a job without a lock is found, but not with --on-unavailable run" {
	finds unlocked one 'job(1, 1000, 2000, token=None)'
	finds unlocked one 'job(1, 1000, 2000, token=None, on_unavailable="run")'
	is_clean one 'job(1, 4000, 5000, begun=900, token=None, on_unavailable="run")' \
		'fault("server", "stop", 800, 4500)'
	excuses 'without the lock' one 'fault("server", "stop", 800, 4500)' 'job(2, 3900, 4800)' \
		'job(1, 4000, 5000, begun=900, token=None, on_unavailable="run")'
}

@test "a job that lives in a pause is found" {
	is_clean one 'job(1, 1000, 2000)' 'paused(2000, 3000)' 'job(2, 3000, 4000)'
	is_clean one 'paused(1000, 3000)' 'job(1, 1500, 2000, keys=["b"])'
	finds pause one 'paused(1000, 3000)' 'job(1, 2900, 3500)'
	says 'the job lived 100 ms in the pause of "a" since 1.000 s'
	finds pause one 'job(1, 1000, 2500)' 'paused(2000, 3000)'
	finds pause one 'paused(1000, 3000)' 'job(1, 1500, 2000)' 'fault("lock", "shorten", 1200, key="b")'
	finds pause cluster 'paused(1000, 3000)' 'job(1, 1500, 2000)'
	excuses 'lost the pause' one 'paused(1000, 3000)' 'job(1, 1500, 2000)' \
		'fault("server", "flush", 1200)'
	excuses 'a failover' sentinel 'record("owner", 500, key="a", node="s0")' 'paused(1000, 3000)' \
		'record("owner", 1200, key="a", node="s1")' 'job(1, 1500, 2000)'
}

# --- excuses of an overlap --------------------------------------------------

@test "an overlap is excused by a server that lost the lock" {
	local jobs=('job(1, 1000, 2400, True, 79)' 'job(2, 2000, 3000)')
	finds overlap,status one "${jobs[@]}"
	local fault
	for fault in 'fault("server", "kill", 1500, 1600)' 'fault("server", "flush", 1500)' \
		'fault("lock", "shorten", 1500, key="a")'; do
		excuses 'overlap (' one "${jobs[@]}" "$fault"
		excuses 'overlap (' tls "${jobs[@]}" "$fault"
	done
	# It keeps what it had, the key is another, it was before or after.
	finds overlap one "${jobs[@]}" 'fault("server", "stop", 1500, 1900)'
	finds overlap one "${jobs[@]}" 'fault("lock", "shorten", 1500, key="b")'
	finds overlap,status one 'job(1, 4000, 5400, True, 79)' 'job(2, 5000, 6000)' \
		'fault("server", "flush", 1500)'
	finds overlap one "${jobs[@]}" 'fault("server", "flush", 2300)'
}

@test "a lost lock excuses no longer than its holder may believe in it" {
	# The next renewal reports the loss, unless it cannot pass.
	excuses flushed one 'job(1, 1000, 4000, True, 79, ttl_ms=4000)' 'job(2, 2000, 4500)' \
		'fault("server", "flush", 1600)'
	finds overlap one 'job(1, 1000, 5500, True, 79, ttl_ms=4000)' 'job(2, 2000, 6000)' \
		'fault("server", "flush", 1600)'
	excuses flushed one 'job(1, 1000, 5500, True, 79, ttl_ms=4000)' 'job(2, 2000, 6000)' \
		'fault("server", "flush", 1600)' 'fault("wrapper", "stop", 1700, 5400, run=1)'
	finds overlap one 'job(1, 1000, 5700, True, 79, ttl_ms=4000)' 'job(2, 2000, 6000)' \
		'fault("server", "flush", 1600)' 'fault("wrapper", "stop", 1700, 5400, run=1)'
}

@test "an overlap is excused by a failover, but not with --wait-replicas" {
	local one two topology fault
	one='job(1, 1000, 2400, True, 79, wait_replicas=%d)'
	two='job(2, 2000, 3000, wait_replicas=%d)'
	for topology in sentinel cluster; do
		for fault in 'fault("server", "failover", 1500)' 'fault("server", "stop", 800, 2100)' \
			'fault("server", "kill", 1500, 9000)'; do
			# shellcheck disable=SC2059 # the formats are those above
			excuses 'without --wait-replicas' $topology "$(printf "$one" 0)" \
				"$(printf "$two" 2)" "$fault"
			# shellcheck disable=SC2059
			finds overlap $topology "$(printf "$one" 2)" "$(printf "$two" 2)" "$fault"
		done
		finds overlap $topology "${one/\%d/0}" "${two/\%d/0}" 'fault("server", "stop", 1500, 1600)'
	done
	excuses 'restarted empty' sentinel "${one/\%d/2}" "${two/\%d/2}" 'fault("server", "kill", 1500, 1900)'
	excuses 'need not have' sentinel "${one/\%d/1}" "${two/\%d/1}" 'fault("server", "failover", 1500)'
	finds overlap cluster "${one/\%d/1}" "${two/\%d/1}" 'fault("server", "failover", 1500)'
}

@test "a failover that nobody asked for is an excuse if it was seen" {
	local jobs=('job(1, 1000, 2400, True, 79)' 'job(2, 2000, 3000)'
		'fault("sentinel", "stop", 300, 900, node="q0")')
	finds overlap sentinel "${jobs[@]}"
	excuses 'without --wait-replicas' sentinel "${jobs[@]}" \
		'record("owner", 100, key="a", node="s0")' 'record("owner", 1900, key="a", node="s1")'
	finds overlap cluster 'job(1, 1000, 2400, True, 79, wait_replicas=1)' \
		'job(2, 2000, 3000, wait_replicas=1)' 'fault("sentinel", "stop", 300, 900, node="q0")' \
		'record("owner", 100, key="a", node="s0")' 'record("owner", 1900, key="a", node="s1")'
	finds overlap sentinel "${jobs[@]}" 'seen(1000, "token-1")' 'seen(2200, "token-2")'
	# The next primary may be one that came long after, and in between nobody is named.
	local first='record("owner", 100, key="a", node="s0")' none='record("owner", 1900, key="a", node=None)'
	excuses 'without --wait-replicas' sentinel "${jobs[@]}" \
		"$first" "$none" 'record("owner", 5000, key="a", node="s1")'
	finds overlap sentinel "${jobs[@]}" "$first" "$none" 'record("owner", 5000, key="a", node="s0")'
}

@test "a failover excuses only what was on the node that was struck" {
	local jobs=('job(1, 1000, 2400, True, 79)' 'job(2, 2000, 3000)'
		'fault("server", "stop", 1100, 1900, node="s2")')
	excuses 'without --wait-replicas' sentinel "${jobs[@]}"
	finds overlap sentinel "${jobs[@]}" 'seen(1000, "token-1")' 'seen(2200, "token-2")'
	local late=('job(1, 5000, 6400, True, 79)' 'job(2, 6000, 7000)' 'record("owner", 0, key="a", node="s0")')
	local fault
	for fault in '"stop", 4800, 5900' '"flush", 5500' '"failover", 5500'; do
		finds overlap cluster "${late[@]}" "fault('server', $fault, node='s2')"
		excuses '' cluster "${late[@]}" "fault('server', $fault)"
		excuses '' cluster "${late[@]}" "fault('server', $fault, node='s2')" 'record("owner", 4000, key="a", node=None)'
		excuses '' cluster "${late[@]}" "fault('server', $fault, node='s2')" 'record("owner", 6800, key="a", node="s2")'
	done
}

@test "several servers: a minority excuses nothing, a majority does" {
	local jobs=('job(1, 1000, 2400, True, 79)' 'job(2, 2000, 3000)')
	finds overlap redlock3 "${jobs[@]}" 'fault("server", "kill", 1500, 1600)'
	excuses 'a majority restarted empty' redlock3 "${jobs[@]}" \
		'fault("server", "kill", 1500, 1600)' 'fault("server", "kill", 1700, 1800, node="s1")'
	finds overlap redlock5 "${jobs[@]}" \
		'fault("server", "kill", 1500, 1600)' 'fault("server", "kill", 1700, 1800, node="s1")'
	# A server that loses data without a restart does not abstain.
	finds overlap redlock3 "${jobs[@]}" 'fault("server", "flush", 1500)'
	excuses 'too few' redlock3 "${jobs[@]}" 'fault("server", "flush", 1500)' \
		'seen(1000, "token-1")' 'seen(1000, "token-1", node="s1")'
	excuses 'too few' redlock3 "${jobs[0]}" 'fault("server", "kill", 1500, 1600)' \
		'job(2, 2000, 3000, options=["--min-uptime", "0"])' \
		'seen(1000, "token-1")' 'seen(1000, "token-1", node="s1")'
}

@test "an overlap is excused by --on-lost warn, and by a job that nobody could guard" {
	local two='job(2, 2000, 3000)'
	finds overlap,status one 'job(1, 1000, 2400, True, 79, on_lost="warn")' "$two"
	excuses 'on-lost warn' one 'job(1, 1000, 9000, status=79, on_lost="warn")' \
		'job(2, 3000, 4000)' 'fault("server", "stop", 1100, 3000)'
	finds overlap,status one 'job(1, 1000, 2400, on_lost="warn")' "$two" 'fault("server", "stop", 1100, 1500)'
	finds overlap one 'job(1, 1000, 2400, status=79, on_lost="warn")' "$two" 'fault("job", "stop", 1100, 1500, run=1)'
	excuses 'on-lost warn' one 'job(1, 1000, 2400, status=79, on_lost="warn")' "$two" 'fault("wrapper", "stop", 1100, 1500, run=1)'
	excuses 'at the same time' one 'job(1, 1000, 6000, True, 79)' 'job(2, 4000, 6500)' \
		'fault("wrapper", "stop", 1100, 5900, run=1)' 'fault("guard", "stop", 1200, 5800, run=1)'
	finds lease,overlap one 'job(1, 1000, 6000, True, 79)' 'job(2, 4000, 6500)' \
		'seen(1000, "token-1")' 'seen(3200)' 'fault("wrapper", "stop", 1100, 5900, run=1)'
	# Its job does not stamp, as it was stopped before them.
	local stopped=('job(1, 1000, 1100, True, 79, ended=5000)' 'job(2, 4000, 6500, saw=[1])'
		'fault("job", "trace", 1100, 4800, run=1)' 'fault("wrapper", "stop", 1300, 4800, run=1)')
	finds overlap one "${stopped[@]}"
	excuses 'at the same time' one "${stopped[@]}" 'fault("guard", "stop", 1300, 4800, run=1)'
	finds overlap one "${stopped[@]}" 'fault("guard", "stop", 1300, 2900, run=1)'
}

@test "an overlap is excused by a machine that stood still, for a second" {
	local two='job(2, 4500, 5000)'
	finds overlap,status one 'job(1, 1000, 4800, True, 79)' "$two"
	excuses 'stood still' one 'job(1, 1000, 4800, True, 79)' "$two" 'standstill(2000, 4490)'
	finds overlap,status one 'job(1, 1000, 4800, True, 79)' "$two" 'standstill(2000, 3400)'
	finds overlap one 'job(1, 1000, 5600, True, 79)' 'job(2, 4500, 6000)' 'standstill(2000, 4490)'
	excuses 'stood still' one 'job(1, 1000, 2000, True, 79, ended=5000)' \
		'job(2, 4500, 6500, saw=[1])' 'standstill(2000, 4490)'
}

# --- the lease --------------------------------------------------------------

@test "a job that outlives its lease is found while its server is unreachable" {
	local job='job(1, 1000, %d, True, 79)'
	local fault
	for fault in 'fault("server", "stop", 1500, 9000)' 'fault("link", "stall", 1500, 9000)' \
		'fault("host", "cut", 1500, 9000, host=1)'; do
		is_clean one "${job/\%d/3500}" "$fault"
		finds lease one "${job/\%d/3510}" "$fault"
	done
	is_clean one "${job/\%d/4000}" 'fault("host", "cut", 1500, 9000, host=2)'
	is_clean one "${job/\%d/4000}" 'fault("server", "stop", 1500, 3000)'
	is_clean sentinel "${job/\%d/4000}" 'fault("server", "stop", 1500, 9000)'
	excuses 'stood still' one "${job/\%d/4000}" 'fault("server", "stop", 1500, 9000)' \
		'standstill(2000, 3700)'
	finds lease one "${job/\%d/4000}" 'fault("server", "stop", 1500, 9000)' \
		'standstill(2000, 2900)'
	finds lease one "${job/\%d/4000}" 'fault("server", "stop", 1500, 3000)' \
		'fault("link", "stall", 2900, 9000)'
	excuses 'on-lost warn' one 'job(1, 1000, 9000, status=79, on_lost="warn")' \
		'fault("server", "stop", 1500, 8000)'
}

@test "several servers: only an unreachable majority ends a lease" {
	local job='job(1, 1000, 4000, True, 79)'
	is_clean redlock3 "$job" 'fault("server", "stop", 1500, 9000)'
	finds lease redlock3 "$job" 'fault("server", "stop", 1500, 9000)' \
		'fault("link", "stall", 1600, 9000, node="s2")'
	is_clean redlock5 "$job" 'fault("server", "stop", 1500, 9000)' \
		'fault("link", "stall", 1600, 9000, node="s2")'
}

@test "a job that outlives its token by more than a ttl is found" {
	local saw='seen(990, "token-1")' struck='fault("wrapper", "stop", 1500, 3900, run=1)'
	is_clean one 'job(1, 1000, 3500, True, 79)' "$saw" 'seen(1600)' "$struck"
	finds lease one 'job(1, 1000, 3700, True, 79)' "$saw" 'seen(1600)' "$struck"
	says 'its token was gone since 1.600 s'
	finds lease one 'job(1, 1000, 3700, True, 79)' "$saw" 'seen(1600, "token-2")' "$struck"
	is_clean redlock3 'job(1, 1000, 3700, True, 79)' "$saw" 'seen(990, "token-1", node="s1")' \
		'seen(1100, "token-1", node="s2")' 'seen(1600)' "$struck"
	finds lease redlock3 'job(1, 1000, 3700, True, 79)' "$saw" \
		'seen(990, "token-1", node="s1")' 'seen(1600)' "$struck"
}

# --- orphans and hangs ------------------------------------------------------

@test "an orphan of a killed wrapper is found" {
	local kill='fault("wrapper", "kill", 1500, run=1)'
	is_clean one 'job(1, 1000, 1510, True, -9)' 'child(1, 1100, 2400)' "$kill"
	finds orphan one 'job(1, 1000, 1510, True, -9, ended=1501)' 'child(1, 1100, 3010)' "$kill"
	says '1 process lived 1510 ms after the wrapper of run 1 was killed'
	finds orphan one 'job(1, 1000, 3010, True, -9, ended=1501)' "$kill"
	is_clean one 'job(1, 1000, 1490, status=-9, ended=1501)' 'child(1, 1100, 3010)' "$kill"
	excuses 'the guard was stopped' one 'job(1, 1000, 3010, True, -9, ended=1501)' "$kill" \
		'fault("guard", "stop", 1400, 2900, run=1)'
	finds orphan one 'job(1, 1000, 3010, True, -9, ended=1501)' "$kill" \
		'fault("guard", "stop", 1100, 1400, run=1)'
	finds orphan one 'job(1, 1000, 1510, True, -9, ended=1501)' "$kill" \
		'job(2, 1200, 3100, True, -9, token="token-1", outer=1, ended=1600)'
}

@test "a waiter that starts although a newer one has overtaken it is found" {
	local newest='options=["--newest"]' holder='job(3, 500, 4000)'
	local older="job(1, 5000, 5500, begun=1000, $newest)" newer="waiter(2, 2000, 4900, 75, wait_ms=2900, $newest)"
	local came=('queued(1, 1100, 1)' 'queued(2, 2100, 2)')
	finds overtaken one "$holder" "$older" "$newer" "${came[@]}"
	says 'overtaken at 5.000 s: it started 900 ms after run 2, which came later, with --newest (runs 1, 2)'
	# Granted just before the other one came, or without the option.
	is_clean one 'job(3, 500, 2000)' "${older/5000, 5500/3900, 4500}" "$newer" "${came[@]}"
	is_clean one "$holder" "${older/--newest/-v}" "$newer" "${came[@]}"
	is_clean one "$holder" "$older" "${newer/--newest/-v}" "${came[@]}"
	# The one that came later has had its turn.
	finds overtaken,order one 'job(3, 500, 4000)' "job(2, 4100, 4400, begun=2000, $newest)" \
		"${older/5000, 5500/4500, 4900}" "${came[@]}"
	excuses 'the server may have lost who is the newest' one "$holder" "$older" "$newer" \
		"${came[@]}" 'fault("server", "full", 2000, 2200)'
	# Sentinels made a replica the primary by themselves.
	local owners=('record("owner", 0, key="a", node="s0")' 'record("owner", 3000, key="a", node="s1")')
	finds overtaken sentinel "$holder" "$older" "$newer" "${came[@]}" "${owners[0]}"
	excuses 'the server may have lost who is the newest' sentinel "$holder" "$older" "$newer" \
		"${came[@]}" "${owners[@]}"
}

@test "a status that only a newer run explains is found" {
	local waiter='waiter(1, 1000, 2000, 75, options=["--newest"], wait_ms=9000, stderr="was overtaken by pid 7; command not started")'
	is_clean one 'job(3, 500, 4000)' "$waiter" 'waiter(2, 1900, 4500, 75, wait_ms=2600, options=["--newest"])'
	finds status one 'job(3, 500, 4000)' "$waiter" 'waiter(2, 1900, 4500, 75, wait_ms=2600)'
	says 'status 75: no newer run with --newest was there'
}

@test "a replaced job that lives when the next one starts is found" {
	local job='job(1, 1000, 2000, True, 80, options=["--replaceable"], stderr="stopping the job")'
	local next='job(2, 2000, 3000, begun=1500, options=["--replace"])'
	is_clean one "$job" "$next"
	finds overlap one "$job" "${next/2000/1990}"
	finds overlap,orphan one "$job" 'child(1, 1100, 2100)' "$next"
	finds status one "$job" "${next/--replace/-v}"
	says 'status 80: nobody with --replace was there'
	finds status one "${job/--replaceable/-v}" "$next"
	says 'status 80: there is no --replaceable'
	finds status one 'waiter(1, 1000, 2000, 80, options=["--replaceable"])' "$next"
	finds report one "${job/stderr/sinks=True, stderr}" "$next" 'report(1, "ended", 80)' 'report(1, "released", by="hook")' \
		'counted(1)'
	is_clean one "${job/stderr/sinks=True, stderr}" "$next" 'report(1, "ended", 80)' 'report(1, "replaced", by="hook")' \
		'counted(1)'
}

@test "an orphan of a killed guard is found" {
	local kill='fault("guard", "kill", 1500, run=1)'
	is_clean one 'job(1, 1000, 1510, True, 71, ended=2500)' 'child(1, 1100, 2400)' "$kill"
	finds orphan one 'job(1, 1000, 1510, True, 71, ended=3600)' 'child(1, 1100, 3010)' "$kill"
	excuses 'the wrapper was stopped' one 'job(1, 1000, 1510, True, 71, ended=3600)' \
		'child(1, 1100, 3010)' "$kill" 'fault("wrapper", "stop", 1400, 2900, run=1)'
	finds orphan one 'job(1, 1000, 3010, True, 71, ended=3600)' "$kill" \
		'fault("wrapper", "stop", 1400, 2900, run=1)'
	excuses 'the wrapper was stopped' one 'job(1, 1000, 1510, True, -9, ended=3600)' \
		'child(1, 1100, 9000)' "$kill" 'fault("wrapper", "stop", 1400, 3600, run=1)' \
		'fault("wrapper", "kill", 3500, run=1)'
}

@test "a process that outlives the end of rlockrun is found" {
	local lost='fault("server", "flush", 1500)'
	is_clean one 'job(1, 1000, 2000, True, 79, ended=2110)' 'child(1, 1100, 2100)' "$lost"
	finds orphan one 'job(1, 1000, 2000, True, 79, ended=2110)' 'child(1, 1100, 2200)' "$lost"
	is_clean one 'job(1, 1000, 2000, ended=2010)' 'child(1, 1100, 2200)'
	finds orphan one 'job(1, 1000, 2000, wait_all=True, ended=2010)' 'child(1, 1100, 2200)'
	finds orphan one 'job(1, 1000, 2000, False, 79, ended=1800)' "$lost"
	is_clean one 'job(1, 1000, 2000, status=-9, ended=1510)' 'fault("wrapper", "kill", 1500, run=1)'
}

@test "what a stopped command leaves alive is found" {
	local job='job(1, 1000, 2000, ended=2010' left='child(1, 1100, 2200)' term='fault("wrapper", "term", 1900, run=1)'
	finds orphan one "$job)" "$left" "$term"
	is_clean one "$job)" "$left" "${term/1900/1990}"
	is_clean one "$job, job='deaf')" "$left" "${term/1900/1010}"
	is_clean one "$job)" "$left" "$term" 'fault("wrapper", "stop", 1890, 1995, run=1)'
	is_clean one "${job/2010/2210})" "$left" "$term"
	finds orphan one "$job, status=124, max_run_ms=900)" "$left"
	finds orphan one "$job, status=79, stderr='stopping the job')" "$left" 'fault("server", "flush", 1500)'
	is_clean one "$job, status=79)" "$left" 'fault("server", "flush", 1500)'
}

@test "a hang is found" {
	finds hang one 'job(1, 1000, 2000, status=None)' 'left("run", run=1)'
	is_clean one 'waiter(1, 1000, 11900, 75, wait_ms=3000)' 'job(2, 900, 12200)'
	finds hang one 'waiter(1, 1000, 12100, 75, wait_ms=3000)' 'job(2, 900, 12200)'
	is_clean one 'waiter(1, 1000, 12100, 75, wait_ms=3000)' \
		'fault("wrapper", "stop", 2000, 2500, run=1)'
	finds hang one 'job(1, 1000, 2000, ended=7100)'
	finds hang one 'job(1, 12000, 13000, begun=1000, wait_ms=3000)'
	finds hang one 'job(1, 1000, 9000, True, 124, max_run_ms=1000)'
	# With --wait-all a nested run is awaited, even when the command was killed.
	local nested='job(2, 1100, 7900, token="token-1", outer=1)' kill='fault("job", "kill", 2000, run=1)'
	is_clean one 'job(1, 1000, 2000, True, -9, wait_all=True, ended=8000)' "$nested" "$kill"
	finds hang one 'job(1, 1000, 2000, True, -9, ended=8000)' "$nested" "$kill"
}

@test "a --max-run that does nothing is found" {
	finds hang one 'job(1, 1000, 3500, max_run_ms=1000)'
	is_clean one 'job(1, 1000, 3000, max_run_ms=1000)'
	finds hang one 'job(1, 1000, 4000, True, 124, max_run_ms=1000)'
	local both=('fault("wrapper", "stop", 1500, 5000, run=1)' 'fault("guard", "stop", 1500, 5000, run=1)')
	is_clean one 'job(1, 1000, 5500, True, 124, ttl_ms=9000, max_run_ms=1000)' "${both[@]}"
	finds hang one 'job(1, 1000, 9900, True, 124, ttl_ms=9000, max_run_ms=1000)' "${both[@]/5000/3000}"
}

@test "only the node that serves a key says who holds it" {
	local job='job(1, 1000, 4000, True, 79)' lost='fault("server", "failover", 1500)'
	is_clean sentinel "$job" "$lost" 'record("owner", 0, key="a", node="s0")' 'seen(990, "token-1")' \
		'record("owner", 1600, key="a", node="s1")' 'seen(2100, "token-1", node="s1")'
	excuses 'the former primary' sentinel "$job" "$lost" 'record("owner", 0, key="a", node="s0")' \
		'seen(990, "token-1")' 'record("owner", 1600, key="a", node="s1")' 'seen(1700, "token-2", node="s1")'
	finds lease sentinel "${job%)}, wait_replicas=2)" "$lost" 'record("owner", 0, key="a", node="s0")' \
		'seen(990, "token-1")' 'record("owner", 1600, key="a", node="s1")' 'seen(1700, "token-2", node="s1")'
	# While none is known, nothing is.
	is_clean sentinel "$job" "$lost" 'record("owner", 0, key="a", node="s0")' 'seen(990, "token-1")' \
		'record("owner", 1600, key="a", node=None)'
}

# --- exit status ------------------------------------------------------------

@test "a wrong exit status of a job is found" {
	finds status one 'job(1, 1000, 2000, status=0)'
	finds status one 'job(1, 1000, 2000, True)'
	finds status one 'job(1, 1000, 2000, status=-11)'
	finds status one 'job(1, 1000, 2000, status=-15)'
	finds status one 'job(1, 1000, 2000, True, 124)'
	is_clean one 'job(1, 1000, 2000, True, 124, max_run_ms=900)'
	finds status one 'job(1, 1000, 2000, True, 124, max_run_ms=1100)'
	finds status one 'job(1, 1000, 1300, True, 124, max_run_ms=900, begun=100)'
	says 'the job ran for only 320 ms'
	finds status one 'job(1, 1000, 2000, True, 71)'
	finds status one 'job(1, 1000, 2000, True, 79)'
	is_clean one 'job(1, 1000, 2000, True, 79)' 'fault("server", "flush", 1500)'
	is_clean one 'job(1, 1000, 2000, True, -2)' 'fault("wrapper", "int", 1990, run=1)'
	finds status one 'job(1, 1000, 2000, True, -2)' 'fault("wrapper", "hup", 1990, run=1)'
	finds status one 'job(1, 1000, 2000)' 'fault("wrapper", "kill", 500, run=1)'
	is_clean one 'job(1, 1000, 2000, True, 137)' 'fault("job", "kill", 1990, run=1)'
	local status
	for status in 64 70 76 78 126 127; do
		finds status one "job(1, 1000, 2000, status=$status)"
	done
}

@test "a wrong exit status of a run without a job is found" {
	finds status one 'waiter(1, 1000, 2000, 23)'
	local other='job(2, 900, 2600)'
	finds status one "$other" 'waiter(1, 1000, 2000, 75)'
	is_clean one "$other" 'waiter(1, 1000, 2000, 75, wait_ms=900)'
	finds status one "$other" 'waiter(1, 1000, 2000, 75, "", wait_ms=900)'
	is_clean one "$other" 'waiter(1, 1000, 2000, 5, wait_ms=900, options=["-E", "5"])'
	finds status one "$other" 'waiter(1, 1000, 2000, 75, wait_ms=1100)'
	says 'it gave up 100 ms before its time'
	is_clean one "$other" 'waiter(1, 1000, 2000, 75, wait_ms=1100, options=["--max-waiters", "1"])'
	finds status one "${other/2600/2600, keys=[\"b\"]}" 'waiter(1, 1000, 2000, 75, wait_ms=900)'
	says 'nobody else wanted the lock'
	is_clean one 'waiter(1, 1000, 2000, 75, wait_ms=900)' 'job(2, 200, 300, True, -9)' 'fault("wrapper", "kill", 290, run=2)'
	finds status one 'waiter(1, 9000, 9900, 75, wait_ms=900)' "${other/900, 2600/200, 300}"
	finds status one 'waiter(1, 1000, 2000, 71)' 'fault("wrapper", "stop", 1100, 1200, run=1)'
	is_clean one 'waiter(1, 1000, 2000, 71)' 'fault("guard", "kill", 1100, run=1)'
	finds status one 'waiter(1, 1000, 2000, 124, max_run_ms=300)'
	is_clean one 'waiter(1, 1000, 2000, 124, max_run_ms=300)' 'fault("guard", "trace", 1100, 1900, run=1)'
	finds status one 'waiter(1, 1000, 2000, 69)'
	is_clean one 'waiter(1, 1000, 2000, 69)' 'fault("server", "stop", 500, 1900)'
	# A job kills the run that is nested in it after 30 s.
	local outer='job(2, 900, 1500, token=None, on_unavailable="run")' frozen='fault("server", "stop", 500, 1400)'
	is_clean redlock3 "$outer" "$frozen" 'waiter(1, 1000, 30910, -9, outer=2)'
	finds status redlock3 "$outer" "$frozen" 'waiter(1, 1000, 29000, -9, outer=2)'
	local few='"1 of 2 replicas have the lock; command not started"'
	is_clean one "waiter(1, 1000, 1300, 69, $few, wait_replicas=2, wait_ms=300)"
	finds status one "waiter(1, 1000, 3300, 69, $few, wait_replicas=2, wait_ms=3000)"
	finds status one 'waiter(1, 1000, 2000, 69, "")' 'fault("server", "stop", 500, 1900)'
	finds status one 'waiter(1, 10000, 20000, 69)' 'fault("server", "kill", 500, 1900)'
	finds status one 'waiter(1, 1000, 2000, 69)' 'fault("server", "forget", 500, 1900)'
	is_clean redlock3 'waiter(1, 10000, 20000, 69)' 'fault("server", "kill", 500, 1900)'
	finds status sentinel 'waiter(1, 10000, 20000, 69)' 'record("owner", 1000, key="a", node="s0")'
	is_clean sentinel 'waiter(1, 10000, 20000, 69)' 'record("owner", 1000, key="a", node=None)'
	is_clean one 'waiter(1, 1000, 2000, -15, "")' 'fault("wrapper", "term", 1990, run=1)'
	finds status one 'waiter(1, 1000, 2000, -15, "")'
}

@test "a lost lock that looks like success is found" {
	local one='job(1, 1000, 2000)' two='job(2, 1600, 2300)' lost='fault("server", "flush", 1500)'
	finds status one "$one" "$two" "$lost"
	says 'status 23: run 2 had the lock before this job ended'
	excuses flushed one 'job(1, 1000, 2000, status=79)' "$two" "$lost"
	excuses flushed one 'job(1, 1000, 2000, stderr="cannot confirm the release")' "$two" "$lost"
	local gone=('seen(1010, "token-1")' 'seen(1600)' "$lost")
	finds status one "$one" "${gone[@]}"
	says 'status 23: its token was gone 400 ms before this job ended'
	is_clean one "$one" "${gone[@]/1600/1950}"
	is_clean one 'job(1, 1000, 2000, status=79)' "${gone[@]}"
	is_clean one 'job(1, 1000, 2000, stderr="cannot confirm the release")' "${gone[@]}"
	# The lease was over when the release was sent.
	local tardy='job(1, 1000, 2000, ended=3500)' short='fault("lock", "shorten", 1500, key="a")'
	is_clean one "$tardy" "${gone[@]/*flush*/$short}" 'fault("wrapper", "stop", 1700, 3490, run=1)'
	excuses 'cut short' one "$tardy" "$two" "$short" 'fault("wrapper", "stop", 1550, 3490, run=1)'
	finds status one "$tardy" "${gone[@]/*flush*/$short}" 'fault("wrapper", "stop", 1700, 2700, run=1)'
	finds status one "$tardy" "${gone[@]/*flush*/$short}" 'fault("wrapper", "stop", 2100, 3490, run=1)'
}

@test "a run that is missing in the metrics, or too many, is found" {
	local reported=('job(1, 1000, 2000, sinks=True)' 'report(1, "ended", 23)')
	is_clean one "${reported[@]}" 'counted(1)'
	finds count one "${reported[@]}"
	says 'the metrics of "a" have 0 runs, but 1 to 1 ended'
	finds count one "${reported[@]}" 'counted(2)'
	local slain=('job(2, 3000, 4000, True, -9, sinks=True)' 'fault("wrapper", "kill", 3990, run=2)')
	is_clean one "${reported[@]}" "${slain[@]}" 'counted(1)'
	is_clean one "${reported[@]}" "${slain[@]}" 'counted(2)'
	finds count one "${reported[@]}" "${slain[@]}" 'counted(3)'
}

@test "a log or a hook that says something else is found" {
	local one='job(1, 1000, 2000, sinks=True); counted(1)' ended='report(1, "ended", 23)' freed='report(1, "released", by="hook")'
	is_clean one "$one" "$ended" "$freed"
	finds report one "$one" "$freed"
	says 'status 23, but its log says nothing of an end'
	finds report one "$one" "$ended" "$ended" "$freed"
	finds report one "$one" "${ended/23/0}" "$freed"
	finds report one "$one" "$ended" 'report(1, "lost", by="hook")'
	is_clean one 'job(1, 1000, 2000, True, -9, sinks=True)' 'fault("wrapper", "kill", 1990, run=1)'
	is_clean one 'waiter(1, 1000, 2000, -15, sinks=True); counted(1)' 'fault("wrapper", "term", 1990, run=1)' 'report(1, "ended", 143)'
	local lost='job(1, 1000, 2000, status=79, sinks=True); counted(1)' flushed='fault("server", "flush", 1500)'
	is_clean one "$lost" "$flushed" "${ended/23/79}" 'report(1, "lost", 79, by="hook")'
	finds report one "$lost" "$flushed" "${ended/23/79}" "$freed"
	is_clean one "${lost/status/stderr=\"1 hook was not run\", status}" "$flushed" "${ended/23/79}"
}

# --- order and fences -------------------------------------------------------

@test "a waiter that is overtaken is found" {
	local first='job(1, 3000, 3500, begun=900)' later='job(2, 2000, 2900, begun=1000)'
	local queue=('queued(1, 950, 5000)' 'queued(2, 1050, 6000)')
	finds order one "$first" "$later" "${queue[@]}"
	says 'served before run 1'
	is_clean one "$first" "$later" 'queued(1, 950, 7000)' 'queued(2, 1050, 6000)'
	is_clean one "$first" "$later" "${queue[@]}" 'queued(1, 1900, 7000)'
	is_clean one "$first" "$later" "${queue[@]}" 'fault("wrapper", "stop", 1000, 1100, run=1)'
	is_clean one "$first" "$later" "${queue[@]}" 'fault("server", "busy", 1000, 1100)'
	is_clean one "${first/)/, mode=\"shared\")}" "$later" "${queue[@]}"
	is_clean redlock3 "$first" "$later" "${queue[@]}"
	local owners=('record("owner", 0, key="a", node="s0")' 'record("owner", 1200, key="a", node="s1")')
	finds order sentinel "$first" "$later" "${queue[@]}" "${owners[0]}"
	is_clean sentinel "$first" "$later" "${queue[@]}" "${owners[@]}"
	finds order one 'waiter(1, 900, 6000, 75, wait_ms=5000)' "$later" "${queue[@]}"
	is_clean one 'waiter(1, 900, 1990, 75, wait_ms=1000)' "$later" "${queue[@]}"
}

@test "a fence that does not grow is found" {
	is_clean one 'job(1, 1000, 2000, fence=7)' 'job(2, 2500, 3000, fence=8)'
	finds fence one 'job(1, 1000, 2000, fence=7)' 'job(2, 2500, 3000, fence=7)'
	excuses counter one 'job(1, 1000, 2000, fence=7)' 'job(2, 2500, 3000, fence=7)' \
		'fault("server", "kill", 2100, 2200)'
	local early='job(1, 2500, 3000, begun=1000, fence=7)' later='job(2, 2200, 2400, begun=2100, fence=8)'
	finds fence one "$early" "$later" 'fault("server", "kill", 800, 900)'
	excuses counter one "$early" "$later" 'fault("server", "kill", 1500, 1600)'
	is_clean one 'job(1, 1000, 2000, fence=7)' 'job(2, 2500, 3000, fence=7, keys=["b"])'
	finds fence redlock3 'job(1, 1000, 2000, fence=7)'
	finds token one 'job(1, 1000, 2000, token="t\nu", keys=["a", "b"])' 'job(2, 2500, 3000, token="u")'
	finds token one 'job(1, 1000, 2000)' 'job(2, 2500, 3000, token="token-1")'
}

# --- what is left -----------------------------------------------------------

# --- what the servers show --------------------------------------------------

@test "a lock that is not kept for --min-hold is found" {
	local job='job(1, 1000, 1100, min_hold_ms=1000)'
	is_clean one "$job" 'job(2, 2000, 2100)'
	finds min-hold one "$job" 'job(2, 1900, 2000)'
	is_clean one "$job" 'job(2, 1900, 2000)' 'fault("lock", "shorten", 1500, key="a")'
	is_clean one "$job" 'job(2, 1900, 2000, keys=["b"])'
	# A replica that becomes the primary may lack it.
	local first='record("owner", 100, key="a", node="s0")' moved='record("owner", 1500, key="a", node="s1")'
	is_clean sentinel "$job" 'job(2, 1900, 2000)' "$first" "$moved"
	finds min-hold sentinel "${job%)}, wait_replicas=2)" 'job(2, 1900, 2000)' "$first" "$moved"
	finds min-hold sentinel "$job" 'job(2, 1900, 2000)' "$first" "${moved/1500/900}"
}

@test "a nested run that joins a lock that has ended is found" {
	local job='job(1, 1000, 1100, job="joining")'
	is_clean one "$job" 'job(2, 1400, 1500, outer=1)'
	finds join one "$job" 'job(2, 1400, 1500, outer=1, token="token-1")'
	is_clean one "$job" 'job(2, 1100, 1500, outer=1, token="token-1")'
	finds overlap one "$job" 'job(2, 1400, 1900, outer=1)' 'job(3, 1800, 2000)'
}

@test "a lock that is still there after its end is found" {
	is_clean one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' 'seen(1200)'
	finds stuck one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' 'seen(2000)'
	excuses 'stood still' one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' 'seen(2000)' \
		'standstill(1050, 1800)'
	is_clean one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' 'seen(2000)' \
		'fault("server", "stop", 1050, 1900)'
	is_clean one 'job(1, 1000, 1100, min_hold_ms=1000)' 'seen(1000, "token-1")' 'seen(2050)'
	finds stuck one 'job(1, 1000, 1100, min_hold_ms=1000)' 'seen(1000, "token-1")' 'seen(3000)'
	is_clean one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' 'seen(2000)' \
		'fault("host", "cut", 1050, 1900, host=1)'
	finds stuck one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' 'seen(2000)' \
		'fault("link", "late", 1050, 1900)'
}

@test "a lock that nobody looked for is not said to be there" {
	is_clean one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' 'seen(9000, former_at=1700)'
	finds stuck one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' 'seen(9000, former_at=1900)'
	finds stuck one 'job(1, 1000, 1100)' 'seen(1000, "token-1")' \
		'seen(60000, "token-1", former_at=59900)'
}

@test "a lock that comes back is found" {
	finds return one 'job(1, 1000, 2000, True, 79)' 'fault("server", "flush", 1200)' \
		'seen(1000, "token-1")' 'seen(1250)' 'seen(1500, "token-1")' 'seen(2000)'
	is_clean one 'job(1, 1000, 2000)' 'seen(800, "token-1")' 'seen(900)' 'seen(1000, "token-1")' 'seen(2010)'
}

@test "a lock that is free while somebody waits is found" {
	local waiters=('job(1, 9000, 9100)' 'queued(1, 7950, 1)' 'seen(7000, "x")' 'seen(8000)' 'seen(9050, "token-1")' 'seen(9150)')
	finds idle one "${waiters[@]}"
	is_clean one "${waiters[@]}" 'fault("server", "busy", 7000, 8500)'
	is_clean one "${waiters[@]}" 'job(2, 6000, 6100)' 'queued(2, 7950, 0)'
	is_clean one "${waiters[@]}" 'waiter(2, 7900, 8100, -9)' 'queued(2, 7950, 0)' \
		'fault("wrapper", "kill", 8000, run=2)'
	is_clean one "${waiters[@]}" 'record("unqueued", 7990, key="a", node="s0", run=1)'
}

@test "a reader that waits among readers is found, when a writer has given up" {
	local story=('seen(500, "token-1")' 'seen(4010)' 'job(1, 600, 4000, mode="shared")' 'waiter(2, 900, 2000, 75, wait_ms=1000)'
		'queued(2, 950, 1)' 'job(3, 3500, 3900, mode="shared", begun=1500)' 'queued(3, 1550, 2)'
		'record("unqueued", 2050, key="a", node="s0", run=2, ticket=1)' 'record("unqueued", 3450, key="a", node="s0", run=3, ticket=2)')
	finds idle one "${story[@]}"
	is_clean one "${story[@]/3450/2950}"
	is_clean one "${story[@]}" 'seen(2500, "token-1", "another")'
	is_clean one "${story[@]}" 'fault("host", "cut", 1900, 2500, host=1)'
	finds idle one "${story[@]}" 'fault("host", "cut", 1900, 2500, host=2)'
	finds idle one "${story[@]}" 'fault("link", "late", 100, 2500)'
	is_clean one "${story[@]}" 'fault("link", "late", 800, 2500)'
}

@test "a signal that does not reach the job is found" {
	finds signal one 'job(1, 1000, 2000)' 'fault("wrapper", "term", 1100, run=1)'
	is_clean one 'job(1, 1000, 2000)' 'fault("wrapper", "term", 1900, run=1)'
	is_clean one 'job(1, 1000, 2000, job="deaf")' 'fault("wrapper", "term", 1100, run=1)'
}

@test "a waiter that does not end by a signal is found" {
	local term='fault("wrapper", "term", 1500, run=1)' entry='left_key("{a}:rlk:q", 50000, ["x:token:1001@here"], "zset")'
	is_clean one 'waiter(1, 1000, 3400, -15, "")' "$term"
	finds signal one 'waiter(1, 1000, 3600, -15, "")' "$term"
	is_clean one 'waiter(1, 1000, 5400, -15, "")' "$term" 'fault("wrapper", "stop", 1400, 3500, run=1)'
	is_clean one 'waiter(1, 1000, 5400, -15, "")' "$term" 'fault("guard", "trace", 1400, 3500, run=1)'
	finds signal one 'job(1, 3600, 3700, begun=1000)' "$term"
	finds key one 'waiter(1, 1000, 1600, -15, "")' "$term" "$entry"
	is_clean one 'waiter(1, 1000, 1600, -15, "")' "$term" "$entry" 'fault("server", "stop", 1400, 1700)'
	finds key one 'waiter(1, 1000, 4600, -15, "")' "${term/1500/4500}" "$entry" 'fault("server", "stop", 1400, 1700)'
	is_clean one 'waiter(1, 1000, 4600, -15, "")' "${term/1500/4500}" "$entry" 'fault("link", "stall", 1400, 1700)'
	is_clean one 'waiter(1, 1000, 1600, -9, "")' "$term" "$entry" 'fault("wrapper", "kill", 1550, run=1)'
}

@test "servers that are late are no reason to fail" {
	local slow='fault("link", "late", 4000, 8000)' run='waiter(1, 5000, 8100, 69)'
	finds status one "$run" "$slow"
	is_clean one "$run" "$slow" 'fault("server", "stop", 6000, 7000)'
	finds status one 'job(1, 7000, 8000, True, 79)' "$slow"
	is_clean one 'job(1, 7000, 8000, True, 79, ttl_ms=1000, kill_after_ms=500)' "$slow"
	is_clean one 'job(1, 7000, 8000, True, 79)' "${slow/late/delay}"
	finds status one 'job(1, 7000, 8000, True, 79, ttl_ms=3000)' "${slow/late/delay}"
	is_clean one 'job(1, 7000, 8000, True, 79, ttl_ms=3000)' 'fault("link", "stall", 6000, 8000)'
}

@test "a new primary that is not believed is found" {
	local story=('job(1, 1000, 9000, True, 79, ttl_ms=10000)' 'record("owner", 0, key="a", node="s0")' 'seen(950, "token-1")' 'fault("server", "stop", 1500, 9500)'
		'record("owner", 3000, key="a", node="s1")' 'seen(3000, "token-1", node="s1")')
	finds status sentinel "${story[@]}"
	is_clean sentinel "${story[@]}" 'fault("link", "stall", 4000, 5000, node="s1")'
	finds status sentinel "${story[@]}" 'fault("link", "stall", 4000, 5000, node="s2")'
	is_clean sentinel "${story[@]}" 'seen(5000, node="s1")'
	is_clean sentinel "${story[@]/3000/5000}"
}

@test "a job that ended after its lease, which nobody could renew, is found" {
	local job='job(1, 1000, 4500)'
	finds status one "$job" 'fault("wrapper", "stop", 2000, 5000, run=1)' 'fault("guard", "stop", 2000, 5000, run=1)'
	is_clean one "$job" 'fault("wrapper", "stop", 2000, 4000, run=1)' 'fault("guard", "stop", 2000, 4000, run=1)'
	is_clean one "${job/4500/3500}" 'fault("wrapper", "stop", 2000, 5000, run=1)' 'fault("guard", "stop", 2000, 5000, run=1)'
}

@test "keys that are left are found" {
	local job='job(1, 1000, 2000)'
	is_clean one "$job" 'left_key("{a}:rlk:f", 3500000)' 'left_key("{a}:rlk:q", 50000)'
	is_clean one "$job" 'left_key("{a}:rlk:r", 345600000)'
	finds key one "$job" 'left_key("{a}:rlk:r", 345700000)'
	finds key one "$job" 'left_key("{a}:rlk:f", -1)'
	finds key one "$job" 'left_key("{a}:rlk:f", 3700000)'
	finds key one "$job" 'left_key("{a}:rlk:q", 70000)'
	finds key one "$job" 'left_key("{a}:rlk:z", 10)'
	finds key one "$job" 'left_key("other", 10)'
	finds key one "$job" 'left_key("{other}:rlk:f", 3500000)'
	is_clean one "$job" 'paused(1000, 1000, "other")' 'left_key("{other}:rlk:f", 3500000)'
	finds key one "$job" 'left_key("a", 1000, ["token-1"])'
	is_clean one "$job" 'left_key("a", 1000, ["token-9"])'
	finds key one "$job" 'left_key("a", 3000, ["token-9"])'
	is_clean one 'job(1, 1000, 2000, True, -9)' 'left_key("a", 1000, ["token-1"])' \
		'fault("wrapper", "kill", 1990, run=1)'
	is_clean one 'job(1, 1000, 2000, min_hold_ms=99000)' 'left_key("a", 40000, ["token-1"])'
	finds key one "$job" 'left_key("{a}:rlk:q", 50000, ["x:token-9:1001@here"], "zset")'
	is_clean one 'job(1, 1000, 2000, keys=["{t}a"])' 'left_key("{t}a:rlkt:f", 3500000)'
}

@test "processes that are left are found" {
	finds process one 'job(1, 1000, 2000, True, -9)' 'left("process", pid=7, run=1)' \
		'fault("wrapper", "kill", 1990, run=1)'
	finds process one 'left("process", pid=7, run=None, command="sleep 99")'
	is_clean one 'job(1, 1000, 2000, job="leaving")' 'left("process", pid=7, run=1)'
}

# --- histories that are none ------------------------------------------------

@test "an impossible history is found" {
	finds history one 'job(1, 1000, 2000, status=None)'
	is_clean one 'job(1, 1000, 2000, True, -9)' 'fault("job", "kill", 1990, run=1)' \
		'job(2, 1200, 1900, True, None, token="token-1", outer=1)'
	finds history one 'leave(5, 1000, 0)'
	finds history one 'child(5, 1000, 1100)'
	finds history one 'job(1, 1000, 900)'
	finds history one 'job(1, 1000, 2000, begun=1100)'
	finds history one 'job(1, 1000, 2000, saw=[8])'
	finds history one 'job(1, 1000, 2000)' 'leave(1, 2020, 23)'
	finds history one 'fault("server", "stop", 1000, 900)'
	finds history one 'record("quiet", 1)'
}

@test "a file that is no history is refused with the line" {
	local file=$BATS_TEST_TMPDIR/history
	refuses() {
		run "$CHAOS/check.py" "$file"
		[[ $status == 65 && $output == "check.py: $file: $1" ]] || explain
	}
	"$CHAOS/tale" one 'job(1, 1000, 2000)' >"$file.good"
	head -c -5 "$file.good" >"$file"
	refuses 'line 6: truncated'
	head -n -1 "$file.good" >"$file"
	refuses 'line 5: truncated: no record of type '\''end'\'
	sed '3s/^/x/' "$file.good" >"$file"
	refuses 'line 3: no JSON: Expecting value: line 1 column 1 (char 0)'
	sed '3s/"process"/"proces"/' "$file.good" >"$file"
	refuses 'line 3: no such type of record: '\''proces'\'
	sed '3s/"root": true/"root": 1/' "$file.good" >"$file"
	refuses 'line 3: process with a wrong '\''root'\'': 1'
	sed '4s/"status": 23, //' "$file.good" >"$file"
	refuses 'line 4: exit without '\''status'\'
	sed '1s/"one"/"two"/' "$file.good" >"$file"
	refuses 'line 1: begin with a wrong '\''topology'\'': '\''two'\'
	sed 1d "$file.good" >"$file"
	refuses 'line 1: a history begins with a record of type '\''begin'\'
	: >"$file"
	refuses 'line 1: a history begins with a record of type '\''begin'\'
	printf '\xff\n' >"$file"
	refuses 'line 1: not UTF-8'
	rm "$file"
	refuses 'No such file or directory'
}

@test "wrong usage has status 64" {
	run "$CHAOS/check.py"
	[[ $status == 64 && $output == usage:* ]] || explain
	run "$CHAOS/check.py" a --drawing b
	[[ $status == 64 && $output == usage:* ]] || explain
}

@test "the summary says what was covered" {
	is_clean one 'job(1, 1000, 2000)' 'job(2, 2500, 3000)' 'fault("server", "stop", 2100, 2200)' \
		'waiter(3, 1010, 1020, 75, wait_ms=0)'
	says 'one, seed 7: 3 runs, 2 jobs, 2 with the lock, 1 turns from one to another'
	says 'faults: server stop x 1'
	says 'statuses: 1 to 40 x 2, 75 x 1'
}

# --- records of the last run ------------------------------------------------

@test "a success on record of a run that ended otherwise is found" {
	local lost='job(1, 1000, 2000, status=79, keys=["a", "b"], token="t1\nt2")'
	is_clean one 'job(1, 1000, 2000)' 'recorded(2010, "token-1", "23")'
	is_clean one 'fault("lock", "shorten", 1500, key="a")' "$lost" \
		'recorded(2010, "t2", "79", key="b")'
	finds success one 'fault("lock", "shorten", 1500, key="a")' "$lost" \
		'recorded(2010, "t2", "0", key="b")'
	says 'success at 2.020 s: status 79, but the record of "b" on s0 says 0 (run 1)'
	# It has been corrected, or replaced before anybody looked again.
	is_clean one 'fault("lock", "shorten", 1500, key="a")' "$lost" \
		'recorded(2010, "t2", "0", key="b")' 'recorded(2100, "t2", "79", key="b")'
	# The server has lost the correction.
	is_clean one 'fault("lock", "shorten", 1500, key="a")' "$lost" \
		'recorded(2010, "t2", "0", key="b")' 'fault("server", "kill", 2015, 2500)'
}

# --- what a server remembers ------------------------------------------------

@test "a run that repeats a success with its id is found" {
	local one='success(1, 1000, 2000, options=["--once-id=a"])' again='job(2, 2500, 3000, options=["--once-id=a"])'
	finds once-id one "$one" "$again"
	says 'it started 500 ms after the success of run 1, which had its id, a (runs 2, 1)'
	finds once-id one "$one" "$again" 'success(3, 2100, 2200)' 'job(4, 2300, 2400, options=["--once-id=b"])'
	is_clean one "$one" "${again/=a/=b}"
	is_clean one "$one" "${again/options/keys=[\"b\"], options}"
	is_clean one "$one" "${again/options/token=\"token-1\", outer=1, begun=1100, options}"
	# Another id was last, or it had not succeeded, or nobody knows.
	is_clean one "$one" "$again" 'success(3, 2100, 2200, options=["--once-id=b"])'
	is_clean one "${one/success/job}" "$again"
	finds status one "${one/options/status=79, options}" "$again"
	finds overlap,status one "$one" "${again/2500/1900}"
	is_clean one 'success(1, 1000, 2000, stderr="cannot confirm the release", options=["--once-id=a"])' "$again"
	is_clean one "${one/options/status=-9, options}" "$again" 'fault("wrapper", "kill", 1990, run=1)'
	is_clean one "$one" "$again" 'fault("wrapper", "stop", 1990, 2010, run=1)'
	finds once-id one "$one" "$again" 'fault("wrapper", "stop", 1100, 1200, run=2)' 'fault("server", "stop", 2100, 2200)'
}

@test "a repeated success is excused by a server that forgets" {
	local runs=('success(1, 4000, 5000, options=["--once-id=a"])' 'job(2, 5500, 6000, options=["--once-id=a"])')
	local fault
	for fault in kill flush full; do
		excuses 'may have forgotten' one "${runs[@]}" "fault('server', '$fault', 5100, 5200)"
		finds once-id one "${runs[@]}" "fault('server', '$fault', 3000, 3100)"
	done
	excuses 'may have forgotten' cluster "${runs[@]}" 'fault("lock", "migrate", 5100, 5200, key="a")'
	finds once-id cluster "${runs[@]}" 'fault("lock", "migrate", 5100, 5200, key="b")'
	excuses 'may have forgotten' sentinel "${runs[@]}" 'fault("server", "failover", 5100)'
	finds once-id cluster "${runs[@]}" 'fault("server", "flush", 5100)' 'record("owner", 0, key="a", node="s1")'
	finds once-id sentinel "${runs[@]}" 'fault("sentinel", "stop", 5100, 5200, node="q0")'
	excuses 'a failover' sentinel "${runs[@]}" 'record("owner", 500, key="a", node="s0")' \
		'record("owner", 4100, key="a", node="s1")'
}

@test "a run that is skipped although none succeeded with its id is found" {
	local one='success(1, 1000, 2000, options=["--once-id=a"])' said='stderr="last succeeded with the id; command not started"'
	local skipped="waiter(2, 2500, 2600, 75, $said, options=['--once-id=a'])"
	is_clean one "$one" "$skipped"
	finds status one "${one/=a/=b}" "$skipped"
	says 'status 75: no run with this id had succeeded'
	finds status one "${one/success/job}" "$skipped"
	finds status one "${one/options/keys=[\"b\"], options}" "$skipped"
	finds status one 'success(1, 2700, 3000, options=["--once-id=a"])' "$skipped"
	is_clean one "${one/options/status=-9, options}" "$skipped" 'fault("wrapper", "kill", 1990, run=1)'
	# Another id has succeeded since.
	local other='success(3, 2100, 2200, options=["--once-id=b"])'
	finds status one "$one" "$other" "$skipped"
	is_clean one "$one" "${other/2200/2490}" "$skipped"
	is_clean one "$one" "${other/options/stderr=\"cannot confirm the release\", options}" "$skipped"
	is_clean one "$one" "$other" "$skipped" 'fault("server", "flush", 2300)'
}

@test "a --check that says something else than what happened is found" {
	local good='success(1, 1000, 2000)' bad='job(2, 3000, 4000)'
	is_clean one "$good" 'checked(2500, 2510, 0)'
	finds check one "$good" 'checked(2500, 2510, 1)'
	says '--check says 1 of "a", but 0 is right (run 1)'
	finds check one "$good" 'checked(2500, 2510, 2)'
	finds check one "$good" 'checked(2500, 2510, 3)'
	is_clean one "$good" "$bad" 'checked(4500, 4510, 1)'
	finds check one "$good" "$bad" 'checked(4500, 4510, 0)'
	# It is on, or may be over.
	is_clean one "$good" "$bad" 'checked(3500, 3510, 0)'
	finds check one "$good" "$bad" 'checked(3500, 3510, 1)'
	finds check one "$good" "$bad" 'checked(2500, 2510, 1)'
	is_clean one "$good" "$bad" 'checked(4000, 4020, 0)' 'checked(4000, 4020, 1)'
	# None is known, or none is over.
	is_clean one 'checked(500, 510, 2)' "$good" 'checked(1500, 1510, 0)'
	finds check one "$good" 'checked(1500, 1510, 1)'
	is_clean one 'success(1, 1000, 2000, keys=["b"])' 'checked(2500, 2510, 2)'
}

@test "a --check of runs that were killed sees that they left no end" {
	local good='success(1, 1000, 2000)' killed='job(2, 3000, 3100, True, -9)' kill='fault("wrapper", "kill", 3090, run=2)'
	is_clean one "$good" "$killed" "$kill" 'checked(3500, 3510, 0)' 'checked(3600, 3610, 1)' 'checked(6500, 6510, 1)'
	finds check one "$good" "$killed" "$kill" 'checked(6500, 6510, 0)'
	finds check one "$good" "$killed" "$kill" 'checked(2500, 2510, 1)'
	# It may have been killed before its job started, or not been granted the lock.
	local stray='waiter(2, 3000, 3100, -9)'
	is_clean one "$good" "$stray" "$kill" 'checked(6500, 6510, 0)' 'checked(6600, 6610, 1)'
	finds check one "$good" "$stray" "$kill" 'success(3, 4000, 5000)' 'checked(6600, 6610, 1)'
	finds check one "$good" 'waiter(2, 1500, 2500, 75, wait_ms=1000)' 'checked(6500, 6510, 1)'
	finds check one "$good" "${stray/-9/-9, keys=[\"b\"]}" "$kill" 'checked(6600, 6610, 1)'
	finds check one "$good" "$stray" "$kill" 'checked(2600, 2610, 1)'
	# A link may hold up the first request of a run that is granted the lock by another.
	local again='success(2, 3500, 4000, begun=3000)' slow='fault("link", "late", 2900, until=6000)'
	is_clean one "$good" "$again" "$slow" 'checked(4500, 4510, 0)' 'checked(9000, 9010, 1)'
	finds check one "$good" "$again" 'checked(9000, 9010, 1)'
	finds check one "$good" "$again" 'fault("link", "late", 3600, until=6000)' 'checked(9000, 9010, 1)'
	finds check one "$good" "$again" "$slow" 'success(3, 6500, 7000)' 'checked(9000, 9010, 1)'
}

@test "a --check that does not know what is due is found" {
	local good='success(1, 1000, 2000, options=["--expect=2000ms"])' later='success(2, 2500, 3000)'
	is_clean one "$good" 'checked(3500, 3510, 0)' 'checked(4500, 4510, 2)'
	finds check one "$good" 'checked(3500, 3510, 2)'
	finds check one "$good" 'checked(4500, 4510, 0)'
	says '--check says 0 of "a", but 2 is right (run 1)'
	is_clean one "$good" 'checked(4000, 4010, 0)' 'checked(4005, 4015, 2)'
	is_clean one "$good" "$later" 'checked(4500, 4510, 0)' 'checked(5500, 5510, 2)'
	finds check one "${good/--expect=2000ms/-v}" "$later" 'checked(5500, 5510, 2)'
	# It may be told or end while it is asked, and with no success it may be either.
	is_clean one "$good" "$later" 'success(3, 4300, 5400, ended=5420)' 'checked(5410, 5430, 2)' 'checked(5410, 5440, 0)'
	is_clean one "${good/--expect=2000ms/-v}" 'job(3, 4500, 4600, options=["--expect=2000ms"])' 'checked(4490, 4510, 0)'
	is_clean one 'job(1, 1000, 1500, options=["--expect=2000ms"])' 'checked(2900, 2910, 1)' 'checked(3900, 3910, 2)'
	# It was told so while it failed, or without a job.
	finds check one "$later" 'job(3, 3500, 3600, options=["--expect=2000ms"])' 'checked(5500, 5510, 1)'
	is_clean one "$later" 'waiter(3, 3100, 4000, -9, options=["--expect=2000ms"])' \
		'fault("wrapper", "kill", 3990, run=3)' 'checked(9000, 9010, 1)' 'checked(9100, 9110, 2)'
}

@test "a wrong --check is excused by a server that forgets or is silent" {
	local good='success(1, 4000, 5000)'
	excuses 'may have forgotten' one "$good" 'checked(5500, 5510, 2)' 'fault("server", "flush", 5100)'
	finds check one "$good" 'checked(5500, 5510, 2)' 'fault("server", "flush", 3500)'
	excuses 'a failover' sentinel "$good" 'checked(5500, 5510, 2)' 'record("owner", 500, key="a", node="s0")' \
		'record("owner", 5100, key="a", node="s1")'
	is_clean one "$good" 'checked(5500, 8510, 3)' 'fault("server", "stop", 5200, 9000)'
	finds check one "$good" 'checked(15500, 15510, 3)' 'fault("server", "stop", 5200, 9000)'
	is_clean sentinel "$good" 'checked(5500, 8510, 3)' 'record("owner", 5100, key="a", node=None)'
}

# --- the picture ------------------------------------------------------------

# shows TEXT: the picture is XML, and has that text in an element.
shows() {
	/usr/bin/python3 -c 'import sys, xml.etree.ElementTree as tree
sys.exit(not any(sys.argv[2] in text for text in tree.parse(sys.argv[1]).getroot().itertext()))' "$BATS_TEST_TMPDIR/svg" "$1" || {
		echo "no $1"
		return 1
	}
}

@test "the picture shows runs, faults and findings" {
	"$CHAOS/tale" sentinel 'job(1, 1000, 2400, True, 79)' 'child(1, 1100, 2600)' \
		'job(2, 2000, 3000, options=["-w", "<&>"])' 'waiter(3, 1000, 2000, 69, "\x1b\x00 not started")' \
		'fault("link", "stall", 1200, 1500)' 'fault("guard", "trace", 1100, 1200, run=1)' \
		'fault("host", "cut", 1100, 1200, host=2)' 'fault("lock", "shorten", 9000, key="a")' \
		'queued(2, 1960, 5)' 'leave(9, 1000, 0)' 'run(4, 1000)' >"$BATS_TEST_TMPDIR/history"
	run "$CHAOS/check.py" "$BATS_TEST_TMPDIR/history" --picture "$BATS_TEST_TMPDIR/svg"
	[[ $status == 1 ]] || explain
	shows 'Chaos over sentinel, seed 7: 4 runs, 4 faults'
	shows '<&>'
	shows '1: 79'
	shows '3: 69'
	shows '4: ?'
	shows 'stall: link s0'
	shows 'trace: guard of run 1'
	shows 'overlap at 2.000 s'
	shows 'exit of an unknown run'
	"$CHAOS/picture.py" "$BATS_TEST_TMPDIR/history" | cmp - "$BATS_TEST_TMPDIR/svg"
}

@test "the picture of next to nothing can be drawn, that of no history cannot" {
	"$CHAOS/tale" one >"$BATS_TEST_TMPDIR/history"
	"$CHAOS/picture.py" "$BATS_TEST_TMPDIR/history" >"$BATS_TEST_TMPDIR/svg"
	shows 'Chaos over one, seed 7: 0 runs, 0 faults, 0 findings, 0 excused'
	echo >"$BATS_TEST_TMPDIR/history"
	run "$CHAOS/picture.py" "$BATS_TEST_TMPDIR/history"
	[[ $status == 65 && $output == *'line 1: no JSON'* ]] || explain
	run "$CHAOS/picture.py"
	[[ $status == 64 && $output == usage:* ]] || explain
}

#!/usr/bin/env bats
# I1: other libraries' locks and rlockrun exclude each other on one key, and
# each frees only its own. The clients are in helpers/clients.
# shellcheck disable=SC2016 # the jobs' shells are to expand that
load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	CLIENTS=$HELPERS/clients
	# In the build's folder: `make check` fetches them.
	export NODE_PATH=$ROOT/build/clients/node_modules
	write_counting_turn
}
teardown() { end_test; }

# A job that writes down when it comes and goes, in an order that only the
# kernel makes, and counts in a way that two at once spoil.
write_counting_turn() {
	echo 0 >count
	cat >turn <<-'END'
		echo "$1 comes" >>turns
		read -r count <count
		sleep "0.00$((RANDOM % 10))"
		echo "$((count + 1))" >count
		echo "$1 goes" >>turns
	END
}

need() {
	case $1 in
	redis-py)
		/usr/bin/python3 -c 'import redis' 2>/dev/null || skip "no redis-py"
		;;
	node-redlock)
		node -e 'require("redlock")' 2>/dev/null ||
			skip "no node-redlock: \`make check\` fetches it"
		;;
	esac
}

# client NAME TTL_MS WAIT_MS ROUNDS COMMAND...
client() {
	"$CLIENTS/$1" "$SUITE_DIR/s" "$KEY" "${@:2}"
}

# client_holds NAME TTL_MS: until file `released` is there; waits until it does.
# CLIENT is its pid.
client_holds() {
	start "$CLIENTS/$1" "$SUITE_DIR/s" "$KEY" "$2" 0 1 \
		"$A_JOB" client-holds=%p until:released
	CLIENT=$PID
	wait_for_file client-holds
}

# --- one after the other ----------------------------------------------------

# Every line `X comes` is followed by `X goes`.
no_overlap() {
	awk 'NR % 2 { who = $1; if ($2 != "comes") exit 1; next }
		$1 != who || $2 != "goes" { exit 1 }
		END { if (NR % 2) exit 1 }' turns
}

# Whether each other kind that has turns left (`plan` tells how many it has in
# all) has had one since the last of KIND.
others_had_theirs() {
	awk -v me="$1" 'FNR == NR { all[$1] = $2; next }
		$2 == "goes" { had[$1]++; last[$1] = FNR }
		END { for (who in all)
			if (who != me && had[who] < all[who] && last[who] < last[me])
				exit 1 }' plan turns
}

# Every kind has begun anew at least so many times after another one.
all_have_met() {
	awk -v least="$1" 'FNR == NR { met[$1] = 0; next }
		$2 == "comes" { met[$1] += who != $1; who = $1 }
		END { for (who in met) if (met[who] < least) exit 1 }' plan turns
}

# In its gaps of a few milliseconds a client that looks now and then needn't ever
# find the lock free. So each kind has some turns as they come, BATCH of them, then
# leaves the lock alone until all others have had it.
BATCHES=3 BATCH=2

# in_batches KIND COMMAND...
in_batches() {
	local kind=$1 n
	shift
	for ((n = 0; n < BATCHES; n++)); do
		"$@" || return
		WAIT_SECONDS=60 wait_until others_had_theirs "$kind" || return
	done
}

rlockruns() {
	local n
	for ((n = 0; n < BATCH; n++)); do
		"$RLOCKRUN" -k "$KEY" -w 60 bash ./turn rlockrun || return
	done
}

# takes_turns CLIENT...: each client and two loops of rlockruns.
takes_turns() {
	local name pid each=$((BATCHES * BATCH)) all
	all=$((each * ($# + 2)))
	printf "%s $each\n" "$@" >plan
	echo "rlockrun $((2 * each))" >>plan
	: >turns
	for name; do
		start in_batches "$name" client "$name" 20000 60000 "$BATCH" bash ./turn "$name"
	done
	start in_batches rlockrun rlockruns
	start in_batches rlockrun rlockruns
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	echo "$(<count) of $all turns:"
	awk '$2 == "comes" { print $1 }' turns | uniq -c
	[[ $(<count) == "$all" && $(wc -l <turns) == $((2 * all)) ]]
	no_overlap
	all_have_met $((BATCHES - 1))
	[[ -z $(keys_left) ]]
}

@test "I1: redis-py, node-redlock, redis-cli and rlockrun take turns on one key" {
	need redis-py
	need node-redlock
	takes_turns redis-py node-redlock redis-cli
}

# --- rlockrun beside a holder -------------------------------------------------

# Busy is said in our words, and nothing of the lock is touched.
@test "I1: redis-cli keeps rlockrun out until it releases" {
	local token
	client_holds redis-cli 60000
	token=$(cli get "$KEY")
	[[ -n $token ]]
	run -75 timeout 20 "$RLOCKRUN" -k "$KEY" -n touch ran
	[[ $output == "rlockrun: \"$KEY\" is held by another client (not a rlockrun); command not started" ]]
	run -75 timeout 20 "$RLOCKRUN" -k "$KEY" -w 2 touch ran
	[[ ${lines[0]} == "rlockrun: \"$KEY\" is held by another client (not a rlockrun); waiting" ]]
	[[ $(cli get "$KEY") == "$token" && ! -e ran ]]
	start "$RLOCKRUN" -k "$KEY" touch ran
	wait_for_file "$ERR"
	touch released
	exits_with 0 "$CLIENT"
	exits_with 0 "$PID"
	[[ -e ran && -z $(keys_left) ]]
}

# When its lease ends, and not before.
@test "I1: a lock that a killed redis-cli left is taken over" {
	client_holds redis-cli 60000
	kill -KILL "$CLIENT"
	start "$RLOCKRUN" -k "$KEY" touch ran
	wait_for_file "$ERR"
	[[ ! -e ran ]]
	end_lease
	exits_with 0 "$PID"
	[[ -e ran && -z $(keys_left) ]]
	touch released
}

# --- a client beside rlockrun -------------------------------------------------

# It gets the lock neither at once nor by waiting.
@test "I1: rlockrun keeps redis-cli out until its job ends" {
	local token
	hold
	token=$(cli get "$KEY")
	run -75 client redis-cli 5000 0 1 touch ran
	run -75 client redis-cli 5000 300 1 touch ran
	[[ $(cli get "$KEY") == "$token" && ! -e ran ]]
	start client redis-cli 5000 20000 1 touch ran
	touch "done"
	exits_with 0 "${STARTED[0]}"
	exits_with 0 "$PID"
	[[ -e ran && -z $(keys_left) ]]
}

# It is told that the lock was not its own any more.
@test "I1: redis-cli that overstays can't free rlockrun's lock" {
	local ours
	client_holds redis-cli 60000
	end_lease
	hold
	ours=$(cli get "$KEY")
	[[ ${#ours} == 36 ]]
	touch released
	exits_with 79 "$CLIENT"
	[[ $(cli get "$KEY") == "$ours" ]]
	run -75 client redis-cli 5000 0 1 touch ran
	touch "done"
	exits_with 0 "$PID"
	[[ ! -e ran && -z $(keys_left) ]]
}

# Its job ends first, so that no renewal has found out. It doesn't act in between.
@test "I1: rlockrun that lost its lock can't free redis-cli's" {
	local holder token
	hold
	holder=$PID
	kill -STOP "$holder"
	cli del "$KEY"
	client_holds redis-cli 60000
	token=$(cli get "$KEY")
	touch "done"
	kill -CONT "$holder"
	exits_with 79 "$holder"
	[[ $(cli get "$KEY") == "$token" && $(cli pttl "$KEY") -gt 30000 ]]
	# What is known of the one that lost it is not said of its successor.
	run -75 timeout 20 "$RLOCKRUN" -k "$KEY" -n true
	[[ $output == *" is held by another client (not a rlockrun); command not started" ]]
	touch released
	exits_with 0 "$CLIENT"
	[[ $(cli exists "$KEY") == 0 ]]
}

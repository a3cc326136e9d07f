#!/usr/bin/env bats
# The users of packaging/examples/users.acl: one runs, one looks, one administers. Every
# recipe of the documents works under the one who is meant, and under the prefix that all
# documents have.
# shellcheck disable=SC2034 # helpers use what is set

load ../helpers/suite
load ../helpers/admin
load ../helpers/doctor

setup_file() {
	local acl=$BATS_FILE_TMPDIR/users.acl
	sed 's/>[A-Z-]*PASSWORD/>secret/' "$ROOT/packaging/examples/users.acl" >"$acl"
	echo 'user root on >secret ~* &* +@all' >>"$acl"
	start_suite_server --aclfile "$acl"
}

teardown_file() { stop_suite_server; }

setup() {
	begin_test
	export RLOCKRUN_PREFIX=job:
}

teardown() { end_test; }

# as USER COMMAND...
as() {
	RLOCKRUN_REDIS=unix://$1:secret@$SUITE_DIR/s "${@:2}"
}

ask_root() {
	redis-cli --raw -s "$SUITE_DIR/s" --user root -a secret --no-auth-warning "$@"
}

is_held() {
	[[ $(ask_root exists "job:$KEY") == 1 ]]
}

@test "roles: the one who runs gets the whole lock, but lists none" {
	as locker run -0 rlockrun -k "$KEY" --once-per 1h -- true
	[[ -z $output && $(ask_root hmget "{job:$KEY}:rlk:i" f) == 1* ]]
	as locker run -0 rlockrun --status -k "$KEY"
	as locker run -0 rlockrun --check -k "$KEY"
	as locker run -77 rlockrun --list
	RLOCKRUN_PREFIX=other: as locker run -77 rlockrun -k "$KEY" -- true
	as locker doctor 1 -k "$KEY"
	[[ $(problems) == "note:config warning:persistence note:access-list note:access-replicas" ]]
}

@test "roles: the one who looks sees all, and changes nothing" {
	as locker start "$RLOCKRUN" -k "$KEY" -- "$A_JOB" until:done
	wait_until is_held
	for action in --status --history; do
		as lockview run -0 rlockrun "$action" -k "$KEY"
	done
	as lockview run -0 rlockrun --list "$KEY"
	[[ $output == *"$KEY"* ]]
	as lockview run -0 rlockrun --list --all
	as lockview run -0 rlockrun --check
	as lockview run -77 rlockrun --force-release --yes -k "$KEY"
	as lockview run -77 rlockrun --pause "$KEY"
	as lockview run -77 rlockrun --hold 1h -k "$KEY:other"
	as lockview run -77 rlockrun -k "$KEY:other" -- true
	is_held
	[[ $(ask_root exists "job:$KEY:other") == 0 ]]
	as lockview run rlockrun --doctor --json -k "$KEY"
	[[ $output != *access-status* && $output != *access-list* ]]
	touch "done"
	exits_with 0 "$PID"
}

@test "roles: the one who administers pauses, holds, and releases" {
	as locker run -0 rlockrun -k "$KEY" -- true
	as lockadmin run -0 rlockrun --pause "$KEY"
	as locker run -75 rlockrun -n -k "$KEY" -- true
	[[ $output == *paused* ]]
	as lockadmin run -0 rlockrun --resume "$KEY"
	as lockadmin run -0 rlockrun --hold 1h -k "$KEY"
	as lockadmin run -0 rlockrun --force-release --yes -k "$KEY"
	run ! is_held
	as lockadmin run rlockrun --doctor --json -k "$KEY"
	[[ $(problems) != *access-[!r]* ]]
}

@test "roles: each recipe of README, tutorial, book and manual is permitted" {
	run -0 "$HELPERS/recipes" "$SUITE_DIR/s"
	echo "$output"
	[[ ${lines[-1]} =~ ^lockadmin=([0-9]+)\ locker=([0-9]+)\ lockview=([0-9]+)$ ]]
	((BASH_REMATCH[1] >= 8 && BASH_REMATCH[2] >= 40 && BASH_REMATCH[3] >= 12))
}

# credentials FILE: how often it names the user of the hosts, then how often their prefix.
credentials() {
	grep -cE "user = locker|RLOCKRUN_USER( = |[=:] ?)'?locker|^ +value: locker|//locker@" "$1"
	grep -cE "prefix = job:$|RLOCKRUN_PREFIX( = |[=:] ?)['\"]?job:|^ +value: \"job:\"|--prefix job:" "$1"
}

@test "roles: wherever a document names the user of the hosts, it has their prefix" {
	files=0
	for file in "$ROOT"/{README.md,man/book/*.md,man/*.5,packaging/{examples,systemd}/*}; do
		mapfile -t counts < <(credentials "$file")
		((counts[0] == counts[1])) || { echo "$file: ${counts[*]}" && false; }
		files=$((files + (counts[0] > 0)))
	done
	((files >= 12))
}

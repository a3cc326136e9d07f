#!/usr/bin/env bats
# Access rules: what runs do without a permission, and what --doctor says about it.
# shellcheck disable=SC2016,SC2034,SC2153,SC2154 # helpers and run set and use these

load ../helpers/suite
load ../helpers/admin
load ../helpers/doctor

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

# --- each permission in turn ----------------------------------------------------

# Each command and key, for each kind and policy: tests/unit/denials_test.c.
@test "S33: without a permission, the doctor's verdict is a run's status, and nothing stays" {
	good_server
	manual_user
	export RLOCKRUN_REDIS=unix://locker:v@$SUITE_DIR/s
	while read -r run_status doctor_status denied; do
		# shellcheck disable=SC2086 # several rules are several words
		cli acl setuser locker "${RULES[@]}" $denied
		run "-$run_status" rlockrun -n -k "$KEY" true
		doctor "$doctor_status" -k "$KEY"
		[[ -z $(keys_left) ]]
	done <<-END
		0 0
		0 1 -eval
		77 77 -eval -evalsha
		77 77 -set
		0 1 -zadd
		77 77 -del
	END
}

# --- the rules of the manual ----------------------------------------------------

@test "doctor: the access rules of the manual permit all that a run uses" {
	good_server
	manual_user
	for dryrun in '' '+acl|dryrun +acl|whoami'; do
		# shellcheck disable=SC2086
		[[ -z $dryrun ]] || cli acl setuser locker $dryrun
		doctor 0 -k "$KEY" -r "unix://locker:v@$SUITE_DIR/s"
		[[ $(problems) == "note:info note:config unknown:version "*"unknown:clients note:access-list note:access-replicas" ]]
		found access-list note "+scan" "ACL SETUSER locker +scan"
		[[ $(cli dbsize) == 0 ]]
	done
}

# That of the manual, for this test's key.
manual_user() {
	mapfile -t RULES < <(sed -n '/^ACL SETUSER locker/,/^\.Ed/p' "$ROOT/man/rlockrun-servers.7" |
		grep -o '+[^ ]*')
	((${#RULES[@]} >= 20))
	cli acl setuser locker on '>v' "~$KEY*" "~{$KEY*}:rlk:*" "${RULES[@]}"
}

@test "doctor: the advised rules permit a lock of any name, and hardly another" {
	good_server
	export RLOCKRUN_REDIS=unix://locker:v@$SUITE_DIR/s
	for name in 'a*b' 'x[1]y' "q\"t'" $'new\nline' 'a{b}*c'; do
		cli acl setuser locker on '>v' resetkeys '~nothing' +@all
		doctor 77 -k "$name"
		/usr/bin/python3 -c 'import json, sys
for f in json.loads(sys.argv[1])["findings"]:
    if f["check"] in ("access-lock", "access-helpers"):
        print(f["remedy"])' \
			"$output" >rules
		sed 's/, then CONFIG REWRITE$//' rules | cli
		doctor 0 -k "$name"
		rlockrun -k "$name" true
		run -77 rlockrun -n -k "${name:0:1}other${name: -1}" true
	done
}

@test "doctor: the keys of a lock that is held are not touched" {
	hold
	cli config resetstat
	cli acl setuser locker on '>v' '~*' '+@all' '-acl'
	start redis-cli -s "$SUITE_DIR/s" monitor
	wait_until grep -q OK "out.${#STARTED[@]}"
	MONITOR=out.${#STARTED[@]}
	doctor 1 -k "$KEY" -r "unix://locker:v@$SUITE_DIR/s"
	catch_up
	grep -q "\"SET\" \"$KEY:doctor:" "$MONITOR"
	run ! grep -E "\"\\{?$KEY(\"|\\}:rlk)" <(grep -v EVAL "$MONITOR" | grep -v "doctor:")
	cli acl deluser locker
	touch "done"
	exits_with 0 "${STARTED[0]}"
}

is_empty() { [[ $(cli dbsize) == 0 ]]; }

@test "doctor: rules for certain keys, with a scratch key that is denied" {
	good_server
	manual_user
	export RLOCKRUN_REDIS=unix://locker:v@$SUITE_DIR/s
	cli acl setuser locker +acl resetkeys "~$KEY" "~{$KEY}:rlk:[iqlm]*"
	# Other names than those of locks, and no scratch key among them.
	doctor 0
	found access-keys unknown "certain keys only" "name a lock by -k"
	# The scratch key is denied, those of the lock are asked for.
	for rule in +acl -acl; do
		cli acl setuser locker "$rule"
		doctor 1 -k "$KEY"
		found access-helpers warning "~{$KEY}:rlk:*"
	done
	doctor 77 -k "$KEY:other"
	found access-lock error "~$KEY:other"
	[[ $(cli dbsize) == 0 ]]
	# One that may not be deleted ends by itself.
	cli acl setuser locker resetkeys "~*" -del
	doctor 77 -k "$KEY"
	found access-exclusive error "+del"
	wait_until is_empty
}

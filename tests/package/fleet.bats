#!/usr/bin/env bats
# The page "A fleet in fifteen minutes", from the bare server to the alert: its certificate,
# the settings, users and files as they stand there, and each console block. Only folders,
# ports and the name of the server differ.
# shellcheck disable=SC2016 # awk's fields

load ../helpers/suite
load ../helpers/document

setup() {
	begin_test
	PAGE=$ROOT/man/book/fleet.md
	choose_port
}

teardown() { end_test; }

# here: what the page says, for this folder and a server of this host.
here() {
	sed "s|/etc/redis|$PWD|g; s|/etc/rlockrun|$PWD/rlockrun|g
		s|rediss://locks.example.com|rediss://localhost:$PORT|g; s|DNS:locks.example.com|DNS:localhost|
		s|tls-port 6379|tls-port $PORT|; s|^bind .*|bind 127.0.0.1 -::1|" "$PAGE"
}

# block N [LANGUAGE]: the Nth code block of that kind.
block() {
	here | awk -v number="$1" -v fence="\`\`\`${2:-}" '
		/^```/ { opened = !opened; inside = opened && $0 == fence && ++count == number; next }
		inside'
}

# as_root N PATTERN: the commands of block N that match.
as_root() {
	block "$1" | sed -n 's/^# //p' | grep -E "$2"
}

begin_server() {
	bash -ec "$(as_root 1 '^openssl')" 2>/dev/null
	cp "$ROOT/packaging/examples/users.acl" .
	bash -ec "$(as_root 3 '^for ')" >passwords
	[[ $(wc -l <passwords) == 3 ]]
	local setting words options=()
	while IFS= read -r setting; do
		read -ra words <<<"$setting"
		options+=("--${words[0]}" "${words[@]:1}")
	done < <(block 2)
	((${#options[@]} > 20))
	start_server "$PWD/server" "${options[@]}"
}

# keep_password NAME FILE
keep_password() {
	install -m 600 /dev/null "$2"
	awk -v name="$1" '$1 == name { print $2 }' passwords >"$2"
}

# What differs from one host to the other besides times.
mask_host() {
	mask | sed -E "s/localhost:$PORT/locks.example.com:6379/
		s/\([0-9.]+ms/(1s/; s/^( ok (kernel|processes|files|local-clock|version|clients|tls) ).*/\1/
		s/[0-9]{16}/1/; s/^( ok (round-trip|clock) ).*/\1/; s/[0-9]+min ago/1s ago/
		s/^(00:00:00 1s 1s [0-9]+ [a-z_]+ web-1 )[0-9]+/\11/; s/valid for [0-9]+ days/valid for 1 days/
		s/\banna\b/report/"
}

# bats test_tags=night
@test "a fleet in fifteen minutes: each step does what the page says" {
	begin_server
	cp locks.crt rlockrun-ca.pem
	block 1 ini >rlockrun.conf
	keep_password PASSWORD rlockrun.pw
	keep_password VIEW-PASSWORD view.pw
	keep_password ADMIN-PASSWORD admin.pw
	chmod 644 rlockrun.conf
	unset RLOCKRUN_REDIS
	RLOCKRUN_CONFIG=$PWD/rlockrun.conf MASK=mask_host plays "$PAGE"
	(($(wc -l <commands) >= 13))
}

@test "a fleet in fifteen minutes: the options of its crontab are valid" {
	cron_options=$(sed -nE 's/^[0-9].* rlockrun (--cron .*) -- .*/\1/p' "$PAGE")
	[[ $cron_options ]]
	eval "run -0 $RLOCKRUN $cron_options --show-config"
}

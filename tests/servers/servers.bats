#!/usr/bin/env bats
# Which server, how we are let in, what happens when we are not, and servers
# that are away, full, strange or hostile.
# shellcheck disable=SC2016 # the jobs' shells are to expand that

load ../helpers/suite
load ../helpers/connect

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() { begin_test; }
teardown() { end_test; }

tcp_server() {
	SUITE_DIR=$PWD/own
	start_tcp_server "$SUITE_DIR" "$@"
}

# user RULE...: a user for this test; UNIX_URL is its URL.
user() {
	cli acl setuser "$KEY" on '>secret' "$@"
	UNIX_URL=unix://${KEY//:/%3a}:secret@$SUITE_DIR/s
}

# --- URLs ---------------------------------------------------------------------

@test "TCP: IPv4, db, and a name" {
	tcp_server 127.0.0.1
	reaches "redis://127.0.0.1:$PORT"
	reaches "redis://127.0.0.1:$PORT/"
	reaches "redis://127.0.0.1:$PORT/7" 7
	reaches "redis://localhost:$PORT"
}

@test "TCP: IPv6" {
	tcp_server ::1
	reaches "redis://[::1]:$PORT"
	reaches "redis://[::1]:$PORT/7" 7
	reaches "redis://[::1%25lo]:$PORT/7" 7
	run -69 rl -n --server-timeout 1 -r "redis://[::1%25nowhere]:$PORT" true
	[[ $output == *": cannot resolve redis://[::1%25nowhere]:$PORT: No such device; command not started" ]]
}

@test "every address of a name is tried" {
	two=$'::1 two\n127.0.0.1 two'
	for address in ::1 127.0.0.1; do
		tcp_server "$address"
		run -0 with_hosts "$two" timeout 30 "$RLOCKRUN" -k "$KEY" -n \
			-r "redis://two:$PORT" true
		stop_server "$SUITE_DIR"
	done
	run -69 with_hosts "$two" timeout 30 "$RLOCKRUN" -k "$KEY" -n \
		--server-timeout 2 -r "redis://two:$PORT" true
	[[ $output == *"cannot connect to redis://two:$PORT: Connection refused (check the address, and that the server is running); command not started" ]]
}

@test "a name that doesn't exist" {
	run -69 rl --server-timeout 0.5 -r redis://nowhere.invalid true
	[[ $output == *"cannot resolve redis://nowhere.invalid:6379: "*" (check the "*"); command not started" ]]
}

@test "unix: db, and escapes in the path" {
	reaches "unix://$SUITE_DIR/s?db=5" 5
	mkdir 'a b'
	ln -s "$SUITE_DIR/s" 'a b/100%'
	reaches "unix://$PWD/a%20b/100%25"
}

@test "without a word it is the server on port 6379; its absence names -r" {
	local action command=(unshare -rn timeout 30 "$RLOCKRUN" --server-timeout 0.2)
	local hint='(this is the default server: name yours by -r or RLOCKRUN_REDIS)'
	for action in "-k $KEY true" "--status -k $KEY" --list "--force-release --yes -k $KEY"; do
		# shellcheck disable=SC2086 # several words
		run -69 env -u RLOCKRUN_REDIS "${command[@]}" $action
		[[ ${#lines[@]} == 1 && $output == *redis://127.0.0.1:6379*" $hint"* ]]
	done
	# A server that is named is not the default one, even if it is the same.
	for url in RLOCKRUN_REDIS REDIS_URL; do
		run -69 env -u RLOCKRUN_REDIS "$url=redis://127.0.0.1:6379" \
			"${command[@]}" -k "$KEY" true
		[[ $output == *redis://127.0.0.1:6379* && $output != *default* ]]
	done
}

# --- credentials ----------------------------------------------------------------

@test "user and password: in the URL, a file, the environment" {
	user '~*' +@all
	plain=unix://$SUITE_DIR/s
	(umask 077 && echo secret >password)
	run -0 rl -r "$UNIX_URL" redis-cli -s "$SUITE_DIR/s" client list
	[[ $output == *" name=rlockrun:"*" user=$KEY "* ]]
	run -0 rl -r "$plain" --user "$KEY" --password-file password true
	run -0 rl -r "$plain" --user "$KEY" --password-file <(printf secret) true
	RLOCKRUN_PASSWORD=secret run -0 rl -r "$plain" --user "$KEY" true
	RLOCKRUN_PASSWORD=secret RLOCKRUN_USER=$KEY run -0 rl true
	RLOCKRUN_PASSWORD=wrong run -0 rl -r "$UNIX_URL" true
	# Secrets are often made by echo, or on Windows.
	RLOCKRUN_PASSWORD=$'secret\n' RLOCKRUN_USER=$KEY$'\r\n' run -0 rl -r "$plain"$'\n' true
	printf 'secret\r\n' >password
	run -0 rl -r "$plain" --user "$KEY" --password-file password true
	cli acl deluser "$KEY"
}

# mounted MODE OWNER OPTION COMMAND...: with the files in `secrets` on a file system of
# their own, of that mode and owner, which is mounted with that option.
mounted() {
	unshare -m sh -c 'mount -t tmpfs none secrets && cp -p password conf secrets &&
		chmod "$0" secrets/* && chown "$1" secrets/* && mount -o "remount,$2" secrets &&
		shift 2 && exec "$@"' "$@"
}

@test "a mounted secret that others can read is warned of, as nobody can change it" {
	((EUID == 0)) && unshare -m true 2>/dev/null || skip 'a mount namespace takes privileges'
	own_server --requirepass secret
	mkdir secrets
	echo secret >password
	echo "redis = unix://:secret@$SUITE_DIR/s" >conf
	file=(timeout 90 "$RLOCKRUN" -k "$KEY" --password-file secrets/password echo ran)
	conf=(env -u RLOCKRUN_REDIS timeout 90 "$RLOCKRUN" -k "$KEY" --config secrets/conf echo ran)
	run -0 mounted 444 0 ro "${file[@]}"
	[[ $output == 'rlockrun: password file "secrets/password": others can read it (mount it with mode 0440)'$'\nran' ]]
	run -0 mounted 644 0 ro "${conf[@]}"
	[[ $output == "rlockrun: secrets/conf:1: redis has a password, and others can read the file (mount it with mode 0440)"$'\nran' ]]
	run -0 mounted 440 0 ro "${file[@]}"
	[[ $output == ran ]]
	for how in '444 0 rw' '444 1 ro' '446 0 ro'; do
		# shellcheck disable=SC2086 # three words
		run -78 mounted $how "${file[@]}"
		[[ $output == *': others can read or write it (chmod o-rwx); command not started' ]]
		# shellcheck disable=SC2086
		run -78 mounted $how "${conf[@]}"
	done
}

@test "a password without a user" {
	own_server --requirepass secret
	run -0 rl -r "unix://:secret@$SUITE_DIR/s" true
	RLOCKRUN_PASSWORD=secret run -0 rl true
	run -77 rl true
	[[ $output == *": NOAUTH "*" (give a password by --password-file or RLOCKRUN_PASSWORD, which a job does not inherit); command not started" ]]
	run -77 rl --user default true
	[[ $output == *": NOAUTH no password was given for that user (give a password by "* ]]
	run -77 rl -r "unix://:wrong@$SUITE_DIR/s" true
	[[ $output == *": WRONGPASS "*" (check the user and the password); command not started" ]]
	[[ $output != *wrong@* ]]
	run -77 rl -w 5 -r "unix://:wrong@$SUITE_DIR/s" true
}

@test "a run inside a job reports that it does not inherit the password" {
	local action
	own_server --requirepass secret
	(umask 077 && echo secret >password)
	cure='(give a password by --password-file or RLOCKRUN_PASSWORD, which a job does not inherit)'
	export RLOCKRUN
	for action in 'true' --status --list '--force-release --yes'; do
		# shellcheck disable=SC2086 # several words
		[[ $action == --list ]] || action="-k $KEY:other $action"
		# shellcheck disable=SC2086
		RLOCKRUN_PASSWORD=secret run -77 rl sh -c 'exec "$RLOCKRUN" "$@"' - $action
		[[ ${#lines[@]} == 1 && $output == *": NOAUTH "*" $cure"* ]]
	done
	RLOCKRUN_PASSWORD=secret RLOCKRUN_USER=default run -77 rl \
		sh -c '"$RLOCKRUN" -k "$KEY:other" true'
	[[ $output == *": NOAUTH "*" $cure; command not started" ]]
	RLOCKRUN_PASSWORD_FILE=password run -0 rl sh -c '"$RLOCKRUN" -k "$KEY" true'
	[[ -z $output ]]
}

@test "refused: the lock of the db that was not meant stays with its holder" {
	own_server
	hold
	token=$(cli get "$KEY")
	run -77 rl -n -r "unix://$SUITE_DIR/s?db=99" true
	[[ $(cli get "$KEY") == "$token" ]]
	touch "done"
	exits_with 0 "$PID"
}

# --- permissions ----------------------------------------------------------------

# What rlockrun can't do without.
needed() {
	echo eval get pttl set del pexpire
}

# What it takes to wait in line, and to tell who holds the lock.
for_queue() {
	echo time hmget hset zrange zrank zcard zrangebyscore zadd zrem blpop
}

@test "B6: a user with no more than is needed" {
	read -ra rule < <(echo "$(needed) $(for_queue)")
	user "~$KEY" "~{$KEY}:rlk:*" "${rule[@]/#/+}" +exists +zscore +rpush +lpush
	export RLOCKRUN_REDIS=$UNIX_URL
	LOGNAME=deploy hold -t 9
	cli pexpire "$KEY" 7000
	run -75 rl -n true
	[[ ${#lines[@]} == 1 && $output == *"(pid $PID, deploy)"* ]]
	wait_until left_above 7000
	touch "done"
	exits_with 0 "$PID"
	[[ ! -s $ERR && -z $(keys_left) ]]
	cli acl deluser "$KEY"
}

# --- the password is nobody's business ----------------------------------------

# Where a text can be seen: command lines and environments of all processes of
# this test, and what was printed.
sightings() {
	local cwd files=()
	# shellcheck disable=SC2044 # these names have no blanks
	for cwd in $(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$BATS_TEST_TMPDIR" 2>/dev/null); do
		files+=("${cwd%cwd}cmdline" "${cwd%cwd}environ")
	done
	grep -a -l -s -F "$1" "${files[@]}" err.* out.* job.env
}

# unseen RLOCKRUN [OPTION...]: neither while it holds nor while it waits.
unseen() {
	start "$@" -v -k "$KEY" sh -c 'env >job.env; echo $$ >job; until [ -e done ]; do sleep 0.05; done'
	wait_for_file job
	start "$@" -v -k "$KEY" true
	wait_until grep -q waiting "$ERR"
	[[ -z $(sightings hush) ]]
	touch "done"
	for pid in "${STARTED[@]}"; do
		exits_with 0 "$pid"
	done
	[[ -z $(sightings hush) ]]
	grep -q "acquired on unix://$SUITE_DIR/s" err.1
}

@test "a password in -r is not to be seen" {
	user resetpass '>hush' '~*' +@all
	unseen "$RLOCKRUN" -r "${UNIX_URL/secret/hush}"
	cli acl deluser "$KEY"
}

@test "a password in RLOCKRUN_REDIS is not to be seen" {
	user resetpass '>hush' '~*' +@all
	unseen env RLOCKRUN_REDIS="${UNIX_URL/secret/hush}" "$RLOCKRUN"
	grep -qx "RLOCKRUN_REDIS=unix://$SUITE_DIR/s" job.env
	cli acl deluser "$KEY"
}

@test "a password in a file is not to be seen" {
	user resetpass '>hush' '~*' +@all
	(umask 077 && echo hush >password)
	unseen "$RLOCKRUN" --user "$KEY" --password-file password
	cli acl deluser "$KEY"
}

@test "a password is not to be seen in messages about mistakes" {
	for url in "redis://u:hush@h:70000" "redis://u:hush@" "http://u:hush@h" \
		"redis://u:hush%zz@h" "hush@h" "redis://u:hush@h/x" "redis://u:hush@h h" \
		"redis://u:hush/hush@h" "redis://:hu/hush@h" "redis-sentinel://u:1/hush@h" \
		"unix://u:hush/hush@/s"; do
		run -64 rl -r "$url" true
		[[ ${#lines[@]} == 1 && $output != *hush* ]]
		RLOCKRUN_REDIS=$url run -78 rl true
		[[ ${#lines[@]} == 1 && $output != *hush* ]]
		RLOCKRUN_REDIS='' REDIS_URL=$url run -78 rl true
		[[ ${#lines[@]} == 1 && $output != *hush* ]]
	done
	run -64 rl --password hush true
	[[ $output != *hush* ]]
	run -64 rl --password=hush true
	[[ $output != *hush* ]]
	run -64 rl --passwd=hush true
	[[ $output != *hush* ]]
	run -69 rl -v --server-timeout 0.3 -r "unix://u:hush@$PWD/away" true
	[[ $output != *hush* ]]
}

# --- no server ------------------------------------------------------------------

# fails STATUS [OPTION...]: without a job.
fails() {
	run "-$1" rl "${@:2}" touch ran
	echo "$output"
	[[ ! -e ran ]]
}

@test "no server: 69 after --server-timeout, and at the end of -w" {
	export RLOCKRUN_REDIS=unix://$PWD/away
	fails 69 --server-timeout 0.8
	[[ $output == *"rlockrun: \"$KEY\": cannot connect to unix://$PWD/away: No such file or directory (check the path, and that the server is running); command not started" ]]
	fails 69 -n --server-timeout 0.8
	fails 69 -w 1h --server-timeout 0.8
	fails 69 -w 0.4 --server-timeout 1h
}

# bats test_tags=native
@test "a slow name server is asked once" {
	need_strace
	tcp_server 127.0.0.1
	run -0 strace -f -o trace -P /etc/hosts -e inject=openat:delay_enter=1500000 \
		"$RLOCKRUN" -k "$KEY" -r "redis://localhost:$PORT" --server-timeout 60 true
	[[ $(grep -c /etc/hosts trace) == 1 ]]
}

@test "a frozen server: 69; what it does later is undone" {
	own_server
	freeze
	fails 69 -n --server-timeout 0.9
	[[ $output == *"no answer from unix://$SUITE_DIR/s"* ]]
	fails 69 --server-timeout 0.9
	fails 69 -w 0.9
	thaw
	wait_until has_read 3
	[[ -z $(keys_left) && $(cli info commandstats) =~ cmdstat_eval:calls=([0-9]*), ]]
	# Newer servers run all that came before the end of the connection.
	((BASH_REMATCH[1] >= 6))
}

# Whether so many runs have been heard, with all that they sent first.
has_read() {
	[[ $(cli info commandstats) =~ cmdstat_client.setname:calls=$1, ]]
}

@test "--on-unavailable run: without the lock, with a warning" {
	export RLOCKRUN_REDIS=unix://$PWD/away
	export RLOCKRUN_TOKEN=inherited RLOCKRUN_FENCE=inherited
	run -9 --separate-stderr rl --on-unavailable=run --server-timeout 0.2 sh -c 'env; exit 9'
	[[ $output == *"RLOCKRUN_KEY=$KEY"* ]]
	[[ $output != *RLOCKRUN_TOKEN* && $output != *RLOCKRUN_FENCE* ]]
	# shellcheck disable=SC2154 # set by run
	[[ ${stderr_lines[-1]} == "rlockrun: \"$KEY\": cannot connect to $RLOCKRUN_REDIS: "*"; running without the lock" ]]
	run -0 rl --on-unavailable run -w 0.2 touch ran
	[[ -e ran ]]
}

@test "a server that comes late is found" {
	export RLOCKRUN_REDIS=unix://$PWD/own/s
	start "$RLOCKRUN" -k "$KEY" sh -c 'exit 3'
	own_server
	exits_with 3 "$PID"
}

# --- keys that are no locks, servers that are full ------------------------------

# --- no Redis server at all -----------------------------------------------------

# fake SHELL-COMMAND: a server that does this with each connection.
fake() {
	printf '%s\n' "$1" >fake
	start socat -U "UNIX-LISTEN:$PWD/f,fork" SYSTEM:'sh ./fake',pipes
	wait_until test -S f
	export RLOCKRUN_REDIS=unix://$PWD/f
}

@test "a server's words are escaped, and cannot make rlockrun print the password" {
	fake 'printf "%s\r\n" "-ERR unknown command AUTH, with args beginning with: hush" "+OK" "-ERR no" "-ERR no"; sleep 1'
	run -77 rl -n --server-timeout 60 -r "unix://:hush@$PWD/f" true
	[[ $output != *hush* ]]
	fake 'printf "+OK\r\n"; printf -- "-ERR \033[31mred\033]0;title\a\r\n%.0s" 1 2 3; sleep 1'
	run -69 rl -n --server-timeout 2 true
	[[ $output == *'\x1b[31mred'* && $output != *[[:cntrl:]]* ]]
}

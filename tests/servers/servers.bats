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

@test "-r over RLOCKRUN_REDIS over REDIS_URL; empty is unset" {
	here=unix://$SUITE_DIR/s
	away=unix://$PWD/away
	reaches "$here"
	RLOCKRUN_REDIS=$away REDIS_URL=$away reaches "$here"
	RLOCKRUN_REDIS=$here REDIS_URL=$away run -0 rl true
	RLOCKRUN_REDIS=$here REDIS_URL=nonsense run -0 rl true
	RLOCKRUN_REDIS='' REDIS_URL=$here run -0 rl true
	RLOCKRUN_REDIS=$away REDIS_URL=$here run -69 rl --server-timeout 0.2 true
	RLOCKRUN_REDIS='' REDIS_URL=nonsense run -78 rl true
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

# bats test_tags=night
@test "a password that is a word of the server's reply gets the same advice" {
	local password advice='(leave the password out, or name a user by --user); command not started'
	own_server
	for password in secret password default p ERR '<password>'; do
		RLOCKRUN_PASSWORD=$password run -77 rl true
		[[ $output == *": ERR AUTH <password> called without any password"*" $advice" ]]
		RLOCKRUN_PASSWORD=$password run -77 "$RLOCKRUN" --doctor
		[[ $output == *"ERR AUTH <password> called"*"-> leave the password out"* ]]
	done
	cli config set requirepass secret
	for password in wrong user WRONGPASS invalid; do
		RLOCKRUN_PASSWORD=$password run -77 rl true
		[[ $output == *": WRONGPASS invalid username-password pair or user is disabled. (check the user and the password); "* ]]
	done
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

# bats test_tags=night
@test "special characters in a password, percent-encoded" {
	own_server
	cli acl setuser 'a/b@c:d' on '~*' +@all '>p@s/s:w?o#r%d [ü]'
	run -0 rl -r "unix://a%2Fb%40c%3Ad:p%40s%2fs%3aw%3Fo%23r%25d%20%5B%C3%BC%5d@$SUITE_DIR/s" true
	run -77 rl -r "unix://a%2Fb%40c%3Ad:p@$SUITE_DIR/s" true
}

# denied WORDS URL: 77 with these words, and nothing in any db.
denied() {
	run -77 rl -n -r "$2" touch ran
	[[ ${#lines[@]} == 1 && $output == "rlockrun: \"$KEY\": refused by "*"$1"* ]]
	run -77 rl -w 5 -r "$2" touch ran
	[[ ! -e ran ]]
	[[ -z $(keys_left) ]]
}

# bats test_tags=night
@test "a wrong password where the default user is open: 77, no lock is left" {
	own_server
	denied WRONGPASS "unix://ghost:boo@$SUITE_DIR/s"
	denied 'without any password' "unix://:boo@$SUITE_DIR/s"
}

@test "a db that isn't there: 77, no lock is left" {
	own_server
	denied 'out of range' "unix://$SUITE_DIR/s?db=99"
}

@test "refused: no lock is left" {
	own_server
	run -77 rl -n -r "unix://ghost:boo@$SUITE_DIR/s" true
	run -77 rl -n -r "unix://$SUITE_DIR/s?db=99" true
	[[ -z $(keys_left) ]]
}

# bats test_tags=night
@test "refused while the lock is held: no place in its queue is left" {
	own_server
	hold
	run -77 rl -w 5 -r "unix://ghost:boo@$SUITE_DIR/s" true
	[[ $(cli exists "{$KEY}:rlk:q" "{$KEY}:rlk:l") == 0 ]]
	touch "done"
	exits_with 0 "$PID"
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

@test "B6: a user without the queue's commands or keys waits without it, with a warning" {
	local -A rules=([keys]="~$KEY ~{$KEY}:rlk:i +@all")
	local what command
	for command in $(for_queue); do
		rules[$command]="~* +@all -$command"
	done
	for what in "${!rules[@]}"; do
		rm -f job ./done
		# shellcheck disable=SC2086 # a rule is several words
		user reset on '>secret' ${rules[$what]}
		hold
		start "$RLOCKRUN" -k "$KEY" -r "$UNIX_URL" sh -c 'echo ran >ran'
		wait_until grep -q '; waiting' "$ERR"
		touch ./done
		exits_with 0 "$PID"
		wait_for_file ran
		rm ran
		[[ $(wc -l <"$ERR") == 3 && $(<"$ERR") == *': the queue cannot be used: '* ]]
		exits_with 0 "${STARTED[-2]}"
	done
	[[ -z $(keys_left) ]]
	cli acl deluser "$KEY"
}

@test "a user without any one of them: 77 names it, nothing is left" {
	read -ra rule < <(needed)
	for command in "${rule[@]}"; do
		user reset on '>secret' '~*' +@all -evalsha "-$command"
		run -77 rl -n -r "$UNIX_URL" touch ran
		[[ ${#lines[@]} == 1 && ${output,,} =~ [^a-z]${command}[^a-z] ]]
		[[ ! -e ran ]]
		[[ -z $(keys_left) ]] || echo "without $command: $(keys_left)" >>left
	done
	cli acl deluser "$KEY"
	[[ ! -e left ]] || run -0 cat left
	[[ ! -e left ]]
}

@test "a user without permission for this key: 77, nothing is left" {
	user "~other:*" +@all
	run -77 rl -n -r "$UNIX_URL" touch ran
	[[ $output == *NOPERM* || $output == *permission* ]]
	[[ ! -e ran && -z $(keys_left) ]]
	cli acl deluser "$KEY"
}

@test "a user with the lock's key alone: acquired, also by a nested run, and released" {
	user "~$KEY" +@all
	run -0 rl -r "$UNIX_URL" "$RLOCKRUN" -k "$KEY" -r "$UNIX_URL" true
	[[ $output == *": the outer run cannot see this one: "* && $output != *"cannot confirm"* ]]
	[[ -z $(keys_left) && $(cli exists "{$KEY}:rlk:i") == 0 ]]
	cli acl deluser "$KEY"
}

@test "a user without client setname or hmget gets the lock all the same" {
	user '~*' +@all -client -hmget
	run -0 rl -n -r "$UNIX_URL" true
	hold
	run -75 rl -n -r "$UNIX_URL" true
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

# bats test_tags=night
@test "nor is one in RLOCKRUN_REDIS if newlines separate the URLs" {
	user resetpass '>hush' '~*' +@all
	unseen env RLOCKRUN_REDIS="${UNIX_URL/secret/hush}"$'\r\n' "$RLOCKRUN"
	grep -qx "RLOCKRUN_REDIS=unix://$SUITE_DIR/s" job.env
	cli acl deluser "$KEY"
}

# bats test_tags=night
@test "a password in RLOCKRUN_PASSWORD is not to be seen" {
	user resetpass '>hush' '~*' +@all
	unseen env RLOCKRUN_PASSWORD=hush "$RLOCKRUN" --user "$KEY"
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

@test "a server that stays away is reported after 2 s, once, and at the end" {
	own_server
	cli set "$KEY" other
	start rl -w 5m --server-timeout 5 touch ran
	wait_until grep -q waiting err.1
	stop_server "$SUITE_DIR"
	start rl -w 5m --server-timeout 5 touch ran
	exits_with 69 "${STARTED[0]}"
	exits_with 69 "${STARTED[1]}"
	[[ $(wc -l <err.1) == 3 && $(sed -n 2p err.1) == *": cannot connect to "*"; trying again" ]]
	[[ $(tail -n 1 err.1) == *"; command not started" ]]
	[[ $(wc -l <err.2) == 2 && $(<err.2) == *": cannot connect to "*"; trying again"$'\n'*"; command not started" ]]
	[[ ! -e ran ]]
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

@test "--on-unavailable: busy stays busy, refused stays refused" {
	hold
	run -75 rl --on-unavailable run -n touch ran
	run -75 rl --on-unavailable run -w 0.2 touch ran
	run -77 rl --on-unavailable run -r "unix://ghost:boo@$SUITE_DIR/s" touch ran
	run -77 rl --on-unavailable skip -qE 0 -r "unix://ghost:boo@$SUITE_DIR/s" touch ran
	[[ ! -e ran ]]
}

@test "a server that comes late is found" {
	export RLOCKRUN_REDIS=unix://$PWD/own/s
	start "$RLOCKRUN" -k "$KEY" sh -c 'exit 3'
	own_server
	exits_with 3 "$PID"
}

# --- keys that are no locks, servers that are full ------------------------------

@test "a key that holds something else: 76, and it stays" {
	cli rpush "$KEY" a
	run -76 rl -n touch ran
	[[ ${#lines[@]} == 1 && $output == "rlockrun: \"$KEY\" is not a lock: "*WRONGTYPE* ]]
	run -76 rl touch ran
	[[ $(cli lrange "$KEY" 0 -1) == a ]]
	cli del "$KEY"
	cli hset "$KEY" field a
	run -76 rl -n touch ran
	[[ $(cli hget "$KEY" field) == a ]]
	[[ ! -e ran && $(keys_left) == "$KEY" ]]
}

@test "a replica: its error is the last word, however long the run waits" {
	own_server --replicaof 127.0.0.1 1
	for how in -n "-w 0.6" "-w 3"; do
		# shellcheck disable=SC2086 # options are to be split
		run -69 rl $how --server-timeout 2 touch ran
		[[ ${lines[-1]} == *"READONLY "*"(it is a replica: "*"command not started" && ! -e ran ]]
	done
}

@test "a server that is busy with a script is waited for" {
	own_server --busy-reply-threshold 50
	start redis-cli -s "$SUITE_DIR/s" eval 'while true do end' 0
	wait_until busy
	start_proxy proxy
	start "$RLOCKRUN" -k "$KEY" --server-timeout 60 sh -c 'exit 6'
	wait_until has_passed proxy EVAL/acquire 2
	cli script kill
	exits_with 6 "$PID"
}

busy() {
	[[ $(cli get "$KEY" 2>&1) == BUSY* ]]
}

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

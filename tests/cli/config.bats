#!/usr/bin/env bats
# Configuration files: where they are, what they may be, which of their values
# hold, and what --show-config says of them. tests/unit/conf_test.c has the
# syntax.
# shellcheck disable=SC2154 # run sets stderr and stderr_lines
# shellcheck disable=SC2016 # the shells of jobs are to expand that
# shellcheck disable=SC2030,SC2031 # each test sets variables for its runs

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	unset RLOCKRUN_CONFIG RLOCKRUN_REDIS
	# A file of this machine must not count.
	[[ ! -e /etc/rlockrun.conf ]] || export RLOCKRUN_CONFIG=$PWD/conf
	mkdir -m 755 home
	export HOME=$PWD/home XDG_CONFIG_HOME=
	URL=$SUITE_URL
}
teardown() { end_test; }

# conf LINE...: the file `conf`, which runs read in place of the usual ones.
conf() {
	printf '%s\n' "$@" | install -m 600 /dev/stdin conf
	export RLOCKRUN_CONFIG=$PWD/conf
}

# user_conf LINE...: that of the user.
user_conf() {
	[[ ! -e /etc/rlockrun.conf ]] || skip "/etc/rlockrun.conf exists"
	mkdir -p home/.config
	printf '%s\n' "$@" | install -m 600 /dev/stdin home/.config/rlockrun.conf
}

# shows NAME VALUE ORIGIN [OPTION...]: what --show-config prints of an option.
shows() {
	local line value
	line=$("$RLOCKRUN" --show-config "${@:4}" | grep "^$1 = ")
	echo "$line"
	value=${line%%' # '*} value=${value#"$1 = "}
	[[ ${value%"${value##*[^ ]}"} == "$2" && ${line#*' # '} == "$3" ]]
}

# wrong MESSAGE [ARGUMENT...]: exit status 78 with this line, and no job. In front
# of the message is the file's name if it begins with a colon.
wrong() {
	local message=$1
	run -78 --separate-stderr timeout -k 1 30 "$RLOCKRUN" -k "$KEY" "${@:2}" touch ran
	echo "$stderr"
	[[ $message != :* ]] || message=$RLOCKRUN_CONFIG$message
	[[ $stderr == "rlockrun: $message; command not started" && ! -e ran ]]
}

# --- which files --------------------------------------------------------------

# bats test_tags=native
@test "without files a run tries to open two" {
	need_strace
	[[ ! -e /etc/rlockrun.conf ]] || skip "/etc/rlockrun.conf exists"
	RLOCKRUN_REDIS=$URL strace -o calls -e trace=%file "$RLOCKRUN" -k "$KEY" true
	[[ $(grep -c 'rlockrun\.conf' calls) == 2 ]]
	grep -q 'open.*"/etc/rlockrun.conf".*ENOENT' calls
	grep -q "open.*\"$HOME/.config/rlockrun.conf\".*ENOENT" calls
	RLOCKRUN_REDIS=$URL strace -o calls -e trace=%file "$RLOCKRUN" -k "$KEY" --config none true
	run ! grep rlockrun.conf calls
}

@test "the file of the user is below XDG_CONFIG_HOME or ~/.config" {
	user_conf 'ttl = 2s'
	shows ttl 2s "$HOME/.config/rlockrun.conf:1"
	mkdir xdg
	export XDG_CONFIG_HOME=$PWD/xdg
	shows ttl 30s default
	install -m 600 /dev/stdin xdg/rlockrun.conf <<<'ttl = 3s'
	shows ttl 3s "$PWD/xdg/rlockrun.conf:1"
	XDG_CONFIG_HOME=xdg shows ttl 2s "$HOME/.config/rlockrun.conf:1"
	XDG_CONFIG_HOME='' HOME=home shows ttl 30s default
	unset XDG_CONFIG_HOME HOME
	shows ttl 30s default
}

@test "--config and RLOCKRUN_CONFIG name the only file, or none" {
	user_conf 'ttl = 2s'
	conf 'splay = 3s'
	shows splay 3s "$PWD/conf:1"
	shows ttl 30s default
	RLOCKRUN_CONFIG='' shows ttl 2s "$HOME/.config/rlockrun.conf:1"
	RLOCKRUN_CONFIG=none shows ttl 30s default
	RLOCKRUN_CONFIG=missing shows splay 3s conf:1 --config conf
	shows splay 0s default --config none
	wrong "missing: No such file or directory" --config missing
	wrong "--config needs the name of a file, or none" --config ''
}

@test "all values hold for a run, and a nested run reads the file again" {
	conf "redis = $URL" 'prefix = p:' 'ttl = 7s' '[lock test:*]' 'label = of the file'
	rl "$RLOCKRUN" -k inner sh -c 'echo $RLOCKRUN_TTL_MS $RLOCKRUN_KEY; '"'$RLOCKRUN' --status -k $KEY" >out
	[[ $(head -n 1 out) == '7000 inner' ]]
	grep -q 'label: *of the file' out
	[[ $(cli exists "{p:$KEY}:rlk:f") == 1 ]]
}

@test "the files of the host and of the user" {
	[[ $EUID == 0 ]] || skip 'another /etc takes privileges'
	unshare -m true 2>/dev/null || skip 'no mount namespaces'
	mkdir etc
	printf '%s\n' 'ttl = 2s' 'splay = 2s' '[lock a*]' 'max-run = 2s' >etc/rlockrun.conf
	printf '%s\n' 'ttl = 3s' 'max-run = 3s' '[lock *]' 'min-hold = 3s' >user
	unset RLOCKRUN_CONFIG
	mkdir home/.config
	install -m 600 user home/.config/rlockrun.conf
	unshare -m sh -c 'mount --bind etc /etc && exec "$@"' - "$RLOCKRUN" --show-config -k abc >out
	grep "^ttl = 3s  *# $HOME/.config/rlockrun.conf:1$" out
	grep "^splay = 2s  *# /etc/rlockrun.conf:2$" out
	grep "^max-run = 2s  *# /etc/rlockrun.conf:4 \[lock a\*\]$" out
	grep "^min-hold = 3s  *# $HOME/.config/rlockrun.conf:4 \[lock \*\]$" out
	# Three hosts, each with a user of its own, run by the file of the host alone.
	echo "redis = $URL" >etc/rlockrun.conf
	rm home/.config/rlockrun.conf
	for host in a b c; do
		unshare -mu sh -c 'hostname "$0" && mount --bind etc /etc && exec "$@"' "$host" \
			"$RLOCKRUN" -k "$KEY" -n sh -c 'echo ran' >>ran
	done
	[[ $(grep -c ran ran) == 3 ]]
}

# --- which value --------------------------------------------------------------

@test "precedence: command line, environment, lock, profile, general" {
	conf 'ttl = 2s' '[lock b*]' 'ttl = 3s' '[profile p]' 'ttl = 4s' \
		'[profile q]' 'ttl = 5s' '[lock bc*]' 'ttl = 6s'
	shows ttl 2s "$PWD/conf:1" -k a
	shows ttl 2s "$PWD/conf:1"
	shows ttl 3s "$PWD/conf:3 [lock b*]" -k ba
	shows ttl 4s "$PWD/conf:5 [profile p]" -k a --profile p
	shows ttl 3s "$PWD/conf:3 [lock b*]" -k b --profile p
	shows ttl 6s "$PWD/conf:9 [lock bc*]" -k bcd
	export RLOCKRUN_PROFILE=q
	shows ttl 5s "$PWD/conf:7 [profile q]" -k a
	shows ttl 4s "$PWD/conf:5 [profile p]" -k a --profile p
	shows ttl 2s "$PWD/conf:1" -k a --profile ''
	export RLOCKRUN_TTL=8s
	shows ttl 8s RLOCKRUN_TTL -k b
	shows ttl 9s 'command line' -k b -t 9s
}

@test "servers of a higher precedence replace all others; REDIS_URL comes last" {
	conf 'redis = redis://a redis://b:7' '[lock c*]' 'redis = redis://d'
	export REDIS_URL=redis://e
	shows redis 'redis://a:6379 redis://b:7' "$PWD/conf:1"
	shows redis redis://d:6379 "$PWD/conf:3 [lock c*]" -k c
	shows redis redis://f:6379 'command line' -k c -r redis://f
	RLOCKRUN_REDIS=redis://g shows redis redis://g:6379 RLOCKRUN_REDIS -k c
	conf 'ttl = 5s'
	shows redis redis://e:6379 REDIS_URL
	unset REDIS_URL
	shows redis redis://127.0.0.1:6379 default
}

@test "kinds are one setting, and so are nonblock and wait" {
	conf 'shared = yes' 'wait = 5s' '[lock p*]' 'permits = 3' 'nonblock = yes' \
		'[lock px]' 'exclusive = yes' 'wait = 6s'
	shows shared yes "$PWD/conf:1" -k a
	shows permits 3 "$PWD/conf:4 [lock p*]" -k p
	shows exclusive yes "$PWD/conf:7 [lock px]" -k px
	shows wait 5s "$PWD/conf:2" -k a
	shows nonblock yes "$PWD/conf:5 [lock p*]" -k p
	shows wait 6s "$PWD/conf:8 [lock px]" -k px
	"$RLOCKRUN" --show-config -k p >out
	run ! grep -E '^(shared|exclusive|wait) =' out
	shows exclusive yes 'command line' -k p -x
	conf 'shared = yes' 'permits = 3'
	wrong ':2: only one of --exclusive, --shared and --permits can be given'
	conf 'exclusive = yes' 'shared = yes' '[lock p]' 'permits = 3'
	wrong ':2: only one of --exclusive, --shared and --permits can be given'
	shows permits 3 "$PWD/conf:4 [lock p]" -k p
	conf 'wait = 3' 'nonblock = yes'
	wrong ':2: nonblock and wait exclude each other'
}

@test "a glob is compared with the name, without the prefix" {
	conf 'prefix = a' '[lock b?d/*]' 'ttl = 2s' '[lock [xy]]' 'ttl = 3s'
	shows ttl 2s "$PWD/conf:3 [lock b?d/*]" -k bcd/e/f
	shows ttl 3s "$PWD/conf:5 [lock [xy]]" -k x
	shows ttl 30s default -k abcd/e
	shows ttl 30s default -k z
}

@test "several locks: what is set for one is set for all, to one value" {
	conf 'splay = 1s' '[lock a*]' 'ttl = 2s' '[lock b*]' 'ttl = 3s' '[lock c*]' 'ttl = 2s' \
		'[lock d*]' 'splay = 1s'
	shows ttl 2s "$PWD/conf:3 [lock a*]" -k a1 -k a2
	shows ttl 2s "$PWD/conf:3 [lock a*]" -k a -k c
	shows splay 1s "$PWD/conf:9 [lock d*]" -k d -k x
	conf_file=$RLOCKRUN_CONFIG
	KEY=a wrong ":3: [lock a*] sets ttl for \"a\", but $conf_file:5 [lock b*] for \"b\" (set it for both: --ttl)" -k b
	KEY=x wrong ":3: [lock a*] sets ttl for \"a\", but nothing for \"x\" (set it for both: --ttl)" -k a
	shows ttl 9s 'command line' -k a -k b -t 9s
	RLOCKRUN_TTL=8s shows ttl 8s RLOCKRUN_TTL -k a -k x
	conf 'shared = yes' '[lock a]' 'permits = 3'
	KEY=a wrong ':3: [lock a] sets permits for "a", but nothing for "b" (set it for both: --permits)' -k b
	shows exclusive yes 'command line' -k a -k b -x
	conf '[lock a]' 'wait = 3s' '[lock b]' 'nonblock = yes'
	shows nonblock yes 'command line' -k a -k x -n
	shows wait 9s 'command line' -k b -k x -w 9s
	RLOCKRUN_WAIT=8s shows wait 8s RLOCKRUN_WAIT -k a -k b
	RLOCKRUN_NONBLOCK=1 shows nonblock 1 RLOCKRUN_NONBLOCK -k a -k b
	RLOCKRUN_NONBLOCK=0 KEY=a wrong ':2: [lock a] sets wait for "a", but nothing for "x" (set it for both: --wait)' -k x
}

# --- mistakes in a file -------------------------------------------------------

@test "unknown names, with the one that is meant" {
	conf '' 'tll = 5s'
	wrong ":2: unknown name 'tll' (did you mean ttl?)"
	conf 'max_run = 5s'
	wrong ":1: unknown name 'max_run' (did you mean max-run?)"
	conf 'fruit = 5s'
	wrong ':1: unknown name'
	for name in key status config profile show-config token; do
		conf "$name = a"
		wrong ":1: $name cannot be set in a file (--$name)"
	done
	conf 'password = secret'
	wrong ':1: a password cannot be set here (password-file, or in the URL)'
}

@test "bad values, also where they do not apply" {
	conf '[lock other]' 'ttl = 5x'
	wrong ":2: ttl '5x': not a duration (a number with ms, s, min, h or d, such as 90, 1.5h or 1h30m)" -t 5
	conf '[profile other]' 'quiet = YES'
	wrong ":2: quiet 'YES': neither yes nor no"
	conf 'redis = redis://:secret@h:70000'
	wrong ':1: redis: port must be 1 to 65535'
	conf 'redis ='
	wrong ':1: redis: no URL'
	conf "once-id = $(printf %01000d 0)"
	wrong ':1: once-id: not a text of 1 to 256 bytes'
	conf 'ttl = 5s' 'timeout = 5' 'wait = 6'
	wrong ':3: wait is set in line 2 already'
	conf 'redis = redis://a redis://a'
	wrong ':1: the same server is given twice: redis://a:6379'
	conf 'password-file = missing'
	wrong ':1: password file "missing": No such file or directory'
	conf 'shared = yes' 'redis = redis://a redis://b'
	wrong ':2: locks on several servers are exclusive'
}

@test "wrong lines: sections, quotes, NUL, control characters" {
	conf 'quiet'
	wrong ':1: neither name = value nor a section'
	conf 'ttl = 5s' '[locks a]'
	wrong ':2: a section is [profile NAME] or [lock GLOB]'
	conf '[lock a'
	wrong ":1: a section without its ']'"
	conf 'label = "a'
	wrong ':1: a quote without its end'
	printf 'ttl = 5s\nlabel = a\0b\n' >conf
	wrong ':2: contains a NUL byte'
	printf 'label = \033[2J\n' >conf
	wrong ':1: contains a control character'
	head -c 10000 "$RLOCKRUN" >conf
	wrong ':1: contains a control character'
	printf '\xff\xfet\0t\0l\0' >conf
	wrong ':1: contains a NUL byte'
}

@test "a byte order mark and CRLF are accepted" {
	conf
	printf '\xef\xbb\xbfttl = 5s\r\n[lock a]\r\nquiet = yes' >conf
	shows ttl 5s "$PWD/conf:1"
	shows quiet yes "$PWD/conf:3 [lock a]" -k a
}

@test "an unknown profile, with the one that is meant" {
	conf '[profile staging]' 'ttl = 5s'
	wrong 'no configuration file has a profile "stagnig" (did you mean "staging"?)' --profile stagnig
	RLOCKRUN_PROFILE=other wrong 'no configuration file has a profile "other"'
	export RLOCKRUN_CONFIG=none
	wrong 'no configuration file has a profile "staging"' --profile staging
	conf '[profile empty]'
	shows ttl 30s default --profile empty
}

@test "a wrong file is no mistake of --help, but of --status and --list" {
	conf 'fruit = 5s'
	"$RLOCKRUN" --help >/dev/null
	"$RLOCKRUN" --version >/dev/null
	for action in "--status -k $KEY" --list "--force-release --yes -k $KEY" --show-config; do
		# shellcheck disable=SC2086 # several words
		run -78 "$RLOCKRUN" $action
		[[ $output == "rlockrun: $PWD/conf:1: unknown name" ]]
	done
}

# --- what a file must be ------------------------------------------------------

@test "a folder, a pipe, a device, a file of 10 MB" {
	conf
	wrong '/: a directory' --config /
	wrong '/dev/zero: neither a regular file nor a pipe' --config /dev/zero
	truncate -s 10M large
	wrong 'large: larger than 1 MB' --config large
	{
		echo 'ttl = 5s'
		yes '# 1 MB' | head -c $((1024 * 1024 - 9))
	} >most
	shows ttl 5s most:1 --config most
	echo >>most
	wrong 'most: larger than 1 MB' --config most
}

@test "a pipe is read to its end, as by --password-file" {
	shows ttl 5s /dev/fd/4:2 --config /dev/fd/4 4< <(cat <(echo '# in parts') <(echo 'ttl = 5s'))
	mkfifo pipe
	(echo 'ttl = 6s' >pipe) 3>&- &
	shows ttl 6s pipe:1 --config pipe
	chmod 620 pipe
	chgrp 1 pipe 2>/dev/null || chmod 622 pipe
	(echo 'ttl = 6s' >pipe) 3>&- &
	wrong 'pipe: others can write to it (chmod go-w)' --config pipe
	wrong '/dev/fd/4: larger than 1 MB' --config /dev/fd/4 4< <(yes '# 1 MB')
}

@test "an empty pipe is a mistake: of a nested run, or of a command that failed" {
	wrong '/dev/fd/4: an empty pipe' --config /dev/fd/4 4< <(false)
	RLOCKRUN_CONFIG=/dev/fd/4 RLOCKRUN_REDIS=$URL run -78 "$RLOCKRUN" -k "$KEY" -- \
		"$RLOCKRUN" -k "$KEY:nested" -- touch ran 4< <(echo 'ttl = 6s')
	[[ $output == 'rlockrun: /dev/fd/4: an empty pipe'*'; command not started' && ! -e ran ]]
}

@test "/dev/null is an empty file" {
	user_conf 'ttl = 2s'
	shows ttl 30s default --config /dev/null
	RLOCKRUN_CONFIG=/dev/null shows ttl 30s default
	ln -sf /dev/null home/.config/rlockrun.conf
	shows ttl 30s default
}

@test "a link to a file is followed, a link to nothing is a mistake" {
	user_conf 'ttl = 5s'
	mv home/.config/rlockrun.conf real
	ln -s "$PWD/real" home/.config/rlockrun.conf
	shows ttl 5s "$HOME/.config/rlockrun.conf:1"
	rm real
	wrong "$HOME/.config/rlockrun.conf: a link to a file that does not exist"
	mkfifo real
	wrong "$HOME/.config/rlockrun.conf: not a regular file"
	rm home/.config/rlockrun.conf
	ln -s rlockrun.conf home/.config/rlockrun.conf
	wrong "$HOME/.config/rlockrun.conf: Too many levels of symbolic links"
	# No folder is no file.
	rm -r home/.config
	: >home/.config
	shows ttl 30s default
}

@test "only its owner may write to a file" {
	conf 'ttl = 5s'
	chgrp 1 conf 2>/dev/null || :
	for mode in 620 602 666; do
		[[ $mode != 620 || $(stat -c %g conf) == 1 ]] || continue
		chmod "$mode" conf
		wrong ': others can write to it (chmod go-w)'
	done
	for mode in 400 644 755; do
		chmod "$mode" conf
		shows ttl 5s "$PWD/conf:1"
	done
}

# in_etc COMMAND...: with the files in the folder etc in place of those in /etc.
in_etc() {
	unshare -m sh -c 'for file in etc/*; do mount --bind "$file" "/$file" || exit; done
		exec "$@"' - "$@"
}

@test "the group of a user without other members is that user" {
	need_other_user
	unshare -m true 2>/dev/null || skip 'no mount namespaces'
	mkdir etc
	conf 'ttl = 5s' '[lock other]' 'redis = redis://user:secret@h'
	chown "$OTHER_USER:$OTHER_USER" conf
	chmod 660 conf
	echo "me:x:$OTHER_USER:$OTHER_USER::/:/bin/sh" >etc/passwd
	for group in me: me:me; do
		echo "${group/:/:x:$OTHER_USER:}" >etc/group
		in_etc setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups \
			./rlockrun --show-config | grep '^ttl = 5s'
	done
	chmod 640 conf
	in_etc ./rlockrun --config none --show-config >/dev/null
	chmod 660 conf
	# One of another name, with another member, and the first one of another user.
	for group in us: me:me,you me:; do
		echo "${group/:/:x:$OTHER_USER:}" >etc/group
		[[ $group != me: ]] || echo "you:x:$((OTHER_USER + 1)):$OTHER_USER::/:/bin/sh" >>etc/passwd
		chmod 660 conf
		run -78 in_etc setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups \
			./rlockrun --show-config
		[[ $output == "rlockrun: $PWD/conf: others can write to it (chmod go-w)" ]]
		chmod 640 conf
		run -78 in_etc setpriv --reuid "$OTHER_USER" --regid "$OTHER_USER" --clear-groups \
			./rlockrun --show-config
		[[ $output == "rlockrun: $PWD/conf:3: redis has a password, and others can read the file (chmod go-r)" ]]
	done
}

# without_root COMMAND...: as another user, in a user namespace without root, and
# with the folder etc as /etc.
without_root() {
	unshare -m sh -c 'mount --bind etc /etc && exec "$@"' - setpriv --reuid "$OTHER_USER" \
		--regid "$OTHER_USER" --clear-groups unshare -r "$@"
}

@test "in a user namespace the file of the host belongs to an unknown root" {
	need_other_user
	unset RLOCKRUN_CONFIG
	mkdir -m 755 etc
	without_root true 2>/dev/null || skip 'no user namespaces'
	echo 'ttl = 5s' >etc/rlockrun.conf
	without_root ./rlockrun --show-config | grep '^ttl = 5s'
	without_root ./rlockrun --config /etc/rlockrun.conf --show-config | grep '^ttl = 5s'
	# Neither any other file, nor a link, nor where others can write.
	cp etc/rlockrun.conf etc/other.conf
	run -78 without_root ./rlockrun --config /etc/other.conf --show-config
	[[ $output == "rlockrun: /etc/other.conf: belongs to another user" ]]
	chmod 775 etc
	run -78 without_root ./rlockrun --show-config
	[[ $output == "rlockrun: /etc/rlockrun.conf: belongs to another user" ]]
	chmod 755 etc
	ln -sf other.conf etc/rlockrun.conf
	run -78 without_root ./rlockrun --show-config
	[[ $output == "rlockrun: /etc/rlockrun.conf: belongs to another user" ]]
	# Where the outer root is known, it is no root: nobody's file is nobody's.
	rm etc/rlockrun.conf
	echo 'ttl = 5s' >etc/rlockrun.conf
	chown "$(</proc/sys/kernel/overflowuid)" etc/rlockrun.conf
	run -78 unshare -m sh -c 'mount --bind etc /etc && exec "$@"' - ./rlockrun --show-config
	[[ $output == "rlockrun: /etc/rlockrun.conf: belongs to another user" ]]
	run -78 unshare -m sh -c 'mount --bind etc /etc && exec "$@"' - unshare -r ./rlockrun --show-config
	[[ $output == "rlockrun: /etc/rlockrun.conf: belongs to another user" ]]
}

@test "a file belongs to root or to this user" {
	need_other_user
	conf 'ttl = 5s'
	as_other_user ./rlockrun --config none --show-config >/dev/null
	chmod 644 conf
	as_other_user ./rlockrun --show-config | grep '^ttl = 5s'
	chown "$OTHER_USER" conf
	as_other_user ./rlockrun --show-config | grep '^ttl = 5s'
	wrong ': belongs to another user'
	chmod 600 conf
	chown 0 conf
	run -78 as_other_user ./rlockrun --show-config
	[[ $output == "rlockrun: $PWD/conf: Permission denied" ]]
	# That of another user's home is none, unless it can be seen.
	user_conf 'ttl = 5s'
	unset RLOCKRUN_CONFIG
	run -78 as_other_user ./rlockrun --show-config
	[[ $output == "rlockrun: $HOME/.config/rlockrun.conf: Permission denied" ]]
	chmod 700 home
	as_other_user ./rlockrun --show-config | grep '^ttl = 30s'
}

# --- passwords ----------------------------------------------------------------

@test "others cannot read a file with a password" {
	conf '[lock other]' 'redis = redis://a redis://user:secret@h'
	shows ttl 30s default
	chmod 600 conf
	shows ttl 30s default
	chgrp 1 conf 2>/dev/null || :
	for mode in 640 604; do
		[[ $mode != 640 || $(stat -c %g conf) == 1 ]] || continue
		chmod "$mode" conf
		wrong ':2: redis has a password, and others can read the file (chmod go-r)'
	done
	conf 'redis = redis://user@h'
	chmod 644 conf
	shows redis redis://h:6379 "$PWD/conf:1"
}

@test "a password of a file is in no message, not in ps and not in the job" {
	cli acl setuser conf on '>s3cret' '~*' +@all
	conf "redis = ${URL/'unix://'/unix://conf:s3cret@}" 'verbose = yes' \
		'[lock other]' 'redis = redis://other:s3cret@h'
	start "$RLOCKRUN" -k "$KEY" sh -c 'env >env; until [ -e done ]; do sleep 0.05; done'
	wait_for_file env
	run ! grep -a s3cret env "/proc/$PID/cmdline" "$ERR"
	"$RLOCKRUN" --show-config >shown
	run ! grep -E 's3cret|other:' shown
	touch "done"
	exits_with 0 "$PID"
	run ! grep s3cret "$ERR"
	cli acl deluser conf
}

# bats test_tags=native
@test "one copy of a password of a file is in memory, and none in the guard" {
	((EUID == 0)) || skip "reading rlockrun's memory takes privileges"
	cli acl setuser conf on '>s3cret' '~*' +@all
	conf "redis = ${URL/'unix://'/unix://conf:s3cret@}" '[lock other]' \
		'redis = redis://other:s3cret@h'
	hold
	find_guard "$PID"
	[[ $("$HELPERS/copies-in-memory" "$PID" s3cret) == 1 ]]
	[[ $("$HELPERS/copies-in-memory" "$GUARD" s3cret) == 0 ]]
	touch "done"
	exits_with 0 "$PID"
	cli acl deluser conf
}

@test "RLOCKRUN_PASSWORD has precedence over the password file of a file" {
	cli acl setuser "$KEY" on '>right' '~*' +@all
	install -m 600 /dev/stdin wrong <<<wrong
	install -m 600 /dev/stdin right <<<right
	conf "redis = $URL" "user = $KEY" "password-file = $PWD/wrong"
	run -77 rl true
	RLOCKRUN_PASSWORD=right rl true
	RLOCKRUN_PASSWORD=wrong rl --password-file right true
	conf "redis = $URL" "user = $KEY" "password-file = $PWD/right"
	rl true
	cli acl deluser "$KEY"
}

# --- --show-config ------------------------------------------------------------

@test "--show-config: the whole of it, which is a configuration file itself" {
	conf 'ttl = 60s' 'label = " a # b"' '[lock nightly:*]' 'max-run = 1h'
	"$RLOCKRUN" --show-config -n -k nightly:a >shown
	diff -u - shown <<-END
		exclusive = yes                  # default
		ttl = 60s                        # $PWD/conf:1
		min-hold = 0s                    # default
		keep-history = 4d                # default
		once-per = 0s                    # default
		once-exit-code = 75              # default
		nonblock = yes                   # command line
		newest = no                      # default
		replace = no                     # default
		replaceable = no                 # default
		conflict-exit-code = 75          # default
		quiet = no                       # default
		splay = 0s                       # default
		label = " a # b"                 # $PWD/conf:2
		wait-all = no                    # default
		max-run = 1h                     # $PWD/conf:4 [lock nightly:*]
		on-lost = stop                   # default
		kill-after = 5s                  # default
		on-unavailable = fail            # default
		server-timeout = 10s             # default
		redis = redis://127.0.0.1:6379   # default
		min-uptime = 1m                  # default
		wait-replicas = 0                # default
		verbose = no                     # default
		log-format = text                # default
		progress = auto                  # default
	END
	chmod go-w shown
	"$RLOCKRUN" --config shown --show-config -k a | sed 's/ *# [^#]*$//' >again
	sed 's/ *# [^#]*$//' shown | diff -u - again
}

@test "--show-config runs nothing and reads no password file" {
	export RLOCKRUN_PASSWORD_FILE=$PWD/missing
	conf "redis = unix:///nonexistent"
	"$RLOCKRUN" --show-config -k "$KEY" >out
	grep -q "^password-file = $PWD/missing *# RLOCKRUN_PASSWORD_FILE" out
	conf 'password-file = one' 'sentinel-password-file = two'
	unset RLOCKRUN_PASSWORD_FILE
	RLOCKRUN_PASSWORD=secret "$RLOCKRUN" --show-config -k "$KEY" >out
	run ! grep -E '^password-file|secret' out
	grep -q '^sentinel-password-file = two ' out
	run -64 "$RLOCKRUN" --show-config -k "$KEY" touch ran
	[[ ! -e ran ]]
	run -64 "$RLOCKRUN" --show-config --list
	run -64 "$RLOCKRUN" --show-config -c ls
	run -71 sh -c 'exec "$0" --show-config >/dev/full' "$RLOCKRUN"
}

@test "--show-config: what would not be read back is a comment" {
	conf
	"$RLOCKRUN" --show-config --label $'a\nb\e' -k "$KEY" >out
	grep -qxF '# label cannot be shown as a setting: a\nb\x1b # command line' out
}

# --- the manual ---------------------------------------------------------------

@test "the example of the manual" {
	[[ $EUID == 0 ]] || skip 'another /etc takes privileges'
	unshare -m true 2>/dev/null || skip 'no mount namespaces'
	unset RLOCKRUN_CONFIG
	mkdir etc
	awk '/^\.S[hs]/ { inside = /CONFIGURATION FILES/ }
		inside && /^\.Bd -literal/ { count++; text = 1; next }
		/^\.Ed/ { text = 0 }
		inside && text { print >"block." count }' "$ROOT/man/rlockrun.conf.5"
	install -m 644 block.1 etc/rlockrun.conf
	unshare -m sh -c 'mount --bind etc /etc && exec "$@"' - \
		"$RLOCKRUN" --show-config -k nightly:report >shown
	[[ $(wc -l <block.2) == 4 ]]
	while IFS= read -r line; do
		grep -xF -- "$line" shown
	done <block.2
	grep -q '^label = "nightly job #1" ' shown
}

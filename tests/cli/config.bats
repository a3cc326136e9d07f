#!/usr/bin/env bats
# Configuration files: where they are, what they may be, whose they must be. Which of
# their values hold, and mistakes in them, is in tests/tables/config.txt, the syntax in
# tests/unit/conf_test.c.
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
}

# --- what a file must be ------------------------------------------------------

@test "wrong lines: NUL, a program, UTF-16" {
	conf
	printf 'ttl = 5s\nlabel = a\0b\n' >conf
	wrong ':2: contains a NUL byte'
	head -c 10000 "$RLOCKRUN" >conf
	wrong ':1: contains a control character'
	printf '\xff\xfet\0t\0l\0' >conf
	wrong ':1: contains a NUL byte'
}

@test "a file of 10 MB" {
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

@test "a file that is longer than its size, such as those of /proc, is a mistake" {
	wrong '/proc/version: changed while it was read' --config /proc/version
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

# --- --show-config ------------------------------------------------------------

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

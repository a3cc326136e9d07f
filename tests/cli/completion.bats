#!/usr/bin/env bats
# Completion of the names of locks, in shells on a terminal. That of options is
# compared with the table in docs.bats.
# shellcheck disable=SC2016 # the shells on the terminal are to expand that

load ../helpers/suite

setup_file() { start_suite_server; }
teardown_file() { stop_suite_server; }

setup() {
	begin_test
	PATH=$(dirname "$RLOCKRUN"):$PATH
	export HOME=$PWD ZDOTDIR=$PWD XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD
	unset XDG_DATA_DIRS
	COMPLETIONS=$PWD/completions
	patient_completions
	write_rc
}
teardown() {
	cli flushall >/dev/null
	end_test
}

# patient_completions: copies in the folder COMPLETIONS that wait for the server for ten
# seconds instead of a quarter of a second, because a busy machine needs longer.
patient_completions() {
	mkdir "$COMPLETIONS"
	local file
	for file in "$ROOT"/completions/*; do
		sed 's/timeout 0.25 /timeout 10 /; s/--server-timeout 0.2 /--server-timeout 10 /' \
			"$file" >"$COMPLETIONS/${file##*/}"
		[[ $(diff "$file" "$COMPLETIONS/${file##*/}" | grep -c '^>') == 1 ]]
	done
}

# write_rc: what the shells read when they start.
write_rc() {
	printf 'source %q\nPS1="> "\n' "$COMPLETIONS/rlockrun.bash" >rc
	cat >.zshrc <<-END
		fpath=(${COMPLETIONS@Q} \$fpath)
		autoload -U compinit
		compinit -u -D
		PS1='> '
	END
}

# types SHELL KEYS: on a terminal, behind the prompt. Ends with the shell, which
# the keys have to end.
types() {
	local shell
	case $1 in
	bash) shell=(bash --noprofile --rcfile rc -i) ;;
	zsh) shell=(zsh -i) ;;
	fish) shell=(fish --init-command "source $COMPLETIONS/rlockrun.fish") ;;
	esac
	rm -f screen
	TERM=dumb timeout -k 1 60 "$HELPERS/on-pty" screen "screen:$2" -- "${shell[@]}" || :
}

# completes SHELL [TYPED NAME]...: each last word becomes that name, whatever has to be
# quoted in it.
completes() {
	local which=$1 keys='' pair
	shift
	rm -f got
	for ((pair = 1; pair < $#; pair += 2)); do
		keys+="rlockrun --status -k ${!pair}\\t >>got\\r"
	done
	types "$which" "${keys}exit\\r"
	sed -n 's/^lock:     //p' got >names
	while (($#)); do
		echo "$2"
		shift 2
	done | diff - names || {
		cat got screen >&2
		return 1
	}
}

take() {
	local name
	for name; do
		"$RLOCKRUN" --hold 1h -k "$name" >/dev/null
	done
}

for_each_shell() {
	local shell
	for shell in bash zsh fish; do
		"$@" "$shell"
	done
}

finds_locks() {
	completes "$1" on one job:s job:sync job: job:sync a=b a=b=c us user@host
}

@test "-k after an action completes the locks of the server" {
	take one job:sync a=b=c user@host
	for_each_shell finds_locks
}

completes_actions() {
	types "$1" 'rlockrun --hold 5h -k on\t --token x 2>err1\rrlockrun --force-release --yes --key=on\t 2>err2\rexit\r'
	grep -q '"one": the hold with that token has ended' err1
	grep -q '"one": released' err2
	take one
}

@test "for each action, and as --key=NAME" {
	take one
	for_each_shell completes_actions
}

quotes_names() {
	completes "$1" ta 'tag{x}:y' two 'two words' ho 'ho$HOME' sta 'star*' \
		se 'semi;colon' am 'am&p' pa 'pa(r)' gt 'gt>x'
}

@test "names are quoted as the shell needs it" {
	take 'tag{x}:y' 'two words' 'ho$HOME' 'star*' 'semi;colon' 'am&p' 'pa(r)' 'gt>x'
	for_each_shell quotes_names
}

leaves_out() {
	completes "$1" it it ba ba co co bu bu
}

@test "names with quotes, backslashes, control characters and beyond ASCII are left out" {
	take 'it"s' 'back\slash' $'co\e[1mlour' 'buüro'
	for_each_shell leaves_out
}

uses_options() {
	rm -f got
	types "$1" "rlockrun -r '$url?db=0' --prefix=p: --status -k on\\t >got\\rexit\\r"
	[[ $(head -n 1 got) == "lock:     one" ]]
	rm got
	install -m 600 /dev/stdin pw <<<secret
	types "$1" "rlockrun --redis ${url/'unix://'/unix://locker@} --prefix p: --password-file ~/pw --status -k on\\t >got\\rexit\\r"
	[[ $(head -n 1 got) == "lock:     one" ]]
}

@test "the server and the prefix on the command line are used" {
	url=$RLOCKRUN_REDIS
	cli acl setuser locker on '>secret' '~*' +@all
	take p:one
	RLOCKRUN_REDIS=unix://$PWD/none
	for_each_shell uses_options
}

completes_nothing() {
	rm -f ran
	types "$1" 'rlockrun -n -k on\t touch ran\rexit\r'
	[[ -e ran ]]
}

@test "without an action no lock is completed" {
	take one
	for_each_shell completes_nothing
}

is_silent() {
	rm -f got
	types "$1" 'rlockrun --status -k on\t\t\x15echo end >got\rexit\r'
	[[ $(<got) == end ]]
	run ! grep -E 'rlockrun: |cannot|Terminated|timeout' screen
}

# For a server the completions wait a quarter of a second: here the patient ones are of no use.
@test "without a server nothing is completed, and nothing is printed" {
	RLOCKRUN_REDIS=unix://$PWD/none
	COMPLETIONS=$ROOT/completions
	write_rc
	for_each_shell is_silent
}

@test "with a server that does not reply nothing is completed, either" {
	COMPLETIONS=$ROOT/completions
	write_rc
	own_server
	freeze
	for_each_shell is_silent
	thaw
}

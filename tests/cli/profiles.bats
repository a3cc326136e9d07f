#!/usr/bin/env bats
# Completion of --profile and --config by bash, zsh and fish, typed at a terminal.
# shellcheck disable=SC2016 # the shells are to expand that

load ../helpers/suite

setup() {
	begin_test
	unset RLOCKRUN_CONFIG
	# In place of the program: what it would get, with a stroke between two arguments.
	mkdir bin home home/.config
	printf '%s\n' '#!/bin/sh' 'IFS="|"' 'echo "$*" >>arguments' >bin/rlockrun
	chmod +x bin/rlockrun
	PATH=$PWD/bin:$PATH
	export HOME=$PWD/home XDG_CONFIG_HOME=$PWD/home/.config
	printf '%s\n' 'ttl = 5s' '[profile staging]' '[lock lock-x]' ' [ profile  other ] # c' \
		'# [profile stale]' >"$HOME/.config/rlockrun.conf"
	printf '[profile elsewhere]\n' >named.conf
	mkfifo pipe
}
teardown() { end_test; }

# Each begins with its prompt in the file `prompt`.
begin_bash() {
	printf '%s\n' "source '$ROOT/completions/rlockrun.bash'" \
		"PROMPT_COMMAND='echo >prompt'" >rc
	SHELL_COMMAND=(bash --noprofile --rcfile "$PWD/rc" -i)
}

begin_zsh() {
	mkdir functions
	cp "$ROOT/completions/_rlockrun" functions
	printf '%s\n' "fpath=('$PWD/functions' \$fpath)" 'autoload -Uz compinit' \
		'compinit -u -D' 'precmd() { echo >prompt }' >home/.zshrc
	SHELL_COMMAND=(env ZDOTDIR="$HOME" zsh -o no_global_rcs -i)
}

begin_fish() {
	SHELL_COMMAND=(fish --no-config -C "source '$ROOT/completions/rlockrun.fish'
		function fish_prompt; echo >prompt; end")
}

# completes [KEYS WORDS]...: what is typed becomes the arguments WORDS.
completes() {
	local keys='' pair
	rm -f arguments prompt
	for ((pair = 1; pair < $#; pair += 2)); do keys+="rlockrun ${!pair}\\n"; done
	timeout 60 "$HELPERS/on-pty" screen "prompt:$keys" 'arguments:exit\n' \
		-- "${SHELL_COMMAND[@]}" 3>&- || :
	while (($#)); do
		echo "$2"
		shift 2
	done | diff - arguments || {
		cat -v screen
		return 1
	}
}

for_each_shell() {
	local shell
	for shell in bash zsh fish; do
		type "$shell" >/dev/null 2>&1 || skip "no $shell"
		echo "$shell"
		"begin_$shell"
		"$1"
	done
}

completes_profiles() {
	completes '--profile st\t' '--profile|staging' '--profile=o\t' '--profile=other' \
		'--config named.conf --profile e\t' '--config|named.conf|--profile|elsewhere' \
		'--config pipe --profile e\t' '--config|pipe|--profile|e' \
		'--config na\t' '--config|named.conf'
	RLOCKRUN_CONFIG=$PWD/named.conf completes '--profile e\t' '--profile|elsewhere'
}

@test "--profile completes the profiles of the files, --config a file" {
	for_each_shell completes_profiles
}

quotes_profiles() {
	completes '--config named.conf --profile ni\t' '--config|named.conf|--profile|night shift' \
		'--config ~/named.conf --profile e\t' "--config|$HOME/named.conf|--profile|elsewhere"
	[[ ! -e ran ]]
}

@test "names of profiles are quoted, and never run as commands" {
	printf '[profile elsewhere]\n' >home/named.conf
	printf '[profile %s]\n' 'night shift' '$(touch ran)' '`touch ran`' >named.conf
	for_each_shell quotes_profiles
}

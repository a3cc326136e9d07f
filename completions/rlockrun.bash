# bash completion for rlockrun(1); needs no bash-completion package.

# Completes the command that starts at COMP_WORDS[$1].
_rlockrun_command() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif (($1 == COMP_CWORD)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		compopt -o default 2>/dev/null || :
	fi
}

# The profiles of the configuration files, or of that of --config.
_rlockrun_profiles() {
	local files=(/etc/rlockrun.conf "${XDG_CONFIG_HOME:-$HOME/.config}/rlockrun.conf") i
	[[ ! ${RLOCKRUN_CONFIG:-} ]] || files=("$RLOCKRUN_CONFIG")
	for ((i = 1; i < ${#words[@]}; i++)); do
		case ${words[i - 1]} in
		--config) files=("${words[i]}") ;;
		--config=*) files=("${words[i - 1]#*=}") ;;
		esac
	done
	sed -n 's/^[[:blank:]]*\[[[:blank:]]*profile[[:blank:]]\{1,\}\(.*[^[:blank:]]\)[[:blank:]]*\].*/\1/p' \
		"${files[@]}" 2>/dev/null
}

# Completes the argument of option $1; true when it takes one.
_rlockrun_argument() {
	local cur=$2

	case $1 in
	--on-lost) mapfile -t COMPREPLY < <(compgen -W 'stop warn' -- "$cur") ;;
	--on-unavailable) mapfile -t COMPREPLY < <(compgen -W 'fail run' -- "$cur") ;;
	--progress) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur") ;;
	--profile) mapfile -t COMPREPLY < <(compgen -W "$(_rlockrun_profiles)" -- "$cur") ;;
	--config | --password-file | --sentinel-password-file | --tls-ca | --tls-cert | --tls-key)
		compopt -o default 2>/dev/null || :
		;;
	--key | --permits | --ttl | --min-hold | --wait | --timeout | --conflict-exit-code | --command | \
		--kill-after | --server-timeout | --redis | --prefix | --user | \
		--sentinel-user | --max-waiters | --min-uptime | --wait-replicas | --splay | --max-run | \
		--warn-after | --hold | --older-than | --token | --label) ;;
	--*) return 1 ;;
	# In a group of short options only the last one can want the next word.
	-*[kptwEcr]*) [[ $1 =~ ^-[^kptwEcr]*[kptwEcr]$ ]] ;;
	*) return 1 ;;
	esac
}

_rlockrun() {
	local line=$COMP_LINE words=() starts=() i last word
	local options='-k --key -e -x --exclusive -s --shared -p --permits
		-t --ttl --min-hold
		-n --nonblock --nb --nonblocking -w --wait --timeout
		--max-waiters -E --conflict-exit-code -q --quiet --splay -c --command
		--label --wait-all --max-run --warn-after --on-lost
		--kill-after --on-unavailable --server-timeout -r --redis
		--min-uptime --wait-replicas --prefix
		--user --password-file --sentinel-user --sentinel-password-file
		--tls-ca --tls-cert --tls-key --status --list --force-release
		--hold --json --older-than --token --yes -v --verbose --progress
		--config --profile --show-config -h --help -V --version'

	COMPREPLY=()
	# Readline splits at ':' and '=', too: join what no blank separates.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		if ((i == 0)) || [[ $line == [[:blank:]]* ]]; then
			words+=('') starts+=("$i")
			line=${line#"${line%%[![:blank:]]*}"}
		fi
		words[${#words[@]} - 1]+=${COMP_WORDS[i]}
		line=${line#"${COMP_WORDS[i]}"}
	done

	last=$((${#words[@]} - 1))
	for ((i = 1; i < last; i++)); do
		case ${words[i]} in
		--)
			_rlockrun_command "${starts[i + 1]}"
			return
			;;
		-?*) _rlockrun_argument "${words[i]}" '' && ((i++)) ;;
		*) break ;;
		esac
	done
	if ((i < last)) || [[ $i == "$last" && ${words[last]} != -* ]]; then
		_rlockrun_command "${starts[i]}"
		return
	fi

	word=${COMP_WORDS[COMP_CWORD]}
	if ((i > last)); then
		_rlockrun_argument "${words[last - 1]}" "$word"
	elif [[ ${words[last]} == --*=* ]]; then
		_rlockrun_argument "${words[last]%%=*}" "${word#=}"
	else
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
	fi
}

complete -F _rlockrun rlockrun

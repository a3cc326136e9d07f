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

# Sets `word` to what the shell makes of the typed word $1, if that is in quotes
# or begins with ~/.
_rlockrun_unquote() {
	word=$1
	[[ $word != \'*\' && $word != \"*\" ]] || word=${word:1:-1}
	[[ $word != \~/* ]] || word=$HOME${word:1}
}

# Offers those of the names on standard input that begin with $1. Readline replaces
# only what follows the last word break of $1, which is $2. compgen -W would run
# what looks like a command in a name.
_rlockrun_offer() {
	local name quoted start kept=${1%"$2"}

	[[ $1 != *[\'\"\$\`]* ]] || return 0
	[[ $2 != [:=@]* ]] || kept=$1
	# shellcheck disable=SC2162 # it is to remove backslashes
	IFS= read start <<<"$1"
	while IFS= read -r name; do
		[[ $name == "$start"* ]] || continue
		printf -v quoted %q "$name"
		COMPREPLY+=("${quoted#"$kept"}")
	done
}

# The profiles of the configuration files, or of that of --config.
_rlockrun_profiles() {
	local files=(/etc/rlockrun.conf "${XDG_CONFIG_HOME:-$HOME/.config}/rlockrun.conf") i word
	[[ ! ${RLOCKRUN_CONFIG:-} ]] || files=("$RLOCKRUN_CONFIG")
	for ((i = 1; i < ${#words[@]}; i++)); do
		case ${words[i - 1]} in
		--config) _rlockrun_unquote "${words[i]}" && files=("$word") ;;
		--config=*) files=("${words[i - 1]#*=}") ;;
		esac
	done
	for word in "${files[@]}"; do
		[[ ! -f $word ]] ||
			sed -n 's/^[[:blank:]]*\[[[:blank:]]*profile[[:blank:]]\{1,\}\(.*[^[:blank:]]\)[[:blank:]]*\].*/\1/p' \
				"$word" 2>/dev/null
	done
}

# Completes the argument of option $1; true when it takes one.
_rlockrun_argument() {
	local cur=$2

	case $1 in
	--on-lost) mapfile -t COMPREPLY < <(compgen -W 'stop warn' -- "$cur") ;;
	--on-unavailable) mapfile -t COMPREPLY < <(compgen -W 'fail run skip' -- "$cur") ;;
	--log-format) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$cur") ;;
	--log-to)
		compopt -o default 2>/dev/null || :
		mapfile -t COMPREPLY < <(compgen -W 'stderr syslog' -- "$cur")
		;;
	--progress) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur") ;;
	--metrics) mapfile -t COMPREPLY < <(compgen -A directory -- "$cur") ;;
	--config | --password-file | --sentinel-password-file | --tls-ca | --tls-cert | --tls-key)
		compopt -o default 2>/dev/null || :
		;;
	--key | --permits | --ttl | --min-hold | --keep-history | --once-per | --once-id | --expect | --wait | --timeout | --conflict-exit-code | --command | \
		--kill-after | --server-timeout | --redis | --prefix | --user | \
		--sentinel-user | --max-waiters | --min-uptime | --wait-replicas | --splay | --max-run | \
		--warn-after | --hook | --hold | --pause | --for | --resume | --older-than | --token | --label | --profile) ;;
	--*) return 1 ;;
	# In a group of short options only the last one can want the next word.
	-*[kptwEcr]*) [[ $1 =~ ^-[^kptwEcr]*[kptwEcr]$ ]] ;;
	*) return 1 ;;
	esac
}

# Lists the locks whose names begin with $2, one a line, as program $1 finds them
# with the server of `words`. Names of anything but printable ASCII without quotes
# and backslashes are left out.
_rlockrun_list() {
	local server=() word i

	for ((i = 1; i < last; i++)); do
		case ${words[i]} in
		-r | --redis | --config | --profile | --prefix | --user | --password-file | --sentinel-user | \
			--sentinel-password-file | --tls-ca | --tls-cert | --tls-key)
			server+=("${words[i++]}")
			_rlockrun_unquote "${words[i]}"
			server+=("$word")
			;;
		-r* | --redis=* | --config=* | --profile=* | --prefix=* | --user=* | --password-file=* | --sentinel-user=* | \
			--sentinel-password-file=* | --tls-ca=* | --tls-cert=* | --tls-key=*)
			server+=("${words[i]}")
			;;
		esac
	done
	word=${2//\\/\\\\} word=${word//\*/\\*} word=${word//\?/\\?} word=${word//\[/\\[}
	timeout 0.25 "$1" "${server[@]}" --server-timeout 0.2 --list --json -- "$word*" \
		2>/dev/null </dev/null |
		LC_ALL=C sed -n 's/^{"held":true,"name":"\([]-~ !#-[]*\)","key".*/\1/p'
}

# Completes the name of a lock, $2, for an action of program $1. $3 is what follows
# the last word break of the name.
_rlockrun_lock() {
	local start i

	for ((i = 1; i < last; i++)); do
		[[ ${words[i]} != @(--status|--force-release|--doctor|--hold|--hold=*|--pause|--pause=*) ]] || break
	done
	((i < last)) && [[ $2 != *[\'\"\$\`]* ]] || return 0
	# shellcheck disable=SC2162 # it is to remove backslashes
	IFS= read start <<<"$2"
	_rlockrun_offer "$2" "$3" < <(_rlockrun_list "$1" "$start")
}

# Completes the argument of option $2 of program $1: $3, and what follows the last
# word break of it, $4.
_rlockrun_value() {
	if [[ $2 == --key || $2 =~ ^-[^-kptwEcr]*k$ ]]; then
		_rlockrun_lock "$1" "$3" "$4"
	elif [[ $2 == --profile ]]; then
		_rlockrun_offer "$3" "$4" < <(_rlockrun_profiles)
	else
		_rlockrun_argument "$2" "${4#=}"
	fi
}

_rlockrun() {
	local line=$COMP_LINE words=() starts=() i last word
	local options='-k --key -e -x --exclusive -s --shared -p --permits
		-t --ttl --min-hold --keep-history --once-per --once-id --expect
		-n --nonblock --nb --nonblocking -w --wait --timeout
		--max-waiters --newest --replace --replaceable
		-E --conflict-exit-code --cron -q --quiet --splay -c --command
		--label --wait-all --max-run --warn-after --hook --on-lost
		--kill-after --on-unavailable --server-timeout -r --redis
		--min-uptime --wait-replicas --prefix
		--user --password-file --sentinel-user --sentinel-password-file
		--tls-ca --tls-cert --tls-key --status --list --all --failed --history --check --force-release
		--hold --pause --for --resume --doctor --json --older-than --watch --token --yes -v --verbose
		--log-format --log-to --progress --metrics --config --profile --show-config -h --help -V --version'

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
		_rlockrun_value "$1" "${words[last - 1]}" "${words[last]}" "$word"
	elif [[ ${words[last]} == --*=* ]]; then
		_rlockrun_value "$1" "${words[last]%%=*}" "${words[last]#*=}" "$word"
	else
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
	fi
}

complete -F _rlockrun rlockrun

# --doctor: its findings, and a server without any.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # bats sets output and lines, suites use CONF

# doctor STATUS [OPTION...]: the JSON is in output.
doctor() {
	run -"$1" --separate-stderr rlockrun --doctor --json "${@:2}"
	[[ -z $stderr && ${#lines[@]} == 1 ]]
}

# read_findings: those of the JSON document in $output, one each, in FINDINGS.
read_findings() {
	local list=${output#*'"findings":['}
	mapfile -t FINDINGS <<<"${list//'},{'/'}'$'\n''{'}"
}

# found CHECK SEVERITY WORDS [REMEDY]: one finding is that.
found() {
	local one words=${3//'"'/'\"'} remedy=${4:-}
	read_findings
	for one in "${FINDINGS[@]}"; do
		[[ $one != *'"check":"'"$1"'","severity":"'"$2"'","text":"'*"$words"*'","remedy":'*"${remedy//'"'/'\"'}"* ]] || return 0
	done
	printf '%s\n' "${FINDINGS[@]}" >&2
	return 1
}

# Severity and check of all findings but the good ones.
problems() {
	local one all=()
	read_findings
	for one in "${FINDINGS[@]}"; do
		[[ $one =~ '"check":"'([^\"]*)'","severity":"'(note|unknown|warning|error)\" ]] &&
			all+=("${BASH_REMATCH[2]}:${BASH_REMATCH[1]}")
	done
	echo "${all[*]}"
}

# The name of the configuration file of this server.
CONF=redis.conf
case $(redis-server --version 2>/dev/null) in
[Vv]alkey*) CONF=valkey.conf ;;
[Rr]edict*) CONF=redict.conf ;;
esac

# Whether the server has no ACL DRYRUN, pauses no writes alone, and lets scripts write
# though replicas are missing.
is_before_7() {
	[[ $(redis-server --version) == *" v="[56].* ]]
}

# A server that is as the manual wants it.
good_server() {
	own_server --appendonly yes --appendfsync always --maxmemory-policy noeviction
}

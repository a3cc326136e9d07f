# --doctor: its findings, and a server without any.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # bats sets output and lines, suites use CONF

# doctor STATUS [OPTION...]: the JSON is in output.
doctor() {
	run -"$1" --separate-stderr rlockrun --doctor --json "${@:2}"
	[[ -z $stderr && ${#lines[@]} == 1 ]]
}

# found CHECK SEVERITY WORDS [REMEDY]: one finding is that.
found() {
	/usr/bin/python3 -c 'import json, sys
document, check, severity, words, remedy = sys.argv[1:]
for it in json.loads(document)["findings"]:
    if it["check"] == check and it["severity"] == severity and \
            words in it["text"] and remedy in (it["remedy"] or ""):
        sys.exit(0)
print(*[it for it in json.loads(document)["findings"] if it["severity"] != "ok"], sep="\n")
sys.exit(1)' "$output" "$1" "$2" "$3" "${4:-}"
}

# all_found: checks and severities but the good ones.
problems() {
	/usr/bin/python3 -c 'import json, sys
print(*[it["severity"] + ":" + it["check"] for it in json.loads(sys.argv[1])["findings"]
        if it["severity"] != "ok"])' "$output"
}

# The name of the configuration file of this server.
CONF=redis.conf
[[ $(redis-server --version 2>/dev/null) != *[Vv]alkey* ]] || CONF=valkey.conf

# A server that is as the manual wants it.
good_server() {
	own_server --appendonly yes --appendfsync always --maxmemory-policy noeviction
}

#!/bin/bash
# Creates FOLDER/redis-server for the demo, the suites and the benchmark, and
# FOLDER/redis-cli if only that of Valkey is installed. FOLDER must come first in
# PATH. Prints the version of the server.
#
#     packaging/server.sh FOLDER
#
# SERVER  the program (default: Redis, else Valkey)
set -eu

folder=${1:?usage: packaging/server.sh FOLDER}

# In Debian, redis-tools and valkey-tools contain the server as redis-check-rdb and
# valkey-check-rdb: the name decides what the program does.
installed() {
	for name in redis-server redis-check-rdb valkey-server valkey-check-rdb; do
		command -v "$name" && return
	done
	echo 'server.sh: neither redis-server nor valkey-server is installed' >&2
	return 1
}

server=${SERVER:-$(installed)}
case $server in
/*) ;;
*/*) server=$PWD/$server ;;
*) server=$(command -v "$server") || server=$SERVER ;;
esac
if [[ ! -f $server || ! -x $server ]]; then
	echo "server.sh: SERVER=$server is no executable program" >&2
	exit 1
fi

mkdir -p "$folder"
[[ $server -ef $folder/redis-server ]] || ln -sf "$server" "$folder/redis-server"
if ! version=$("$folder/redis-server" --version 2>/dev/null </dev/null) ||
	[[ $version != *" server v="* ]]; then
	echo "server.sh: SERVER=$server is no Redis or Valkey server" >&2
	exit 1
fi
command -v redis-cli >/dev/null || ln -sf "$(command -v valkey-cli)" "$folder/redis-cli"
echo "${version%% sha=*}"

#!/bin/bash
# Makes FOLDER/redis-server, which demo, suites and bench start, and, where only
# Valkey's is there, FOLDER/redis-cli; FOLDER is to stand first in PATH. Says which
# server that is.
#
#     packaging/server.sh FOLDER
#
# SERVER  the program (default: Redis, else Valkey)
set -eu

folder=${1:?usage: packaging/server.sh FOLDER}

# Debian has the server in redis-tools and valkey-tools, too: it is one when it is
# called so.
installed() {
	for name in redis-server redis-check-rdb valkey-server valkey-check-rdb; do
		command -v "$name" && return
	done
	echo 'server.sh: no redis-server and no valkey-server is installed' >&2
	return 1
}

server=${SERVER:-$(installed)}
case $server in
/*) ;;
*/*) server=$PWD/$server ;;
*) server=$(command -v "$server") || server=$SERVER ;;
esac
if [[ ! -f $server || ! -x $server ]]; then
	echo "server.sh: SERVER=$server is no program that can be run" >&2
	exit 1
fi

mkdir -p "$folder"
[[ $server -ef $folder/redis-server ]] || ln -sf "$server" "$folder/redis-server"
if ! version=$("$folder/redis-server" --version 2>/dev/null </dev/null) ||
	[[ $version != *" server v="* ]]; then
	echo "server.sh: SERVER=$server is no server of Redis or Valkey" >&2
	exit 1
fi
command -v redis-cli >/dev/null || ln -sf "$(command -v valkey-cli)" "$folder/redis-cli"
echo "${version%% sha=*}"

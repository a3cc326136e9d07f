#!/bin/sh
# What is built: its commit, or its source as a tar file, which is equal to the bit in a
# clone and in a tree that was unpacked from such a file:
#
#     packaging/source.sh commit|time
#     packaging/source.sh archive VERSION >rlockrun-VERSION.tar
#
# commit   of HEAD, or the one from which `git archive` made this tree
# time     its time, in seconds since 1970
# archive  what is committed; of an unpacked tree all of it but build/
set -eu
cd "$(dirname "$0")/.."
usage='usage: packaging/source.sh commit|time|archive VERSION'

# A tree in build/ of a clone is not of that clone.
if [ -e .git ]; then stated=$(git log -1 --format='%H %ct'); else stated=$(cat packaging/commit); fi
commit=${stated% *}
case $stated in *[!0-9a-f\ ]* | '')
	echo 'source.sh: this tree is neither a clone nor what git archive made of one' >&2
	exit 1
	;;
esac

# archive VERSION: git writes the commit into the second block, and of a tree without a
# history it can only be replaced there.
archive() {
	if [ -e .git ]; then
		git -c tar.umask=0022 archive --prefix="rlockrun-$1/" HEAD
		return
	fi
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
	export GIT_COMMITTER_NAME=- GIT_COMMITTER_EMAIL=- GIT_COMMITTER_DATE="@${stated#* } +0000"
	export GIT_AUTHOR_NAME=- GIT_AUTHOR_EMAIL=- GIT_AUTHOR_DATE="@${stated#* } +0000"
	GIT_DIR=$(mktemp -d)
	export GIT_DIR GIT_WORK_TREE="$PWD"
	trap 'rm -rf "$GIT_DIR"' EXIT
	git init -q
	git -c core.excludesFile=/dev/null add -A
	git commit -qm -
	git -c tar.umask=0022 archive --prefix="rlockrun-$1/" HEAD |
		LC_ALL=C sed "s/comment=$(git rev-parse HEAD)/comment=$commit/"
}

case ${1:?$usage} in
commit) echo "$commit" ;;
time) echo "${stated#* }" ;;
archive) archive "${2:?$usage}" ;;
*) echo "$usage" >&2 && exit 64 ;;
esac

#!/bin/sh
# Deploys an archive into a folder that several hosts deploy to, one at a time:
#
#     deploy.sh shop.tar.gz
#
# Each release gets a folder of its own, and `current` is switched to it when it
# is complete. Needs GNU tar and coreutils.
set -eu

archive=${1:?usage: deploy.sh ARCHIVE}
root=${DEPLOY_DIR:-/srv/shop}
key=deploy:shop

# Runs itself again, under the lock. exec: a shell in between would not pass
# signals on. The status then says it all: 75, somebody else was deploying for ten
# minutes; 69, no server; 79, the lock was lost and the deploy stopped.
if [ "${RLOCKRUN_KEY-}" != "$key" ]; then
	RLOCKRUN_REDIS=${RLOCKRUN_REDIS:-redis://locks.example.com}
	export RLOCKRUN_REDIS
	exec rlockrun -w 10m -t 2m --kill-after 1m -k "$key" -- sh "$0" "$@"
fi

# However it ends, a lost lock included: no half a release is left.
release=releases/$RLOCKRUN_FENCE
trap 'rm -rf "$root/$release.part"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$root/$release.part"
tar -C "$root/$release.part" -xf "$archive"
mv "$root/$release.part" "$root/$release"

# The number grows from one holder of the lock to the next. When a greater one is
# there, this machine was paused for so long that another deploy has begun since,
# and finished.
last=$(readlink "$root/current" || echo releases/0)
if [ "${last##*/}" -ge "$RLOCKRUN_FENCE" ]; then
	echo "deploy.sh: $last is newer than this, nothing was switched" >&2
	rm -rf "${root:?}/$release"
	exit 1
fi
ln -sfn "$release" "$root/current.$RLOCKRUN_FENCE"
mv -T "$root/current.$RLOCKRUN_FENCE" "$root/current"
echo "deployed $release"

#!/bin/sh
# Deploys an archive into a folder that several hosts deploy to, one at a time:
#
#     deploy.sh shop.tar.gz
#
# Each release gets a folder of its own. `current` is switched to it once it is
# complete. The server is that of /etc/rlockrun.conf. Requires GNU tar and coreutils.
set -eu

archive=${1:?usage: deploy.sh ARCHIVE}
root=${DEPLOY_DIR:-/srv/shop}
key=deploy:shop

# Runs itself again, under the lock. exec: a shell in between would not forward
# signals. Exit status 75: another deploy held the lock for ten minutes; 69: no
# server was reachable; 79: the lock was lost and the deploy was stopped.
if [ "${RLOCKRUN_KEY-}" != "$key" ]; then
	exec rlockrun -w 10min -t 2min --kill-after 1min -k "$key" -- sh "$0" "$@"
fi

# An incomplete release is removed, also when the lock is lost.
release=releases/$RLOCKRUN_FENCE
trap 'rm -rf "$root/$release.part"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir -p "$root/$release.part"
tar -C "$root/$release.part" -xf "$archive"
mv "$root/$release.part" "$root/$release"

# Each holder of the lock gets a greater number than those before. If `current` has
# a greater one, this machine was paused for so long that another deploy has begun
# and finished in the meantime.
last=$(readlink "$root/current" || echo releases/0)
if [ "${last##*/}" -ge "$RLOCKRUN_FENCE" ]; then
	echo "deploy.sh: $last is newer than this release; not switched" >&2
	rm -rf "${root:?}/$release"
	exit 1
fi
ln -sfn "$release" "$root/current.$RLOCKRUN_FENCE"
mv -T "$root/current.$RLOCKRUN_FENCE" "$root/current"
echo "deployed $release"

#!/usr/bin/env bats
# What `make check-matrix` can't fetch or unpack is skipped with the reason, and never
# half used. That whole servers are found is seen by each run of it.
# shellcheck disable=SC2154 # run sets output
# bats file_tags=night

bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p servers/cache/archives servers/partial
}

# A package of a server without libraries, cut to so many bytes.
half_package() {
	mkdir -p package/DEBIAN package/usr/bin
	head -c 100000 /dev/urandom >package/usr/bin/redis-check-rdb
	printf '%s\n' 'Package: redis-tools' 'Version: 1' 'Architecture: all' \
		'Maintainer: nobody' 'Description: none' >package/DEBIAN/control
	dpkg-deb -b package whole.deb >/dev/null
	head -c "$1" whole.deb >servers/cache/archives/redis-tools_1_all.deb
}

in_part() {
	bash -c '. "$0" && "$@"' "$BATS_TEST_DIRNAME/part.bash" "$@"
}

@test "matrix: half a download is skipped, and its folder is not that of a server" {
	type dpkg-deb >/dev/null 2>&1 || skip 'no dpkg-deb'
	half_package 50000
	run -77 in_part unpack_server "$PWD/servers" redis-tools redis
	[[ $output == *"redis-tools_1_all.deb cannot be unpacked" ]]
	[[ ! -e servers/unpacked && ! -e servers/redis-server ]]
	half_package 200000
	run -77 in_part unpack_server "$PWD/servers" redis-tools redis
	[[ $output == *"lack a loader" && ! -e servers/redis-server ]]
}

@test "matrix: what cannot be fetched is skipped with the last words of who tried" {
	run -77 in_part fetch "the lists of gone" sh -c 'echo first; echo "E: no Release file" >&2; exit 100'
	[[ $output == "the lists of gone cannot be fetched: E: no Release file" ]]
	run -0 in_part fetch "all" true
	[[ ! $output ]]
}

@test "matrix: a suite that is gone is skipped, and an unknown part is an error" {
	type apt-get >/dev/null 2>&1 || skip 'no apt-get'
	cd "$BATS_TEST_DIRNAME/../.."
	STRICT='' run -0 tests/matrix/run debian-gone-redis
	[[ $output == *"== debian-gone-redis: skipped: "*"0 passed, 0 failed, 1 skipped" ]]
	STRICT=1 run -1 tests/matrix/run debian-gone-redis
	run -64 tests/matrix/run debian-gone
	[[ $output == *"no part is called debian-gone" ]]
}

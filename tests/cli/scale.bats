#!/usr/bin/env bats
# --list on a server with many locks.

load ../helpers/suite

setup() {
	begin_test
	own_server
}
teardown() { end_test; }

# write_locks COUNT: as runs of a fleet hold them, a hundred times as many.
write_locks() {
	local part
	for ((part = 0; part < $1; part++)); do
		cli eval 'local time = redis.call("TIME")
			for i = ARGV[1] * 100, ARGV[1] * 100 + 99 do
				local key = "scale:" .. i
				local token = string.format("00000000-0000-4000-8000-%012d", i)
				redis.call("SET", key, token, "PX", 600000)
				redis.call("HSET", "{" .. key .. "}:rlk:i", "h", token .. " 1 " ..
					time[1] .. "000 run 0 4711 web-1 deploy - sync")
			end' 0 "$part" >written
	done
}

# In pages of 1,000 keys, each lock once, in less than 4 MB.
# bats test_tags=native
@test "3,000 locks are listed page by page" {
	local scans
	write_locks 30
	cli config resetstat
	(
		ulimit -d 4096 # kB
		"$RLOCKRUN" --list 'scale:*' >list
	)
	[[ $(wc -l <list) == 3001 ]]
	[[ $(tail -n +2 list | cut -d ' ' -f 1 | sort -u | wc -l) == 3000 ]]
	scans=$(cli info commandstats | sed -n 's/cmdstat_scan:calls=\([0-9]*\).*/\1/p')
	((scans >= 3))
}

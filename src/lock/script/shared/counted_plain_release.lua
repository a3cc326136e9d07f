if ARGV[2] == '0' then return redis.call('ZREM', KEYS[1], ARGV[1]) end
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], 'XX', string.format('%.0f',
  time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]), ARGV[1])
return 1

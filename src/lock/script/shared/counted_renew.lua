local till = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if till <= now then return 0 end
if till < now + ARGV[2] then
  redis.call('ZADD', KEYS[1], 'XX', string.format('%.0f', now + ARGV[2]), ARGV[1])
end
if redis.call('PTTL', KEYS[1]) < 3 * ARGV[2] then
  redis.call('PEXPIRE', KEYS[1], 3 * ARGV[2])
end
return 1

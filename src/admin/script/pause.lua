-- Notes until when a pause lasts: its lease may be over when somebody asks.
--
-- KEYS: :i.
-- ARGV: the token of the pause, the ms that it lasts, life of :i in ms.
-- 1, or 0 if another holder is known.
local info = KEYS[1]
local token, left, life = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local entry = redis.call('HMGET', info, 'h')[1] or ''
local record = string.match(entry, '^%S+ %d+ %d+ (pause .*)$')
if not record or string.sub(entry, 1, #token) ~= token then return 0 end
local time = redis.call('TIME')
local till = time[1] * 1000 + math.floor(time[2] / 1000) + left
life = math.max(life, redis.call('PTTL', info))
redis.call('PEXPIRE', info, life)
redis.call('HSET', info, 'p', string.format('%.0f', till) .. ' ' .. record
  .. ' | ' .. string.sub(entry, 1, LIMIT_ENTRY))
return 1

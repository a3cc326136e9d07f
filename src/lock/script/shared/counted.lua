-- A counted lock is a sorted set, member -> end of its lease. A member is a
-- token, as in DistributedLock.Redis, and of a shared holder 's:' and a token.

local entry = 'h:' .. token

-- There is no plain run of these.
local function is_free() return false end

-- What release needs comes before the lock is taken, behind a write that a full
-- server refuses.
local function take(left)
  call('ZADD', lock, 'XX', now, '')
  call('ZREM', lock, '', unpack(ARGV, 15))
  call('PEXPIRE', doorbell, 1)
  call('ZADD', lock, now + ttl, token)
  call('PEXPIRE', lock, math.max(3 * ttl, left))
end

local function give_back() redis.pcall('ZREM', lock, token) end

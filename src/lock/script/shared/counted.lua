-- Shared locks and permits are a sorted set, member -> end of its lease.
-- Permits have the token itself as member, as DistributedLock.Redis has; shared
-- holders another one, to be told apart. Uses lock, info, token, letter,
-- former, now.

local function member_of(one) return letter == 's' and 's:' .. one or one end
local member = member_of(token)

local function owns(one)
  local done, till = pcall(call, 'ZSCORE', lock, one or member)
  if done then return till and tonumber(till) >= now end
  return not is_wrong_type(till) and error(till, 0)
end

local function is_holder(other) return owns(member_of(other)) end

-- Whether a try under a former token, which was never answered, has the lock.
local function former_owns()
  for _, other in ipairs(former) do
    if is_holder(other) then return true end
  end
end

local function drop_former()
  for _, other in ipairs(former) do
    redis.pcall('ZREM', lock, member_of(other))
    if info then redis.pcall('HDEL', info, other) end
  end
end

local function free_places(held)
  if held.count > 0 and held.kind ~= letter then return 0 end
  return (limit or math.huge) - held.count
end

-- Fails if an ACL would not let us share, renew or release the lock. ZADD comes
-- before ZREM, because a full server refuses a script's first write only.
local function prove()
  call('ZADD', lock, 'XX', now + ttl, member)
  call('ZRANGE', lock, 0, 0)
  call('ZCOUNT', lock, 0, 0)
  owns()
  for _, one in ipairs({token, unpack(former)}) do
    call('ZREM', lock, member_of(one))
  end
end

local function write_record(held, number)
  prove()
  if held.count == 0 then wipe(info) end
  call('HDEL', info, token, unpack(former))
  local label = self.label ~= '' and '\n' .. self.label or ''
  call('HSET', info, 'kind', letter, 'limit', limit or 0, token, string.format(
    '%.0f - %s %s %s %s%s', now, number, self.pid, self.host, self.user, label))
end

-- Whether the last run in the history is ours: others may have been granted the
-- lock since.
local function is_last_run()
  return redis.pcall('HMGET', history, 'token')[1] == token
end

local function write_lock()
  local life = math.max(3 * ttl, redis.pcall('PTTL', lock))
  if not info then prove() end
  call('ZADD', lock, now + ttl, member)
  call('PEXPIRE', lock, life)
end

local function lengthen(ms)
  local till = tonumber(redis.pcall('ZSCORE', lock, member)) or 0
  local left = call('PTTL', lock)
  if till < now + ms then call('ZADD', lock, 'XX', now + ms, member) end
  if left < 3 * ms then call('PEXPIRE', lock, 3 * ms) end
end

local function drop()
  call('ZREM', lock, member)
  if not info then return end
  redis.pcall('HDEL', info, token)
  -- The lock is free by now; a record that cannot be deleted ends by itself.
  if redis.pcall('PTTL', lock) == -2 then pcall(wipe, info) end
end

-- Leaves the lock to the server, for --min-hold.
local function keep_for(ms)
  local record = info and redis.pcall('HMGET', info, token)[1]
  if type(record) == 'string' then
    -- A release that comes again, and late, keeps the lock no longer.
    if string.find(record, '^%d+ k ') then
      ms = math.min(ms, (tonumber(call('ZSCORE', lock, member)) or now) - now)
    end
    redis.pcall('HSET', info, token, (string.gsub(record, ' %- ', ' k ', 1)))
  end
  local left = redis.pcall('PTTL', lock)
  if type(left) == 'number' and left < ms then
    redis.pcall('PEXPIRE', lock, ms)
  end
  call('ZADD', lock, 'XX', now + ms, member)
end

-- --newest and --replace are for exclusive locks.
local function find_newest() end
local function write_newest() end
local function give_order() end
-- --once-per and --once-id need an exclusive lock.
local function not_due() return nil, 0 end

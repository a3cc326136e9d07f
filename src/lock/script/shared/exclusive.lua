-- An exclusive lock is a string, the token. Uses lock, info, token, former,
-- now.

local function owns() return call('GET', lock) == token end
local function is_holder(other) return other == token end
local function free_places(held) return held.count == 0 and 1 or 0 end

-- Whether a try under a former token, which was never answered, has the lock.
local function former_owns()
  if not former[1] then return false end
  local owner = redis.pcall('GET', lock)
  for _, other in ipairs(former) do
    if owner == other then return true end
  end
end

local function drop_former()
  if former_owns() then redis.pcall('DEL', unpack({lock, info})) end
end

local function write_record(_, number)
  wipe(info)
  call('HSET', info, 'token', token, 'host', self.host, 'pid', self.pid,
    'user', self.user, 'command', self.command, 'fence', number,
    'since', string.format('%.0f', now), 'kind', 'x')
  if self.label ~= '' then call('HSET', info, 'label', self.label) end
end

-- Whether the last run in the history is that of an owner. Nobody was granted
-- the lock since.
local function is_last_run() return true end

local function write_lock() call('SET', lock, token, 'PX', ttl) end

local function lengthen(ms)
  if call('PTTL', lock) < ms then call('PEXPIRE', lock, ms) end
end

-- Returns who holds the lock now: nobody.
local function drop()
  call('DEL', unpack({lock, info}))
  return {count = 0}
end

-- Leaves the lock to the server, for --min-hold. A full server refuses HSET,
-- but not HDEL. Both are 0 if that is done already: a release that comes again,
-- and late, keeps the lock no longer.
local function keep_for(ms)
  local is_new = info and redis.pcall('HSET', info, 'kept', 1)
  if type(is_new) == 'table' then is_new = redis.pcall('HDEL', info, 'kind') end
  if is_new ~= 0 or call('PTTL', lock) > ms then call('PEXPIRE', lock, ms) end
end

-- An exclusive lock is a string, the token. Uses lock, info, token, former,
-- now, and with --once-per and --once-id history, once and id.

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
  if order and string.find(ARGV[12], 'o') then
    call('HSET', info, 'replaceable', 1)
  end
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

-- --newest: of the waiters with this option that with the latest ticket stays,
-- which :o names. Returns the answer if it has overtaken us. Otherwise the own
-- ticket is known, and behind nil the waiter that we overtake is returned. A
-- ticket further ahead than :o lasts counts as none (a clock was stepped). A
-- grant of ours whose answer was lost may be older than :o by now.
local function find_newest(own)
  if not newest then return end
  local text = redis.pcall('GET', newest)
  local last, waiter, label = string.match(
    type(text) == 'string' and text or '', '^(%d+) ([^\n]+)\n(.*)$')
  last = tonumber(digits(last, LIMIT_EXACT))
  if not last or last > now_us + 60000000 or #waiter >= LIMIT_LONG_TEXT then
    last, waiter = 0, nil
  end
  if waiter == me then ticket = last end
  local asked_ms = tonumber(string.match(ARGV[12], '-(%d+)'))
  ticket = ticket or tonumber(redis.pcall('ZSCORE', queue, me))
    or asked_ms and now_us - 1000 * asked_ms
  if own and waiter ~= me then
    newest = nil
  elseif waiter ~= me and ticket and ticket < last then
    return {3, waiter, string.sub(label, 1, LIMIT_LABEL)}
  end
  ticket = ticket or math.max(next_ticket(), last + 1)
  return nil, waiter ~= me and waiter
    and redis.pcall('ZSCORE', queue, waiter) and waiter or nil
end

-- Losing it costs only the overtaking.
local function write_newest()
  if not newest then return end
  redis.pcall('SET', newest, string.format('%.0f %s\n%s', ticket, me,
    self.label), 'PX', 60000)
end

-- --replace: the holder with that token is to stop. Its token is in the order,
-- so that it cannot reach another one; and the order of a dead waiter ends.
local function give_order(owner)
  if not string.find(ARGV[12], 'r') then return end
  redis.pcall('SET', order, string.format('%s %s\n%s', owner, me,
    self.label), 'PX', LIMIT_ORDER_MS)
end

-- The answer if a former success is enough; otherwise nil, and for --once-per by
-- how many ms the last one lies in the future. A clock may have been stepped, or
-- a failover has led to a server whose clock is a little slower: then it is over
-- just now. The same id is enough whatever the clock says.
local function not_due()
  local done, about = pcall(call, 'HMGET', history, 'success', 'success_host',
    'id_success', 'id_host', 'id')
  if not done then
    return not is_wrong_type(about) and error(about, 0) or nil, 0
  end
  local function ago_of(text)
    local success = tonumber(digits(text, LIMIT_EXACT))
    local ago = success and now - success
    return ago and ago < 0 and ago >= -LIMIT_CLOCKS_MS and 0 or ago
  end
  local ago = ago_of(about[1])
  if once and ago and ago >= 0 and ago < once then
    return {2, ago, string.sub(about[2] or '', 1, LIMIT_TEXT)}
  end
  if id ~= '' and about[5] == id then
    return {5, math.max(0, math.min(ago_of(about[3]) or 0, LIMIT_AGE_MS)),
      string.sub(about[4] or '', 1, LIMIT_TEXT)}
  end
  return nil, once and math.min(math.max(-(ago or 0), 0), LIMIT_AGE_MS) or 0
end

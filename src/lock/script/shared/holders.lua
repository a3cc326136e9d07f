-- Uses lock and now.

-- Who holds the lock: the kind, how many, and whose lease ends first and last,
-- in how many ms. Members whose lease has ended do not count. A sorted set
-- without a life, or whose scores are no times, is somebody's data and no lock.
local function find_holders()
  local value = redis.pcall('GET', lock)
  if not value then return {kind = '', count = 0, last_left = -2} end
  if type(value) == 'string' then
    local left = call('PTTL', lock)
    return {kind = 'x', count = 1, first = value, last = value,
      first_left = left, last_left = left}
  end
  if not string.find(value.err, 'WRONGTYPE') then
    error(value.err .. ' (GET)', 0)
  end
  local last = call('ZRANGE', lock, -1, -1, 'WITHSCORES')
  local till = tonumber(last[2])
  if call('PTTL', lock) < 0 or till < 1e12 or till > 1e14 then
    error('WRONGTYPE a sorted set, but none of leases', 0)
  end
  local count = call('ZCOUNT', lock, '(' .. now, '+inf')
  if count == 0 then return {kind = '', count = 0, last_left = -2} end
  local first = call('ZRANGE', lock, -count, -count, 'WITHSCORES')
  return {kind = string.sub(first[1], 1, 2) == 's:' and 's' or 'p',
    count = count, first = first[1], first_left = first[2] - now,
    last = last[1], last_left = till - now}
end

local function cut(text) return string.sub(text or '', 1, LIMIT_ENTRY) end

-- The field of :i that describes a holder. Its text is that holder's only if it
-- begins with what the lock's key holds.
local function field_of(kind, member)
  return kind == 'x' and 'h' or 'h:' .. member
end

local function entry_of(text, member)
  local is_its = text and string.sub(text, 1, #member) == member
    and string.find(text, '^[: ]', #member + 1)
  return is_its and cut(text) or ''
end

-- Uses lock and now.

-- Who holds the lock: the kind, how many, whose lease ends first and last, and
-- in how many ms. Members whose lease has ended are removed. A sorted set
-- without a life, or whose scores are no times, is somebody's data and no lock.
local function find_holders()
  local value = redis.pcall('GET', lock)
  local held = {count = 0}
  if type(value) == 'string' then
    local left = call('PTTL', lock)
    return {kind = 'x', count = 1, first = value, last = value,
      first_left = left, last_left = left}
  elseif not value then
    return held
  elseif not string.find(value.err, 'WRONGTYPE') then
    error(value.err .. ' (GET)', 0)
  end
  local function range(at)
    return call('ZRANGE', lock, at, at, 'WITHSCORES')
  end
  local first, last = range(0), range(-1)
  if call('PTTL', lock) < 0 or tonumber(first[2]) < 1e12
    or tonumber(last[2]) > 1e14 then
    error('WRONGTYPE a sorted set, but none of leases', 0)
  end
  if tonumber(first[2]) <= now then
    held.removed = call('ZREMRANGEBYSCORE', lock, '-inf', now)
    first = range(0)
    if not first[1] then return held end
  end
  held.kind = string.sub(first[1], 1, 2) == 's:' and 's' or 'p'
  held.count = call('ZCARD', lock)
  held.first, held.first_left = first[1], first[2] - now
  held.last, held.last_left = last[1], last[2] - now
  return held
end

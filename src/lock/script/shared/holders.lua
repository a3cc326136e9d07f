-- Uses lock, info and now.

-- The token of a member of a counted lock: a shared holder's has 's:' before
-- it.
local function token_of(member)
  return string.sub(member, 1, 2) == 's:' and string.sub(member, 3) or member
end

-- As sweep(); with their records.
local function remove_expired()
  return sweep(lock, function(_, till) return till >= now end, function(dead)
    if not info then return end
    for i, member in ipairs(dead) do dead[i] = token_of(member) end
    redis.pcall('HDEL', info, unpack(dead))
  end)
end

-- Who holds the lock: the kind, how many, whose lease ends first and last, and
-- in how many ms. Expired holders never count; remove is nil or what removes
-- them. A lock with more expired holders than one call removes, and no other,
-- is not free (unswept): the kinds must not mix. A sorted set that never
-- expires, or whose scores are no times, is somebody's data and no lock.
local function find_holders(remove)
  local owner = redis.pcall('GET', lock)
  local left = call('PTTL', lock)
  if type(owner) == 'string' then
    return {kind = 'x', count = 1, first = owner, last = owner,
      first_left = left, last_left = left}
  elseif not owner then
    return {count = 0}
  elseif not is_wrong_type(owner.err) then
    call('GET', lock)
  end
  local first = call('ZRANGE', lock, 0, 0, 'WITHSCORES')
  local last = call('ZRANGE', lock, -1, -1, 'WITHSCORES')
  if left < 0 or tonumber(first[2]) < 1e12 or tonumber(last[2]) > 1e14 then
    error('WRONGTYPE a sorted set, but none of leases', 0)
  end
  local swept = tonumber(first[2]) < now and (not remove or remove())
  local count = call('ZCOUNT', lock, now, '+inf')
  if count == 0 then return {count = 0, unswept = swept == true} end
  if swept then first = call('ZRANGE', lock, -count, -count, 'WITHSCORES') end
  return {kind = string.sub(first[1], 1, 2) == 's:' and 's' or 'p',
    count = count, first = first[1], first_left = first[2] - now,
    last = last[1], last_left = last[2] - now}
end

-- The members of a counted lock whose leases end first, at most so many.
local function list_members(held, most, ...)
  return redis.pcall('ZRANGE', lock, -held.count,
    math.min(most - 1 - held.count, -1), ...)
end

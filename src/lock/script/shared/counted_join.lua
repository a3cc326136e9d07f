local entry = 'h:' .. token

local function owns()
  local till = redis.pcall('ZSCORE', lock, token)
  if type(till) ~= 'string' then return false end
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  return tonumber(till) > now
end

local function lengthen()
  if tonumber(call('ZSCORE', lock, token)) < now + ttl then
    call('ZADD', lock, 'XX', now + ttl, token)
  end
  if call('PTTL', lock) < 3 * ttl then call('PEXPIRE', lock, 3 * ttl) end
end

local entry = 'h'

local function owns() return redis.pcall('GET', lock) == token end

local function lengthen()
  if call('PTTL', lock) < ttl then call('PEXPIRE', lock, ttl) end
end

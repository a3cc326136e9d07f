local entry = 'h:' .. token

-- Whether the lock is ours. What a former try was granted is freed.
local function find_ours()
  for i = 13, #ARGV do
    if call('ZREM', lock, ARGV[i]) == 1 then
      call('HDEL', info, 'h:' .. ARGV[i])
    end
  end
  return type(call('ZSCORE', lock, token)) == 'string'
end

local function free() call('ZREM', lock, token) end

-- Leaves the lock to the server. One that is kept already is kept no longer.
local function keep()
  local text = call('HMGET', info, entry)[1]
  if type(text) == 'string' and string.find(text, ':kept ', #token, true) then
    return math.max(0, tonumber(call('ZSCORE', lock, token)) - now)
  end
  call('ZADD', lock, 'XX', string.format('%.0f', now + keep_ms), token)
  if call('PTTL', lock) < keep_ms then call('PEXPIRE', lock, keep_ms) end
  return keep_ms
end

local function still_kept() return 0 end

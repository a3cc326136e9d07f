-- What former tries were granted is freed.
local entry, till = 'h:' .. token, call('ZSCORE', lock, token)
local is_ours = type(till) == 'string'
for i = 13, #ARGV do
  if call('ZREM', lock, ARGV[i]) == 1 then
    call('HDEL', info, 'h:' .. ARGV[i])
  end
end

local function free() call('ZREM', lock, token) end

local function left_ms() return till - now end

local function extend(ms)
  call('PEXPIRE', lock, math.max(ms, call('PTTL', lock)))
  call('ZADD', lock, 'XX', now + ms, token)
end

-- Leaves the lock to the server. Returns for how many ms, also if an earlier
-- release has done so.
local function keep(ms)
  if not is_ours then return 0 end
  local text = call('HMGET', info, entry)[1] or ''
  if string.sub(text, 1, #token + 6) == token .. ':kept ' then
    return math.max(0, left_ms())
  end
  extend(ms)
  return ms
end

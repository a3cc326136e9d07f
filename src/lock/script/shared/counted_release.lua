-- What former tries were granted is freed.
local entry, lease_end = 'h:' .. token, must('ZSCORE', lock, token)
local is_ours = type(lease_end) == 'string'
for i = 13, #ARGV do
  if must('ZREM', lock, ARGV[i]) == 1 then
    call('HDEL', info, 'h:' .. ARGV[i])
  end
end

local function free() must('ZREM', lock, token) end

local function left_ms() return lease_end - now end

-- PEXPIRE opens the script for ZADD on a full server. Others hold the lock, too:
-- where PTTL is denied, the number is none, and the life of the key stays.
local function extend(ms)
  local left = tonumber(call('PTTL', lock)) or math.huge
  call('PEXPIRE', lock, math.max(ms, left))
  must('ZADD', lock, 'XX', now + ms, token)
end

-- Leaves the lock to the server, for that many ms from now, unless an earlier
-- release has done so. Returns for how many ms.
local function keep(ms)
  if not is_ours then return 0 end
  local text = call('HMGET', info, entry)[1] or ''
  local mark = string.sub(text, #token + 1, #token + 5)
  if mark == ':kept' then return left_ms() end
  extend(ms)
  return ms
end

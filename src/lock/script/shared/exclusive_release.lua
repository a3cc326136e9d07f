local entry = 'h'

-- Whether the lock is ours. What a former try was granted is freed.
local function find_ours()
  local value = call('GET', lock)
  for i = 13, #ARGV do
    if value == ARGV[i] then call('DEL', lock) end
  end
  return value == token
end

local function free() call('DEL', lock) end

-- Leaves the lock to the server, under a value that no release frees. PEXPIRE is
-- a write that a full server does not refuse, and the next one is not its first.
local function keep()
  call('PEXPIRE', lock, keep_ms)
  call('SET', lock, token .. ':kept', 'PX', keep_ms)
  return keep_ms
end

-- The ms that it is still kept for, where an earlier release has left it.
local function still_kept()
  return call('GET', lock) == token .. ':kept' and call('PTTL', lock) or 0
end

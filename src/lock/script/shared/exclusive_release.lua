-- What former tries were granted is freed.
local entry, value = 'h', must('GET', lock)
local is_ours = value == token

local function free() must('DEL', lock) end

for i = 13, #ARGV do
  if value == ARGV[i] then free() end
end

local function left_ms() return tonumber(call('PTTL', lock)) end

local function extend(ms) call('PEXPIRE', lock, ms) end

-- Leaves the lock to the server, under a value that no release frees. Returns
-- for how many ms, also if an earlier release has done so. PEXPIRE is a write
-- that a full server does not refuse, and the next one is not its first.
local function keep(ms)
  if not is_ours then
    return value == token .. ':kept' and left_ms() or 0
  end
  extend(ms)
  must('SET', lock, token .. ':kept', 'PX', ms)
  return ms
end

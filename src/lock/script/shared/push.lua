-- Adds a run to the last ten. The history decides nothing about the lock: no
-- error in it is one of the script, but it is returned.
local function push(entry_text)
  local length = redis.pcall('LPUSH', runs, entry_text)
  if type(length) == 'table' then return length.err end
  if length > 10 then redis.pcall('LTRIM', runs, 0, 9) end
  redis.pcall('PEXPIRE', runs, runs_life)
end

-- Uses history, history_life and now. The history decides nothing about the
-- lock: no error in it is one of the script.

-- Its life is the longest that any run of the lock has set. A key of another
-- type is somebody's mistake, and is replaced.
local function write_history(...)
  local done, failure = pcall(call, 'HSET', history, ...)
  if not done and is_wrong_type(failure) then
    pcall(wipe, history)
    pcall(call, 'HSET', history, ...)
  end
  local left = redis.pcall('PTTL', history)
  if type(left) == 'number' and left < history_life then
    redis.pcall('PEXPIRE', history, history_life)
  end
end

-- A grant that no job has used is no run.
local function forget_run(token)
  local about = redis.pcall('HMGET', history, 'token', 'success')
  if about[1] ~= token then return end
  if about[2] then
    redis.pcall('HSET', history, 'token', '')
  else
    redis.pcall('DEL', history)
  end
end

-- Uses history, history_life and now. The history decides nothing about the
-- lock: no error in it is one of the script.

-- Its life is the longest that any run of the lock has set. A key of another
-- type is somebody's mistake, and is replaced. Returns why nothing was written,
-- or nil.
local function write_history(...)
  local done, failure = pcall(call, 'HSET', history, ...)
  if not done and is_wrong_type(failure) then
    pcall(wipe, history)
    done, failure = pcall(call, 'HSET', history, ...)
  end
  local left = redis.pcall('PTTL', history)
  if type(left) == 'number' and left < history_life then
    redis.pcall('PEXPIRE', history, history_life)
  end
  return not done and failure or nil
end

-- A grant that no job has used is no run.
local function forget_run(token)
  local about = redis.pcall('HMGET', history, 'token', 'success', 'runs')
  if about[1] ~= token then return end
  if about[2] or about[3] then
    redis.pcall('HSET', history, 'token', '')
  else
    redis.pcall('DEL', history)
  end
end

-- The last run as its fields have it: a version that writes no who may have
-- granted the lock, or one that writes no more may have released it.
local function gather_last_run()
  local last = redis.pcall('HMGET', history, 'fence', 'start', 'end', 'status',
    'pid', 'host', 'user', 'label', 'more')
  local function word(i) return digits(last[i], LIMIT_EXACT) or '-' end
  local function cut(i) return string.sub(last[i] or '', 1, LIMIT_TEXT) end
  local fence, wait, reason = string.match(string.sub(last[9] or '', 1, 99),
    '^(%d+) %d+ %d+ (%d+) (%S+)$')
  if fence ~= last[1] then wait, reason = '-', '-' end
  return word(1) .. ' ' .. word(2) .. ' ' .. word(3) .. ' ' .. word(4) .. ' '
    .. wait .. ' ' .. reason .. ' ' .. word(5) .. '\n' .. cut(6) .. '\n'
    .. cut(7) .. '\n' .. cut(8)
end

-- The fields that file the last run behind those before it, whoever recorded it
-- and how far; none if there is none, or if it is our own. A text: fence, start,
-- end, status, ms waited, reason, pid; then by newlines host, user and label.
-- What is not known is a '-'. Mostly it consists of two fields: each that is
-- read costs as much as a small command.
local function file_last_run()
  local whose, who, more, filed = unpack(
    redis.pcall('HMGET', history, 'token', 'who', 'more', 'runs'), 1, 4)
  if not whose or whose == '' or whose == token then return end
  for _, own in ipairs(former) do
    if whose == own then return end
  end
  local granted, start, pid, names = string.match(who or '',
    '^%S+ (%d+) (%d+) (%d*)(\n.*)$')
  local released, ended = string.match(more or '',
    '^(%d+) (%d+ %d+ %d+ [%l_]+)$')
  local text = granted and granted == released
    and string.sub(who, 1, #whose + 1) == whose .. ' '
    and granted .. ' ' .. start .. ' ' .. ended .. ' ' .. pid .. names
  if not text or #text > LIMIT_LONG_TEXT then text = gather_last_run() end
  local runs = tonumber(digits(filed, LIMIT_EXACT) or 0)
  return 'run' .. runs % 10, text, 'runs', string.format('%.0f', runs + 1)
end

-- A run that has been filed gets its end; one that has an end keeps it. Whether
-- there is such a run, and why nothing was written, or nil.
local function end_filed_run(fence, ended, status, wait, reason)
  local names, found, failure = {}, false, nil
  for i = 0, 9 do names[i + 1] = 'run' .. i end
  local filed = redis.pcall('HMGET', history, unpack(names))
  for i, name in ipairs(names) do
    local start, was, rest = string.match(filed[i] or '',
      '^' .. fence .. ' (%S+) (%S+) %S+ %S+ %S+ (.*)$')
    if start then
      failure = write_history(name, table.concat({fence, start,
        was == '-' and ended or was, status, wait, reason, rest}, ' '))
      found = true
    end
  end
  return found, failure
end

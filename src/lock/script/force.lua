-- Takes the lock away from holders, and rings who comes next. The holders are
-- named by the digests of their members, which may be any bytes. Of a run that
-- has lost the lock so the entry stays, until it reports or the next one files
-- it.
--
-- KEYS: the lock, :i, :q, :l, and if ARGV names a waiter its doorbell.
-- ARGV: the waiter that is expected to be the head of the queue or '', who takes
--   it away, life of :i in ms, the field that says so ('x', or 'p' for a pause
--   that is ended), the digests of the holders.
-- {how many have lost it, or 1 if it was free; head of the queue, to be rung, or
-- ''}; {0, ''}: others hold it.
local lock, info, queue, alive, bell = unpack(KEYS)
local now
-- include: call
-- include: holders
-- include: queue
-- include: ring

local function take_away(held, named)
  if held.kind == 'x' then
    return named[redis.sha1hex(held.first)] and call('DEL', lock) or 0
  end
  local found = {}
  for _, member in ipairs(call('ZRANGE', lock, 0, 4999)) do
    if named[redis.sha1hex(member)] then found[#found + 1] = member end
  end
  return found[1] and call('ZREM', lock, unpack(found)) or 0
end

return answer_of(function()
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local held, named = find_holders(), {}
  for i = 5, #ARGV do named[ARGV[i]] = true end
  local freed = held.count == 0 and 1 or take_away(held, named)
  if freed == 0 or not info then return {freed, ''} end
  if held.count > 0 then
    local entry = held.kind == 'x' and 'h' or 'h:' .. held.first
    local whose = call('HMGET', info, entry)[1] or ''
    call('HSET', info, ARGV[4], string.format('%.0f %s | %s', now, ARGV[2],
      string.sub(whose, 1, LIMIT_ENTRY)))
    local left = call('PTTL', info)
    if left < tonumber(ARGV[3]) then call('PEXPIRE', info, ARGV[3]) end
  end
  local head = remove_dead()
  if not head or not select(2, time_to_come(head)) then return {freed, ''} end
  if head ~= ARGV[1] then return {freed, head} end
  ring(head, bell)
  return {freed, ''}
end)

-- Takes the lock away from holders, and rings who comes next. The holders are
-- named by the digests of their members, which may be any bytes. Of a run that
-- has lost the lock so the entry stays, until it reports or the next one files
-- it.
--
-- KEYS: the lock, :i, :q, :l, and if ARGV names a waiter its doorbell.
-- ARGV: the waiter that is expected to be the head of the queue or '', who
--   takes it away, life of :i in ms, the field that says so ('x', or 'p' for a
--   pause that is ended), the digests of the holders.
-- {how many have lost it, or 1 if it was free; head of the queue if it is to be
-- rung, or ''}; {0, ''}: others hold it.
local lock, info, queue, alive, bell = unpack(KEYS)
local expected, who, life, field = unpack(ARGV)
local now
-- include: call
-- include: holders
-- include: queue

local function take_away(held)
  local named, found = {}, {}
  for i = 5, #ARGV do named[ARGV[i]] = true end
  if held.kind == 'x' then
    return named[redis.sha1hex(held.first)] and call('DEL', lock) or 0
  end
  for _, member in ipairs(call('ZRANGE', lock, 0, 4999)) do
    if named[redis.sha1hex(member)] then found[#found + 1] = member end
  end
  return found[1] and call('ZREM', lock, unpack(found)) or 0
end

local function note(held)
  local known = call('HMGET', info, field_of(held.kind, held.first))
  life = math.max(life, call('PTTL', info))
  call('PEXPIRE', info, life)
  call('HSET', info, field, now .. ' ' .. who .. ' | ' .. cut(known[1]))
  call('PEXPIRE', info, life)
end

return answer_of(pcall(function()
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local held = find_holders()
  local freed = held.count == 0 and 1 or take_away(held)
  if freed == 0 or not info then return {freed, ''} end
  -- The lock is free, whatever is denied from here on.
  if held.count > 0 then pcall(note, held) end
  local head = remove_dead()
  return {freed, head and ring_head(head, expected, bell) or ''}
end))

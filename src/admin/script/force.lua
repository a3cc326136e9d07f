-- Takes the lock away from holders. They are named by the digests of their
-- members, which may be any bytes. Of a run that has lost the lock so the entry
-- stays, until it reports or the next one files it.
--
-- KEYS: the lock, or that, :i, :q and :l.
-- ARGV: who takes it away, life of :i in ms, the field that says so ('x', or 'p'
--   for a pause that is ended), the digests of the holders.
-- {how many have lost it, or 1 if it was free; 0: others hold it; the head of
-- the queue, which is to be rung, or ''}
local lock, info, queue, alive = unpack(KEYS)
local who, life, field = unpack(ARGV)
local now
-- include: call
-- include: holders
-- include: queue

local function take_away(held)
  local named, freed = {}, 0
  for i = 4, #ARGV do named[ARGV[i]] = true end
  if held.kind == 'x' then
    return named[redis.sha1hex(held.first)] and call('DEL', lock) or 0
  end
  for _, member in ipairs(call('ZRANGE', lock, 0, 4999)) do
    if named[redis.sha1hex(member)] then
      freed = freed + call('ZREM', lock, member)
    end
  end
  return freed
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
  return {freed, remove_dead() or ''}
end))

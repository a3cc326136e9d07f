-- Takes the lock away from holders. They are named by the digests of their
-- members, which may be any bytes. Of a run that has lost the lock so the entry
-- stays, until it reports or the next one files it.
--
-- KEYS: the lock, or that, :i, :q and :l.
-- ARGV: who takes it away, life of :i in ms, the digests of the holders.
-- {how many have lost it, or 1 if it was free; 0: others hold it; the head of
-- the queue, which is to be rung, or ''}
local lock, info, queue, alive = unpack(KEYS)
local who, life = unpack(ARGV)
local now
-- include: call
-- include: holders
-- include: queue

-- How many have lost the lock, and one of them.
local function take_away(held)
  local named, freed, loser = {}, 0, nil
  for i = 3, #ARGV do named[ARGV[i]] = true end
  if held.kind == 'x' then
    return named[redis.sha1hex(held.first)] and call('DEL', lock) or 0,
      held.first
  end
  for _, member in ipairs(call('ZRANGE', lock, 0, 4999)) do
    if named[redis.sha1hex(member)] then
      freed = freed + call('ZREM', lock, member)
      loser = loser or member
    end
  end
  return freed, loser
end

-- Notes who has taken the lock from whom ('-': a foreign client), or that a
-- pause has ended.
local function note(kind, loser)
  local known = call('HMGET', info, field_of(kind, loser))
  local entry = entry_of(known[1], loser)
  local is_pause = string.find(entry, '^%S+ %d+ %d+ pause ')
  life = math.max(life, call('PTTL', info))
  call('PEXPIRE', info, life)
  call('HSET', info, is_pause and 'p' or 'x',
    now .. ' ' .. who .. ' | ' .. (entry ~= '' and entry or '-'))
  call('PEXPIRE', info, life)
end

return answer_of(pcall(function()
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local held = find_holders()
  local freed, loser = 1, nil
  if held.count > 0 then freed, loser = take_away(held) end
  if freed == 0 or not info then return {freed, ''} end
  -- The lock is free, whatever is denied from here on.
  if loser then pcall(note, held.kind, loser) end
  return {freed, remove_dead() or ''}
end))

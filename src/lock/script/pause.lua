-- Makes a pause of a lock that was acquired exclusively: it lasts for so long
-- from now, unless it lasts longer, and its record says what it is.
--
-- KEYS: the lock, the record of its holder (:i). ARGV: token, ms.
-- {1, ms left}; {0, 0}: the lock or its record has another token.
local lock, info = unpack(KEYS)
local token, ms = ARGV[1], tonumber(ARGV[2])
-- include: call
-- include: exclusive
-- include: ours

return answer_of(function()
  if not is_ours() or call('HMGET', info, 'token')[1] ~= token then
    return {0, 0}
  end
  lengthen(ms)
  local left = call('PTTL', lock)
  -- A full server refuses a script's first write only, and not PEXPIRE.
  call('PEXPIRE', info, math.max(3600000, left))
  call('HSET', info, 'paused', 1)
  return {1, left}
end)

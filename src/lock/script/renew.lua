-- Renews the lease. It only ever becomes longer: a nested run with a short ttl
-- must not shorten it. Touches the lock's key alone (protocol rule R5).
--
-- KEYS: the lock. ARGV: token, ttl in ms, letter of the kind.
-- {1}: ours until ttl from now at least; {0}: lost. The answer has a shape of
-- its own, so that no neighbouring command's reply is taken for it.
local lock = KEYS[1]
local token, ttl, letter = ARGV[1], tonumber(ARGV[2]), ARGV[3]
-- include: call
-- include: time
-- include: KIND

return answer_of(function()
  if not owns() then return {0} end
  lengthen(ttl)
  return {1}
end)

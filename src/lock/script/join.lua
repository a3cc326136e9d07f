-- A nested run joins those that use the lock, and so does each of its renewals:
-- a failover, a server planted again or DEL may have forgotten it. One that
-- cannot be counted takes part all the same, and loses the lock when the outer
-- run ends first.
--
-- KEYS: the lock, the nested runs (:n:<token>), at first also :i.
-- ARGV: token (member), ttl in ms, own name, life of :n in ms.
-- {1, the holder's entry in :i or '', why it is not counted or ''}; {0, '', ''}:
-- not held by that token.
local lock, nested, info = unpack(KEYS)
local token, ttl, me, life = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local now = 0
-- include: call
-- include: KIND_join

return answer_of(function()
  if not owns() then return {0, '', ''} end
  lengthen()
  local known = info and redis.pcall('HMGET', info, entry)
  local counted, failure = pcall(function()
    call('SMEMBERS', nested)
    call('SREM', nested, '')
    call('SADD', nested, me)
    call('PEXPIRE', nested, life)
  end)
  return {1, known and string.sub(known[1] or '', 1, LIMIT_ENTRY) or '',
    counted and '' or failure}
end)

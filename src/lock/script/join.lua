-- A nested run joins those that use the lock, and so does each of its renewals:
-- a failover, a server planted again or DEL may have forgotten it. One that
-- cannot be counted takes part all the same, and loses the lock when the outer
-- run ends first; so does one whose outer run is in the plain tier, and has
-- neither written a record nor looks for nested runs.
--
-- KEYS: the lock, the nested runs (:n:<token>), :i.
-- ARGV: token (member), ttl in ms, own name, life of :n in ms.
-- {1, the holder's entry in :i or '', why it is not counted or ''};
-- {0, '', ''}: not held by that token.
local lock, nested, info = unpack(KEYS)
local token, ttl = ARGV[1], tonumber(ARGV[2])
-- include: call
-- include: KIND_renew

-- What may be denied comes before SADD: nothing is left without a life.
local function count()
  call('SMEMBERS', nested)
  call('SREM', nested, '')
  call('PEXPIRE', nested, ARGV[4])
  call('SADD', nested, ARGV[3])
  call('PEXPIRE', nested, ARGV[4])
  return ''
end

-- A member that is kept for --min-hold is nobody's any more.
local known = redis.pcall('HMGET', info, 'h', 'h:' .. token)
local is_first = string.sub(known[1] or '', 1, #token) == token
local text = is_first and known[1] or known[2] or ''
if string.sub(text, #token + 1, #token + 5) == ':kept' then
  return {0, '', ''}
end
local done, answer = pcall(renew)
if answer == 0 or not done and string.find(answer, 'WRONGTYPE') then
  return {0, '', ''}
elseif not done then
  return answer_of(done, answer)
end
local uncounted = select(2, pcall(count))
if text == '' and uncounted == '' then
  uncounted = 'the outer run has no record, and may free the lock earlier'
end
return {1, string.sub(text, 1, LIMIT_ENTRY), uncounted}

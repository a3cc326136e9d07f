-- Takes the lock away from holders, and goes on as a release does. The holders
-- are named by the digests of their members, which may be any bytes.
--
-- KEYS: the lock, :i, :n, :q, :l, and if ARGV names a waiter its doorbell.
-- ARGV: the waiter that is expected to be the head of the queue or '', the
--   digests of the holders.
-- {how many have lost it, or 1 if it was free; waiters to notify...}; {0}:
-- others hold it; {-1}: nothing was done but to remove expired entries, call
-- again.
local lock, info, nested, queue, alive, doorbell = unpack(KEYS)
-- include: call
-- include: time
-- include: sweep
-- include: holders
-- include: digits
-- include: record
-- include: head
-- include: queue

return answer_of(function()
  local held = find_holders(remove_expired)
  if held.unswept or queue and select(2, pcall(live_head)) == true then
    return {-1}
  end
  local limit = info and redis.pcall('HMGET', info, 'limit')
  limit = limit and tonumber(digits(limit[1], LIMIT_PERMITS)) or nil
  local named, freed = {}, held.count == 0 and 1 or 0
  for i = 2, #ARGV do named[ARGV[i]] = true end
  if held.kind == 'x' then
    if not named[redis.sha1hex(held.first)] then return {0} end
    freed, held.count = 1, 0
  elseif held.count > 0 then
    local found = {}
    for _, member in ipairs(list_members(held, 5000)) do
      if named[redis.sha1hex(member)] then found[#found + 1] = member end
    end
    if not found[1] then return {0} end
    freed = call('ZREM', lock, unpack(found))
    held.count = held.count - freed
  end
  if held.count == 0 then wipe(unpack({lock, info, nested})) end
  if not queue then return {freed} end
  local waiters = waiters_to_notify(nil, held, limit, true, ARGV[1])
  return notify_expected(waiters, ARGV[1], doorbell, {freed})
end)

-- A counted lock is a sorted set, member -> end of its lease. A member is a
-- token, as in DistributedLock.Redis, and of a shared holder 's:' and a token.
-- What may be denied comes first, behind a write that a full server refuses.
call('ZADD', lock, 'XX', now, '')
call('ZREM', lock, '', unpack(ARGV, 15))
held.removed = call('ZREMRANGEBYSCORE', lock, '-inf', now)
if held.count == 0 then
  call('ZSCORE', lock, token)
  call('ZRANGE', lock, 0, 0)
  call('ZCOUNT', lock, 0, 0)
end
call('PEXPIRE', lock, math.max(3 * ttl, left))
call('ZADD', lock, now + ttl, token)
undo = not is_held and function() redis.pcall('ZREM', lock, token) end
call('PEXPIRE', lock, math.max(3 * ttl, left))

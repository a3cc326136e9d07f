-- A counted lock is a sorted set, member -> end of its lease. A member is a
-- token, as in DistributedLock.Redis, and of a shared holder 's:' and a token.
-- What may be denied comes first, behind a write that a full server refuses.
call('ZADD', lock, 'XX', now, '')
call('ZREM', lock, '', unpack(ARGV, 15))
held.removed = call('ZREMRANGEBYSCORE', lock, '-inf', now)
call('PEXPIRE', lock, math.max(3 * ttl, left))
call('ZADD', lock, now + ttl, token)
undo = {'ZREM', lock, token}
call('PEXPIRE', lock, math.max(3 * ttl, left))

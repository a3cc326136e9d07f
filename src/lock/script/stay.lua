-- A nested run goes on using the lock.
--
-- KEYS: nested runs (:n). ARGV: token:run, ttl in ms, life of :n in ms.
-- include: call
-- include: time

redis.pcall('ZADD', KEYS[1], 'XX', now + ARGV[2], ARGV[1])
return redis.pcall('PEXPIRE', KEYS[1], ARGV[3])

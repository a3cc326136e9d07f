-- Renews the lease, of an exclusive lock as the literature does. It only ever
-- becomes longer: a nested run with a short ttl must not shorten it. Touches
-- the lock's key alone (protocol rule R5), in both tiers.
--
-- KEYS: the lock. ARGV: token (member), ttl in ms.
-- 1: ours until ttl from now at least; 0: lost.
local lock, token, ttl, call = KEYS[1], ARGV[1], tonumber(ARGV[2]), redis.call
-- include: KIND_renew

return renew()

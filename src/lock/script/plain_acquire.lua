-- Acquires with the lock's key alone. What renewal and release need is tried on
-- the key while it is absent.
--
-- KEYS: the lock. ARGV: token (member), ttl in ms, number of permits or ''.
-- The answers of acquire; what is stored in helper keys is empty.
local lock, token, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
-- include: call
-- include: KIND_plain

return answer_of(pcall(acquire))

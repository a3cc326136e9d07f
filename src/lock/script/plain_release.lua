-- Frees the lock, or leaves it to the server for a time.
--
-- KEYS: the lock. ARGV: token (member), ms to keep the lock or 0.
-- 1: done; 0: it was not ours.
local lock, token, keep_ms, call = KEYS[1], ARGV[1], ARGV[2], redis.call
-- include: KIND_plain_release

-- What a release does, but for the notifying, and for locks of every kind. It
-- is short, because it follows a try that is still out: a server that was
-- frozen meanwhile reads 16 kB at a time, and forgets the rest when it finds
-- that we have gone. This arrives together with the try.
--
-- KEYS: the lock, the record of its holders (:i), and with the queue it (:q),
--   until when its waiters are alive (:l), the own doorbell (:m), and the last
--   run (:r) if its history is kept.
-- ARGV: token, own name in the queue, the former tokens.
local lock, info, queue, alive, doorbell, history = unpack(KEYS)
-- include: history

for _, token in ipairs({ARGV[1], unpack(ARGV, 3)}) do
  if redis.pcall('GET', lock) == token then
    redis.pcall('DEL', unpack({lock, info}))
  else
    redis.pcall('ZREM', lock, token, 's:' .. token)
    if info then redis.pcall('HDEL', info, token) end
  end
  if history then forget_run(token) end
end
if queue then
  redis.pcall('ZREM', queue, ARGV[2])
  redis.pcall('ZREM', alive, ARGV[2])
  redis.pcall('DEL', doorbell)
end
return 1

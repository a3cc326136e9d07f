-- Rings the doorbells of waiters, of those that are still in the queue.
--
-- KEYS: the queue (:q), until when its waiters are alive (:l), doorbells.
-- ARGV: the waiters that these doorbells belong to.
local queue, alive = unpack(KEYS)
-- include: call
-- include: time
-- include: head
-- include: queue

for i, waiter in ipairs(ARGV) do
  if redis.pcall('ZSCORE', queue, waiter) then notify(waiter, KEYS[i + 2]) end
end
return 1

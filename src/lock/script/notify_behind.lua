-- Rings the doorbell of the second waiter if the first, whose doorbell an
-- earlier command rang, has not taken its element: the first may be dead, and
-- so the second learns in time that it has moved up. BLPOP of a first waiter
-- that is there has taken the element by now.
--
-- KEYS: the queue (:q), until when its waiters are alive (:l), the doorbells of
--   the first and of the second waiter.
-- ARGV: the second waiter.
local queue, alive, first_doorbell, second_doorbell = unpack(KEYS)
-- include: call
-- include: time
-- include: queue

if redis.pcall('PEXPIRE', first_doorbell, 10000) == 1 then
  notify(ARGV[1], second_doorbell)
end
return 1

-- Rings the doorbell of the second waiter if the first, whose doorbell an
-- earlier command rang, has not taken its element: the first may be dead, and
-- so the second learns in time that it has moved up. BLPOP of a first waiter
-- that is there has taken the element by now. The second may be dead, too, so
-- the doorbell that all share is also rung: the server gives its element to the
-- one that has been blocked longest of those that are connected.
--
-- KEYS: the queue (:q), until when its waiters are alive (:l), the doorbells of
--   the first and of the second waiter, and of all.
-- ARGV: the second waiter.
local queue, alive, first_doorbell, second_doorbell, shared = unpack(KEYS)
-- include: call
-- include: time
-- include: head
-- include: queue

if redis.pcall('PEXPIRE', first_doorbell, 10000) == 1 then
  if redis.pcall('ZSCORE', queue, ARGV[1]) then
    notify(ARGV[1], second_doorbell)
  end
  local others = redis.pcall('ZCOUNT', alive, now + 1000, '+inf')
  if type(others) == 'number' and others > 0 then
    put_element(shared, 1000)
  end
end
return 1

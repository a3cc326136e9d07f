-- Rings the doorbells of waiters, of those that are still in the queue.
--
-- KEYS: :q, :l, doorbells. ARGV: the waiters that these belong to.
local queue, alive = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- include: queue

for i, waiter in ipairs(ARGV) do
  local ticket = redis.pcall('ZSCORE', queue, waiter)
  if type(ticket) == 'string' then ring(waiter, KEYS[i + 2]) end
end
return 1

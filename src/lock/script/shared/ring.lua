-- Uses queue, alive and now.

-- Rings a waiter's doorbell and gives it one second to come, in one step: who
-- rings may die on the way. A ring only ever shortens. The list has one element
-- at most, and is not left without a life.
local function ring(waiter, doorbell)
  local till = tonumber(redis.pcall('ZSCORE', alive, waiter) or nil)
  if till and till <= now + 1000 then return end
  redis.pcall('ZADD', alive, now + 1000, waiter)
  redis.pcall('PEXPIRE', alive, 60000)
  redis.pcall('DEL', doorbell)
  redis.pcall('RPUSH', doorbell, 1)
  if redis.pcall('PEXPIRE', doorbell, 10000) ~= 1 then
    redis.pcall('DEL', doorbell)
  end
end

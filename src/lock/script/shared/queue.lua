-- Uses queue, alive and now.

-- Removes the dead, a hundred at a time, and returns the head of the queue.
-- Whoever calls is alive.
local function remove_dead(me)
  local dead = redis.pcall('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 100)
  for _, waiter in ipairs(dead) do
    if waiter ~= me then
      redis.pcall('ZREM', queue, waiter)
      redis.pcall('ZREM', alive, waiter)
    end
  end
  return redis.pcall('ZRANGE', queue, 0, 0)[1]
end

-- The ms that the head of the queue still has to come, and whether it is to be
-- rung: a waiter that was rung has a second at most.
local function time_to_come(waiter)
  local till = tonumber(redis.pcall('ZSCORE', alive, waiter) or nil)
  if not till or till > now + 1000 then return 1000, true end
  return math.max(till - now, 0), false
end

-- Uses queue, alive and now.

-- Removes the dead, and what stands at the front and is no waiter's name: it
-- could not be rung. Returns the head of the queue. Whoever calls is alive.
local function remove_dead(me)
  for _, waiter in ipairs(redis.pcall('ZRANGEBYSCORE', alive, '-inf', now)) do
    if waiter ~= me then
      redis.pcall('ZREM', queue, waiter)
      redis.pcall('ZREM', alive, waiter)
    end
  end
  while true do
    local head = redis.pcall('ZRANGE', queue, 0, 0)[1]
    local token = string.match(head or '', '^[psx]:([%x-]+):%d*@')
    if not head or #(token or '') == 36
      or redis.pcall('ZREM', queue, head) ~= 1 then return head end
    redis.pcall('ZREM', alive, head)
  end
end

-- The ms that a waiter still has to come, and whether it is to be rung: one that
-- was rung has a second at most.
local function time_to_come(waiter, most)
  local till = tonumber(redis.pcall('ZSCORE', alive, waiter))
  most = most or 1000
  if not till or till > now + most then return most, true end
  return math.max(till - now, 0), false
end

-- Rings a waiter's doorbell and gives it one second to come, in one step: who
-- rings may die on the way. A ring only ever shortens. The list has one element
-- at most, and is not left without a life.
local function ring(waiter, bell)
  if not select(2, time_to_come(waiter)) then return end
  redis.pcall('ZADD', alive, now + 1000, waiter)
  redis.pcall('PEXPIRE', alive, 60000)
  redis.pcall('DEL', bell)
  redis.pcall('RPUSH', bell, 1)
  if redis.pcall('PEXPIRE', bell, 10000) ~= 1 then redis.pcall('DEL', bell) end
end

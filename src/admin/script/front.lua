-- Puts a waiter at the front of the queue, for a pause: its ticket lies
-- LIMIT_FRONT_US below those of all others. Pauses keep their order.
--
-- KEYS: the lock, :i, :r, :q, :l, the own doorbell, as for an acquire: without
--   access to all of them, a pause could not leave the queue. ARGV: the waiter.
local queue, alive, me = KEYS[4], KEYS[5], ARGV[1]
-- include: call

return answer_of(pcall(function()
  local time = call('TIME')
  local us = time[1] * 1000000 + time[2]
  call('ZREM', queue, '')
  call('PEXPIRE', queue, 60000)
  local ticket = tonumber(call('ZSCORE', queue, me))
  if not ticket or ticket >= LIMIT_FRONT_US then
    call('ZADD', queue, us - LIMIT_FRONT_US, me)
  end
  call('PEXPIRE', queue, 60000)
  call('ZADD', alive, math.floor(us / 1000) + 3 * LIMIT_HEARTBEAT_NEXT_MS, me)
  call('PEXPIRE', alive, 60000)
  return 1
end))

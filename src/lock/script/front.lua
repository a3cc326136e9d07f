-- Puts a waiter at the front of the queue, for a pause, and sends a heartbeat:
-- its ticket lies LIMIT_FRONT_US below the time, and so below those of all
-- others. Pauses keep their order.
--
-- KEYS: the queue (:q), until when its waiters are alive (:l). ARGV: the waiter.
-- {1}
local queue, alive = unpack(KEYS)
local me = ARGV[1]
-- include: call
-- include: time

return answer_of(function()
  local ticket = call('ZSCORE', queue, me)
  if not ticket or tonumber(ticket) >= LIMIT_FRONT_US then
    -- What an ACL would not let leave or expire does not enter the queue.
    call('ZREM', queue, me)
    call('PEXPIRE', queue, 60000)
    call('ZADD', queue, string.format('%.0f',
      time[1] * 1000000 + time[2] - LIMIT_FRONT_US), me)
  end
  call('ZADD', alive, now + 3 * LIMIT_HEARTBEAT_NEXT_MS, me)
  call('PEXPIRE', queue, 60000)
  call('PEXPIRE', alive, 60000)
  return {1}
end)

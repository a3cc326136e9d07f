-- Uses queue, alive and now.

-- The first waiter in the queue that is alive, and until when; or as sweep().
-- Removed from before it are waiters whose heartbeats stopped, those whose time
-- is further ahead than any heartbeat sets it (a clock was stepped), and names
-- too long for an answer. The caller is alive. removed.any is set if there were
-- some.
local function live_head(me, removed)
  return sweep(queue, function(head)
    if head == me then return now end
    local till = tonumber(call('ZSCORE', alive, head))
    return till and till >= now and till <= now + 4 * LIMIT_HEARTBEAT_MS
      and #head < LIMIT_LONG_TEXT and till
  end, function(dead)
    redis.pcall('ZREM', alive, unpack(dead))
    if removed then removed.any = true end
  end)
end

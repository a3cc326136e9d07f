-- Uses queue, alive and now.

-- The first waiter in the queue that is alive, and until when; or as sweep().
-- Removed from before it are waiters whose heartbeats stopped, those whose time
-- is further ahead than any heartbeat sets it (a clock was stepped), and names
-- too long for an answer. The caller is alive.
local function live_head(me)
  return sweep(queue, function(head)
    if head == me then return now end
    local till = tonumber(call('ZSCORE', alive, head))
    return till and till >= now and till <= now + 4 * LIMIT_HEARTBEAT_MS
      and #head < LIMIT_LONG_TEXT and till
  end, function(dead) redis.pcall('ZREM', alive, unpack(dead)) end)
end

-- How many waiters can go at once beside the holders, if one of this kind is
-- the head of the queue.
local function free_for(letter, held, limit)
  if held.count > 0 and (letter == 'x' or letter ~= held.kind) then return 0 end
  if letter == 'p' then
    return math.min((limit or held.count + 1) - held.count, LIMIT_NOTIFY)
  end
  return letter == 's' and LIMIT_NOTIFY or 1
end

-- The waiters at the front of the queue that can go now, and are to be
-- notified; and true if one call cannot find the head of the queue. One that
-- was notified or returned before is left out (its score ends in half a
-- millisecond), unless it is the first and again is set: many who come together
-- would all notify the same one. A name that no waiter has gets no doorbell,
-- and one second. The search starts from behind, because all before one that
-- was notified mostly were, too.
local function waiters_to_notify(me, held, limit, again)
  local list = {}
  local done, head = pcall(live_head, me)
  if not done or type(head) ~= 'string' then return list, head == true end
  local letter = string.sub(head, 1, 1)
  local room = free_for(letter, held, limit)
  if room < 1 then return list end
  local front = redis.pcall('ZRANGE', queue, 0, room - 1)
  local i = 1
  while front[i + 1] and string.sub(front[i + 1], 1, 1) == letter do
    i = i + 1
  end
  while i > 0 do
    local till = tonumber(redis.pcall('ZSCORE', alive, front[i]))
    local is_new = till and till > now + 1000 and till % 1 == 0
    if is_new then
      local is_waiter = string.sub(front[i], 39, 39) == ':'
        and string.find(front[i], '^[xsp]:[%x-]+:%d*@')
      till = is_waiter and till + 0.5 or now + 1000
      redis.pcall('ZADD', alive, till, front[i])
    end
    if is_new or i == 1 and again then table.insert(list, 1, front[i]) end
    if till and till >= now and not is_new then i = math.min(i, 2) end
    i = i - 1
  end
  return list
end

-- Rings the doorbell of a waiter that is still in the queue, and gives it one
-- second to come: all in one step, because the one who notifies may die on the
-- way. The list has one element at most, and does not outlive its waiter.
local function notify(waiter, doorbell)
  if not redis.pcall('ZSCORE', queue, waiter) then return end
  redis.pcall('ZADD', alive, now + 1000, waiter)
  redis.pcall('DEL', doorbell)
  redis.pcall('RPUSH', doorbell, 1)
  redis.pcall('PEXPIRE', doorbell, 10000)
end

-- Notifies that one of the waiters whose doorbell is known; the others go into
-- the answer.
local function notify_expected(waiters, expected, doorbell, answer)
  for _, waiter in ipairs(waiters) do
    if waiter == expected then
      notify(waiter, doorbell)
    else
      answer[#answer + 1] = waiter
    end
  end
  return answer
end

-- Whether that waiter has the heartbeat of those further back: if it is one of
-- the first by now, it does not know yet.
local function is_slow(waiter)
  local till = waiter and tonumber(redis.pcall('ZSCORE', alive, waiter))
  return till and till > now + 3 * LIMIT_HEARTBEAT_NEXT_MS
    and till <= now + 4 * LIMIT_HEARTBEAT_MS
end

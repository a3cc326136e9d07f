-- Uses queue, alive, now and live_head().

-- The score of a waiter in :l may end in a part of a millisecond, a mark:
--   LIMIT_MARK_NOTIFIED  somebody has rung its doorbell, or is about to
--   LIMIT_MARK_SOUGHT    the same, in a search for the living
--   LIMIT_MARK_FOUND     it has come since
-- Its next heartbeat removes the mark, unless the search goes on.

-- How many waiters can go at once beside the holders, if one of this kind is
-- the head of the queue.
local function free_for(letter, held, limit)
  if held.count > 0 and (letter == 'x' or letter ~= held.kind) then return 0 end
  if letter == 'p' then
    return math.min((limit or held.count + 1) - held.count, LIMIT_NOTIFY)
  end
  return letter == 's' and LIMIT_NOTIFY or 1
end

-- Marks a waiter that is alive until then and about to be notified. A name that
-- no waiter has gets no doorbell, and one second.
local function set_mark(waiter, till, part)
  local is_waiter = string.sub(waiter, 39, 39) == ':'
    and string.find(waiter, '^[xsp]:[%x-]+:%d*@')
  till = (is_waiter and math.floor(till) or now + 999) + part
  redis.pcall('ZADD', alive, till, waiter)
  return till
end

-- The waiters at the front of the queue that can go now, and are to be
-- notified; true if one call cannot find the head of the queue; and whether the
-- first was not notified before. One that was notified or returned before is
-- left out (it is marked), unless it is the first and again is set: many who
-- come together would all notify the same one. The expected one is not marked,
-- because the caller notifies it. The search starts from behind, because all
-- before one that was notified mostly were, too.
local function waiters_to_notify(me, held, limit, again, expected)
  local list = {}
  local done, head, alive_till = pcall(live_head, me)
  if not done or type(head) ~= 'string' then return list, head == true end
  local letter = string.sub(head, 1, 1)
  local room = free_for(letter, held, limit)
  if room < 1 then return list end
  local front = room > 1 and redis.pcall('ZRANGE', queue, 0, room - 1)
    or {head}
  local i, is_new = 1, false
  while front[i + 1] and string.sub(front[i + 1], 1, 1) == letter do
    i = i + 1
  end
  while i > 0 do
    local till = i == 1 and head ~= me and alive_till
      or tonumber(redis.pcall('ZSCORE', alive, front[i]))
    is_new = till and till >= now
      and till % 1 ~= LIMIT_MARK_NOTIFIED and till % 1 ~= LIMIT_MARK_SOUGHT
    if is_new and front[i] ~= expected then
      till = set_mark(front[i], till, LIMIT_MARK_NOTIFIED)
    end
    if is_new or i == 1 and again then table.insert(list, 1, front[i]) end
    if till and till >= now and not is_new then i = math.min(i, 2) end
    i = i - 1
  end
  return list, false, is_new
end

-- The list has one element at most. If its life is denied, it is not left.
local function put_element(doorbell, ms)
  redis.pcall('DEL', doorbell)
  redis.pcall('RPUSH', doorbell, 1)
  if redis.pcall('PEXPIRE', doorbell, ms) ~= 1 then
    redis.pcall('DEL', doorbell)
  end
end

-- Rings the doorbell of a waiter in the queue, and gives it one second to come:
-- all in one step, because the one who notifies may die on the way. The mark of
-- a search stays.
local function notify(waiter, doorbell)
  local till = tonumber(redis.pcall('ZSCORE', alive, waiter) or 0)
  local is_sought = till % 1 == LIMIT_MARK_SOUGHT
  local part = is_sought and LIMIT_MARK_SOUGHT or LIMIT_MARK_NOTIFIED
  redis.pcall('ZADD', alive, now + 999 + part, waiter)
  put_element(doorbell, 10000)
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

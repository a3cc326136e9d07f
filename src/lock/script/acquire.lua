-- Grants the lock, or says who holds it and enters the queue.
--
-- KEYS: the lock, its last fence (:f), the record of its holders (:i), nested
--   runs (:n), the queue (:q), until when its waiters are alive (:l), the own
--   doorbell (:m), the last run (:r); all of them, or the first seven, four,
--   three or one. Then, with --newest, the newest waiter (:o), and with --replace
--   or --replaceable the order to stop (:s).
-- ARGV: token, ttl in ms, life of the helper keys in ms, letter of the kind,
--   number of permits or '', host, pid, user, command, label or '', own name in
--   the queue, 1 to wait in it or 0 (then 'r' with --replace, 'o' with
--   --replaceable, and 'n' with --newest and the own ticket; without a reply that
--   has it '-' and for how many ms the lock has been asked for), how many may
--   wait at most or '', padding, life of :r in ms or '' and behind a ':' the ms of
--   --expect, ms for --once-per or '' and behind a ':' the id of --once-id, the
--   former tokens: whatever tries under these were granted is ours now.
-- Granted: {1, fence, first in the queue or '', how many permits the others
--   allow or 0, ms that the last success lies in the future or 0, waiters to
--   notify...}.
-- Not due, by --once-per: {2, ms since the last success, its host}; by --once-id:
--   {5, likewise of the last success with an id, which was ours}. A waiter still
--   has its place in the queue, and is to leave it by a release.
-- Overtaken, by --newest: {3, the waiter that has, its label}. The same holds
--   for the place.
-- Busy: {0, ms to wait, own position from 0 or -1, how many wait, 'free',
--   'foreign' (a holder without a record), 'known', 'kept' (for --min-hold),
--   'hold', 'paused' or 'replaceable', the holder's kind, how many hold it,
--   permits or 0, host, pid, user, label, held for ms, 1 when there is room but
--   for those in front, waiters to notify...}.
--   The ms are those left of the lease (-1: it has no end), or when there is
--   room, those until the head of the queue has had its chance. Of several
--   holders the one is described whose lease is waited for.
-- Unfinished: {-1, ...} with the same elements. One call has removed as many
--   expired entries as it may, and more of them hide whether the lock is free;
--   or it names as many waiters as it may, and there are more to notify. A
--   waiter has its place in the queue. Call again at once.
-- With --newest, 4 and the own ticket stand before that 0 or -1.
local lock, fence, info, _, queue, alive, doorbell = unpack(KEYS)
local history = ARGV[15] ~= '' and KEYS[8]
local token, ttl, life = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local letter, limit = ARGV[4], tonumber(ARGV[5])
local self = {host = ARGV[6], pid = ARGV[7], user = ARGV[8],
  command = ARGV[9], label = ARGV[10]}
local me, most = ARGV[11], tonumber(ARGV[13])
local wait = string.sub(ARGV[12], 1, 1) == '1'
local policies = #ARGV[12] > 1
local order = policies and string.find(ARGV[12], '[ro]') and KEYS[#KEYS]
local newest = policies and string.find(ARGV[12], 'n')
  and KEYS[#KEYS - (order and 1 or 0)]
local ticket = newest and tonumber(string.match(ARGV[12], 'n(%d+)'))
local history_life, expect = tonumber(ARGV[15]), ''
local once, id = nil, ''
if not history_life then
  history_life, expect = string.match(ARGV[15], '^(%d*):?(%d*)$')
  history_life = tonumber(history_life)
end
if ARGV[16] ~= '' then
  once, id = string.match(ARGV[16], '^(%d*):?(.*)$')
  once = tonumber(once)
end
local former = {unpack(ARGV, 17)}
-- include: call
-- include: time
local now_us = time[1] * 1000000 + time[2]
-- include: sweep
-- include: holders
-- include: digits
-- include: history
-- include: head

local function next_ticket()
  local last = redis.pcall('ZRANGE', queue, -1, -1, 'WITHSCORES')
  return math.max(now_us, (tonumber(last[2]) or 0) + 1)
end

-- include: KIND

-- Whether this call has removed dead waiters.
local removed = {any = false}

-- What is found of the lock and of the queue.
local held, own, places, overtaken
local head, till, position, ahead = false, now, false, 0

-- The own token is granted anew, with a new fence: nobody has seen the one
-- whose answer was lost.
local function next_fence()
  local last = fence and redis.pcall('GET', fence)
  last = type(last) == 'string' and tonumber(last) or 0
  if not (last > 0 and last < LIMIT_EXACT) then last = 0 end
  return string.format('%.0f', math.max(last + 1, now_us))
end

-- Without a success the period counts from its first statement, which outlives
-- all runs that are kept; but not one that was withdrawn since, or that lies in
-- the future (a clock was stepped).
local function write_expect()
  local former, since = unpack(
    redis.pcall('HMGET', history, 'expect', 'expect_since'), 1, 2)
  since = tonumber(former ~= '0' and digits(since, LIMIT_EXACT))
  if not since or since > now + LIMIT_CLOCKS_MS then since = now end
  redis.pcall('HSET', history, 'expect', expect,
    'expect_since', string.format('%.0f', since))
end

-- The lock is written last: a server that refuses a step has granted nothing.
-- SET comes first, because a full server refuses a script's first write only.
-- PTTL and PEXPIRE come before anything without a life of its own is written:
-- they fail here if an ACL would let us neither renew nor release.
local function grant()
  local number = next_fence()
  local others = held.count > 0 and held.kind == 'p' and info
    and redis.pcall('HMGET', info, 'limit')[1] or nil
  if fence then
    call('SET', fence, number, 'PX', life)
    call('PEXPIRE', fence, life)
    write_record(held, number)
    call('PEXPIRE', info, life)
  end
  write_newest()
  -- A waiter that was notified and then taken for dead may find no queue, but
  -- its doorbell.
  if queue and (head or wait) then wipe(doorbell) end
  if head then
    call('ZREM', queue, me)
    call('ZREM', alive, me)
  end
  if history then
    local start = string.format('%.0f', now)
    write_history('token', token, 'host', self.host, 'pid', self.pid,
      'user', self.user, 'label', self.label, 'start', start,
      'fence', number, 'end', '', 'status', '', 'who', token .. ' ' .. number
      .. ' ' .. start .. ' ' .. self.pid .. '\n' .. self.host .. '\n'
      .. self.user .. '\n' .. self.label, file_last_run())
    if expect ~= '' then write_expect() end
  end
  write_lock()
  return {1, fence and number or '', '',
    tonumber(digits(others, LIMIT_PERMITS) or 0), ahead}
end

-- What an ACL would not let wait, leave or expire does not enter the queue.
local function check_access()
  for _, needed in ipairs({'ZREM', 'ZRANK', 'ZSCORE'}) do
    call(needed, queue, me)
  end
  call('PEXPIRE', queue, 60000)
end

-- Nor does a policy start a job if it could not do its part once somebody
-- waits. For one that is not in the queue: all of it changes nothing. ZADD comes
-- first, because a full server refuses a script's first write only.
local function check_policies()
  call('ZADD', queue, 'XX', 0, me)
  call('ZCOUNT', queue, 0, 0)
  check_access()
  if string.find(ARGV[12], 'r') then
    local about = redis.pcall('HMGET', info, 'token')
    if about.err and not is_wrong_type(about.err) then
      call('HMGET', info, 'token')
    end
  end
end

-- Whether the lock is free for us, or ours, and the queue is empty: then this is
-- the answer. So are those that need no look at the queue; otherwise it is nil.
local function grant_at_once()
  held = find_holders(remove_expired)
  own = held.count > 0 and (held.kind == 'x') == (letter == 'x')
    and (owns() or former_owns())
  local enough, later
  if (once or id ~= '' or expect ~= '') and not own then
    enough, ahead = not_due()
  end
  if enough then return enough end
  places = free_places(held)
  if queue then
    head, till = live_head(me, removed)
    position = head and call('ZRANK', queue, me)
    if policies and not head then check_policies() end
  end
  later, overtaken = find_newest(own)
  if later then return later end
  if head or not own and (held.unswept or places < 1) then return nil end
  return grant()
end

-- A plain run needs no more. Each call makes anew the functions that it comes to,
-- and that costs as much as the commands.
local is_done, at_once = pcall(grant_at_once)
if not is_done or at_once then return is_done and at_once or {err = at_once} end
-- include: record
-- include: queue

-- Whether all in front of us can go together with us, and all find a place.
-- Nobody joins a group across more than 1,000 waiters.
local function in_turn()
  if position == 0 then return true end
  if string.sub(head, 1, 1) ~= letter or (position or 1) >= places then
    return false
  end
  local count = position or places < math.huge and places or 0
  if count == 0 or count > 1000 then count = 1001 end
  local ahead = redis.pcall('ZRANGE', queue, 0, count - 1)
  if #ahead >= places or #ahead > 1000 then return false end
  for _, waiter in ipairs(ahead) do
    if string.sub(waiter, 1, 1) ~= letter then return false end
  end
  return true
end

-- Enters the queue or sends a heartbeat, with a mark; returns the position.
local function enter(part)
  if not position then
    check_access()
    local place = math.max(next_ticket(), ticket or 0)
    call('ZADD', queue, string.format('%.0f', place), me)
    position = call('ZRANK', queue, me)
  end
  call('ZADD', alive, now + part + 3 * (position < LIMIT_NEXT_POSITIONS
    and LIMIT_HEARTBEAT_NEXT_MS or LIMIT_HEARTBEAT_MS), me)
  call('PEXPIRE', queue, 60000)
  call('PEXPIRE', alive, 60000)
  write_newest()
  return position
end

-- What is known about the holder whose lease is waited for.
local function describe_holder(member)
  local about = {who = held.count > 0 and 'foreign' or 'free', permits = 0,
    host = '', pid = '', user = '', label = '', held_ms = 0}
  if held.count == 0 or not info then return about end
  local one = held.kind == 's' and token_of(member) or member
  local done, records, permits = pcall(read_records, held.kind, {one})
  if not done and string.find(ARGV[12], 'r') and not is_wrong_type(records) then
    error(records, 0)
  end
  local record = done and records[1]
  if not record then return about end
  if held.kind ~= 'x' then
    about.permits = tonumber(digits(permits, LIMIT_PERMITS) or 0)
  end
  local since = start_of(record.since)
  if not since then return about end
  about.who = record.kept and 'kept' or record.paused and 'paused'
    or record.hold and 'hold' or record.replaceable and 'replaceable' or 'known'
  about.host, about.user = record.host, record.user
  about.label = record.label
  about.pid = digits(record.pid, LIMIT_PID) or ''
  about.held_ms = math.max(0, now - since)
  return about
end

-- The waiter at that position, and until when it is alive.
local function waiter_at(position)
  local waiter = redis.pcall('ZRANGE', queue, position, position)[1]
  return waiter, tonumber(waiter and redis.pcall('ZSCORE', alive, waiter))
end

-- Whether a waiter that is alive until then has been notified, or is about to
-- be, and has not come since; or is dead.
local function is_notified(till)
  return not till or till <= now + 1000
    or till % 1 == LIMIT_MARK_NOTIFIED or till % 1 == LIMIT_MARK_SOUGHT
end

-- The mark of our heartbeat: whether we have come since a search notified us.
local function own_mark()
  local part = (tonumber(redis.pcall('ZSCORE', alive, me)) or 0) % 1
  local is_sought = part == LIMIT_MARK_SOUGHT or part == LIMIT_MARK_FOUND
  return is_sought and LIMIT_MARK_FOUND or 0
end

-- How many waiters at the front have been notified, of those ahead of us.
local function count_notified(ahead)
  local low, high = 0, ahead
  while low < high do
    local middle = math.floor((low + high) / 2)
    local _, till = waiter_at(middle)
    if is_notified(till) then low = middle + 1 else high = middle end
  end
  return low
end

-- Whether one of the first so many has come.
local function has_come(count)
  local front = redis.pcall('ZRANGE', queue, 0, count - 1)
  for _, waiter in ipairs(front) do
    local till = tonumber(redis.pcall('ZSCORE', alive, waiter))
    if till and till % 1 == LIMIT_MARK_FOUND then return true end
  end
end

-- The head of the queue has missed its second, and the next ones may be dead,
-- too. So the first 50 ahead of us are notified together; if none of them comes
-- within 50 ms, twenty times as many, and so on. Those that come are alive, and
-- the first of them is granted the lock when the second of those before it has
-- passed. Adds the waiters to notify to the list. Returns in how
-- many ms the search goes on: 0 for at once, nil if all ahead of us are
-- notified, or one of them has come.
local function search(ahead, list)
  local from, stage = count_notified(ahead), LIMIT_NOTIFY
  while stage < from do stage = 20 * stage end
  if stage == from and from < ahead then
    local _, till = waiter_at(from - 1)
    if till and till > now + 950 then return 50 end
    if has_come(math.min(from, LIMIT_ENTRIES)) then return nil end
    stage = 20 * stage
  end
  local to = math.min(from + LIMIT_NOTIFY - #list, stage, ahead)
  for _, waiter in ipairs(redis.pcall('ZRANGE', queue, from, to - 1)) do
    local till = tonumber(redis.pcall('ZSCORE', alive, waiter))
    if till and till % 1 == LIMIT_MARK_FOUND then return nil end
    if not is_notified(till) then
      set_mark(waiter, till, LIMIT_MARK_SOUGHT)
      list[#list + 1] = waiter
    end
  end
  if to == ahead then return nil end
  return to < stage and 0 or 50
end

-- The answer when it is not our turn. A newcomer that finds places with others
-- in front of it is asked to notify these, unless somebody has.
local function answer_busy(again)
  local is_ours = held.kind == letter
  local left = is_ours and held.first_left or held.last_left or 0
  local about = describe_holder(is_ours and held.first or held.last)
  local has_room = places > 0 and not again
  local waiters, waiting, entered = {}, 0, -1
  if has_room then
    local due
    if till % 1 ~= LIMIT_MARK_SOUGHT then
      waiters = waiters_to_notify(me, held, limit)
    end
    if removed.any and waiters[1] == head and till % 1 ~= LIMIT_MARK_FOUND then
      till = set_mark(head, till, LIMIT_MARK_SOUGHT)
    end
    if till % 1 == LIMIT_MARK_SOUGHT then
      local ahead = position or call('ZCOUNT', queue, '-inf', '+inf')
      due = search(ahead, waiters)
    end
    left = held.last_left
    if held.count == 0 or string.sub(head, 1, 1) == letter then
      left = math.min(till - now, due or 1000)
    end
    again = wait and due == 0
  end
  if queue and (wait or most) then
    waiting = call('ZCOUNT', alive, now, now + 4 * LIMIT_HEARTBEAT_MS)
    if wait and (position or not most or waiting < most) then
      entered = enter(has_room and own_mark() or 0)
      waiters[#waiters + 1] = #waiters < LIMIT_NOTIFY and overtaken or nil
      if entered == 0 and about.who == 'replaceable' then
        give_order(held.first)
      end
    end
  end
  return {again and -1 or 0, math.max(-1, math.min(left, LIMIT_LEFT_MS)),
    entered, waiting, about.who, held.kind or '', held.count, about.permits,
    about.host, about.pid, about.user, about.label, about.held_ms,
    has_room and 1 or 0, unpack(waiters)}
end

-- Whether nobody has notified us: a notified waiter has one second to come.
-- Then we came because a lease has ended, and the next waiter may not know yet
-- that it is the first.
local function is_unnotified()
  local till = tonumber(redis.pcall('ZSCORE', alive, me))
  return till and till > now + 1000
end

return answer_of(function()
  local again = held.unswept or head == true and (wait or places > 0)
  if not own and (again or places < 1
    or head and not in_turn()) then
    local busy = answer_busy(again)
    return newest and {4, string.format('%.0f', ticket), unpack(busy)} or busy
  end

  local unnotified = position and is_unnotified()
  local granted = grant()
  local done, follower = pcall(live_head, me)
  if not done or type(follower) ~= 'string' then return granted end
  granted[3] = follower
  if places < 2 then
    granted[6] = unnotified and is_slow(follower) and follower or nil
    return granted
  end
  held.count, held.kind = held.count + (own and 0 or 1), letter
  for i, waiter in ipairs(waiters_to_notify(me, held, limit)) do
    granted[5 + i] = waiter
  end
  return granted
end)

-- Grants the lock, or says who holds it and enters the queue. A plain run comes
-- no further than to the first return.
--
-- KEYS: the lock, :i, :r, :q, :l, the own doorbell.
-- ARGV:  1 token (the member, of a counted lock)
--        2 ttl in ms
--        3 own record: words, which the server only stores
--        4 life of :i in ms
--        5 life of :r in ms; 0: no history is kept
--        6 own name in the queue
--        7 how many may wait beside us; '-': any number; '': we do not wait,
--          and a busy lock is a skip; '?': we do not wait, and try again
--        8 number of permits or ''
--        9 own ticket or ''
--   Where there is a policy, or a former try:
--       10 ms of --once-per or ''
--       11 id of --once-id or ''
--       12 ms of --expect or ''
--       13 with --newest for how many ms the lock has been asked for, or ''
--       14 'r' with --replace, 'o' with --replaceable, or ''
--   15.. former tokens: what these tries were granted is ours
-- Granted: {1, fence, start (server's ms), life of :i, ms that the last success
--   lies in the future, entry of another holder or '', head of the queue or '',
--   waiters to ring...}
-- Not due: {2, ms since the last success, its text} by --once-per; {5, ...} by
--   --once-id. Overtaken: {3, the newest waiter, its record}. A waiter has its
--   place all the same, and leaves it by a release.
-- Busy: {0, ms to wait, own position from 0 or -1, how many wait, own ticket or
--   '', 1 if there is room but for those in front, kind, how many hold it, the
--   server's ms, the holder's entry in :i or '', waiters to ring...}
--   The ms are those left of the lease that is waited for (-1: no end), or where
--   there is room those until the head of the queue is overdue.
local lock, info, runs, queue, alive, doorbell = unpack(KEYS)
local token, ttl, record = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local life, runs_life, me = tonumber(ARGV[4]), ARGV[5], ARGV[6]
local wait, limit, ticket = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local head, known, us, now
local ahead_ms, other, held, follow = 0, '', nil, nil
-- include: call
-- include: digits
-- include: push
-- include: KIND

-- The run whose entry is still there has died, unless it is ours, or a release
-- has changed the entry: a ':' behind the token. Returns what we were granted.
local function file_last(text)
  local whose, rest = string.match(text, '^(%S+) (.*)$')
  if whose == token then return rest end
  if not whose or string.find(whose, ':', 3, true) then return end
  for i = 15, #ARGV do
    if whose == ARGV[i] then return end
  end
  if runs_life ~= '0' then push('- - - - ' .. rest) end
end

-- A repeated try gets the fence and the start of the first one.
local function record_grant()
  local last = digits(known[1], LIMIT_EXACT) or 0
  local fence, start = math.max(last + 1, us), now
  local ours = file_last(known[2] or '')
  if ours then
    local was, since = string.match(ours, '^(%d+) (%d+)')
    fence = digits(was, LIMIT_EXACT) or fence
    start = digits(since, LIMIT_EXACT) or start
  end
  local text = string.format('%.0f', fence)
  call('HSET', info, 'f', text, entry,
    string.format('%s %s %.0f %s', token, text, start, record), 't', life)
  call('PEXPIRE', info, life)
  return {1, text, start, life, ahead_ms, other, ''}
end

-- What fails once the lock is taken gives it back: nothing of it is left on a
-- server that denies what a renewal or a release needs.
local function grant(left)
  take(left)
  local done, answer = pcall(function()
    call('PTTL', lock)
    call('DEL', doorbell)
    local granted = record_grant()
    if follow then follow(granted) end
    return granted
  end)
  if done then return answer end
  give_back()
  error(answer, 0)
end

local function read()
  head = call('ZRANGE', queue, 0, 0)[1]
  known = call('HMGET', info, 'f', entry, 't')
  local time = call('TIME')
  us = time[1] * 1000000 + time[2]
  now = math.floor(us / 1000)
  life = math.max(life, digits(known[3], LIMIT_AGE_MS) or 0)
  if not head and #ARGV < 10 and is_free() then return grant(0) end
end

local done, answer = pcall(read)
if not done then return {err = answer} end
if answer then return answer end
-- include: holders
-- include: queue
local once, id, expect = ARGV[10] or '', ARGV[11] or '', ARGV[12] or ''
local asked_ms, order = tonumber(ARGV[13]), ARGV[14] or ''
local letter, places, overtakes = string.sub(me, 1, 1), nil, nil

local function cut(text) return string.sub(text or '', 1, LIMIT_ENTRY) end

local function note(...)
  call('HSET', info, 't', life, ...)
  call('PEXPIRE', info, life)
end

-- A skip leaves its time, who was skipped, and behind a '|' because of whom.
local function skip(reason, by)
  redis.pcall('HSET', info, 't', life, 'k:' .. reason,
    string.format('%.0f %s | %s', now, record, by))
  redis.pcall('PEXPIRE', info, life)
end

-- How long ago a success was. A failover may have led to a server whose clock is
-- a little behind: then it is over just now.
local function ago_of(text)
  local ended = digits(string.match(text or '', '^%d+'), LIMIT_EXACT)
  local ago = ended and now - ended
  return ago and ago < 0 and ago >= -LIMIT_CLOCKS_MS and 0 or ago
end

local function find_success()
  local last, last_id, with_id = unpack(
    call('HMGET', info, 's', 'd', 'ds'), 1, 3)
  local ago = ago_of(last)
  if once ~= '' and ago and ago >= 0 and ago < tonumber(once) then
    skip('due', cut(last))
    return {2, ago, cut(last)}
  elseif id ~= '' and last_id == id then
    skip('id', cut(with_id))
    ago = math.max(0, math.min(ago_of(with_id) or 0, LIMIT_AGE_MS))
    return {5, ago, cut(with_id)}
  end
  if once ~= '' then
    ahead_ms = math.min(math.max(-(ago or 0), 0), LIMIT_AGE_MS)
  end
end

local function next_ticket()
  local last = call('ZRANGE', queue, -1, -1, 'WITHSCORES')
  return math.max(us, (tonumber(last[2]) or 0) + 1)
end

-- Of the waiters with --newest the one with the latest ticket stays. A ticket
-- further ahead than clocks differ counts as none. The ticket of one that asks
-- again without having been told it lies where it first asked.
local function find_newest()
  local text = call('HMGET', info, 'w')[1] or ''
  local last, waiter, label = string.match(text, '^(%d+) (%S+) (.*)$')
  last = digits(last, LIMIT_EXACT) or 0
  if last > us + 1000 * LIMIT_CLOCKS_MS then last, waiter = 0, nil end
  if waiter == me then ticket = last end
  ticket = ticket or tonumber(call('ZSCORE', queue, me) or nil)
    or asked_ms > 0 and us - 1000 * asked_ms or nil
  if waiter ~= me and ticket and ticket < last then
    skip('overtaken', label)
    return {3, cut(waiter), cut(label)}
  end
  ticket = ticket or math.max(next_ticket(), last + 1)
  overtakes = waiter ~= me and waiter and call('ZSCORE', queue, waiter)
    and waiter
end

-- A policy starts no job that could not do its part once somebody waits.
local function check_access()
  call('ZADD', queue, 'XX', 0, '')
  call('ZADD', alive, 'XX', 0, '')
  call('ZREM', queue, '')
  call('ZCARD', queue)
  call('ZRANK', queue, me)
  call('ZSCORE', alive, me)
  call('ZRANGEBYSCORE', alive, 0, 0)
end

local function refuse_by_policy()
  check_access()
  if once ~= '' or id ~= '' then
    local enough = find_success()
    if enough then return enough end
  end
  return asked_ms and find_newest()
end

-- What is known about a holder: the entry begins with what the key holds.
local function entry_of(member)
  local text = call('HMGET', info, held.kind == 'x' and 'h' or 'h:' .. member)[1]
  local is_its = text and string.sub(text, 1, #member) == member
    and string.find(text, '^[: ]', #member + 1)
  return is_its and cut(text) or ''
end

-- include: KIND_rest

local function is_ours()
  for i = 15, #ARGV do
    if owns(ARGV[i]) then return true end
  end
  return held.count > 0 and owns(token)
end

-- Whether all in front of us can go together with us. Nobody joins a group
-- across more than a thousand.
local function in_turn()
  if not head or head == me then return true end
  if places < 2 or string.sub(head, 1, 1) ~= letter then return false end
  local rank = call('ZRANK', queue, me) or call('ZCARD', queue)
  if rank >= places or rank > 1000 then return false end
  for _, waiter in ipairs(call('ZRANGE', queue, 0, rank - 1)) do
    if string.sub(waiter, 1, 1) ~= letter then return false end
  end
  return true
end

-- Without a success the period counts from its first statement, unless that was
-- withdrawn since, or lies in the future.
local function note_expect()
  local former, since = unpack(call('HMGET', info, 'e', 'es'), 1, 2)
  since = former ~= '0' and digits(since, LIMIT_EXACT)
  if not since or since > now + LIMIT_CLOCKS_MS then since = now end
  note('e', expect, 'es', string.format('%.0f', since))
end

local function note_newest()
  note('w', string.format('%.0f %s %s', ticket, me, record))
end

-- What belongs to a grant that is not plain.
function follow(granted)
  if head then
    call('ZREM', queue, me)
    call('ZREM', alive, me)
    granted[7] = call('ZRANGE', queue, 0, 0)[1] or ''
  end
  if expect ~= '' then note_expect() end
  if asked_ms then note_newest() end
  follow_counted(granted)
end

-- Enters the queue or sends a heartbeat. Who may not leave does not enter.
local function enter()
  local rank = call('ZRANK', queue, me)
  if not rank then
    if wait ~= '-' and call('ZCARD', queue) >= tonumber(wait) then return -1 end
    call('ZREM', queue, '')
    ticket = ticket or next_ticket()
    call('ZADD', queue, string.format('%.0f', ticket), me)
    rank = call('ZRANK', queue, me)
  end
  ticket = ticket or tonumber(call('ZSCORE', queue, me))
  local beat = rank < LIMIT_NEXT_POSITIONS and LIMIT_HEARTBEAT_NEXT_MS
    or LIMIT_HEARTBEAT_MS
  call('ZADD', alive, now + 3 * beat, me)
  call('PEXPIRE', queue, 60000)
  call('PEXPIRE', alive, 60000)
  if asked_ms then note_newest() end
  if rank == 0 and order == 'r' and held.kind == 'x' then
    note('o', string.format('%s %.0f %s %s', held.first, now + LIMIT_ORDER_MS,
      me, record))
  end
  return rank
end

local function busy()
  local is_free, rings, left, by = places > 0, {}, 0, ''
  if held.count > 0 then
    local like_us = held.kind == letter
    left = like_us and held.first_left or held.last_left
    by = entry_of(like_us and held.first or held.last)
  end
  if is_free then
    local to_ring
    left, to_ring = time_to_come(head)
    if to_ring then rings[1] = head end
  end
  local waits = wait ~= '' and wait ~= '?'
  local position = waits and enter() or -1
  if position >= 0 and overtakes then rings[#rings + 1] = overtakes end
  if wait == '' then skip('busy', by) end
  return {0, math.max(-1, math.min(left, LIMIT_LEFT_MS)), position,
    call('ZCARD', queue), position >= 0 and string.format('%.0f', ticket) or '',
    is_free and 1 or 0, held.kind or '', held.count, now, by, unpack(rings)}
end

return answer_of(function()
  held = find_holders()
  local ours = is_ours()
  if #ARGV > 9 and not ours then
    local refused = refuse_by_policy()
    if refused then return refused end
  end
  places = free_places()
  if not ours and head and head ~= me then head = remove_dead(me) end
  if not ours and (places < 1 or not in_turn()) then return busy() end
  return grant(held.count > 0 and call('PTTL', lock) or 0)
end)

-- Grants the lock, or says who holds it and enters the queue. A plain run comes
-- no further than to the first return.
--
-- KEYS: the lock, :i, :r, :q, :l, the own doorbell; with a policy also
--   :n:<token>, so that no release is refused which has to record a success.
-- ARGV:  1 token (the member, of a counted lock)
--        2 ttl in ms
--        3 own record: words, which the server only stores
--        4 life of :i in ms
--        5 life of :r in ms; 0: no history is kept
--        6 own name in the queue
--   The last ones from here on may be missing:
--        7 how many may wait beside us; '-': any number; '': we do not wait,
--          and a busy lock is a skip; '?': we do not wait, and try again
--        8 number of permits or ''
--        9 own ticket, '' or 'front': a pause precedes all others, by a ticket
--          that lies LIMIT_FRONT_US below theirs
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
--   '', 1 if only those in front take the room, kind, how many hold it, the
--   server's ms, the holder's entry in :i or '', waiters to ring...}
--   The ms are those left of the lease that is waited for (-1: no end), or if
--   there is room, those until the head of the queue is overdue.
local lock, info, runs, queue, alive, doorbell = unpack(KEYS)
local token, ttl, record, life = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local me, ticket = ARGV[6], tonumber(ARGV[9])
local letter = string.sub(me, 1, 1)
local entry = letter == 'x' and 'h' or 'h:' .. token
local ahead_ms, head, known, us, now, held = 0, nil, nil, nil, nil, nil
-- include: call

-- Writes fields of :i. Where PEXPIRE is denied, nothing stays without a life.
local function note(...)
  local is_there = call('PEXPIRE', info, life) == 1
  call('HSET', info, 't', life, ...)
  if not is_there then call('PEXPIRE', info, life) end
end

-- Grants the lock, with what a renewal and a release need tried on the way. A
-- repeated try has the fence and the start of the first one already. One whose
-- token holds the lock may have its job by now: nothing is given back.
local function grant(left, fence, start, is_held)
  -- include: KIND
  call('PTTL', lock)
  call('DEL', doorbell)
  local next_fence = math.max(us, (tonumber(known[1]) or 0) + 1)
  if next_fence > LIMIT_EXACT then next_fence = us end
  next_fence = string.format('%.0f', next_fence)
  fence, start = fence or next_fence, start or now
  note('f', next_fence, entry,
    token .. ' ' .. fence .. ' ' .. start .. ' ' .. record)
  return {1, fence, start, life, ahead_ms, '', ''}
end

-- A plain run finds nobody waiting, no run whose end is not recorded, and a free
-- lock. What is read here serves the others, too.
local function grant_plain()
  head = call('ZRANGE', queue, 0, 0)[1]
  known = call('HMGET', info, 'f', entry, 't')
  local time = call('TIME')
  us = time[1] * 1000000 + time[2]
  now = math.floor(us / 1000)
  life = math.max(life, math.min(tonumber(known[3]) or 0, LIMIT_AGE_MS))
  life = math.floor(life)
  local is_plain = not (head or ARGV[10]) and letter == 'x'
    and (known[2] or '') == '' and not redis.pcall('GET', lock)
  return is_plain and grant(0)
end

local done, answer = pcall(grant_plain)
if answer then return answer_of(done, answer) end
-- include: holders
-- include: queue

local wait, limit = ARGV[7] or '', letter == 'x' and 1 or tonumber(ARGV[8])
local once, id, expect = ARGV[10] or '', ARGV[11] or '', ARGV[12] or ''
local asked_ms, order = tonumber(ARGV[13]), ARGV[14]
local ours, places, overtakes = {[token] = true}, nil, nil
for i = 15, #ARGV do ours[ARGV[i]] = true end

-- Notes a skip: its time, who was skipped and, behind a '|', who caused it.
local function skip(reason, by)
  pcall(note, 'k:' .. reason, now .. ' ' .. record .. ' | ' .. by)
end

-- The number that a text begins with, or nil: any key may hold anybody's bytes.
local function number_of(text)
  return tonumber(string.match(text or '', '^%d+'))
end

-- How long ago a success was. A failover may have led to a server whose clock
-- is a little behind: then it is over just now.
local function ago_of(text)
  local ago = now - (number_of(text) or -math.huge)
  return ago < 0 and ago >= -LIMIT_CLOCKS_MS and 0 or ago
end

local function find_success()
  local last, last_id, with_id = unpack(
    call('HMGET', info, 's', 'd', 'ds'), 1, 3)
  local ago = ago_of(last)
  if once ~= '' and ago >= 0 and ago < tonumber(once) then
    skip('due', cut(last))
    return {2, ago, cut(last)}
  elseif id ~= '' and last_id == id then
    skip('id', cut(with_id))
    return {5, math.max(0, math.min(ago_of(with_id), LIMIT_AGE_MS)),
      cut(with_id)}
  end
  if once ~= '' then ahead_ms = math.max(0, math.min(-ago, LIMIT_AGE_MS)) end
end

local function next_ticket()
  if ARGV[9] == 'front' then return us - LIMIT_FRONT_US end
  local last = call('ZRANGE', queue, -1, -1, 'WITHSCORES')
  return math.min(math.max(us, (tonumber(last[2]) or 0) + 1), LIMIT_EXACT)
end

-- Of the waiters with --newest the one with the latest ticket stays. A ticket
-- further ahead than clocks differ counts as none. A waiter that asks again, and
-- was never told its ticket, gets one of the time of its first try.
local function find_newest()
  local text = call('HMGET', info, 'w')[1] or ''
  local waiter, label = string.match(text, '^%d+ (%S+) (.*)$')
  local last = waiter and number_of(text) or 0
  if last > us + 1000 * LIMIT_CLOCKS_MS then last, waiter = 0, nil end
  if waiter == me then ticket = last end
  ticket = ticket or tonumber(call('ZSCORE', queue, me))
    or asked_ms > 0 and us - 1000 * asked_ms or nil
  if waiter ~= me and ticket and ticket < last then
    skip('overtaken', cut(label))
    return {3, cut(waiter), cut(label)}
  end
  ticket = ticket or math.max(next_ticket(), last + 1)
  overtakes = waiter ~= me and waiter and call('ZSCORE', queue, waiter)
    and waiter
end

-- Tries what the queue needs: who may not leave it, or remove the dead, would
-- stay or wait for ever, and a policy could not do its part.
local function probe_queue()
  for _, key in ipairs({queue, alive}) do
    call('ZADD', key, 'XX', 0, '')
    call('PEXPIRE', key, 60000)
    for _, command in ipairs({'ZREM', 'ZRANK', 'ZSCORE'}) do
      call(command, key, '')
    end
  end
  call('ZCARD', queue)
  call('ZRANGEBYSCORE', alive, 0, 0)
end

-- A success that is enough needs no queue, and is found on a full server, too.
local function refuse_by_policy()
  local refused = (once ~= '' or id ~= '') and find_success()
  if refused then return refused end
  probe_queue()
  note()
  return asked_ms and find_newest()
end

-- The token by which the lock is ours: this one or that of a former try.
local function find_own()
  if held.kind == 'x' or letter == 'x' then
    return held.kind == letter and ours[held.first] and held.first
  end
  local own
  for member in pairs(ours) do
    local till = tonumber(call('ZSCORE', lock, member)) or 0
    if till > now and own ~= token then own = member end
  end
  return own
end

-- Whether all in front of us can go together with us, or all that wait if we do
-- not. Nobody joins a group across more than a thousand.
local function is_in_turn()
  local most = math.min(places - 1, 1000)
  for _, waiter in ipairs(call('ZRANGE', queue, 0, most)) do
    if waiter == me then return true end
    if string.sub(waiter, 1, 1) ~= letter then return false end
  end
  return call('ZCARD', queue) <= most
end

-- The run that an entry describes has died, unless it is ours, or a release has
-- changed the entry: a ':' behind the token. A hold and a pause are no runs.
local function file_dead(text)
  local whose, run = string.match(text or '', '^(%S+) (%d+ %d+ r.*)$')
  if not whose or ours[whose] or string.find(whose, ':', 3, true)
    or ARGV[5] == '0' then return end
  redis.pcall('LPUSH', runs, '- - - - ' .. run)
  redis.pcall('LTRIM', runs, 0, 9)
  redis.pcall('PEXPIRE', runs, ARGV[5])
end

-- Entries without a member are those of former tries, and of runs that died.
local function file_members()
  call('HDEL', info, '')
  for _, field in ipairs(call('HKEYS', info)) do
    local member = string.match(field, '^h:?(.*)')
    if member and not call('ZSCORE', lock, member) then
      file_dead(call('HMGET', info, field)[1])
      call('HDEL', info, field)
    end
  end
end

-- Who else holds the lock, and the waiters behind us that can go, too.
local function follow_counted(granted)
  if held.count == 0 or held.removed > 0 or ARGV[15] then file_members() end
  if held.count > 0 and held.first ~= token then
    local text = call('HMGET', info, 'h:' .. held.first)[1]
    granted[6] = entry_of(text, held.first)
  end
  local most = math.min(places - 1, LIMIT_NOTIFY)
  for i, waiter in ipairs(call('ZRANGE', queue, 0, most)) do
    if i > most or string.sub(waiter, 1, 1) ~= letter then break end
    local _, to_ring = time_to_come(waiter)
    if to_ring then granted[#granted + 1] = waiter end
  end
end

local function note_newest()
  note('w', string.format('%.0f ', ticket) .. me .. ' ' .. record)
end

local function grant_rest(repeated)
  local whose, fence, start =
    string.match(known[2] or '', '^(%S+) (%d+) (%d+) ')
  fence, start = tonumber(fence), tonumber(start)
  local is_known = whose == token and fence <= LIMIT_EXACT and start < 1e14
  local granted = grant(call('PTTL', lock),
    is_known and string.format('%.0f', fence), is_known and start,
    repeated == token)
  file_dead(known[2])
  if head then
    call('ZREM', queue, me)
    call('ZREM', alive, me)
    granted[7] = call('ZRANGE', queue, 0, 0)[1] or ''
  end
  -- Without a success the period counts from its first statement, unless that
  -- was withdrawn since, or is no time near now.
  if expect ~= '' then
    local former, since = unpack(call('HMGET', info, 'e', 'es'), 1, 2)
    since = former ~= '0' and number_of(since) or math.huge
    local is_near = now - LIMIT_AGE_MS < since and since <= now + LIMIT_CLOCKS_MS
    note('e', expect, 'es', is_near and since or now)
  end
  if asked_ms and not repeated then note_newest() end
  if letter ~= 'x' then follow_counted(granted) end
  return granted
end

-- Enters the queue or sends a heartbeat.
local function enter(rank, by)
  if not rank then
    if wait ~= '-' and call('ZCARD', queue) >= tonumber(wait) then return -1 end
    probe_queue()
    ticket = ticket or next_ticket()
    call('ZADD', queue, string.format('%.0f', ticket), me)
    rank = call('ZRANK', queue, me)
  end
  ticket = ticket or tonumber(call('ZSCORE', queue, me))
  local beat = rank < LIMIT_NEXT_POSITIONS and LIMIT_HEARTBEAT_NEXT_MS
    or LIMIT_HEARTBEAT_MS
  call('PEXPIRE', queue, 60000)
  call('ZADD', alive, now + 3 * beat, me)
  call('PEXPIRE', alive, 60000)
  if asked_ms then note_newest() end
  if rank == 0 and order == 'r' and held.kind == 'x' then
    local till = LIMIT_ORDER_MS + now
    note('o', held.first .. ' ' .. till .. ' ' .. me .. ' ' .. record .. ' | '
      .. by)
  end
  return rank
end

-- The lock has no room for us, or only for those in front of us.
local function busy()
  local is_like, rank = held.kind == letter, call('ZRANK', queue, me)
  local rings, position, by = {}, -1, ''
  local left = is_like and held.first_left or held.last_left
  if held.count > 0 then
    local member = is_like and held.first or held.last
    by = call('HMGET', info, field_of(held.kind, member))[1]
    by = entry_of(by, member)
  end
  -- A head that waits for another kind than ours is rung only if it has not been
  -- seen as the head yet: it may have died behind others.
  if places > 0 then
    if not rank then probe_queue() end
    local can_go = held.count == 0 or string.sub(head, 1, 1) == letter
    local to_ring
    left, to_ring = time_to_come(head,
      not can_go and 3 * LIMIT_HEARTBEAT_NEXT_MS or nil)
    if to_ring then rings[1] = head end
  end
  if wait ~= '' and wait ~= '?' then position = enter(rank, by) end
  if wait ~= '?' and position < 0 then
    local is_paused = string.find(by, '^%S+ %d+ %d+ pause ')
    skip(is_paused and 'paused' or 'busy',
      by == '' and held.count > 0 and '-' or by)
  end
  if position >= 0 and overtakes then rings[#rings + 1] = overtakes end
  return {0, math.max(-1, math.min(left, LIMIT_LEFT_MS)), position,
    call('ZCARD', queue), position >= 0 and string.format('%.0f', ticket) or '',
    places > 0 and 1 or 0, held.kind, held.count, now, by, unpack(rings)}
end

return answer_of(pcall(function()
  held = find_holders()
  local repeated = find_own()
  local refused = ARGV[10] and not repeated and refuse_by_policy()
  if refused then return refused end
  places = (held.count == 0 or held.kind == letter)
    and (limit or math.huge) - held.count or 0
  if not repeated and head and head ~= me then head = remove_dead(me) end
  if not repeated and (places < 1 or head and not is_in_turn()) then
    return busy()
  end
  return grant_rest(repeated)
end))

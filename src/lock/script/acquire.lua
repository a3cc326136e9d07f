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

-- include: acquire_policy

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
  -- A free lock may still have the set of former holders, which lives longer.
  local left = (letter ~= 'x' or repeated) and call('PTTL', lock) or 0
  local granted = grant(left,
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

-- include: acquire_queue

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

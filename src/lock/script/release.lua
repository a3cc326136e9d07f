-- Frees the lock, or leaves it to nested runs or to the server, records how the
-- run has ended, and rings who comes next. A waiter that gives up and a try
-- that is withdrawn call it, too. Nothing that is denied keeps it from freeing.
--
-- KEYS: the lock, :i, :r, :q, :l, :n:<token>; of a run that may be in the queue
--   or expects a head of it, its doorbell; the doorbell of that head. If no job
--   has run, the doorbell may stand in place of :n, as nobody can have joined.
-- ARGV:  1 token (the member, of a counted lock)
--        2 own name in the queue, or '' if we never were there
--        3 fence, start and record of the run, or ''
--        4 status, ms waited and reason, or '' if no job ran
--        5, 6 life of :i and of :r in ms; 0: no history is kept
--   Further ones may be missing:
--        7 ms to keep the lock for, or ''
--        8 '0': a status of 0 is no success, '1': the end is recorded even if the
--          lock is not ours, as no lease can be proven any more; '01', or ''
--        9 own name of a nested run, or ''
--       10 id of --once-id or ''
--       11 waiter that is expected to be the head of the queue, or ''
--       12 the own record if the time to wait is over, or ''
--   13.. former tokens: what these tries were granted is freed without a word
-- {1: freed, 2: left to nested runs, 3: kept, 0: it was not ours; 1 if the end
--   could not be recorded; ms that it is kept; head of the queue if it is to be
--   rung, or ''}
local lock, info, runs, queue, alive, nested, doorbell, bell = unpack(KEYS)
local token, me, run, ended, life, runs_life = unpack(ARGV)
local keep_ms, member = tonumber(ARGV[7]) or 0, ARGV[9] or ''
local mode, id = ARGV[8] or '', ARGV[10] or ''
local call, time = redis.pcall, redis.pcall('TIME')
local now = time.err and 0 or time[1] * 1000 + math.floor(time[2] / 1000)
local status, failed = string.match(ended, '^%d+'), nil
local is_success = status == '0' and runs_life ~= '0'
  and not string.find(mode, '0', 1, true)

-- Runs a command without which nothing is released, and remembers its error. A
-- lock of another type is not ours any more.
local function must(...)
  local reply = call(...)
  if type(reply) == 'table' and reply.err
    and not string.find(reply.err, 'WRONGTYPE') then failed = reply end
  return reply
end
-- include: KIND_release

-- Writes a success to :i, and the entry of the run, unless that is nil. Returns
-- whether that was refused.
local function note(text)
  local words, reply, success = {}, 0, now .. ' ' .. run
  if text == '' and entry ~= 'h' then reply = call('HDEL', info, entry)
  elseif text then words = {entry, text} end
  if is_success then
    words[#words + 1], words[#words + 2] = 's', success
    if id ~= '' then words = {'d', id, 'ds', success, unpack(words)} end
  end
  if words[1] then reply = call('HSET', info, unpack(words)) end
  call('PEXPIRE', info, life)
  return type(reply) == 'table'
end

-- Puts the run into the list, which is cut to ten when it has twenty. One of
-- another type is somebody's mistake. 1 if that was refused. Where PEXPIRE is
-- denied, no list stays without a life, and none is lost.
local function push()
  if runs_life == '0' then return 0 end
  local line = now .. ' ' .. ended .. ' ' .. run
  local has_life = call('PEXPIRE', runs, runs_life)
  if type(has_life) ~= 'number' then return 1 end
  local length = call('LPUSH', runs, line)
  if type(length) ~= 'number' and string.find(length.err, 'WRONGTYPE') then
    call('DEL', runs)
    length, has_life = call('LPUSH', runs, line), 0
  elseif type(length) == 'number' and length >= 20 then
    call('LTRIM', runs, 0, 9)
  end
  if has_life == 0 then call('PEXPIRE', runs, runs_life) end
  return type(length) == 'number' and 0 or 1
end

-- Records the end of the run, if a job has run. An entry that stays in :i is
-- filed by the next run, and one in the list besides would show the run twice.
local function record(text)
  if time.err or note(text) then return 1 end
  return status and push() or 0
end

local more = call('EXISTS', nested, queue)
if is_ours and more == 0 and keep_ms == 0 and status then
  free()
  return failed or {1, record(''), 0, ''}
end
-- include: queue

-- Nested runs. The outermost one leaves a mark if others are left, with the time
-- until which the lock is to be kept; the last one to leave behind the mark frees
-- the lock, or lets the server keep it. A full server refuses only a first write,
-- and does not refuse SREM. Without the members or the time, the lock is left to
-- its ttl. A server that takes no writes at the moment is asked again.
local code = is_ours and 1 or 0
if is_ours and (more ~= 0 or member ~= '') then
  local left = call('SREM', nested, member)
  for _, word in ipairs({'READONLY', 'MISCONF', 'NOREPLICAS'}) do
    if type(left) == 'table' and string.find(left.err, word) then return left end
  end
  local users = time.err and time or call('SMEMBERS', nested)
  local is_denied = users.err and not string.find(users.err, 'WRONGTYPE')
  local others = is_denied and tonumber(call('EXISTS', nested)) or 0
  local is_marked = member == ''
  for _, user in ipairs(users) do
    local till = tonumber(string.match(user, '^!(%d+)$')) or 0
    keep_ms = math.max(keep_ms, math.min(till - now, LIMIT_AGE_MS))
    if string.sub(user, 1, 1) == '!' then is_marked = true
    else others = others + 1 end
  end
  if others > 0 or not is_marked then code = 2
  elseif users[1] then call('DEL', nested) end
  if code == 2 and member == '' then
    call('SADD', nested, keep_ms > 0 and '!' .. now + keep_ms or '!')
    if (left_ms() or keep_ms) < keep_ms then extend(keep_ms) end
  end
end
if code == 1 and keep_ms > 0 then code = 3 end
local kept_ms = (code == 3 or not is_ours) and keep(keep_ms) or 0
if code == 1 then free() elseif kept_ms > 0 then code = 3 end
if failed then return failed end

local is_late = string.find(mode, '1', 1, true) and run ~= ''

-- include: release_history

local unrecorded = (is_ours or is_late) and record_end() or 0
if (ARGV[12] or '') ~= '' then note_wait() end
if more == 0 or code == 2 then return {code, unrecorded, kept_ms, ''} end

local former_head = call('ZRANGE', queue, 0, 0)[1]
call('ZREM', queue, me)
call('ZREM', alive, me)
if doorbell then call('DEL', doorbell) end
local head = remove_dead(me)

-- A kept lock has another end than the head knows. A counted lock has room for
-- the head only where we have made some, or the former head may have had it.
local function is_news()
  local value = code ~= 3 and call('GET', lock)
  if not value then return true end
  local first = type(value) == 'table' and call('ZRANGE', lock, 0, 0)[1]
  return first and (code == 1 or head ~= former_head)
    and (string.sub(first, 1, 2) == 's:' and 's' or 'p')
    == string.sub(head, 1, 1)
end

local to_ring = head and is_news() and head or ''
if bell and to_ring == ARGV[11] then
  ring(head, bell)
  to_ring = ''
end
return {code, unrecorded, kept_ms, to_ring}

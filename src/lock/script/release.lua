-- Frees the lock, or leaves it to nested runs or to the server, records how the
-- run has ended, and rings who comes next. A waiter that gives up and a try that
-- is withdrawn call it, too. Nothing that a server denies keeps it from freeing.
--
-- KEYS: the lock, :i, :r, :q, :l, :n:<token>; of a run that may be in the queue
--   its doorbell; where a head of the queue is expected, that waiter's doorbell.
-- ARGV:  1 token (the member, of a counted lock)
--        2 own name in the queue, or '' if we never were there
--        3 fence, start and record of the run, or ''
--        4 status, ms waited and reason, or '' if no job ran
--        5, 6 life of :i and of :r in ms; 0: no history is kept
--   Further ones may be missing:
--        7 ms to keep the lock for, or ''
--        8 '1' where no lease can be proven any more: the end is recorded though
--          the lock is not ours
--        9 own name of a nested run, or ''
--       10 id of --once-id or ''
--       11 waiter that is expected to be the head of the queue, or ''
--       12 reason of a skip, '|' and who was skipped, or ''
--   13.. former tokens: what these tries were granted is freed without a word
-- {1: freed, 2: left to nested runs, 3: kept, 0: it was not ours; 1 if the end
--   could not be recorded; ms that it is kept; head of the queue, to be rung, or
--   ''}
local lock, info, runs, queue, alive, nested, doorbell, bell = unpack(KEYS)
local token, me, run, ended = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local life, runs_life = ARGV[5], ARGV[6]
local keep_ms, member = tonumber(ARGV[7]) or 0, ARGV[9] or ''
local call = redis.pcall
local time = call('TIME')
local now = time.err and 0 or time[1] * 1000 + math.floor(time[2] / 1000)
local status, success = string.match(ended, '^%d+'), now .. ' ' .. run
-- include: push
-- include: KIND_release

-- What :i is told: the new entry of the run, and a success. Returns an error.
local function note(text, is_success)
  local words = {}
  if text then words = {entry, text} end
  if is_success and (ARGV[10] or '') ~= '' then
    words = {entry, text, 's', success, 'd', ARGV[10], 'ds', success}
  elseif is_success then
    words = {entry, text, 's', success}
  end
  local reply = call('HSET', info, unpack(words))
  call('PEXPIRE', info, life)
  return type(reply) == 'table' and reply.err
end

-- How the run has ended, with the new text of its entry. 1 if that could not be
-- recorded.
local function record(text)
  local failure = runs_life ~= '0' and push(now .. ' ' .. ended .. ' ' .. run)
  return (note(text, status == '0' and runs_life ~= '0') or failure) and 1 or 0
end

local ours = find_ours()
local more = call('EXISTS', nested, queue)
if ours and more == 0 and keep_ms == 0 and status then
  free()
  return {1, record(''), 0, ''}
end

-- Nested runs. The outermost one leaves a mark if others are left; the last one
-- to leave behind the mark frees the lock, or lets the server keep it. SREM is a
-- write that a full server does not refuse, and the next one is not its first.
local code = ours and 1 or 0
if ours and more ~= 0 then
  call('SREM', nested, member)
  local users = call('SMEMBERS', nested)
  local others, marked = 0, member == ''
  for _, user in ipairs(users.err and {} or users) do
    if user == '!k' then keep_ms = math.max(keep_ms, call('PTTL', lock)) end
    if string.sub(user, 1, 1) == '!' then marked = true
    else others = others + 1 end
  end
  if others > 0 or not marked then code = 2
  elseif users[1] then call('DEL', nested) end
  if code == 2 and member == '' then
    call('SADD', nested, keep_ms > 0 and '!k' or '!')
    if call('PTTL', lock) < keep_ms then call('PEXPIRE', lock, keep_ms) end
  end
end
if code == 1 and keep_ms > 0 then code = 3 end
local kept_ms = code == 3 and keep() or not ours and still_kept() or 0
if code == 1 then free() elseif kept_ms > 0 then code = 3 end

-- What no release has changed yet: the token's entry, with a blank behind it.
local function has_entry()
  local text = call('HMGET', info, entry)[1]
  return type(text) == 'string'
    and string.sub(text, 1, #token + 1) == token .. ' '
end

-- The run had lost its lock, and the next one has filed it without an end. Its
-- success counts, unless a later run has had one.
local function report_late()
  local fence = string.match(run, '^%d+')
  local filed = call('LRANGE', runs, 0, 9)
  for i, text in ipairs(filed.err and {} or filed) do
    if string.match(text, '^%- %- %- %- (%d+)') == fence then
      call('LSET', runs, i - 1, now .. ' ' .. ended .. ' ' .. run)
    end
  end
  if status ~= '0' then return 0 end
  local last = call('HMGET', info, 's')[1]
  last = type(last) == 'string' and string.match(last, '^%d+ (%d+)')
  local is_newer = (tonumber(last) or 0) < tonumber(fence)
  return is_newer and note(nil, true) and 1 or 0
end

-- Nothing is recorded twice. A grant that no job has used is no run.
local function record_end()
  local first = has_entry()
  if not status then return first and note('') and 1 or 0 end
  if first then
    return record(code == 2 and token .. ': ' .. run
      or code == 3 and token .. ':kept ' .. run or '')
  end
  return not ours and kept_ms == 0 and report_late() or 0
end

local is_late = ARGV[8] == '1' and run ~= ''
local unrecorded = member == '' and (ours or is_late) and record_end() or 0
local skipped, who = string.match(ARGV[12] or '', '^([^|]+)|(.*)$')
if skipped then
  call('HSET', info, 'k:' .. skipped, now .. ' ' .. who .. ' | ')
  call('PEXPIRE', info, life)
end
if more == 0 or code == 2 then return {code, unrecorded, kept_ms, ''} end
-- include: queue
-- include: ring

call('ZREM', queue, me)
call('ZREM', alive, me)
if doorbell then call('DEL', doorbell) end
local head = remove_dead(me)

-- A kept lock has another end than the head knows.
local function is_to_ring()
  if not head then return false end
  local value = code ~= 3 and call('GET', lock)
  if value and type(value) == 'string' then return false end
  local first = value and call('ZRANGE', lock, 0, 0)[1]
  local kind = first and (string.sub(first, 1, 2) == 's:' and 's' or 'p')
  return (not kind or kind == string.sub(head, 1, 1))
    and select(2, time_to_come(head))
end

if not is_to_ring() then head = nil
elseif head == ARGV[11] then ring(head, bell) head = nil end
return {code, unrecorded, kept_ms, head or ''}

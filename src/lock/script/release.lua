-- Frees the lock, or leaves it to nested runs or to the server, and notifies
-- those that can go now. Leaves nothing of ours in the queue: a waiter that
-- gives up calls it, too. Whatever becomes of the queue, the lock is freed.
--
-- KEYS: as those of acquire; with the queue also the doorbell of the waiter
--   that is expected to be its head, before the last run (:r).
-- ARGV: token, letter of the kind, number of permits or '', the fence if the
--   grant is to be undone because it should never have been, ms to keep the
--   lock for or 0, own name in the queue, the nested run or '', the waiter that
--   is expected to be the head or '', life of :r in ms or '' and behind a ':' the
--   id of --once-id, the exit status or '' if no job ran, with the history also
--   the ms that it has waited and why it has ended, the fence, host, the former
--   tokens: whatever these were granted is freed, without a word.
-- {1: freed, 2: left to nested runs, 3: kept, 0: it was not ours; 1 if expired
--   entries are left that hide the next waiter, or whether nested runs use the
--   lock: release again at once, plus 2 if the end could not be recorded; ms
--   that it is kept for; who comes behind those that are notified (for
--   notify_behind), or ''; waiters to notify...}.
local lock, fence, info, nested, queue, alive, doorbell, head_doorbell,
  history = unpack(KEYS)
local token, letter, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local number, keep_ms, me = ARGV[4], tonumber(ARGV[5]) or 0, ARGV[6]
local run, expected = ARGV[7] or '', ARGV[8]
local history_life, id = string.match(ARGV[9], '^(%d*):?(.*)$')
history_life = tonumber(history_life)
local status, wait, reason =
  string.match(ARGV[10], '^(%d*) ?(%d*) ?(%S*)$')
local former = {unpack(ARGV, 13)}
-- include: call
-- A server that denies TIME must not keep the lock from being freed.
local time = redis.pcall('TIME')
local now = time.err and 0 or time[1] * 1000 + math.floor(time[2] / 1000)
-- include: sweep
-- include: holders
-- include: history
-- include: KIND
-- include: ours

-- Whether other nested runs of our token are alive, 'unknown' if one call
-- cannot say; and whether there are members at all. Expired members are
-- skipped. If there are many, those whose token does not hold the lock are
-- removed, so many in one call.
local function has_other_runs()
  local skip, spared, room = 0, 0, LIMIT_ENTRIES
  while room > 0 do
    local some = redis.pcall('ZRANGE', nested, skip, skip + 49, 'WITHSCORES')
    if some.err or not some[1] then return false, some.err or skip > 0 end
    local gone, expired = {}, false
    for i = 1, #some, 2 do
      local whose, which = string.match(some[i], '^(.*):([^:]*)$')
      expired = tonumber(some[i + 1]) < now
      if not expired and whose == token and which ~= run
        and which ~= 'released' then
        return true, true
      elseif not expired and spared < LIMIT_ENTRIES then
        spared = spared + 1
      elseif not expired and not (whose and is_holder(whose)) then
        gone[#gone + 1] = some[i]
        room = room - 1 - #some[i] / 1000
      end
    end
    if #some < 100 then return false, true end
    local dead = expired and skip == 0
      and redis.pcall('ZCOUNT', nested, '-inf', '(' .. now)
    skip = type(dead) == 'number' and dead or skip + 50
    if gone[1] then
      local removed = redis.pcall('ZREM', nested, unpack(gone))
      if type(removed) == 'number' then skip = skip - #gone end
    end
  end
  return 'unknown', true
end

-- A mark says that the lock was left to nested runs. Its score is +inf, or with
-- --min-hold 10^15 and the server's time until which the last of them keeps it.
-- The lease lasts that long, in case they are killed.
local mark = token .. ':released'

local function leave_to_nested()
  if keep_ms > 0 then pcall(lengthen, keep_ms) end
  redis.pcall('ZADD', nested, keep_ms > 0
    and string.format('%.0f', 1e15 + now + keep_ms) or '+inf', mark)
end

local function left_to_keep()
  local till = tonumber(redis.pcall('ZSCORE', nested, mark)) or 0
  local left = math.floor(till - 1e15 - now)
  return left > 0 and left <= LIMIT_MIN_HOLD_MS and left or 0
end

-- Nested runs that use the lock keep it: returns the answer then. Otherwise
-- nil, and whether nested runs are left.
local function leave(owned)
  if not nested then return run ~= '' and {owned and 2 or 0, 0, 0, ''} end
  local others, any = false, true
  if owned then others, any = has_other_runs() end
  local released = run == ''
    or type(redis.pcall('ZSCORE', nested, mark)) == 'string'
  if run ~= '' then redis.pcall('ZREM', nested, token .. ':' .. run) end
  if others == 'unknown' then return {2, 1, 0, ''} end
  if others and run == '' then leave_to_nested() end
  if owned and (others or not released) then return {2, 0, 0, ''} end
  if owned and run ~= '' then keep_ms = math.max(keep_ms, left_to_keep()) end
  if any and released then redis.pcall('ZREM', nested, mark) end
  return nil, any
end

-- Returns who holds the lock now, if that is known without a look.
local function free(owned)
  local held = nil
  if owned then
    held = drop()
    if number and number ~= '' and redis.pcall('GET', fence) == number then
      redis.pcall('DEL', fence)
    end
  elseif info and redis.pcall('HMGET', info, 'token')[1] == token then
    redis.pcall('DEL', info)
  end
  drop_former()
  return held
end

-- The end of our run, whatever becomes of the lock. The last success outlives
-- later failures, and the last one with an id those without. Adds to the answer
-- that it could not be written.
local function record_end(answer)
  if not history or run ~= '' then return end
  if status == '' then return forget_run(token) end
  if now == 0 then
    answer[2] = answer[2] + 2
    return
  end
  local ended, fields = string.format('%.0f', now), {}
  local failure, _
  if is_last_run() then
    fields = {'end', ended, 'status', status,
      'more', ARGV[11] .. ' ' .. ended .. ' ' .. status .. ' ' .. wait .. ' '
      .. reason}
  else
    _, failure = end_filed_run(ARGV[11], ended, status, wait, reason)
  end
  if status == '0' then
    for _, text in ipairs({'success', ended, 'success_fence', ARGV[11],
      'success_host', ARGV[12]}) do
      fields[#fields + 1] = text
    end
    if id ~= '' then
      for _, text in ipairs({'id', id, 'id_success', ended, 'id_host',
        ARGV[12]}) do
        fields[#fields + 1] = text
      end
    end
  end
  if fields[1] then failure = write_history(unpack(fields)) or failure end
  if failure then answer[2] = answer[2] + 2 end
end

local function send_again(answer)
  if answer[2] % 2 == 0 then answer[2] = answer[2] + 1 end
end

-- Whether the lock was ours; whether it is one, and who holds it now; and the
-- first waiter in the queue if those that can go now are to be notified.
local owned, is_lock, held, first

-- Returns the answer, which is complete if there is nobody to notify.
local function release()
  owned = is_ours()
  local left, any = leave(owned)
  if left then
    if owned then record_end(left) end
    return left
  end
  local head = queue and redis.pcall('ZRANGE', queue, 0, 0)[1] or nil
  if owned and keep_ms > 0 then
    keep_for(keep_ms)
    -- No renewal lengthens the life of the record any more. One that was evicted
    -- has been made anew, without any.
    local life = info and redis.pcall('PTTL', info)
    if type(life) == 'number' and life < keep_ms then
      redis.pcall('PEXPIRE', info, keep_ms)
    end
    -- The head of the queue looks at the lock anew.
    local answer = {3, 0, keep_ms, '', head}
    record_end(answer)
    return answer
  end
  first = head
  is_lock, held = true, free(owned)
  local answer = {owned and 1 or 0, 0, 0, ''}
  if owned then record_end(answer) end
  if not held then is_lock, held = pcall(find_holders, remove_expired) end

  -- Those that can go now are notified, even if it was not we who freed the
  -- lock: the answer of a first try may have been lost, or this is a waiter
  -- that leaves after it was notified, or whose kind kept others back.
  if is_lock and held.unswept then send_again(answer) end
  if any and is_lock and held.count == 0 then
    local nothing = function() end
    local done, swept = pcall(sweep, nested, nothing, nothing)
    if swept == true then send_again(answer) end
    if not done then redis.pcall('DEL', nested) end
  end
  return answer
end

-- A release without waiters needs no more, as in acquire.
local is_done, answer = pcall(release)
if not is_done then return {err = answer} end
if not first then return answer end
-- include: head
-- include: queue

-- If those that are notified are dead, the waiter behind them notices late when
-- its heartbeat is slow, and the others when it is dead, too.
local function waiter_behind(count)
  local behind = redis.pcall('ZRANGE', queue, count, count + 1)
  return (behind[2] or is_slow(behind[1])) and behind[1] or ''
end

-- The waiter that is one of the first now, since the one that has left was.
local function moved_up(position)
  local last = LIMIT_NEXT_POSITIONS - 1
  if type(position) ~= 'number' or position > last then return nil end
  local waiter = redis.pcall('ZRANGE', queue, last, last)[1]
  return is_slow(waiter) and waiter or nil
end

return answer_of(function()
  local position = not owned and redis.pcall('ZRANK', queue, me)
  redis.pcall('ZREM', queue, me)
  redis.pcall('ZREM', alive, me)
  redis.pcall('DEL', doorbell)
  if not is_lock then return answer end
  local waiters, unfinished, is_new = waiters_to_notify(me, held, limit,
    owned and held.kind ~= 's' or first == me, expected)
  if unfinished then send_again(answer) end
  if is_new then answer[4] = waiter_behind(#waiters) end
  if not waiters[1] then waiters[1] = moved_up(position) end
  return notify_expected(waiters, expected, head_doorbell, answer)
end)

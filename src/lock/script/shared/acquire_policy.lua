-- For acquire: what the options of a run say against it, or about its place in the
-- queue. Decides nothing about who holds the lock.

-- Notes a skip: its time, the run that was skipped and, behind a '|', its cause.
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

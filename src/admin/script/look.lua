-- What there is to know about a lock. Changes nothing, and passes on texts as
-- they are: whoever asked takes them apart. Damaged helper keys are reported,
-- and cost no more than what they hide.
--
-- KEYS: the lock, :i, :q, :l, :r; or without the last, or the lock alone.
-- ARGV: how many of the holders, of the queue and of the runs, at most.
-- {the letter of the kind ('' when free), how many hold it, ms left of the last
--   lease to end (-1: no end, -2: free), the server's time in ms,
--   {of each holder, in the order in which their leases end: member, cut; its
--     length; digest for force; ms left; entry in :i or ''},
--   {of :i: f, s, e, es, h, o, p, x, and k:busy, k:due, k:id, k:overtaken,
--     k:paused, k:wait; '' where there is none},
--   how many wait (-1: not known), {waiter, ticket, ...}, {the runs},
--   what is wrong with helper keys, once each: {key, error, ...}}
local lock, info, queue, alive, runs = unpack(KEYS)
local most, queue_most, runs_most = unpack(ARGV)
local now
-- include: call
-- include: holders

local problems = {}

-- What the command returns, or something in its place and a problem.
local function ask(instead, command, key, ...)
  local reply = key and redis.pcall(command, key, ...) or instead
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not problems[key] then
    problems[key] = true
    problems[#problems + 1] = key
    problems[#problems + 1] = reply.err .. ' (' .. command .. ')'
  end
  return instead
end

local function describe_holders(held)
  local holders, members = {}, {}
  if held.kind == 'x' then members = {held.first, now + held.first_left}
  elseif held.count > 0 then
    members = call('ZRANGE', lock, -held.count,
      math.min(most - held.count, 0) - 1, 'WITHSCORES')
  end
  for i = 1, #members, 2 do
    local member = members[i]
    local text = ask({}, 'HMGET', info, field_of(held.kind, member))[1]
    for _, value in ipairs({string.sub(member, 1, LIMIT_LONG_TEXT), #member,
      #member <= LIMIT_LONG_TEXT and redis.sha1hex(member) or '',
      math.min(members[i + 1] - now, LIMIT_LEFT_MS), entry_of(text, member)}) do
      holders[#holders + 1] = value
    end
  end
  return holders
end

local function list_waiters()
  local listed = ask({}, 'ZRANGE', queue, 0, queue_most - 1, 'WITHSCORES')
  local waiters = {}
  for i = 1, #listed, 2 do
    local till = tonumber(ask('0', 'ZSCORE', alive, listed[i])) or 0
    if till > now then
      waiters[#waiters + 1] = listed[i]
      waiters[#waiters + 1] = listed[i + 1]
    end
  end
  return waiters
end

return answer_of(pcall(function()
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local held = find_holders()
  local known = ask({}, 'HMGET', info, 'f', 's', 'e', 'es', 'h', 'o', 'p', 'x',
    'k:busy', 'k:due', 'k:id', 'k:overtaken', 'k:paused', 'k:wait')
  for i = 1, 14 do known[i] = cut(known[i]) end
  local past = ask({}, 'LRANGE', runs, 0, runs_most - 1)
  for i, text in ipairs(past) do past[i] = cut(text) end
  return {held.kind, held.count, math.min(held.last_left, LIMIT_LEFT_MS), now,
    describe_holders(held), known, ask(-1, 'ZCOUNT', alive, '(' .. now, '+inf'),
    list_waiters(), past, problems}
end))

-- What there is to know about a lock. Changes nothing, and passes on texts as
-- they are: whoever asked takes them apart. Damaged helper keys are reported,
-- and cost no more than what they hide.
--
-- KEYS: the lock, :i, :r, :q, :l; or the lock alone.
-- ARGV: how many of the holders, of the queue and of the runs, at most.
-- {the letter of the kind ('' when free), how many hold it, ms left of the last
--   lease to end (-1: no end, -2: free), the server's time in ms,
--   {of each holder, in the order in which their leases end: member, cut; its
--     length; digest for force; ms left; entry in :i or ''},
--   {of :i: f, s, e, es, h, w, o, p, x, and k:busy, k:due, k:id, k:overtaken,
--     k:wait; '' where there is none},
--   how many wait (-1: not known), {waiter, ticket, ...}, {the runs},
--   what is wrong with helper keys, once each: {key, error, ...}}
local lock, info, runs, queue, alive = unpack(KEYS)
local most, queue_most, runs_most = unpack(ARGV)
local now
-- include: call

local problems = {}

-- What the command returns, or something in its place and a problem.
local function ask(instead, command, key, ...)
  if not key then return instead end
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  for i = 1, #problems, 2 do
    if problems[i] == key then return instead end
  end
  problems[#problems + 1] = key
  problems[#problems + 1] = reply.err .. ' (' .. command .. ')'
  return instead
end

local function cut(text) return string.sub(text or '', 1, LIMIT_ENTRY) end

-- The members of the lock with the ends of their leases, and its kind.
local function list_members()
  local value = redis.pcall('GET', lock)
  if type(value) == 'string' then
    local left = call('PTTL', lock)
    return {value, now + left}, 'x', 1, left
  elseif not value then
    return {}, '', 0, -2
  elseif not string.find(value.err, 'WRONGTYPE') then
    error(value.err .. ' (GET)', 0)
  end
  local first = call('ZRANGE', lock, 0, 0, 'WITHSCORES')
  local last = call('ZRANGE', lock, -1, -1, 'WITHSCORES')
  if call('PTTL', lock) < 0 or tonumber(first[2]) < 1e12
    or tonumber(last[2]) > 1e14 then
    error('WRONGTYPE a sorted set, but none of leases', 0)
  end
  local count = call('ZCOUNT', lock, '(' .. now, '+inf')
  if count == 0 then return {}, '', 0, -2 end
  local members = call('ZRANGE', lock, -count,
    math.min(most - 1 - count, -1), 'WITHSCORES')
  local kind = string.sub(members[1], 1, 2) == 's:' and 's' or 'p'
  return members, kind, count, last[2] - now
end

local function describe_holders(members, kind)
  local holders = {}
  for i = 1, #members, 2 do
    local member = members[i]
    local entry = ask({}, 'HMGET', info, kind == 'x' and 'h' or 'h:' .. member)
    local is_its = entry[1] and string.sub(entry[1], 1, #member) == member
    for _, value in ipairs({string.sub(member, 1, LIMIT_LONG_TEXT), #member,
      #member <= LIMIT_LONG_TEXT and redis.sha1hex(member) or '',
      math.min(members[i + 1] - now, LIMIT_LEFT_MS),
      is_its and cut(entry[1]) or ''}) do
      holders[#holders + 1] = value
    end
  end
  return holders
end

local function list_waiters()
  local listed = ask({}, 'ZRANGE', queue, 0, queue_most - 1, 'WITHSCORES')
  local waiters = {}
  for i = 1, #listed, 2 do
    local till = tonumber(ask('0', 'ZSCORE', alive, listed[i]) or 0)
    if till > now then
      waiters[#waiters + 1] = listed[i]
      waiters[#waiters + 1] = listed[i + 1]
    end
  end
  return ask(-1, 'ZCOUNT', alive, '(' .. now, '+inf'), waiters
end

return answer_of(function()
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local members, kind, count, left = list_members()
  local known = ask({}, 'HMGET', info, 'f', 's', 'e', 'es', 'h', 'w', 'o', 'p', 'x',
    'k:busy', 'k:due', 'k:id', 'k:overtaken', 'k:wait')
  for i = 1, 14 do known[i] = cut(known[i]) end
  local waiting, waiters = list_waiters()
  local past = ask({}, 'LRANGE', runs, 0, runs_most - 1)
  for i, text in ipairs(past) do past[i] = cut(text) end
  return {kind, count, math.min(left, LIMIT_LEFT_MS), now,
    describe_holders(members, kind), known, waiting, waiters, past, problems}
end)

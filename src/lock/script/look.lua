-- What there is to know about a lock. Changes nothing. Damaged helper keys are
-- reported, and cost no more than what they hide. Only whole numbers that Lua
-- holds exactly are answered.
--
-- KEYS: the lock, :f, :i, :q, :l, :n; or the lock alone.
-- ARGV: how many of the holders, and of the queue, at most.
-- The answer, in this order:
--   the letter of its kind; '' when free
--   how many hold it, and how many permits there are or 0
--   ms left of the last lease to end (-1: it has no end, -2: free)
--   the server's time in ms
--   the holders, in the order in which their leases end; of each 12 values:
--     token, cut to 1024 bytes, and its length; the digest for force; ms left;
--     1 if there is a record of it, then host, pid, user, command, since
--     (server's ms; 0: damaged), 1 if its job has ended, fence
--   the last fence; '' if there is none
--   how many wait; -1 if that is not known
--   the queue: {waiter, waiting for ms, waiter, ...}
--   how many nested runs there are, and 1 if an outermost has ended
--   what is wrong with the helper keys: {"key: error", ...}
local lock, fence, info, queue, alive, nested = unpack(KEYS)
local most, queue_most = tonumber(ARGV[1]), tonumber(ARGV[2])
-- include: call
-- include: time
-- include: holders
-- include: record

local problems = {}

local function report(key, problem)
  problems[#problems + 1] = key .. ': ' .. problem
end

-- The text if it is a number in range, or ''.
local function number(key, what, text, max)
  local good = digits(text, max)
  if text and not good then report(key, what .. ' is no number in range') end
  return good or ''
end

-- The reply of a command, or nil and a problem.
local function ask(command, key, ...)
  if not key then return end
  local failed, reply = call(command, key, ...)
  if not failed then return reply end
  report(key, failed.err)
end

local held = find_holders()
if held.err then return held end
local kind, left = held.kind or '', held.last_left or -2
local members = kind == 'x' and {held.first, left}
  or kind ~= '' and list_members(held, most, 'WITHSCORES') or {}
local tokens, is_holder = {}, {}
for i = 1, #members, 2 do
  local token = kind == 's' and token_of(members[i]) or members[i]
  tokens[#tokens + 1], is_holder[token] = token, true
end

local failed, records, permits
if kind ~= '' and info then
  failed, records, permits = read_records(kind, tokens)
  if failed then report(info, failed.err) end
end
records = records or {}
permits = kind == 'p' and number(info, 'limit', permits, LIMIT_PERMITS)

local holders = {}
for i, token in ipairs(tokens) do
  local member, lease_left = members[2 * i - 1], members[2 * i]
  if kind ~= 'x' then lease_left = lease_left - now end
  local record = records[i] or {}
  local since = start_of(record.since)
  if records[i] and not since then
    report(info, 'since is no number in range')
  end
  for _, value in ipairs({string.sub(token, 1, LIMIT_LONG_TEXT), #token,
    #token <= LIMIT_LONG_TEXT and redis.sha1hex(member) or '',
    math.floor(math.min(lease_left, LIMIT_LEFT_MS)),
    record.since and 1 or 0, record.host or '',
    number(info, 'pid', record.pid, LIMIT_PID), record.user or '',
    record.command or '', since or 0, record.kept and 1 or 0,
    number(info, 'fence', record.fence, LIMIT_EXACT)}) do
    holders[#holders + 1] = value
  end
end

local alive_until = now + 4 * LIMIT_HEARTBEAT_MS
local waiting = ask('ZCOUNT', alive, now, alive_until)
local listed = queue_most > 0
  and ask('ZRANGE', queue, 0, queue_most - 1, 'WITHSCORES')
if not (waiting and listed) then listed = {} end
local waiters = {}
for i = 1, #listed, 2 do
  local till = tonumber(ask('ZSCORE', alive, listed[i]) or 0)
  if till >= now and till <= alive_until then
    waiters[#waiters + 1] = listed[i]
    waiters[#waiters + 1] = math.max(0, math.min(LIMIT_EXACT,
      math.floor(now - listed[i + 1] / 1000)))
  end
end

local last = number(fence, 'the fence', ask('GET', fence), LIMIT_EXACT)
local runs, released = 0, 0
local nest = ask('ZRANGE', nested, -1000, -1, 'WITHSCORES') or {}
for i = 1, #nest, 2 do
  local token, run = string.match(nest[i], '^(.*):([^:]*)$')
  if token and is_holder[token] then
    if run == 'released' then
      released = 1
    elseif tonumber(nest[i + 1]) > now then
      runs = runs + 1
    end
  end
end
return {kind, held.count, tonumber(permits or 0) or 0,
  math.floor(math.min(left, LIMIT_LEFT_MS)), now, holders, last,
  waiting or -1, waiters, runs, released, problems}

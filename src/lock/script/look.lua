-- What there is to know about a lock. Changes nothing. Damaged helper keys are
-- reported, and cost no more than what they hide. Only whole numbers that Lua
-- holds exactly are answered.
--
-- KEYS: the lock, :f, :i, :q, :l, :n, :r; or the first six, or the lock alone.
-- ARGV: how many of the holders, of the queue and of the runs, at most.
-- The answer, in this order:
--   the letter of its kind; '' when free
--   how many hold it, and how many permits there are or 0
--   ms left of the last lease to end (-1: it has no end, -2: free)
--   the server's time in ms
--   the holders, in the order in which their leases end; of each 13 values:
--     token, cut to 1024 bytes, and its length; the digest for force; ms left;
--     1 if there is a record of it, then host, pid, user, label, command,
--     since (server's ms; 0: damaged), 1 if its job has ended, 2 if it is a
--     hold, 3 if it is replaceable or 4 if it is a pause, fence
--   the last fence; '' if there is none
--   how many wait; -1 if that is not known
--   the queue: {waiter, waiting for ms, waiter, ...}
--   how many nested runs there are, and 1 if an outermost has ended
--   the runs that are known, the last one first; of each 11 values: host, pid,
--     user, label, start and end (server's ms; 0: not known), status or '',
--     fence, 1 if it still has the lock, ms waited or '', why it ended or ''
--   the last success, {} if none is known: host, end, fence
--   the ms in which a success is due; 0 if that was not stated; and when it was
--   first stated (server's ms), 0 if that is not known
--   what is wrong with the helper keys, once each: {key, error, key, ...}
local lock, fence, info, queue, alive, nested, history = unpack(KEYS)
local most, queue_most = tonumber(ARGV[1]), tonumber(ARGV[2])
local runs_most = tonumber(ARGV[3])
-- include: call
-- include: time
-- include: holders
-- include: digits
-- include: record

local problems, reported = {}, {}

local function report(key, problem)
  local both = key .. ': ' .. problem
  if reported[both] then return end
  reported[both] = true
  problems[#problems + 1] = key
  problems[#problems + 1] = problem
end

-- The text if it is a number in range, or ''.
local function number(key, what, text, max)
  local good = digits(text, max)
  if text and not good then report(key, what .. ' is no number in range') end
  return good or ''
end

-- What the function returns, or nil and a problem.
local function ask(key, ask_it, ...)
  if not key then return end
  local done, reply, more = pcall(ask_it, ...)
  if done then return reply, more end
  report(key, reply)
end

-- The holders, by a token each, and all that the answer says about them.
local function list_holders(held)
  local members = held.kind == 'x' and {held.first, held.first_left}
    or held.kind and list_members(held, most, 'WITHSCORES') or {}
  local tokens, values = {}, {}
  for i = 1, #members, 2 do
    tokens[#tokens + 1] = held.kind == 's' and token_of(members[i])
      or members[i]
  end
  local records, permits =
    ask(held.kind and info, read_records, held.kind, tokens)
  permits = held.kind == 'p'
    and number(info, 'limit', permits, LIMIT_PERMITS)
  for i, token in ipairs(tokens) do
    local member, left = members[2 * i - 1], members[2 * i]
    if held.kind ~= 'x' then left = left - now end
    local record = records and records[i]
    local since = record and start_of(record.since)
    if record and not since then
      report(info, 'since is no number in range')
    end
    record = record or {}
    for _, value in ipairs({string.sub(token, 1, LIMIT_LONG_TEXT), #token,
      #token <= LIMIT_LONG_TEXT and redis.sha1hex(member) or '',
      math.floor(math.min(left, LIMIT_LEFT_MS)),
      record.since and 1 or 0, record.host or '',
      number(info, 'pid', record.pid, LIMIT_PID), record.user or '',
      record.label or '', record.command or '', since or 0,
      record.kept and 1 or record.paused and 4 or record.hold and 2
        or record.replaceable and 3 or 0,
      number(info, 'fence', record.fence, LIMIT_EXACT)}) do
      values[#values + 1] = value
    end
  end
  return tokens, values, tonumber(permits or 0) or 0
end

-- How many wait, and the first of them.
local function list_waiters()
  local alive_until = now + 4 * LIMIT_HEARTBEAT_MS
  local waiting = ask(alive, call, 'ZCOUNT', alive, now, alive_until)
  local listed = queue_most > 0 and ask(queue, call, 'ZRANGE', queue, 0,
    queue_most - 1, 'WITHSCORES')
  local waiters = {}
  if not waiting or not listed then return waiting or -1, waiters end
  for i = 1, #listed, 2 do
    local till =
      tonumber(ask(alive, call, 'ZSCORE', alive, listed[i]) or 0)
    if till >= now and till <= alive_until then
      local ticket = tonumber(listed[i + 1])
      if ticket < LIMIT_FRONT_US then ticket = ticket + LIMIT_FRONT_US end
      waiters[#waiters + 1] = listed[i]
      waiters[#waiters + 1] = math.max(0, math.min(LIMIT_EXACT,
        math.floor(now - ticket / 1000)))
    end
  end
  return waiting, waiters
end

-- How many nested runs use the lock, and 1 if an outermost has ended.
local function count_nested(tokens)
  local is_holder, runs, released = {}, 0, 0
  for _, token in ipairs(tokens) do is_holder[token] = true end
  local listed = ask(nested, call, 'ZRANGE', nested, -1000, -1, 'WITHSCORES')
  for i = 1, #(listed or {}), 2 do
    local token, run = string.match(listed[i], '^(.*):([^:]*)$')
    if token and is_holder[token] and run == 'released' then
      released = 1
    elseif token and is_holder[token] and tonumber(listed[i + 1]) > now then
      runs = runs + 1
    end
  end
  return runs, released
end

-- Whether one of the holders has that token.
local function holds(held, token)
  if held.kind == 'x' then return held.first == token end
  local member = held.kind == 's' and 's:' .. token or token
  local till = held.kind and redis.pcall('ZSCORE', lock, member)
  return type(till) == 'string' and tonumber(till) >= now
end

-- A time near now, or 0; and a problem if the text is another one.
local function time_of(what, text)
  local time = text and text ~= '' and start_of(text) or 0
  if text and text ~= '' and time == 0 then
    report(history, what .. ' is no number in range')
  end
  return time
end

-- Adds a run: 11 texts, of which the start may be damaged.
local function add_run(runs, about)
  local start, ended = time_of('start', about[5]), time_of('end', about[6])
  if start == 0 or #runs >= 11 * runs_most then return end
  for _, value in ipairs({string.sub(about[1] or '', 1, LIMIT_TEXT),
    number(history, 'pid', about[2], LIMIT_PID),
    string.sub(about[3] or '', 1, LIMIT_TEXT),
    string.sub(about[4] or '', 1, LIMIT_LABEL), start, ended,
    number(history, 'status', about[7] ~= '' and about[7], LIMIT_STATUS),
    number(history, 'fence', about[8], LIMIT_EXACT), about[9],
    digits(about[10], LIMIT_AGE_MS) or '',
    string.match(about[11] or '', '^[%l_]+$') or ''}) do
    runs[#runs + 1] = value
  end
end

-- One that has been filed: see file_last_run.
local function add_filed_run(runs, text)
  local words, host, user, label =
    string.match(text, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$')
  local fence, start, ended, status, wait, reason, pid = string.match(
    string.gsub(words or '', '%-', ''),
    '^(%d*) (%d*) (%d*) (%d*) (%d*) (%l*[_%l]*) (%d*)$')
  if not fence then return report(history, 'a former run is damaged') end
  add_run(runs, {host, pid ~= '' and pid, user, label, start, ended, status,
    fence ~= '' and fence, 0, wait, reason})
end

-- The runs, the last success, and what is expected.
local function read_history(held)
  local about = ask(history, call, 'HMGET', history, 'host', 'pid', 'user',
    'label', 'start', 'end', 'status', 'fence', 'token', 'more', 'runs',
    'success_host', 'success', 'success_fence', 'run0', 'run1', 'run2', 'run3',
    'run4', 'run5', 'run6', 'run7', 'run8', 'run9',
    'expect', 'expect_since')
  if not about then return {}, {}, 0, 0 end
  local runs, filed = {}, tonumber(digits(about[11], LIMIT_EXACT) or 0)
  local more = string.sub(about[10] or '', 1, 99)
  local fence, wait, reason =
    string.match(more, '^(%d+) %d+ %d+ (%d+) (%S+)$')
  if fence ~= about[8] then wait, reason = nil, nil end
  if (about[9] or '') ~= '' then
    local last = {unpack(about, 1, 8)}
    last[9], last[10], last[11] = holds(held, about[9]) and 1 or 0, wait, reason
    add_run(runs, last)
  end
  for i = filed - 1, filed - 10, -1 do
    local text = about[15 + i % 10]
    if text then add_filed_run(runs, text) end
  end
  local success = time_of('success', about[13])
  return runs, success > 0 and {
    string.sub(about[12] or '', 1, LIMIT_TEXT), success,
    number(history, 'success_fence', about[14], LIMIT_EXACT)} or {},
    tonumber(number(history, 'expect', about[25], LIMIT_AGE_MS)) or 0,
    time_of('expect_since', about[26])
end

return answer_of(function()
  local held = find_holders()
  local tokens, holders, permits = list_holders(held)
  local waiting, waiters = list_waiters()
  local last = number(fence, 'the fence', ask(fence, call, 'GET', fence),
    LIMIT_EXACT)
  local runs, released = count_nested(tokens)
  local known_runs, last_success, expect, expect_since = read_history(held)
  return {held.kind or '', held.count, permits,
    math.floor(math.min(held.last_left or -2, LIMIT_LEFT_MS)), now, holders,
    last, waiting, waiters, runs, released, known_runs, last_success, expect,
    expect_since, problems}
end)

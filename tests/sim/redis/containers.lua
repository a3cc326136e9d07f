-- The commands on hashes, lists and sorted sets. Handlers are as in keys.lua.
local data, keyspace = ...
local OK, SYNTAX = keyspace.OK, keyspace.SYNTAX
local NOT_INTEGER, NOT_FLOAT = keyspace.NOT_INTEGER, keyspace.NOT_FLOAT
local typed, make = keyspace.typed, keyspace.make
local integer, float = data.integer, data.float
local upper, huge = string.upper, math.huge
local handlers = {}

-- --- hashes -----------------------------------------------------------------

function handlers.hset(server, argv, count)
  if count % 2 == 1 then return keyspace.wrong_arity('hset') end
  local entry, failure = make(server, argv[2], 'hash')
  if failure then return failure end
  local added = 0
  for i = 3, count, 2 do
    if data.put(entry, argv[i], argv[i + 1]) then added = added + 1 end
  end
  server.is_dirty = true
  return added
end

function handlers.hdel(server, argv, count)
  local entry, failure = typed(server, argv[2], 'hash')
  if not entry then return failure or 0 end
  local removed = 0
  for i = 3, count do
    if data.take(entry, argv[i]) then removed = removed + 1 end
  end
  if removed > 0 then server.is_dirty = true end
  keyspace.drop_if_empty(server, entry)
  return removed
end

function handlers.hget(server, argv)
  local entry, failure = typed(server, argv[2], 'hash')
  return failure or entry and entry.map[argv[3]] or false
end

function handlers.hmget(server, argv, count)
  local entry, failure = typed(server, argv[2], 'hash')
  if failure then return failure end
  local map, values = entry and entry.map, {}
  for i = 3, count do values[i - 2] = map and map[argv[i]] or false end
  return values
end

function handlers.hexists(server, argv)
  local entry, failure = typed(server, argv[2], 'hash')
  return failure or entry and entry.map[argv[3]] and 1 or 0
end

function handlers.hlen(server, argv)
  local entry, failure = typed(server, argv[2], 'hash')
  return failure or entry and #entry.items or 0
end

function handlers.hkeys(server, argv)
  local entry, failure = typed(server, argv[2], 'hash')
  return failure or entry and data.slice(entry.items, 1, #entry.items) or {}
end

function handlers.hgetall(server, argv)
  local entry, failure = typed(server, argv[2], 'hash')
  if not entry then return failure or {} end
  local pairs_of, n = {}, 0
  for _, name in ipairs(entry.items) do
    pairs_of[n + 1], pairs_of[n + 2] = name, entry.map[name]
    n = n + 2
  end
  return pairs_of
end

-- --- lists ------------------------------------------------------------------

local function push(server, argv, count, at_front)
  local is_new = not keyspace.find(server, argv[2])
  local entry, failure = make(server, argv[2], 'list')
  if failure then return failure end
  local items = entry.items
  for i = 3, count do
    if at_front then
      table.insert(items, 1, argv[i])
    else
      items[#items + 1] = argv[i]
    end
  end
  server.is_dirty = true
  if is_new then server:note_ready(argv[2]) end
  return #items
end

function handlers.rpush(server, argv, count)
  return push(server, argv, count, false)
end

function handlers.lpush(server, argv, count)
  return push(server, argv, count, true)
end

local function pop(server, entry)
  local value = table.remove(entry.items, 1)
  server.is_dirty = true
  keyspace.drop_if_empty(server, entry)
  return value
end

function handlers.lpop(server, argv, count)
  if count > 3 then return keyspace.wrong_arity('lpop') end
  local most = count == 3 and integer(argv[3])
  if count == 3 and (not most or most < 0) then
    return {err = 'ERR value is out of range, must be positive'}
  end
  local entry, failure = typed(server, argv[2], 'list')
  if failure then return failure end
  if not entry then return most and keyspace.NIL_ARRAY or false end
  if not most then return pop(server, entry) end
  local values = {}
  while #values < most and entry.items[1] do
    values[#values + 1] = pop(server, entry)
  end
  return values
end

function handlers.llen(server, argv)
  local entry, failure = typed(server, argv[2], 'list')
  return failure or entry and #entry.items or 0
end

-- Positions from 1, cut to so many elements: the first is behind the last if
-- there are none.
local function cut(from, to, length)
  if from < 0 then from = math.max(from + length, 0) end
  if to < 0 then to = to + length end
  return from + 1, math.min(to, length - 1) + 1
end

function handlers.lrange(server, argv)
  local from, to = integer(argv[3]), integer(argv[4])
  if not from or not to then return NOT_INTEGER end
  local entry, failure = typed(server, argv[2], 'list')
  if not entry then return failure or {} end
  local first, last = cut(from, to, #entry.items)
  return data.slice(entry.items, first, last)
end

function handlers.ltrim(server, argv)
  local from, to = integer(argv[3]), integer(argv[4])
  if not from or not to then return NOT_INTEGER end
  local entry, failure = typed(server, argv[2], 'list')
  if not entry then return failure or OK end
  local first, last = cut(from, to, #entry.items)
  entry.items = data.slice(entry.items, first, last)
  server.is_dirty = true
  keyspace.drop_if_empty(server, entry)
  return OK
end

function handlers.lset(server, argv)
  local entry, failure = typed(server, argv[2], 'list')
  if not entry then return failure or {err = 'ERR no such key'} end
  local index = integer(argv[3])
  if not index then return NOT_INTEGER end
  if index < 0 then index = index + #entry.items end
  if not entry.items[index + 1] then return {err = 'ERR index out of range'} end
  entry.items[index + 1] = argv[4]
  server.is_dirty = true
  return OK
end

-- A negative number counts from the end.
function handlers.lrem(server, argv)
  local most = integer(argv[3])
  if not most then return NOT_INTEGER end
  local entry, failure = typed(server, argv[2], 'list')
  if not entry then return failure or 0 end
  local items, removed = entry.items, 0
  local from, to, step = 1, #items, 1
  if most < 0 then from, to, step, most = #items, 1, -1, -most end
  local i = from
  while (step > 0 and i <= #items or step < 0 and i >= to)
    and (most == 0 or removed < most) do
    if items[i] == argv[4] then
      table.remove(items, i)
      removed = removed + 1
      if step < 0 then i = i - 1 end
    else
      i = i + step
    end
  end
  if removed > 0 then server.is_dirty = true end
  keyspace.drop_if_empty(server, entry)
  return removed
end

-- The first list among these keys that has an element gives it. Otherwise the
-- client blocks, except in a script: there its time is over at once.
local function read_timeout(server, text)
  local seconds = float(text)
  if server.is_old_timeout then
    seconds = integer(text)
    if not seconds then
      return nil, {err = 'ERR timeout is not an integer or out of range'}
    end
  elseif not seconds or seconds ~= seconds then
    return nil, {err = 'ERR timeout is not a float or out of range'}
  end
  if seconds * 1000 >= 2 ^ 63 then
    return nil, {err = 'ERR timeout is out of range'}
  elseif seconds < 0 then
    return nil, {err = 'ERR timeout is negative'}
  end
  return math.ceil(seconds * 1000)
end

function handlers.blpop(server, argv, count, client)
  local ms, failure = read_timeout(server, argv[count])
  if failure then return failure end
  for i = 2, count - 1 do
    local entry, wrong = typed(server, argv[i], 'list')
    if wrong then return wrong end
    if entry then
      server.rewritten = {'LPOP', argv[i]}
      return {argv[i], pop(server, entry)}
    end
  end
  if not client then return keyspace.NIL_ARRAY end
  return server:block(client, {unpack(argv, 2, count - 1)}, ms)
end

-- The reply to a client that has been blocked for that key, or nil. Since Redis
-- 7.2 its command runs once more, from its first key on, if it still may.
function handlers.take_for_blocked(server, key, client)
  if not typed(server, key, 'list') then return nil end
  local keys = server.is_new and client.blocked.keys or {key}
  local words = {'BLPOP', unpack(keys)}
  words[#words + 1] = '0'
  local denial = server.is_new
    and server:refuse_access(client, server:find(words, #words), words, #words)
  if denial then return denial end
  for _, name in ipairs(keys) do
    local entry, wrong = typed(server, name, 'list')
    if wrong then return wrong end
    if entry then
      server:propagate({'LPOP', name})
      return {name, pop(server, entry)}
    end
  end
end

-- --- sorted sets: ZADD ------------------------------------------------------

local add_flags = {NX = true, XX = true, GT = true, LT = true, CH = true,
  INCR = true}

-- {NX...: true} and the position of the first score.
local function read_add_flags(argv, count)
  local flags, i = nil, 3
  while i <= count do
    local word = argv[i]
    word = add_flags[word] and word or upper(word)
    if not add_flags[word] then break end
    flags = flags or {}
    flags[word] = true
    i = i + 1
  end
  return flags, i
end

local function judge_add(flags, elements)
  if elements == 0 or elements % 1 ~= 0 then return SYNTAX end
  if not flags then return nil end
  if flags.NX and flags.XX then
    return {err = 'ERR XX and NX options at the same time are not compatible'}
  elseif flags.GT and flags.NX or flags.LT and flags.NX
    or flags.GT and flags.LT then
    return {err = 'ERR GT, LT, and/or NX options at the same time are not '
      .. 'compatible'}
  elseif flags.INCR and elements > 1 then
    return {err = 'ERR INCR option supports a single increment-element pair'}
  end
end

-- The new score of one member, or nil if it stays as it is.
local function new_score(flags, former, score)
  if not flags then return score end
  if former and flags.NX or not former and flags.XX then return nil end
  if flags.INCR and former then score = former + score end
  if former and (flags.GT and score <= former or flags.LT and score >= former)
  then
    return nil
  end
  return score
end

local function add_pairs(server, entry, argv, first, scores, flags)
  local added, changed, result = 0, 0, nil
  for i = 1, #scores do
    local name = argv[first + 2 * i - 1]
    local score = new_score(flags, entry.map[name], scores[i])
    if score and score ~= score then
      return nil, {err = 'ERR resulting score is not a number (NaN)'}
    end
    result = score
    if score then
      local is_new, is_changed = data.set_score(entry, name, score)
      if is_new then added = added + 1 end
      if is_changed then changed = changed + 1 end
    end
  end
  if changed > 0 then server.is_dirty = true end
  if flags and flags.INCR then
    return result and server:number_text(result) or false
  end
  return flags and flags.CH and changed or added
end

function handlers.zadd(server, argv, count)
  local flags, first = read_add_flags(argv, count)
  local elements = (count - first + 1) / 2
  local failure = judge_add(flags, elements)
  if failure then return failure end
  local scores = {}
  for i = 1, elements do
    scores[i] = float(argv[first + 2 * i - 2])
    if not scores[i] then return NOT_FLOAT end
  end
  local entry, wrong = typed(server, argv[2], 'zset')
  if wrong then return wrong end
  if not entry then
    if flags and flags.XX then return not flags.INCR and 0 or false end
    entry = make(server, argv[2], 'zset')
  end
  local reply, problem = add_pairs(server, entry, argv, first, scores, flags)
  keyspace.drop_if_empty(server, entry)
  return problem or reply
end

-- --- sorted sets: the others ------------------------------------------------

function handlers.zrem(server, argv, count)
  local entry, failure = typed(server, argv[2], 'zset')
  if not entry then return failure or 0 end
  local removed = 0
  for i = 3, count do
    if data.remove_member(entry, argv[i]) then removed = removed + 1 end
  end
  if removed > 0 then server.is_dirty = true end
  keyspace.drop_if_empty(server, entry)
  return removed
end

function handlers.zscore(server, argv)
  local entry, failure = typed(server, argv[2], 'zset')
  local score = entry and entry.map[argv[3]]
  return failure or score and server:number_text(score) or false
end

function handlers.zrank(server, argv)
  local entry, failure = typed(server, argv[2], 'zset')
  if not entry or not entry.map[argv[3]] then return failure or false end
  return data.rank(entry, argv[3]) - 1
end

function handlers.zcard(server, argv)
  local entry, failure = typed(server, argv[2], 'zset')
  return failure or entry and #entry.items or 0
end

-- Redis reads a bound by strtod, which takes blanks and nothing at all.
local function read_bound(text)
  local is_open = string.sub(text, 1, 1) == '('
  text = string.match(text, '^%(?%s*(.*)$')
  return text == '' and 0 or float(text), is_open
end

-- {min, max, without_min, without_max}, or nil and the error.
local function read_range(low, high)
  local min, without_min = read_bound(low)
  local max, without_max = read_bound(high)
  if not min or not max then
    return nil, {err = 'ERR min or max is not a float'}
  end
  return {min = min, max = max, without_min = without_min,
    without_max = without_max}
end

function handlers.zcount(server, argv)
  local range, failure = read_range(argv[3], argv[4])
  if failure then return failure end
  local entry, wrong = typed(server, argv[2], 'zset')
  if not entry then return wrong or 0 end
  local first, last = data.between(entry, range)
  return math.max(last - first + 1, 0)
end

function handlers.zremrangebyscore(server, argv)
  local range, failure = read_range(argv[3], argv[4])
  if failure then return failure end
  local entry, wrong = typed(server, argv[2], 'zset')
  if not entry then return wrong or 0 end
  local first, last = data.between(entry, range)
  for i = last, first, -1 do
    entry.map[entry.items[i]] = nil
    table.remove(entry.items, i)
  end
  if last < first then return 0 end
  server.is_dirty = true
  keyspace.drop_if_empty(server, entry)
  return last - first + 1
end

-- {WITHSCORES, BYSCORE, REV: true; offset, most}, or nil and the error. Only
-- ZRANGE has BYSCORE and REV.
local function read_range_options(argv, count, is_zrange)
  local options, i = {BYSCORE = not is_zrange}, 5
  while i <= count do
    local word = upper(argv[i])
    if word == 'LIMIT' and i + 2 <= count then
      options.offset, options.most = integer(argv[i + 1]), integer(argv[i + 2])
      if not options.offset or not options.most then return nil, NOT_INTEGER end
      i = i + 2
    elseif word == 'WITHSCORES'
      or is_zrange and (word == 'BYSCORE' or word == 'REV') then
      options[word] = true
    else
      return nil, SYNTAX
    end
    i = i + 1
  end
  if options.offset and options.most ~= -1 and not options.BYSCORE then
    return nil, {err = 'ERR syntax error, LIMIT is only supported in '
      .. 'combination with either BYSCORE or BYLEX'}
  end
  return options
end

-- The members from the first position to the last, or back if step is -1.
local function list_members(server, entry, first, last, options)
  local list, n = {}, 0
  local step = options and options.REV and -1 or 1
  if step < 0 then first, last = last, first end
  for i = first, last, step do
    local name = entry.items[i]
    n = n + 1
    list[n] = name
    if options and options.WITHSCORES then
      n = n + 1
      list[n] = server:number_text(entry.map[name])
    end
  end
  return list
end

local function range_by_score(server, argv, options)
  local low, high = argv[3], argv[4]
  if options.REV then low, high = high, low end
  local range, failure = read_range(low, high)
  if failure then return failure end
  local entry, wrong = typed(server, argv[2], 'zset')
  if not entry then return wrong or {} end
  local first, last = data.between(entry, range)
  local offset, most = options.offset or 0, options.most or -1
  if offset < 0 then return {} end
  if most < 0 then most = huge end
  if options.REV then
    last = last - offset
    first = math.max(first, last - most + 1)
  else
    first = first + offset
    last = math.min(last, first + most - 1)
  end
  return list_members(server, entry, first, last, options)
end

function handlers.zrangebyscore(server, argv, count)
  local options, failure = read_range_options(argv, count, false)
  return failure or range_by_score(server, argv, options)
end

function handlers.zrange(server, argv, count)
  local options, failure
  if count > 4 then
    options, failure = read_range_options(argv, count, true)
    if failure then return failure end
    if options.BYSCORE then return range_by_score(server, argv, options) end
  end
  local from, to = integer(argv[3]), integer(argv[4])
  if not from or not to then return NOT_INTEGER end
  local entry, wrong = typed(server, argv[2], 'zset')
  if not entry then return wrong or {} end
  local length = #entry.items
  if options and options.REV then from, to = -1 - to, -1 - from end
  local first, last = cut(from, to, length)
  return list_members(server, entry, first, last, options)
end

return handlers

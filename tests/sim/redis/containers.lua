-- The commands on hashes, lists and sorted sets. Handlers are as in keys.lua.
local data, keyspace = ...
local OK, SYNTAX = keyspace.OK, keyspace.SYNTAX
local NOT_INTEGER, NOT_FLOAT = keyspace.NOT_INTEGER, keyspace.NOT_FLOAT
local typed, make = keyspace.typed, keyspace.make
local integer, float = data.integer, data.float
local upper = string.upper
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

function handlers.lpop(server, argv)
  local entry, failure = typed(server, argv[2], 'list')
  return failure or entry and pop(server, entry) or false
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

function handlers.lrem(server, argv)
  local most = integer(argv[3])
  if not most then return NOT_INTEGER end
  local entry, failure = typed(server, argv[2], 'list')
  if not entry then return failure or 0 end
  local items, removed, i = entry.items, 0, 1
  while i <= #items and (most == 0 or removed < most) do
    if items[i] == argv[4] then
      table.remove(items, i)
      removed = removed + 1
    else
      i = i + 1
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

-- --- sorted sets -------------------------------------------------------------

function handlers.zadd(server, argv, count)
  local is_update = upper(argv[3]) == 'XX'
  local first = is_update and 4 or 3
  local elements = (count - first + 1) / 2
  if elements == 0 or elements % 1 ~= 0 then return SYNTAX end
  local scores = {}
  for i = 1, elements do
    scores[i] = float(argv[first + 2 * i - 2])
    if not scores[i] then return NOT_FLOAT end
  end
  local entry, wrong = typed(server, argv[2], 'zset')
  if wrong then return wrong end
  if not entry then
    if is_update then return 0 end
    entry = make(server, argv[2], 'zset')
  end
  local added = 0
  for i = 1, elements do
    local name = argv[first + 2 * i - 1]
    if not is_update or entry.map[name] then
      local is_new, is_changed = data.set_score(entry, name, scores[i])
      if is_new then added = added + 1 end
      if is_changed then server.is_dirty = true end
    end
  end
  return added
end

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

local function list_members(server, entry, first, last, with_scores)
  local list, n = {}, 0
  for i = first, last do
    local name = entry.items[i]
    n = n + 1
    list[n] = name
    if with_scores then
      n = n + 1
      list[n] = server:number_text(entry.map[name])
    end
  end
  return list
end

function handlers.zrangebyscore(server, argv, count)
  if count > 4 then return SYNTAX end
  local range, failure = read_range(argv[3], argv[4])
  if failure then return failure end
  local entry, wrong = typed(server, argv[2], 'zset')
  if not entry then return wrong or {} end
  return list_members(server, entry, data.between(entry, range))
end

function handlers.zrange(server, argv, count)
  local with_scores = count == 5 and upper(argv[5]) == 'WITHSCORES'
  if count > 4 and not with_scores then return SYNTAX end
  local from, to = integer(argv[3]), integer(argv[4])
  if not from or not to then return NOT_INTEGER end
  local entry, wrong = typed(server, argv[2], 'zset')
  if not entry then return wrong or {} end
  local first, last = cut(from, to, #entry.items)
  return list_members(server, entry, first, last, with_scores)
end

return handlers

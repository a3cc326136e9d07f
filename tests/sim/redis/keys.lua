-- The commands on keys of any type, and on strings and sets.
--
-- A command is handler(server, argv, count of words, client) -> reply, in the
-- form that a script gets: text, number, false for nil, list, {ok=}, {err=}.
-- It sets server.is_dirty if it has changed something, and server.rewritten if
-- the replicas are to run other words than these.
local data, keyspace = ...
local OK, SYNTAX = keyspace.OK, keyspace.SYNTAX
local NOT_INTEGER = keyspace.NOT_INTEGER
local find, typed, integer = keyspace.find, keyspace.typed, data.integer
local format, upper = string.format, string.upper
local handlers = {}

-- --- strings ----------------------------------------------------------------

function handlers.get(server, argv)
  local entry, failure = typed(server, argv[2], 'string')
  return entry and entry.value or failure or false
end

-- Stores a value, and returns its entry.
local function store(server, key, value)
  local entry = server.db.map[key]
  if not entry then
    return data.add(server.db, key, {kind = 'string', value = value})
  end
  entry.kind, entry.value, entry.items, entry.map = 'string', value, nil, nil
  return entry
end

-- {NX: true; unit: PX from now on or PXAT, a time; life: text}, or nil.
local function read_set_options(argv, count)
  local options, i = {}, 4
  while i <= count do
    local word = upper(argv[i])
    if word == 'PX' or word == 'PXAT' then
      if i == count or options.unit then return nil end
      options.unit, options.life = word, argv[i + 1]
      i = i + 1
    elseif word == 'NX' then
      options.NX = true
    else
      return nil
    end
    i = i + 1
  end
  return options
end

-- When a life ends, or nil and the error.
local function end_of(server, text, unit)
  local ms = integer(text)
  if not ms then return nil, NOT_INTEGER end
  local is_absolute = unit == 'PXAT'
  if ms <= 0 or not is_absolute and ms > 2 ^ 63 - server.ms then
    return nil, {err = "ERR invalid expire time in 'set' command"}
  end
  return is_absolute and ms or ms + server.ms
end

local function set_with(server, argv, options)
  local key, value = argv[2], argv[3]
  local till, failure
  if options.unit then
    till, failure = end_of(server, options.life, options.unit)
    if failure then return failure end
  end
  if find(server, key) and options.NX then return false end
  store(server, key, value).till = till
  server.is_dirty = true
  server.rewritten = till and {'SET', key, value, 'PXAT', format('%.0f', till)}
    or {'SET', key, value}
  return OK
end

function handlers.set(server, argv, count)
  if count > 3 then
    local options = read_set_options(argv, count)
    if not options then return SYNTAX end
    return set_with(server, argv, options)
  end
  find(server, argv[2])
  store(server, argv[2], argv[3]).till = nil
  server.is_dirty = true
  return OK
end

-- --- any type ---------------------------------------------------------------

function handlers.del(server, argv, count)
  local deleted = 0
  for i = 2, count do
    local entry = find(server, argv[i])
    if entry then
      keyspace.delete(server, entry)
      deleted = deleted + 1
    end
  end
  if deleted > 0 then server.is_dirty = true end
  return deleted
end

function handlers.exists(server, argv, count)
  local found = 0
  for i = 2, count do
    if find(server, argv[i]) then found = found + 1 end
  end
  return found
end

function handlers.type(server, argv)
  local entry = find(server, argv[2])
  return {ok = entry and entry.kind or 'none'}
end

local function left(server, argv)
  local entry = find(server, argv[2])
  if not entry then return -2 end
  return entry.till and math.max(entry.till - server.ms, 0) or -1
end
handlers.pttl = left

function handlers.ttl(server, argv)
  local ms = left(server, argv)
  return ms < 0 and ms or math.floor((ms + 500) / 1000)
end

local function expire(server, argv, base, name)
  local number = integer(argv[3])
  if not number then return NOT_INTEGER end
  local till = number + base
  if math.abs(number) >= 2 ^ 63 or till >= 2 ^ 63 then
    return {err = "ERR invalid expire time in '" .. name .. "' command"}
  end
  local entry = find(server, argv[2])
  if not entry then return 0 end
  server.is_dirty = true
  if till <= server.ms and not server.primary then
    keyspace.delete(server, entry)
    server.rewritten = {'DEL', argv[2]}
    return 1
  end
  entry.till = till
  server.rewritten = {'PEXPIREAT', argv[2], format('%.0f', till)}
  return 1
end

function handlers.pexpire(server, argv)
  return expire(server, argv, server.ms, 'pexpire')
end

function handlers.pexpireat(server, argv)
  return expire(server, argv, 0, 'pexpireat')
end

-- --- all keys ---------------------------------------------------------------

function handlers.keys(server, argv)
  local found = {}
  keyspace.each(server, 0, function(entry)
    if data.glob(argv[2], entry.key) then found[#found + 1] = entry.key end
  end)
  return found
end

-- {MATCH, COUNT}, or nil and the error.
local function read_scan_options(argv, count)
  local options, i = {COUNT = 10}, 3
  while i <= count do
    local word = upper(argv[i])
    if i == count or word ~= 'MATCH' and word ~= 'COUNT' then
      return nil, SYNTAX
    end
    options[word] = argv[i + 1]
    if word == 'COUNT' then
      options.COUNT = integer(argv[i + 1])
      if not options.COUNT then return nil, NOT_INTEGER end
      if options.COUNT < 1 then return nil, SYNTAX end
    end
    i = i + 2
  end
  return options
end

local function shuffle(list, dice)
  for i = #list, 2, -1 do
    local other = dice(i)
    list[i], list[other] = list[other], list[i]
  end
end

-- The cursor is the number of the next key: whatever is there from the first
-- page to the last is found. Redis has another order, so there is none here.
function handlers.scan(server, argv, count)
  local cursor = string.find(argv[2], '^%d+$') and tonumber(argv[2])
  if not cursor then return {err = 'ERR invalid cursor'} end
  local options, failure = read_scan_options(argv, count)
  if failure then return failure end
  local looked, found, next_seq = 0, {}, 0
  keyspace.each(server, cursor, function(entry)
    if looked == options.COUNT then
      next_seq = entry.seq
      return true
    end
    looked = looked + 1
    if not options.MATCH or data.glob(options.MATCH, entry.key) then
      found[#found + 1] = entry.key
    end
  end)
  if server.dice then shuffle(found, server.dice) end
  return {format('%.0f', next_seq), found}
end

-- --- sets -------------------------------------------------------------------

function handlers.sadd(server, argv, count)
  local entry, failure = keyspace.make(server, argv[2], 'set')
  if failure then return failure end
  local added = 0
  for i = 3, count do
    if data.put(entry, argv[i], true) then added = added + 1 end
  end
  if added > 0 then server.is_dirty = true end
  return added
end

function handlers.srem(server, argv, count)
  local entry, failure = typed(server, argv[2], 'set')
  if not entry then return failure or 0 end
  local removed = 0
  for i = 3, count do
    if data.take(entry, argv[i]) then removed = removed + 1 end
  end
  if removed > 0 then server.is_dirty = true end
  keyspace.drop_if_empty(server, entry)
  return removed
end

-- Redis has an order of its own, on which nothing may depend.
function handlers.smembers(server, argv)
  local entry, failure = typed(server, argv[2], 'set')
  if not entry then return failure or {} end
  local members = data.slice(entry.items, 1, #entry.items)
  if server.dice then shuffle(members, server.dice) end
  return members
end

return handlers

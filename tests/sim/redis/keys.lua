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
local format, upper, lower = string.format, string.upper, string.lower
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

-- EX, PX: from now on; EXAT, PXAT: a time. The number of ms in their unit.
local life_units = {EX = 1000, PX = 1, EXAT = 1000, PXAT = 1}

-- {NX, XX, GET, KEEPTTL: true; unit: EX...; life: text}, or nil.
local function read_set_options(argv, count)
  local options, i = {}, 4
  while i <= count do
    local word = upper(argv[i])
    if life_units[word] then
      if i == count or options.unit or options.KEEPTTL then return nil end
      options.unit, options.life = word, argv[i + 1]
      i = i + 1
    elseif word == 'KEEPTTL' then
      if options.unit then return nil end
      options.KEEPTTL = true
    elseif word == 'GET' then
      options.GET = true
    elseif word == 'NX' and not options.XX
      or word == 'XX' and not options.NX then
      options[word] = true
    else
      return nil
    end
    i = i + 1
  end
  return options
end

-- When a life ends, or nil and the error.
local function end_of(server, text, unit, name)
  local number = integer(text)
  if not number then return nil, NOT_INTEGER end
  local ms = number * life_units[unit]
  local is_absolute = #unit == 4
  if number <= 0 or ms >= 2 ^ 63
    or not is_absolute and ms > 2 ^ 63 - server.ms then
    return nil, {err = "ERR invalid expire time in '" .. name .. "' command"}
  end
  return is_absolute and ms or ms + server.ms
end

local function set_with(server, argv, options)
  local key, value = argv[2], argv[3]
  local till, failure
  if options.unit then
    till, failure = end_of(server, options.life, options.unit, 'set')
    if failure then return failure end
  end
  local former = find(server, key)
  local reply = OK
  if options.GET then
    if former and former.kind ~= 'string' then return keyspace.WRONGTYPE end
    reply = former and former.value or false
  end
  if options.NX and former or options.XX and not former then
    return options.GET and reply or false
  end
  local entry = store(server, key, value)
  if not options.KEEPTTL then entry.till = till end
  server.is_dirty = true
  server.rewritten = till and {'SET', key, value, 'PXAT', format('%.0f', till)}
    or {'SET', key, value, options.KEEPTTL and 'KEEPTTL' or nil}
  return reply
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

function handlers.incr(server, argv)
  local entry, failure = typed(server, argv[2], 'string')
  if failure then return failure end
  local number = entry and integer(entry.value) or not entry and 0
  if not number then return NOT_INTEGER end
  local text = format('%.0f', number + 1)
  store(server, argv[2], text)
  server.is_dirty = true
  return number + 1
end

-- --- any type ---------------------------------------------------------------

local function delete(server, argv, count)
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
handlers.del = delete
handlers.unlink = delete

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

function handlers.persist(server, argv)
  local entry = find(server, argv[2])
  if not entry or not entry.till then return 0 end
  entry.till = nil
  server.is_dirty = true
  return 1
end

-- {NX, XX, GT, LT: true}, or nil and the error.
local function read_expire_options(argv, count)
  local options = {}
  for i = 4, count do
    local word = upper(argv[i])
    if word ~= 'NX' and word ~= 'XX' and word ~= 'GT' and word ~= 'LT' then
      return nil, {err = 'ERR Unsupported option ' .. argv[i]}
    end
    options[word] = true
  end
  if options.NX and (options.XX or options.GT or options.LT) then
    return nil, {err = 'ERR NX and XX, GT or LT options at the same time are '
      .. 'not compatible'}
  elseif options.GT and options.LT then
    return nil, {err = 'ERR GT and LT options at the same time are not '
      .. 'compatible'}
  end
  return options
end

-- No time of expiry counts as one that never comes.
local function is_kept(former, till, options)
  return options.NX and former
    or options.XX and not former
    or options.GT and (not former or till <= former)
    or options.LT and former and till >= former
end

local function expire(server, argv, count, factor, base, name)
  local options, failure
  if count > 3 then
    options, failure = read_expire_options(argv, count)
    if failure then return failure end
  end
  local number = integer(argv[3])
  if not number then return NOT_INTEGER end
  local till = number * factor + base
  if math.abs(number * factor) >= 2 ^ 63 or till >= 2 ^ 63 then
    return {err = "ERR invalid expire time in '" .. name .. "' command"}
  end
  local entry = find(server, argv[2])
  if not entry then return 0 end
  if options and is_kept(entry.till, till, options) then return 0 end
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

function handlers.pexpire(server, argv, count)
  return expire(server, argv, count, 1, server.ms, 'pexpire')
end

function handlers.expire(server, argv, count)
  return expire(server, argv, count, 1000, server.ms, 'expire')
end

function handlers.pexpireat(server, argv, count)
  return expire(server, argv, count, 1, 0, 'pexpireat')
end

function handlers.expireat(server, argv, count)
  return expire(server, argv, count, 1000, 0, 'expireat')
end

-- --- all keys ---------------------------------------------------------------

local function is_flush_option(argv, count)
  local word = count == 2 and lower(argv[2])
  return count == 1 or word == 'async' or word == 'sync'
end

function handlers.flushall(server, argv, count)
  if not is_flush_option(argv, count) then return SYNTAX end
  server.databases = {}
  server:select(server.db_number)
  server.is_dirty = true
  return OK
end

function handlers.flushdb(server, argv, count)
  if not is_flush_option(argv, count) then return SYNTAX end
  server.databases[server.db_number] = nil
  server:select(server.db_number)
  server.is_dirty = true
  return OK
end

function handlers.keys(server, argv)
  local found = {}
  keyspace.each(server, 0, function(entry)
    if data.glob(argv[2], entry.key) then found[#found + 1] = entry.key end
  end)
  return found
end

-- {MATCH, COUNT, TYPE}, or nil and the error.
local function read_scan_options(argv, count)
  local options, i = {COUNT = 10}, 3
  while i <= count do
    local word = upper(argv[i])
    if i == count or word ~= 'MATCH' and word ~= 'COUNT' and word ~= 'TYPE' then
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
    if (not options.MATCH or data.glob(options.MATCH, entry.key))
      and (not options.TYPE or lower(options.TYPE) == entry.kind) then
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

function handlers.scard(server, argv)
  local entry, failure = typed(server, argv[2], 'set')
  return entry and #entry.items or failure or 0
end

function handlers.sismember(server, argv)
  local entry, failure = typed(server, argv[2], 'set')
  return failure or entry and entry.map[argv[3]] and 1 or 0
end

return handlers

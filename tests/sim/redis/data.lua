-- What a server stores: databases, keys with their time of expiry, and the
-- five types. Nothing here knows a command.
--
-- A database is {map: key -> entry, list: entries in the order in which they
-- were made, dead: how many of these are gone}. The list is there so that KEYS
-- and SCAN never depend on the order of pairs(), which differs between Lua and
-- LuaJIT. An entry is {key, kind, till (ms, or nil), seq} and the value:
--   string  value
--   hash    fields in order of insertion, as a listpack keeps them; map
--   list    items
--   set     items in order of insertion; map
--   zset    items in order of score and name; map: member -> score
local data = {}

function data.database()
  return {map = {}, list = {}, dead = 0, seq = 0}
end

local function compact(db)
  local list, n = {}, 0
  for _, entry in ipairs(db.list) do
    if not entry.gone then
      n = n + 1
      list[n] = entry
    end
  end
  db.list, db.dead = list, 0
end

function data.add(db, key, entry)
  db.seq = db.seq + 1
  entry.key, entry.seq = key, db.seq
  db.map[key] = entry
  db.list[#db.list + 1] = entry
  if db.watch then db.watch(key, true) end
  return entry
end

function data.remove(db, entry)
  db.map[entry.key] = nil
  entry.gone = true
  if db.watch then db.watch(entry.key, false) end
  db.dead = db.dead + 1
  if db.dead > 32 and db.dead > #db.list / 2 then compact(db) end
end

-- The elements from the first to the last; unpack() has a limit.
function data.slice(list, first, last)
  local part = {}
  for i = first, last do part[i - first + 1] = list[i] end
  return part
end

-- pairs() is harmless here: the order in which a map is filled shows nowhere.
function data.copy_entry(entry)
  local copy = {}
  for name, value in pairs(entry) do copy[name] = value end
  if entry.items then copy.items = data.slice(entry.items, 1, #entry.items) end
  if entry.map then
    copy.map = {}
    for name, value in pairs(entry.map) do copy.map[name] = value end
  end
  return copy
end

-- A copy of all databases, which no later command changes.
function data.copy(databases)
  local copies = {}
  for number = 0, 15 do
    local from = databases[number]
    local to = from and data.database()
    copies[number] = to
    for _, entry in ipairs(from and from.list or {}) do
      if not entry.gone then data.add(to, entry.key, data.copy_entry(entry)) end
    end
  end
  return copies
end

-- --- hash and set: a list of names beside a map -----------------------------

function data.new(kind)
  if kind == 'list' then return {kind = kind, items = {}} end
  return {kind = kind, items = {}, map = {}}
end

-- Returns whether the name is new.
function data.put(entry, name, value)
  local map = entry.map
  local is_new = map[name] == nil
  if is_new then entry.items[#entry.items + 1] = name end
  map[name] = value
  return is_new
end

-- Returns whether it was there.
function data.take(entry, name)
  local map, items = entry.map, entry.items
  if map[name] == nil then return false end
  map[name] = nil
  for i = 1, #items do
    if items[i] == name then
      table.remove(items, i)
      return true
    end
  end
end

-- --- sorted set -------------------------------------------------------------

-- The position of the first member that is not before (score, name); from 1.
local function place_of(entry, score, name)
  local items, map = entry.items, entry.map
  local low, high = 1, #items + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    local member = items[middle]
    local other = map[member]
    if other < score or other == score and member < name then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

function data.rank(entry, name)
  return place_of(entry, entry.map[name], name)
end

-- Returns whether the member is new, and whether anything has changed.
-- A negative zero is stored as zero.
function data.set_score(entry, name, score)
  score = score + 0
  local map, items = entry.map, entry.items
  local former = map[name]
  if former == score then return false, false end
  if former then table.remove(items, place_of(entry, former, name)) end
  table.insert(items, place_of(entry, score, name), name)
  map[name] = score
  return not former, true
end

function data.remove_member(entry, name)
  local score = entry.map[name]
  if not score then return false end
  table.remove(entry.items, place_of(entry, score, name))
  entry.map[name] = nil
  return true
end

-- The first and the last position of the scores in a range {min, max, without
-- min, without max}; the last is before the first if there are none. The
-- shortest name comes first among equal scores, and no name is longer than
-- any.
function data.between(entry, range)
  local items, map = entry.items, entry.map
  local function count_below(score, with_equal)
    local low, high = 1, #items + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      local other = map[items[middle]]
      if other < score or with_equal and other == score then
        low = middle + 1
      else
        high = middle
      end
    end
    return low - 1
  end
  return count_below(range.min, range.without_min) + 1,
    count_below(range.max, not range.without_max)
end

-- --- text -------------------------------------------------------------------

local huge = math.huge

-- A whole number as Redis takes it: no blanks, no plus, no leading zero. A
-- double holds 53 bits of the server's 64.
function data.integer(text)
  if text == '0' then return 0 end
  if #text > 20 or not string.find(text, '^%-?[1-9]%d*$') then return nil end
  local digits = string.match(text, '%d+')
  if #digits > 19 or #digits == 19 and digits > '9223372036854775807' then
    return nil
  end
  return tonumber(text)
end

local infinite = {inf = huge, ['+inf'] = huge, ['-inf'] = -huge,
  infinity = huge, ['+infinity'] = huge, ['-infinity'] = -huge}

function data.float(text)
  if string.find(text, '^[%d.eE+-]+$') then return tonumber(text) end
  return infinite[string.lower(text)]
end

-- An exponent that stands for few zeros is written as these: fpconv of Redis.
local function with_zeros(text)
  local sign, first, rest, exponent =
    string.match(text, '^(-?)(%d)%.?(%d*)e%+(%d+)$')
  local zeros = exponent and exponent - #rest
  if not zeros or zeros < 0 or exponent + 0 >= #rest + 8 then return text end
  return sign .. first .. rest .. string.rep('0', zeros)
end

-- The shortest text that reads as the same number.
local function shortest(number)
  for digits = 15, 17 do
    local text = string.format('%.' .. digits .. 'g', number)
    if tonumber(text) == number then return with_zeros(text) end
  end
end

-- A number in a reply or in an argument of a script: Redis before 7.2 prints
-- all 17 digits, and later ones each integer of a long long as it is.
function data.number_text(number, is_shortest)
  local most = is_shortest and 2 ^ 62 or 1e15
  if number % 1 == 0 and number < most and number > -most then
    return string.format('%.0f', number)
  elseif number == huge then
    return 'inf'
  elseif number == -huge then
    return '-inf'
  end
  return is_shortest and shortest(number) or string.format('%.17g', number)
end

-- Whether the text fits the glob of KEYS and SCAN: stringmatchlen of Redis.
local function class_fits(pattern, p, c)
  local negated, fits = false, false
  if string.sub(pattern, p, p) == '^' then
    negated, p = true, p + 1
  end
  while p <= #pattern and string.sub(pattern, p, p) ~= ']' do
    local low = string.sub(pattern, p, p)
    if low == '\\' and p < #pattern then
      p = p + 1
      fits = fits or string.sub(pattern, p, p) == c
    elseif string.sub(pattern, p + 1, p + 1) == '-' and p + 2 <= #pattern then
      local high = string.sub(pattern, p + 2, p + 2)
      if low > high then low, high = high, low end
      fits = fits or c >= low and c <= high
      p = p + 2
    else
      fits = fits or low == c
    end
    p = p + 1
  end
  return fits ~= negated, p
end

function data.glob(pattern, text, p, t)
  p, t = p or 1, t or 1
  while p <= #pattern do
    local sign = string.sub(pattern, p, p)
    if sign == '*' then
      for from = t, #text + 1 do
        if data.glob(pattern, text, p + 1, from) then return true end
      end
      return false
    end
    if t > #text then return false end
    local c = string.sub(text, t, t)
    local fits
    if sign == '?' then
      fits = true
    elseif sign == '[' then
      fits, p = class_fits(pattern, p + 1, c)
    else
      if sign == '\\' and p < #pattern then
        p = p + 1
        sign = string.sub(pattern, p, p)
      end
      fits = sign == c
    end
    if not fits then return false end
    p, t = p + 1, t + 1
  end
  return t > #text
end

return data

-- Lets the differential test play the double: reads words, runs them, and says
-- which client got which bytes.
--
-- A request is a number of words; each, and each reply, has its length on a
-- line before it. The first word:
--   begin VERSION   two new servers, called server and replica
--   clock US        both clocks, and what is due by them
--   between US      that time, or the next ms in which no key's life ends
--   ask CLIENT WORD...   CLIENT is a number; those from 100 ask the replica
--   do CHUNK        Lua that sees server, replica and double
--   commands        the table of commands, as words
-- The reply is the number of pairs, then client and bytes of each. A "?" before
-- it asks for the digest of a text.
local double = dofile(arg[1] .. '/redis.lua')
local us, servers, clients = 0, {}, {}

local function read_word()
  local length = io.read('*l')
  if not length then os.exit(0) end
  return tonumber(length) > 0 and io.read(tonumber(length)) or ''
end

local digests = {}

local function sha1hex(text)
  if not digests[text] then
    io.write('?\n', #text, '\n', text)
    io.flush()
    digests[text] = io.read('*l')
  end
  return digests[text]
end

local function make(id, version)
  return double.server{id = id, host = '127.0.0.1', port = 7000 + id,
    version = version, now_us = function() return us end, sha1hex = sha1hex}
end

local replies = {}

-- A server hangs up behind all that it has sent.
local function collect(from)
  local closed = {}
  for i = 1, #from.out, 2 do
    local client = from.out[i]
    replies[#replies + 1] = client.id
    replies[#replies + 1] = from.out[i + 1]
    if client.closed and clients[client.id] == client then
      closed[#closed + 1] = client
      clients[client.id] = nil
    end
  end
  for _, client in ipairs(closed) do
    replies[#replies + 1], replies[#replies + 2] = client.id, 'closed'
    from:disconnect(client)
  end
  from.out = {}
end

local function ask(words)
  local id = tonumber(table.remove(words, 1))
  local from = servers[math.floor(id / 100) + 1]
  if not clients[id] then clients[id] = from:connect(id) end
  from:request(clients[id], words)
end

local orders = {
  begin = function(words)
    servers, clients = {make(1, words[1]), make(2, words[1])}, {}
  end,
  clock = function(words)
    us = tonumber(words[1])
    for _, server in ipairs(servers) do server:tick() end
  end,
  between = function(words)
    local time, ends = tonumber(words[1]), {}
    for _, server in ipairs(servers) do
      for _, entry in ipairs(server.db.list) do
        if not entry.gone and entry.till then ends[entry.till] = true end
      end
    end
    while ends[math.floor(time / 1000)] do
      time = (math.floor(time / 1000) + 1) * 1000
    end
    replies[#replies + 1] = 0
    replies[#replies + 1] = string.format('%.0f', time)
  end,
  ask = ask,
  ['do'] = function(words)
    assert(loadstring('local server, replica, double = ...\n' .. words[1]))(
      servers[1], servers[2], double)
  end,
  commands = function()
    for _, row in ipairs(double.commands.rows) do
      local flags = {}
      for _, flag in ipairs({'write', 'denyoom', 'noscript', 'loading', 'stale',
        'no_auth', 'allow_busy'}) do
        if row[flag] then flags[#flags + 1] = flag end
      end
      replies[#replies + 1] = 0
      replies[#replies + 1] = table.concat({row.name, row.arity, row.first,
        row.last, row.step, table.concat(flags, ',')}, ' ')
    end
  end,
}

while true do
  local count = tonumber(io.read('*l') or os.exit(0))
  local words = {}
  for i = 1, count do words[i] = read_word() end
  local order = table.remove(words, 1)
  orders[order](words)
  for _, server in ipairs(servers) do collect(server) end
  io.write(#replies / 2, '\n')
  for i = 1, #replies, 2 do
    io.write(replies[i], '\n', #replies[i + 1], '\n', replies[i + 1])
  end
  io.flush()
  replies = {}
end

-- A double of a Redis server, for the simulation: the commands that rlockrun,
-- its scripts and the other clients in the tests use, on a clock that the
-- caller keeps. It executes the scripts themselves. tests/sim/differential
-- compares it with a real server.
--
--   double = dofile('redis.lua')      -- FOLDER: where it is, unless known
--   server = double.server{id=, host=, port=, version='7.0.15', run_id=,
--     now_us=function() ... end, sha1hex=function(text) ... end,
--     dice=function(n) ... end}         -- from 1 to n; without: no chance
--   client = server:connect(id)
--   server:request(client, argv)      -- argv may be kept, and is not changed
--   server:tick(), server:next_us()   -- what is due; when, nil if nothing is
--   server:disconnect(client)
--
-- server.out gets the replies: client, bytes, client, bytes... After those of
-- a client with client.closed the server hangs up. The caller empties it.
--
-- watch(key, exists) is called when a key comes into being or vanishes.
-- server.full, misconf, loading, busy, cut_off (its primary does not reach
-- it), no_replicas (fewer than min-replicas-to-write) are set by the caller.

-- LuaJIT compiles what is hot by the addresses of its code, so it is not the
-- same each time, and some of it is wrong: once in 3,000 histories a member of
-- a sorted set had no score. Its interpreter is quicker here, too.
if jit then jit.off() end

local folder = FOLDER or string.match(debug.getinfo(1, 'S').source, '^@(.*)/')
  or '.'

local function part(name, ...)
  return assert(loadfile(folder .. '/redis/' .. name .. '.lua'))(...)
end

local function merge(target, source)
  for name, value in pairs(source) do
    assert(target[name] == nil, name)
    target[name] = value
  end
end

local data = part('data')
local keyspace = part('keyspace', data)
local handlers, Server = {}, {}
Server.__index = Server
merge(handlers, part('keys', data, keyspace))
merge(handlers, part('containers', data, keyspace))
local commands = {}
merge(handlers, part('scripts', data, keyspace))
merge(handlers, part('admin', data, keyspace, Server))
merge(handlers, part('topology', data, commands, Server))
merge(handlers, part('cluster', data, keyspace, commands, Server))
merge(handlers, part('sentinel', keyspace))
merge(commands, part('table', handlers))
part('access', data, commands, Server)
part('blocking', handlers, keyspace, Server)

local concat, format, lower = table.concat, string.format, string.lower

Server.MISCONF = "Redis is configured to save RDB snapshots, but it's "
  .. 'currently unable to persist to disk. Commands that may modify the data '
  .. 'set are disabled, because this instance is configured to report errors '
  .. 'during writes if RDB snapshotting fails (stop-writes-on-bgsave-error '
  .. 'option). Please check the Redis logs for details about the RDB error.'
Server.NOREPLICAS = 'Not enough good replicas to write.'

-- --- a server and its clients -----------------------------------------------

local function new_server(options)
  local server = setmetatable({}, Server)
  merge(server, options)
  server.version = server.version or '7.0.15'
  local major, minor = string.match(server.version, '^(%d+)%.(%d+)')
  server.major = tonumber(major)
  server.is_new = server.major > 7 or major == '7' and tonumber(minor) >= 2
  server.is_old_timeout = server.major < 6
  server.host, server.port = server.host or '', server.port or 6379
  server.databases, server.db_number = {}, 0
  server.scripts, server.settings = {}, {}
  server.out, server.clients, server.blocked = {}, {}, {}
  server.replicas, server.offset, server.effects = {}, 0, {}
  server.run_id = server.run_id or format('%040x', server.port)
  server.waiting, server.ready, server.unblocked = {}, {}, {}
  server.calls = 0 -- commands in scripts, so far
  server.started_us = server.now_us()
  server:select(0)
  server:read_clock()
  return server
end

function Server:read_clock()
  self.us = self.now_us()
  self.ms = math.floor(self.us / 1000)
end

function Server:select(number)
  self.db_number = number
  local db = self.databases[number]
  if not db then
    db = data.database()
    db.watch = self.watch
    self.databases[number] = db
  end
  self.db = db
end

-- What connects to a server that requires a password is not logged in.
function Server:connect(id)
  local client = {id = id, db = 0, queue = {}, offset = 0, name = '',
    user = 'default', is_admitted = not self.password}
  self.clients[#self.clients + 1] = client
  return client
end

local function drop(list, element)
  for i = 1, #list do
    if list[i] == element then return table.remove(list, i) end
  end
end

function Server:disconnect(client)
  drop(self.clients, client)
  client.closed = true
  if client.blocked then self:unblock(client) end
end

-- --- replies ----------------------------------------------------------------

local function encode(value, out, n)
  local kind = type(value)
  n = n + 1
  if kind == 'string' then
    out[n] = '$' .. #value .. '\r\n' .. value .. '\r\n'
  elseif kind == 'number' then
    out[n] = format(':%.0f\r\n', value)
  elseif value == false then
    out[n] = '$-1\r\n'
  elseif value.err then
    out[n] = '-' .. string.gsub(value.err, '[\r\n]', ' ') .. '\r\n'
  elseif value.ok then
    out[n] = '+' .. string.gsub(value.ok, '[\r\n]', ' ') .. '\r\n'
  elseif value.is_nil then
    out[n] = '*-1\r\n'
  else
    out[n] = '*' .. #value .. '\r\n'
    for i = 1, #value do n = encode(value[i], out, n) end
  end
  return n
end

local pieces = {}

function Server:reply(client, value)
  local n = encode(value, pieces, 0)
  local bytes = n == 1 and pieces[1] or concat(pieces, '', 1, n)
  local out = self.out
  local last = #out
  out[last + 1], out[last + 2] = client, bytes
end

function Server:number_text(number)
  return data.number_text(number, self.is_new)
end

-- --- one command ------------------------------------------------------------

local function unknown(argv, count)
  local rest = {}
  local size = 0
  for i = 2, count do
    if size >= 128 then break end
    rest[#rest + 1] = "'" .. string.sub(argv[i], 1, 128 - size) .. "' "
    size = size + #rest[#rest]
  end
  return {err = "ERR unknown command '" .. string.sub(argv[1], 1, 128)
    .. "', with args beginning with: " .. concat(rest)}
end

local function judge_words(self, command, argv, count)
  if not command or self.is_sentinel and not command.for_sentinel
    and not command.only_sentinel
    or command.only_sentinel and not self.is_sentinel then
    return unknown(argv, count)
  elseif command.has_subcommands and count > 1 then
    return {err = "ERR unknown subcommand '" .. string.sub(argv[2], 1, 128)
      .. "'. Try " .. string.upper(command.name) .. ' HELP.'}
  elseif command.arity > 0 and count ~= command.arity
    or count < -command.arity then
    return keyspace.wrong_arity(command.name)
  end
end

-- Since Redis 7 a script needs a flag of its own for stale data.
local function may_be_stale(self, command, argv)
  if command.is_script and self.major >= 7 then
    return command.name == 'evalsha' and not self.scripts[lower(argv[2])]
  end
  return command.stale
end

-- Since Redis 7 a script that begins with #! has flags of its own; without a
-- list of them it may write.
local FLAGGED = {write = true, denyoom = true}

local function is_flagged(self, command, argv)
  return self.major >= 7 and command.name == 'eval'
    and string.find(argv[2], '^#!lua\n') ~= nil
end

-- Why the server refuses a command in its present state, in Redis' order.
local function judge_state(self, command, argv)
  if is_flagged(self, command, argv) then command = FLAGGED end
  if self.full and command.denyoom then
    return {err = "OOM command not allowed when used memory > 'maxmemory'."}
  elseif self.misconf and (command.write or command.name == 'ping') then
    return {err = 'MISCONF ' .. self.MISCONF}
  elseif command.write and self:lacks_replicas() then
    return {err = 'NOREPLICAS ' .. self.NOREPLICAS}
  elseif command.write and self.primary then
    return {err = "READONLY You can't write against a read only replica."}
  elseif self.primary and self.cut_off
    and not may_be_stale(self, command, argv) then
    return {err = 'MASTERDOWN Link with MASTER is down and '
      .. "replica-serve-stale-data is set to 'no'."}
  elseif self.loading and not command.loading then
    return {err = 'LOADING Redis is loading the dataset in memory'}
  elseif self.busy and not command.allow_busy then
    return {err = 'BUSY Redis is busy running a script. You can only call '
      .. 'SCRIPT KILL or SHUTDOWN NOSAVE.'}
  end
end

local function judge(self, command, argv, count, client)
  local failure = judge_words(self, command, argv, count)
  if failure then return failure end
  if not client.is_admitted and not command.no_auth then
    return {err = 'NOAUTH Authentication required.'}
  end
  failure = self:refuse_access(client, command, argv, count)
  if failure then return failure end
  if self.cluster then
    failure = self:route(command, argv, count, client)
    if failure then return failure end
  end
  return judge_state(self, command, argv)
end

function Server:run(client, argv)
  local count = #argv
  local command = self:find(argv, count)
  -- ASKING holds for one command.
  client.asked, client.asks = client.asks, nil
  local reply = judge(self, command, argv, count, client)
  if not reply then
    if self.db_number ~= client.db then self:select(client.db) end
    reply = command.run(self, argv, count, client)
    if self.is_dirty then self:propagate_command(argv) end
  end
  self:close_group(client)
  if reply ~= nil then self:reply(client, reply) end
end

-- A command may be the words of a client that is blocked: they wait.
function Server:request(client, argv)
  if client.blocked then
    client.queue[#client.queue + 1] = argv
    return
  end
  self:read_clock()
  self:run(client, argv)
  self:settle()
end

-- --- replication ------------------------------------------------------------

-- A group is what one command, or one script, has changed: the replicas get
-- all of it or nothing. It is a list: database, words, database, words...
function Server:propagate(argv)
  local effects = self.effects
  local last = #effects
  effects[last + 1], effects[last + 2] = self.db_number, argv
end

function Server:propagate_command(argv)
  self:propagate(self.rewritten or argv)
  self.is_dirty, self.rewritten = false, nil
end

--
-- The client's WAIT is for what was changed when it sent its last command;
-- since Redis 7.2 only for what it has changed itself.
function Server:close_group(client)
  local group = self.effects
  if client and not (self.is_new and not group[1]) then
    client.offset = self.offset + (group[1] and 1 or 0)
  end
  if not group[1] then return end
  self.effects = {}
  self.offset = self.offset + 1
  for _, link in ipairs(self.replicas) do
    link.pending[#link.pending + 1] = group
  end
end

local double = {commands = commands, data = data}

double.server = new_server

-- {id, host, port, master = name, now_us...}; the rest is in sentinel.lua.
function double.sentinel(options)
  local sentinel = new_server(options)
  sentinel.is_sentinel = true
  return sentinel
end

return double

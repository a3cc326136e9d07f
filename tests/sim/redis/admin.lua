-- The commands on connections, settings and the server itself. Handlers are as
-- in keys.lua.
local data, keyspace, Server = ...
local OK, SYNTAX = keyspace.OK, keyspace.SYNTAX
local NOT_INTEGER, integer = keyspace.NOT_INTEGER, data.integer
local lower, upper, format = string.lower, string.upper, string.format
local handlers = {}

-- --- connections ------------------------------------------------------------

function handlers.ping(_, argv, count)
  if count > 2 then return keyspace.wrong_arity('ping') end
  return argv[2] or {ok = 'PONG'}
end

function handlers.echo(_, argv) return argv[2] end

function handlers.quit(_, _, _, client)
  client.closed = true
  return OK
end

function handlers.time(server)
  local us = server.us
  return {format('%d', math.floor(us / 1000000)), format('%d', us % 1000000)}
end

function handlers.select(server, argv, _, client)
  local number = integer(argv[2])
  if not number or math.abs(number) >= 2 ^ 31 then return NOT_INTEGER end
  if server.cluster and number ~= 0 then
    return {err = 'ERR SELECT is not allowed in cluster mode'}
  elseif number < 0 or number > 15 then
    return {err = 'ERR DB index is out of range'}
  end
  if client then client.db = number else server:select(number) end
  return OK
end

local WRONGPASS = {err = 'WRONGPASS invalid username-password pair or user is '
  .. 'disabled.'}

local function log_in(server, client, user, password)
  if not server:check_password(user, password) then return WRONGPASS end
  client.user, client.is_admitted = user, true
  return nil
end

function handlers.auth(server, argv, count, client)
  if count > 3 then return SYNTAX end
  if count == 2 and not server.password then
    return {err = 'ERR AUTH <password> called without any password configured '
      .. 'for the default user. Are you sure your configuration is correct?'}
  end
  local user = count == 3 and argv[2] or 'default'
  return log_in(server, client, user, argv[count]) or OK
end

local BAD_NAME = {err = 'ERR Client names cannot contain spaces, newlines or '
  .. 'special characters.'}

local function set_name(client, name)
  if string.find(name, '[^!-~]') then return BAD_NAME end
  client.name = name
  return nil
end

handlers['client|setname'] = function(_, argv, _, client)
  return set_name(client, argv[3]) or OK
end

handlers['client|getname'] = function(_, _, _, client)
  return client.name ~= '' and client.name or false
end

handlers['client|id'] = function(_, _, _, client) return client.id end

local function address(client)
  return client.address or format('127.0.0.1:%d', client.id)
end

handlers['client|list'] = function(server, _, count)
  if count > 2 then return SYNTAX end
  local lines = {}
  for i, one in ipairs(server.clients) do
    lines[i] = format('id=%d addr=%s name=%s db=%d flags=%s user=%s\n', one.id,
      address(one), one.name, one.db, one.blocked and 'b' or 'N', one.user)
  end
  return table.concat(lines)
end

-- {ID, ADDR, USER, TYPE: text; skips_me}, or nil and the error.
local function read_kill_filters(server, argv, count)
  local filters = {skips_me = true}
  for i = 3, count, 2 do
    local name, value = upper(argv[i]), argv[i + 1]
    if not value then return nil, SYNTAX end
    if name == 'SKIPME' and (lower(value) == 'yes' or lower(value) == 'no') then
      filters.skips_me = lower(value) == 'yes'
    elseif name == 'ID' then
      local id = integer(value)
      if not id or id < 1 then
        return nil, {err = 'ERR client-id should be greater than 0'}
      end
      filters.ID = id
    elseif name == 'TYPE' and lower(value) ~= 'normal' then
      return nil, {err = "ERR Unknown client type '" .. value .. "'"}
    elseif name == 'USER' and not server:has_user(value) then
      return nil, {err = "ERR No such user '" .. value .. "'"}
    elseif name == 'ADDR' or name == 'USER' or name == 'TYPE' then
      filters[name] = value
    else
      return nil, SYNTAX
    end
  end
  return filters
end

-- The server hangs up on a client that is not the caller, without a word: also
-- without those that it has not sent yet.
function Server:kill(client)
  for i = 1, #self.out, 2 do
    if self.out[i] == client then self.out[i + 1] = '' end
  end
  if client.blocked then
    client.queue = {}
    self:unblock(client)
  end
  client.closed = true
  self.out[#self.out + 1] = client
  self.out[#self.out + 1] = ''
end

local function kill_matching(server, filters, caller)
  local killed = 0
  for _, one in ipairs(server.clients) do
    if not one.closed and (not filters.ID or filters.ID == one.id)
      and (not filters.ADDR or filters.ADDR == address(one))
      and (not filters.USER or filters.USER == one.user)
      and not (filters.skips_me and one == caller) then
      killed = killed + 1
      if one == caller then one.closed = true else server:kill(one) end
    end
  end
  return killed
end

handlers['client|kill'] = function(server, argv, count, client)
  if count == 3 then
    local filters = {ADDR = argv[3]}
    return kill_matching(server, filters, client) > 0 and OK
      or {err = 'ERR No such client'}
  end
  local filters, failure = read_kill_filters(server, argv, count)
  if failure then return failure end
  return kill_matching(server, filters, client)
end

-- --- HELLO ------------------------------------------------------------------

local function greet(server, client)
  return {'server', 'redis', 'version', server.version, 'proto', 2, 'id',
    client.id, 'mode', server.cluster and 'cluster' or 'standalone', 'role',
    server.primary and 'replica' or 'master', 'modules', {}}
end

-- Options act one after the other, even if a later one is wrong. Returns the
-- error of the first that is.
local function obey_hello_options(server, argv, count, client)
  local i, failure = 3, nil
  while i <= count and not failure do
    local word = upper(argv[i])
    if word == 'AUTH' and i + 2 <= count then
      failure = log_in(server, client, argv[i + 1], argv[i + 2])
      i = i + 3
    elseif word == 'SETNAME' and i < count then
      failure = set_name(client, argv[i + 1])
      i = i + 2
    else
      failure = {err = "ERR Syntax error in HELLO option '" .. argv[i] .. "'"}
    end
  end
  return failure
end

-- RESP3 is for nobody here: it is refused as a version to come would be.
function handlers.hello(server, argv, count, client)
  local version = count > 1 and integer(argv[2])
  if count > 1 and not version then
    return {err = 'ERR Protocol version is not an integer or out of range'}
  elseif version and version ~= 2 then
    return {err = 'NOPROTO unsupported protocol version'}
  end
  local failure = obey_hello_options(server, argv, count, client)
  if failure then return failure end
  if not client.is_admitted then
    return {err = 'NOAUTH HELLO must be called with the client already '
      .. 'authenticated, otherwise the HELLO ' .. (server.is_new and '<proto> '
      or '') .. 'AUTH <user> <pass> option can be used to authenticate the '
      .. 'client and select the RESP protocol version at the same time'}
  end
  return greet(server, client)
end

-- --- access rules -----------------------------------------------------------

handlers['acl|whoami'] = function(_, _, _, client) return client.user end

handlers['acl|dryrun'] = function(server, argv, count)
  local user = argv[3]
  if not server:has_user(user) then
    return {err = "ERR User '" .. user .. "' not found"}
  end
  local words = {unpack(argv, 4, count)}
  local command = server:find(words, #words)
  if not command or command.has_subcommands and #words > 1
    or command.only_sentinel then
    return {err = "ERR Command '" .. words[1] .. "' not found"}
  elseif command.arity > 0 and #words ~= command.arity
    or #words < -command.arity then
    return keyspace.wrong_arity(command.name)
  end
  local denial = server.rules
    and server:judge_access(user, command, words, #words)
  if not denial then return OK end
  local who = server.is_new and 'User ' .. user or 'This user'
  return denial.key and who .. " has no permissions to access the '"
    .. denial.key .. "' key" or (string.gsub(denial.text, '^this', 'This'))
end

-- --- settings ---------------------------------------------------------------

local defaults = {appendfsync = 'everysec', appendonly = 'no',
  maxclients = '10000', maxmemory = '0', ['maxmemory-policy'] = 'noeviction',
  ['min-replicas-to-write'] = '0', save = '3600 1 300 100 60 10000'}
local setting_names = {'appendfsync', 'appendonly', 'maxclients', 'maxmemory',
  'maxmemory-policy', 'min-replicas-to-write', 'save'}

function Server:setting(name)
  return self.settings[name] or defaults[name]
end

handlers['config|get'] = function(server, argv, count)
  local found = {}
  for _, name in ipairs(setting_names) do
    for i = 3, count do
      if data.glob(lower(argv[i]), name) then
        found[#found + 1] = lower(argv[i]) == name and argv[i] or name
        found[#found + 1] = server:setting(name)
        break
      end
    end
  end
  return found
end

-- A server without data uses about a megabyte.
handlers['config|set'] = function(server, argv, count)
  if count % 2 == 1 then return SYNTAX end
  for i = 3, count, 2 do
    local name = lower(argv[i])
    if not defaults[name] then
      return {err = 'ERR Unknown option or number of arguments for CONFIG SET '
        .. "- '" .. argv[i] .. "'"}
    end
  end
  for i = 3, count, 2 do
    local name, value = lower(argv[i]), argv[i + 1]
    server.settings[name] = value
    if name == 'maxmemory' then
      server.full = tonumber(value) > 0 and tonumber(value) < 500000
    elseif name == 'min-replicas-to-write' then
      server.min_replicas = tonumber(value)
    end
  end
  return OK
end

-- --- INFO -------------------------------------------------------------------

local sections = {}
local section_names = {'server', 'clients', 'memory', 'persistence',
  'replication', 'cluster', 'keyspace'}

function sections.server(server)
  return {'redis_version:' .. server.version,
    'redis_mode:' .. (server.is_sentinel and 'sentinel'
      or server.cluster and 'cluster' or 'standalone'),
    'run_id:' .. server.run_id, 'tcp_port:' .. server.port,
    'server_time_usec:' .. format('%.0f', server.us),
    'uptime_in_seconds:' .. math.floor(server.us / 1000000)
      - math.floor(server.started_us / 1000000)}
end

function sections.clients(server)
  return {'connected_clients:' .. #server.clients,
    'cluster_connections:0', 'maxclients:' .. server:setting('maxclients'),
    'blocked_clients:' .. #server.waiting}
end

function sections.memory(server)
  return {'used_memory:1000000', 'maxmemory:' .. server:setting('maxmemory'),
    'maxmemory_policy:' .. server:setting('maxmemory-policy')}
end

function sections.persistence(server)
  return {'loading:' .. (server.loading and 1 or 0),
    'rdb_last_bgsave_status:' .. (server.misconf and 'err' or 'ok'),
    'aof_enabled:' .. (server:setting('appendonly') == 'yes' and 1 or 0),
    'aof_last_write_status:ok'}
end

function sections.replication(server)
  local primary = server.primary
  local lines = {'role:' .. (primary and 'slave' or 'master')}
  if primary then
    lines[2], lines[3] = 'master_host:' .. primary.host,
      'master_port:' .. primary.port
    lines[4] = 'master_link_status:' .. (server.cut_off and 'down' or 'up')
  end
  lines[#lines + 1] = 'connected_slaves:' .. #server.replicas
  for i, link in ipairs(server.hides_replicas and {} or server.replicas) do
    lines[#lines + 1] = format('slave%d:ip=%s,port=%d,state=online,offset=%d,'
      .. 'lag=0', i - 1, link.replica.host, link.replica.port, link.acked)
  end
  if (server.min_replicas or 0) > 0 then
    lines[#lines + 1] = 'min_slaves_good_slaves:' .. #server.replicas
  end
  return lines
end

function sections.cluster(server)
  return {'cluster_enabled:' .. (server.cluster and 1 or 0)}
end

function sections.keyspace(server)
  local lines = {}
  local former = server.db_number
  for number = 0, 15 do
    local keys, expires = 0, 0
    if server.databases[number] then
      server:select(number)
      keyspace.each(server, 0, function(entry)
        keys = keys + 1
        if entry.till then expires = expires + 1 end
      end)
    end
    if keys > 0 then
      lines[#lines + 1] = format('db%d:keys=%d,expires=%d', number, keys,
        expires)
    end
  end
  server:select(former)
  return lines
end

function handlers.info(server, argv, count)
  local wanted, texts = {}, {}
  for i = 2, count do wanted[lower(argv[i])] = true end
  local wants_all = count == 1 or wanted.default or wanted.all
    or wanted.everything
  for _, name in ipairs(section_names) do
    if wants_all or wanted[name] then
      texts[#texts + 1] = '# ' .. upper(string.sub(name, 1, 1))
        .. string.sub(name, 2) .. '\r\n'
        .. table.concat(sections[name](server), '\r\n') .. '\r\n'
    end
  end
  return table.concat(texts, '\r\n')
end

return handlers

-- The commands on connections, settings and the server itself. Handlers are as
-- in keys.lua.
local data, keyspace, Server = ...
local OK, SYNTAX = keyspace.OK, keyspace.SYNTAX
local NOT_INTEGER, integer = keyspace.NOT_INTEGER, data.integer
local lower, upper, format = string.lower, string.upper, string.format
local handlers = {}

-- --- connections ------------------------------------------------------------

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

function handlers.auth(server, argv, count, client)
  if count > 3 then return SYNTAX end
  if count == 2 and not server.password then
    return {err = 'ERR AUTH <password> called without any password configured '
      .. 'for the default user. Are you sure your configuration is correct?'}
  end
  local user = count == 3 and argv[2] or 'default'
  if not server:check_password(user, argv[count]) then return WRONGPASS end
  client.user, client.is_admitted = user, true
  return OK
end

local BAD_NAME = {err = 'ERR Client names cannot contain spaces, newlines or '
  .. 'special characters.'}

handlers['client|setname'] = function(_, argv, _, client)
  if string.find(argv[3], '[^!-~]') then return BAD_NAME end
  client.name = argv[3]
  return OK
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

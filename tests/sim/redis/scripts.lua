-- EVAL, EVALSHA and SCRIPT: Redis' own environment for scripts, on the Lua
-- that runs the double. A text is compiled once, for all servers.
--
-- The line in "script: SHA, on @user_script:N." is found by a walk through the
-- stack. A call in the tail position has left the stack, because redis.call is
-- C in Redis and Lua here: then it is the first line that returns redis.call,
-- or `call`, of this command.
local data, keyspace = ...
local lower, format = string.lower, string.format
local handlers = {}

-- The server whose script runs, with its text, whether it has run a write, and
-- the command that it runs.
local running, text_running, has_written, command_running

-- --- redis.call -------------------------------------------------------------

local function line_of_script()
  for level = 3, 30 do
    local info = debug.getinfo(level, 'Sl')
    if not info then break end
    if info.source == '@user_script' then return info.currentline end
  end
  local line, found = 1, nil
  for text in string.gmatch(text_running, '[^\n]*\n?') do
    local rest = string.match(text, 'return%s*redis%.p?call(.*)')
      or string.match(text, 'return%s*call(.*)')
    if rest and string.find(rest, command_running, 1, true) then
      return line
    end
    found = found or rest and line
    line = line + 1
  end
  return found or 1
end

-- An error of the script engine itself: Redis before 7 puts the place before
-- it.
local function refuse(code, text, old_text)
  if running.major >= 7 then return {err = code .. ' ' .. text} end
  local old = old_text or (code == 'ERR' and text or '-' .. code .. ' ' .. text)
  return {err = '@user_script: ' .. line_of_script() .. ': ' .. old}
end

local READONLY = "You can't write against a read only replica."
local OOM = "command not allowed when used memory > 'maxmemory'."

-- Why this command may not run in a script now, or nil.
local function judge_state(server, command)
  if not command.write then return nil end
  if server.primary and not server.is_applying then
    return refuse('READONLY', READONLY)
  elseif server.misconf then
    return refuse('MISCONF', server.MISCONF)
  elseif server:lacks_replicas() then
    return refuse('NOREPLICAS', server.NOREPLICAS)
  elseif server.was_full and command.denyoom and not has_written then
    return refuse('OOM', OOM)
  end
end

local function judge_call(server, command, argv, count)
  if not command or command.only_sentinel then
    return refuse('ERR', 'Unknown Redis command called from script',
      'Unknown Redis command called from Lua script')
  elseif command.arity > 0 and count ~= command.arity
    or count < -command.arity then
    return refuse('ERR', 'Wrong number of args calling Redis command from '
      .. 'script', 'Wrong number of args calling Redis command From Lua script')
  elseif command.noscript then
    return refuse('ERR', 'This Redis command is not allowed from script',
      'This Redis command is not allowed from scripts')
  end
  local denial = server.rules
    and server:judge_access(server.caller.user, command, argv, count)
  if denial then
    return refuse(server.is_new and 'NOPERM' or 'ERR', denial.script_text)
  end
  local failure = judge_state(server, command)
  if failure then return failure end
  if server.cluster and server:route(command, argv, count,
    server.caller) then
    return refuse('ERR', 'Script attempted to access a non local key in a '
      .. 'cluster node')
  end
end

local UNKNOWN_REPLY = keyspace.NIL_ARRAY

local function execute(argv, count)
  local server = running
  if count == 0 then
    return refuse('ERR', 'Please specify at least one argument for this '
      .. 'redis lib call')
  end
  command_running = type(argv[1]) == 'string' and argv[1] or ''
  for i = 1, count do
    local kind = type(argv[i])
    if kind == 'number' then
      argv[i] = server:number_text(argv[i])
    elseif kind ~= 'string' then
      return refuse('ERR', 'Lua redis lib command arguments must be strings or '
        .. 'integers')
    end
  end
  local command = server:find(argv, count)
  local failure = judge_call(server, command, argv, count)
  if failure then return failure end
  if command.write then has_written = true end
  server.calls = server.calls + 1
  local reply = command.run(server, argv, count)
  if server.is_dirty then server:propagate_command(argv) end
  if reply == UNKNOWN_REPLY then return false end
  return reply
end

local function redis_pcall(...)
  local reply = execute({...}, select('#', ...))
  -- The replies that all share are not for a script to change.
  if type(reply) == 'table' and reply.err then return {err = reply.err} end
  return reply
end

local function redis_call(...)
  local reply = execute({...}, select('#', ...))
  if type(reply) == 'table' and reply.err then
    if running.major < 7 then error(reply.err, 0) end
    error({err = reply.err})
  end
  return reply
end

local function error_reply(text)
  if running.major < 7 then return {err = text} end
  text = string.gsub(string.gsub(text, '^%-', ''), '[\r\n]+$', '')
  return {err = string.find(text, ' ') and text or 'ERR ' .. text}
end

-- --- the environment --------------------------------------------------------

local function copy_of(library, without)
  local copy = {}
  for name, value in pairs(library) do copy[name] = value end
  for _, name in ipairs(without) do copy[name] = nil end
  return copy
end

-- Chance and the outside are left out: a script that needs them fails.
local environment = {
  string = copy_of(string, {'dump'}),
  table = copy_of(table, {}),
  math = copy_of(math, {'random', 'randomseed'}),
  tonumber = tonumber, tostring = tostring, type = type, unpack = unpack,
  next = next, pairs = pairs, ipairs = ipairs, pcall = pcall, xpcall = xpcall,
  select = select, error = error, assert = assert, rawget = rawget,
  rawset = rawset, rawequal = rawequal, setmetatable = setmetatable,
  getmetatable = getmetatable, _VERSION = _VERSION,
}
environment._G = environment
environment.redis = {
  call = redis_call, pcall = redis_pcall, error_reply = error_reply,
  status_reply = function(text) return {ok = text} end,
  sha1hex = function(text) return running.sha1hex(text) end,
  log = function() end, replicate_commands = function() return true end,
  set_repl = function() end, setresp = function() end,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  REPL_ALL = 3, REPL_AOF = 1, REPL_REPLICA = 2, REPL_SLAVE = 2, REPL_NONE = 0,
}
setmetatable(environment, {
  __index = function(_, name)
    if name == 'KEYS' or name == 'ARGV' then return nil end
    error("Script attempted to access nonexistent global variable '"
      .. tostring(name) .. "'", 2)
  end,
  __newindex = function()
    error('Attempt to modify a readonly table', 2)
  end,
})

-- --- running ----------------------------------------------------------------

-- text -> {text, sha, chunk or failure}
local compiled = {}

local function compile(server, text)
  local script = compiled[text]
  if script then return script end
  local chunk, failure = loadstring(text, '@user_script')
  if chunk then setfenv(chunk, environment) end
  script = {text = text, sha = server.sha1hex(text), chunk = chunk,
    failure = failure}
  compiled[text] = script
  return script
end

local function on_error(failure)
  if running.major < 7 then
    return '@user_script:' .. line_of_script() .. ': ' .. tostring(failure)
  end
  return {err = type(failure) == 'table' and failure.err
    or 'ERR ' .. tostring(failure), line = line_of_script()}
end

local function describe_failure(server, script, failure)
  if server.major < 7 then
    return {err = 'ERR Error running script (call to f_' .. script.sha .. '): '
      .. failure}
  end
  return {err = format('%s script: %s, on @user_script:%d.', failure.err,
    script.sha, failure.line)}
end

-- A list up to its first nil, in the form that the encoder expects.
local function reply_of(value)
  local kind = type(value)
  if kind == 'number' then
    -- The 0 is for a negative zero, which Lua prints as such.
    return (value < 0 and math.ceil(value) or math.floor(value)) + 0
  elseif kind == 'boolean' then
    return value and 1
  elseif kind ~= 'table' then
    return kind == 'string' and value
  elseif rawget(value, 'err') then
    return {err = value.err}
  elseif rawget(value, 'ok') then
    return {ok = value.ok}
  end
  local list = {}
  for i = 1, math.huge do
    local element = rawget(value, i)
    if element == nil then break end
    kind = type(element)
    list[i] = kind == 'string' and element or reply_of(element)
  end
  return list
end

local function run_script(server, script, client, argv, key_count)
  local keys, arguments, count = {}, {}, #argv
  for i = 1, key_count do keys[i] = argv[3 + i] end
  for i = 4 + key_count, count do arguments[i - 3 - key_count] = argv[i] end
  rawset(environment, 'KEYS', keys)
  rawset(environment, 'ARGV', arguments)
  running, text_running, has_written = server, script.text, false
  command_running = ''
  server.caller = client
  server.was_full = server.full
  local is_done, result = xpcall(script.chunk, on_error)
  server.is_dirty = false
  if not is_done then return describe_failure(server, script, result) end
  return reply_of(result) or false
end

local function count_keys(argv, count)
  local number = data.integer(argv[3])
  if not number then return nil, keyspace.NOT_INTEGER end
  if number > count - 3 then
    return nil, {err = "ERR Number of keys can't be greater than number of "
      .. 'args'}
  elseif number < 0 then
    return nil, {err = "ERR Number of keys can't be negative"}
  end
  return number
end

local function keep(server, text)
  local script = compile(server, text)
  if script.failure then
    return nil, {err = 'ERR Error compiling script (new function): '
      .. script.failure}
  end
  server.scripts[script.sha] = script
  return script
end

function handlers.eval(server, argv, count, client)
  local key_count, failure = count_keys(argv, count)
  if failure then return failure end
  local script, problem = keep(server, argv[2])
  return problem or run_script(server, script, client, argv, key_count)
end

function handlers.evalsha(server, argv, count, client)
  local script = server.scripts[argv[2]] or server.scripts[lower(argv[2])]
  if #argv[2] ~= 40 then script = nil end
  local key_count, failure
  if script or #argv[2] == 40 then
    key_count, failure = count_keys(argv, count)
    if failure then return failure end
  end
  if not script then
    return {err = 'NOSCRIPT No matching script. Please use EVAL.'}
  end
  return run_script(server, script, client, argv, key_count)
end

return handlers

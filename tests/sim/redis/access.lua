-- Who may run what: passwords, users, and denials as ACL makes them.
local data, commands, Server = ...

-- Denies commands ('zadd', 'client|setname') and keys (globs) to a user, or to
-- the default one. Each call adds to the former ones; allow() ends all.
function Server:deny(rules)
  local user = rules.user or 'default'
  self.rules = self.rules or {}
  local own = self.rules[user] or {commands = {}, keys = {}}
  self.rules[user] = own
  for _, name in ipairs(rules.commands or {}) do own.commands[name] = true end
  for _, glob in ipairs(rules.keys or {}) do own.keys[#own.keys + 1] = glob end
end

-- As rename-command with an empty name: `server:remove('acl wait')`. A command
-- of several words goes as a whole.
function Server:remove(names)
  self.removed = {}
  for name in string.gmatch(names, '%S+') do self.removed[name] = true end
end

function Server:find(argv, count)
  local command = commands.find(argv, count)
  if command and self.removed
    and self.removed[string.match(command.name, '^[^|]*')] then
    return nil
  end
  return command
end

-- What a table says in Lua, about `self`.
function Server:obey(text)
  assert(loadstring('local self = ... ' .. text))(self)
end

function Server:allow(user)
  if not self.rules then return end
  self.rules[user or 'default'] = nil
  if not next(self.rules) then self.rules = nil end
end

-- One command, to the default user, until it is allowed again.
function Server:deny_command(name) self:deny({commands = {name}}) end

function Server:allow_command(name)
  local own = self.rules and self.rules.default
  if own then own.commands[name] = nil end
end

function Server:has_user(user)
  return user == 'default' or self.users and self.users[user] ~= nil
end

-- server.password is that of the default user; server.users: name -> password.
function Server:check_password(user, password)
  if user == 'default' then
    return not self.password or self.password == password
  end
  return self.users and self.users[user] == password or false
end

local function denied_command(self, user, command)
  local name = command.name
  if not self.is_new then
    local what = self.major < 7
      and string.gsub(name, '|.*', '') .. "' command or its subcommand"
      or name .. "' command"
    return {text = "this user has no permissions to run the '" .. what,
      script_text = "The user executing the script can't run this command or "
      .. 'subcommand'}
  end
  local text = 'User ' .. user .. " has no permissions to run the '" .. name
    .. "' command"
  return {text = text, script_text = 'ACL failure in script: ' .. text}
end

local function denied_key(self, key)
  if not self.is_new then
    return {key = key, text = 'this user has no permissions to access one of '
      .. 'the keys used as arguments', script_text = 'The user executing the '
      .. "script can't access at least one of the keys mentioned in the "
      .. 'command arguments'}
  end
  local text = 'No permissions to access a key'
  return {key = key, text = text,
    script_text = 'ACL failure in script: ' .. text}
end

-- The error if the client may not run this, or nil.
function Server:refuse_access(client, command, argv, count)
  local denial = self.rules
    and self:judge_access(client.user, command, argv, count)
  return denial and {err = 'NOPERM ' .. denial.text}
end

-- Why the user may not run this: {text, script_text, key if it is for a key};
-- or nil. The words are those of Redis before 6, of 7.0 and of 7.2 and newer.
function Server:judge_access(user, command, argv, count)
  local rules = self.rules[user]
  if not rules or command.no_auth then return nil end
  if rules.commands[command.name]
    or rules.commands[string.match(command.name, '^[^|]*')] then
    return denied_command(self, user, command)
  end
  return commands.each_key(command, argv, count, function(key)
    for _, glob in ipairs(rules.keys) do
      if data.glob(glob, key) then return denied_key(self, key) end
    end
  end)
end

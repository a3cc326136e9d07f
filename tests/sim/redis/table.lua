-- The table of commands: arity with the command's name (negative: at least),
-- flags, and the positions of the keys as COMMAND INFO counts them (first,
-- last, step). The differential test compares it with a real server.
--   w write          m refused when the server is full     s not in scripts
--   l while loading  t on a replica that has lost its primary
--   a before AUTH    b while a script keeps the server busy
--   B by sentinels, too   S by sentinels alone
local handlers = ...

local rows = [[
acl|dryrun -4 sltB 0 0 0
acl|whoami 2 sltB 0 0 0
asking 1 - 0 0 0
auth -2 sltabB 0 0 0
blpop -3 ws 1 -2 1
client|setname 3 sltB 0 0 0
cluster|info 2 t 0 0 0
cluster|slots 2 t 0 0 0
config|get -3 slt 0 0 0
config|set -4 slt 0 0 0
del -2 w 1 -1 1
eval -3 st 0 0 0
evalsha -3 st 0 0 0
exists -2 - 1 -1 1
get 2 - 1 1 1
hdel -3 w 1 1 1
hget 3 - 1 1 1
hgetall 2 - 1 1 1
hkeys 2 - 1 1 1
hlen 2 - 1 1 1
hmget -3 - 1 1 1
hset -4 wm 1 1 1
info -1 ltB 0 0 0
keys 2 - 0 0 0
llen 2 - 1 1 1
lpop -2 w 1 1 1
lpush -3 wm 1 1 1
lrange 4 - 1 1 1
lrem 4 w 1 1 1
ltrim 4 w 1 1 1
pexpire -3 w 1 1 1
pexpireat -3 w 1 1 1
pttl 2 - 1 1 1
role 1 sltB 0 0 0
rpush -3 wm 1 1 1
sadd -3 wm 1 1 1
scan -2 - 0 0 0
select 2 lt 0 0 0
sentinel|ckquorum 3 S 0 0 0
sentinel|get-master-addr-by-name 3 S 0 0 0
sentinel|master 3 S 0 0 0
set -3 wm 1 1 1
smembers 2 - 1 1 1
srem -3 w 1 1 1
time 1 lt 0 0 0
ttl 2 - 1 1 1
type 2 - 1 1 1
wait 3 s 0 0 0
zadd -4 wm 1 1 1
zcard 2 - 1 1 1
zcount 4 - 1 1 1
zrange -4 - 1 1 1
zrangebyscore -4 - 1 1 1
zrank 3 - 1 1 1
zrem -3 w 1 1 1
zremrangebyscore 4 w 1 1 1
zscore 3 - 1 1 1
]]

local flags = {w = 'write', m = 'denyoom', s = 'noscript', l = 'loading',
  t = 'stale', a = 'no_auth', b = 'allow_busy', B = 'for_sentinel',
  S = 'only_sentinel'}

local commands = {rows = {}}
-- By name in lower and in upper case; {subcommands: true} for a container.
local by_name = {}

local function add(name, command)
  by_name[name] = command
  by_name[string.upper(name)] = command
end

for name, arity, letters, first, last, step in
  string.gmatch(rows, '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)\n') do
  local command = {name = name, arity = tonumber(arity), run = handlers[name],
    first = tonumber(first), last = tonumber(last), step = tonumber(step),
    is_script = string.find(name, '^eval') ~= nil}
  for letter in string.gmatch(letters, '%a') do
    command[flags[letter]] = true
  end
  commands.rows[#commands.rows + 1] = command
  add(name, command)
  local container = string.match(name, '^(%a+)|')
  if container then
    add(container, {name = container, has_subcommands = true, arity = -2,
      for_sentinel = command.for_sentinel,
      only_sentinel = command.only_sentinel})
  end
end

-- The command with these words, or a subcommand; a container if it has none,
-- or if there is no such one; or nil.
function commands.find(argv, count)
  local command = by_name[argv[1]] or by_name[string.lower(argv[1])]
  if command and command.has_subcommands and count > 1 then
    return by_name[command.name .. '|' .. string.lower(argv[2])] or command
  end
  return command
end

-- Calls visit(key) for each key that the words name, until it returns
-- something.
function commands.each_key(command, argv, count, visit)
  local first, last, step = command.first, command.last, command.step
  if command.is_script then
    -- A number that cannot be means no keys.
    local number = tonumber(argv[3]) or 0
    if number > count - 3 then number = 0 end
    first, last, step = 3, 2 + number, 1
  elseif first == 0 then
    return nil
  elseif last < 0 then
    last = count + last
  end
  for i = first, math.min(last, count - 1), step do
    local result = visit(argv[i + 1])
    if result then return result end
  end
end

return commands

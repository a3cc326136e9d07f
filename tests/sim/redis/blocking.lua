-- Clients that wait: in BLPOP for an element, in WAIT for replicas.
local handlers, keyspace, Server = ...

-- server.blocked[db][key] is the list of clients that wait for the key, the
-- longest first; server.waiting all that wait; server.ready {db, key} of lists
-- that were made; server.unblocked the clients whose queue is to be run.

function Server:note_ready(key)
  local blocked = self.blocked[self.db_number]
  if blocked and blocked[key] then
    self.ready[#self.ready + 1] = {self.db_number, key}
  end
end

local function enqueue(self, client, key)
  local blocked = self.blocked[client.db]
  if not blocked then
    blocked = {}
    self.blocked[client.db] = blocked
  end
  local line = blocked[key]
  if not line then
    line = {}
    blocked[key] = line
  end
  line[#line + 1] = client
end

-- The reply comes later. 0 ms is for ever.
function Server:block(client, keys, ms, acks)
  client.blocked = {keys = keys, till = ms > 0 and self.ms + ms or nil,
    acks = acks, offset = client.offset, db = client.db}
  for i, key in ipairs(keys) do
    local is_first = true
    for j = 1, i - 1 do is_first = is_first and keys[j] ~= key end
    if is_first then enqueue(self, client, key) end
  end
  self.waiting[#self.waiting + 1] = client
end

local function remove(list, element)
  for i = 1, #list do
    if list[i] == element then
      table.remove(list, i)
      return
    end
  end
end

function Server:unblock(client)
  local state = client.blocked
  local blocked = self.blocked[state.db]
  client.blocked = nil
  remove(self.waiting, client)
  for _, key in ipairs(state.keys) do
    local line = blocked and blocked[key]
    if line then
      remove(line, client)
      if not line[1] then blocked[key] = nil end
    end
  end
  if client.queue[1] then self.unblocked[#self.unblocked + 1] = client end
end

-- Ends a client's wait with this reply.
function Server:wake(client, reply)
  self:unblock(client)
  self:reply(client, reply)
end

local function serve_key(self, number, key)
  self:select(number)
  while true do
    local line = self.blocked[number] and self.blocked[number][key]
    local client = line and line[1]
    local reply = client and handlers.take_for_blocked(self, key, client)
    if not reply then break end
    self.is_dirty = false
    self:wake(client, reply)
    client.offset = self.offset + 1
  end
  self:close_group()
end

local function serve_ready(self)
  while self.ready[1] do
    local ready = table.remove(self.ready, 1)
    serve_key(self, ready[1], ready[2])
  end
end

local function run_queue(self, client)
  while client.queue[1] and not client.blocked and not client.closed do
    self:run(client, table.remove(client.queue, 1))
    serve_ready(self)
  end
end

-- What follows each command: blocked clients are served, and then run what they
-- have sent meanwhile.
function Server:settle()
  serve_ready(self)
  while self.unblocked[1] do
    run_queue(self, table.remove(self.unblocked, 1))
  end
end

-- --- time-outs --------------------------------------------------------------

local function is_before(a, b)
  if a.blocked.till ~= b.blocked.till then
    return a.blocked.till < b.blocked.till
  end
  return a.id < b.id
end

-- Redis ends a wait in the ms behind its end.
function Server:tick()
  self:read_clock()
  local due = {}
  for _, client in ipairs(self.waiting) do
    local till = client.blocked.till
    if till and till < self.ms then due[#due + 1] = client end
  end
  table.sort(due, is_before)
  for _, client in ipairs(due) do
    local state = client.blocked
    self:wake(client, state.acks and self:count_acks(state.offset)
      or keyspace.NIL_ARRAY)
  end
  if self.cluster then self:redirect_blocked() end
  self:settle()
end

function Server:next_us()
  local first = nil
  for _, client in ipairs(self.waiting) do
    local till = client.blocked.till
    if till and (not first or till < first) then first = till end
  end
  return first and (first + 1) * 1000
end

-- What befalls a server: a restart, an eviction; replication and failover.
local data, commands, Server = ...
local handlers = {}
local format = string.format

-- --- restart, and loss ------------------------------------------------------

-- A copy of all data, as a dump is.
function Server:snapshot()
  return data.copy(self.databases)
end

-- What a restart with how.data = 'dumped' finds.
function Server:dump() self.dumped = self:snapshot() end

-- A state begins or ends: 'full', 'loading', 'busy', 'misconf', 'no_replicas'.
function Server:enter(state) self[state] = true end
function Server:leave(state) self[state] = nil end

-- The clients are gone already, or are dropped without a word. how.data:
-- 'kept', 'lost' or 'dumped'; how.snapshot: data from an earlier snapshot().
function Server:restart(how)
  self.restarts = (self.restarts or 0) + 1
  for i = #self.clients, 1, -1 do
    self.clients[i].queue = {}
    self:disconnect(self.clients[i])
  end
  if how.snapshot then
    self.databases = data.copy(how.snapshot)
  elseif how.data == 'lost' then
    self.databases = {}
  elseif how.data == 'dumped' then
    self.databases = data.copy(self.dumped or {})
  end
  self.scripts, self.out, self.ready, self.unblocked = {}, {}, {}, {}
  self.run_id = how.run_id or format('%020x%020x', self.restarts,
    self.port)
  self.started_us = self.now_us()
  self:select(0)
end

function Server:flush_scripts() self.scripts = {} end

-- Evicts a key.
function Server:forget(key)
  self:read_clock()
  self:select(0)
  local entry = self.db.map[key]
  if not entry then return end
  data.remove(self.db, entry)
  self:propagate({'DEL', key})
  self:close_group()
end

-- --- replication ------------------------------------------------------------

-- How many replicas have acknowledged all up to that offset.
function Server:count_acks(offset)
  local count = 0
  for _, link in ipairs(self.replicas) do
    if link.acked >= offset then count = count + 1 end
  end
  return count
end

function Server:lacks_replicas()
  return not self.primary
    and (self.no_replicas or (self.min_replicas or 0) > #self.replicas)
end

local function link_of(primary, replica)
  for i, link in ipairs(primary.replicas) do
    if link.replica == replica then return link, i end
  end
end

-- The replica drops its own data for a copy, and the clients that it blocks.
function Server:add_replica(replica)
  replica:leave_primary()
  replica.databases = data.copy(self.databases)
  replica.primary, replica.offset = self, self.offset
  replica:select(0)
  self.replicas[#self.replicas + 1] = {replica = replica, pending = {},
    acked = self.offset}
  for i = #replica.waiting, 1, -1 do
    local client = replica.waiting[i]
    client.queue, client.closed = {}, true
    replica:wake(client, {err = 'UNBLOCKED force unblock from blocking '
      .. 'operation, instance state changed (master -> replica?)'})
  end
end

function Server:replica_of(primary) primary:add_replica(self) end

function Server:leave_primary()
  local primary = self.primary
  local _, i = link_of(primary or self, self)
  if i then table.remove(primary.replicas, i) end
  self.primary, self.cut_off = nil, nil
end

-- What has not arrived is lost. In a cluster the slots follow.
function Server:promote()
  local former, slots = self.primary, self.cluster and self.cluster.slots
  self:leave_primary()
  for slot = 0, slots and 16383 or -1 do
    if slots[slot] == former then slots[slot] = self end
  end
end

local function apply(self, group)
  self.is_applying = true
  for i = 1, #group, 2 do
    local argv = group[i + 1]
    self:select(group[i])
    if argv.entry then
      self:restore(argv.entry)
      self:propagate(argv)
    else
      commands.find(argv, #argv).run(self, argv, #argv)
    end
    if self.is_dirty then self:propagate_command(argv) end
  end
  self.is_applying = false
  self:close_group()
end

-- Delivers so many writes, or all that wait.
function Server:replicate_to(replica, most)
  local link = link_of(self, replica)
  replica:read_clock()
  for _ = 1, math.min(most or math.huge, link and #link.pending or 0) do
    apply(replica, table.remove(link.pending, 1))
  end
end

-- The primary learns what the replica has.
function Server:ack(replica)
  local link = link_of(self, replica)
  if not link then return end
  link.acked = self.offset - #link.pending
  self:read_clock()
  for i = #self.waiting, 1, -1 do
    local client = self.waiting[i]
    local state = client.blocked
    local count = state.acks and self:count_acks(state.offset)
    if count and count >= state.acks then self:wake(client, count) end
  end
  self:settle()
end

function handlers.wait(server, argv, _, client)
  if server.primary then
    return {err = 'ERR WAIT cannot be used with replica instances. Please also '
      .. 'note that since Redis 4.0 if a replica is configured to be writable '
      .. '(which is not the default) writes to replicas are just local and are '
      .. 'not propagated.'}
  end
  local wanted, ms = data.integer(argv[2]), data.integer(argv[3])
  if not wanted then
    return {err = 'ERR value is not an integer or out of range'}
  elseif not ms then
    return {err = 'ERR timeout is not an integer or out of range'}
  elseif ms < 0 then
    return {err = 'ERR timeout is negative'}
  end
  local count = server:count_acks(client.offset)
  if count >= wanted then return count end
  return server:block(client, {}, ms, wanted)
end

function handlers.role(server)
  local primary = server.primary
  if server.is_sentinel then return {'sentinel', {server.master}} end
  if primary then
    return {'slave', primary.host, primary.port,
      server.cut_off and 'connect' or 'connected', server.offset}
  end
  local list = {}
  for i, link in ipairs(server.replicas) do
    list[i] = {link.replica.host, format('%d', link.replica.port),
      format('%d', link.acked)}
  end
  return {'master', server.offset, list}
end

return handlers

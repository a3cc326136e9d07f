-- A node of a cluster. server.cluster is
--   slots      slot -> the node that owns it: one table that all nodes share
--   migrating  slot -> the node that gets it from this one
--   importing  slot -> the node that this one gets it from
--   is_down    the cluster is down, as this node sees it
local data, keyspace, commands, Server = ...
local OK, format = keyspace.OK, string.format
local handlers = {}

-- --- slots -------------------------------------------------------------------

local function xor(a, b)
  local result, bit = 0, 1
  while a > 0 or b > 0 do
    if a % 2 ~= b % 2 then result = result + bit end
    a, b, bit = math.floor(a / 2), math.floor(b / 2), bit * 2
  end
  return result
end

-- CRC16-CCITT (XMODEM) of each byte, as in the specification's appendix.
local crc_of_byte = {}
for byte = 0, 255 do
  local crc = byte * 256
  for _ = 1, 8 do
    crc = crc * 2
    if crc >= 65536 then crc = xor(crc - 65536, 0x1021) end
  end
  crc_of_byte[byte] = crc
end

local known, known_count = {}, 0

local function slot_of(key)
  local tag = string.match(key, '^[^{]*{([^}]+)}') or key
  local slot = known[tag]
  if slot then return slot end
  local crc = 0
  for i = 1, #tag do
    local high = math.floor(crc / 256)
    crc = xor(crc % 256 * 256, crc_of_byte[xor(high, string.byte(tag, i))])
  end
  slot = crc % 16384
  if known_count == 1000 then known, known_count = {}, 0 end
  known[tag], known_count = slot, known_count + 1
  return slot
end

function Server.slot_of(_, key) return slot_of(key) end

-- --- redirects ---------------------------------------------------------------

local CROSSSLOT = {err = "CROSSSLOT Keys in request don't hash to the same "
  .. 'slot'}
local TRYAGAIN = {err = 'TRYAGAIN Multiple keys request during rehashing of '
  .. 'slot'}
local NOT_SERVED = {err = 'CLUSTERDOWN Hash slot not served'}
local DOWN = {err = 'CLUSTERDOWN The cluster is down'}

local function redirect(word, slot, node)
  return {err = format('%s %d %s:%d', word, slot, node.host, node.port)}
end

-- {slot, failure, is_missing and is_there: some key is, is_multiple: several
-- keys} of a command; the slot is nil if it has no keys.
local function look_at_keys(self, command, argv, count)
  local found, first = {}, nil
  local state = self.cluster
  commands.each_key(command, argv, count, function(key)
    local slot = slot_of(key)
    if not found.slot then
      found.slot, first = slot, key
      if not state.slots[slot] then found.failure = NOT_SERVED end
    elseif slot ~= found.slot then
      found.failure = CROSSSLOT
    elseif key ~= first then
      found.is_multiple = true
    end
    if state.migrating[slot] or state.importing[slot] then
      local name = keyspace.find(self, key) and 'is_there' or 'is_missing'
      found[name] = true
    end
    return found.failure
  end)
  return found
end

-- How a node answers a command that it does not serve, or nil.
function Server:route(command, argv, count, client)
  local state = self.cluster
  if self.db_number ~= 0 then self:select(0) end
  local found = look_at_keys(self, command, argv, count)
  if not found.slot then return nil end
  if found.failure then return found.failure end
  if state.is_down then return DOWN end
  local slot, owner = found.slot, state.slots[found.slot]
  if owner == self and state.migrating[slot] and found.is_missing then
    if found.is_there and self.major >= 7 then return TRYAGAIN end
    return redirect('ASK', slot, state.migrating[slot])
  elseif owner ~= self and state.importing[slot] and client.asked then
    return found.is_multiple and found.is_missing and TRYAGAIN or nil
  elseif owner == self then
    return nil
  end
  return redirect('MOVED', slot, owner)
end

-- Those that block here for what has moved.
function Server:redirect_blocked()
  local state = self.cluster
  for i = #self.waiting, 1, -1 do
    local client = self.waiting[i]
    local key = client.blocked.keys[1]
    local slot = key and slot_of(key)
    local owner = slot and state.slots[slot]
    if key and state.is_down then
      self:wake(client, DOWN)
    elseif key and not owner then
      self:wake(client, NOT_SERVED)
    elseif key and owner ~= self and not state.importing[slot] then
      self:wake(client, redirect('MOVED', slot, owner))
    end
  end
end

-- Moves a key to the node that imports its slot. MIGRATE sends the time that it
-- has left, not when it ends.
function Server:migrate(key, node)
  self:read_clock()
  node:read_clock()
  self:select(0)
  local entry = keyspace.find(self, key)
  if not entry then return end
  keyspace.delete(self, entry, true)
  self:close_group()
  node:select(0)
  if entry.till then entry.till = entry.till + node.ms - self.ms end
  node:restore(entry)
  node:propagate({'RESTORE', key, entry = entry})
  node:close_group()
end

-- Stores a copy of an entry of another server.
function Server:restore(entry)
  local former = self.db.map[entry.key]
  if former then data.remove(self.db, former) end
  local copy = data.copy_entry(entry)
  copy.gone = nil
  data.add(self.db, entry.key, copy)
end

-- --- commands ----------------------------------------------------------------

local DISABLED = {err = 'ERR This instance has cluster support disabled'}

local function of_cluster(handler)
  return function(server, argv, count, client)
    if not server.cluster then return DISABLED end
    return handler(server, argv, count, client)
  end
end

handlers.asking = of_cluster(function(_, _, _, client)
  client.asks = true
  return OK
end)

local function node_id(node)
  return node.node_id or format('%040x', node.port)
end

-- {first, last, node} of the slots that have an owner, in order.
local function list_ranges(state)
  local ranges, current = {}, nil
  for slot = 0, 16383 do
    local owner = state.slots[slot]
    if owner and current and current[3] == owner
      and current[2] == slot - 1 then
      current[2] = slot
    elseif owner then
      current = {slot, slot, owner}
      ranges[#ranges + 1] = current
    end
  end
  return ranges
end

local function describe_node(node)
  return {node.host, node.port, node_id(node), {}}
end

handlers['cluster|slots'] = of_cluster(function(server)
  local ranges = list_ranges(server.cluster)
  for i, range in ipairs(ranges) do
    local owner = range[3]
    local row = {range[1], range[2], describe_node(owner)}
    for _, link in ipairs(owner.replicas) do
      row[#row + 1] = describe_node(link.replica)
    end
    ranges[i] = row
  end
  return ranges
end)

handlers['cluster|info'] = of_cluster(function(server)
  local assigned, nodes, known_nodes = 0, 0, {}
  for _, range in ipairs(list_ranges(server.cluster)) do
    assigned = assigned + range[2] - range[1] + 1
    if not known_nodes[range[3]] then nodes = nodes + 1 end
    known_nodes[range[3]] = true
  end
  local is_ok = not server.cluster.is_down and assigned == 16384
  return table.concat({'cluster_state:' .. (is_ok and 'ok' or 'fail'),
    'cluster_slots_assigned:' .. assigned, 'cluster_slots_ok:' .. assigned,
    'cluster_slots_pfail:0', 'cluster_slots_fail:0',
    'cluster_known_nodes:' .. nodes, 'cluster_size:' .. nodes, ''}, '\r\n')
end)

return handlers

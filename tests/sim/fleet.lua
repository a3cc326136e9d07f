-- What befalls several servers at once: replication, failover, slots that
-- move. C says when, and calls these functions by name.
local fleet = {}

local SLOTS = 16384

-- --- sentinel ---------------

function fleet.follow(replica, primary)
  primary:add_replica(replica)
end

-- How many writes the replica lacks.
function fleet.lag(primary, replica)
  for _, link in ipairs(primary.replicas) do
    if link.replica == replica then return #link.pending end
  end
  return 0
end

function fleet.watch(sentinel, primary)
  sentinel.primary = primary
end

-- --- cluster ---------------

function fleet.slot_of(node, key)
  local client = node:connect(-1)
  node:request(client, {'CLUSTER', 'KEYSLOT', key})
  node:disconnect(client)
  local reply = table.remove(node.out)
  table.remove(node.out)
  return tonumber(string.match(reply, ':(%d+)'))
end

function fleet.owner_of(node, slot)
  return node.cluster.slots[slot].id
end

-- Each node has the same share of the slots.
function fleet.share_slots(...)
  local nodes, slots = {...}, {}
  for slot = 0, SLOTS - 1 do
    slots[slot] = nodes[math.floor(slot * #nodes / SLOTS) + 1]
  end
  for _, node in ipairs(nodes) do
    node.cluster = {slots = slots, migrating = {}, importing = {}}
  end
end

-- The slot of the key goes to another node.
function fleet.begin_move(from, to, slot)
  from.cluster.migrating[slot] = to
  to.cluster.importing[slot] = from
end

-- Some of its keys, or all.
function fleet.move_keys(from, to, slot, share)
  local names = {}
  from:select(0)
  for name in pairs(from.db.map) do
    if fleet.slot_of(from, name) == slot then names[#names + 1] = name end
  end
  table.sort(names)
  for i = 1, math.ceil(#names * share) do from:migrate(names[i], to) end
end

function fleet.end_move(from, to, slot)
  from.cluster.migrating[slot], to.cluster.importing[slot] = nil, nil
  from.cluster.slots[slot] = to
  from:redirect_blocked()
end

return fleet

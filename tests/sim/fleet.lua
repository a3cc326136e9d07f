-- What befalls several servers at once: replication, failover, slots that
-- move. C says when, and calls these functions by name.
local fleet = {}

local SLOTS = 16384
-- Why a server refuses commands or redirects; 'rules' are those of Server:deny.
local STATES = {'busy', 'cluster', 'full', 'loading', 'misconf', 'no_replicas',
  'rules'}

-- A command of the world itself: no state of the server stops it, but it may
-- change one.
function fleet.execute(server, client, argv)
  local states = {}
  for _, state in ipairs(STATES) do
    states[state], server[state] = server[state], nil
  end
  server:request(client, argv)
  for _, state in ipairs(STATES) do
    if server[state] == nil then server[state] = states[state] end
  end
end

function fleet.request(server, client, argv) server:request(client, argv) end

-- --- replication and sentinels ---------------

-- In a cluster it learns now who owns which slot.
function fleet.follow(replica, primary)
  primary:add_replica(replica)
  if replica.cluster then
    replica.cluster.slots = primary.cluster.slots
  end
end

function fleet.deliver(primary, replica) primary:replicate_to(replica) end

function fleet.ack(primary, replica) primary:ack(replica) end

-- How many writes the replica lacks.
function fleet.lag(primary, replica)
  for _, link in ipairs(primary.replicas) do
    if link.replica == replica then return #link.pending end
  end
  return 0
end

-- The former primary of a cluster does not know, until it follows.
function fleet.promote(replica, primary)
  if primary.cluster then
    local slots = {}
    for slot = 0, SLOTS - 1 do slots[slot] = primary.cluster.slots[slot] end
    primary.cluster.slots = slots
  end
  replica:promote()
end

function fleet.watch(sentinel, primary)
  sentinel.primary = primary
end

-- --- cluster ---------------

-- Each primary has the same share of the slots.
function fleet.share_slots(...)
  local nodes, primaries, slots = {...}, {}, {}
  for _, node in ipairs(nodes) do
    if not node.primary then primaries[#primaries + 1] = node end
  end
  for slot = 0, SLOTS - 1 do
    slots[slot] = primaries[math.floor(slot * #primaries / SLOTS) + 1]
  end
  for _, node in ipairs(nodes) do
    node.cluster = {slots = slots, migrating = {}, importing = {}}
  end
  fleet.nodes = nodes
end

-- The owner of the slot, and the next primary.
local function ends_of_move(slot)
  local from = fleet.nodes[1].cluster.slots[slot]
  local primaries = {}
  for _, node in ipairs(fleet.nodes) do
    if not node.primary then primaries[#primaries + 1] = node end
  end
  for i, node in ipairs(primaries) do
    if node == from then return from, primaries[i % #primaries + 1] end
  end
end

-- All of the slot's keys, or each with an even chance.
local function move_keys(from, to, slot, is_half)
  local names = {}
  from:select(0)
  for name in pairs(from.db.map) do
    if from:slot_of(name) == slot then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    if not is_half or from.dice(2) == 1 then from:migrate(name, to) end
  end
end

-- The owner stays the same until the end.
function fleet.move(key, stage)
  local slot = fleet.nodes[1]:slot_of(key)
  local from, to = ends_of_move(slot)
  if stage == 0 then
    from.cluster.migrating[slot] = to
    to.cluster.importing[slot] = from
  elseif stage < 3 then
    move_keys(from, to, slot, stage == 1)
  else
    from.cluster.migrating[slot], to.cluster.importing[slot] = nil, nil
    from.cluster.slots[slot] = to
    from:redirect_blocked()
  end
end

return fleet

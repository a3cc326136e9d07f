-- What all commands on data share: finding keys, their end, and the errors.
-- Nobody changes a reply that stands here.
local data = ...
local keyspace = {}

keyspace.OK = {ok = 'OK'}
-- A null array, as BLPOP returns it when its time is over.
keyspace.NIL_ARRAY = {is_nil = true}
keyspace.WRONGTYPE = {err = 'WRONGTYPE Operation against a key holding the '
  .. 'wrong kind of value'}
keyspace.SYNTAX = {err = 'ERR syntax error'}
keyspace.NOT_INTEGER = {err = 'ERR value is not an integer or out of range'}
keyspace.NOT_FLOAT = {err = 'ERR value is not a valid float'}

-- A key has expired when its time is over, not at that millisecond. A replica
-- hides it and waits for the primary's DEL, and the primary's writes see it.
function keyspace.find(server, key)
  local entry = server.db.map[key]
  local till = entry and entry.till
  if till and till < server.ms and not server.is_applying then
    if not server.primary then keyspace.delete(server, entry, true) end
    return nil
  end
  return entry
end
local find = keyspace.find

-- The entry; or nil, and the error if it has another type.
function keyspace.typed(server, key, kind)
  local entry = find(server, key)
  if entry and entry.kind ~= kind then return nil, keyspace.WRONGTYPE end
  return entry
end

-- The entry, which is made if there is none.
function keyspace.make(server, key, kind)
  local entry, failure = keyspace.typed(server, key, kind)
  if entry or failure then return entry, failure end
  return data.add(server.db, key, data.new(kind))
end

-- Removes a key, which counts as a change. Unless a command does that, the
-- replicas get a DEL.
function keyspace.delete(server, entry, by_itself)
  data.remove(server.db, entry)
  if by_itself then server:propagate({'DEL', entry.key}) end
end

-- A container without elements does not exist.
function keyspace.drop_if_empty(server, entry)
  if not entry.items[1] then keyspace.delete(server, entry) end
end

-- Calls visit(entry) for each key that has not expired, in the order in which
-- they were made, from that number on, until it returns true.
function keyspace.each(server, from, visit)
  local list = server.db.list
  for i = 1, #list do
    local entry = list[i]
    if entry.seq >= from and not entry.gone and find(server, entry.key)
      and visit(entry) then
      return
    end
  end
end

-- The reply of a command that has a number of elements as its last word.
function keyspace.wrong_arity(name)
  return {err = "ERR wrong number of arguments for '" .. name .. "' command"}
end

return keyspace

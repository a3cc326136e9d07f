-- A sentinel, as far as clients ask it: it names the primary of one name, which
-- the caller sets:
--   sentinel.master     the name
--   sentinel.primary    the server that it believes to be the primary
--   sentinel.knows      false: it knows no master of that name
--   sentinel.is_down    it does not reach the primary
--   sentinel.no_quorum  why CKQUORUM fails, in the words of the error
-- A sentinel is a server with these commands and a few others (table.lua).
local keyspace = ...
local handlers = {}

local UNKNOWN = {err = 'ERR No such master with that name'}

local function is_known(sentinel, name)
  return sentinel.knows ~= false and name == sentinel.master
end

handlers['sentinel|get-master-addr-by-name'] = function(sentinel, argv)
  if not is_known(sentinel, argv[3]) then return keyspace.NIL_ARRAY end
  local watched = sentinel.primary
  return {watched.host, string.format('%d', watched.port)}
end

handlers['sentinel|master'] = function(sentinel, argv)
  if not is_known(sentinel, argv[3]) then return UNKNOWN end
  local watched = sentinel.primary
  return {'name', sentinel.master, 'ip', watched.host, 'port',
    string.format('%d', watched.port), 'runid', watched.run_id, 'flags',
    sentinel.is_down and 'master,s_down' or 'master', 'num-slaves',
    string.format('%d', #watched.replicas)}
end

handlers['sentinel|ckquorum'] = function(sentinel, argv)
  if not is_known(sentinel, argv[3]) then return UNKNOWN end
  if sentinel.no_quorum then
    return {err = 'NOQUORUM ' .. sentinel.no_quorum}
  end
  return {ok = 'OK 1 usable Sentinels. Quorum and failover authorization can '
    .. 'be reached'}
end

return handlers

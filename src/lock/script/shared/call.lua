-- Runs a command. Returns the error or nil, then the reply. redis.call would
-- raise the error, which Redis before 7 wraps into a text of its own. The
-- command is added, because the server does not name one that an ACL denies.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    return {err = reply.err .. ' (' .. command .. ')'}
  end
  return nil, reply
end

-- UNLINK frees a large value in the background, but access rules made for older
-- servers lack it. DEL follows in any case: a server that refuses DEL must
-- refuse acquire, because a release needs it.
local function wipe(...)
  redis.pcall('UNLINK', ...)
  return call('DEL', ...)
end

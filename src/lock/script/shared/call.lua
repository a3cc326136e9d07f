local undo = false

-- Runs a command and returns its reply. Raises the text of an error, with the
-- command behind it: the server does not name a command that an ACL denies.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    error(reply.err .. ' (' .. command .. ')', 0)
  end
  return reply
end

-- The reply of a script, from what pcall has returned. An error undoes a grant.
local function answer_of(done, answer)
  if done then return answer end
  if undo then undo() end
  return {err = answer}
end

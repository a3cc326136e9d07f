-- Runs a command and returns its reply; raises the text of an error, with the
-- command behind it, as the server does not name one that an ACL denies.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    error(reply.err .. ' (' .. command .. ')', 0)
  end
  return reply
end

-- The answer of a script: what it returns, or the error that it raises.
local function answer_of(script, ...)
  local done, answer = pcall(script, ...)
  return done and answer or {err = answer}
end

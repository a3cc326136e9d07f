-- Runs a command and returns its reply; raises the text of an error. So does
-- redis.call, but Redis before 7 wraps it into a text of its own. The command
-- is added, because the server does not name one that an ACL denies.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    error(reply.err .. ' (' .. command .. ')', 0)
  end
  return reply
end

local function is_wrong_type(failure)
  return string.find(failure, '^WRONGTYPE')
end

-- The answer of a script: what it returns, or the error that it raises.
local function answer_of(script)
  local done, answer = pcall(script)
  return done and answer or {err = answer}
end

-- UNLINK frees a large value in the background, but access rules made for older
-- servers lack it. DEL follows in any case: a server that refuses DEL must
-- refuse acquire, because a release needs it.
local function wipe(...)
  redis.pcall('UNLINK', ...)
  call('DEL', ...)
end

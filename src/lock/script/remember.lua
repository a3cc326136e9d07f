-- Lengthens the life of the last run during a long job. As in history.lua, which
-- is not included so that acquire does not grow beyond one read of the server.
--
-- KEYS: the last run (:r). ARGV: its life in ms.

local left = redis.pcall('PTTL', KEYS[1])
if type(left) == 'number' and left < tonumber(ARGV[1]) then
  redis.pcall('PEXPIRE', KEYS[1], ARGV[1])
end
return 1

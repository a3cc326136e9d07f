-- Deletes helper keys of a wrong type, which are somebody's mistake.
--
-- KEYS: helper keys. ARGV: the type that each must have.
-- How many were deleted.
local count = 0
for i, key in ipairs(KEYS) do
  local type_of = redis.call('TYPE', key).ok
  if type_of ~= 'none' and type_of ~= ARGV[i] then
    count = count + redis.call('DEL', key)
  end
end
return count

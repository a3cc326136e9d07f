-- Whether the lock is ours. It is not if its key has another type by now. Uses
-- what a kind of lock defines.
local function is_ours()
  local known, owned = pcall(owns)
  if known then return owned end
  return not is_wrong_type(owned) and error(owned, 0)
end

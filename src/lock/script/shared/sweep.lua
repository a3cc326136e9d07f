-- Removes expired members from the front of a sorted set. The server does
-- nothing else meanwhile, so one call removes a limited number, fewer if their
-- names are long. stays() returns why a member stays; forget() cleans up after
-- those that were removed. Returns the first member that stays and why, false
-- if the set is empty now, or true if the limit was reached first.
local function sweep(set, stays, forget)
  local size, room = 1, LIMIT_ENTRIES
  while room > 0 do
    local front = call('ZRANGE', set, 0, size - 1, 'WITHSCORES')
    local dead, first, reason = {}, false, false
    for i = 1, #front, 2 do
      first, reason = front[i], stays(front[i], tonumber(front[i + 1]))
      if reason then break end
      dead[#dead + 1] = first
      room = room - 1 - #first / 1000
    end
    if #dead > 0 then
      call('ZREM', set, unpack(dead))
      forget(dead)
    end
    if reason then return first, reason end
    if #front < 2 * size then return false end
    size = 50
  end
  return true
end

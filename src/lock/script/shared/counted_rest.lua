local function owns(other)
  return (held.kind == 's' or held.kind == 'p')
    and call('ZSCORE', lock, other) and true
end

local function free_places()
  if held.count > 0 and held.kind ~= letter then return 0 end
  return (limit or math.huge) - held.count
end

-- Entries without a member are those of former tries, and of runs that died.
local function file_dead()
  for _, field in ipairs(call('HKEYS', info)) do
    local member = string.match(field, '^h:(.*)')
    if member and not call('ZSCORE', lock, member) then
      file_last(call('HMGET', info, field)[1] or '')
      call('HDEL', info, field)
    end
  end
end

-- What another holder says of the number of permits, and the waiters behind us
-- that can go, too.
local function follow_counted(granted)
  if held.removed or held.count == 0 or ARGV[15] then file_dead() end
  if held.count > 0 and held.first ~= token then
    granted[6] = entry_of(held.first)
  end
  local room = head and math.min(places - 1, LIMIT_NOTIFY) or 0
  local front = room > 0 and call('ZRANGE', queue, 0, room - 1) or {}
  for _, waiter in ipairs(front) do
    if string.sub(waiter, 1, 1) ~= letter then break end
    local _, to_ring = time_to_come(waiter)
    if to_ring then granted[#granted + 1] = waiter end
  end
end

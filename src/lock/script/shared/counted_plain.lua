local now
-- include: holders

local function acquire()
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local held, letter = find_holders(), string.sub(token, 1, 2) == 's:' and 's'
    or 'p'
  local is_like = held.count == 0 or held.kind == letter
  local till = held.kind ~= 'x' and tonumber(call('ZSCORE', lock, token)) or 0
  local left = call('PTTL', lock)
  if till <= now
    and not (is_like and held.count < (tonumber(ARGV[3]) or math.huge)) then
    return {0, is_like and held.first_left or held.last_left, -1, 0, '', 0,
      held.kind, held.count, now, ''}
  end
  local is_held = till > now
  -- include: counted
  return {1, '', 0, 0, 0, '', ''}
end

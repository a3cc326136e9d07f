local letter = string.sub(token, 1, 2) == 's:' and 's' or 'p'
local now
-- include: holders

return answer_of(function()
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  call('ZADD', lock, 'XX', now, '')
  local held = find_holders()
  local left = held.count > 0 and call('PTTL', lock) or 0
  local is_ours = held.kind == letter and call('ZSCORE', lock, token)
  local places = (tonumber(ARGV[3]) or math.huge) - held.count
  if is_ours or held.count == 0 or held.kind == letter and places > 0 then
    call('ZREM', lock, '')
    call('ZADD', lock, now + ttl, token)
    call('PEXPIRE', lock, math.max(3 * ttl, left))
    return {1, '', 0, 0, 0, '', ''}
  end
  left = held.kind == letter and held.first_left or held.last_left
  return {0, left, -1, 0, '', 0, held.kind, held.count, now, ''}
end)

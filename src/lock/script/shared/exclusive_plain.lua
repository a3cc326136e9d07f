local function acquire()
  local value = redis.pcall('GET', lock)
  local is_counted = type(value) == 'table'
  if is_counted and not string.find(value.err, 'WRONGTYPE') then
    error(value.err .. ' (GET)', 0)
  elseif is_counted then
    call('ZRANGE', lock, 0, 0)
  elseif not value then
    call('PTTL', lock)
    call('PEXPIRE', lock, 1)
    call('DEL', lock)
  end
  if call('SET', lock, token, 'NX', 'PX', ttl) then
    return {1, '', 0, 0, 0, '', ''}
  end
  return {0, call('PTTL', lock), -1, 0, '', 0, is_counted and 'p' or 'x', 1, 0,
    ''}
end

local function acquire()
  if call('EXISTS', lock) == 0 then
    call('GET', lock)
    call('PTTL', lock)
    call('PEXPIRE', lock, 1)
    call('DEL', lock)
  end
  if call('SET', lock, token, 'NX', 'PX', ttl) then
    return {1, '', 0, 0, 0, '', ''}
  end
  local is_counted = type(redis.pcall('GET', lock)) == 'table'
    and call('ZRANGE', lock, 0, 0)
  return {0, call('PTTL', lock), -1, 0, '', 0, is_counted and 'p' or 'x', 1, 0,
    ''}
end

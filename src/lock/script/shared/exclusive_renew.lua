local function renew()
  if call('GET', lock) ~= token then return 0 end
  if call('PTTL', lock) < ttl then call('PEXPIRE', lock, ttl) end
  return 1
end

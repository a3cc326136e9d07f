local function renew()
  local time, till = call('TIME'), tonumber(call('ZSCORE', lock, token)) or 0
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if till <= now then return 0 end
  if till < now + ttl then call('ZADD', lock, 'XX', now + ttl, token) end
  if call('PTTL', lock) < 3 * ttl then call('PEXPIRE', lock, 3 * ttl) end
  return 1
end

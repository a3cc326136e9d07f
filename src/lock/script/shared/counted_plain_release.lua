if keep_ms == '0' then return call('ZREM', lock, token) end
if not call('ZSCORE', lock, token) then return 0 end
local time = call('TIME')
local till = time[1] * 1000 + math.floor(time[2] / 1000) + keep_ms
call('ZADD', lock, 'XX', till, token)
call('PEXPIRE', lock, math.max(keep_ms, call('PTTL', lock)))
return 1

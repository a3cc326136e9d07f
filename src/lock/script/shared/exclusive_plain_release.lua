if call('GET', lock) ~= token then return 0 end
if keep_ms == '0' then return call('DEL', lock) end
call('SET', lock, token .. ':kept', 'PX', keep_ms)
return 1

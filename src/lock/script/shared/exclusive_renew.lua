if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('PTTL', KEYS[1]) >= tonumber(ARGV[2]) then return 1 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])

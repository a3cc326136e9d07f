-- An exclusive lock is a string, the token of its holder. SET comes first: at
-- maxmemory only a script's first write is refused. And no ACL that permitted
-- it denies the one that gives the lock back, if DEL and PEXPIRE are denied.
call('SET', lock, token, 'PX', math.max(ttl, left))
undo = not is_held and function()
  redis.pcall('SET', lock, token, 'PX', 1)
  redis.pcall('DEL', lock)
  redis.pcall('PEXPIRE', lock, 0)
end

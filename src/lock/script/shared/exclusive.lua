-- An exclusive lock is a string, the token of its holder. SET comes first: at
-- maxmemory only a script's first write is refused. And no ACL that permitted
-- it denies the one that gives the lock back.
call('SET', lock, token, 'PX', math.max(ttl, left))
undo = {'SET', lock, token, 'PX', 1}

local double = dofile((arg[0]:match('^(.*)/') or '.') .. '/redis.lua')
return double

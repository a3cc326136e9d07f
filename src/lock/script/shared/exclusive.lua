-- An exclusive lock is a string, the token of its holder.

local entry = 'h'

local function is_free() return not redis.pcall('GET', lock) end

-- SET comes first: at maxmemory only a script's first write is refused.
local function take(left)
  call('SET', lock, token, 'PX', math.max(ttl, left))
end

-- Whatever an ACL denies, it is not SET.
local function give_back() redis.pcall('SET', lock, token, 'PX', 1) end

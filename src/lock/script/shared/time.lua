-- The server's clock, the only one on the wire (protocol rule R4).
local time = redis.pcall('TIME')
if time.err then return {err = time.err .. ' (TIME)'} end
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The server's clock, the only one on the wire (protocol rule R4).
local no_time, time = call('TIME')
if no_time then return no_time end
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function now_us()
  return time[1] * 1000000 + time[2]
end

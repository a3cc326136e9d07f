local function owns(other) return held.kind == 'x' and held.first == other end
local function free_places() return held.count == 0 and 1 or 0 end
local function follow_counted() end

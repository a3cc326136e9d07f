-- The text of any key may be anybody's: only what is in range is passed on,
-- because an answer out of range breaks the protocol.

-- The text if it is a whole number up to that, or nil.
local function digits(text, most)
  return text and #text < 17 and string.find(text, '^%d+$')
    and tonumber(text) <= most and text or nil
end

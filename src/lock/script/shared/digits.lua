-- The whole number in a text, or nil: any key may hold anybody's bytes.
local function digits(text, most)
  local number = text and #text < 17 and string.find(text, '^%d+$')
    and tonumber(text)
  return number and number <= most and number or nil
end

-- Uses info, now and digits().

-- The start of a holder, or nil unless it is near now: clocks are stepped.
local function start_of(text)
  local since = tonumber(digits(text, LIMIT_EXACT))
  return since and math.abs(now - since) < LIMIT_AGE_MS and since
end

-- The records of the holders with these tokens, false for one that has none;
-- and the number of permits. Counted locks keep a text for each token: since,
-- '-' or 'k' (kept for --min-hold), fence, pid, host, user; then a newline and
-- the label, if there is one: versions without labels take both for the user. An
-- exclusive lock whose record lacks its kind is kept. A hold has no command, and
-- nor has a pause.
local function read_records(kind, tokens)
  local about = call('HMGET', info, 'token', 'since', 'kept', 'fence', 'pid',
    'host', 'user', 'command', 'label', 'limit', 'kind', 'replaceable',
    'paused', unpack(tokens))
  local records = {}
  for i, token in ipairs(tokens) do
    local since, kept, fence, pid, host, user, command, label =
      unpack(about, 2, 9)
    local exists = about[1] == token
    kept = kept or not about[11]
    if kind ~= 'x' then
      exists = about[13 + i]
      since, kept, fence, pid, host, user =
        string.match(exists or '', '^(%d+) (.) (%d+) (%S*) (%S*) (.*)$')
      kept, command = kept == 'k', ''
      user, label = string.match(user or '', '^([^\n]*)\n?(.*)$')
    end
    records[i] = exists and {since = since, kept = kept, fence = fence,
      hold = command == '' and kind == 'x', pid = pid,
      replaceable = kind == 'x' and about[12],
      paused = kind == 'x' and about[13],
      host = string.sub(host or '', 1, LIMIT_TEXT),
      user = string.sub(user or '', 1, LIMIT_TEXT),
      command = string.sub(command or '', 1, LIMIT_LONG_TEXT),
      label = string.sub(label or '', 1, LIMIT_LABEL)}
  end
  return records, about[10]
end

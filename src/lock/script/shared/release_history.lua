-- For release: what is written about a run that has ended, or has waited in vain.

-- The run had lost its lock, and the next one has filed it without an end; or it
-- has left the lock, and the list may have refused it. Its success counts, unless
-- a later run has had one, and so does the one with its id. 1 if the list lacks
-- the run.
local function report_late()
  local function is_newer(success)
    local fence = tonumber(string.match(success or '', '^%d+ (%d+)')) or 0
    return fence < tonumber(string.match(run, '^%d+'))
  end
  local last = is_success and call('HMGET', info, 's', 'ds')
  if time.err or last and is_newer(last[1]) and note() then return 1
  elseif last and id ~= '' and is_newer(last[2]) then
    call('HSET', info, 'd', id, 'ds', now .. ' ' .. run)
  end
  if call('LREM', runs, 1, '- - - - ' .. run) == 1 then return push() end
  local list = table.concat(call('LRANGE', runs, 0, 9), '|')
  return (runs_life == '0' or string.find(list, run, 1, true)) and 0 or 1
end

-- Nothing is recorded twice: the first to do so frees the lock, or changes the
-- blank behind the token, and so does the last nested run for its outer one. A
-- grant that no job has used is no run.
local function record_end()
  local text = call('HMGET', info, entry)[1] or ''
  local mark = status and (code == 2 and ':' or code == 3 and ':kept')
  if member ~= '' then
    if code == 3 and string.sub(text, 1, #token + 2) == token .. ': ' then
      note(token .. ':kept' .. string.sub(text, #token + 2))
    end
    return 0
  elseif code == 1 or is_ours and text == ''
    or string.sub(text, 1, #token + 1) == token .. ' ' then
    return record(mark and token .. mark .. ' ' .. run or '')
  end
  return status and (not is_ours or is_late) and report_late() or 0
end

-- Notes that the wait is over, and who holds the lock: the entry of that one,
-- '-' of a foreign client, nobody if others are queued or all leases are over.
-- Where PEXPIRE is denied, nothing stays without a life.
local function note_wait()
  local holder, field, by = call('GET', lock), 'h', ''
  if type(holder) == 'table' then
    holder = call('ZRANGE', lock, -1, -1)[1]
    field = 'h:' .. (holder or '')
    local till = holder and tonumber(call('ZSCORE', lock, holder))
    if till and till < now then holder = nil end
  end
  if holder then
    local text = call('HMGET', info, field)[1] or ''
    by = string.sub(text, 1, #holder) == holder
      and string.sub(text, 1, LIMIT_ENTRY) or '-'
  end
  life = math.max(life, tonumber(call('PTTL', info)) or 0)
  if type(call('PEXPIRE', info, life)) == 'number' then
    call('HSET', info, 'k:wait', now .. ' ' .. ARGV[12] .. ' | ' .. by)
    call('PEXPIRE', info, life)
  end
end

-- For acquire: what a run gets that does not get the lock. Decides nothing about who
-- holds it.

-- Enters the queue or sends a heartbeat.
local function enter(rank, by)
  if not rank then
    if wait ~= '-' and call('ZCARD', queue) >= tonumber(wait) then return -1 end
    probe_queue()
    ticket = ticket or next_ticket()
    call('ZADD', queue, string.format('%.0f', ticket), me)
    rank = call('ZRANK', queue, me)
  end
  ticket = ticket or tonumber(call('ZSCORE', queue, me))
  local beat = rank < LIMIT_NEXT_POSITIONS and LIMIT_HEARTBEAT_NEXT_MS
    or LIMIT_HEARTBEAT_MS
  call('PEXPIRE', queue, 60000)
  call('ZADD', alive, now + 3 * beat, me)
  call('PEXPIRE', alive, 60000)
  if asked_ms then note_newest() end
  if rank == 0 and order == 'r' and held.kind == 'x' then
    local till = LIMIT_ORDER_MS + now
    note('o', held.first .. ' ' .. till .. ' ' .. me .. ' ' .. record .. ' | '
      .. by)
  end
  return rank
end

-- The lock has no room for us, or only for those in front of us.
local function busy()
  local is_like, rank = held.kind == letter, call('ZRANK', queue, me)
  local rings, position, by = {}, -1, ''
  local left = is_like and held.first_left or held.last_left
  if held.count > 0 then
    local member = is_like and held.first or held.last
    by = call('HMGET', info, field_of(held.kind, member))[1]
    by = entry_of(by, member)
  end
  -- A head that waits for another kind than ours is rung only if it has not been
  -- seen as the head yet: it may have died behind others.
  if places > 0 then
    if not rank then probe_queue() end
    local can_go = held.count == 0 or string.sub(head, 1, 1) == letter
    local to_ring
    left, to_ring = time_to_come(head,
      not can_go and 3 * LIMIT_HEARTBEAT_NEXT_MS or nil)
    if to_ring then rings[1] = head end
  end
  if wait ~= '' and wait ~= '?' then position = enter(rank, by) end
  if wait ~= '?' and position < 0 then
    local is_paused = string.find(by, '^%S+ %d+ %d+ pause ')
    skip(is_paused and 'paused' or 'busy',
      by == '' and held.count > 0 and '-' or by)
  end
  if position >= 0 and overtakes then rings[#rings + 1] = overtakes end
  return {0, math.max(-1, math.min(left, LIMIT_LEFT_MS)), position,
    call('ZCARD', queue), position >= 0 and string.format('%.0f', ticket) or '',
    places > 0 and 1 or 0, held.kind, held.count, now, by, unpack(rings)}
end

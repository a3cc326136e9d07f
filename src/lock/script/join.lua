-- A nested run joins those that use the lock. One of another kind joins
-- nothing. One that cannot be counted takes part all the same, and loses the
-- lock when the outer run ends first.
--
-- KEYS: as those of acquire, up to the nested runs at least.
-- ARGV: token, ttl in ms, letter of the outer run's kind, the nested run, life
--   of :n in ms, letter of the own kind or '' for a hold, which cannot join.
-- {1, fence or '', '', why it is not counted or ''}; {0}: not held by that
-- token; {2}: held in another kind.
local lock, _, info, nested = unpack(KEYS)
local token, ttl, letter = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local run, life, wanted = ARGV[4], ARGV[5], ARGV[6]
-- include: call
-- include: time
-- include: digits
-- include: record
-- include: KIND
-- include: ours

return answer_of(function()
  local owned, record = is_ours(), {}
  if info then
    local done, records = pcall(read_records, letter, {token})
    record = done and records[1] or {}
  end
  if not owned or record.kept then return {0} end
  if wanted ~= letter then return {2} end
  lengthen(ttl)
  if not info then return {1, '', 'no key can lie beside the lock'} end
  local counted, failure = pcall(function()
    if not nested then return end
    -- What a release needs: a run that it cannot see, or not remove, is none.
    call('ZRANGE', nested, 0, 0)
    call('ZSCORE', nested, token)
    call('ZREM', nested, token)
    call('ZADD', nested, now + ttl, token .. ':' .. run)
    call('PEXPIRE', nested, life)
  end)
  return {1, digits(record.fence, LIMIT_EXACT) or '',
    counted and '' or failure}
end)

-- The run with that fence has another status than a release has recorded, or none
-- has recorded its end, because it has lost its lock; and it was no success.
-- Changes nothing that a later run has recorded.
--
-- KEYS: the last run (:r).
-- ARGV: the fence of the run, its status, the ms that it has waited, and why it
--   has ended.
-- {1}: done; {0}: it is not the last run.
local history = KEYS[1]
local fence, status, wait, reason = unpack(ARGV)
-- include: call
-- include: time
-- include: history

return answer_of(function()
  local about = call('HMGET', history, 'fence', 'success_fence', 'end')
  local ended = string.format('%.0f', now)
  if about[1] == fence then
    ended = about[3] ~= '' and about[3] or ended
    call('HSET', history, 'end', ended, 'status', status, 'more',
      table.concat({fence, ended, status, wait, reason}, ' '))
  else
    end_filed_run(fence, ended, status, wait, reason)
  end
  if about[2] == fence then
    call('HSET', history, 'success', '', 'success_fence', '',
      'success_host', '')
  end
  return {about[1] == fence and 1 or 0}
end)

-- Records how the run with that fence has ended, which no release has recorded,
-- or not so: its lock was lost, or the lease had ended before the release. Status
-- 0 is a success inside the lease. With any other the run was none, whatever a
-- release has recorded: the success before it is forgotten. Changes nothing that
-- a later run has recorded.
--
-- KEYS: the last run (:r).
-- ARGV: the fence of the run, its status, the ms that it has waited, why it has
--   ended, how many ms ago, the life of :r in ms, host, and the id of --once-id
--   or ''.
-- {1}: done; {0}: nothing is known of that run any more. An error if nothing
-- could be written: the run tries again, and says so at last.
local history, history_life = KEYS[1], tonumber(ARGV[6])
local fence, status, wait, reason, ago = unpack(ARGV)
local host, id = ARGV[7], ARGV[8]
-- include: call
-- include: time
-- include: history

local function add_success(fields, ended, later, id_success)
  if not later then
    for _, text in ipairs({'success', ended, 'success_fence', fence,
      'success_host', host}) do
      fields[#fields + 1] = text
    end
  end
  local before = tonumber(id_success) or 0
  if id ~= '' and (not later or before < tonumber(ended)) then
    for _, text in ipairs({'id', id, 'id_success', ended, 'id_host', host}) do
      fields[#fields + 1] = text
    end
  end
end

return answer_of(function()
  local about = call('HMGET', history, 'fence', 'success_fence', 'end',
    'id_success')
  local ended = string.format('%.0f', now - ago)
  local known, fields, failure = about[1] == fence, {}, nil
  if known then
    ended = about[3] ~= '' and about[3] or ended
    fields = {'end', ended, 'status', status, 'more',
      table.concat({fence, ended, status, wait, reason}, ' ')}
  else
    known, failure = end_filed_run(fence, ended, status, wait, reason)
  end
  if status == '0' then
    local later = (tonumber(about[2]) or 0) > tonumber(fence)
    add_success(fields, ended, later, about[4])
  elseif about[2] == fence then
    for _, name in ipairs({'success', 'success_fence', 'success_host'}) do
      fields[#fields + 1], fields[#fields + 2] = name, ''
    end
  end
  if fields[1] then failure = write_history(unpack(fields)) or failure end
  if failure then error(failure, 0) end
  return {known and 1 or 0}
end)

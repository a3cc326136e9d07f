-- The run of several locks that a release has recorded as a success has lost
-- another lock: its status was another one, and it was no success. Changes
-- nothing that a later run has recorded.
--
-- KEYS: the last run (:r). ARGV: the fence of the run, its status.
-- {1}: done; {0}: nothing was left of it.
local about = redis.call('HMGET', KEYS[1], 'fence', 'success_fence')
local is_last, is_success = about[1] == ARGV[1], about[2] == ARGV[1]

if is_last then redis.call('HSET', KEYS[1], 'status', ARGV[2]) end
if is_success then
  redis.call('HSET', KEYS[1], 'success', '', 'success_fence', '',
    'success_host', '')
end
return {(is_last or is_success) and 1 or 0}

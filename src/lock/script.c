#include "lock/script.h"

/* Each line of Lua has its own line here: clang-format would fill them up. */
/* clang-format off */

/* --- what scripts are made of ------------------------------------------ */

/* pcall hands an error over as the server words it, where Redis before 7 wraps
 * what call raises into a text of its own; the command is added, since a denied
 * one is not named there. */
#define FAILURE \
	"local function failure(command, reply)\n" \
	"  if type(reply) == 'table' and reply.err then\n" \
	"    return {err = reply.err .. ' (' .. command .. ')'}\n" \
	"  end\n" \
	"end\n"

#define NOW \
	"local time = redis.pcall('TIME')\n" \
	"if failure('TIME', time) then return failure('TIME', time) end\n" \
	"local now_us = time[1] * 1000000 + time[2]\n" \
	"local now = math.floor(now_us / 1000)\n"

/* A sorted set that never ends, or whose scores are no times, is somebody's data
 * and no lock. Answers its ends where it is one, else an error. */
#define ENDS \
	"local function ends(lock, left)\n" \
	"  local first = redis.pcall('ZRANGE', lock, 0, 0, 'WITHSCORES')\n" \
	"  if first.err then return failure('ZRANGE', first) end\n" \
	"  local last = redis.pcall('ZRANGE', lock, -1, -1, 'WITHSCORES')\n" \
	"  if left < 0 or tonumber(first[2]) < 1e12 or tonumber(last[2]) > 1e14 then\n" \
	"    return {err = 'WRONGTYPE a sorted set, but none of leases'}\n" \
	"  end\n" \
	"  return {}, first, last\n" \
	"end\n"

/* A server does nothing else while a script runs, so one call removes 500 expired
 * members from the front of a sorted set at most, fewer if they are long. stays()
 * answers what makes a member stay, or an error; forget() cleans up after those
 * that were removed. Returns the first member that stays and the reason, false if
 * the set is empty now, true if the limit was reached first, or an error. */
#define SWEEP \
	"local function sweep(set, stays, forget)\n" \
	"  local size, room = 1, 500\n" \
	"  while room > 0 do\n" \
	"    local front = redis.pcall('ZRANGE', set, 0, size - 1, 'WITHSCORES')\n" \
	"    if front.err then return failure('ZRANGE', front) end\n" \
	"    local dead, first, reason = {}, false, false\n" \
	"    for i = 1, #front, 2 do\n" \
	"      first, reason = front[i], stays(front[i], tonumber(front[i + 1]))\n" \
	"      if reason then break end\n" \
	"      dead[#dead + 1] = first\n" \
	"      room = room - 1 - #first / 1000\n" \
	"    end\n" \
	"    if type(reason) == 'table' then return reason end\n" \
	"    if #dead > 0 then\n" \
	"      local gone = redis.pcall('ZREM', set, unpack(dead))\n" \
	"      if type(gone) == 'table' then return failure('ZREM', gone) end\n" \
	"      forget(dead)\n" \
	"    end\n" \
	"    if reason then return first, reason end\n" \
	"    if #front < 2 * size then return false end\n" \
	"    size = 50\n" \
	"  end\n" \
	"  return true\n" \
	"end\n"

/* UNLINK frees a large value in the background, but access rules that were made
 * for earlier versions lack it. DEL follows in any case: a server that refuses it
 * must refuse acquire, since a release needs it. */
#define WIPE \
	"local function wipe(...)\n" \
	"  redis.pcall('UNLINK', ...)\n" \
	"  return redis.pcall('DEL', ...)\n" \
	"end\n"

/* Who has the lock: kind, how many, whose lease ends first and whose last, and
 * in how many ms; or an error. Expired holders are removed. They never count, but
 * a lock that has only expired holders left is not free while there are more than
 * one call removes: the kinds must not mix. */
#define LOOK ENDS \
	"local function look(lock, info, now)\n" \
	"  local owner = redis.pcall('GET', lock)\n" \
	"  local left = redis.pcall('PTTL', lock)\n" \
	"  if failure('PTTL', left) then return failure('PTTL', left) end\n" \
	"  if type(owner) == 'string' then\n" \
	"    return {kind = 'x', count = 1, first = owner, last = owner,\n" \
	"      first_left = left, last_left = left}\n" \
	"  elseif not owner then\n" \
	"    return {count = 0}\n" \
	"  elseif string.sub(owner.err, 1, 9) ~= 'WRONGTYPE' then\n" \
	"    return failure('GET', owner)\n" \
	"  end\n" \
	"  local wrong, first, last = ends(lock, left)\n" \
	"  if wrong.err then return wrong end\n" \
	"  local swept = tonumber(first[2]) < now and sweep(lock,\n" \
	"    function(member, till) return till >= now end,\n" \
	"    function(dead)\n" \
	"      if not info then return end\n" \
	"      for i, member in ipairs(dead) do\n" \
	"        local reader = string.sub(member, 1, 2) == 's:'\n" \
	"        dead[i] = reader and string.sub(member, 3) or member\n" \
	"      end\n" \
	"      redis.pcall('HDEL', info, unpack(dead))\n" \
	"    end)\n" \
	"  if type(swept) == 'table' then return swept end\n" \
	"  local count = redis.pcall('ZCOUNT', lock, now, '+inf')\n" \
	"  if type(count) == 'table' then return failure('ZCOUNT', count) end\n" \
	"  if count == 0 then return {count = 0, unswept = swept == true} end\n" \
	"  if swept then\n" \
	"    first = redis.pcall('ZRANGE', lock, -count, -count, 'WITHSCORES')\n" \
	"  end\n" \
	"  local kind = string.sub(first[1], 1, 2) == 's:' and 's' or 'p'\n" \
	"  return {kind = kind, count = count,\n" \
	"    first = first[1], first_left = first[2] - now,\n" \
	"    last = last[1], last_left = last[2] - now}\n" \
	"end\n"

/* The first waiter in the queue that is alive, and until when; or as sweep().
 * Waiters whose heartbeats stopped are removed from before it. So are those whose
 * time is further ahead than any heartbeat sets it (a clock was stepped), and
 * names that are too long for an answer. The caller is alive. */
#define LIVE_HEAD SWEEP \
	"local function live_head(queue, alive, me, now)\n" \
	"  return sweep(queue, function(head)\n" \
	"    if head == me then return now end\n" \
	"    local till = redis.pcall('ZSCORE', alive, head)\n" \
	"    if failure('ZSCORE', till) then return failure('ZSCORE', till) end\n" \
	"    till = tonumber(till)\n" \
	"    return till and till >= now and till <= now + 20000\n" \
	"      and #head < 1024 and till\n" \
	"  end, function(dead) redis.pcall('ZREM', alive, unpack(dead)) end)\n" \
	"end\n"

/* Those at the front of the line who may go together beside the holders, and
 * are to be rung. Who has been rung before, or named (half a millisecond in its
 * score), is left alone, but for the first when it is to be rung again: many who
 * come together would all ring the same. What is no waiter's name has no bell, and
 * a second. Looked at from behind, as those before one who has been rung mostly
 * have, too. Also returns what is the matter with the head, as live_head(). */
#define ROUSE \
	"local function rouse(queue, alive, me, held, limit, now, again)\n" \
	"  local list = {}\n" \
	"  local head = live_head(queue, alive, me, now)\n" \
	"  if type(head) ~= 'string' then return list, head end\n" \
	"  local letter = string.sub(head, 1, 1)\n" \
	"  local room = 50\n" \
	"  if held.count > 0 and (letter == 'x' or letter ~= held.kind) then\n" \
	"    return list\n" \
	"  elseif letter == 'p' then\n" \
	"    room = math.min((limit or held.count + 1) - held.count, room)\n" \
	"  elseif letter ~= 's' then\n" \
	"    room = 1\n" \
	"  end\n" \
	"  if room < 1 then return list end\n" \
	"  local front = redis.pcall('ZRANGE', queue, 0, room - 1)\n" \
	"  local i = 1\n" \
	"  while front[i + 1] and string.sub(front[i + 1], 1, 1) == letter do\n" \
	"    i = i + 1\n" \
	"  end\n" \
	"  while i > 0 do\n" \
	"    local till = tonumber(redis.pcall('ZSCORE', alive, front[i]))\n" \
	"    local is_new = till and till > now + 1000 and till % 1 == 0\n" \
	"    if is_new then\n" \
	"      local name = string.sub(front[i], 39, 39) == ':'\n" \
	"        and string.find(front[i], '^[xsp]:[%x-]+:%d*@')\n" \
	"      till = name and till + 0.5 or now + 1000\n" \
	"      redis.pcall('ZADD', alive, till, front[i])\n" \
	"    end\n" \
	"    if is_new or i == 1 and again then table.insert(list, 1, front[i]) end\n" \
	"    if till and till >= now and not is_new then i = math.min(i, 2) end\n" \
	"    i = i - 1\n" \
	"  end\n" \
	"  return list\n" \
	"end\n"

/* Who is rung has a second to come; in one step, as somebody who rings may die
 * on the way. One element at most, and none that outlives a waiter who has
 * gone. */
#define RING \
	"local function ring(queue, alive, waiter, bell, now)\n" \
	"  if not redis.pcall('ZSCORE', queue, waiter) then return end\n" \
	"  redis.pcall('ZADD', alive, now + 1000, waiter)\n" \
	"  redis.pcall('DEL', bell)\n" \
	"  redis.pcall('RPUSH', bell, 1)\n" \
	"  redis.pcall('PEXPIRE', bell, 10000)\n" \
	"end\n"

/* What a key holds is anybody's: a text that is a number up to that, or nil. No
 * other is answered, as an answer out of range is a broken protocol. */
#define DIGITS \
	"local function digits(text, most)\n" \
	"  return text and #text < 17 and string.find(text, '^%d+$')\n" \
	"    and tonumber(text) <= most and text or nil\n" \
	"end\n"

/* The start of a holder, within ten years of now: clocks are stepped. */
#define START \
	"local function start(text, now)\n" \
	"  local since = tonumber(digits(text, 2 ^ 53 - 1))\n" \
	"  return since and math.abs(now - since) < 315619200000 and since\n" \
	"end\n"

/* --- the kinds --------------------------------------------------------- */

/* Each kind tells: has it granted the lock to our token, how many more of us
 * fit beside the holders, what it takes to grant it, to lengthen it, to free
 * it, and to leave it to the server for some time; and about the former tokens,
 * under which tries were not answered: has it granted the lock to one, and what
 * it takes to free that. */
#define EXCLUSIVE \
	"local function owns()\n" \
	"  local owner = redis.pcall('GET', lock)\n" \
	"  if type(owner) == 'table' then return failure('GET', owner) end\n" \
	"  return owner == token\n" \
	"end\n" \
	"local function inherits()\n" \
	"  local owner = redis.pcall('GET', lock)\n" \
	"  for _, other in ipairs(former) do\n" \
	"    if owner == other then return true end\n" \
	"  end\n" \
	"end\n" \
	"local function forget()\n" \
	"  if inherits() then redis.pcall('DEL', unpack({lock, info})) end\n" \
	"end\n" \
	"local function holds(other) return other == token end\n" \
	"local function room(held) return held.count == 0 and 1 or 0 end\n" \
	"local function take(held, ttl, now, number)\n" \
	"  return {{'DEL', info}, {'HSET', info, 'token', token, 'host', ARGV[6],\n" \
	"    'pid', ARGV[7], 'user', ARGV[8], 'command', ARGV[9], 'fence', number,\n" \
	"    'since', string.format('%.0f', now), 'kind', 'x'}},\n" \
	"    {{'SET', lock, token, 'PX', ttl}}\n" \
	"end\n" \
	"local function lengthen(ttl)\n" \
	"  local left = redis.pcall('PTTL', lock)\n" \
	"  if type(left) == 'table' then return failure('PTTL', left) end\n" \
	"  return left < ttl\n" \
	"    and failure('PEXPIRE', redis.pcall('PEXPIRE', lock, ttl))\n" \
	"end\n" \
	"local function drop()\n" \
	"  return failure('DEL', redis.pcall('DEL', unpack({lock, info})))\n" \
	"end\n"

/* To leave it to the server for --min-hold, and whether that has been done. */
#define KEEP_EXCLUSIVE \
	"local function keep(ms)\n" \
	"  if info then redis.pcall('HSET', info, 'kept', 1) end\n" \
	"  return failure('PEXPIRE', redis.pcall('PEXPIRE', lock, ms))\n" \
	"end\n" \
	"local function is_kept()\n" \
	"  local about = info and redis.pcall('HMGET', info, 'token', 'kept') or {}\n" \
	"  return about[1] == token and about[2]\n" \
	"end\n"

/* A sorted set, member -> end of its lease. Permits have the token itself as
 * member, as DistributedLock.Redis has; readers another one, to be told apart.
 */
#define COUNTED \
	"local function member_of(one) return letter == 's' and 's:' .. one or one end\n" \
	"local member = member_of(token)\n" \
	"local function owns(one)\n" \
	"  local till = redis.pcall('ZSCORE', lock, one or member)\n" \
	"  if type(till) == 'table' then\n" \
	"    local other = string.sub(till.err, 1, 9) == 'WRONGTYPE'\n" \
	"    return not other and failure('ZSCORE', till)\n" \
	"  end\n" \
	"  return till and tonumber(till) >= now\n" \
	"end\n" \
	"local function inherits()\n" \
	"  for _, other in ipairs(former) do\n" \
	"    if owns(member_of(other)) == true then return true end\n" \
	"  end\n" \
	"end\n" \
	"local function forget()\n" \
	"  for _, other in ipairs(former) do\n" \
	"    redis.pcall('ZREM', lock, member_of(other))\n" \
	"    if info then redis.pcall('HDEL', info, other) end\n" \
	"  end\n" \
	"end\n" \
	"local function holds(other) return owns(member_of(other)) == true end\n" \
	"local function room(held)\n" \
	"  if held.count > 0 and held.kind ~= letter then return 0 end\n" \
	"  return (limit or math.huge) - held.count\n" \
	"end\n" \
	"local function take(held, ttl, now, number)\n" \
	"  local about = string.format('%.0f', now) .. ' - ' .. number .. ' '\n" \
	"    .. ARGV[7] .. ' ' .. ARGV[6] .. ' ' .. ARGV[8]\n" \
	"  local life = math.max(3 * ttl, redis.pcall('PTTL', lock))\n" \
	"  local record = {{'HSET', info, 'kind', letter, 'limit', limit or 0,\n" \
	"    token, about}}\n" \
	"  if held.count == 0 then table.insert(record, 1, {'DEL', info}) end\n" \
	"  local grant = {{'ZADD', lock, now + ttl, member}, {'PEXPIRE', lock, life}}\n" \
	"  for _, other in ipairs(former) do\n" \
	"    record[#record + 1] = {'HDEL', info, other}\n" \
	"    grant[#grant + 1] = {'ZREM', lock, member_of(other)}\n" \
	"  end\n" \
	"  return record, grant\n" \
	"end\n" \
	"local function lengthen(ttl)\n" \
	"  local till = tonumber(redis.pcall('ZSCORE', lock, member)) or 0\n" \
	"  local left = redis.pcall('PTTL', lock)\n" \
	"  if type(left) == 'table' then return failure('PTTL', left) end\n" \
	"  return till < now + ttl and failure('ZADD',\n" \
	"      redis.pcall('ZADD', lock, 'XX', now + ttl, member))\n" \
	"    or left < 3 * ttl\n" \
	"      and failure('PEXPIRE', redis.pcall('PEXPIRE', lock, 3 * ttl))\n" \
	"end\n" \
	"local function drop()\n" \
	"  local failed = failure('ZREM', redis.pcall('ZREM', lock, member))\n" \
	"  if failed or not info then return failed end\n" \
	"  redis.pcall('HDEL', info, token)\n" \
	"  if redis.pcall('ZCARD', lock) == 0 then wipe(info) end\n" \
	"end\n"

#define KEEP_COUNTED \
	"local function keep(ms)\n" \
	"  local record = info and redis.pcall('HGET', info, token)\n" \
	"  if type(record) == 'string' then\n" \
	"    redis.pcall('HSET', info, token, (string.gsub(record, ' %- ', ' k ', 1)))\n" \
	"  end\n" \
	"  local left = redis.pcall('PTTL', lock)\n" \
	"  if type(left) == 'number' and left < ms then\n" \
	"    redis.pcall('PEXPIRE', lock, ms)\n" \
	"  end\n" \
	"  return failure('ZADD', redis.pcall('ZADD', lock, 'XX', now + ms, member))\n" \
	"end\n" \
	"local function is_kept()\n" \
	"  local about = info and redis.pcall('HMGET', info, token) or {}\n" \
	"  return about[1] and string.find(about[1], '^%d+ k ')\n" \
	"end\n"

/* --- acquire ----------------------------------------------------------- */

/* The lock is written last: a server that refuses a step has granted nothing.
 * SET comes first, as a full server refuses a script's first write only; PTTL
 * and PEXPIRE are tried before anything without a life of its own is written,
 * so that an ACL which would let us neither renew nor release is met here. The
 * own token is granted anew, with a new fence: nobody has seen the one whose
 * answer was lost.
 *
 * Who finds the lock free behind another's back is told to ring that one, unless
 * somebody has. */
#define ACQUIRE_BEGIN FAILURE DIGITS START LIVE_HEAD ROUSE LOOK WIPE NOW \
	"local lock, fence, info, nested, queue, alive, bell = unpack(KEYS)\n" \
	"local token, ttl, life = ARGV[1], tonumber(ARGV[2]), ARGV[3]\n" \
	"local letter, limit = ARGV[4], tonumber(ARGV[5])\n" \
	"local me, wait, most = ARGV[10], ARGV[11] == '1', tonumber(ARGV[12])\n" \
	"local former = {unpack(ARGV, 14)}\n"

/* Whether all before us can go together with us, and all find room. Nobody joins
 * a group across more than 1,000 waiters. */
#define IN_TURN \
	"local function in_turn(head, rank, places)\n" \
	"  if rank == 0 then return true end\n" \
	"  if string.sub(head, 1, 1) ~= letter or (rank or 1) >= places then\n" \
	"    return false\n" \
	"  end\n" \
	"  local most = rank or places < math.huge and places or 0\n" \
	"  if most == 0 or most > 1000 then most = 1001 end\n" \
	"  local ahead = redis.pcall('ZRANGE', queue, 0, most - 1)\n" \
	"  if #ahead >= places or #ahead > 1000 then return false end\n" \
	"  for _, waiter in ipairs(ahead) do\n" \
	"    if string.sub(waiter, 1, 1) ~= letter then return false end\n" \
	"  end\n" \
	"  return true\n" \
	"end\n"

#define ENTER \
	"local function enter(rank)\n" \
	"  if not rank then\n" \
	"    local last = redis.pcall('ZRANGE', queue, -1, -1, 'WITHSCORES')\n" \
	"    local ticket = math.max(now_us, (tonumber(last[2]) or 0) + 1)\n" \
	"    local failed = failure('ZADD', redis.pcall('ZADD', queue,\n" \
	"      string.format('%.0f', ticket), me))\n" \
	"    if failed then return failed end\n" \
	"    rank = redis.pcall('ZRANK', queue, me)\n" \
	"  end\n" \
	"  local heartbeats = rank < 2 and 4500 or 15000\n" \
	"  return failure('ZADD', redis.pcall('ZADD', alive, now + heartbeats, me))\n" \
	"    or failure('PEXPIRE', redis.pcall('PEXPIRE', queue, 60000))\n" \
	"    or failure('PEXPIRE', redis.pcall('PEXPIRE', alive, 60000)) or rank\n" \
	"end\n"

/* One of those who have it, into the busy answer, from 'free' to the time it has
 * been held. */
#define ABOUT \
	"local function tell_holder(busy, held, one)\n" \
	"  busy[5], busy[6], busy[7] = 'foreign', held.kind, held.count\n" \
	"  if not info then return end\n" \
	"  if held.kind == 's' then one = string.sub(one, 3) end\n" \
	"  local record = redis.pcall('HMGET', info, 'token', 'since', 'pid', 'host',\n" \
	"    'user', 'kept', 'limit', one)\n" \
	"  if record.err then return end\n" \
	"  local since, flag, pid, host, user\n" \
	"  if held.kind == 'x' and record[1] == one then\n" \
	"    since, pid, host, user = record[2], record[3], record[4], record[5]\n" \
	"    flag = record[6] and 'k'\n" \
	"  elseif held.kind ~= 'x' and record[8] then\n" \
	"    busy[8] = tonumber(digits(record[7], 1000000) or 0)\n" \
	"    since, flag, pid, host, user =\n" \
	"      string.match(record[8], '^(%d+) (.) %d+ (%S*) (%S*) (.*)$')\n" \
	"  end\n" \
	"  since = start(since, now)\n" \
	"  if not since then return end\n" \
	"  busy[5] = flag == 'k' and 'kept' or 'known'\n" \
	"  for i, field in ipairs({host or '', digits(pid, 2 ^ 22) or '', user or ''}) do\n" \
	"    busy[8 + i] = string.sub(field, 1, 255)\n" \
	"  end\n" \
	"  busy[12] = math.max(0, now - since)\n" \
	"end\n"

#define ACQUIRE IN_TURN ENTER ABOUT \
	"local held = look(lock, info, now)\n" \
	"if held.err then return held end\n" \
	"local own = held.count > 0 and (held.kind == 'x') == (letter == 'x')\n" \
	"  and (owns() or inherits())\n" \
	"if type(own) == 'table' then return own end\n" \
	"local places, head, till, rank = room(held), false, now, false\n" \
	"if queue then\n" \
	"  head, till = live_head(queue, alive, me, now)\n" \
	"  if type(head) == 'table' then return head end\n" \
	"  rank = head and redis.pcall('ZRANK', queue, me)\n" \
	"  if type(rank) == 'table' then return failure('ZRANK', rank) end\n" \
	"end\n" \
	"local again = held.unswept or head == true and (wait or places > 0)\n" \
	"if not own and (again or places < 1\n" \
	"  or head and not in_turn(head, rank, places)) then\n" \
	"  local busy = {again and -1 or 0, 0, -1, 0, 'free', '', 0, 0, '', '', '',\n" \
	"    0, 0}\n" \
	"  local rings = {}\n" \
	"  if held.count > 0 and held.kind == letter then\n" \
	"    busy[2] = held.first_left\n" \
	"    tell_holder(busy, held, held.first)\n" \
	"  elseif held.count > 0 then\n" \
	"    busy[2] = held.last_left\n" \
	"    tell_holder(busy, held, held.last)\n" \
	"  end\n" \
	"  if places > 0 and not again then\n" \
	"    busy[13] = 1\n" \
	"    rings = rouse(queue, alive, me, held, limit, now)\n" \
	"    if held.count == 0 or string.sub(head, 1, 1) == letter then\n" \
	"      busy[2] = math.min(till - now, 1000)\n" \
	"    else\n" \
	"      busy[2] = held.last_left\n" \
	"    end\n" \
	"  end\n" \
	"  if queue and (wait or most) then\n" \
	"    local waiting = redis.pcall('ZCOUNT', alive, now, now + 20000)\n" \
	"    if type(waiting) == 'table' then return failure('ZCOUNT', waiting) end\n" \
	"    busy[4] = waiting\n" \
	"    if wait and (rank or not most or waiting < most) then\n" \
	"      rank = enter(rank)\n" \
	"      if type(rank) == 'table' then return rank end\n" \
	"      busy[3] = rank\n" \
	"    end\n" \
	"  end\n" \
	"  busy[2] = math.max(-1, math.min(busy[2], 3155760000000))\n" \
	"  for i, waiter in ipairs(rings) do busy[13 + i] = waiter end\n" \
	"  return busy\n" \
	"end\n" \
	"local last = fence and redis.pcall('GET', fence)\n" \
	"last = type(last) == 'string' and tonumber(last) or 0\n" \
	"if not (last > 0 and last < 2 ^ 53 - 1) then last = 0 end\n" \
	"local number = string.format('%.0f', math.max(last + 1, now_us))\n" \
	"local said = held.count > 0 and held.kind == 'p' and info\n" \
	"  and redis.pcall('HMGET', info, 'limit')[1] or nil\n" \
	"local record, grant = take(held, ttl, now, number)\n" \
	"local steps = {}\n" \
	"if fence then\n" \
	"  steps = {{'SET', fence, number, 'PX', life}, {'PEXPIRE', fence, life}}\n" \
	"  for _, step in ipairs(record) do steps[#steps + 1] = step end\n" \
	"  steps[#steps + 1] = {'PEXPIRE', info, life}\n" \
	"end\n" \
	/* Who was rung and then taken for dead may find no line, but a bell. */ \
	"if queue and (head or wait) then steps[#steps + 1] = {'DEL', bell} end\n" \
	"if head then\n" \
	"  steps[#steps + 1] = {'ZREM', queue, me}\n" \
	"  steps[#steps + 1] = {'ZREM', alive, me}\n" \
	"end\n" \
	"for _, step in ipairs(grant) do steps[#steps + 1] = step end\n" \
	"for _, step in ipairs(steps) do\n" \
	"  local reply\n" \
	"  if step[1] == 'DEL' then\n" \
	"    reply = wipe(step[2])\n" \
	"  else\n" \
	"    reply = redis.pcall(unpack(step))\n" \
	"  end\n" \
	"  local failed = failure(step[1], reply)\n" \
	"  if failed then return failed end\n" \
	"end\n" \
	"local granted = {1, fence and number or '', '',\n" \
	"  tonumber(digits(said, 1000000) or 0)}\n" \
	"if not head then return granted end\n" \
	"head = live_head(queue, alive, me, now)\n" \
	"granted[3] = type(head) == 'string' and head or ''\n" \
	"if places < 2 or type(head) ~= 'string' then return granted end\n" \
	"held.count, held.kind = held.count + (own and 0 or 1), letter\n" \
	"for i, waiter in ipairs(rouse(queue, alive, me, held, limit, now)) do\n" \
	"  granted[4 + i] = waiter\n" \
	"end\n" \
	"return granted\n"

const char script_acquire_exclusive[] = ACQUIRE_BEGIN EXCLUSIVE ACQUIRE;
const char script_acquire_counted[] = ACQUIRE_BEGIN COUNTED ACQUIRE;

/* --- renew ------------------------------------------------------------- */

/* The answer has a shape of its own, so that none of a neighbouring command is
 * taken for it. Only ever lengthens: a nested run with a short ttl must not
 * shorten it. */
#define RENEW_BEGIN FAILURE NOW \
	"local lock, info, fence, former = KEYS[1], nil, nil, {}\n" \
	"local token, ttl, letter, limit = ARGV[1], tonumber(ARGV[2]), ARGV[3]\n"

#define RENEW \
	"local owned = owns()\n" \
	"if type(owned) == 'table' then return owned end\n" \
	"if not owned then return {0} end\n" \
	"return lengthen(ttl) or {1}\n"

const char script_renew_exclusive[] = RENEW_BEGIN EXCLUSIVE RENEW;
const char script_renew_counted[] = RENEW_BEGIN COUNTED RENEW;

/* --- release ----------------------------------------------------------- */

/* Whether other nested runs of our token are alive, 'unknown' if one call cannot
 * say; and whether there are members at all. Expired members are skipped, and
 * those whose token does not hold the lock are removed, at most 500 in one call,
 * if they are many. */
#define OTHERS \
	"local function have_others(nested, run, now)\n" \
	"  local skip, kept, room = 0, 0, 500\n" \
	"  while room > 0 do\n" \
	"    local some = redis.pcall('ZRANGE', nested, skip, skip + 49, 'WITHSCORES')\n" \
	"    if some.err or not some[1] then return false, some.err or skip > 0 end\n" \
	"    local gone, expired = {}, false\n" \
	"    for i = 1, #some, 2 do\n" \
	"      local whose, which = string.match(some[i], '^(.*):([^:]*)$')\n" \
	"      expired = tonumber(some[i + 1]) < now\n" \
	"      if not expired and whose == token and which ~= run\n" \
	"        and which ~= 'released' then\n" \
	"        return true, true\n" \
	"      elseif not expired and kept < 500 then\n" \
	"        kept = kept + 1\n" \
	"      elseif not expired and not (whose and holds(whose)) then\n" \
	"        gone[#gone + 1] = some[i]\n" \
	"        room = room - 1 - #some[i] / 1000\n" \
	"      end\n" \
	"    end\n" \
	"    if #some < 100 then return false, true end\n" \
	"    local dead = expired and skip == 0\n" \
	"      and redis.pcall('ZCOUNT', nested, '-inf', '(' .. now)\n" \
	"    skip = type(dead) == 'number' and dead or skip + 50\n" \
	"    if gone[1] then\n" \
	"      local removed = redis.pcall('ZREM', nested, unpack(gone))\n" \
	"      if type(removed) == 'number' then skip = skip - #gone end\n" \
	"    end\n" \
	"  end\n" \
	"  return 'unknown', true\n" \
	"end\n"

/* Whatever becomes of the queue, the lock is freed. Whoever can go now is rung,
 * also when it wasn't we who freed it: the answer of a first try may have been
 * lost, or a waiter leaves who was rung, or whose kind kept others back. A lock
 * that the server is to keep for some time is looked at anew by the first in
 * line. */
#define RELEASE_BEGIN FAILURE LIVE_HEAD ROUSE RING LOOK WIPE \
	"local lock, fence, info, nested, queue, alive, bell, heads = unpack(KEYS)\n" \
	"local token, letter, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])\n" \
	"local number, kept, me = ARGV[4], tonumber(ARGV[5]) or 0, ARGV[6]\n" \
	"local run, expected = ARGV[7] or '', ARGV[8]\n" \
	"local former = {unpack(ARGV, 9)}\n" \
	"local time = redis.pcall('TIME')\n" \
	"local now = time.err and 0\n" \
	"  or time[1] * 1000 + math.floor(time[2] / 1000)\n"

/* Whoever leaves the lock to nested runs marks that with a score: +inf, or with
 * --min-hold 10^15 and the server's time until which the last of them keeps it.
 * The lease lasts that long, in case they are killed. */
#define MARK \
	"local mark = token .. ':released'\n" \
	"local function leave_to_nested()\n" \
	"  if kept > 0 then lengthen(kept) end\n" \
	"  redis.pcall('ZADD', nested,\n" \
	"    kept > 0 and string.format('%.0f', 1e15 + now + kept) or '+inf', mark)\n" \
	"end\n" \
	"local function left_to_keep()\n" \
	"  local till = tonumber(redis.pcall('ZSCORE', nested, mark)) or 0\n" \
	"  local left = math.floor(till - 1e15 - now)\n" \
	"  return left > 0 and left <= 31536000000 and left or 0\n" \
	"end\n"

/* Who comes behind those that are rung, unless its heartbeat is that of ranks 0
 * and 1: should the first be dead, it would notice after five seconds only. */
#define SLOW_AT \
	"local function slow_at(rank)\n" \
	"  local waiter = redis.pcall('ZRANGE', queue, rank, rank)[1]\n" \
	"  local till = waiter and tonumber(redis.pcall('ZSCORE', alive, waiter))\n" \
	"  return till and till > now + 4500 and till <= now + 20000 and waiter or ''\n" \
	"end\n"

#define RELEASE OTHERS MARK SLOW_AT \
	"local owned = owns()\n" \
	"if type(owned) == 'table' then\n" \
	"  if string.sub(owned.err, 1, 9) ~= 'WRONGTYPE' then return owned end\n" \
	"  owned = false\n" \
	"end\n" \
	"local others, any = false, true\n" \
	"if nested then\n" \
	"  if owned then others, any = have_others(nested, run, now) end\n" \
	"  local released = run == ''\n" \
	"    or type(redis.pcall('ZSCORE', nested, mark)) == 'string'\n" \
	"  if run ~= '' then redis.pcall('ZREM', nested, token .. ':' .. run) end\n" \
	"  if others == 'unknown' then return {2, 1, 0, ''} end\n" \
	"  if others and run == '' then leave_to_nested() end\n" \
	"  if owned and (others or not released) then return {2, 0, 0, ''} end\n" \
	"  if owned and run ~= '' then kept = math.max(kept, left_to_keep()) end\n" \
	"  if any and released then redis.pcall('ZREM', nested, mark) end\n" \
	"elseif run ~= '' then\n" \
	"  return {owned and 2 or 0, 0, 0, ''}\n" \
	"end\n" \
	"local answer = {0, 0, 0, ''}\n" \
	"if owned and kept > 0 then\n" \
	"  local failed = keep(kept)\n" \
	"  if failed then return failed end\n" \
	"  local first = queue and redis.pcall('ZRANGE', queue, 0, 0)[1] or nil\n" \
	"  return {3, 0, kept, '', first}\n" \
	"elseif owned then\n" \
	"  local failed = drop()\n" \
	"  if failed then return failed end\n" \
	"  if number and number ~= ''\n" \
	"    and redis.pcall('GET', fence) == number then\n" \
	"    redis.pcall('DEL', fence)\n" \
	"  end\n" \
	"  answer[1] = 1\n" \
	"elseif info and redis.pcall('HMGET', info, 'token')[1] == token then\n" \
	"  redis.pcall('DEL', info)\n" \
	"end\n" \
	"forget()\n" \
	"local held = look(lock, info, now)\n" \
	"if held.unswept then answer[2] = 1 end\n" \
	"if nested and any and held.count == 0 then\n" \
	"  local none = function() end\n" \
	"  local swept = sweep(nested, none, none)\n" \
	"  if swept == true then answer[2] = 1 end\n" \
	"  if type(swept) == 'table' then redis.pcall('DEL', nested) end\n" \
	"end\n" \
	"if not queue then return answer end\n" \
	"local first = redis.pcall('ZRANGE', queue, 0, 0)[1]\n" \
	"if not first then return answer end\n" \
	"redis.pcall('ZREM', queue, me)\n" \
	"redis.pcall('ZREM', alive, me)\n" \
	"redis.pcall('DEL', bell)\n" \
	"if held.err then return answer end\n" \
	"local again = owned and held.kind ~= 's' or first == me\n" \
	"local rung, head = rouse(queue, alive, me, held, limit, now, again)\n" \
	"if head == true then answer[2] = 1 end\n" \
	"if owned and rung[1] then answer[4] = slow_at(#rung) end\n" \
	"for _, waiter in ipairs(rung) do\n" \
	"  if waiter == expected then\n" \
	"    ring(queue, alive, waiter, heads, now)\n" \
	"  else\n" \
	"    answer[#answer + 1] = waiter\n" \
	"  end\n" \
	"end\n" \
	"return answer\n"

const char script_release_exclusive[] =
	RELEASE_BEGIN EXCLUSIVE KEEP_EXCLUSIVE RELEASE;
const char script_release_counted[] = RELEASE_BEGIN COUNTED KEEP_COUNTED RELEASE;

const char script_ring[] = FAILURE NOW RING
	"for i, waiter in ipairs(ARGV) do\n"
	"  ring(KEYS[1], KEYS[2], waiter, KEYS[i + 2], now)\n"
	"end\n"
	"return 1\n";

/* BLPOP of a waiter that is there has taken the element by now. */
const char script_ring_behind[] = FAILURE NOW RING
	"if redis.pcall('PEXPIRE', KEYS[3], 10000) == 1 then\n"
	"  ring(KEYS[1], KEYS[2], ARGV[1], KEYS[4], now)\n"
	"end\n"
	"return 1\n";

/* Of every kind, since what is short is the point of it. */
const char script_undo[] =
	"local lock, info, queue, alive, bell = unpack(KEYS)\n"
	"for _, token in ipairs({ARGV[1], unpack(ARGV, 3)}) do\n"
	"  if redis.pcall('GET', lock) == token then\n"
	"    redis.pcall('DEL', unpack({lock, info}))\n"
	"  else\n"
	"    redis.pcall('ZREM', lock, token, 's:' .. token)\n"
	"    if info then redis.pcall('HDEL', info, token) end\n"
	"  end\n"
	"end\n"
	"if queue then\n"
	"  redis.pcall('ZREM', queue, ARGV[2])\n"
	"  redis.pcall('ZREM', alive, ARGV[2])\n"
	"  redis.pcall('DEL', bell)\n"
	"end\n"
	"return 1\n";

/* --- nested runs ------------------------------------------------------- */

/* A run of another kind is told so, and joins nothing. Who can't be counted takes
 * part all the same, and loses the lock when the outer run ends first. */
#define JOIN_BEGIN FAILURE DIGITS NOW \
	"local lock, fence, info, nested = unpack(KEYS)\n" \
	"local token, ttl, letter = ARGV[1], tonumber(ARGV[2]), ARGV[3]\n" \
	"local run, life, wanted, limit = ARGV[4], ARGV[5], ARGV[6]\n" \
	"local former = {}\n"

#define JOIN \
	"local owned = owns()\n" \
	"if type(owned) == 'table' then return owned end\n" \
	"if not owned or is_kept() then return {0} end\n" \
	"if wanted ~= letter then return {2} end\n" \
	"local failed = lengthen(ttl)\n" \
	"if failed then return failed end\n" \
	"if not info then return {1, '', 'no key can lie beside the lock'} end\n" \
	"failed = nested and (failure('ZADD',\n" \
	"    redis.pcall('ZADD', nested, now + ttl, token .. ':' .. run))\n" \
	"  or failure('PEXPIRE', redis.pcall('PEXPIRE', nested, life)))\n" \
	"local about = redis.pcall('HMGET', info, 'token', 'fence', token)\n" \
	"local number = about[1] == token and about[2] or about[3]\n" \
	"  and string.match(about[3], '^%d+ . (%d+)')\n" \
	"return {1, digits(number, 2 ^ 53 - 1) or '', failed and failed.err or ''}\n"

const char script_join_exclusive[] = JOIN_BEGIN EXCLUSIVE KEEP_EXCLUSIVE JOIN;
const char script_join_counted[] = JOIN_BEGIN COUNTED KEEP_COUNTED JOIN;

const char script_stay[] = FAILURE NOW
	"redis.pcall('ZADD', KEYS[1], 'XX', now + ARGV[2], ARGV[1])\n"
	"return redis.pcall('PEXPIRE', KEYS[1], ARGV[3])\n";

/* Garbage in a helper key is told, and costs no more than what it hides. Only
 * whole numbers that Lua holds exactly are answered. */
const char script_look[] = FAILURE DIGITS START ENDS NOW
	"local lock, fence, info, queue, alive, nested = unpack(KEYS)\n"
	"local most, limit = tonumber(ARGV[1]), tonumber(ARGV[2])\n"
	"local problems = {}\n"
	"local function whole(number)\n"
	"  number = tonumber(number)\n"
	"  if not number or not (number > 0) then return 0 end\n"
	"  return math.floor(math.min(number, 9007199254740991))\n"
	"end\n"
	"local function damaged(key, what)\n"
	"  problems[#problems + 1] = key .. ': ' .. what .. ' is no number in range'\n"
	"end\n"
	"local function number(key, what, text, most)\n"
	"  local good = digits(text, most)\n"
	"  if text and not good then damaged(key, what) end\n"
	"  return good or ''\n"
	"end\n"
	"local function describe(host, pid, user, command, since, kept, fenced)\n"
	"  local began = start(since, now)\n"
	"  if not began then damaged(info, 'since') end\n"
	"  pid = number(info, 'pid', pid, 2 ^ 22)\n"
	"  fenced = number(info, 'fence', fenced, 2 ^ 53 - 1)\n"
	"  return since and 1 or 0, {string.sub(host or '', 1, 255), pid,\n"
	"    string.sub(user or '', 1, 255), string.sub(command or '', 1, 1024),\n"
	"    began or 0, kept and 1 or 0, fenced}\n"
	"end\n"
	"local function ask(command, key, ...)\n"
	"  if not key then return end\n"
	"  local reply = redis.pcall(command, key, ...)\n"
	"  local failed = failure(command, reply)\n"
	"  if not failed then return reply end\n"
	"  problems[#problems + 1] = key .. ': ' .. failed.err\n"
	"end\n"
	"local owner = redis.pcall('GET', lock)\n"
	"local left = redis.pcall('PTTL', lock)\n"
	"local failed = failure('PTTL', left)\n"
	"if failed then return failed end\n"
	"local kind, count, permits, members = '', 0, '', {}\n"
	"if type(owner) == 'string' then\n"
	"  kind, count, members = 'x', 1, {owner, left}\n"
	"elseif owner and string.sub(owner.err, 1, 9) ~= 'WRONGTYPE' then\n"
	"  return failure('GET', owner)\n"
	"elseif owner then\n"
	"  local wrong, first, last = ends(lock, left)\n"
	"  if wrong.err then return wrong end\n"
	"  local dead = redis.pcall('ZCOUNT', lock, '-inf', '(' .. now)\n"
	"  count = redis.pcall('ZCOUNT', lock, now, '+inf')\n"
	"  if type(count) == 'table' then return failure('ZCOUNT', count) end\n"
	"  left = count > 0 and last[2] - now or -2\n"
	"  if count > 0 then kind = string.sub(first[1], 1, 2) == 's:' and 's' or 'p' end\n"
	"  if count > 0 and most > 0 then\n"
	"    members = redis.pcall('ZRANGE', lock, dead, dead + most - 1, 'WITHSCORES')\n"
	"    for i = 2, #members, 2 do members[i] = members[i] - now end\n"
	"  end\n"
	"end\n"
	"local about = {}\n"
	"if kind == 'x' then\n"
	"  about = ask('HMGET', info, 'token', 'host', 'pid', 'user', 'command',\n"
	"    'since', 'kept', 'fence') or {}\n"
	"elseif kind == 'p' then\n"
	"  permits = number(info, 'limit', (ask('HMGET', info, 'limit') or {})[1], 1000000)\n"
	"end\n"
	"local holders, tokens, order, records = {}, {}, {}, {}\n"
	"for i = 1, #members, 2 do\n"
	"  local token = members[i]\n"
	"  if kind == 's' then token = string.sub(token, 3) end\n"
	"  tokens[token], order[#order + 1] = true, token\n"
	"end\n"
	"if kind ~= 'x' and order[1] then\n"
	"  records = ask('HMGET', info, unpack(order)) or {}\n"
	"end\n"
	"for i = 1, #members, 2 do\n"
	"  local token, one = order[(i + 1) / 2], {'', '', '', '', 0, 0, ''}\n"
	"  local known = 0\n"
	"  if kind == 'x' and about[1] == token then\n"
	"    known, one = describe(unpack(about, 2, 8))\n"
	"  elseif kind ~= 'x' then\n"
	"    local record = records[(i + 1) / 2]\n"
	"    local since, flag, fenced, pid, host, user =\n"
	"      string.match(record or '', '^(%d+) (.) (%d+) (%S*) (%S*) (.*)$')\n"
	"    if record then\n"
	"      known, one = describe(host, pid, user, '', since, flag == 'k', fenced)\n"
	"    end\n"
	"  end\n"
	"  local digest = #token <= 1024 and redis.sha1hex(members[i]) or ''\n"
	"  for _, field in ipairs({string.sub(token, 1, 1024), #token, digest,\n"
	"    math.floor(math.min(members[i + 1], 3155760000000)), known}) do\n"
	"    holders[#holders + 1] = field\n"
	"  end\n"
	"  for _, field in ipairs(one) do holders[#holders + 1] = field end\n"
	"end\n"
	"local waiting = ask('ZCOUNT', alive, now, now + 20000)\n"
	"local waiters = {}\n"
	"local line = limit > 0 and\n"
	"  ask('ZRANGE', queue, 0, limit - 1, 'WITHSCORES') or {}\n"
	"if not waiting then line = {} end\n"
	"for i = 1, #line, 2 do\n"
	"  local lives = tonumber(ask('ZSCORE', alive, line[i]) or 0)\n"
	"  if lives >= now and lives <= now + 20000 then\n"
	"    waiters[#waiters + 1] = line[i]\n"
	"    waiters[#waiters + 1] = whole((now_us - line[i + 1]) / 1000)\n"
	"  end\n"
	"end\n"
	"local last = number(fence, 'the fence', ask('GET', fence), 2 ^ 53 - 1)\n"
	"local runs, released = 0, 0\n"
	"local nest = ask('ZRANGE', nested, -1000, -1, 'WITHSCORES') or {}\n"
	"for i = 1, #nest, 2 do\n"
	"  local token, run = string.match(nest[i], '^(.*):([^:]*)$')\n"
	"  if token and tokens[token] and run == 'released' then\n"
	"    released = 1\n"
	"  elseif token and tokens[token] and tonumber(nest[i + 1]) > now then\n"
	"    runs = runs + 1\n"
	"  end\n"
	"end\n"
	"left = math.floor(math.min(left, 3155760000000))\n"
	"return {kind, count, tonumber(permits) or 0, left, now, holders, last,\n"
	"  waiting or -1, waiters, runs, released, problems}\n";

/* As a release, but by digests of what is in the key, which may be any bytes. */
const char script_force[] = FAILURE DIGITS LIVE_HEAD ROUSE RING LOOK WIPE NOW
	"local lock, info, nested, queue, alive, bell = unpack(KEYS)\n"
	"local held = look(lock, nil, now)\n"
	"if held.err then return held end\n"
	"local head = queue and live_head(queue, alive, nil, now)\n"
	"if held.unswept or head == true then return {-1} end\n"
	"local seen, freed = {}, held.count == 0 and 1 or 0\n"
	"for i = 2, #ARGV do seen[ARGV[i]] = true end\n"
	"local limit = info and redis.pcall('HMGET', info, 'limit')\n"
	"limit = limit and tonumber(digits(limit[1], 1000000)) or nil\n"
	"if held.kind == 'x' then\n"
	"  if not seen[redis.sha1hex(held.first)] then return {0} end\n"
	"  freed, held.count = 1, 0\n"
	"elseif held.count > 0 then\n"
	"  local members = redis.pcall('ZRANGE', lock, -held.count,\n"
	"    math.min(4999 - held.count, -1))\n"
	"  local found = {}\n"
	"  for _, member in ipairs(members) do\n"
	"    if seen[redis.sha1hex(member)] then found[#found + 1] = member end\n"
	"  end\n"
	"  if not found[1] then return {0} end\n"
	"  freed = redis.pcall('ZREM', lock, unpack(found))\n"
	"  if type(freed) == 'table' then return failure('ZREM', freed) end\n"
	"  held.count = held.count - freed\n"
	"end\n"
	"if held.count == 0 then\n"
	"  local gone = wipe(unpack({lock, info, nested}))\n"
	"  if type(gone) == 'table' then return gone end\n"
	"end\n"
	"local answer = {freed}\n"
	"if not queue then return answer end\n"
	"for _, waiter in ipairs(rouse(queue, alive, nil, held, limit, now, true)) do\n"
	"  if waiter == ARGV[1] then\n"
	"    ring(queue, alive, waiter, bell, now)\n"
	"  else\n"
	"    answer[#answer + 1] = waiter\n"
	"  end\n"
	"end\n"
	"return answer\n";

/* clang-format on */

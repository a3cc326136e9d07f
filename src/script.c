#include "script.h"

/* pcall hands an error over as the server words it, where Redis before 7 wraps
 * what call raises into a text of its own; the command is added, since a denied
 * one is not named there.
 *
 * The lock is written last: a server that refuses a step has granted nothing.
 * SET comes first, as a full server refuses a script's first write only; PTTL
 * and PEXPIRE are tried before anything without a life of its own is written,
 * so that an ACL which would let us neither renew nor release is met here. The
 * own token is granted anew, with a new fence: nobody has seen the one whose
 * answer was lost. */
const char script_acquire[] =
    "local lock, fence, info = KEYS[1], KEYS[2], KEYS[3]\n"
    "local token, ttl, keep = ARGV[1], ARGV[2], ARGV[3]\n"
    "local function failure(command, reply)\n"
    "  if type(reply) == 'table' and reply.err then\n"
    "    return {err = reply.err .. ' (' .. command .. ')'}\n"
    "  end\n"
    "end\n"
    "local owner = redis.pcall('GET', lock)\n"
    "local left = redis.pcall('PTTL', lock)\n"
    "local time = redis.pcall('TIME')\n"
    "local failed = failure('GET', owner) or failure('PTTL', left)\n"
    "  or failure('TIME', time)\n"
    "if failed then return failed end\n"
    "local now_us = time[1] * 1000000 + time[2]\n"
    "local now_ms = math.floor(now_us / 1000)\n"
    "if owner and owner ~= token then\n"
    "  local busy = {0, left}\n"
    "  local about = redis.pcall('HMGET', info,\n"
    "    'token', 'host', 'pid', 'user', 'since')\n"
    "  if about[1] == owner and tonumber(about[5]) then\n"
    "    for i = 2, 4 do busy[i + 1] = about[i] or '' end\n"
    "    busy[6] = now_ms - about[5]\n"
    "  end\n"
    "  return busy\n"
    "end\n"
    "local last = redis.pcall('GET', fence)\n"
    "last = type(last) == 'string' and tonumber(last) or 0\n"
    "local number = string.format('%.0f', math.max(last + 1, now_us))\n"
    "local steps = {\n"
    "  {'SET', fence, number, 'PX', keep},\n"
    "  {'PEXPIRE', fence, keep},\n"
    "  {'DEL', info},\n"
    "  {'HSET', info, 'token', token, 'host', ARGV[4], 'pid', ARGV[5],\n"
    "    'user', ARGV[6], 'command', ARGV[7],\n"
    "    'since', string.format('%.0f', now_ms), 'kind', 'x'},\n"
    "  {'PEXPIRE', info, keep},\n"
    "  {'SET', lock, token, 'PX', ttl}\n"
    "}\n"
    "for _, step in ipairs(steps) do\n"
    "  failed = failure(step[1], redis.pcall(unpack(step)))\n"
    "  if failed then return failed end\n"
    "end\n"
    "return {1, number}\n";

/* The answer has a shape of its own, so that none of a neighbouring command is
 * taken for it. Only ever lengthens: a nested run with a short ttl must not
 * shorten it. */
const char script_renew[] =
    "local owner = redis.pcall('GET', KEYS[1])\n"
    "if type(owner) == 'table' then return owner end\n"
    "if owner ~= ARGV[1] then return {0} end\n"
    "local left = redis.pcall('PTTL', KEYS[1])\n"
    "if type(left) == 'table' then return left end\n"
    "if left < tonumber(ARGV[2]) then\n"
    "  local set = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])\n"
    "  if type(set) == 'table' then return set end\n"
    "end\n"
    "return {1}\n";

const char script_release[] =
    "local owner = redis.pcall('GET', KEYS[1])\n"
    "if type(owner) == 'table' then return owner end\n"
    "if owner ~= ARGV[1] then return 0 end\n"
    "local freed = KEYS[2] and redis.pcall('DEL', KEYS[1], KEYS[2])\n"
    "  or redis.pcall('DEL', KEYS[1])\n"
    "if type(freed) == 'table' then return freed end\n"
    "if KEYS[3] and redis.pcall('GET', KEYS[3]) == ARGV[2] then\n"
    "  redis.pcall('DEL', KEYS[3])\n"
    "end\n"
    "return 1\n";

#!/usr/bin/python3
"""A second implementation of the locks of rlockrun, written from rlockrun-protocol(7)
alone: what it had to guess was a fault of that page.

It knows one server, on a unix socket (RLOCKRUN_REDIS), one lock, and nested runs, and
of the policies --once-per, --once-id and --newest. Its scripts are its own."""
import argparse
import ctypes
import json
import os
import pwd
import random
import re
import select
import signal
import socket
import subprocess
import sys
import time
import uuid

BUSY, NO_LOCK, LOST = 75, 76, 79
HISTORY_MS = 4 * 86400 * 1000  # the default of --keep-history
SERVER_TIMEOUT = 10

# --- the scripts --------------------------------------------------------------------

# Each begins with this. Its arguments are one object, and so is its reply. Beyond
# fourteen digits cjson and `..` round numbers, so fences and tickets become texts.
COMMON = """
local K, I, R, Q, L, bell, nest = unpack(KEYS)
local a, call = cjson.decode(ARGV[1]), redis.call
local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local now = math.floor(us / 1000)
local function text(n) return string.format('%.0f', n) end
local function member(token) return (a.letter == 's' and 's:' or '') .. token end
local mine = member(a.token)
local field = a.letter == 'x' and 'h' or 'h:' .. mine

-- Sets fields of :i, and its life.
local function note(...)
	local life = math.max(a.life, tonumber(call('HGET', I, 't')) or 0)
	call('HSET', I, 't', life, ...)
	call('PEXPIRE', I, life)
end

local function note_skip(reason, whom)
	note('k:' .. reason, now .. ' ' .. a.record .. ' | ' .. (whom or ''))
end

-- What is known about a holder, or - if it is foreign.
local function entry_of(letter, holder)
	local entry = call('HGET', I, letter == 'x' and 'h' or 'h:' .. holder) or ''
	local is_its = entry:sub(1, #holder) == holder and entry:find('^[ :]', #holder + 1)
	return is_its and entry or '-'
end

local function push_run(run)
	call('LPUSH', R, run)
	if call('LLEN', R) >= 20 then call('LTRIM', R, 0, 9) end
	call('PEXPIRE', R, a.history)
end

-- The letter of the holders, and of each what K holds and the ms left of its lease,
-- the first to end first.
local function holders()
	if call('TYPE', K).ok == 'string' then
		return 'x', {{call('GET', K), call('PTTL', K)}}
	end
	local letter, all = nil, {}
	local found = call('ZRANGEBYSCORE', K, '(' .. now, '+inf', 'WITHSCORES')
	for i = 1, #found, 2 do
		letter = found[i]:find('^s:') and 's' or 'p'
		all[#all + 1] = {found[i], found[i + 1] - now}
	end
	return letter, all
end

-- Whether the lease of that token lasts.
local function is_held(token)
	if a.letter == 'x' then
		return call('TYPE', K).ok == 'string' and call('GET', K) == token
	end
	local is_counted = call('TYPE', K).ok == 'zset'
	return is_counted and (tonumber(call('ZSCORE', K, member(token))) or 0) > now
end

-- Makes our lease last for so long from now, unless it lasts longer. An exclusive
-- lock is ours or free.
local function extend(ms)
	if a.letter == 'x' then
		call('SET', K, a.token, 'PX', math.max(ms, call('PTTL', K)))
		return
	end
	call('ZADD', K, math.max(now + ms, tonumber(call('ZSCORE', K, mine)) or 0), mine)
	call('PEXPIRE', K, math.max(3 * ms, call('PTTL', K)))
end

local function free(token)
	if not is_held(token) then return false end
	if a.letter == 'x' then call('DEL', K) else call('ZREM', K, member(token)) end
	return true
end

local function head_of_queue() return call('ZRANGE', Q, 0, 0)[1] end

local function remove(waiter)
	call('ZREM', Q, waiter)
	call('ZREM', L, waiter)
end

local function remove_dead()
	for _, waiter in ipairs(call('ZRANGEBYSCORE', L, '-inf', now)) do
		if waiter ~= a.me then remove(waiter) end
	end
	local head = head_of_queue()
	while head and not head:find('^[xsp]:[%x-]+:%d*@') do
		remove(head)
		head = head_of_queue()
	end
end
"""

ACQUIRE = """
local kind = call('TYPE', K).ok
local last = kind == 'zset' and tonumber(call('ZRANGE', K, -1, -1, 'WITHSCORES')[2])
local is_other_set = last and (call('PTTL', K) < 0 or last < 1e12 or last > 1e14)
if is_other_set or kind ~= 'none' and kind ~= 'string' and kind ~= 'zset' then
	return redis.error_reply('NOTALOCK the key holds something else')
end
local letter, all = holders()
local is_like = #all == 0 or letter == a.letter
local room = is_like and (a.limit or math.huge) - #all or 0

-- The holder whose lease has to be waited for, and what is known about it.
local function awaited()
	local holder = all[is_like and 1 or #all]
	if not holder then return nil, nil end
	return holder[2], entry_of(letter, holder[1])
end

-- The ticket and the name of the newest waiter, and its record.
local function newest()
	local ticket, name, record = (call('HGET', I, 'w') or ''):match('^(%d+) (%S+) (.*)$')
	if ticket and tonumber(ticket) <= us + 60000000 then
		return tonumber(ticket), name, record
	end
	return 0, nil, nil
end

local function ticket()
	local latest, name = newest()
	local former = a.ticket or call('ZSCORE', Q, a.me)
	if a.newest and name == a.me then return latest end
	if former then return tonumber(former) end
	if a.newest and a.tried > 0 then return us - a.tried end
	local highest = call('ZRANGE', Q, -1, -1, 'WITHSCORES')[2] or 0
	return math.max(us, highest + 1, a.newest and latest + 1 or 0)
end

-- Why a policy skips the run, and whom that is due to.
local function obstacle()
	local success = call('HGET', I, 's') or ''
	local ended = tonumber(success:match('^%d+')) or 0
	if a.once_per and ended <= now + 60000 and now - ended < a.once_per then
		return 'due', success
	elseif a.once_id and call('HGET', I, 'd') == a.once_id then
		return 'id', call('HGET', I, 'ds')
	end
	local latest, name, record = newest()
	if a.newest and name ~= a.me and latest > ticket() then
		return 'overtaken', record
	end
end

-- Those of our kind at the front of the queue, so many at most.
local function front(most)
	local found = {}
	for _, waiter in ipairs(call('ZRANGE', Q, 0, math.min(most, 1000))) do
		if #found >= most or waiter:sub(1, 1) ~= a.letter then break end
		found[#found + 1] = waiter
	end
	return found
end

local function has_turn()
	local rank = call('ZRANK', Q, a.me) or call('ZCARD', Q)
	return rank < room and #front(rank) == rank
end

-- A run that has left no end: its entry has a blank after the token.
local function push_dead(entry)
	local token, run, how = entry:match('^(%S+) (%d+ %d+ (%S+) .*)$')
	if not token or token:find(':', 3, true) or how == 'hold' or how == 'pause' then
		return
	end
	for _, own in ipairs({a.token, unpack(a.former)}) do
		if token == member(own) then return end
	end
	push_run('- - - - ' .. run)
end

local function push_dead_members()
	for _, name in ipairs(call('HKEYS', I)) do
		if name == 'h' or name:find('^h:') and not call('ZSCORE', K, name:sub(3)) then
			push_dead(call('HGET', I, name))
			call('HDEL', I, name)
		end
	end
end

local function grant()
	local entry = call('HGET', I, field) or ''
	local are_lost = #all == 0 or #a.former > 0
	if a.letter ~= 'x' then
		for _, token in ipairs(a.former) do call('ZREM', K, member(token)) end
		are_lost = call('ZREMRANGEBYSCORE', K, '-inf', now) > 0 or are_lost
	end
	extend(a.ttl)
	call('DEL', bell)
	local whose, fence, start = entry:match('^(%S+) (%d+) (%d+) ')
	if whose ~= mine then
		fence = text(math.max(us, (tonumber(call('HGET', I, 'f')) or 0) + 1))
		start = now
		note('f', fence)
	end
	note(field, mine .. ' ' .. fence .. ' ' .. start .. ' ' .. a.record)
	if a.letter == 'x' then push_dead(entry) elseif are_lost then push_dead_members() end
	if a.newest then note('w', text(ticket()) .. ' ' .. a.me .. ' ' .. a.record) end
	remove(a.me)
	local beside_us = a.letter == 'x' and {} or front(math.min(room - 1, 50))
	return cjson.encode({fence = fence, ring = beside_us})
end

-- The ms that the head of the queue has left to come, and its name if it has to be
-- rung.
local function look_at_head()
	local head = head_of_queue()
	local score = tonumber(call('ZSCORE', L, head)) or math.huge
	local can_go = #all == 0 or head:sub(1, 1) == letter
	if score <= now + (can_go and 1000 or 2400) then return score - now, nil end
	return 1000, head
end

local function wait()
	local mine, _, overtaken = ticket(), newest()
	call('ZADD', Q, 'NX', mine, a.me)
	call('PEXPIRE', Q, 60000)
	local position = call('ZRANK', Q, a.me)
	call('ZADD', L, now + (position < 3 and 2400 or 15000), a.me)
	call('PEXPIRE', L, 60000)
	local left, entry = awaited()
	local ring = {}
	if room > 0 then left, ring[1] = look_at_head() end
	if a.newest then
		note('w', text(mine) .. ' ' .. a.me .. ' ' .. a.record)
		ring[#ring + 1] = overtaken
	end
	return cjson.encode({position = position, ticket = text(mine), left = left,
		foreign = entry == '-', ring = ring})
end

for _, token in ipairs({a.token, unpack(a.former)}) do
	if is_held(token) then return grant() end
end
local reason, whom = obstacle()
if not reason and head_of_queue() ~= a.me then remove_dead() end
if not reason and has_turn() then return grant() end
if not reason and not a.nonblock then return wait() end
if not reason then
	whom = select(2, awaited())
	reason = (whom or ''):find('^%S+ %d+ %d+ pause ') and 'paused' or 'busy'
end
note_skip(reason, whom)
return cjson.encode({skipped = reason})
"""

RENEW = """
if not is_held(a.token) then return 0 end
extend(a.ttl)
return 1
"""

# A nested run is one of the names in :n.
JOIN = """
local entry = call('HGET', I, field) or ''
if not is_held(a.token) or entry:find('^%S+:kept ') then return 0 end
extend(a.ttl)
call('SADD', nest, a.nested)
call('PEXPIRE', nest, 10 * a.ttl)
return cjson.encode({fence = entry:match('^%S+ (%d+)')})
"""

RELEASE = """
local before, freed, result = head_of_queue(), false, 0
for _, token in ipairs(a.former) do freed = free(token) or freed end
local entry = call('HGET', I, field) or ''

-- Leaves the lock to its nested runs, with a mark; the last of these frees it, or
-- keeps it until the time that is in the mark.
if is_held(a.token) then
	call('SREM', nest, a.nested or '')
	local others, is_marked, kept_until = 0, not a.nested, 0
	for _, name in ipairs(call('SMEMBERS', nest)) do
		local is_mark = name:find('^!')
		is_marked = is_marked or is_mark
		kept_until = math.max(kept_until, is_mark and tonumber(name:sub(2)) or 0)
		others = others + (is_mark and 0 or 1)
	end
	if others > 0 or not is_marked then
		result = 2
		if not a.nested then
			call('SADD', nest, '!')
			call('PEXPIRE', nest, 10 * a.ttl)
		end
	elseif kept_until > now then
		call('DEL', nest)
		result = 3
		if a.letter == 'x' then
			call('SET', K, a.token .. ':kept', 'PX', kept_until - now)
		else
			call('ZADD', K, kept_until, mine)
		end
		note(field, (entry:gsub('^(%S+): ', '%1:kept ')))
	else
		call('DEL', nest)
		result, freed = 1, free(a.token)
	end
end

local function write_success(run)
	local success = now .. ' ' .. run
	note('s', success)
	if a.once_id then note('d', a.once_id, 'ds', success) end
end

local function replace_dead()
	for _, dead in ipairs(call('LRANGE', R, 0, -1)) do
		local run = dead:match('^%- %- %- %- (' .. a.fence .. ' .*)$')
		if run then
			call('LREM', R, 1, dead)
			push_run(now .. ' ' .. a.ending .. ' ' .. run)
		end
	end
end

local whose, run = entry:match('^(%S+) (.*)$')
if not a.nested and (result > 0 or a.lost) and whose == mine then
	if a.ending then push_run(now .. ' ' .. a.ending .. ' ' .. run) end
	if a.ending and a.status == 0 then write_success(run) end
	if result == 2 then
		note(field, mine .. ': ' .. run)
	elseif a.letter == 'x' then
		note(field, '')
	else
		call('HDEL', I, field)
	end
elseif a.lost and a.ending then
	replace_dead()
end
if a.gave_up then
	local letter, all = holders()
	note_skip('wait', all[1] and entry_of(letter, all[#all][1]))
end
if not a.nested then
	remove(a.me)
	call('DEL', bell)
end
remove_dead()
local head, letter, all = head_of_queue(), holders()
local is_news = result == 3 or freed or head ~= before
local can_go = result == 3 or head and (#all == 0 or letter == head:sub(1, 1))
return cjson.encode({result = result, ring = {is_news and can_go and head or nil}})
"""

# KEYS has the doorbell of the waiter that is rung.
RING = """
local score = tonumber(call('ZSCORE', L, a.waiter)) or math.huge
if call('ZSCORE', Q, a.waiter) and score > now + 1000 then
	call('ZADD', L, now + 1000, a.waiter)
	call('PEXPIRE', L, 60000)
	call('DEL', bell)
	call('RPUSH', bell, 1)
	call('PEXPIRE', bell, 10000)
end
"""

# --- a connection -------------------------------------------------------------------


class Refused(Exception):
    """An error reply."""


class Server:
    """Bytes that are not UTF-8 pass unchanged."""

    def __init__(self, patience):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(patience)
        self.socket.connect(os.environ["RLOCKRUN_REDIS"].removeprefix("unix://"))
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        words = [str(word).encode(errors="surrogateescape") for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%b\r\n" % (len(word), word) for word in words))

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("end of file")
        kind, text = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise Refused(text)
        if kind == b":" or text == "-1":
            return int(text) if kind == b":" else None
        if kind == b"*":
            return [self.reply() for _ in range(int(text))]
        return self.file.read(int(text) + 2)[:-2].decode(errors="surrogateescape")


# --- a run --------------------------------------------------------------------------


class Ended(Exception):
    """The run ends before its job has started."""

    def __init__(self, status, message):
        super().__init__(f"{message}; command not started")
        self.status = status


def clock():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def as_word(text, size):
    text = str(text).encode(errors="surrogateescape")[:size].decode(errors="surrogateescape")
    text = re.sub(r"[\0-\x20\x7f%|]", lambda byte: f"%{ord(byte[0]):02X}", text)
    return {"": "-", "-": "%2D"}.get(text, text)


class Run:
    def __init__(self, options, signals):
        self.options, self.signals = options, signals
        self.letter = "p" if options.permits else "s" if options.shared else "x"
        self.token = self.first_token = str(uuid.uuid4())
        self.host = os.uname().nodename
        self.name = f"{self.letter}:{self.token}:{os.getpid()}@{self.host}"
        self.former, self.server, self.lost = [], None, None
        self.nested = self.ticket = None
        self.begun = self.replied = clock()
        self.waited, self.was_rung = 0, False

    def helper(self, name):
        key = self.options.key
        has_tag = re.match(r"[^{]*\{[^}]+\}", key)
        return f"{key}:rlkt:{name}" if has_tag else f"{{{key}}}:rlk:{name}"

    def record(self):
        user = pwd.getpwuid(os.getuid()).pw_name
        return " ".join(as_word(*word) for word in (
            ("run", 9), (self.options.permits or 0, 9), (os.getpid(), 9), (self.host, 255),
            (user, 255), (self.options.label, 256), (self.options.command[0], 1024)))

    def script(self, text, bell=None, patience=5, **more):
        """Runs a script, on a new connection if there is none."""
        options = self.options
        keys = [options.key]
        if text is not RENEW:
            names = [*"irql", f"m:{bell or self.first_token}", f"n:{self.token}"]
            keys += [self.helper(name) for name in names]
        ttl, once_per = int(options.ttl * 1000), options.once_per and options.once_per * 1000
        arguments = {
            "letter": self.letter, "me": self.name, "token": self.token, "ttl": ttl,
            "former": self.former, "nested": self.nested, "record": self.record(),
            "limit": {"x": 1, "s": None, "p": options.permits}[self.letter],
            "life": max(3600000, 10 * ttl, HISTORY_MS, once_per or 0),
            "history": HISTORY_MS, "once_per": once_per, "once_id": options.once_id, **more}
        arguments = {name: value for name, value in arguments.items() if value is not None}
        try:
            self.server = self.server or Server(patience)
            self.server.socket.settimeout(patience)
            self.server.send("EVAL", COMMON + text, len(keys), *keys,
                             json.dumps(arguments, ensure_ascii=False))
            reply = self.server.reply()
        except OSError:
            self.server = None
            raise
        reply = json.loads(reply) if isinstance(reply, str) else reply
        for waiter in reply.get("ring", ()) if isinstance(reply, dict) else ():
            self.script(RING, bell=waiter.split(":")[1], waiter=waiter)
        return reply

    # --- acquire ---

    def join(self):
        """Whether an outer run holds the lock for us."""
        for outer in os.environ.get("RLOCKRUN_HELD", "").split():
            letter, token, key = outer.split(":", 2)
            key = re.sub("%(..)", lambda code: chr(int(code[1], 16)), key)
            if key.encode("latin-1") != os.fsencode(self.options.key):
                continue
            if letter != self.letter:
                raise Ended(64, "the lock is held as another kind")
            own, self.token, self.nested = self.token, token, str(uuid.uuid4())
            sent = clock()
            reply = self.script(JOIN)
            if reply:
                self.fence = reply.get("fence", "")
                self.lease_from(sent)
                return True
            self.token, self.nested = own, None
        return False

    def acquire(self):
        patience = self.options.wait
        deadline = self.begun + (float("inf") if patience is None else patience)
        while True:
            sent = clock()
            reply = self.try_once()
            if "skipped" in reply:
                self.release()
                raise Ended(BUSY, reply["skipped"])
            if "fence" in reply and clock() - sent < self.options.ttl / 2:
                self.fence, self.waited = reply["fence"], int((clock() - self.begun) * 1000)
                self.lease_from(sent)
                return
            if "position" in reply:
                self.ticket = reply["ticket"]
                self.await_turn(reply, deadline - clock())
            if clock() >= deadline:
                self.release(gave_up=True)
                raise Ended(BUSY, "gave up")

    def try_once(self):
        """A try without a reply may reach the server later, so the next one has a new
        token, and names the former ones."""
        tried = int((clock() - self.begun) * 1000000) if self.former else 0
        try:
            reply = self.script(ACQUIRE, nonblock=self.options.wait == 0, tried=tried,
                                newest=self.options.newest, ticket=self.ticket)
            self.replied = clock()
            return reply
        except OSError as error:
            self.former = [self.token, *self.former][:8]
            self.token = str(uuid.uuid4())
            if clock() - self.replied > SERVER_TIMEOUT:
                raise Ended(69, error)
            self.end_on_signal(0.1)
            return {}

    def await_turn(self, busy, left):
        """Blocks until the doorbell is rung, the time is over, or a signal comes."""
        is_next = busy["position"] < 3
        pause = min(left, (0.8 if is_next else 5) * random.uniform(0.9, 1.1))
        if busy["position"] == 0 and busy["foreign"]:
            pause = min(pause, random.uniform(0.1, 0.5))
        if (is_next or self.was_rung or busy["ring"]) and busy.get("left", -1) >= 0:
            pause = min(pause, busy["left"] / 1000 + 0.002)
        pause = max(0.01, pause)
        try:
            self.server.send("BLPOP", self.helper(f"m:{self.first_token}"), pause)
            self.end_on_signal(pause + 5, self.server.socket)
            self.was_rung = self.server.reply() is not None
        except OSError:
            self.server = None

    def next_signal(self, timeout, *others):
        ready = select.select([self.signals, *others], [], [], max(0, timeout))[0]
        return os.read(self.signals, 1)[0] if self.signals in ready else 0

    def end_on_signal(self, timeout, *others):
        number = self.next_signal(timeout, *others)
        if number:
            self.server = None  # a connection that blocks executes nothing
            self.release()
            raise Ended(128 + number, "signal")

    # --- the job ---

    def lease_from(self, sent):
        ttl = self.options.ttl
        self.renew_at, self.delay = sent + ttl / 3, 0.1
        self.kill_at = sent + ttl * 0.99 - 0.002 - max(0.04, ttl / 100)
        self.stop_at = self.kill_at - min(5, ttl / 6)

    def renew(self):
        sent = clock()
        try:
            script = JOIN if self.nested else RENEW
            if self.script(script, patience=self.options.ttl / 8):
                self.lease_from(sent)
            else:
                self.lost, self.stop_at = "lost", sent
                self.kill_at = min(self.kill_at, sent + min(5, self.options.ttl / 6))
        except (OSError, Refused):
            self.renew_at = clock() + self.delay
            self.delay = min(1, 2 * self.delay)

    def start_job(self):
        def die_with_us():
            os.setpgid(0, 0)
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        key = re.sub(rb"[^\x21-\x7e]|%", lambda byte: b"%%%02X" % byte[0][0],
                     os.fsencode(self.options.key)).decode()
        held = f"{os.environ.get('RLOCKRUN_HELD', '')} {self.letter}:{self.token}:{key}"
        environment = {**os.environ, "RLOCKRUN_KEY": self.options.key, "RLOCKRUN_HELD": held,
                       "RLOCKRUN_TOKEN": self.token, "RLOCKRUN_FENCE": self.fence}
        return subprocess.Popen(self.options.command, env=environment, preexec_fn=die_with_us)

    def run_job(self):
        """The status of the job, whose lease is renewed until it has ended."""
        self.end_on_signal(0)
        job, is_stopped = self.start_job(), False
        end = os.pidfd_open(job.pid)
        while job.poll() is None:
            now = clock()
            if now >= self.kill_at:
                os.killpg(job.pid, signal.SIGKILL)
            elif now >= self.stop_at and not is_stopped:
                is_stopped, self.lost = True, self.lost or "lease_over"
                os.killpg(job.pid, signal.SIGTERM)
            elif now >= self.renew_at and not is_stopped:
                self.renew()
            next_at = self.kill_at if is_stopped else min(self.stop_at, self.renew_at)
            number = self.next_signal(next_at - clock(), end)
            if number:
                job.send_signal(number)
        return job.returncode if job.returncode >= 0 else 128 - job.returncode

    # --- release ---

    def release(self, **more):
        """Whether the lock was held; None: nobody knows."""
        until = clock() + 1
        while True:
            try:
                return self.script(RELEASE, **more)["result"] > 0
            except (OSError, Refused) as error:
                if clock() > until:
                    print(f"client: not released: {error}", file=sys.stderr)
                    return None
                time.sleep(0.1)

    def report_end(self, status, reason, lost):
        return self.release(status=status, lost=lost, fence=self.fence,
                            ending=f"{status} {self.waited} {reason}")

    def play(self):
        try:
            if not self.join():
                self.acquire()
        except Refused as error:
            raise Ended(NO_LOCK if "NOTALOCK" in str(error) else 69, error)
        status = self.run_job()
        if not self.lost and self.report_end(status, "job_ended", lost=False) is not False:
            return status
        self.report_end(LOST, self.lost or "lost", lost=True)
        return LOST


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", dest="key", required=True)
    parser.add_argument("-t", dest="ttl", type=float, default=30)
    parser.add_argument("-w", dest="wait", type=float)
    parser.add_argument("-s", dest="shared", action="store_true")
    parser.add_argument("-p", dest="permits", type=int)
    parser.add_argument("--label", default="")
    parser.add_argument("--once-per", type=float)
    parser.add_argument("--once-id")
    parser.add_argument("--newest", action="store_true")
    parser.add_argument("command", nargs="+")
    signals, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    try:
        sys.exit(Run(parser.parse_args(), signals).play())
    except Ended as end:
        if end.status > 128:
            signal.signal(end.status - 128, signal.SIG_DFL)
            os.kill(os.getpid(), end.status - 128)
        print(f"client: {end}", file=sys.stderr)
        sys.exit(end.status)


main()

#!/usr/bin/python3
"""A second implementation of rlockrun-protocol(7), written from that page: an exclusive
lock on one server, with its place in the queue.

    client.py -k NAME [-r unix:///PATH | redis://HOST:PORT] [-t TTL] [-w SECONDS]
              -- COMMAND...

It has no guard: the kernel kills a command that outlives it, but not what that has
started. It keeps no history (:r)."""
import argparse
import getpass
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
import uuid

BUSY, UNAVAILABLE, LOST = 75, 69, 79

# The time in ms and microseconds; dead waiters leave the head of the queue.
QUEUE = """
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local function head()
    while true do
        local first = redis.call('ZRANGE', KEYS[4], 0, 0)[1]
        if not first then return nil end
        local lives = tonumber(redis.call('ZSCORE', KEYS[5], first) or '0')
        if lives >= ms and lives <= ms + 20000 then return first end
        for i = 4, 5 do redis.call('ZREM', KEYS[i], first) end
    end
end
local function leave(name)
    for i = 4, 5 do redis.call('ZREM', KEYS[i], name) end
    redis.call('DEL', KEYS[6])
end
"""

# Keys: K :f :i :q :l :m:TOKEN. Arguments: name, ttl, 1 to wait, token, host, pid, user,
# command, former tokens. Replies with {1, fence} or {0, position, remaining ms}.
ACQUIRE = QUEUE + """
local name, ttl, wait, token = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4]
local first, held = head(), redis.call('GET', KEYS[1])
local mine = held == token
for i = 9, #ARGV do mine = mine or held == ARGV[i] end
if mine or (not held and (not first or first == name)) then
    local fence = math.max(us, tonumber(redis.call('GET', KEYS[2]) or '0') + 1)
    local life = math.max(10 * ttl, 3600000)
    fence = string.format('%.0f', fence)
    redis.call('SET', KEYS[2], fence, 'PX', life)
    redis.call('DEL', KEYS[3])
    redis.call('HSET', KEYS[3], 'token', token, 'host', ARGV[5], 'pid', ARGV[6],
        'user', ARGV[7], 'command', ARGV[8], 'fence', fence,
        'since', string.format('%.0f', ms), 'kind', 'x')
    redis.call('PEXPIRE', KEYS[3], life)
    leave(name)
    redis.call('SET', KEYS[1], token, 'PX', ttl)
    return {1, fence}
end
local position = -1
if wait then
    if not redis.call('ZSCORE', KEYS[4], name) then
        local last = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2]
        local ticket = math.max(us, last and tonumber(last) + 1 or 0)
        redis.call('ZADD', KEYS[4], string.format('%.0f', ticket), name)
    end
    position = redis.call('ZRANK', KEYS[4], name)
    redis.call('ZADD', KEYS[5], ms + (position < 2 and 4500 or 15000), name)
    for i = 4, 5 do redis.call('EXPIRE', KEYS[i], 60) end
end
return {0, position, redis.call('PTTL', KEYS[1])}
"""

RENEW = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {0} end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {1}
"""

# Arguments: name, then all tokens. Replies with {whether it was held, who to ring}.
RELEASE = QUEUE + """
local held, ours = redis.call('GET', KEYS[1]), 0
for i = 2, #ARGV do
    if held == ARGV[i] then ours = redis.call('DEL', KEYS[1]) end
    if redis.call('HGET', KEYS[3], 'token') == ARGV[i] then redis.call('DEL', KEYS[3]) end
end
leave(ARGV[1])
local first = head()
return {ours, redis.call('EXISTS', KEYS[1]) == 0 and first or ''}
"""

# Key :m:TOKEN is the waiter's. Argument: its name.
RING = QUEUE + """
if not redis.call('ZSCORE', KEYS[4], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[5], ms + 1000.5, ARGV[1])
redis.call('DEL', KEYS[6])
redis.call('RPUSH', KEYS[6], '1')
return redis.call('PEXPIRE', KEYS[6], 10000)
"""


class Refused(Exception):
    pass


class Connection:
    """RESP2, one command after the other."""

    def __init__(self, url, timeout):
        scheme, _, place = url.partition("://")
        host, _, port = place.partition(":")
        if scheme == "unix":
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(place)
        else:
            self.socket = socket.create_connection((host, int(port or 6379)), timeout)
        self.file = self.socket.makefile("rb")

    def call(self, *words, timeout=5):
        words = [os.fsencode(str(word)) for word in words]
        self.socket.settimeout(timeout)
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection has ended")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Refused(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()


class Lock:
    """What one run has of a lock. Times are seconds of CLOCK_BOOTTIME."""

    def __init__(self, options):
        self.url, self.ttl = options.r, options.t
        self.key, self.command = options.k, os.path.basename(options.command[0])
        self.tokens = [str(uuid.uuid4())]  # the last one counts
        self.name = f"x:{self.tokens[0]}:{os.getpid()}@{socket.gethostname()}"
        self.connection, self.ends_at, self.fence = None, 0, None

    def helper(self, name):
        tagged = "{" in self.key and "}" in self.key[self.key.index("{") + 2:]
        return f"{self.key}:rlkt:{name}" if tagged else f"{{{self.key}}}:rlk:{name}"

    def run(self, script, *arguments, waiter=None, patience=5):
        """Sends a script; a failed connection is not used again."""
        keys = [self.key, *map(self.helper, "fiql"),
                self.helper("m:" + (waiter or self.name).split(":")[1])]
        try:
            if self.connection is None:
                self.connection = Connection(self.url, patience)
            return self.connection.call("EVAL", script, len(keys), *keys, *arguments,
                                        timeout=patience)
        except OSError:
            self.connection = None
            raise

    def try_once(self, wait):
        sent_at = now()
        reply = self.run(ACQUIRE, self.name, round(self.ttl * 1000), int(wait), self.tokens[-1],
                         socket.gethostname(), os.getpid(), getpass.getuser(), self.command,
                         *self.tokens[:-1])
        if reply[0] == 1:
            self.fence, self.ends_at = reply[1], sent_at + self.ttl * 0.99 - 0.002
        return reply

    def acquire(self, patience):
        """Whether it was acquired within so many seconds."""
        until, answered = now() + patience, now()
        while True:
            left = until - now()
            try:
                reply = self.try_once(left > 0)
                answered = now()
            except OSError:  # this try may come late: the next one has another token
                self.tokens.append(str(uuid.uuid4()))
                if now() - answered > 10:
                    raise
                time.sleep(0.1)
                continue
            if reply[0] == 1 or left <= 0:
                return reply[0] == 1
            self.wait(*reply[1:], left)

    def wait(self, position, lease_ms, left):
        """For a ring, the next heartbeat, or the end of the holder's lease."""
        seconds = (1.5 if position < 2 else 5) * random.uniform(0.9, 1.1)
        if position < 3 and lease_ms >= 0:
            seconds = min(seconds, (lease_ms + (2, 50, 100)[position]) / 1000)
        seconds = max(0.01, min(seconds, left))
        own = self.helper("m:" + self.name.split(":")[1])
        try:
            self.connection.call("BLPOP", own, self.helper("m:any"), f"{seconds:.3f}",
                                 timeout=seconds + 2)
        except OSError:
            self.connection = None

    def renew(self):
        """Whether it is still held; OSError: not known."""
        sent_at = now()
        reply = self.run(RENEW, self.tokens[-1], round(self.ttl * 1000), patience=self.ttl / 4)
        if reply == [1]:
            self.ends_at = sent_at + self.ttl * 0.99 - 0.002
        return reply == [1]

    def release(self):
        """Whether it was held. Also leaves the queue, and rings the next waiter."""
        until = now() + 10
        while True:
            try:
                held, first = self.run(RELEASE, self.name, *self.tokens)
                if first:
                    self.run(RING, first, waiter=first)
                return held == 1
            except OSError:
                if now() > until:
                    return False
                time.sleep(0.1)


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def start(command, lock):
    environment = {**os.environ, "RLOCKRUN_KEY": lock.key, "RLOCKRUN_FENCE": lock.fence,
                   "RLOCKRUN_TOKEN": lock.tokens[-1]}
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], env=environment,
                            start_new_session=True)


def supervise(job, lock):
    """Its status, or LOST. A job never outlives the lease."""
    ended = select.poll()
    ended.register(os.pidfd_open(job.pid), select.POLLIN)
    renew_at, pause, lost = now() + lock.ttl / 3, 0.1, False
    while True:
        kill_at = lock.ends_at - max(lock.ttl * 0.01, 0.04)
        stop_at = kill_at - min(lock.ttl / 6, 5)
        next_at = kill_at if lost else min(renew_at, stop_at)
        if ended.poll(max(0, 1000 * (next_at - now()))):
            status = job.wait()
            return LOST if lost else status if status >= 0 else 128 - status
        if now() >= kill_at:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            return LOST
        if lost:
            continue
        try:
            lost = now() >= stop_at or not lock.renew()
            renew_at, pause = now() + lock.ttl / 3 * random.uniform(0.95, 1.05), 0.1
        except OSError:
            renew_at, pause = now() + pause, min(2 * pause, 1)
        if lost:
            os.killpg(job.pid, signal.SIGTERM)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-k", required=True)
    parser.add_argument("-r", default=os.environ.get("RLOCKRUN_REDIS", "redis://127.0.0.1"))
    parser.add_argument("-t", type=float, default=30)
    parser.add_argument("-w", type=float, default=1e9)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    lock = Lock(options)
    try:
        if not lock.acquire(options.w):
            lock.release()
            return BUSY
    except (OSError, Refused) as error:
        print(f"client.py: {error}", file=sys.stderr)
        return UNAVAILABLE
    job = start(options.command, lock)
    for signo in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signo, lambda signo, _: job.send_signal(signo))
    status = supervise(job, lock)
    return status if lock.release() or status == LOST else LOST


if __name__ == "__main__":
    sys.exit(main())

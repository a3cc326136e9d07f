#!/usr/bin/python3
"""Runs a command under a lock as rlockrun-protocol(7) says, by an author without the source."""
import asyncio
import contextlib
import getopt
import mmap
import os
import random
import select
import signal
import subprocess
import sys
import time
import uuid

PRELUDE = """local K,f,i,q,l,m=unpack(KEYS) local C,t=redis.call,redis.call('time')
local us,budget,missed,hidden=t[1]*1000000+t[2],500,false,false local now=math.floor(us/1000)
local function put(w,x) C('zadd',l,now+x,w) end
local function alive(w) return tonumber(C('zscore',l,w) or 0) end
local function room() local y=C('type',K).ok -- Is K free, and what is in it?
  if y=='string' then return false,C('get',K) elseif y~='zset' then return y=='none' or nil end
  if C('pttl',K)<0 or C('zcount',K,1e12,1e14)<C('zcard',K) then return nil end
  for _,e in ipairs(C('zrangebyscore',K,0,now,'limit',0,budget)) do
    C('zrem',K,e) C('hdel',i,e,(e:gsub('^s:',''))) budget=budget-1 end
  hidden=C('zcard',K)>0 and C('zcount',K,now,'+inf')==0 return C('exists',K)==0 end
local function clean(me) local h=C('zrange',q,0,0)[1] -- The head of the queue.
  while h and h~=me do local s=alive(h) if s>=now and s<=now+20000 then break end
    if budget<1 then hidden=true break end missed=missed or (s<now and s%1>=.25)
    C('zrem',q,h) C('zrem',l,h) budget=budget-1 h=C('zrange',q,0,0)[1] end return h end
local function mine(x,a) for a=a,#ARGV do if x==ARGV[a] then return true end end end
local function mark(w,x) put(w,math.floor(alive(w))-now+x) end
local function ring(d,x) C('del',d) C('rpush',d,1) C('pexpire',d,x) end """
# Arguments: name, wait, ttl, host, pid, user, command, the token, and the former ones.
ACQUIRE = PRELUDE + """local me,ttl,free,v=ARGV[1],tonumber(ARGV[3]),room()
if free==nil then return redis.error_reply('WRONGTYPE not a lock') end local h=clean(me)
if mine(v,8) or (free and not hidden and (h==nil or h==me)) then
  local fence=string.format('%.0f',math.max(us,(tonumber(C('get',f)) or 0)+1))
  local life=math.max(10*ttl,3600000) C('set',f,fence,'px',life) C('del',i)
  C('hset',i,'token',ARGV[8],'host',ARGV[4],'pid',ARGV[5],'user',ARGV[6],'command',ARGV[7],
    'fence',fence,'since',now,'kind','x') C('pexpire',i,life) C('zrem',q,me) C('zrem',l,me)
  C('del',m) h=C('zrange',q,0,0)[1] C('set',K,ARGV[8],'px',ttl)
  return {1,fence,h or '',0,0,h and alive(h)>now+4500 and h or nil} end
local rank=C('zcard',q)
if ARGV[2]=='1' then if not C('zscore',q,me) then local z=C('zrange',q,-1,-1,'withscores')[2]
    C('zadd',q,math.max(us,(tonumber(z) or 0)+1),me) end rank=C('zrank',q,me)
  local s=alive(me)%1 s=free and (s==.25 or s==.125) and .125 or 0
  put(me,(rank<2 and 4500 or 15000)+s) C('pexpire',q,60000) C('pexpire',l,60000) end
if hidden then return {-1} end
if free then local s,a,state=alive(h)%1,{},1 -- The head has not come yet.
  if missed or s==.25 then for _,w in ipairs(C('zrange',q,0,rank-1)) do local x=alive(w)%1
      if x==.125 then a={} break end
      if x==0 and #a<(s==.25 and 1000 or 50) then a[#a+1]=w end end if #a>0 then state=2 end
  elseif s==0 then a={h} end for _,w in ipairs(a) do mark(w,.5/state) end
  return {0,rank,math.min(alive(h)-now,1000),state,0,unpack(a)} end
local other if v then other=C('hget',i,'token')~=v else other=C('hlen',i)<2+C('zcard',K) end
return {0,rank,C('pttl',K),0,other and 1 or 0}"""
RENEW = """local C,K=redis.call,KEYS[1] if C('type',K).ok~='string' or C('get',K)~=ARGV[1] then
return {0} elseif C('pttl',K)<tonumber(ARGV[2]) then C('pexpire',K,ARGV[2]) end return {1}"""
# Arguments: name, the head whose doorbell is key 7, the token, and the former ones.
RELEASE = PRELUDE + """local me,had,bell,names,free,v=ARGV[1],0,0,{},room()
local rank=C('zrank',q,me) if mine(v,3) then had=v==ARGV[3] and 1 or 0 C('del',K) free=true end
if C('type',i).ok=='hash' and mine(C('hget',i,'token'),3) then C('del',i) end
C('zrem',q,me) C('zrem',l,me) C('del',m) local h,w=clean() w=C('zrange',q,0,1)
if h and free and not hidden then bell=1
  if h==ARGV[2] then put(h,1000.5) ring(KEYS[7],10000) else mark(h,.5) names={h} end
elseif rank and rank<2 then
  for _,w in ipairs(w) do if alive(w)>now+4500 then names[#names+1]=w end end end
return {had,hidden and 1 or 0,bell,w[1] or '',w[2] or '',unpack(names)}"""
# Key 6 is the doorbell to ring; if there is a key 7, only if that one has not been taken.
RING = PRELUDE + """local w=ARGV[1] if KEYS[7] and C('exists',KEYS[7])==0 then return end
if KEYS[7] then ring(KEYS[8],1000) end
if C('zscore',q,w) then put(w,alive(w)%1==.25 and 1000.25 or 1000.5) ring(m,10000) end"""
UNDO = PRELUDE + """C('zrem',q,ARGV[1]) if C('get',K)==ARGV[2] then C('del',K) end"""
FATAL = {'WRONGTYPE': 76, 'NOAUTH': 77, 'WRONGPASS': 77, 'NOPERM': 77, 'DENIED': 77}
FAILURES = (OSError, EOFError, LookupError, RuntimeError, TypeError, ValueError)
_boot = lambda: time.clock_gettime(time.CLOCK_BOOTTIME)


class Lock:
    """A lock, the place in its queue, the connection, and the job."""
    proof = ended = owed = 0  # When the lease was proven; when a lease ends; replies to come.
    caught, reader, writer, guard, poll, head = None, None, None, None, .1, b''

    def __init__(self):
        opts, self.command = getopt.getopt(sys.argv[1:], 'k:r:t:w:')
        opts = {'-t': 30, '-w': 'inf', '-r': os.environ.get('RLOCKRUN_REDIS'), **dict(opts)}
        if '-k' not in opts or not opts['-r'] or not self.command:
            sys.exit('Usage: client.py -k NAME [-r URL] [-t TTL] [-w SECONDS] -- COMMAND...')
        self.url, self.ttl, self.wait = opts['-r'], float(opts['-t']), float(opts['-w'])
        key, host, self.tokens = os.fsencode(opts['-k']), os.uname()[1], [str(uuid.uuid4())]
        start = key.find(b'{')
        base = key + b':rlkt' if 0 <= start < key.find(b'}', start) - 1 else b'{%s}:rlk' % key
        self.keys = [key, *(base + x for x in (b':f', b':i', b':q', b':l', b':m:'))]
        self.name = f'x:{self.tokens[0]}:{os.getpid()}@{host}'.encode()
        self.who = host, os.getpid(), os.environ.get('USER', str(os.getuid())), self.command[0]
        self.times = memoryview(mmap.mmap(-1, 32)).cast('d')  # TERM, KILL, stopping, group

    def _script(self, text, bells, *args):
        bells = [self.keys[5] + bell.split(b':')[bell != b'any'] for bell in bells]
        return ('EVAL', text, 5 + len(bells), *self.keys[:5], *bells, *args)

    def _push(self, *commands):
        for words in commands:
            words = [w if isinstance(w, bytes) else os.fsencode(str(w)) for w in words]
            self.writer.write(b'*%d\r\n' % len(words) + b''.join(
                b'$%d\r\n%s\r\n' % (len(w), w) for w in words))
        self.owed += len(commands)

    async def _read(self):
        line = await self.reader.readline()
        kind, line = line[:1], line[1:-2]
        if kind == b'*':
            return [await self._read() for _ in range(int(line))]
        if kind == b'$' and line != b'-1':
            return (await self.reader.readexactly(int(line) + 2))[:-2]
        return {b':': int, b'+': bytes, b'$': lambda x: None,  # A KeyError at the end of file.
                b'-': lambda x: RuntimeError(x.decode(errors='replace'))}[kind](line)

    async def _ask(self, patience, *commands):  # Return also when the commands were sent.
        try:
            async with asyncio.timeout(patience):
                if not self.writer:
                    scheme, place = self.url.rstrip('/').split('://')
                    self.owed, (self.reader, self.writer) = 0, await (
                        asyncio.open_unix_connection(place) if scheme == 'unix' else
                        asyncio.open_connection(*place.rsplit(':', 1)))
                    self._push(('CLIENT', 'SETNAME', f'rlockrun:{os.getpid()}'))
                sent = _boot()
                self._push(*commands)
                replies = [await self._read() for _ in range(self.owed)][-len(commands):]
                self.owed = 0
                if isinstance(replies[0], RuntimeError):
                    raise replies[0]
                return sent, replies
        except BaseException:
            if self.writer:  # Undo a try that has no position, or is the last.
                if not self.proof and (self.caught or not self.ended):
                    name = self.caught and self.name
                    self._push(self._script(UNDO, [], name, self.tokens[-1]))
                self.writer = self.writer.close()
            raise

    async def _acquire(self):  # Wait for the lock, and return its fencing number.
        limit, heard, tries = _boot() + self.wait, _boot(), 0
        while True:
            try:
                sent, ((code, *reply),) = await self._ask(
                    min(min(max(self.wait / 3, 1), 10 / 3) * 2 ** tries, heard + 10 - _boot()),
                    self._script(ACQUIRE, [self.name], self.name, 1 if self.wait else 0,
                                 int(self.ttl * 1000), *self.who, *self.tokens[:-51:-1]))
                if code == 1 and _boot() - sent > self.ttl / 2:
                    raise OSError('the grant came too late')  # The next token takes it over.
            except FAILURES as error:
                self.tokens.append(str(uuid.uuid4()))
                word, late = str(error).split(' ', 1)[0], _boot() >= limit
                if word in FATAL or late or _boot() >= heard + 10:
                    sys.exit(FATAL.get(word, 75 if late and self.ended else 69))
                await asyncio.sleep(min(.1 * 2 ** tries, 1) * random.uniform(.8, 1))
                tries += 1
                continue
            self._push(*(self._script(RING, [bell], bell) for bell in reply[4:]))
            if code == 1:
                self.proof, self.head = sent, reply[1]
                return reply[0].decode()
            if code == 0:
                await self._block(limit, reply)
            heard, tries = _boot(), 0

    async def _block(self, limit, reply):
        now, (rank, left, state, foreign) = _boot(), reply[:4]
        if now >= limit:
            sys.exit(75)
        self.ended = now + left / 1000 if left >= 0 else self.ended or now
        self.poll = min(self.poll * 1.5, .5) if foreign and not rank else .1
        times = [self.ended + (.002, .05, .1)[min(rank, 2)]] * (rank < 3 or state == 1)
        times += [limit, now + (1.5 if rank < 2 else 5) * random.uniform(.9, 1.1)]
        times += [now + self.poll * random.uniform(.8, 1)] * (foreign and not rank)
        times += [now + .05] * (state == 2)
        left = max(min(x for x in times if x > now) - now, .001)
        try:
            bells = self._script('', [self.name, b'any'])[8:]
            await self._ask(left + 2, ('BLPOP', *bells, f'{left:.3f}'))
        except FAILURES:
            await asyncio.sleep(.05)

    async def _release(self, until):  # Or leave the queue.  Return whether the lock was held.
        held, tries = 1, 0
        while _boot() < until:
            tries += 1
            try:
                _, ((had, more, bell, head, second, *names),) = await self._ask(
                    min(tries, until - _boot()), self._script(
                        RELEASE, [self.name, self.head or self.name], self.name, self.head,
                        *self.tokens[:-51:-1]))
                held, until = (had if tries == 1 else held), min(until, _boot() + 1)
                rings = [self._script(RING, [name], name) for name in names]
                if bell and second:
                    rings.append(self._script(RING, [second, head, b'any'], second))
                await self._ask(1, *rings, ('PING',))
                if not more:
                    break
            except FAILURES:
                await asyncio.sleep(.1)
        return held

    def _ends(self):  # When to stop the job, when to kill it, and when the lease ends.
        end = self.proof + self.ttl * .99 - .002
        kill = end - max(self.ttl * .01, .04)
        return kill - min(self.ttl / 6, 5), kill, end

    async def _renew(self):
        tries, due = 0, self.proof + self.ttl / 3
        while True:
            await asyncio.sleep(due - _boot())
            try:
                sent, replies = await self._ask(
                    min(2 ** tries, 10, self.ttl / 4),
                    self._script(RENEW, [], self.tokens[-1], int(self.ttl * 1000)),
                    ('PEXPIRE', self.keys[2], int(max(self.ttl * 10, 3600) * 1000)),
                    ('ZRANGE', self.keys[3], 0, 0))
            except FAILURES:
                due, tries = _boot() + min(.1 * 2 ** tries, 1), tries + 1
                continue
            if replies[0] != [1]:
                break
            self.proof, self.head, tries = sent, b''.join(replies[2]), 0
            if not self.times[2]:
                self.times[0], self.times[1], _ = self._ends()
            due = sent + self.ttl / 3 * random.uniform(.95, 1.05)
        self.times[1], self.times[2] = min(self.times[1], _boot() + min(self.ttl / 6, 5)), 1
        self._kill(signal.SIGTERM, signal.SIGCONT)

    def _kill(self, *numbers):  # Send signals to the job.
        with contextlib.suppress(OSError):
            for number in numbers:
                os.killpg(int(self.times[3]) or 1 << 30, number)

    def _guard(self):  # The parent of the job, which kills it in time.
        status = 79
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            client, ready = os.pidfd_open(self.who[1]), []
            with subprocess.Popen(
                    ['setpriv', '--pdeathsig', 'KILL', '--', *self.command], process_group=0,
                    close_fds=False, preexec_fn=lambda: _boot() < self.times[0] or os._exit(79)
            ) as job:
                self.times[3], child = job.pid, os.pidfd_open(job.pid)
                while child not in ready:
                    if _boot() >= self.times[1] or client in ready:
                        self._kill(signal.SIGKILL)
                    elif _boot() >= self.times[0] and not self.times[2]:
                        self.times[2] = 1
                        self._kill(signal.SIGTERM, signal.SIGCONT)
                    due = self.times[self.times[2] > 0] - _boot()
                    ready = select.select([client, child], [], [], min(max(due, .005), .1))[0]
                if self.times[2]:
                    self._kill(signal.SIGKILL)
                status = job.wait()
        finally:
            os._exit(status if status >= 0 else 128 - status)

    async def run(self):
        """Run the command under the lock, and return the status."""
        loop, task, dead = asyncio.get_running_loop(), asyncio.current_task(), asyncio.Event()

        def catch(number):
            if self.guard and self.times[3]:
                self._kill(number)
            elif self.guard:
                loop.call_later(.02, catch, number)
            elif not self.caught:
                self.caught = number
                task.cancel()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            loop.add_signal_handler(number, catch, number)
        try:
            fence = await self._acquire()
        except (asyncio.CancelledError, SystemExit) as end:
            await self._release(_boot() + (2 if self.ended else .5))
            sys.stderr.write('' if self.caught else 'client.py: command not started\n')
            return 128 + self.caught if self.caught else end.code
        os.environ.update(RLOCKRUN_KEY=os.fsdecode(self.keys[0]), RLOCKRUN_FENCE=fence,
                          RLOCKRUN_TOKEN=self.tokens[-1])
        self.times[0], self.times[1], _ = self._ends()
        self.guard = os.fork() or self._guard()
        loop.add_reader(os.pidfd_open(self.guard), dead.set)
        renewal = asyncio.create_task(self._renew())
        await dead.wait()
        renewal.cancel()
        await asyncio.wait([renewal])
        status = os.waitstatus_to_exitcode(os.waitpid(self.guard, 0)[1])
        if status < 0:  # The guard was killed, and with it its child.
            self._kill(signal.SIGKILL)
        held = await self._release(min(_boot() + 10, self._ends()[2]))
        return status if held and status >= 0 and not self.times[2] else 79


if __name__ == '__main__':
    sys.exit(asyncio.run(Lock().run()))

#!/usr/bin/python3
"""Runs a command under a lock as rlockrun-protocol(7) says: a second implementation of the
page, which shares nothing with the first."""
import contextlib
import getopt
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
import uuid

HISTORY, HOUR = 345600000, 3600000
FATAL = {'WRONGTYPE': 76, 'NOAUTH': 77, 'WRONGPASS': 77, 'NOPERM': 77, 'DENIED': 77}
BUSY, LOST = 75, 79
# Keys: K, :i, :r, :q, :l, then doorbells. The names are those of the page.
PRELUDE = """
local K,I,R,Q,L=unpack(KEYS) local C,T=redis.call,redis.call('time')
local us=T[1]*1000000+T[2] local now=math.floor(us/1000)
-- Letter, number, first member, and the ms left of the first and of the last lease.
local function holders()
  local y=C('type',K).ok
  if y=='none' then return '',0,'',0,0 end
  if y=='string' then local ms=C('pttl',K) return 'x',1,C('get',K),ms,ms end
  local top=y=='zset' and tonumber(C('zrange',K,-1,-1,'withscores')[2]) or 0
  if C('pttl',K)<0 or top<1e12 or top>1e14 then error('WRONGTYPE not a lock') end
  local live=C('zrangebyscore',K,'('..now,'+inf','withscores')
  if #live==0 then return '',0,'',0,0 end
  return live[1]:sub(1,2)=='s:' and 's' or 'p',#live/2,live[1],live[2]-now,live[#live]-now
end
local function left(w) return (tonumber(C('zscore',L,w)) or math.huge)-now end
local function remove_dead(me)
  for _,w in ipairs(C('zrangebyscore',L,'-inf',now,'limit',0,100)) do
    if w~=me then C('zrem',Q,w) C('zrem',L,w) end end
  return C('zrange',Q,0,0)[1]
end
local function ring(w,bell)
  if not C('zscore',Q,w) or left(w)<=1000 then return end
  C('zadd',L,now+1000,w) C('pexpire',L,60000)
  C('del',bell) C('rpush',bell,1) C('pexpire',bell,10000)
end
local function field(x) return KEYS.letter=='x' and 'h' or 'h:'..x end
local function set(life,...) C('hset',I,...) C('pexpire',I,math.max(life,C('pttl',I))) end
local function push(life,text) C('lpush',R,text) C('ltrim',R,0,9) C('pexpire',R,life) end
"""
# Arguments: letter, limit, ttl, record, life, history, name, 1 to wait, ticket, once-per,
# once-id, ms since the first try with --newest, the member and the former ones.
ACQUIRE = PRELUDE + """
local A,bell,letter,life,me,own=ARGV,KEYS[6],ARGV[1],tonumber(ARGV[5]),ARGV[7],ARGV[13]
local ttl,ticket,ours,old=tonumber(A[3]),tonumber(A[9]),false KEYS.letter=letter
local kind,count,first,first_ms,last_ms=holders()
for n=13,#A do ours=ours or kind=='x' and letter=='x' and first==A[n] or
  (kind=='s' or kind=='p') and (tonumber(C('zscore',K,A[n])) or 0)>now end
local function top() return tonumber(C('zrange',Q,-1,-1,'withscores')[2]) or 0 end
local function skip(reason,whom)
  set(life,'k:'..reason,now..' '..A[4]..' | '..whom) return {2,reason} end
local function policies()
  local s=C('hget',I,'s') local ended=tonumber((s or ''):match('^%d+'))
  if ended and ended<=now+60000 and now-ended<(tonumber(A[10]) or -1e15) then
    return skip('due',s) end
  if A[11]~='' and C('hget',I,'d')==A[11] then return skip('id',C('hget',I,'ds') or '') end
  if A[12]=='' then return end
  local t,w,record=(C('hget',I,'w') or ''):match('^(%d+) (%S+) (.*)$') t=tonumber(t) or 0
  if t>us+6e7 then t,w=0 end
  if w==me then ticket=t end
  ticket=ticket or tonumber(C('zscore',Q,me)) or A[12]~='0' and us-1000*A[12] or nil
  if w and w~=me and ticket and t>ticket then return skip('overtaken',record) end
  ticket,old=ticket or math.max(us,top()+1,t+1),w
end
local function newest()
  if A[12]~='' then set(life,'w',('%.0f '):format(ticket)..me..' '..A[4]) end end
local skipped=not ours and policies() if skipped then return skipped end
local room=(count==0 or kind==letter) and (tonumber(A[2]) or math.huge)-count or 0
local head=C('zrange',Q,0,0)[1]
if not ours and head and head~=me then head=remove_dead(me) end
local function has_turn()
  local all=C('zrange',Q,0,-1)
  for n,w in ipairs(all) do
    if w:sub(1,1)~=letter or n>room then return false elseif w==me then return true end end
  return #all<room
end
if ours or has_turn() then
  if letter=='x' then C('set',K,own,'px',math.max(ttl,C('pttl',K)))
  else for n=14,#A do C('zrem',K,A[n]) end
    C('zremrangebyscore',K,'-inf',now) C('zadd',K,now+ttl,own)
    C('pexpire',K,math.max(3*ttl,C('pttl',K))) end
  C('del',bell)
  local f=('%.0f'):format(math.max(us,(tonumber(C('hget',I,'f')) or 0)+1))
  local start,fence=now,f
  for _,h in ipairs(letter=='x' and {'h'} or C('hkeys',I)) do
    local x=h:match('^h:?(.*)')
    if x and (letter=='x' or not C('zscore',K,x) or x==own) then
      local word,run=(C('hget',I,h) or ''):match('^(%S+) (.*)$')
      if word==own then fence,start=run:match('^(%d+) (%d+)')
      elseif word and not word:find(':',3,true) and run:match('^%d+ %d+ r') then
        push(A[6],'- - - - '..run) end
      if x~=own and letter~='x' then C('hdel',I,h) end end end
  set(life,'f',f,'t',life,field(own),own..' '..fence..' '..start..' '..A[4]) newest()
  C('zrem',Q,me) C('zrem',L,me)
  local names={1,fence,start,C('zrange',Q,0,0)[1] or ''}
  if letter~='x' then for n,w in ipairs(C('zrange',Q,0,49)) do
    if n>=room or w:sub(1,1)~=letter then break end names[#names+1]=w end end
  return names
end
local by=C('hget',I,kind=='x' and 'h' or 'h:'..first) or ''
if by:sub(1,#first)~=first or not by:find('^[ :]',#first+1) then by='' end
if A[8]=='0' then skip('busy',by) return {0,-1,0,'',0} end
if not C('zscore',Q,me) then
  C('zadd',Q,('%.0f'):format(ticket or math.max(us,top()+1)),me) end
local rank,ms=C('zrank',Q,me),kind==letter and first_ms or last_ms
C('zadd',L,now+3*(rank<3 and 800 or 5000),me)
C('pexpire',Q,60000) C('pexpire',L,60000) newest()
local rings={}
if room>0 then head=C('zrange',Q,0,0)[1]
  local most=(count==0 or head:sub(1,1)==kind) and 1000 or 2400
  ms=math.min(left(head),most) if head~=me and left(head)>most then rings[1]=head end end
if old and old~=me and C('zscore',Q,old) then rings[#rings+1]=old end
return {0,rank,ms,('%.0f'):format(C('zscore',Q,me)),
  count>0 and by=='' and 1 or 0,unpack(rings)}"""
RENEW = """
local K,C=KEYS[1],redis.call local y,ttl,T=C('type',K).ok,tonumber(ARGV[2]),redis.call('time')
local now=T[1]*1000+math.floor(T[2]/1000)
local function held()
  if y=='string' then if C('get',K)~=ARGV[1] then return 0 end
    if C('pttl',K)<ttl then C('pexpire',K,ttl) end return 1 end
  local till=y=='zset' and tonumber(C('zscore',K,ARGV[1])) or 0 if till<=now then return 0 end
  C('zadd',K,math.max(till,now+ttl),ARGV[1])
  if C('pttl',K)<3*ttl then C('pexpire',K,3*ttl) end return 1
end
"""
# Keys: K, and with a nested run :n and :i. Arguments: member, ttl, and the UUID of the run.
JOIN = RENEW + """
if held()==0 then return {0,''} end
C('sadd',KEYS[2],ARGV[3]) C('pexpire',KEYS[2],10*ttl)
return {1,C('hget',KEYS[3],y=='string' and 'h' or 'h:'..ARGV[1]) or ''}"""
RENEW += 'return held()'
# Keys: the first five, :n, the own doorbell, that of the head. Arguments: letter, name, known
# head, life, history, "FENCE START RECORD", "STATUS WAITED REASON" or '', once-id, UUID of a
# nested run or '', the member and the former ones.
RELEASE = PRELUDE + """
local A,N,own,nested=ARGV,KEYS[6],ARGV[10],ARGV[9]~='' KEYS.letter=A[1] C=redis.pcall
local function has(x)
  if A[1]=='x' then return C('get',K)==x end return type(C('zscore',K,x))=='string' end
local function free(x) if A[1]=='x' then C('del',K) else C('zrem',K,x) end end
for n=11,#A do if has(A[n]) then free(A[n]) end end
local code,mark,others=has(own) and 1 or 0,nested and '' or '!',0
C('srem',N,A[9])
for _,u in ipairs(C('smembers',N)) do
  if u:sub(1,1)=='!' then mark=u else others=others+1 end end
if code==1 and (others>0 or mark=='') then code=2 if not nested then C('sadd',N,'!') end
elseif code==1 and mark=='!k' then code=3 C('del',N)
  if A[1]=='x' then C('set',K,own..':kept','px',C('pttl',K)) end
elseif code==1 then C('del',N) free(own) end
local entry=C('hget',I,field(own)) or ''
if not nested and (code==1 or entry:sub(1,#own+1)==own..' ') then
  if code==2 then set(A[4],field(own),own..': '..A[6])
  elseif A[1]=='x' then set(A[4],'h','') else C('hdel',I,field(own)) end
  if A[7]~='' then push(A[5],now..' '..A[7]..' '..A[6])
    if A[7]:sub(1,2)=='0 ' then set(A[4],'s',now..' '..A[6])
      if A[8]~='' then set(A[4],'d',A[8],'ds',now..' '..A[6]) end end end end
if code==2 then return {2,''} end
local before=C('zrange',Q,0,0)[1]
C('zrem',Q,A[2]) C('zrem',L,A[2]) C('del',KEYS[7])
local head,kind=remove_dead(A[2]),holders()
local is_news=kind=='' or code==3 or
  kind~='x' and kind==(head or ''):sub(1,1) and (code==1 or head~=before)
if not head or not is_news then return {code,''} end
if head~=A[3] then return {code,head} end ring(head,KEYS[8]) return {code,''}"""
RING = PRELUDE + 'for n,w in ipairs(ARGV) do ring(w,KEYS[5+n]) end return 1'


class ErrorReply(Exception):
    """A reply that begins with -."""


class Leave(Exception):
    """A waiter has to go, with this status."""


def _boot():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _encoded(text, is_plain):
    return b''.join(bytes([c]) if is_plain(c) else b'%%%02X' % c for c in os.fsencode(text))


def _word(text):
    return {'': b'-', '-': b'%2D'}.get(text) or _encoded(
        text, lambda c: c > 32 and c not in b'\x7f%|')


class Server:
    """A connection, made when it is needed."""
    sock = file = None

    def __init__(self, url):
        self.url = url

    def drop(self):
        """Forget the connection."""
        if self.sock:
            self.file.close()
            self.sock.close()
        self.sock = None

    def _connect(self):
        scheme, place = self.url.rstrip('/').split('://')
        if scheme == 'unix':
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(place)
        else:
            host, port = place.rsplit(':', 1)
            self.sock = socket.create_connection((host, int(port)), 1)
        self.file = self.sock.makefile('rb')
        return [('CLIENT', 'SETNAME', f'rlockrun:{os.getpid()}')]

    def _read(self):
        line = self.file.readline()
        kind, text = line[:1], line[1:-2]
        if not line.endswith(b'\n'):
            raise OSError('end of file')
        if kind == b'*':
            return [self._read() for _ in range(int(text))]
        if kind == b'$':
            return None if text == b'-1' else self.file.read(int(text) + 2)[:-2]
        if kind == b'-':
            return ErrorReply(text.decode(errors='replace'))
        return int(text) if kind == b':' else text

    def ask(self, patience, *commands):
        """Return when these were sent, and the replies. Raise an error of the first one."""
        try:
            first = [] if self.sock else self._connect()
            self.sock.settimeout(patience)
            sent = _boot()
            for words in [*first, *commands]:
                words = [w if isinstance(w, bytes) else os.fsencode(str(w)) for w in words]
                self.sock.sendall(b'*%d\r\n' % len(words) + b''.join(
                    b'$%d\r\n%s\r\n' % (len(w), w) for w in words))
            replies = [self._read() for _ in [*first, *commands]][len(first):]
        except BaseException:
            self.drop()
            raise
        if isinstance(replies[0], ErrorReply):
            raise replies[0]
        return sent, replies


class Lock:
    """A lock, the place in its queue, and the job."""
    outer, head, fence, start, ticket = '', b'', b'', b'', b''
    tries, was_queued, was_rung, caught, poll, job = 0, False, False, 0, .1, None

    def __init__(self):
        opts, self.command = getopt.getopt(
            sys.argv[1:], 'k:r:t:w:sp:', ['once-per=', 'once-id=', 'newest', 'label='])
        opts = dict(opts)
        if '-k' not in opts or not self.command:
            sys.exit('Usage: client.py -k NAME [-r URL] [-t TTL] [-w SECONDS] [-s | -p N] '
                     '-- COMMAND...')
        self.server = Server(opts.get('-r') or os.environ['RLOCKRUN_REDIS'])
        self.ttl, self.wait = float(opts.get('-t', 30)), float(opts.get('-w', 'inf'))
        self.letter, self.limit = 'x', 1
        if '-s' in opts or '-p' in opts:
            self.letter, self.limit = ('s', '') if '-s' in opts else ('p', int(opts['-p']))
        self.once, self.id = float(opts.get('--once-per', 0)), opts.get('--once-id', '')
        self.newest, self.key = '--newest' in opts, os.fsencode(opts['-k'])
        start = self.key.find(b'{')
        tagged = 0 <= start < self.key.find(b'}', start) - 1
        self.base = self.key + b':rlkt:' if tagged else b'{%s}:rlk:' % self.key
        self.own, self.run, self.former = str(uuid.uuid4()), str(uuid.uuid4()), []
        self.bell, host = self._bell(self.own), os.uname()[1]
        self.name = f'{self.letter}:{self.own}:{os.getpid()}@{host}'.encode()
        self.record = b' '.join(map(_word, (
            'run', str(self.limit if self.letter == 'p' else 0), str(os.getpid()), host,
            os.environ.get('USER', str(os.getuid())), opts.get('--label', ''),
            self.command[0])))
        self.life = int(max(HOUR, 10000 * self.ttl, HISTORY, 1000 * self.once))

    def _bell(self, token):
        return self.base + b'm:' + (token if isinstance(token, bytes) else token.encode())

    def _members(self):
        return [('s:' if self.letter == 's' else '') + t for t in [self.own, *self.former[-8:]]]

    def _script(self, text, more, *args):
        keys = [self.key, *(self.base + x for x in (b'i', b'r', b'q', b'l')), *more]
        return ('EVAL', text, len(keys), *keys, *args)

    def _renewal(self):
        keys = [self.key]
        if self.outer:
            keys += [self.base + b'n:' + self.own.encode(), self.base + b'i']
        return ('EVAL', JOIN if self.outer else RENEW, len(keys), *keys, self._members()[0],
                int(1000 * self.ttl), self.run)

    def _ring(self, names):
        if names:
            with contextlib.suppress(OSError, ErrorReply):
                self.server.ask(1, self._script(
                    RING, [self._bell(n.split(b':')[1]) for n in names], *names))

    def _held(self):
        return _encoded(self.key, lambda c: 32 < c < 127 and c != 37).decode()

    def join(self):
        """Whether an outer run holds the lock, which then is used as its nested run."""
        own, letter = self.own, self.letter
        for entry in os.environ.get('RLOCKRUN_HELD', '').split():
            self.letter, self.outer, key = entry.split(':', 2)
            if key != self._held():
                continue
            self.own = self.outer
            self.sent, ((held, text),) = self.server.ask(5, self._renewal())
            if held:
                self.fence = (text.split(b' ') + [b''])[1]
                return True
        self.own, self.letter, self.outer = own, letter, ''
        return False

    def acquire(self):
        """Wait for the lock."""
        heard = self.asked
        while True:
            asked_ms = int(1000 * (_boot() - self.asked)) if self.former else 0
            try:
                self.tries += 1
                sent, ((code, *reply),) = self.server.ask(5, self._script(
                    ACQUIRE, [self.bell], self.letter, self.limit, int(1000 * self.ttl),
                    self.record, self.life, HISTORY, self.name, int(self.wait > 0),
                    self.ticket, int(1000 * self.once) or '', self.id,
                    asked_ms if self.newest else '', *self._members()))
                if code == 1 and _boot() - sent > self.ttl / 2:
                    raise OSError('the grant came too late')
            except (OSError, ErrorReply) as error:
                word = next((w for w in FATAL if w in str(error)), None)
                if word or _boot() > heard + 10:
                    raise Leave(FATAL.get(word, 69)) from error
                if isinstance(error, OSError):
                    self.former.append(self.own)
                    self.own = str(uuid.uuid4())
                time.sleep(.1)
                continue
            heard, self.was_queued = _boot(), self.was_queued or code == 0 and reply[0] >= 0
            if code == 2:
                raise Leave(BUSY)
            rings = reply[3:] if code else reply[4:]
            self._ring(rings)
            if code:
                self.sent, self.fence, self.head = sent, reply[0], reply[2]
                self.start = str(reply[1]).encode() if isinstance(reply[1], int) else reply[1]
                return
            most = self.asked + self.wait - _boot()
            if most <= 0:
                raise Leave(BUSY)
            self._block(most, bool(rings), *reply[:4])

    def _block(self, most, has_rung, rank, left, ticket, foreign):
        """Until the next try is due."""
        self.ticket = ticket
        wait = (.8 if rank < 3 else 5) * random.uniform(.9, 1.1)
        if left >= 0 and (rank < 3 or has_rung or self.was_rung):
            wait = min(wait, left / 1000 + (.002, .05, .1)[min(rank, 2)])
        self.poll, self.was_rung = min(2 * self.poll, .5) if foreign else .1, False
        try:
            if foreign and not rank:
                time.sleep(min(most, self.poll * random.uniform(.8, 1)))
            else:
                wait = max(.001, min(wait, most))
                self.was_rung = self.server.ask(
                    wait + 1, ('BLPOP', self.bell, f'{wait:.3f}'))[1][0] is not None
        except (OSError, ErrorReply):
            time.sleep(.05)

    def release(self, until, ended):
        """Release the lock, or leave the queue. Return whether it was held until now."""
        doubt = not ended or bool(self.former)
        keys = [self.base + b'n:' + self.own.encode(), self.bell]
        if self.head:
            keys.append(self._bell(self.head.split(b':')[1]))
        run = b' '.join((self.fence, self.start, self.record)) if self.fence else b''
        while True:
            try:
                _, ((code, head),) = self.server.ask(1, self._script(
                    RELEASE, keys, self.letter, self.name, self.head, self.life, HISTORY, run,
                    ended, self.id, self.run if self.outer else '', *self._members()))
                self._ring([head] if head else [])
                return doubt or code != 0
            except (OSError, ErrorReply):
                doubt = True
                if _boot() >= until:
                    return True
                time.sleep(.1)

    def _valid(self):
        return self.sent + .99 * self.ttl - .002

    def _signal(self, number):
        with contextlib.suppress(OSError):
            os.killpg(self.job.pid, number)

    def _renew(self):
        """Return 1, 0 for a lock that is lost, or None."""
        try:
            sent, (reply, head) = self.server.ask(
                min(10, self.ttl / 4), self._renewal(), ('ZRANGE', self.base + b'q', 0, 0))
        except (OSError, ErrorReply):
            return None
        reply = reply[0] if self.outer else reply
        if reply:
            self.sent, self.head = sent, b''.join(head) if isinstance(head, list) else b''
        return reply

    def _watch(self, child):
        """Until the job has ended: renew, and stop it. Return whether the lock was lost."""
        due, back_off, lost = self.sent + self.ttl / 3, .1, None
        while True:
            kill = min(self._valid() - max(.01 * self.ttl, .04), lost or float('inf'))
            term = kill - min(self.ttl / 6, 5)
            due_at = kill if lost else min(due, term)
            if select.select([child], [], [], max(0, due_at - _boot()))[0]:
                return bool(lost)
            if _boot() >= kill:
                self._signal(signal.SIGKILL)
                select.select([child], [], [])
                return True
            renewed = self._renew() if not lost and _boot() < term else None
            if renewed:
                due = self.sent + self.ttl / 3 * random.uniform(.95, 1.05)
                back_off = .1
            elif not lost and (renewed == 0 or _boot() >= term):
                self._signal(signal.SIGTERM)
                lost = kill if renewed is None else _boot() + min(1, self.ttl / 6)
            else:
                due, back_off = _boot() + back_off, min(1, 2 * back_off)

    def work(self):
        """Run the job, renew the lock meanwhile, and return the status."""
        waited = int(1000 * (_boot() - self.asked))
        held = [os.environ.get('RLOCKRUN_HELD', ''), f'{self.letter}:{self.own}:{self._held()}']
        os.environ.update(
            RLOCKRUN_KEY=os.fsdecode(self.key), RLOCKRUN_FENCE=self.fence.decode(),
            RLOCKRUN_TOKEN=self.own, RLOCKRUN_HELD=' '.join(filter(None, held)))
        with subprocess.Popen(['setpriv', '--pdeathsig', 'KILL', '--', *self.command],
                              process_group=0, close_fds=False) as self.job:
            is_lost = self._watch(os.pidfd_open(self.job.pid))
        status = LOST if is_lost else self.job.returncode
        status = status if status >= 0 else 128 - status
        if is_lost:
            self._signal(signal.SIGKILL)
        held = self.release(max(_boot() + 1, min(_boot() + 10, self._valid())),
                            f'{status} {waited} {"lost" if is_lost else "job_ended"}')
        return status if held else LOST

    def main(self):
        """Run the command under the lock, and return the status."""
        def catch(number, _):
            if not self.job:
                raise Leave(128 + number)
            self._signal(number)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, catch)
        self.asked = _boot()
        try:
            if not self.join():
                self.acquire()
        except Leave as end:
            if self.tries and (self.was_queued or self.former or end.args[0] > 128):
                self.server.drop()
                self.release(_boot() + 1, '')
            return end.args[0]
        return self.work()


if __name__ == '__main__':
    sys.exit(Lock().main())

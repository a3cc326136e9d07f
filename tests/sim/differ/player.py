"""Plays steps on both sides, and finds the first that differs."""
import re

from sides import CLOSED, NoReply, Wire

START_US = 1700000000123456
DUMPER = 9  # the client that looks at all keys, as a user whom nobody denies anything
REPLICA = 100  # clients from here on ask the second server
VALUE = {b"string": ["GET"], b"hash": ["HGETALL"], b"list": ["LRANGE", "0", "-1"],
         b"set": ["SMEMBERS"], b"zset": ["ZRANGE", "0", "-1", "WITHSCORES"]}
# Where Lua puts the place before an error of its own: no script of ours has one, whatever
# the keys hold.
SCRIPT_FAILS = re.compile(rb"user_script:\d+: ")
# What a server says about itself and differs from run to run.
MASKED = {"info", "role"}


def encode(word):
    return word if isinstance(word, bytes) else word.encode("latin-1", "replace")


def name_of(words):
    name = words[0].lower()
    if name in ("client", "acl", "config", "cluster") and len(words) > 1:
        return f"{name}|{words[1].lower()}"
    return name


def elements(reply):
    """Those of a flat list."""
    return [part for part in re.split(rb"\r\n(?=[$:*])", reply[:-2])[1:]]


def normal(words, reply):
    """The reply, without what may differ."""
    name = name_of(words)
    # LuaJIT has other words than Lua for what has no arithmetic, index...
    reply = re.sub(rb"attempt to .*? script: ", b"script: ", reply)
    if reply[:1] in (b"-", b"c"):
        return reply
    if name in MASKED:
        return reply[:1]
    if name in ("keys", "smembers", "config|get"):
        return b"|".join(sorted(elements(reply)))
    if name == "scan":
        return b"|".join(sorted(elements(reply)[1:])).replace(b"*", b"")
    if name == "wait" and words[1] in ("0", "-1"):
        return reply[:1]
    return reply


class Difference(Exception):
    pass


class Player:
    def __init__(self, primary, replica, clock, double):
        self.primary, self.replica, self.clock, self.double = primary, replica, clock, double
        self.scripts = set()  # the project's, as text and as digest
        self.version = primary.version()
        self.wires = {}
        self.is_synchronous = True  # the replica gets all at once
        self.sent = {}  # client -> the words that have no reply yet
        self.played = 0

    # --- state -----------------------------------------------------------------

    def begin(self):
        for wire in self.wires.values():
            wire.close()
        self.wires, self.sent = {}, {}
        for line in ("CONFIG SET maxmemory 0", "CONFIG SET appendfsync everysec",
                     "CONFIG SET min-replicas-to-write 0", "FLUSHALL", "SCRIPT FLUSH",
                     "ACL SETUSER default reset on nopass ~* &* +@all"):
            self.primary.control.ask(*line.split())
        self.clock.set(START_US)
        self.sync_real()
        self.double.order("clock", START_US)
        self.double.order("begin", self.version.compatible)
        self.double.order("do", """server.users = {other = 'secret'}
                          replica.users = server.users server:add_replica(replica)""")
        for client in (DUMPER, REPLICA):
            self.expect(client, ["AUTH", "other", "secret"])

    def sync_real(self):
        """The replica has all that the primary has, up to this message: later versions
        wait only for what the same client has sent."""
        self.primary.control.ask("PUBLISH", "all", "yes")
        self.primary.control.ask("WAIT", "1", "0")

    def sync_double(self):
        return self.double.order("do", "server:replicate_to(replica) server:ack(replica)")

    def sync_waiting(self):
        """Clients in WAIT go on when the replica has it all, as it does by itself."""
        while self.is_synchronous and any(words[0].upper() == "WAIT"
                                          for sent in self.sent.values() for words in sent):
            self.sync_real()
            replies = self.sync_double()
            self.compare(replies)
            if not replies:
                break

    def wire(self, client):
        if client not in self.wires:
            server = self.primary if client < REPLICA else self.replica
            self.wires[client] = Wire(server.socket)
        return self.wires[client]

    # --- steps -----------------------------------------------------------------

    def compare(self, replies):
        """What the double says each client gets must come from the real server."""
        for client, bytes_ in replies:
            if not bytes_ or client not in self.wires:
                continue
            words = self.sent[client].pop(0) if self.sent.get(client) else [""]
            try:
                real = self.wires[client].read()
            except NoReply:
                real = b"(nothing)"
            if bytes_ == CLOSED:
                self.wires.pop(client).close()
                self.sent.pop(client, None)
            translate = self.version.translate
            if normal(words, translate(name_of(words), real)) != \
                    normal(words, translate(name_of(words), bytes_)):
                raise Difference(f"client {client}, {words[:4]}\n  real:   {real!r}\n"
                                 f"  double: {bytes_!r}")
            if words[1:2] and words[1] in self.scripts and SCRIPT_FAILS.search(bytes_):
                raise Difference(f"client {client}: the script fails\n  both: {bytes_!r}")

    def expect(self, client, words):
        wire = self.wire(client)
        words = [encode(word) for word in words]
        wire.send(words)
        self.sent.setdefault(client, []).append([word.decode("latin-1") for word in words])
        replies = self.double.order("ask", client, *words)
        self.compare(replies)
        return replies[-1][1] if replies else b""

    def ask(self, client, words):
        wire = self.wire(client)
        if self.sent.get(client) and (words[0].upper() == "WAIT" or not self.version.is_strict):
            return  # it hangs on when the replica acknowledges, or when the client goes on
        mine = [encode(word) for word in words]
        wire.send(mine)
        self.sent.setdefault(client, []).append(words)
        replies = self.double.order("ask", client, *mine)
        self.compare(replies)
        if client not in [one for one, _ in replies]:
            self.check_silence(client, words)
        else:
            self.sync_waiting()

    def check_silence(self, client, words):
        """The double blocks: so must the server."""
        self.sync_waiting()
        self.primary.control.ask("PING")
        wire = self.wires.get(client)
        if wire and wire.has_bytes():
            raise Difference(f"client {client}, {words[:4]}\n  real:   {wire.read()!r}\n"
                             "  double: blocks")

    def set_clock(self, us):
        """Or a little later: some versions let go by themselves what ends in this very ms."""
        self.sync_waiting()
        us = int(self.double.order("between", us)[0][1])
        self.clock.set(us)
        self.primary.control.ask("PING")
        self.replica.control.ask("PING")
        self.compare(self.double.order("clock", us))
        self.sync_waiting()

    def change(self, lua, commands):
        for words in commands:
            reply = self.primary.control.ask(*words)
            if reply[:1] == b"-":
                raise SystemExit(f"differential: {words}: {reply!r}")
        self.compare(self.double.order("do", lua))

    def dump(self, client=DUMPER):
        """Each key with its type, life and value."""
        keys = elements(self.expect(client, ["KEYS", "*"]))
        for key in sorted(keys):
            key = key.split(b"\r\n", 1)[1]
            kind = self.expect(client, [b"TYPE", key])[1:-2]
            self.expect(client, [b"PTTL", key])
            first, *rest = VALUE.get(kind, ["TYPE"])
            self.expect(client, [first, key, *rest])

    def dump_replica(self):
        self.sync_real()
        self.compare(self.sync_double())
        self.dump(REPLICA)

    def run(self, step):
        kind = step[0]
        if kind == "ask":
            self.ask(step[1], step[2])
        elif kind == "clock":
            self.set_clock(step[1])
        elif kind == "change":
            self.change(step[1], step[2])
        elif kind == "dump":
            self.dump()
        else:
            self.dump_replica()

    def play(self, steps):
        """The number of the first step that differs, and how; or None."""
        self.begin()
        for i, step in enumerate(steps):
            try:
                self.run(step)
            except Difference as difference:
                return i, str(difference)
            self.played += 1
        return None

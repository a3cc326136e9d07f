"""Fixed cases: a cluster of two nodes, a sentinel, and servers in trouble."""
import os
import re
import shlex
import signal
import time

from player import REPLICA, START_US, Difference, Player, name_of
from sides import Process

SLOTS = 16384
BUS = 10000  # the port of the bus lies so far above


class ClusterPlayer(Player):
    """Both nodes are empty, and the double has their addresses and ids."""

    def begin(self):
        self.played = 0
        self.us = START_US
        ids = [node.control.ask("CLUSTER", "MYID").split(b"\r\n")[1].decode()
               for node in (self.primary, self.replica)]
        self.ids_of_nodes = ids
        self.double.order("begin", self.version.compatible)
        self.double.order("do", f"""
            local slots = {{}}
            for slot = 0, {SLOTS - 1} do
              slots[slot] = slot < {SLOTS // 2} and server or replica
            end
            server.port, replica.port = {self.primary.port}, {self.replica.port}
            server.node_id, replica.node_id = '{ids[0]}', '{ids[1]}'
            server.cluster = {{slots = slots, migrating = {{}}, importing = {{}}}}
            replica.cluster = {{slots = slots, migrating = {{}}, importing = {{}}}}""")

    def wait_until(self, is_true, what):
        """Real nodes do some things by their own timers, for which the frozen clock is
        stepped."""
        for _ in range(20000):
            if is_true():
                return
            self.us += 100000
            self.clock.set(self.us)
            time.sleep(0.01)
        raise SystemExit("differential: " + what)

    def join(self):
        first, second = self.primary, self.replica
        first.control.ask("CLUSTER", "SET-CONFIG-EPOCH", "1")
        second.control.ask("CLUSTER", "SET-CONFIG-EPOCH", "2")
        first.control.ask("CLUSTER", "ADDSLOTSRANGE", "0", SLOTS // 2 - 1)
        second.control.ask("CLUSTER", "ADDSLOTSRANGE", SLOTS // 2, SLOTS - 1)
        first.control.ask("CLUSTER", "MEET", "127.0.0.1", second.port)
        self.wait_until(lambda: all(b"cluster_state:ok" in node.control.ask("CLUSTER", "INFO")
                                    for node in (first, second)), "the nodes do not join")
        self.double.order("clock", self.us)

    def set_slot(self, slot, lua, *orders):
        """Each order: node (0 or 1), words behind the slot; #0 and #1 are ids."""
        for node, *words in orders:
            words = [self.ids_of_nodes[int(word[1])] if word[0] == "#" else word
                     for word in words]
            reply = (self.primary, self.replica)[node].control.ask("CLUSTER", "SETSLOT", slot,
                                                                   *words)
            assert reply == b"+OK\r\n", reply
        self.compare(self.double.order("do", lua))


def survive(play, player):
    """How many cases of a part differ; a difference outside of its cases ends it."""
    try:
        return play(player)
    except Difference as difference:
        print(f"# {play.__name__}: {difference}".replace("\n", "\n# "))
        return 1


def play_all(player, title, rows):
    """How many of the rows, (client, word...), differ; prints them."""
    failed = 0
    for client, *words in rows:
        try:
            player.ask(client, words)
            player.played += 1
        except Difference as difference:
            print(f"# {title}: {difference}".replace("\n", "\n# "))
            failed += 1
    return failed


A, B = 1, REPLICA + 1
READ_BOTH = "return {redis.call('get', KEYS[1]), redis.call('get', KEYS[2])}"


def rows(table):
    """[(client, word...)] of a table: A and B are the nodes, READ is a script that reads
    two keys, and NEXT one that reads {b}3."""
    clients = {"A": A, "B": B}
    found = []
    for case in re.split(r"[\n;]", table):
        words = shlex.split(case)
        if words[1:2] == ["READ"]:
            words[1:2] = ["EVAL", READ_BOTH, "2"]
        elif words[1:2] == ["NEXT"]:
            words[1:2] = ["EVAL", "return redis.call('get', '{b}3')", "1"]
        if words:
            found.append((clients.get(words[0]) or int(words[0]), *words[1:]))
    return found


# The slot of {a} is the second node's, that of {b} the first one's.
WHOLE = rows("""
    A SET {b}1 v; A GET {b}1; B GET {b}1; A GET {a}1; A DEL {a}1 {b}1; A DEL {b}1 {b}2
    A EXISTS {a}1 {a}2; A READ {b}1 {a}1; A READ {a}1 {a}2; A READ {b}1 {b}2
    A EVAL "return 1" 0; A EVAL "return redis.call('get', '{a}1')" 1 {b}1
    A EVAL "return redis.pcall('get', '{a}1')" 0; A SELECT 1; A SELECT 0
    A BLPOP {a}1 {a}2 1; A BLPOP {a}1 {b}2 1; A ASKING; A GET {a}1
    A CLUSTER SLOTS; B CLUSTER SLOTS; A KEYS *; A NOTHING; A GET
    A EVALSHA x 1 {a}1
    """) + [(node, "GET", key) for node in (A, B) for key in (
        "a", "", "{a}b", "{}a", "a{b}c{d}", "{a", "{}{x}", "a{{b}}c", "\xff\xe4", "x" * 500)]
MOVING = rows("""
    A GET {b}1; A GET {b}2; B GET {b}2; B GET {b}1; A READ {b}1 {b}2; A READ {b}1 {b}1
    A READ {b}2 {b}3; A DEL {b}2 {b}3; A BLPOP {b}2 1; A EXISTS {b}1 {a}1
    B ASKING; B GET {b}2; B GET {b}2
    B ASKING; B SET {b}2 new
    B ASKING; B READ {b}1 {b}2
    B ASKING; B READ {b}2 {b}2
    B ASKING; B EXISTS {b}1 {b}3
    B ASKING; B GET; B GET {b}2
    B ASKING; B TIME; B GET {b}2
    B ASKING; B ASKING; B GET {b}2
    B ASKING; B NEXT {b}2
    A NEXT {b}1; A SET {b}3 x; A CLUSTER SLOTS
    """)
MIGRATED = rows("""
    A GET {b}1; B ASKING; B GET {b}1; B ASKING; B PTTL {b}1; B ASKING; B READ {b}1 {b}2
    A KEYS *
    """)
MOVED = rows("A GET {b}1; B GET {b}1; A CLUSTER SLOTS; 2 GET {b}7")
DOWN = rows("A GET {a}1; A GET {c}1; A TIME; A EVAL 'return 1' 0; A CLUSTER SLOTS")


def play_cluster(player):
    failed = play_all(player, "cluster", WHOLE)
    slot = int(player.primary.control.ask("CLUSTER", "KEYSLOT", "{b}")[1:-2])
    assert slot < SLOTS // 2
    player.ask(A, ["SET", "{b}1", "v", "PX", "50000"])
    player.ask(A + 1, ["BLPOP", "{b}7", "0"])
    player.set_slot(slot, f"server.cluster.migrating[{slot}] = replica\n"
                    f"replica.cluster.importing[{slot}] = server",
                    (0, "MIGRATING", "#1"), (1, "IMPORTING", "#0"))
    failed += play_all(player, "moving", MOVING)
    player.primary.control.ask("MIGRATE", "127.0.0.1", player.replica.port, "{b}1", "0", "5000",
                               "AUTH2", "other", "secret")
    player.double.order("do", "server:migrate('{b}1', replica)")
    failed += play_all(player, "migrated", MIGRATED)
    # The client that is blocked there is redirected by a timer.
    player.set_slot(slot, f"""server.cluster.slots[{slot}] = replica
        server.cluster.migrating[{slot}] = nil replica.cluster.importing[{slot}] = nil
        server:tick()""", (1, "NODE", "#1"), (0, "NODE", "#1"))
    failed += play_all(player, "moved", MOVED)
    return failed + play_broken(player)


def play_broken(player):
    """A slot without an owner: the cluster is down."""
    control = player.primary.control
    hole = int(control.ask("CLUSTER", "KEYSLOT", "{a}")[1:-2])
    player.ask(A + 1, ["BLPOP", "{c}9", "0"])
    for node in (player.primary, player.replica):
        node.control.ask("CLUSTER", "DELSLOTS", hole)
    player.wait_until(lambda: b"cluster_state:fail" in control.ask("CLUSTER", "INFO"),
                      "the cluster is not down")
    player.compare(player.double.order("clock", player.us))
    player.compare(player.double.order("do", f"server.cluster.slots[{hole}] = nil\n"
                                       "server.cluster.is_down = true server:tick()"))
    return play_all(player, "down", DOWN)


def check_cluster(folder, clock, path, double):
    """How many cases pass, and how many do not."""
    nodes = []
    clock.set(START_US)
    try:
        for name in ("node1", "node2"):
            nodes.append(Process(os.path.join(folder, name), clock, path, most=65535 - BUS,
                                 options=("--cluster-enabled", "yes",
                                          "--cluster-node-timeout", "3600000")))
        player = ClusterPlayer(nodes[0], nodes[1], clock, double)
        player.begin()
        player.join()
        failed = survive(play_cluster, player)
        return player.played, failed
    finally:
        for node in nodes:
            node.end()


# --- trouble --------------------------------------------------------------------

EVERYTHING = rows("""
    2 GET s0; 2 SET s0 v; 2 DEL s0; 2 EVAL "return 1" 0
    2 EVAL "local v = redis.call('get', KEYS[1]) return v" 1 s0
    2 EVAL "local v = redis.call('set', KEYS[1], 'v') return v" 1 s0
    2 EVAL "local v = redis.pcall('del', KEYS[1]) return v" 1 s0
    2 EVAL "return redis.call('set', KEYS[1], 'v')" 1 s0
    2 TIME; 2 INFO; 2 SELECT 0; 2 CLIENT SETNAME x; 2 BLPOP l0 0.001
    2 ZADD z0 1 m; 2 CONFIG GET appendfsync; 2 NOTHING; 2 GET; 2 ACL WHOAMI; 2 AUTH x
    2 EVALSHA x 0; 2 WAIT 0 1; 2 KEYS *; 2 SCAN 0
    2 EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
    """)


def play_trouble(player, title, lua, undo):
    player.double.order("do", lua)
    failed = play_all(player, title, EVERYTHING)
    player.compare(player.double.order("do", undo))
    return failed


def play_busy(player):
    """A script that never ends."""
    primary = player.primary
    primary.control.ask("CONFIG", "SET", "busy-reply-threshold", "1")
    looping = player.wire(3)
    looping.send([b"EVAL", b"while true do end", b"0"])
    while not primary.control.ask("PING").startswith(b"-BUSY"):
        pass
    failed = play_trouble(player, "busy", "server.busy = true", "server.busy = false")
    primary.control.ask("SCRIPT", "KILL")
    looping.read()
    primary.control.ask("CONFIG", "SET", "busy-reply-threshold", "5000")
    return failed


def play_misconf(player):
    """The dump cannot be written, because a folder has its name."""
    primary = player.primary
    os.mkdir(os.path.join(primary.folder, "dump.rdb"))
    primary.control.ask("CONFIG", "SET", "save", "900 1")
    primary.control.ask("BGSAVE")
    while b"rdb_last_bgsave_status:err" not in primary.control.ask("INFO", "persistence"):
        time.sleep(0.01)
    failed = play_trouble(player, "misconf", "server.misconf = true", "server.misconf = false")
    primary.control.ask("CONFIG", "SET", "save", "")
    return failed


LOGINS = rows("""
    5 AUTH wrong; 5 AUTH other word; 5 GET s0; 5 AUTH word; 5 GET s0
    6 AUTH default word; 6 GET s0
    """)


def play_password(player):
    """The default user has a password."""
    player.primary.control.ask("ACL", "SETUSER", "default", "resetpass", ">word")
    player.double.order("do", "server.password = 'word'")
    failed = play_all(player, "password", [(4, *row[1:]) for row in EVERYTHING] + LOGINS)
    player.double.order("do", "server.password = nil")
    player.primary.control.ask("ACL", "SETUSER", "default", "nopass")
    return failed


def play_replica(player):
    """A replica that serves, then one that has lost its primary; a client that blocks
    when its server becomes a replica."""
    replica, failed = player.replica, 0
    player.sync_real()
    player.compare(player.sync_double())
    all_rows = [(REPLICA + row[0], *row[1:]) for row in EVERYTHING]
    failed += play_all(player, "replica", all_rows)
    replica.control.ask("CONFIG", "SET", "replica-serve-stale-data", "no")
    replica.control.ask("REPLICAOF", "127.0.0.1", "1")
    player.double.order("do", "replica.cut_off = true")
    failed += play_all(player, "cut off", all_rows)
    player.ask(2, ["BLPOP", "l0", "0"])
    player.primary.control.ask("REPLICAOF", "127.0.0.1", "1")
    player.compare(player.double.order("do", "replica:promote() replica:add_replica(server)"))
    failed += play_all(player, "demoted", rows("2 SET s0 v"))
    return failed


def play_stopped(player):
    """A replica that does not acknowledge."""
    os.kill(player.replica.process.pid, signal.SIGSTOP)
    player.is_synchronous = False
    failed = play_all(player, "stopped", rows("""2 SET s0 v; 2 WAIT 0 1; 2 WAIT 1 500
                                        3 TIME; 3 WAIT 1 0"""))
    player.us = START_US + 501000
    player.clock.set(player.us)
    player.primary.control.ask("PING")
    os.kill(player.replica.process.pid, signal.SIGCONT)
    player.compare(player.double.order("clock", player.us))
    player.is_synchronous = True
    player.sync_waiting()
    return failed


def check_trouble(player):
    """How many cases differ. Afterwards both servers are of no more use."""
    player.begin()
    failed = 0
    for play in (play_stopped, play_password, play_busy, play_misconf, play_replica):
        failed += survive(play, player)
    return failed


# --- sentinel -------------------------------------------------------------------

SENTINEL = rows("""
    1 SENTINEL get-master-addr-by-name m; 1 SENTINEL GET-MASTER-ADDR-BY-NAME x
    1 SENTINEL MASTER x; 1 SENTINEL MASTER m; 1 SENTINEL CKQUORUM x; 1 SENTINEL CKQUORUM m
    1 SENTINEL NOTHING; 1 SENTINEL; 1 SENTINEL MASTER; 1 SENTINEL CKQUORUM; 1 ROLE
    1 GET a; 1 EVAL "return 1" 0; 1 CLIENT SETNAME x; 1 INFO; 1 ASKING; 1 TIME; 1 SELECT 1
    1 AUTH x; 1 ACL WHOAMI
    """)


# What a sentinel says of a master to which it is connected.
CONNECTED = re.compile(rb"\r\nflags\r\n\$\d+\r\nmaster\r\n")


class SentinelPlayer(Player):
    def compare(self, replies):
        """Of what a sentinel knows about a master, the double has the most important."""
        words = self.sent.get(1, [[""]])[0]
        if name_of(words) == "sentinel" and words[1:] == ["MASTER", "m"]:
            self.sent[1].pop(0)
            real, mine = self.wires[1].read(), replies[0][1]
            pairs = re.findall(rb"\$\d+\r\n(name|ip|port|flags)\r\n\$\d+\r\n(\S+)\r\n", mine)
            for name, value in pairs:
                if not re.search(rb"\r\n%s\r\n\$\d+\r\n%s\r\n" % (name, value), real):
                    raise Difference(f"{name} {value} is not in {real}")
            replies = []
        super().compare(replies)


def check_sentinel(folder, clock, path, double, primary):
    os.mkdir(os.path.join(folder, "conf"))
    conf = os.path.join(folder, "conf", "sentinel")
    with open(conf, "w", encoding="utf-8") as file:
        file.write(f"sentinel monitor m 127.0.0.1 {primary.port} 1\n"
                   "sentinel auth-user m other\nsentinel auth-pass m secret\n")
    clock.set(START_US)
    sentinel = Process(os.path.join(folder, "sentinel"), clock, path, sentinel=conf)
    try:
        player = SentinelPlayer(sentinel, sentinel, clock, double)
        double.order("begin", primary.version().compatible)
        double.order("do", f"server.is_sentinel, server.master = true, 'm'\n"
                     f"server.primary, replica.port = replica, {primary.port}")
        while not (sentinel.control.ask("SENTINEL", "CKQUORUM", "m").startswith(b"+OK")
                   and CONNECTED.search(sentinel.control.ask("SENTINEL", "MASTER", "m"))):
            time.sleep(0.01)
        failed = play_all(player, "sentinel", SENTINEL)
        return player.played, failed
    finally:
        sentinel.end()

"""A primary, its replicas, and the sentinels that watch them."""
import independent
import resp
from node import wait_until

MASTER = "primary"
JOIN_SECONDS = 15
QUORUM = 2
SETTINGS = """bind {address}
port {port}
unixsocket {socket}
protected-mode no
sentinel myid {ident}
sentinel monitor {master} {primary} {quorum}
sentinel down-after-milliseconds {master} 400
sentinel failover-timeout {master} 3000
"""


def ident_of(sentinel):
    return f"{sentinel.server_port:039d}{sentinel.name[1:]}"


class Sentinels(independent.Independent):
    scheme = "redis-sentinel"

    def __init__(self, replicas=1, sentinels=3):
        super().__init__(1 + replicas)
        self.names += [f"q{i}" for i in range(sentinels)]

    def prepare(self, nodes, folder):
        super().prepare([node for node in nodes if node.role == "server"], folder)
        self.sentinels = [node for node in nodes if node.role == "sentinel"]
        for server in self.nodes:
            server.arguments += ["--replica-announce-ip", server.address,
                                 "--replica-announce-port", str(server.port)]
        for sentinel in self.sentinels:
            conf = sentinel.folder / "conf"
            conf.write_text(self.settings_of(sentinel))
            sentinel.arguments = [str(conf), "--sentinel", "--dir", str(sentinel.folder),
                                  "--daemonize", "no"]

    def settings_of(self, sentinel):
        """The sentinel writes into this file what it learns, so it still knows that
        when it is started again."""
        primary, *replicas = (f"{server.address} {server.port}" for server in self.nodes)
        lines = [SETTINGS.format(
            address=sentinel.address, port=sentinel.server_port, socket=sentinel.socket,
            ident=ident_of(sentinel), master=MASTER, primary=primary, quorum=QUORUM)]
        lines += [f"sentinel known-replica {MASTER} {replica}\n" for replica in replicas]
        lines += [f"sentinel known-sentinel {MASTER} {other.address} {other.server_port} "
                  f"{ident_of(other)}\n" for other in self.sentinels if other is not sentinel]
        return "".join(lines)

    @property
    def urls(self):
        where = ",".join(f"{one.address}:{one.server_port}" for one in self.sentinels)
        return [f"{self.scheme}://{where}/{MASTER}"]

    def join(self):
        for replica in self.nodes[1:]:
            replica.query(*self.replicate(self.nodes[0]))
        wait_until(lambda: all(node.is_replica() for node in self.nodes[1:]), JOIN_SECONDS,
                   self.nodes[1].log_tail)
        wait_until(lambda: all(self.is_good(one) for one in self.sentinels), JOIN_SECONDS,
                   self.sentinels[0].log_tail)

    @staticmethod
    def replicate(primary):
        return "REPLICAOF", primary.address, primary.port

    def is_good(self, sentinel):
        """It has seen all others: a failover would have somebody to elect."""
        try:
            words = sentinel.query("SENTINEL", "CKQUORUM", MASTER)
        except (OSError, resp.ReplyError):
            return False
        return words.startswith(f"OK {len(self.sentinels)} ")

    def named(self):
        """The server that the sentinels name: the first of them that answers."""
        for sentinel in self.sentinels:
            address = sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)
            if address:
                return self.at(*address)
        return None

    def at(self, address, port):
        for node in self.nodes:
            if (node.address, str(node.port)) == (address, port):
                return node
        return None

    def owner(self, _key):
        node = self.named()
        return node if node and node.is_primary() else None

    def restart_options(self, node):
        """Sentinels take 10 s to make a replica of one that comes back as a primary."""
        primary = self.named()
        if node.role == "sentinel" or primary in (None, node):
            return []
        return ["--replicaof", primary.address, str(primary.port)]

    def is_usable(self):
        named = {self.at(*(one.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER) or ["", ""]))
                 for one in self.sentinels}
        return super().is_usable() and len(named) == 1 and None not in named and all(
            node.is_primary() and node.has_replica() if node in named else node.is_replica()
            for node in self.nodes)

    def insist(self):
        """Sentinels that were killed may disagree for ever: all of them, and all servers,
        get the primary that most of them name."""
        named = [self.at(*address) for one in self.sentinels
                 if (address := one.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER))]
        primary = max(self.nodes, key=named.count)
        primary.ask("REPLICAOF", "NO", "ONE")
        for node in self.nodes:
            if node is not primary:
                node.ask(*self.replicate(primary))
        for one in self.sentinels:
            one.ask("SENTINEL", "REMOVE", MASTER)
            one.ask("SENTINEL", "MONITOR", MASTER, primary.address, primary.port, QUORUM)

    def primaries(self):
        primary = self.owner("")
        replicas = [node for node in self.nodes if node is not primary and node.is_replica()]
        return {primary: replicas} if primary and replicas else {}

    def fail_over(self, _primary):
        """Whether a sentinel has begun one."""
        return any(one.ask("SENTINEL", "FAILOVER", MASTER) for one in self.sentinels)

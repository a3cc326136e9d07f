"""A Redis Cluster: primaries that share the slots, each with a replica."""
import binascii

import independent
import resp
from node import wait_until

SLOTS = 16384
JOIN_SECONDS = 30


def slot_of(key):
    """Of its hash tag, if it has one that is not empty."""
    key = key.encode(errors="surrogateescape")
    _, opened, rest = key.partition(b"{")
    tag, closed, _ = rest.partition(b"}")
    return binascii.crc_hqx(tag if opened and closed and tag else key, 0) % SLOTS


class View:
    """What a node says of itself in CLUSTER NODES."""

    def __init__(self, text):
        lines = [line.split() for line in text.splitlines()]
        self.known = sum(line[7] == "connected" for line in lines)
        self.replicas = sum("slave" in line[2] for line in lines)
        self.failing = any("fail" in line[2] for line in lines)
        own = next(line for line in lines if "myself" in line[2])
        self.is_primary = "master" in own[2]
        self.id, self.primary, self.epoch = own[0], own[3], int(own[6])
        self.slots = [part for part in own[8:] if not part.startswith("[")]
        self.moving = [part for part in own[8:] if part.startswith("[")]

    def serves(self, slot):
        for part in self.slots:
            first, _, last = part.partition("-")
            if int(first) <= slot <= int(last or first):
                return True
        return False


class Cluster(independent.Independent):
    bus = 10000
    scheme = "redis-cluster"

    def __init__(self, shards=3):
        super().__init__(2 * shards)
        self.shards = shards

    def prepare(self, nodes, folder):
        super().prepare(nodes, folder)
        for node in nodes:
            node.arguments += ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
                               "--cluster-config-file", str(node.folder / "nodes.conf"),
                               "--cluster-announce-ip", node.address,
                               "--cluster-announce-port", str(node.port),
                               "--cluster-announce-bus-port", str(node.server_port + self.bus)]

    @property
    def urls(self):
        where = ",".join(f"{node.address}:{node.port}" for node in self.nodes)
        return [f"{self.scheme}://{where}"]

    # --- made one ---------------------------------------------------------------

    def join(self):
        first = self.nodes[0]
        for number, primary in enumerate(self.nodes[:self.shards]):
            begin, end = (SLOTS * i // self.shards for i in (number, number + 1))
            primary.query("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            primary.query("CLUSTER", "ADDSLOTSRANGE", begin, end - 1)
        for other in self.nodes[1:]:
            first.query("CLUSTER", "MEET", other.address, other.port,
                        other.server_port + self.bus)
        self.await_all(lambda view: view.known == len(self.nodes))
        for number, replica in enumerate(self.nodes[self.shards:]):
            ident = self.nodes[number].query("CLUSTER", "MYID")
            replica.query("CLUSTER", "REPLICATE", ident)
        self.await_all(lambda view: view.replicas == len(self.nodes) - self.shards)
        wait_until(self.is_usable, JOIN_SECONDS, first.log_tail)

    def await_all(self, holds):
        def all_hold():
            views = [self.view(node) for node in self.nodes]
            return all(view and holds(view) for view in views)

        wait_until(all_hold, JOIN_SECONDS, self.nodes[0].log_tail)

    # --- looked at --------------------------------------------------------------

    @staticmethod
    def view(node):
        text = node.ask("CLUSTER", "NODES")
        return View(text) if text else None

    def views(self):
        """Of those that answer."""
        seen = {node: self.view(node) for node in self.nodes}
        return {node: view for node, view in seen.items() if view}

    def owner(self, key):
        slot = slot_of(key)
        claims = [(view.epoch, node.name, node) for node, view in self.views().items()
                  if view.is_primary and view.serves(slot)]
        return max(claims)[2] if claims else None

    def is_usable(self):
        views = self.views()
        return super().is_usable() and len(views) == len(self.nodes) and all(
            not view.failing and self.is_settled(node, view)
            and (not view.is_primary or self.has_replica(node, view))
            for node, view in views.items())

    @staticmethod
    def has_replica(node, view):
        """Of its own slots; one without any has nothing to lose."""
        keys = (f"probe{number}" for number in range(1000))
        key = next((key for key in keys if view.serves(slot_of(key))), None)
        return key is None or node.has_replica(key)

    @staticmethod
    def is_settled(node, view):
        state = node.ask("CLUSTER", "INFO") or ""
        return "cluster_state:ok" in state and (view.is_primary or node.is_replica())

    def primaries(self):
        views = self.views()
        return {node: followers for node, view in views.items() if view.is_primary
                and (followers := [one for one, of in views.items()
                                   if of.primary == view.id and one.is_replica()])}

    def fail_over(self, primary):
        """Whether one of its replicas has begun to take over."""
        return any(replica.ask("CLUSTER", "FAILOVER") == "OK"
                   for replica in self.primaries().get(primary, []))

    # --- a slot moves -----------------------------------------------------------

    def begin_migration(self, key, target):
        """The source, or None: from now on clients may be sent to the target."""
        source, slot = self.owner(key), slot_of(key)
        views = self.views()
        settled = [node in views and self.is_settled(node, views[node])
                   for node in (source, target)]
        if source is target or not all(settled):
            return None
        if not self.open_slot(slot, source, target):
            target.ask("CLUSTER", "SETSLOT", slot, "STABLE")
            return None
        return source

    @staticmethod
    def open_slot(slot, source, target):
        """Whether both agree that it moves; they do if it was open already."""
        idents = [node.ask("CLUSTER", "MYID") for node in (source, target)]
        return (None not in idents
                and target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", idents[0])
                and source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", idents[1]))

    @staticmethod
    def move_keys(slot, source, target, most=1000):
        """Whether none is left: at most so many are moved."""
        keys = source.query("CLUSTER", "GETKEYSINSLOT", slot, most + 1)
        if keys:
            source.query("MIGRATE", target.address, target.server_port, "", 0, 1000,
                         "REPLACE", "KEYS", *keys[:most], timeout=2)
        return len(keys) <= most

    def finish_migration(self, key, source, target):
        """Whether it is done; may be tried again, also when one of the two has had to
        hand over meanwhile: its replica does not know that a slot is open."""
        slot, views = slot_of(key), self.views()
        source, target = (self.leader(node, views) for node in (source, target))
        if None in (source, target):
            return False
        try:
            if self.owner(key) is not target:
                self.open_slot(slot, source, target)
                while not self.move_keys(slot, source, target):
                    pass
                self.close_slot(slot, source, target)
        except (OSError, resp.ReplyError):
            return False
        return True

    @staticmethod
    def leader(node, views):
        """The primary of that node's shard, or None."""
        view = views.get(node)
        if view is None or view.is_primary:
            return node if view else None
        return next((one for one, of in views.items() if of.id == view.primary), None)

    @staticmethod
    def close_slot(slot, source, target):
        ident = target.query("CLUSTER", "MYID")
        for node in (target, source):
            node.query("CLUSTER", "SETSLOT", slot, "NODE", ident)

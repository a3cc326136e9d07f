"""The servers of a topology, the hosts of its clients, and the network between
them, with the means to spoil each (faults.py). All runs in processes that die
with this one; nothing is left when it has been stopped.

    with Fleet("sentinel", folder) as fleet:
        fleet.urls, fleet.environment       how rlockrun finds the servers
        fleet.on_host(2, argv)              argv that runs it on that host
        fleet.strike("stop", fleet.nodes[0], 800)"""
import pathlib
import concurrent.futures

import faults
import network
from cluster import Cluster
from independent import Independent, Redlock, Tls
from node import Node, wait_until
from sentinels import Sentinels

TOPOLOGIES = {
    "one": lambda: Independent(1),
    "tls": lambda: Tls(1),
    "sentinel": Sentinels,
    "cluster": Cluster,
    "redlock3": lambda: Redlock(3),
    "redlock5": lambda: Redlock(5),
}
PORT, SERVER_PORT = 6379, 7000  # where each node has an address of its own
THREADS = 16
USABLE_SECONDS = 40  # a sentinel that was stopped for 2 s does nothing for 30 s


class Fleet:
    """`namespaces`: whether hosts and nodes are to have one each, by default if
    that can be. If it cannot, `why` says why, and `namespaces` is False."""

    def __init__(self, topology, folder, hosts=3, namespaces=True):
        if topology not in TOPOLOGIES:
            raise ValueError(f"no such topology: {topology}")
        self.topology = TOPOLOGIES[topology]()
        self.folder = pathlib.Path(folder).absolute()
        self.hosts = list(range(1, hosts + 1))
        self.why = network.reason_against_namespaces() if namespaces else "not asked for"
        self.namespaces = self.why is None
        self.bridge = self.faults_table = None
        self.nodes = []
        # A child ends with the thread that started it: these last until stop().
        self.threads = concurrent.futures.ThreadPoolExecutor(THREADS)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    # --- start and end ----------------------------------------------------------

    def start(self):
        """Returns when a lock can be had. StartError or TimeoutError: it cannot."""
        try:
            self.place_nodes()
            self.topology.prepare(self.nodes, self.folder)
            list(self.threads.map(self.start_node, self.nodes))
            for node in self.nodes:
                node.await_start()
            self.topology.join()
        except BaseException:
            self.stop()
            raise
        self.faults_table = faults.Faults(self)

    def place_nodes(self):
        names = self.topology.names
        if self.namespaces:
            self.bridge = network.Bridge([*names, *(f"h{host}" for host in self.hosts)])
            self.nodes = [Node(name, self.bridge.places[name], self.folder, PORT, SERVER_PORT)
                          for name in names]
            return
        loopback = network.Loopback()
        self.nodes = [Node(name, loopback, self.folder, loopback.choose_port(),
                           loopback.choose_port(self.topology.bus)) for name in names]

    @staticmethod
    def start_node(node):
        node.start()
        if node.role == "server":
            node.start_wire()

    def stop(self):
        """Ends all of it, whatever state it is in."""
        if self.faults_table:
            self.faults_table.abandon()
        for node in self.nodes:
            node.end()
        self.threads.shutdown()
        # A restart that was under way may have begun another process.
        for node in self.nodes:
            node.end()
        if self.bridge:
            self.bridge.close()
            self.bridge = None

    # --- for clients ------------------------------------------------------------

    @property
    def urls(self):
        return self.topology.urls

    @property
    def environment(self):
        return self.topology.environment

    def on_host(self, host, argv):
        """argv that runs it on that host, and is that process."""
        return self.bridge.places[f"h{host}"].run(argv) if self.bridge else list(argv)

    def owner(self, key):
        """The node that serves this key now, or None. Several independent servers
        have no owner: look at nodes."""
        return self.topology.owner(key)

    def node(self, name):
        return next(node for node in self.nodes if node.name == name)

    # --- faults: see faults.py --------------------------------------------------

    def faults(self):
        return faults.TABLE

    def targets(self, fault, **more):
        return self.faults_table.targets(fault, **more)

    def strike(self, fault, target, ms=0, **more):
        return self.faults_table.strike(fault, target, ms, **more)

    def heal(self, record):
        self.faults_table.heal(record)

    def heal_all(self):
        """Ends all faults, and returns when a lock can be had again."""
        self.faults_table.heal_all()
        try:
            wait_until(self.topology.is_usable, USABLE_SECONDS, self.log_tails)
        except TimeoutError:
            self.topology.insist()
            wait_until(self.topology.is_usable, USABLE_SECONDS, self.log_tails)

    def log_tails(self):
        return "\n".join(["not usable again:", *(node.log_tail() for node in self.nodes)])

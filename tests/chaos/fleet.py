"""The servers of a topology, the hosts of its clients, and the network between them, which
faults.py spoils. All runs in processes that die with this one; nothing is left when it has
been stopped.

    with Fleet("sentinel", folder) as fleet:
        fleet.urls, fleet.environment       how rlockrun finds the servers
        fleet.on_host(2, argv)              argv that runs it on that host"""
import concurrent.futures
import pathlib

import network
from cluster import Cluster
from independent import Independent, Tls
from node import Node
from sentinels import Sentinels

TOPOLOGIES = {
    "one": lambda: Independent(1),
    "tls": lambda: Tls(1),
    "sentinel": Sentinels,
    "cluster": Cluster,
    "redlock3": lambda: Independent(3),
    "redlock5": lambda: Independent(5),
}
PORT, SERVER_PORT = 6379, 7000  # where each node has an address of its own
THREADS = 8


class Fleet:
    """Each host and each node has a network namespace, if there can be any."""

    def __init__(self, topology, folder, hosts):
        self.topology = TOPOLOGIES[topology]()
        self.folder = pathlib.Path(folder).absolute()
        self.hosts = list(range(1, hosts + 1))
        self.bridge = None
        self.nodes = []
        # A child ends with the thread that started it: these last until stop().
        self.threads = concurrent.futures.ThreadPoolExecutor(THREADS)

    def __enter__(self):
        """Returns when a lock can be had. StartError or TimeoutError: it cannot."""
        try:
            self.place_nodes()
            self.topology.prepare(self.nodes, self.folder)
            list(self.threads.map(self.start_node, self.nodes))
            for node in self.nodes:
                node.await_start()
            self.topology.join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def place_nodes(self):
        names = self.topology.names
        if network.reason_against_namespaces() is None:
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

    def __exit__(self, *_):
        """Ends all of it, whatever state it is in."""
        for node in self.nodes:
            node.end()
        self.threads.shutdown()
        # A restart that was under way may have begun another process.
        for node in self.nodes:
            node.end()
        if self.bridge:
            self.bridge.close()
            self.bridge = None

    @property
    def urls(self):
        return self.topology.urls

    @property
    def environment(self):
        return self.topology.environment

    def on_host(self, host, argv):
        """argv that runs it on that host, and is that process."""
        return self.bridge.places[f"h{host}"].run(argv) if self.bridge else list(argv)

    def log_tails(self):
        return "\n".join(["not usable again:", *(node.log_tail() for node in self.nodes)])

"""Servers that know nothing of each other: one, or several that vote (Redlock)."""
import os
import pathlib
import subprocess

MAKE_CERTIFICATES = pathlib.Path(__file__).parent.parent / "helpers" / "make-certificates"
COMMON = ["--save", "", "--appendonly", "yes", "--daemonize", "no", "--protected-mode", "no",
          "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"]


def server_arguments(node):
    """What all servers have in common; they have no TCP port yet."""
    return ["--bind", node.address, "--unixsocket", node.socket,
            "--dir", str(node.folder), *COMMON]


class Independent:
    """`count` servers, which keep what they acknowledged when they are killed."""

    bus = 0  # how far above its port a node has a second one
    scheme = "redis"

    def __init__(self, count):
        self.names = [f"s{i}" for i in range(count)]
        self.nodes = []
        self.environment = {}

    def prepare(self, nodes, folder):
        self.nodes = nodes
        for node in nodes:
            node.arguments = [*server_arguments(node), "--port", str(node.server_port)]

    @property
    def urls(self):
        return [f"{self.scheme}://{node.address}:{node.port}" for node in self.nodes]

    def join(self):
        """Makes one thing of servers that all answer."""

    def owner(self, _key):
        return self.nodes[0] if len(self.nodes) == 1 else None

    def restart_options(self, _node):
        return []

    def insist(self):
        """What servers do not settle by themselves, which is no defect of rlockrun."""

    def is_usable(self):
        return all(node.is_settled() for node in self.nodes)

    def primaries(self):
        """Those that can be told to hand over, each with who may follow it."""
        return {}


class Tls(Independent):
    """One server that has no other port than that of TLS."""

    scheme = "rediss"

    def prepare(self, nodes, folder):
        super().prepare(nodes, folder)
        certificates = folder / "certificates"
        certificates.mkdir()
        subprocess.run([str(MAKE_CERTIFICATES), str(certificates)], check=True,
                       env={**os.environ, "ADDRESS": nodes[0].address})
        self.environment = {"RLOCKRUN_TLS_CA": str(certificates / "ca.crt")}
        for node in nodes:
            node.arguments = [*server_arguments(node), "--port", "0",
                              "--tls-port", str(node.server_port),
                              "--tls-cert-file", str(certificates / "server.crt"),
                              "--tls-key-file", str(certificates / "server.key"),
                              "--tls-ca-cert-file", str(certificates / "ca.crt"),
                              "--tls-auth-clients", "no"]

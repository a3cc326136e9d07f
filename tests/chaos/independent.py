"""Servers that know nothing of each other: one, or several that vote (Redlock)."""
import os
import pathlib
import subprocess

MAKE_CERTIFICATES = pathlib.Path(__file__).parent.parent / "helpers" / "make-certificates"
COMMON = ["--save", "", "--appendonly", "no", "--daemonize", "no",
          "--enable-debug-command", "yes", "--protected-mode", "no",
          "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"]


def server_arguments(node):
    """What all servers have in common; they have no TCP port yet."""
    return ["--bind", node.address, "--unixsocket", node.socket,
            "--dir", str(node.folder), *COMMON]


class Independent:
    """`count` servers; a minority of them may be dead at a time."""

    bus = 0  # how far above its port a node has a second one
    scheme = "redis"
    serves_all_keys = True  # whether owner() is the same for all of them

    def __init__(self, count):
        self.names = [f"s{i}" for i in range(count)]
        self.may_die = 1 if count == 1 else (count - 1) // 2
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

    def holders(self, key):
        """All nodes at which that key is looked for now."""
        owner = self.owner(key)
        return [owner] if owner else []

    def note_death(self, node):
        """It has just been killed."""

    def restart_options(self, _node):
        return []

    def mend(self):
        """What would heal only after a long time, after all faults."""

    def insist(self):
        """What servers do not settle by themselves, which is no defect of rlockrun."""

    def is_usable(self):
        return all(node.answers() for node in self.nodes)

    def primaries(self):
        """Those that can be told to hand over, each with who may follow it."""
        return {}

    def fail_over(self, _primary):
        return None

    def is_involved(self, _node):
        """Whether a step of ours goes on there, which nothing may disturb."""
        return False


class Redlock(Independent):
    def holders(self, _key):
        return [node for node in self.nodes if node.is_up()]


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

"""The network between hosts and nodes: network namespaces on one bridge, each
with a cable that can be cut, or simply this machine's loopback."""
import ctypes
import os
import random
import socket
import subprocess

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
ADDRESS = "10.9.0.{}"
DROP = ("root", "pfifo", "limit", "0")


def reason_against_namespaces():
    """Why there can be none here, or None."""
    try:
        namespace = Namespace("probe")
    except OSError as error:
        return f"no network namespaces: {error.strerror}"
    try:
        namespace.configure("link set lo up\n")
    except (OSError, subprocess.CalledProcessError):
        return "no network namespaces: ip(8) cannot be used"
    finally:
        namespace.close()
    return None


class Loopback:
    """Where all of the fleet is without namespaces."""

    address = "127.0.0.1"

    def __init__(self):
        self.taken = set()

    @staticmethod
    def run(argv):
        return list(argv)

    def choose_port(self, above=0):
        """A free one below those that the kernel gives away, and so is that which
        is `above` higher, the bus of a cluster's node."""
        while True:
            port = random.randrange(10500, 19500) if above else random.randrange(20000, 32000)
            ports = {port, port + above}
            if not ports & self.taken and all(map(is_free, ports)):
                self.taken |= ports
                return port


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind((Loopback.address, port))
        except OSError:
            return False
    return True


class Namespace:
    """A network namespace that exists as long as our descriptor and processes in
    it do, so nothing of it can be left."""

    def __init__(self, name, number=0):
        self.name = name
        self.address = ADDRESS.format(number)
        self.descriptor = open_new_namespace()
        self.path = f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def run(self, argv):
        """nsenter(1) execs: the process is that of argv."""
        return ["nsenter", f"--net={self.path}", *argv]

    def configure(self, commands):
        subprocess.run(self.run(["ip", "-batch", "-"]), input=commands.encode(),
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_tc(self, verb, device):
        what = DROP if verb == "add" else DROP[:1]
        return subprocess.Popen(self.run(["tc", "qdisc", verb, "dev", device, *what]),
                                stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        os.close(self.descriptor)


def open_new_namespace():
    """A child makes it; before it ends, we hold it as well."""
    made, let_go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(let_go[1])
        failed = libc.unshare(CLONE_NEWNET)
        os.write(made[1], bytes([ctypes.get_errno() if failed else 0]))
        os.read(let_go[0], 1)
        os._exit(0)
    try:
        error = os.read(made[0], 1)[0]
        if error:
            raise OSError(error, os.strerror(error))
        return os.open(f"/proc/{child}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for end in made + let_go:
            os.close(end)
        os.waitpid(child, 0)


class Bridge:
    """A namespace for each host and node, and one for what connects them."""

    def __init__(self, names):
        self.hub = None
        self.places = {}
        try:
            self.hub = Namespace("hub")
            for number, name in enumerate(names, 1):
                self.places[name] = Namespace(name, number)
            self.connect()
        except BaseException:
            self.close()
            raise

    def connect(self):
        lines = ["link set lo up", "link add bridge type bridge", "link set bridge up"]
        for name, place in self.places.items():
            lines += [f"link add {name} type veth peer name eth0 netns {place.path}",
                      f"link set {name} master bridge", f"link set {name} up"]
        self.hub.configure("\n".join(lines) + "\n")
        for place in self.places.values():
            place.configure(f"link set lo up\naddr add {place.address}/24 dev eth0\n"
                            "link set eth0 up\n")

    def cut(self, name, only_to=False, only_from=False):
        """Drops what goes to that place, and what comes from there."""
        return self.change("add", name, only_to, only_from)

    def heal(self, name, only_to=False, only_from=False):
        return self.change("del", name, only_to, only_from)

    def split(self, name, others):
        """Nothing reaches those others from that place, and so they hear of it no more;
        everybody else does."""
        return self.change_routes("add", name, others)

    def unsplit(self, name, others):
        return self.change_routes("del", name, others)

    def change_routes(self, verb, name, others):
        self.places[name].configure("".join(
            f"route {verb} blackhole {self.places[other].address}/32\n" for other in others))
        return True

    def change(self, verb, name, only_to, only_from):
        ends = []
        if not only_from:
            ends.append(self.hub.start_tc(verb, name))
        if not only_to:
            ends.append(self.places[name].start_tc(verb, "eth0"))
        return all([end.wait() == 0 for end in ends])

    def close(self):
        for namespace in (self.hub, *self.places.values()):
            if namespace:
                namespace.close()
        self.hub, self.places = None, {}

"""Real servers for one worker, which end with it."""
import ctypes
import os
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
WORKER = "worker on >secret ~* &* +@all"  # beside the user who has no password
libc = ctypes.CDLL(None)


def end_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def ask(path, *words):
    """One command over a unix socket, and its reply as the bytes of one read."""
    text = b"*%d\r\n" % len(words)
    for word in words:
        word = str(word).encode()
        text += b"$%d\r\n%s\r\n" % (len(word), word)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(path)
        connection.sendall(text)
        return connection.recv(1 << 20)


def choose_port():
    """A free one whose second one, for a node of a cluster, exists, too."""
    while True:
        port = 20000 + int.from_bytes(os.urandom(2), "big") % 9000
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Servers:
    """Started when a scene first asks for them."""

    def __init__(self, folder, certificates, scripts):
        self.folder = folder
        self.certificates = certificates
        self.scripts = scripts
        self.started = {}

    def socket_of(self, name):
        return f"{self.folder}/{name}.sock"

    def start(self, name, *options):
        """The port of the server of that name. Another program may take the port
        that we have chosen: then again."""
        while name not in self.started:
            port = choose_port()
            if self.launch(name, "--port", str(port), "--bind", "127.0.0.1", *options,
                           "--unixsocket", self.socket_of(name), "--save", "",
                           "--appendonly", "no", "--user", *WORKER.split()):
                self.started[name] = port
                self.load_scripts(name)
        return self.started[name]

    def load_scripts(self, name):
        """Otherwise only the first run on it would send them as a whole."""
        for file in os.listdir(self.scripts):
            with open(f"{self.scripts}/{file}", encoding="ascii") as script:
                ask(self.socket_of(name), "script", "load", script.read())

    def launch(self, name, *arguments):
        """False if the server has ended at once."""
        work = f"{self.folder}/{name}"
        os.makedirs(work, exist_ok=True)
        with open(f"{work}/log", "w", encoding="ascii") as log:
            process = subprocess.Popen(["redis-server", *arguments], cwd=work,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       preexec_fn=end_with_parent)
        while process.poll() is None:
            try:
                if ask(self.socket_of(name), "ping").startswith(b"+PONG"):
                    return True
            except OSError:
                time.sleep(0.02)
        return False

    # --- by the ways to reach them ----------------------------------------

    def url_tcp(self):
        return f"redis://127.0.0.1:{self.start('one')}"

    def url_cold(self):
        """It has none of our scripts."""
        port = self.start("cold")
        ask(self.socket_of("cold"), "script", "flush")
        return f"redis://127.0.0.1:{port}"

    def url_name(self):
        return f"redis://localhost:{self.start('one')}"

    def url_unix(self):
        self.start("one")
        return f"unix://{self.socket_of('one')}"

    def url_tls(self):
        certificates = self.certificates
        if "tls" not in self.started:
            port = choose_port()
            self.start("tls", "--tls-port", str(port), "--tls-auth-clients", "no",
                       "--tls-cert-file", f"{certificates}/server.crt",
                       "--tls-key-file", f"{certificates}/server.key",
                       "--tls-ca-cert-file", f"{certificates}/ca.crt")
            self.started["tls"] = port
        return f"rediss://127.0.0.1:{self.started['tls']}"

    def url_several(self):
        for name in ("one", "two", "three"):
            self.start(name)
        return " ".join(f"unix://{self.socket_of(name)}" for name in ("one", "two", "three"))

    def url_cluster(self):
        known = "cluster" in self.started
        port = self.start("cluster", "--cluster-enabled", "yes")
        if not known:
            ask(self.socket_of("cluster"), "cluster", "addslotsrange", "0", "16383")
            while b"state:ok" not in ask(self.socket_of("cluster"), "cluster", "info"):
                time.sleep(0.02)
        return f"redis-cluster://127.0.0.1:{port}"

    def url_sentinel(self):
        primary = self.start("one")
        path = f"{self.folder}/sentinel.conf"
        while "sentinel" not in self.started:
            port = choose_port()
            with open(path, "w", encoding="ascii") as file:
                file.write(f"port {port}\nunixsocket {self.socket_of('sentinel')}\n"
                           f"sentinel monitor primary 127.0.0.1 {primary} 1\n")
            if self.launch("sentinel", path, "--sentinel"):
                self.started["sentinel"] = port
        return f"redis-sentinel://127.0.0.1:{self.started['sentinel']}/primary"

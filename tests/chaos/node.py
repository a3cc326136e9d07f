"""A server or a sentinel, with the wire in front of it: processes of our own, which
die with this one."""
import contextlib
import pathlib
import signal
import subprocess
import threading
import time

import resp

HERE = pathlib.Path(__file__).parent
START_SECONDS = 120


class StartError(Exception):
    """It could not be started: the text has the end of its log."""


class Node:
    """One that answers at `address`:`port`, for clients and other nodes."""

    def __init__(self, name, place, folder, port, server_port):
        self.name = name
        self.place = place  # where in the network: run(argv) and an address
        self.address = place.address
        self.port = port
        self.server_port = server_port
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        self.socket = str(self.folder / "s")
        if len(self.socket) > 100:
            raise StartError(f"{self.socket}: too long a name for a socket")
        self.role = "sentinel" if name.startswith("q") else "server"
        self.arguments = []
        self.process = self.wire = None
        self.wire_lock = threading.Lock()
        self.frozen = False
        self.connections = threading.local()

    def is_up(self):
        return self.process is not None and self.process.poll() is None

    def start(self, *more):
        """With the data that it had; `more` are options for this time alone."""
        with open(self.folder / "log", "ab") as log:
            self.process = self.spawn(["redis-server", *self.arguments, *more],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_wire(self):
        words = [self.address, str(self.port), str(self.server_port)]
        self.wire = self.spawn([str(HERE / "wire"), *words],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def spawn(self, argv, **streams):
        """The thread that calls this must live as long as the child is to."""
        return subprocess.Popen(self.place.run(["setpriv", "--pdeathsig", "KILL", *argv]),
                                start_new_session=True, cwd=self.folder, **streams)

    def await_start(self):
        if self.wire and self.wire.stdout.readline() != b"ready\n":
            raise StartError(f"{self.name}: its wire cannot be used")
        wait_until(self.answers, START_SECONDS, self.log_tail)

    def answers(self):
        if not self.is_up():
            raise StartError(self.log_tail())
        try:
            return self.query("PING") == "PONG"
        except (OSError, resp.ReplyError):
            return False

    def log_tail(self):
        lines = (self.folder / "log").read_text(errors="replace").splitlines()
        return "\n".join([f"{self.name} has not become usable:"] + lines[-15:])

    def query(self, *words, timeout=0.2):
        """What it says to these words, by its socket: parsed, or OSError, or
        resp.ReplyError. Each thread has a connection of its own; while a late reply
        is still to come on that, nothing is asked."""
        connection = getattr(self.connections, "own", None)
        if connection is None:
            connection = self.connections.own = resp.Connection(self.socket)
        return connection.query(words, timeout)

    def ask(self, *words, timeout=0.04):
        """The same, or None if it does not answer, or is known not to."""
        if self.frozen or not self.is_up():
            return None
        try:
            return self.query(*words, timeout=timeout)
        except (OSError, resp.ReplyError):
            return None

    def is_primary(self):
        return (self.ask("ROLE") or [None])[0] == "master"

    def is_replica(self):
        """One whose link to its primary is up."""
        reply = self.ask("ROLE") or [None] * 4
        return reply[0] == "slave" and reply[3] == "connected"

    def is_settled(self):
        """Whether a kill -9 would lose nothing: no append-only file is being rewritten."""
        info = self.ask("INFO", "persistence") or ""
        return "aof_rewrite_in_progress:0" in info and "aof_rewrite_scheduled:0" in info

    def has_replica(self, key="probe"):
        """Whether another server has all that this one has now."""
        return bool(self.ask("SET", key, "", "PX", 1000)
                    and self.ask("WAIT", 1, 100, timeout=0.2))

    def signal(self, number):
        """Whether it was there."""
        if self.is_up():
            self.process.send_signal(number)
            return True
        return False

    def spoil(self, *words):
        """A rule for the wire: returns when it holds."""
        line = (" ".join(map(str, words)) + "\n").encode()
        with self.wire_lock:
            self.wire.stdin.write(line)
            self.wire.stdin.flush()
            if self.wire.stdout.readline() != line:
                raise BrokenPipeError(f"{self.name}: its wire has ended")
        return True

    def kill(self):
        """Its port refuses, as that of a dead one."""
        if not self.signal(signal.SIGKILL):
            return False
        if self.wire:
            self.spoil("refuse")
        self.process.wait()
        return True

    def end(self):
        for process in (self.process, self.wire):
            if process:
                process.kill()
                process.wait()
        if self.wire:
            for pipe in (self.wire.stdin, self.wire.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()


def wait_until(holds, seconds, why):
    """TimeoutError with the text of why() if that does not hold in time."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError(why())
        time.sleep(0.02)

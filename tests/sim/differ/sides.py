"""The two sides that are compared: real servers, and the double."""
import hashlib
import mmap
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time

from versions import Version

HERE = os.path.dirname(os.path.abspath(__file__))
CLOSED = b"closed"


class NoReply(Exception):
    """The real server sends nothing, where the double sends something."""


class Wire:
    """A connection that returns replies as the bytes they are."""

    patience_s = 20  # for a reply that never comes: nothing else waits as long

    def __init__(self, address):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(self.patience_s)
        self.socket.connect(address)
        self.unread = b""

    def send(self, words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        try:
            self.socket.sendall(b"".join(parts))
        except (BrokenPipeError, ConnectionResetError):
            pass  # the reply is that it is closed

    def has_bytes(self):
        """Whether something has come that nobody asked for, or it is closed."""
        if self.unread:
            return True
        self.socket.setblocking(False)
        try:
            got = self.socket.recv(65536)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True
        finally:
            self.socket.settimeout(self.patience_s)
        self.unread += got
        return True

    def more(self):
        try:
            got = self.socket.recv(65536)
        except TimeoutError:
            raise NoReply from None
        except ConnectionResetError:
            got = b""
        if not got:
            raise EOFError
        self.unread += got

    def end_of_line(self, start):
        while True:
            end = self.unread.find(b"\r\n", start)
            if end >= 0:
                return end + 2
            self.more()

    def end_of_value(self, start):
        end = self.end_of_line(start)
        kind, size = self.unread[start:start + 1], self.unread[start + 1:end - 2]
        if kind == b"$" and size != b"-1":
            end += int(size) + 2
            while len(self.unread) < end:
                self.more()
        elif kind == b"*":
            for _ in range(int(size)):
                end = self.end_of_value(end)
        return end

    def read(self):
        """The next reply, or CLOSED."""
        try:
            end = self.end_of_value(0)
        except EOFError:
            return CLOSED
        reply, self.unread = self.unread[:end], self.unread[end:]
        return reply

    def ask(self, *words):
        self.send([word if isinstance(word, bytes) else str(word).encode() for word in words])
        return self.read()

    def close(self):
        self.socket.close()


class Clock:
    """The time of all real servers, in a file that they share."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "clock")
        with open(self.path, "wb") as file:
            file.write(b"\0" * 8)
        with open(self.path, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 8)
        self.library = os.path.join(folder, "clock.so")
        subprocess.run([os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC",
                        "-o", self.library, os.path.join(HERE, "clock.c")], check=True)

    def set(self, us):
        self.shared[:] = struct.pack("=q", us)


def find_server():
    """redis-tools has the server, too: under another name, by which it decides what
    it is."""
    for name in ("redis-server", "redis-check-rdb", "valkey-server", "valkey-check-rdb"):
        path = shutil.which(name)
        if path:
            return path
    raise SystemExit("differential: no redis-server is installed (packaging/deps.sh sim)")


def free_port(most):
    """The bus of a cluster's node lies above its port."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            if probe.getsockname()[1] <= most:
                return probe.getsockname()[1]


class Process:
    """A real server in a folder of its own. Hashes of any size keep their order."""

    OPTIONS = ("--save", "", "--appendonly", "no", "--hash-max-listpack-entries", "100000",
               "--hash-max-listpack-value", "1000000", "--repl-diskless-sync-delay", "0")

    def __init__(self, folder, clock, path, options=(), most=65535, sentinel=None):
        self.folder, self.port = folder, free_port(most)
        os.mkdir(folder)
        name = "valkey-server" if "valkey" in os.path.basename(path) else "redis-server"
        self.socket = os.path.join(folder, "s")
        environment = dict(os.environ, LD_PRELOAD=clock.library, FROZEN_CLOCK=clock.path)
        self.log = open(os.path.join(folder, "log"), "wb")
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.socket,
                 "--dir", folder]
        words = [sentinel, *words, "--sentinel"] if sentinel else \
            [*words, *self.OPTIONS, *self.users(), *options]
        self.process = subprocess.Popen(
            [name, *words], executable=path, env=environment, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        self.await_start()
        self.control = Wire(self.socket)
        self.control.ask("AUTH", "control", "x")

    @staticmethod
    def users():
        """The test itself is control; other is for the clients."""
        passwords = {"control": "nopass", "other": ">secret", "default": "nopass"}
        for name, password in passwords.items():
            yield from ("--user", name, "on", password, "~*", "&*", "+@all")

    def await_start(self):
        for _ in range(1000):
            try:
                Wire(self.socket).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        with open(self.log.name, encoding="utf-8", errors="replace") as log:
            raise SystemExit("differential: the server does not start:\n" + log.read())

    def version(self):
        return Version(self.control.ask("INFO", "server").decode())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Double:
    """The double, in an interpreter of its own."""

    def __init__(self, lua):
        self.process = subprocess.Popen([lua, os.path.join(HERE, "shell.lua"),
                                         os.path.dirname(HERE)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def order(self, *words):
        """[(client, bytes)...] that this has brought forth."""
        parts = [b"%d\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            parts.append(b"%d\n%s" % (len(word), word))
        self.process.stdin.write(b"".join(parts))
        self.process.stdin.flush()
        out = self.process.stdout
        line = out.readline()
        while line == b"?\n":
            digest = hashlib.sha1(out.read(int(out.readline()))).hexdigest()
            self.process.stdin.write(digest.encode() + b"\n")
            self.process.stdin.flush()
            line = out.readline()
        if not line:
            raise SystemExit("differential: the double has died")
        replies = []
        for _ in range(int(line)):
            client = int(out.readline())
            replies.append((client, out.read(int(out.readline()))))
        return replies

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="rlockrun-differential-")

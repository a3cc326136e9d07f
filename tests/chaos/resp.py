"""Asking a server by its unix socket, within a time that is never exceeded."""
import socket
import time

OWED_SECONDS = 0.003


class ReplyError(Exception):
    """The server's own error."""


class Connection:
    """One that outlives a late reply: until it has come nothing else is asked."""

    def __init__(self, path):
        self.path = path
        self.socket = None
        self.unread = b""
        self.owed = 0  # replies that were not awaited
        self.inside = False  # of a request or a reply: it cannot be taken up again
        self.until = 0

    def query(self, words, timeout):
        """What the server says to these words. OSError: it cannot be reached, or
        not in time; ReplyError: it says so."""
        self.until = time.monotonic() + timeout
        try:
            return self.ask(words)
        except TimeoutError:
            raise
        except OSError:
            self.close()
            return self.ask(words)  # it had been closed since the last time

    def ask(self, words):
        try:
            self.connect()
            self.read_owed()
            self.owed += 1
            self.send(words)
            reply = self.read_reply()
        except TimeoutError:
            if self.inside:
                self.close()
            raise
        except OSError:
            self.close()
            raise
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def read_owed(self):
        """Who asks again and again shall not wait again and again."""
        until, self.until = self.until, min(self.until, time.monotonic() + OWED_SECONDS)
        while self.owed:
            self.read_reply()
        self.until = until

    def connect(self):
        if self.socket is None:
            self.socket = socket.socket(socket.AF_UNIX)
            self.allow_time()
            self.socket.connect(self.path)

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket, self.unread, self.owed, self.inside = None, b"", 0, False

    def allow_time(self):
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("no reply in time")
        self.socket.settimeout(left)

    def send(self, words):
        words = [str(word).encode(errors="surrogateescape") for word in words]
        self.allow_time()
        self.inside = True
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        self.inside = False

    def read_reply(self):
        self.inside = bool(self.unread)
        reply = self.read_value()
        self.inside = False
        self.owed -= 1
        return reply

    def read_value(self):
        line = self.read_line()
        kind, text = line[:1], line[1:].decode(errors="surrogateescape")
        if kind == b":":
            return int(text)
        if kind == b"-":
            return ReplyError(text)
        if kind == b"$":
            return None if text == "-1" else self.read_bulk(int(text))
        if kind == b"*":
            return None if text == "-1" else [self.read_value() for _ in range(int(text))]
        return text

    def read_line(self):
        while b"\r\n" not in self.unread:
            self.receive()
        line, _, self.unread = self.unread.partition(b"\r\n")
        return line

    def read_bulk(self, size):
        while len(self.unread) < size + 2:
            self.receive()
        text, self.unread = self.unread[:size], self.unread[size + 2:]
        return text.decode(errors="surrogateescape")

    def receive(self):
        self.allow_time()
        more = self.socket.recv(65536)
        if not more:
            raise ConnectionError("the server closed the connection")
        self.inside = True
        self.unread += more

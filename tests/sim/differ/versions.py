"""What later servers do otherwise than Redis 7.0, and the double does not follow, as it
has no part in what the program does. All else must be the same, of whatever version.
What matters is in the double, by its `version`."""
import re

# Server, from which version on, command ("": any), its words, those of the double.
WORDS = [
    ("valkey", 7, "", rb"^-(BUSY|MISCONF) Valkey is", rb"-\1 Redis is"),
    ("valkey", 7, "", rb"^(-MISCONF .*check the) Valkey logs", rb"\1 Redis logs"),
    ("valkey", 7, "", b"ERR Command arguments must",
     b"ERR Lua redis lib command arguments must"),
    ("valkey", 7, "", rb"ERR Wrong number of args calling command",
     b"ERR Wrong number of args calling Redis command"),
    ("valkey", 7, "", b"ERR Unknown command called", b"ERR Unknown Redis command called"),
    ("valkey", 7, "", b"argument for this call", b"argument for this redis lib call"),
    ("valkey", 8, "", rb"NOSCRIPT No matching script\.\r",
     b"NOSCRIPT No matching script. Please use EVAL.\r"),
    ("valkey", 8, "", b"^-ERR This instance has cluster support disabled", b"+OK"),
    ("valkey", 8, "wait", b"note that if a replica", b"note that since Redis 4.0 if a replica"),
    ("redis", 8, "", rb"(unknown command '[^']*'), with args beginning with: \r", rb"\1\r"),
    *((kind, 8, "", b"ERR ACL failure", b"NOPERM ACL failure") for kind in ("redis", "valkey")),
    *((kind, 7.2, "zrank", b"^-ERR syntax error",
       b"-ERR wrong number of arguments for 'zrank' command") for kind in ("redis", "valkey")),
]

# Server, from which version on, what of the table of commands is not compared.
FLAGS = [
    ("redis", 7.2, {"zrank": "arity"}),
    ("valkey", 7, {"zrank": "arity"}),
    ("redis", 8, {"blpop": "noscript", "wait": "noscript", "cluster|slots": "loading"}),
    ("valkey", 8, {"blpop": "noscript", "wait": "noscript", "cluster|slots": "loading",
                   "cluster|info": "loading"}),
]


class Version:
    """Of the server that is compared: (its kind, its number), from INFO."""

    def __init__(self, info):
        found = re.search(r"(valkey)_version:(\d+)\.(\d+)", info) or \
            re.search(r"(redis)_version:(\d+)\.(\d+)", info)
        self.kind, self.number = found[1], float(f"{found[2]}.{found[3]}")
        self.is_strict = (self.kind, self.number) == ("redis", 7.0)
        self.compatible = re.search(r"redis_version:(\S+)", info)[1]

    def __str__(self):
        return f"{self.kind} {self.number}"

    def applies(self, kind, since):
        return kind == self.kind and self.number >= since

    def translate(self, name, reply):
        """The reply in the words of Redis 7.0, without the lengths of texts."""
        if self.is_strict:
            return reply
        for kind, since, command, real, own in WORDS:
            if self.applies(kind, since) and command in ("", name):
                reply = re.sub(real, own, reply, flags=re.DOTALL)
        return re.sub(rb"\$\d+\r\n", b"$\r\n", reply)

    def drop_flags(self, name, row):
        """A row of the table of commands, (arity, first, last, step, flags), without what
        is not compared."""
        arity, *keys, flags = row
        for kind, since, rows in FLAGS:
            if self.applies(kind, since) and name in rows:
                flags = flags - {rows[name]}
                arity = None if rows[name] == "arity" else arity
        return (arity, *keys, flags)

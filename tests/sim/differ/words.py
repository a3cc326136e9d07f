"""Random words for each command of the double. Each row of COMMANDS makes the words of
one command; the test fails if the double has a command without a row."""

KEYS = {"s": 3, "h": 2, "l": 3, "z": 3, "t": 2}  # by the first letter: the type
MEMBERS = ["a", "b", "c", "d", "ab", "", "e\r\nf", "\x7f\xff"]
SCORES = ["0", "1", "1", "2", "-1", "0.5", "3.25", "1700000000000.5", "1e3", "inf", "-inf",
          "+inf", "12345678901234567890", "1700000000999.125", "0.1", "-0", "x", "", "nan",
          " 1"]
INTEGERS = ["0", "1", "2", "3", "-1", "-2", "-3", "5", "-100", "100", "007", "+1", "1.0", "x",
            "", "9223372036854775808", "-1 "]
LIVES_MS = ["1", "2", "10", "1000", "1499", "1500", "60000", "0", "-1", "x",
            "9223372036854775807", "3600000", "01"]


class Words:
    """What the rows are made of."""

    def __init__(self, dice):
        self.dice = dice
        self.now_us = self.now_ms = 0
        self.texts = []  # scripts that were sent
        self.ends_ms = []  # of waits

    def key(self, kind):
        """Mostly one of that type."""
        if self.dice.random() < 0.12:
            kind = self.dice.choice("shlzt")
        return f"{kind}{self.dice.randrange(KEYS[kind])}"

    def any_key(self):
        return self.key(self.dice.choice("shlzt"))

    def some(self, make, low, high):
        return [make() for _ in range(self.dice.randint(low, high))]

    def one(self, *list_):
        return self.dice.choice(list_)

    def maybe(self, *words, odds=0.3):
        return list(words) if self.dice.random() < odds else []

    def case(self, word):
        return self.dice.choice([word, word, word.lower(), word.capitalize()])

    def member(self):
        return self.dice.choice(MEMBERS)

    def field(self):
        """One of few, so that sets and hashes become empty."""
        return self.dice.choice(MEMBERS[:4]) if self.dice.random() < 0.9 else self.member()

    def score(self):
        return self.dice.choice(SCORES[:12]) if self.dice.random() < 0.9 else \
            self.dice.choice(SCORES)

    def integer(self):
        return self.dice.choice(INTEGERS[:10]) if self.dice.random() < 0.9 else \
            self.dice.choice(INTEGERS)

    def life(self):
        return self.dice.choice(LIVES_MS[:7]) if self.dice.random() < 0.85 else \
            self.dice.choice(LIVES_MS)

    def moment(self):
        """A time of the server's clock, near now: what ends now has ended in some versions."""
        return str(self.now_ms + self.dice.choice([-5000, -1, 1, 999, 5000, 90000]))

    def seconds(self):
        """Two that end in the same ms end in any order."""
        tenths = self.dice.randint(1, 50000)
        self.ends_ms.append(self.now_ms + (tenths + 9) // 10)
        return f"{tenths / 10000:.4f}"

    def bound(self):
        return self.one("", "", "(") + self.score().strip()

    def glob(self):
        return self.one("*", "s*", "?1", "[hl]*", "[^s]?", "z[0-1]", "\\s0", "*0", "[s-h]0", "",
                        "s0", "*[", "nothing")

    def value(self):
        return self.one("", "v", "1", "41", "-1", "9007199254740000", "text \r\n", "01",
                        "x" * 70)


def set_(w):
    option = w.maybe(w.case("NX"))
    life = w.one([], [], ["PX", w.life()], ["PXAT", w.moment()], ["PX"], ["NOX"])
    words = option + life if w.dice.random() < 0.5 else life + option
    return ["SET", w.key("s"), w.value()] + words


def zadd(w):
    pairs = sum(([w.score(), w.member()] for _ in range(w.dice.choice([1, 1, 1, 2, 3]))), [])
    return ["ZADD", w.key("z")] + w.maybe(w.case("XX")) + pairs + w.maybe("1", odds=0.02)


SCRIPTS = [
    "return redis.call('get', KEYS[1])",
    "return redis.pcall('get', KEYS[1])",
    "local v = redis.call('get', KEYS[1])\nreturn v",
    "local v = redis.pcall(unpack(ARGV)) return v",
    "local v = redis.call(unpack(ARGV)) return v",
    "local v = redis.pcall(unpack(ARGV)) return type(v) == 'table' and (v.err or v.ok) or v",
    "local a = redis.pcall('set', KEYS[1], ARGV[1])\nlocal b = redis.call('exists', KEYS[1])\n"
    "return {a, b}",
    "redis.call('zadd', KEYS[1], 1700000000999.5, 'half', 1e15, 'big', 1/3, 'third', 2^53, 'e')"
    " local v = redis.call('zrange', KEYS[1], 0, -1, 'withscores') return v",
    "return {1, 2.9, -2.9, 'x', true, false, {3, {ok = 'fine'}}, {err = 'bad'}, nil, 5}",
    "return {ok = 'fine'}", "return {err = 'MINE is this'}", "return {err = 'one'}",
    "return redis.error_reply('ONE')", "return redis.error_reply('-A b')",
    "return redis.error_reply('My error')", "return redis.status_reply('yes')",
    "return 3.99", "return -3.99", "return true", "return false", "return nil", "return", "",
    "return 2^53", "return tostring(1700000000000)", "return 1 / 3 .. ''", "return {}",
    "return #KEYS .. ' ' .. #ARGV", "return unpack(KEYS)", "return KEYS", "return {KEYS, ARGV}",
    "error('mine')", "error('mine', 0)", "error({err = 'MY text'})", "local x = foo",
    "x = 1", "return redis.call()", "return redis.pcall('get', {})", "local x = nil\nx.y = 1",
    "local d, e = pcall(redis.call, 'get', KEYS[1]) return type(e) == 'table' and e.err or e",
    "local ok, e = pcall(error, 'text', 0) return e", "return redis.sha1hex(ARGV[1] or 'x')",
    "return (", "return redis.call('nothing', 1)", "return redis.pcall('get')",
    "redis.call('rpush', KEYS[1], 'x', 'y') return redis.pcall('lpop', KEYS[1])",
    "redis.call('rpush', KEYS[1], 'x') redis.call('del', KEYS[1]) return 1",
    "local t = redis.call('time') return t",
    "local t = redis.call('type', KEYS[1]) return t.ok",
    "redis.pcall('del', KEYS[1]) redis.pcall('set', KEYS[1], 'v')\n"
    "return redis.pcall('get', KEYS[1])",
    "local x = redis.pcall('set', KEYS[1], 'v') redis.pcall('del', KEYS[1])\n"
    "local y = redis.pcall('set', KEYS[1], 'v') return {x.err or 1, y.err or 1}",
    "return redis.call('exists', KEYS[1]) == 1", "return string.format('%.0f', 2^53 - 1)",
    "return {string.match('a b', '(%a) (%a)')}", "return math.floor(-1.5)",
]


def scripted(w):
    """A script with the words of another command as its arguments."""
    if w.dice.random() < 0.4:
        return w.one("EVAL", "eval"), w.one(*SCRIPTS[3:6]), other(w)
    return "EVAL", w.dice.choice(SCRIPTS), w.some(w.value, 0, 2)


def other(w):
    return COMMANDS[w.dice.choice(IN_SCRIPTS)](w)


def eval_(w):
    name, text, arguments = scripted(w)
    keys = w.some(w.any_key, 1, 2) if w.dice.random() < 0.95 else []
    w.texts.append(text)
    count = str(len(keys)) if w.dice.random() < 0.97 else w.integer()
    return [name, text, count] + keys + arguments


def digest(w):
    import hashlib
    text = w.dice.choice(w.texts or ["return 1"]) if w.dice.random() < 0.8 else \
        w.dice.choice(SCRIPTS)
    sha = hashlib.sha1(text.encode()).hexdigest()
    return w.one(sha, sha, sha, sha.upper(), sha[:20])


def evalsha(w):
    keys = w.some(w.any_key, 1, 2)
    return ["EVALSHA", digest(w), str(len(keys))] + keys + other(w)


COMMANDS = {
    "acl|dryrun": lambda w: ["ACL", "DRYRUN", w.one("default", "default", "other", "nobody")] +
    w.one(other(w), other(w), ["NOTHING"], ["GET"], ["client", "setname", "x"]),
    "acl|whoami": lambda w: ["ACL", "WHOAMI"],
    "asking": lambda w: ["ASKING"],
    "auth": lambda w: ["AUTH"] + w.one(["x"], ["default", "x"], ["other", "wrong"],
                                       ["other", "secret"], ["default", "x", "y"], ["no", "x"]),
    "blpop": lambda w: ["BLPOP"] + w.some(lambda: w.key("l"), 1, 3) +
    [w.one(w.seconds(), w.seconds(), w.seconds(), "0", "x", "-1")],
    "client|setname": lambda w: ["CLIENT", w.case("SETNAME"),
                                 w.one("a", "", "a b", "rlockrun:1", "\xe4")],
    "cluster|info": lambda w: ["CLUSTER", "INFO"],
    "cluster|slots": lambda w: ["CLUSTER", "SLOTS"],
    "config|get": lambda w: ["CONFIG", "GET", w.one("appendfsync", "MAXCLIENTS", "maxmemory",
                                                    "maxmemory-policy", "appendonly", "nothing",
                                                    "min-replicas-to-write")],
    "config|set": lambda w: ["CONFIG", "SET"] + w.one(["nothing", "1"], ["appendfsync"],
                                                      ["appendfsync", "always"],
                                                      ["appendfsync", "everysec"]),
    "del": lambda w: ["DEL"] + w.some(w.any_key, 1, 3),
    "eval": eval_,
    "evalsha": evalsha,
    "exists": lambda w: ["EXISTS"] + w.some(w.any_key, 1, 3),
    "get": lambda w: [w.one("GET", "get", "gEt"), w.key("s")],
    "hdel": lambda w: ["HDEL", w.key("h")] + w.some(w.field, 1, 3),
    "hget": lambda w: ["HGET", w.key("h"), w.member()],
    "hgetall": lambda w: ["HGETALL", w.key("h")],
    "hkeys": lambda w: ["HKEYS", w.key("h")],
    "hlen": lambda w: ["HLEN", w.key("h")],
    "hmget": lambda w: ["HMGET", w.key("h")] + w.some(w.member, 1, 3),
    "hset": lambda w: ["HSET", w.key("h")] +
    sum(w.some(lambda: [w.field(), w.value()], 1, 2), []) + w.maybe("odd", odds=0.05),
    "info": lambda w: ["INFO"] + w.maybe(w.one("server", "Replication", "memory")),
    "keys": lambda w: ["KEYS", w.glob()],
    "llen": lambda w: ["LLEN", w.key("l")],
    "lpop": lambda w: ["LPOP", w.key("l")],
    "lpush": lambda w: ["LPUSH", w.key("l")] + w.some(w.member, 1, 3),
    "lrange": lambda w: ["LRANGE", w.key("l"), w.integer(), w.integer()],
    "lrem": lambda w: ["LREM", w.key("l"), w.one("0", "1", "2", "x"), w.member()],
    "ltrim": lambda w: ["LTRIM", w.key("l"), w.integer(), w.integer()],
    "pexpire": lambda w: ["PEXPIRE", w.any_key(), w.life()],
    "pexpireat": lambda w: ["PEXPIREAT", w.any_key(), w.moment()],
    "pttl": lambda w: ["PTTL", w.any_key()],
    "role": lambda w: ["ROLE"],
    "rpush": lambda w: ["RPUSH", w.key("l")] + w.some(w.member, 1, 3),
    "sadd": lambda w: ["SADD", w.key("t")] + w.some(w.field, 1, 3),
    "scan": lambda w: ["SCAN", w.one("0", "0", "x"), "COUNT", w.one("1000", "x", "0")] +
    w.maybe("MATCH", w.glob()) + w.maybe("FOO", odds=0.05),
    "select": lambda w: ["SELECT", w.one("0", "0", "0", "1", "15", "16", "-1", "x")],
    "sentinel|ckquorum": lambda w: ["SENTINEL", "CKQUORUM", "m"],
    "sentinel|get-master-addr-by-name": lambda w: ["SENTINEL", "get-master-addr-by-name", "m"],
    "sentinel|master": lambda w: ["SENTINEL", "MASTER", "m"],
    "set": set_,
    "smembers": lambda w: ["SMEMBERS", w.key("t")],
    "srem": lambda w: ["SREM", w.key("t")] + w.some(w.field, 1, 3),
    "time": lambda w: ["TIME"],
    "ttl": lambda w: ["TTL", w.any_key()],
    "type": lambda w: ["TYPE", w.any_key()],
    "wait": lambda w: ["WAIT", w.one("0", "1", "2", "-1", "x"),
                       w.one(str(w.dice.randint(1, 5000)), "x", "-1")],
    "zadd": zadd,
    "zcard": lambda w: ["ZCARD", w.key("z")],
    "zcount": lambda w: ["ZCOUNT", w.key("z"), w.bound(), w.bound()],
    "zrange": lambda w: ["ZRANGE", w.key("z"), w.integer(), w.integer()] +
    w.maybe(w.case("WITHSCORES")),
    "zrangebyscore": lambda w: ["ZRANGEBYSCORE", w.key("z"), w.bound(), w.bound()],
    "zrank": lambda w: ["ZRANK", w.key("z"), w.member()],
    "zrem": lambda w: ["ZREM", w.key("z")] + w.some(w.field, 1, 3),
    "zremrangebyscore": lambda w: ["ZREMRANGEBYSCORE", w.key("z"), w.bound(), w.bound()],
    "zscore": lambda w: ["ZSCORE", w.key("z"), w.member()],
}

# How often, beside the others: what changes little is played less.
WEIGHTS = {"eval": 6, "zadd": 4, "set": 5, "zrange": 2, "hdel": 2, "ttl": 2, "blpop": 2,
           "rpush": 2, "select": 0.2, "hset": 2, "lpush": 2, "lrem": 2, "ltrim": 2, "sadd": 2,
           "srem": 2, "zrangebyscore": 3, "zremrangebyscore": 2, "auth": 0.3,
           "acl|dryrun": 0.5, "asking": 0.1, "sentinel|master": 0.1, "sentinel|ckquorum": 0.1,
           "sentinel|get-master-addr-by-name": 0.1, "wait": 0.7}
# What blocks, and what is for a connection to a cluster, differs by version in scripts.
NOT_IN_SCRIPTS = {"blpop", "wait", "eval", "evalsha", "acl|dryrun", "scan", "keys", "info",
                  "role", "smembers"}
IN_SCRIPTS = [name for name in COMMANDS if name not in NOT_IN_SCRIPTS]


def mistaken(w, words):
    """The same words with a mistake, now and then."""
    chance = w.dice.random() if words[0] != "CONFIG" else 1
    if chance < 0.01:
        return words[:-1] or words
    if chance < 0.02 and words[0] not in ("LPOP", "PEXPIRE", "PEXPIREAT"):  # their options
        return words + ["more"]
    if chance < 0.025:
        wrong = w.one(["NOTHING"], ["GE"], ["client", "NOTHING"], ["CLUSTER", "x"], ["é"])
        return wrong + words[1:]
    return words


def draw(w):
    names = list(COMMANDS)
    name = w.dice.choices(names, [WEIGHTS.get(name, 1) for name in names])[0]
    return mistaken(w, COMMANDS[name](w))

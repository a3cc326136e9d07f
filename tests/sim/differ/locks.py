"""Random calls of the project's own scripts, as the client makes them: the heads of
src/*/script/*.lua list their keys and arguments. Beside them what others may have done
to the keys."""
import glob
import hashlib
import os
import re
import subprocess

TOKENS = [f"{i:08x}-89ab-4def-8123-456789abcdef" for i in range(6)]
LOCKS = ["job", "{tag}x"]
HELPERS = {"i": "hash", "r": "list", "q": "zset", "l": "zset", "m": "list", "n": "set"}
LIFE_MS = "3600000"  # of :i


def compose(root, folder):
    """{name: text} of the scripts as they are sent, written to the folder."""
    for name in (folder, folder + "-named"):
        os.mkdir(name)
    source = f"{root}/src/lock"
    subprocess.run(["awk", "-f", f"{source}/script/embed.awk", "-v", f"out={folder}",
                    f"{source}/limit.h", *sorted(glob.glob(f"{root}/src/*/script/*.lua"))],
                   check=True, stdout=subprocess.DEVNULL)
    scripts = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            scripts[name.removesuffix(".lua")] = file.read()
    return scripts


def digest_of(text):
    return hashlib.sha1(text.encode()).hexdigest()


def names_of(scripts):
    """The words by which a client may name them."""
    return {word for text in scripts.values() for word in (text, digest_of(text))}


def commands_in(scripts, known):
    """Those of the known commands that the scripts use."""
    found = re.findall("'([A-Z]+)'", "".join(scripts.values()))
    return sorted({word.lower() for word in found} & set(known))


def helper(lock, letter):
    return f"{lock}:rlkt:{letter}" if lock.startswith("{") else f"{{{lock}}}:rlk:{letter}"


def keys_of(lock, letters, token=""):
    """k: the lock; m and n: those of that token."""
    names = {"k": lock, "m": helper(lock, "m:" + token), "n": helper(lock, "n:" + token)}
    return [names.get(letter) or helper(lock, letter) for letter in letters]


def bell_of(lock, waiter):
    return keys_of(lock, "m", waiter[2:])


class Call:
    """Who calls, about which lock."""

    def __init__(self, lock, letter, token):
        self.lock, self.letter, self.token = lock, letter, token
        self.member = "s:" + token if letter == "s" else token
        self.waiter = f"{letter}:{token}"


class Locks:
    def __init__(self, words, scripts, is_calm):
        self.words, self.dice, self.scripts = words, words.dice, scripts
        self.is_calm = is_calm  # nobody damages anything
        self.kinds = {}  # lock -> the letter that most calls use
        self.recent = {}  # lock -> the tokens that last asked for it
        self.fences = {}  # lock -> those that may have been granted
        self.rows = {
            "acquire": (16, self.acquire), "release": (12, self.release),
            "renew": (2, self.renew), "join": (4, self.join), "look": (2, self.look),
            "force": (2, self.force), "pause": (2, self.pause),
            "ring": (2, self.ring),
            "heal": (3, self.heal), "order": (1, self.order),
            "plain_acquire": (3, self.plain_acquire),
            "plain_release": (3, self.plain_release),
        }
        named = {re.sub("_(exclusive|counted)$", "", name) for name in scripts}
        if named - set(self.rows):
            raise SystemExit(f"differential: nothing plays {named - set(self.rows)}")
        self.names = sorted(named)
        self.weights = [self.rows[name][0] for name in self.names]

    # --- arguments -----------------------------------------------------------------

    def ms(self):
        return self.words.one("1", "50", "1000", "5000", "30000", "60000")

    def call_about(self, lock, letter):
        tokens = self.recent.get(lock, TOKENS)
        return Call(lock, letter, self.dice.choice(self.words.one(tokens, TOKENS)))

    def other(self, c):
        return self.call_about(c.lock, c.letter)

    def head(self, c):
        """The waiter that has come first, perhaps."""
        first = Call(c.lock, c.letter, self.recent.get(c.lock, TOKENS)[-1])
        return self.words.one(first, first, self.other(c)).waiter

    def former(self, c):
        return [self.other(c).member] if self.dice.random() < 0.15 else []

    def record(self):
        how = self.words.one("run", "run", "hold", "pause")
        return f"{how} 0 41 web-{self.dice.randrange(3)} {self.words.one('ada', '-')} - make"

    def runs_life(self):
        return self.words.one("86400000", "60000", "0")

    def run(self, lock):
        """Fence, start and record of a run."""
        fence = self.dice.choice(self.fences.get(lock, ["5"])[-4:])
        return f"{fence} {self.words.now_ms} {self.record()}"

    def call(self, name, letter, keys, arguments):
        text = self.scripts.get(f"{name}_{'exclusive' if letter == 'x' else 'counted'}") or \
            self.scripts[name]
        head = ["EVAL", text]
        if self.dice.random() < 0.5:
            head = ["EVALSHA", digest_of(text)]
        return head + [str(len(keys))] + keys + arguments

    # --- the scripts ---------------------------------------------------------------

    def acquire(self, c):
        w = self.words
        self.recent[c.lock] = [c.token] + self.recent.get(c.lock, [])[:2]
        self.fences.setdefault(c.lock, []).append(str(w.now_us))
        arguments = [c.member, self.ms(), self.record(), LIFE_MS, self.runs_life(), c.waiter,
                     w.one("-", "-", "-", "2", "0", "", "?"), "2" if c.letter == "p" else "",
                     w.one("", "", "", str(w.now_us - 10 ** 6), "front")]
        if self.dice.random() < 0.5:
            arguments += [w.one("", "", "1000", "60000"), w.one("", "id1"),
                          w.one("", "", "5000"), w.one("", "", "0", "500"),
                          w.one("", "", "r", "o")] + self.former(c)
        while arguments[-1] == "":
            arguments.pop()
        return keys_of(c.lock, "kirqlm", c.token), arguments

    def release(self, c):
        w = self.words
        head = self.head(c)
        is_nested = self.dice.random() < 0.2
        ended = w.one("", "0 15 job_ended", "0 0 job_ended", "1 2 job_ended")
        run = w.one(self.run(c.lock), self.run(c.lock), "")
        arguments = [c.member, w.one("", c.waiter, c.waiter), run, ended, LIFE_MS,
                     self.runs_life(), w.one("", "", "2000", "70000"), w.one("", "1"),
                     w.one("run1", "run2") if is_nested else "", w.one("", "id1"),
                     w.one("", head, head), w.one("", "", self.record())]
        arguments += self.former(c)
        if self.dice.random() < 0.4:
            arguments = arguments[:self.dice.randint(6, len(arguments))]
        letters = "kirqlmm" if ended == "" and self.dice.random() < 0.3 else "kirqlnm"
        keys = keys_of(c.lock, letters, c.token) + bell_of(c.lock, head)
        if head not in arguments:
            keys.pop()
            keys = keys if c.waiter in arguments else keys[:6]
        return keys, arguments

    def renew(self, c):
        return keys_of(c.lock, "k"), [c.member, self.ms()]

    def join(self, c):
        return keys_of(c.lock, "kni", c.token), \
            [c.member, self.ms(), self.words.one("run1", "run2"), "50000"]

    def look(self, c):
        return keys_of(c.lock, self.words.one("kirql", "kirql", "k")), \
            self.words.one(["5", "5", "10"], ["1", "2", "3"])

    def force(self, c):
        w = self.words
        digests = [digest_of(member)
                   for member in w.some(lambda: self.other(c).member, 1, 4)]
        return keys_of(c.lock, w.one("kiql", "kiql", "k")), \
            [self.record(), LIFE_MS] + digests

    def pause(self, c):
        return keys_of(c.lock, "i"), [c.token, self.ms(), LIFE_MS]

    def ring(self, c):
        waiters = self.words.some(lambda: self.other(c).waiter, 1, 4)
        bells = sum((bell_of(c.lock, one) for one in waiters), [])
        return keys_of(c.lock, "ql") + bells, waiters

    def heal(self, c):
        letters = self.words.one("irql", "irqln", "irqlmn")
        return keys_of(c.lock, letters, c.token), [HELPERS[letter] for letter in letters]

    def order(self, c):
        return keys_of(c.lock, "i"), []

    def plain_acquire(self, c):
        return keys_of(c.lock, "k"), [c.member, self.ms(), "2" if c.letter == "p" else ""]

    def plain_release(self, c):
        return keys_of(c.lock, "k"), [c.member, self.words.one("0", "0", "2000")]

    # --- beside them ---------------------------------------------------------------

    def client(self, c):
        """What the client sends without a script."""
        w, (lock, info, queue, bell) = self.words, keys_of(c.lock, "kiqm", c.token)
        return w.one(["BLPOP", bell, w.seconds()], ["BLPOP", bell, w.seconds()],
                     ["ZRANGE", queue, "0", "0"], ["PEXPIRE", info, LIFE_MS],
                     ["DEL", bell], ["PEXPIRE", bell, "1"],
                     ["SET", lock, c.token, "NX", "PX", self.ms()])

    def damage(self, c):
        """What others do to the keys: they vanish, or get another type, texts and numbers
        that no script writes, or no life."""
        w, (lock, info, runs, queue, alive, bell, nested) = \
            self.words, keys_of(c.lock, "kirqlmn", c.token)
        key = w.one(lock, info, runs, queue, alive, bell, nested)
        number = w.one("0", "-1", "x", "", "1e3", "9007199254740991", "99999999999999999999",
                       str(w.now_us + 10 ** 6), str(w.now_us + 10 ** 9))
        text = w.one("", " ", number, f"{number} {c.waiter} {self.record()}",
                     f"{c.token} {number} {number} {self.record()}", "x" * 5000)
        field = w.one("f", "h", "h:" + c.member, "s", "d", "ds", "e", "es", "w", "o", "t")
        return w.one(
            ["DEL", key], ["DEL", key], ["DEL", lock],
            ["PEXPIRE", key, self.ms()], ["SET", key, "wrong"], ["RPUSH", key, "wrong"],
            ["HSET", key, "wrong", "wrong"], ["ZADD", lock, w.one("1", "1e15"), c.member],
            ["HSET", info, field, text], ["HSET", info, field, number],
            ["HSET", info, field, text], ["LPUSH", runs, *[text] * w.one(1, 9, 19)],
            ["SET", runs, "wrong"],
            ["ZADD", queue, w.one("0", "-1", "1e15", "1e300", str(w.now_us)), c.waiter],
            ["ZADD", alive, w.one("0", str(w.now_ms + 500), "1e300"), c.waiter],
            ["SADD", nested, w.one("!", "!k", "run1")])

    def draw(self):
        lock = self.dice.choice(LOCKS)
        if lock not in self.kinds or self.dice.random() < 0.08:
            self.kinds[lock] = self.dice.choice("xxsp")
        call = self.call_about(lock, self.kinds[lock])
        chance = self.dice.random()
        if chance < 0.1:
            return self.client(call)
        if chance < 0.15 and not self.is_calm:
            return self.damage(call)
        name = self.dice.choices(self.names, self.weights)[0]
        return self.call(name, call.letter, *self.rows[name][1](call))

"""Random calls of the project's own scripts, as src/lock/request.c makes them. The
scripts are those that the build has composed."""
import hashlib
import os

TOKENS = [f"{i:08x}-89ab-4def-8123-456789abcdef" for i in range(6)]
LOCKS = ["job", "{tag}x"]
LETTERS = {"f": "fence", "i": "info", "n": "nested", "q": "queue", "l": "alive", "r": "history",
           "o": "newest", "s": "order"}


def load(folder):
    """{name: text}"""
    scripts = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            scripts[name.removesuffix(".lua")] = file.read()
    return scripts


class Locks:
    def __init__(self, words, scripts):
        self.words, self.dice, self.scripts = words, words.dice, scripts
        self.kinds = {}  # lock -> the letter that most calls use

    def helper(self, lock, letter):
        return f"{lock}:rlkt:{letter}" if lock.startswith("{") else f"{{{lock}}}:rlk:{letter}"

    def keys(self, lock, letters, me):
        names = {"k": lock, "m": self.helper(lock, "m:" + me)}
        return [names.get(letter) or self.helper(lock, letter) for letter in letters]

    def kind(self, lock):
        if lock not in self.kinds or self.dice.random() < 0.05:
            self.kinds[lock] = self.dice.choice("xxsp")
        return self.kinds[lock]

    def waiter(self, letter, token):
        return f"{letter}:{token}:{self.dice.choice(['12', '', '4'])}@web-{token[7]}"

    def ms(self):
        return str(self.dice.choice([1, 50, 1000, 5000, 30000, 60000]))

    def former(self):
        return [self.dice.choice(TOKENS)] if self.dice.random() < 0.15 else []

    def some_waiter(self, letter):
        token = self.dice.choice(TOKENS)
        return f"{letter}:{token}:12@web-{token[7]}"

    def call(self, name, kind, keys, arguments):
        text = self.scripts.get(f"{name}_{'exclusive' if kind == 'x' else 'counted'}") or \
            self.scripts[name]
        self.words.texts.append(text)
        head = ["EVAL", text]
        if self.dice.random() < 0.5:
            head = ["EVALSHA", hashlib.sha1(text.encode()).hexdigest()]
        return head + [str(len(keys))] + keys + arguments

    def acquire(self, lock, letter, token):
        w = self.words
        tier = self.dice.choice([8, 8, 8, 7, 4, 3, 1])
        keys = self.keys(lock, "kfinqlmr"[:tier], token)
        waits = w.one("1", "1", "0")
        if tier >= 7 and letter == "x":
            policies = w.one("", "", "", "r", "o", "n", "rn", "n-500")
            if "n" in policies:
                keys.append(self.helper(lock, "o"))
            if policies[:1] in ("r", "o"):
                keys.append(self.helper(lock, "s"))
            waits += policies
        history = w.one("86400000", "60000", "60000:5000") if tier == 8 else ""
        once = w.one("", "", "1000", ":id1", "5000:id2") if tier == 8 and letter == "x" else ""
        return self.call("acquire", letter, keys, [
            token, self.ms(), "3600000", letter, "2" if letter == "p" else "", "host", "41",
            "deploy", w.one("make", ""), w.one("", "label"), self.waiter(letter, token), waits,
            w.one("", "", "1"), "", history, once] + self.former())

    def release(self, lock, letter, token):
        w = self.words
        tier = self.dice.choice([8, 8, 7, 4, 3, 1])
        head = self.some_waiter(letter) if self.dice.random() < 0.6 else ""
        keys = self.keys(lock, "kfinqlm"[:tier], token)
        if tier >= 7:
            keys += self.keys(lock, "m", head[2:38] or token)
        if tier == 8:
            keys += self.keys(lock, "r", token)
        return self.call("release", letter, keys, [
            token, letter, "2" if letter == "p" else "", w.one("", "", "1700000000000000"),
            w.one("0", "0", "2000"), self.waiter(letter, token), w.one("", "", "run1"),
            head, w.one("60000", "60000:id1") if tier == 8 else "",
            w.one("", "0 15 job_ended", "1 2 job_ended", "0"), "1700000000000000", "host"] +
            self.former())

    def others(self, lock, letter, token):
        """One of the small scripts."""
        w, waiter = self.words, self.waiter(letter, token)
        second = self.some_waiter(letter)
        bell = self.keys(lock, "m", waiter[2:38]) + self.keys(lock, "m", second[2:38])
        keys = {name: self.keys(lock, name, token) for name in
                ("k", "ki", "kfin", "r", "n", "ql", "kfiqlnr", "kinql", "kiqlmr")}
        member = "s:" + token if letter == "s" else token
        sha = hashlib.sha1(member.encode()).hexdigest()
        rows = {
            "renew": (keys["k"], [token, self.ms(), letter]),
            "join": (keys["kfin"][:w.one(4, 4, 3, 1)],
                     [token, self.ms(), letter, "run1", "50000", w.one(letter, letter, "x")]),
            "remember": (keys["r"], [self.ms()]),
            "correct": (keys["r"], [w.one("1700000000000000", "5"), w.one("79", "0"), "10",
                                    "lost", w.one("0", "500"), "60000", "host",
                                    w.one("", "id1")]),
            "look": (keys["kfiqlnr"][:w.one(7, 7, 6, 1)], ["5", "5", "10"]),
            "force": (keys["kinql"], ["", sha]) if w.dice.random() < 0.5 else
            (keys["kinql"] + bell[:1], [waiter, sha]),
            "front": (keys["ql"], [waiter]),
            "notify": (keys["ql"] + bell, [waiter, second]),
            "notify_behind": (keys["ql"] + bell + [self.helper(lock, "m")], [second]),
            "pause": (keys["ki"], [token, self.ms()]),
            "undo": (keys["kiqlmr"], [token, waiter] + self.former()),
        }
        name = self.dice.choice(list(rows))
        return self.call(name, letter, *rows[name])

    def draw(self):
        w = self.words
        lock = self.dice.choice(LOCKS)
        token, letter = self.dice.choice(TOKENS), self.kind(lock)
        chance = self.dice.random()
        if chance < 0.35:
            return self.acquire(lock, letter, token)
        if chance < 0.5:
            return self.release(lock, letter, token)
        if chance < 0.85:
            return self.others(lock, letter, token)
        if chance < 0.95:
            return ["BLPOP", self.helper(lock, "m:" + token), self.helper(lock, "m"),
                    w.seconds()]
        return self.dice.choice([
            ["DEL", lock], ["SET", lock, token, "NX", "PX", self.ms()],
            ["RPUSH", self.helper(lock, "i"), "wrong"], ["DEL", self.helper(lock, "i")],
            ["ZRANGE", self.helper(lock, "q"), "0", "0"],
            ["PEXPIRE", self.helper(lock, "i"), self.ms()], ["PEXPIRE", lock, self.ms()],
            ["HSET", self.helper(lock, "r"), "runs", "x", "fence", "y"],
            ["SET", self.helper(lock, "q"), "wrong"], ["DEL", self.helper(lock, "q")]])

"""What happens in a round of `make chaos`: a pure function of seed, topology and duration,
so that a seed repeats it. Whom a fault of a server strikes is a number from 0 to 1, which
play.py applies to those that it may strike at that moment.

No fault takes from a server what it acknowledged, and no run is struck in a way that
CAVEATS of rlockrun(1) excludes (wrapper and guard at the same time). So nothing that breaks
a promise has an excuse."""
import random

TOPOLOGIES = ("one", "tls", "sentinel", "cluster", "redlock3", "redlock5")
REPLICATED = ("sentinel", "cluster")
HOSTS = 3
NESTED = 100000  # added to the number of a run: that of the run nested in its job (job.c)
ARRIVAL_MS = 150  # a run comes on average so often,
SERVER_FAULT_MS = 700  # and a fault of servers or network so long after the one before
BURST = 12  # runs that come at once at the beginning
STRUCK = 60  # of 100 runs, by one fault each

# Locks, with the mode of their runs and the part of runs that want them.
FAMILIES = {
    ("x1", "x2"): ("x", 50),
    ("rw",): ("xsss", 15),
    ("p",): ("p", 15),
    ("m1", "m2", "m3"): ("x", 20),  # two of them
}
PERMITS = 2  # as in job.c
SORTS = {"short": 20, "deaf": 10, "forking": 12, "leaving": 6, "session": 8, "chain": 14,
         "threads": 10, "closing": 4, "stopping": 4, "nested": 8}
FORWARDED = ("term", "int", "hup")
FOREVER_MS = 600000

# What strikes the processes of a run: (share, least ms, most ms); 0 ms is a moment.
PROCESS_FAULTS = {
    ("wrapper", "kill"): (14, 0, 0),
    ("wrapper", "stop"): (16, 700, 10000),
    ("wrapper", "trace"): (4, 50, 4000),
    ("wrapper", "term"): (10, 0, 0),
    ("wrapper", "int"): (4, 0, 0),
    ("wrapper", "hup"): (4, 0, 0),
    ("guard", "kill"): (12, 0, 0),
    ("guard", "stop"): (8, 50, 6000),
    ("guard", "trace"): (6, 50, 6000),
    ("job", "kill"): (4, 0, 0),
    ("job", "stop"): (4, 50, 3000),
    ("job", "trace"): (3, 50, 3000),
    ("terminal", "interrupt"): (4, 0, 0),
    ("terminal", "hangup"): (4, 0, 0),
}
# What strikes a server, a sentinel, the cable in front of one, or a host.
SERVER_FAULTS = {
    "stop": (12, 50, 5000),
    "kill": (8, 50, 2500),
    "delay": (8, 500, 4000),
    "stall": (8, 50, 3000),
    "tear": (12, 50, 1000),
    "refuse": (5, 100, 3000),
    "cut": (12, 50, 4000),
    "cut_replies": (8, 50, 4000),
}
FAILOVERS = {
    "failover": (8, 1, 50),
    "split": (8, 1000, 5000),  # from all other nodes, but not from clients
    "migrate": (16, 20, 1500),  # cluster
}


def faults_of(topology):
    faults = {**SERVER_FAULTS, **(FAILOVERS if topology in REPLICATED else {})}
    if topology != "cluster":
        faults.pop("migrate", None)
    return faults


def families_of(topology):
    """Several servers that vote know exclusive locks alone, one for each run."""
    return {keys: family for keys, family in FAMILIES.items()
            if not topology.startswith("redlock") or keys == ("x1", "x2")}


class Plan:
    def __init__(self, seed, topology, duration_ms):
        self.seed, self.topology, self.duration_ms = seed, topology, duration_ms
        self.dice = random.Random(f"{seed} {topology}")
        self.runs = [self.run(number, at_ms) for number, at_ms in enumerate(
            [*[0] * BURST, *self.moments(ARRIVAL_MS)], 1)]
        self.server_faults = [self.server_fault(at_ms)
                              for at_ms in self.moments(SERVER_FAULT_MS)]

    def moments(self, mean_ms):
        at_ms = 0
        while (at_ms := at_ms + self.dice.expovariate(1 / mean_ms)) < self.duration_ms:
            yield int(at_ms)

    def pick(self, shares):
        """A key of the table, by its share."""
        return self.dice.choices(list(shares), list(shares.values()))[0]

    def length_ms(self, least, most):
        """Short ones as often as long ones: by order of magnitude."""
        return int(least * (most / least) ** self.dice.random()) if most else 0

    def chance(self, percent):
        return self.dice.random() * 100 < percent

    def run(self, number, at_ms):
        families = families_of(self.topology)
        keys = self.pick({keys: share for keys, (_, share) in families.items()})
        run = {"run": number, "at_ms": at_ms, "host": self.dice.randint(1, HOSTS),
               "keys": self.dice.sample(keys, 2 if len(keys) > 2 else 1),
               "mode": self.dice.choice(families[keys][0]), "sort": self.pick(SORTS),
               "job_ms": self.length_ms(20, 5000), "wait_all": False,
               "job_status": self.dice.choice((0, 0, self.dice.randint(1, 40))),
               "fault": self.process_fault() if self.chance(STRUCK) else None,
               "options": ["-t", f"{self.dice.choice((1000, 1500, 2000, 3000))}ms",
                           "--server-timeout", self.dice.choice(("3s", "6s", "10s"))]}
        self.vary(run)
        self.fit(run)
        return run

    def vary(self, run):
        for percent, words in ((40, ["-w", f"{self.dice.choice((0, 300, 1000, 3000))}ms"]),
                               (8, ["--max-run", f"{self.dice.choice((100, 300, 1000))}ms"]),
                               (20, ["--kill-after", f"{self.dice.choice((50, 200, 1000))}ms"]),
                               (15, ["--wait-all"])):
            if self.chance(percent):
                run["options"] += words
        run["wait_all"] = "--wait-all" in run["options"]

    def fit(self, run):
        """A job that a fault must end does not end by itself, and one that it may end lives
        long. A command that is killed leaves nobody. One that stops itself is not continued on
        a terminal, and elsewhere its guard continues rlockrun with it."""
        fault = run["fault"] or {}
        on, what, after = (fault.get(name) for name in ("on", "fault", "after"))
        if (on, what) == ("job", "kill") or run["sort"] == "stopping" and (
                on == "terminal" or what == "stop"):
            run["sort"] = "short"
        if after == "start" and (on == "terminal" or what in FORWARDED):
            run["sort"] = "patient"
        if after == "start" and what == "kill":
            run["job_ms"] = FOREVER_MS
        elif what in ("stop", "trace"):
            run["job_ms"] = self.dice.randint(2000, 8000)

    def process_fault(self):
        on, fault = self.pick({name: row[0] for name, row in PROCESS_FAULTS.items()})
        return {"on": on, "fault": fault, "ms": self.length_ms(*PROCESS_FAULTS[on, fault][1:]),
                "after": "start" if on == "job" or self.chance(70) else "run",
                "after_ms": self.length_ms(1, 2000)}

    def server_fault(self, at_ms):
        rows = faults_of(self.topology)
        fault = self.pick({name: row[0] for name, row in rows.items()})
        return {"fault": fault, "ms": self.length_ms(*rows[fault][1:]), "at_ms": at_ms,
                "whom": self.dice.random(), "seed": self.dice.randrange(10 ** 9),
                "key": self.dice.choice([key for keys in FAMILIES for key in keys])}

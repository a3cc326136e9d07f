"""What happens in a run of `make chaos`, and when: a pure function of seed, topology
and duration, so that a seed repeats it. Whom a fault strikes is a number from 0 to 1,
which play.py applies to those who are there at that moment."""
import random

TOPOLOGIES = ("one", "tls", "sentinel", "cluster", "redlock3", "redlock5")
HOSTS = 3
NESTED = 100000  # added to the number of a run: that of the run nested in its job

ARRIVAL_MS = 100  # a run comes on average so often,
PROCESS_FAULT_MS = 250  # a fault strikes one of its processes so often,
SERVER_FAULT_MS = {"one": 1400, "tls": 1400, "sentinel": 1000, "cluster": 1000,
                   "redlock3": 1800, "redlock5": 1300}  # and a server or the network
BURST = 15  # runs that come at once at the beginning
PAIRED = 15  # of 100 stops of a wrapper, which strike its guard as well
LONGEST_TTL_MS = 3000
SLOW_DISKS = 15  # of 100 runs with a log and metrics: each call of theirs takes longer
SLOW_DISK_MS = 30
MIN_UPTIME_MS = 4000  # of a server that counts for a majority

# Locks by their use, with the part of runs that want them. `multi` wants two of three.
FAMILIES = {
    "exclusive": (("x1", "x2", "x3"), 36),
    "rare": (("r1", "r2", "r3", "r4", "r5", "r6"), 12),  # mostly nobody waits for them
    "shared": (("rw1", "rw2"), 20),
    "permits": (("p1",), 10),
    "multi": (("m1", "m2", "m3"), 12),
    "keep": (("h1", "h2"), 10),
    "newest": (("n1", "n2"), 10),
    "replicas": (("w1", "w2"), 12),
    "scene": (("rw3",), 0),
    "taking": (("t1", "t2", "t3"), 0),
    "paused": (("z1", "z2"), 12),
    "once": (("o1", "o2"), 14),
    "mixed": (("c1", "c2"), 14),  # some of these runs are tests/second/client.py
}
PERMITS = 3

# What runs are that no fault strikes but those of servers and the network.
CALM = {"calm": True, "job": "short", "max_run_ms": None, "kill_after_ms": None,
        "wait_all": False, "on_lost": "stop", "more": []}
# Options that the second implementation does not have, and its time for a silent server.
OF_CLIENT = {"client": True, **CALM, "server_timeout_ms": 10000, "sinks": False, "disk_ms": 0}

# Runs that come with a fault, for locks that few others use, to show what that alone does:
# (fault, how many, from when to when in ms, the job's ms, what else they are).
COMPANIONS = (
    ("late", 4, 0, 100, (20, 500), {}),  # their first try is late,
    # or a renewal, which arrives after the release of a lock that is kept
    ("late", 2, -850, -400, (1900, 2100), {"ttl_ms": 3000, "min_hold_ms": 2900}),
    ("delay", 3, -800, -300, (3500, 4500), {"ttl_ms": 3000}),
    ("hang", 3, -800, -300, (8000, 9000), {"ttl_ms": 10000}),
)
# Now and then a reader, a writer that gives up behind it, and a reader behind that one:
# when they come, the job's ms, what else they are.
SCENE_MS = 5000
SCENE = ((0, (3000, 3500), {"mode": "shared", "ttl_ms": 3000}),
         (400, (20, 50), {"wait_ms": 1000}),
         (1200, (20, 300), {"mode": "shared", "ttl_ms": 3000}))
# Now and then a run of two locks that few others want, and one of them is taken away.
TAKING_MS = 2500
# Now and then these are paused for a time, and sometimes resumed after half of it.
PAUSE_MS = 2500
PAUSED = "z*"
# How often one of the locks of FAMILIES["once"] is checked, and how often a success of the
# first of them is due. The other is never overdue, so that its failures show.
CHECK_MS = 700
EXPECT_MS = 2000
ALONE_MS = {"late": 3500, "delay": 3500, "hang": 9000}  # no other fault follows so soon
REPLICATED = ("sentinel", "cluster")

JOBS = {"short": 20, "deaf": 10, "forking": 12, "leaving": 6, "session": 8, "chain": 14,
        "threads": 10, "closing": 4, "stopping": 4, "nested": 6, "outlasting": 5, "joining": 5}
NESTING = ("nested", "outlasting", "joining")
JOIN_WAIT_MS = 3000  # of a nested run that may find the lock ended

# fault: (part, least ms, most ms); 0 ms is an instant.
PROCESS_FAULTS = {
    ("wrapper", "kill"): (14, 0, 0),
    ("wrapper", "stop"): (12, 300, 8000),
    ("wrapper", "term"): (6, 0, 0),
    ("wrapper", "int"): (3, 0, 0),
    ("wrapper", "hup"): (3, 0, 0),
    ("wrapper", "trace"): (4, 50, 3000),
    ("guard", "kill"): (12, 0, 0),
    ("guard", "stop"): (7, 50, 5000),
    ("guard", "trace"): (6, 50, 5000),
    ("job", "kill"): (5, 0, 0),
    ("job", "stop"): (5, 50, 3000),
    ("job", "trace"): (3, 50, 3000),
}
NETWORK_FAULTS = {
    ("server", "stop"): (10, 50, 4000),
    ("server", "pause"): (6, 50, 2000),
    ("server", "busy"): (6, 50, 1500),
    ("server", "disconnect"): (8, 0, 0),
    ("server", "full"): (6, 100, 3000),
    ("server", "kill"): (5, 100, 2500),
    ("link", "delay"): (10, 1500, 6000),
    ("link", "stall"): (8, 50, 3000),
    ("link", "late"): (20, 1000, 6000),
    ("link", "tear"): (10, 0, 0),
    ("link", "refuse"): (5, 100, 3000),
    ("host", "cut"): (8, 50, 4000),
    ("host", "cut_replies"): (6, 50, 4000),
    ("server", "cut"): (5, 50, 3000),
}
# Those that make a server lose what it acknowledged, or nearly so.
LOSING_FAULTS = {
    ("lock", "shorten"): (5, 1, 300),
    ("server", "flush"): (1, 0, 0),
}
# A server forgets its scripts. No client may notice, so this strikes beside all others.
FORGET_MS = 2000
FORGETTING = {("server", "forget"): (1, 300, 4000)}
FAILOVERS = {
    ("server", "failover"): (8, 0, 0),
    ("server", "crash"): (4, 2000, 4000),  # so long that another takes its place
    ("server", "split"): (8, 1000, 5000),  # from all other nodes, but not from clients
}
SENTINEL_FAULTS = {
    ("sentinel", "stop"): (4, 100, 3000),
    ("sentinel", "kill"): (3, 100, 3000),
    ("server", "hang"): (20, 8000, 9500),  # so long that another takes its place
}
CLUSTER_FAULTS = {
    ("lock", "migrate"): (12, 20, 1500),
}


def is_redlock(topology):
    return topology.startswith("redlock")


def families_of(topology):
    if is_redlock(topology):
        return {"exclusive": FAMILIES["exclusive"]}
    topologies = {"replicas": REPLICATED, "mixed": ("one",)}
    return {name: family for name, family in FAMILIES.items()
            if topology in topologies.get(name, TOPOLOGIES)}


def keys_of(topology):
    """All locks, in the order of their bits."""
    return [key for keys, _ in families_of(topology).values() for key in keys]


def faults_of(topology):
    faults = dict(PROCESS_FAULTS)
    network = dict(NETWORK_FAULTS)
    if not is_redlock(topology):
        network.update(LOSING_FAULTS)
    if topology in REPLICATED:
        network.update(FAILOVERS)
    if topology == "sentinel":
        network.update(SENTINEL_FAULTS)
    if topology == "cluster":
        network.update(CLUSTER_FAULTS)
    return faults, network


class Plan:
    def __init__(self, seed, topology, duration_ms):
        self.seed, self.topology, self.duration_ms = seed, topology, duration_ms
        self.dice = random.Random(f"{seed} {topology}")
        self.runs = 0
        runs, faults = self.all_runs(), self.all_faults()
        self.actions = sorted([*runs, *faults, *self.companions(faults), *self.scenes(),
                               *self.takings(), *self.pauses(), *self.checks()],
                              key=lambda action: action["at_ms"])

    def moments(self, mean_ms):
        at_ms = 0
        while (at_ms := at_ms + self.dice.expovariate(1 / mean_ms)) < self.duration_ms:
            yield int(at_ms)

    def pick(self, parts):
        """A key of the table, by its part."""
        return self.dice.choices(list(parts), [
            part if isinstance(part, int) else part[-1] for part in parts.values()])[0]

    def length_ms(self, least, most):
        """Short ones as often as long ones: by order of magnitude."""
        return int(least * (most / least) ** self.dice.random()) if most else 0

    def chance(self, percent):
        return self.dice.random() * 100 < percent

    # --- runs ------------------------------------------------------------------

    def all_runs(self):
        return [self.run(at_ms) for at_ms in [0] * BURST + list(self.moments(ARRIVAL_MS))]

    def run(self, at_ms, family=None):
        self.runs += 1
        families = families_of(self.topology)
        family = family or self.pick(families)
        run = {"do": "run", "at_ms": at_ms, "run": self.runs,
               "host": self.dice.randint(1, HOSTS),
               "keys": [self.dice.choice(families[family][0])], "mode": "exclusive",
               "permits": 0, "ttl_ms": self.dice.choice((1000, 1500, 2000, 3000)),
               "wait_ms": None, "max_run_ms": None, "min_hold_ms": 0, "wait_all": False,
               "calm": False, "client": False, "on_lost": "stop", "on_unavailable": "fail",
               "wait_replicas": 0, "kill_after_ms": None,
               "server_timeout_ms": self.dice.choice((3000, 3000, 6000, 10000)),
               "job": self.pick(JOBS), "job_ms": self.length_ms(20, 5000),
               "job_status": self.dice.choice((0, 0, self.dice.randint(1, 40))),
               "more": ["-v"] if self.chance(50) else []}
        getattr(self, "for_" + family)(run)
        self.vary(run)
        if family == "mixed" and self.chance(50):
            run.update(OF_CLIENT)
        return run

    def for_exclusive(self, run):
        if self.chance(5):
            run["on_unavailable"] = "run"

    def for_rare(self, run):
        """As it is."""

    def for_scene(self, run):
        """See SCENE."""

    def for_shared(self, run):
        if self.chance(75):
            run["mode"] = "shared"

    def for_permits(self, run):
        run["mode"], run["permits"] = "permits", PERMITS

    def for_multi(self, run):
        run["keys"] = self.dice.sample(FAMILIES["multi"][0], 2)

    def for_keep(self, run):
        run["min_hold_ms"], run["wait_ms"] = self.dice.choice((300, 1000, 3000)), 0
        if self.chance(50):
            run["job"], run["job_ms"] = self.dice.choice(NESTING), self.length_ms(20, 800)
        elif self.chance(50):  # it ends after a renewal
            run["ttl_ms"], run["min_hold_ms"] = self.dice.choice((2000, 3000)), 3000
            run["job_ms"] = self.dice.randint(700, 2200)

    def for_newest(self, run):
        """Of those that wait only the newest stays, and it may replace the holder; some others
        are among them."""
        run["wait_ms"] = self.dice.choice((1000, 3000, 6000, 12000))
        for option, percent in (("--newest", 75), ("--replace", 50), ("--replaceable", 60)):
            run["more"] += [option] if self.chance(percent) else []
        if self.chance(60):  # long enough to be asked to stop
            run["job_ms"] = self.dice.randint(1500, 5000)

    def for_paused(self, run):
        """As it is."""

    def for_mixed(self, run):
        """See OF_CLIENT."""

    def for_once(self, run):
        """A success with the id of a run is enough for it, or it has none. Jobs are short and
        mostly succeed, so that many come after a success."""
        run["job_ms"] = self.length_ms(20, 800)
        if self.chance(75):
            run["more"] += ["--once-id=" + self.dice.choice("ab")]
        if run["keys"] == ["o1"] and self.chance(50):
            run["more"] += [f"--expect={EXPECT_MS}ms"]

    def for_taking(self, run):
        """See takings."""
        run["keys"] = self.dice.sample(FAMILIES["taking"][0], 2)

    def for_replicas(self, run):
        """One of two replicas does not outlive a failover."""
        run["wait_replicas"] = self.dice.choice((1, 2, 2)) if self.topology == "sentinel" else 1

    def vary(self, run):
        if run["wait_ms"] is None and self.chance(35):
            run["wait_ms"] = self.dice.choice((0, 300, 1000, 3000, 6000))
        if self.chance(8):
            run["max_run_ms"] = self.dice.choice((100, 300, 1000))
        if self.chance(15):
            run["wait_all"] = True
        if self.chance(4):
            run["on_lost"] = "warn"
        if self.chance(20):
            run["kill_after_ms"] = self.dice.choice((50, 200, 1000))
        if self.chance(4):
            run["more"] += ["--splay", "0.3"]
        if self.chance(4) and not is_redlock(self.topology):
            run["more"] += ["--max-waiters", "4"]
        run["sinks"] = self.chance(50)
        run["disk_ms"] = SLOW_DISK_MS if run["sinks"] and self.chance(SLOW_DISKS) else 0

    def companions(self, faults):
        for fault in [] if is_redlock(self.topology) else faults:
            for name, count, first_ms, last_ms, job_ms, options in COMPANIONS:
                for _ in range(count if name == fault["fault"] else 0):
                    at_ms = fault["at_ms"] + self.dice.randint(first_ms, last_ms)
                    yield self.companion(max(0, at_ms), job_ms, options)

    def scenes(self):
        for begin_ms in [] if is_redlock(self.topology) else self.moments(SCENE_MS):
            for later_ms, job_ms, options in SCENE:
                yield self.companion(begin_ms + later_ms, job_ms, options, "scene")

    def takings(self):
        """The job mostly ends by itself before the next renewal shows the loss."""
        keys = keys_of(self.topology)
        for at_ms in [] if is_redlock(self.topology) else self.moments(TAKING_MS):
            run = self.companion(at_ms, (300, 800), {"ttl_ms": 3000, "job_status": 0}, "taking")
            taken = keys.index(self.dice.choice(run["keys"]))
            yield run
            yield {**self.fault(at_ms + self.dice.randint(100, 700), LOSING_FAULTS),
                   "on": "lock", "fault": "shorten", "ms": 1, "then": None,
                   "which": (taken + 0.5) / len(keys)}

    def pauses(self):
        for at_ms in [] if is_redlock(self.topology) else self.moments(PAUSE_MS):
            yield {"do": "pause", "at_ms": at_ms, "host": self.dice.randint(1, HOSTS),
                   "ms": self.length_ms(1000, 4000), "wait_ms": self.length_ms(100, 4000),
                   "resumes": self.chance(50)}

    def checks(self):
        for at_ms in [] if is_redlock(self.topology) else self.moments(CHECK_MS):
            yield {"do": "check", "at_ms": at_ms, "host": self.dice.randint(1, HOSTS),
                   "key": self.dice.choice(FAMILIES["once"][0])}

    def companion(self, at_ms, job_ms, options, family="rare"):
        """No other fault strikes its processes."""
        return {**self.run(at_ms, family), **CALM, "wait_ms": None,
                "job_ms": self.length_ms(*job_ms), "server_timeout_ms": 3000, **options}

    # --- faults ----------------------------------------------------------------

    def all_faults(self):
        self.of_processes, of_network = faults_of(self.topology)
        server_ms = SERVER_FAULT_MS[self.topology]
        network = [self.fault(at_ms, of_network) for at_ms in self.moments(server_ms)]
        if not is_redlock(self.topology):
            network = list(self.thin_out(network))
        network += [self.fault(at_ms, FORGETTING) for at_ms in self.moments(FORGET_MS)]
        return [self.fault(at_ms, self.of_processes)
                for at_ms in self.moments(PROCESS_FAULT_MS)] + network

    @staticmethod
    def thin_out(faults):
        """Without those that follow too soon."""
        free_ms = 0
        for fault in faults:
            if fault["at_ms"] >= free_ms:
                free_ms = fault["at_ms"] + ALONE_MS.get(fault["fault"], 0)
                yield fault

    def fault(self, at_ms, faults):
        """Strikes, of the runs that are there, those that hold a lock or all, one that was
        struck before or not, and of jobs any or the one that ends last."""
        action = {"do": "fault", "at_ms": at_ms, **self.kind_of_fault(faults),
                  "whom": self.dice.random(), "which": self.dice.random(),
                  "holders": self.chance(65), "again": self.chance(25),
                  "longest": self.chance(50), "then": None}
        if (action["on"], action["fault"]) == ("wrapper", "stop") and self.chance(PAIRED):
            action["ms"] = self.dice.randint(1200, 4000)  # longer than most leases
            action["then"] = {"on": "guard", "fault": "stop", "ms": action["ms"], "after_ms": 1}
        elif faults is self.of_processes and self.chance(20):
            action["then"] = {**self.kind_of_fault(faults), "after_ms": self.length_ms(1, 400)}
        return action

    def kind_of_fault(self, faults):
        on, fault = self.dice.choices(list(faults), [row[0] for row in faults.values()])[0]
        _, least, most = faults[on, fault]
        return {"on": on, "fault": fault, "ms": self.length_ms(least, most)}

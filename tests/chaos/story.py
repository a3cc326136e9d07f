"""A history as a story: runs with all that belongs to them, and what was the case when.

Times are microseconds since the beginning, as in the history; a span is a pair of them,
its end excluded."""
import collections
import functools
import types

MS = 1000
SECOND = 1000 * MS
NEVER = 1 << 62
UNITS = {"ms": MS, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
SERVERS = {"one": 1, "tls": 1, "sentinel": 3, "cluster": 6, "redlock3": 3, "redlock5": 5}
HINDERING = ("stop", "trace", "kill")
# Faults after which no reply can reach a client. A stopped, killed or sleeping server
# has none; the others are named in full, as `delay` and `tear` let replies pass.
SILENCING = ("stop", "kill", "pause", "busy", "cut", "cut_replies", "stall")
# A server that forgets its scripts is sent them again: that excuses nothing.
HARMLESS = ("forget",)


class Run:
    """A rlockrun with its job, its end and the faults that struck it."""

    def __init__(self, record):
        self.__dict__.update(record)
        self.number = record["run"]
        self.ttl = record["ttl_ms"] * MS
        self.wait_replicas = record["wait_replicas"] or 0
        self.processes, self.faults, self.nested = [], [], []
        self.root = self.exit = self.outer_run = None

    @functools.cached_property
    def top(self):
        """The outermost of nested runs, which acquired the lock for all of them. One that
        came when that had ended acquired it for itself."""
        outer = self.outer_run
        own = outer and outer.token and self.token and not set(self.tokens) & set(outer.tokens)
        return outer.top if outer and not own else self

    @property
    def token(self):
        return self.root and self.root.token

    @property
    def tokens(self):
        """One for each key."""
        return self.token.split("\n") if self.token else []

    @functools.cached_property
    def is_left(self):
        """Whether the command ended by itself or by a signal of the harness: without
        --wait-all the processes that it left are no longer part of the job."""
        root_gone = self.root.end is not None or self.struck("job", "kill")
        return bool(root_gone and not self.wait_all)

    @property
    def start(self):
        return self.root.at

    @functools.cached_property
    def last(self):
        """The last time at which the job is known to have lived."""
        if self.is_left:
            return last_life(self.root)
        return max(last_life(process) for process in self.processes)

    @property
    def tenure(self):
        """The longest span in which the lock can have been held for the job: it may have
        been acquired as early as one lease before the job started."""
        top = self.top
        begin = top.start if top.root else self.start
        return max(top.at, begin - top.ttl), self.last

    @property
    def ended(self):
        return self.exit.at if self.exit else NEVER

    @property
    def grace(self):
        """The time between TERM and KILL, as far as the lease allows it."""
        chosen = self.kill_after_ms
        grace = min(self.ttl // 6, 5 * SECOND) if chosen is None else chosen * MS
        return min(grace, self.ttl // 2)

    def struck(self, target, *names):
        """The faults of these names, or all, on the wrapper, guard or job."""
        return [fault for fault in self.faults
                if fault.on == target and (not names or fault.fault in names)]

    def hindered(self, target):
        """Spans in which the wrapper, guard or job was stopped or killed."""
        return [(fault.at, NEVER if fault.fault == "kill" else fault.until)
                for fault in self.struck(target, *HINDERING)]

    def unguarded(self):
        """Spans in which neither wrapper nor guard could act. A guard that survives
        the wrapper needs up to a second: both are killed `at the same moment`."""
        guard = [(begin, end) for begin, end in self.hindered("guard")]
        return [common for wrapper in self.hindered("wrapper") for other in guard
                if (common := intersect(wrapper, other))]

    def stopped_for(self):
        """How long it was stopped by faults, with its job and its outer runs."""
        own = sum(fault.until - fault.at for fault in self.faults
                  if fault.fault in ("stop", "trace"))
        return own + (self.outer_run.stopped_for() if self.outer_run else 0)

    def option(self, name):
        """The duration given with --NAME, or None."""
        for before, option in zip([""] + self.options, self.options):
            if before == f"--{name}":
                return duration(option)
            if option.startswith(f"--{name}="):
                return duration(option.partition("=")[2])
        return None

    @property
    def once_id(self):
        return next((option.partition("=")[2] for option in self.options
                     if option.startswith("--once-id=")), None)

    @property
    def is_newest(self):
        return self.has_option("--newest") and not self.outer_run

    def has_option(self, *names):
        return any(option.partition("=")[0] in names for option in self.options)


class Story:
    """All of a history, by what it is about."""

    def __init__(self, records):
        things = [types.SimpleNamespace(**record) for record in records]
        by_type = collections.defaultdict(list)
        for thing in things:
            by_type[thing.type].append(thing)
        for named in by_type.values():
            named.sort(key=lambda thing: thing.at)
        self.topology = things[0].topology
        self.begin, self.end = things[0], things[-1]
        self.things, self.by_type = things, by_type
        self.faults = by_type["fault"]
        self.runs = {}
        self.relate_runs([record for record in records if record["type"] == "run"])
        self.holds = self.find_holds()

    def relate_runs(self, records):
        for record in records:
            self.runs.setdefault(record["run"], Run(record))
        for run in self.runs.values():
            run.outer_run = self.runs.get(run.outer)
            if run.outer_run:
                run.outer_run.nested.append(run)
        for process in self.of_runs("process"):
            run = self.runs[process.run]
            run.processes.append(process)
            run.root = process if process.root else run.root
        for ending in self.of_runs("exit"):
            self.runs[ending.run].exit = ending
        for fault in self.of_runs("fault"):
            self.runs[fault.run].faults.append(fault)

    def of_runs(self, kind):
        """The things of that type that belong to a run that is known."""
        return [thing for thing in self.by_type[kind]
                if getattr(thing, "run", None) in self.runs]

    def find_holds(self):
        """For each token the (node, begin, end) in which the sampler saw it hold a lock on
        a node that served the key."""
        holds, holders, owner = collections.defaultdict(list), {}, {}
        since = collections.defaultdict(dict)
        for look in sorted(self.by_type["owner"] + self.by_type["seen"], key=lambda it: it.at):
            if look.type == "seen":
                holders[look.node, look.key] = look.holders
            elif look.node is None:
                continue
            else:
                owner[look.key] = look.node
            now = {(node, token) for (node, key), tokens in holders.items() for token in tokens
                   if key == look.key and owner.get(key, node) == node}
            self.end_holds(holds, since[look.key], now, look.at)
            since[look.key].update((hold, look.at) for hold in now - since[look.key].keys())
        for held in since.values():
            self.end_holds(holds, held, set(), self.end.at)
        return holds

    @staticmethod
    def end_holds(holds, since, now, at):
        for node, token in since.keys() - now:
            holds[token].append((node, since.pop((node, token)), at))

    @functools.cached_property
    def started(self):
        """Runs whose job has started, in that order."""
        return sorted((run for run in self.runs.values() if run.root),
                      key=lambda run: run.start)

    @functools.cached_property
    def users(self):
        """The same for each key."""
        users = collections.defaultdict(list)
        for run in self.started:
            for key in run.keys:
                users[key].append(run)
        return users

    @property
    def is_single(self):
        """One server, which alone knows the truth."""
        return self.topology in ("one", "tls")

    @property
    def is_redlock(self):
        return self.topology.startswith("redlock")

    @property
    def nodes(self):
        return [f"s{number}" for number in range(SERVERS[self.topology])]

    @property
    def majority(self):
        return SERVERS[self.topology] // 2 + 1

    def holds_of(self, run):
        """Where and when a token of RUN was seen to hold a lock."""
        return [hold for token in run.tokens for hold in self.holds.get(token, [])]

    @functools.cached_property
    def last_looks(self):
        """For each token when the last look was sent that saw it hold a lock: the looks
        of a machine that is busy are far between, and it may have been gone long since."""
        last, holders = {}, {}
        for look in self.by_type["seen"]:
            for token in holders.get((look.node, look.key), ()):
                last[token] = max(last.get(token, 0), look.former_at)
            holders[look.node, look.key] = look.holders
        return last

    def is_after_standstill(self, at):
        """Whether the machine stood still then, or less than a second before: all that
        was late then is due at once."""
        return any(still.at <= at <= still.until + SECOND
                   for still in self.by_type["standstill"])

    def owner_changes(self, key):
        """When the node that serves KEY was seen to do so no more, and when another one was
        seen to: between them there may have been a third."""
        times, served, unserved_at = [], None, None
        for owner in self.by_type["owner"]:
            if owner.key != key:
                continue
            if owner.node is None:
                unserved_at = unserved_at or owner.at
                continue
            if served not in (None, owner.node):
                times += [unserved_at or owner.at, owner.at]
            served, unserved_at = owner.node, None
        return times

    def lacks_owner(self, keys, begin, end):
        """Whether for some of that time no node served one of these keys: sentinels may
        take long to agree."""
        for key in keys:
            node, since = "unknown", 0
            for owner in [one for one in self.by_type["owner"] if one.key == key] + [self.end]:
                if node is None and since <= end and owner.at >= begin:
                    return True
                node, since = getattr(owner, "node", None), owner.at
        return False

    def owner_spans(self, key):
        """(node, begin, end) of each that served KEY; the node is None while unknown."""
        owners = [(owner.node, owner.at) for owner in self.by_type["owner"] if owner.key == key]
        times = [0, *(at for _, at in owners), self.end.at + 1]
        return list(zip([None, *(node for node, _ in owners)], times, times[1:]))

    def server_faults(self, begin, end):
        """Faults of servers, sentinels, locks, hosts and links in that span."""
        return [fault for fault in self.faults
                if fault.on not in ("wrapper", "guard", "job")
                and fault.fault not in HARMLESS
                and fault.at <= end and fault.until >= begin]

    @functools.lru_cache(maxsize=None)
    def outages(self, node, host):
        """Spans in which no reply of NODE could reach HOST."""
        spans = [(fault.at, fault.until) for fault in self.faults
                 if fault.fault in SILENCING
                 and (fault.on in ("server", "link") and fault.node == node
                      or fault.on == "host" and fault.host == host)]
        return merge(spans)


def last_life(process):
    return process.alive if process.end is None else process.end


def is_halted(run, begin, end):
    """Whether the wrapper was stopped or killed in that span."""
    return any(intersect((begin, end), span) for span in run.hindered("wrapper"))


def intersect(one, other):
    """The common part of two spans, or None."""
    begin, end = max(one[0], other[0]), min(one[1], other[1])
    return (begin, end) if begin < end else None


def merge(spans):
    """The same times in as few spans as possible."""
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def duration(text):
    """A number with an optional unit, as rlockrun takes it."""
    for unit, factor in UNITS.items():
        if text.endswith(unit) and text[:-len(unit)].replace(".", "", 1).isdigit():
            return int(float(text[:-len(unit)]) * factor)
    return int(float(text) * SECOND)

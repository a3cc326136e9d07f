"""Every fault of servers and of the network: how it begins, how it ends, and whom
it may strike now. To be used by one thread."""
import signal
import threading
import time
import typing

import cluster
import resp
from node import Node

QUERY_SECONDS = 0.04
FORGET_SECONDS = 0.005
RETRY_SECONDS = 15

# Lets a lock's lease end in ARGV[1] ms, as it would if the clock jumped.
SHORTEN = """
local key, left = KEYS[1], redis.call('PTTL', KEYS[1])
local now = redis.call('TIME')
local jump = left - ARGV[1]
local leases = false
if redis.call('TYPE', key).ok == 'zset' then
    leases = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    jump = leases[#leases] - ARGV[1] - (now[1] * 1000 + math.floor(now[2] / 1000))
end
if left < 0 or jump <= 0 then return 0 end
for i = 1, leases and #leases or 0, 2 do
    redis.call('ZADD', key, 'XX', leases[i + 1] - jump, leases[i])
end
return redis.call('PEXPIRE', key, left - jump)
"""


class Fault(typing.NamedTuple):
    on: tuple  # what it strikes: server, sentinel, host, link, lock
    bounded: bool  # lasts until it is healed; otherwise it is a moment
    begin: typing.Callable
    end: typing.Callable
    alone: bool = False  # no other such fault goes on at that node


class Active(typing.NamedTuple):
    record: dict
    fault: Fault
    target: object
    healed: threading.Event
    work: object  # what goes on in a thread of its own, or None


class Faults:
    """Those that are in force in a fleet."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.topology = fleet.topology
        self.servers = [node for node in fleet.nodes if node.role == "server"]
        self.active = []
        self.work = []
        self.over = threading.Event()

    # --- whom it may strike -----------------------------------------------------

    def targets(self, name, key=None):
        """Nodes, or numbers of hosts, that this fault may strike now; of `migrate`
        those to which the slot of that key may go, of `shorten` those that may
        have it."""
        fault = TABLE[name]
        if "lock" in fault.on:
            return self.lock_targets(name, key)
        nodes = [node for node in self.fleet.nodes
                 if self.fits(fault, node) and self.may_strike(name, fault, node)]
        if name == "split" and not self.fleet.bridge:
            return []
        if name in ("crash", "hang", "failover", "split"):
            primaries = self.topology.primaries()
            nodes = [node for node in nodes if node in primaries]
        if name in ("flush", "forget"):  # a replica refuses, or runs no script
            nodes = [node for node in nodes if node.is_primary()]
        if "host" not in fault.on:
            return nodes
        if not self.fleet.bridge:
            return []
        return nodes + [host for host in self.fleet.hosts if not self.has_cut(host)]

    @staticmethod
    def fits(fault, node):
        return node.role in fault.on or ("link" in fault.on and node.wire)

    def may_strike(self, name, fault, node):
        if "link" in fault.on:
            return node.is_up() and not self.has_any(node, "link")
        if not node.is_up() or self.topology.is_involved(node) or self.is_struck(node):
            return False
        if name in ("cut", "cut_replies"):
            return not self.has_cut(node)
        return fault.end is not start_again or self.may_kill(node)

    def may_kill(self, node):
        dead = [one.target for one in self.active if one.fault.end is start_again
                and one.target.role == node.role]
        return len(dead) < (1 if node.role == "sentinel" else self.topology.may_die)

    def lock_targets(self, name, key):
        holders = [node for node in self.topology.holders(key) if not self.is_struck(node)]
        if name == "shorten":
            return holders
        if len(holders) != 1 or not hasattr(self.topology, "begin_migration"):
            return []
        return [node for node in self.topology.primaries()
                if node not in holders and not self.is_struck(node)]

    def is_struck(self, node):
        """It does not do what it is asked to, or a restart of it is under way."""
        return any(one.target is node and one.fault.alone for one in self.active)

    def has_any(self, target, on):
        return any(one.target is target and one.record["on"] == on for one in self.active)

    def has_cut(self, target):
        return any(one.target == target and one.record["fault"].startswith("cut")
                   for one in self.active)

    # --- begin and end ----------------------------------------------------------

    def strike(self, name, target, ms, **more):
        """The record, or None if it cannot be: returns at once. `more`: key, and for
        `tear` a seed."""
        fault = TABLE[name]
        healed = threading.Event()
        done = target is not None and fault.begin(self, target, ms, healed, **more)
        if not done:
            return None
        record = self.record(name, fault, target, ms, **more)
        work = done if hasattr(done, "result") else None
        if name in FREEZING:
            target.frozen = True
        if fault.bounded:
            self.active.append(Active(record, fault, target, healed, work))
        return dict(record)

    @staticmethod
    def record(name, fault, target, ms, key=None, **_):
        record = {"type": "fault", "fault": name, "ms": ms}
        if not isinstance(target, Node):
            return {**record, "on": "host", "host": target}
        record.update(on=fault.on[0] if fault.on[0] in ("link", "lock") else target.role,
                      node=target.name)
        return record if key is None else {**record, "key": key}

    def heal(self, record):
        for one in self.active:
            if all(record.get(name) == value for name, value in one.record.items()):
                self.end(one)
                return

    def end(self, one):
        one.healed.set()
        work = one.fault.end(self, one) or one.work
        if work:
            self.work.append(work)
            # Until it is done the node counts as struck.
            work.add_done_callback(lambda _: self.forget(one))
        else:
            self.forget(one)

    def forget(self, one):
        if one.record["fault"] in FREEZING:
            one.target.frozen = False
        self.active = [other for other in self.active if other is not one]

    def heal_all(self):
        """Raises what a restart or a migration failed with."""
        for one in list(self.active):
            if not one.healed.is_set():
                self.end(one)
        for work in self.work:
            work.result()
        self.topology.mend()

    def abandon(self):
        """The fleet ends: threads are to end as well."""
        self.over.set()
        for one in self.active:
            one.healed.set()

    def later(self, act, *args):
        return self.fleet.threads.submit(act, *args)

    def insist(self, act, *args):
        """Until that has been done, or the fleet ends."""
        until = time.monotonic() + RETRY_SECONDS
        while not act(*args):
            if self.over.wait(0.05):
                return
            if time.monotonic() > until:
                raise TimeoutError(f"{act.__name__}: not in {RETRY_SECONDS} s\n"
                                   + self.fleet.log_tails())


# --- a process ------------------------------------------------------------------

def stop(_faults, node, _ms, _healed):
    return node.signal(signal.SIGSTOP)


def go_on(_faults, one):
    one.target.signal(signal.SIGCONT)


def kill(faults, node, _ms, _healed):
    if not node.kill():
        return None
    faults.later(faults.topology.note_death, node)
    return True


def start_again(faults, one):
    def restart():
        node = one.target
        faults.insist(has_come_back, node, faults.topology.restart_options(node))
        if node.wire:
            node.spoil(*node.rule)

    return faults.later(restart)


def has_come_back(node, options):
    if not node.is_up():
        node.start(*options)  # again, if it could not have its port
    return node.ask("PING")


# --- a server, by a command that it obeys ----------------------------------------

def command(*words):
    def begin(_faults, node, _ms, _healed, key=None):
        try:
            node.query(*words, timeout=QUERY_SECONDS)
        except TimeoutError:
            return True  # it has been sent, and will be obeyed
        except (OSError, resp.ReplyError):
            return None
        return True

    return begin


def ended(_faults, _one):
    """It ends by itself."""


def pause(faults, node, ms, healed):
    return command("CLIENT", "PAUSE", ms)(faults, node, ms, healed)


def sleep(faults, node, ms, _healed):
    """The reply comes late: nobody waits for it."""
    return faults.later(command("DEBUG", "SLEEP", ms / 1000), faults, node, ms, None)


def forget_scripts(faults, node, _ms, healed):
    """Again and again, so that a server lacks them at any step of a run."""
    def flush():
        while not healed.wait(FORGET_SECONDS):
            node.ask("SCRIPT", "FLUSH")

    return faults.later(flush)


fill = command("CONFIG", "SET", "maxmemory", 1)


def empty(faults, one):
    def set_limit():
        return not one.target.is_up() or one.target.ask("CONFIG", "SET", "maxmemory", 0)

    return faults.later(faults.insist, set_limit)


def fail_over(faults, node, _ms, _healed):
    return faults.topology.fail_over(node)


# --- a lock -----------------------------------------------------------------------

def shorten(_faults, node, ms, _healed, key):
    return node.ask("EVAL", SHORTEN, 1, key, ms, timeout=QUERY_SECONDS) == 1 or None


def migrate(faults, target, _ms, healed, key):
    """Some keys of the slot go, the others when it is healed."""
    source = faults.topology.begin_migration(key, target)
    if source is None:
        return None

    def move():
        try:
            faults.topology.move_keys(cluster.slot_of(key), source, target, 1)
        except (OSError, resp.ReplyError):
            pass  # it is tried again below
        healed.wait()
        faults.insist(faults.topology.finish_migration, key, source, target)

    return faults.later(move)


# --- the network ------------------------------------------------------------------

def spoil(*words):
    def begin(_faults, node, _ms, _healed):
        return node.spoil(*words)

    return begin


def delay(_faults, node, ms, _healed, by=None):
    return node.spoil("delay", by or min(ms, 900))


def late(_faults, node, ms, _healed):
    return node.spoil("late", ms)


def tear(_faults, node, _ms, _healed, seed=0):
    return node.spoil("tear", seed)


def unspoil(_faults, one):
    one.target.spoil("open")


def name_of(target):
    return target.name if isinstance(target, Node) else f"h{target}"


def cut(faults, target, _ms, _healed):
    return faults.fleet.bridge.cut(name_of(target))


def uncut(faults, one):
    faults.fleet.bridge.heal(name_of(one.target))


def direction_of_replies(target):
    """From a node, but to a host."""
    return {"only_from": True} if isinstance(target, Node) else {"only_to": True}


def cut_replies(faults, target, _ms, _healed):
    return faults.fleet.bridge.cut(name_of(target), **direction_of_replies(target))


def uncut_replies(faults, one):
    faults.fleet.bridge.heal(name_of(one.target), **direction_of_replies(one.target))


def others_than(faults, node):
    return [other.name for other in faults.fleet.nodes if other is not node]


def split(faults, node, _ms, _healed):
    return faults.fleet.bridge.split(node.name, others_than(faults, node))


def unsplit(faults, one):
    faults.fleet.bridge.unsplit(one.target.name, others_than(faults, one.target))


FREEZING = ("stop", "hang", "pause", "busy")  # it does not answer us either
PROCESS = ("server", "sentinel")
PLACE = ("server", "sentinel", "host")
TABLE = {
    "stop": Fault(PROCESS, True, stop, go_on, alone=True),
    "kill": Fault(PROCESS, True, kill, start_again, alone=True),
    "hang": Fault(("server",), True, stop, go_on, alone=True),
    "crash": Fault(("server",), True, kill, start_again, alone=True),
    "full": Fault(("server",), True, fill, empty, alone=True),
    "pause": Fault(("server",), True, pause, ended, alone=True),
    "busy": Fault(("server",), True, sleep, ended, alone=True),
    "disconnect": Fault(("server",), False, command("CLIENT", "KILL", "TYPE", "normal"), ended),
    "forget": Fault(("server",), True, forget_scripts, ended),
    "flush": Fault(("server",), False, command("FLUSHALL"), ended),
    "failover": Fault(("server",), False, fail_over, ended),
    "split": Fault(("server",), True, split, unsplit, alone=True),
    "shorten": Fault(("lock",), False, shorten, ended),
    "migrate": Fault(("lock",), True, migrate, ended),
    "delay": Fault(("link",), True, delay, unspoil),
    "stall": Fault(("link",), True, spoil("stall"), unspoil),
    "late": Fault(("link",), True, late, unspoil),
    "tear": Fault(("link",), True, tear, unspoil),
    "refuse": Fault(("link",), True, spoil("refuse"), unspoil),
    "cut": Fault(PLACE, True, cut, uncut),
    "cut_replies": Fault(PLACE, True, cut_replies, uncut_replies),
}

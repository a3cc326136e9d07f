"""Every fault of servers and of the network: whom it may strike now, how it begins, how it
ends. One at a time; none takes from a server what it has acknowledged."""
import signal
import time
import typing

import cluster
import resp
from node import wait_until

RETRY_SECONDS = 120
INSIST_SECONDS = 60  # a sentinel that was stopped for 2 s does nothing for 30 s
USABLE_SECONDS = 300


class Fault(typing.NamedTuple):
    targets: typing.Callable  # (fleet, key): nodes or numbers of hosts
    begin: typing.Callable  # (fleet, target, plan): whether it could be
    end: typing.Callable  # the same


def strike(fleet, plan, healed, note):
    """Lasts until that event, or its time is over, and returns when a lock can be had again.
    Notes whom it struck, if there was anybody to strike."""
    fault = TABLE[plan["fault"]]
    targets = fault.targets(fleet, plan["key"])
    if not targets:
        return
    target = targets[min(int(plan["whom"] * len(targets)), len(targets) - 1)]
    if not fault.begin(fleet, target, plan):
        return
    note(0, "fault", "server", plan["fault"], plan["ms"], name_of(target))
    healed.wait(plan["ms"] / 1000)
    fault.end(fleet, target, plan)
    await_usable(fleet)


def await_usable(fleet):
    topology, begun = fleet.topology, time.monotonic()
    insisted = False
    while not topology.is_usable():
        waited = time.monotonic() - begun
        if waited > INSIST_SECONDS and not insisted:
            topology.insist()
            insisted = True
        if waited > USABLE_SECONDS:
            raise TimeoutError(fleet.log_tails())
        time.sleep(0.05)


# --- whom it may strike -----------------------------------------------------------

def nodes(fleet, _key):
    return fleet.nodes


def servers(fleet, _key):
    return [node for node in fleet.nodes if node.wire]


def primaries(fleet, _key):
    return list(fleet.topology.primaries())


def places(fleet, _key):
    return [*fleet.nodes, *fleet.hosts] if fleet.bridge else []


def split_from(fleet, key):
    return primaries(fleet, key) if fleet.bridge else []


def takers_of(fleet, key):
    """Where the slot of that key may go."""
    owner = fleet.topology.owner(key)
    return [node for node in fleet.topology.primaries() if node is not owner] if owner else []


# --- a process --------------------------------------------------------------------

def stop(_fleet, node, _plan):
    node.frozen = True
    return node.signal(signal.SIGSTOP)


def go_on(_fleet, node, _plan):
    node.signal(signal.SIGCONT)
    node.frozen = False


def kill(_fleet, node, _plan):
    return node.kill()


def start_again(fleet, node, _plan):
    """With its data. Its child would end with the thread that started it."""
    def has_come_back():
        if not node.is_up():  # or it could not have its port
            fleet.threads.submit(node.start, *fleet.topology.restart_options(node)).result()
        return node.ask("PING")

    wait_until(has_come_back, RETRY_SECONDS, node.log_tail)
    if node.wire:
        node.spoil("open")


# --- a failover, a slot that moves ------------------------------------------------

def fail_over(fleet, node, _plan):
    return fleet.topology.fail_over(node)


def nothing(_fleet, _node, _plan):
    """It ends by itself."""


def migrate(fleet, target, plan):
    """Some keys of the slot go, the others at the end."""
    source = plan["source"] = fleet.topology.begin_migration(plan["key"], target)
    if source is None:
        return False
    try:
        fleet.topology.move_keys(cluster.slot_of(plan["key"]), source, target, 1)
    except (OSError, resp.ReplyError):
        pass  # it is tried again below
    return True


def finish_migration(fleet, target, plan):
    wait_until(lambda: fleet.topology.finish_migration(plan["key"], plan["source"], target),
               RETRY_SECONDS, fleet.log_tails)


# --- the network ------------------------------------------------------------------

def spoil(name, word=None):
    def begin(_fleet, node, plan):
        return node.spoil(name, *([min(plan[word], 900) if word == "ms" else plan[word]]
                                  if word else []))

    return begin


def unspoil(_fleet, node, _plan):
    node.spoil("open")


def name_of(target):
    return f"h{target}" if isinstance(target, int) else target.name


def cut(fleet, target, _plan):
    return fleet.bridge.cut(name_of(target))


def uncut(fleet, target, _plan):
    fleet.bridge.heal(name_of(target))


def direction_of_replies(target):
    """From a node, but to a host."""
    return {"only_to": True} if isinstance(target, int) else {"only_from": True}


def cut_replies(fleet, target, _plan):
    return fleet.bridge.cut(name_of(target), **direction_of_replies(target))


def uncut_replies(fleet, target, _plan):
    fleet.bridge.heal(name_of(target), **direction_of_replies(target))


def others_than(fleet, node):
    return [other.name for other in fleet.nodes if other is not node]


def split(fleet, node, _plan):
    return fleet.bridge.split(node.name, others_than(fleet, node))


def unsplit(fleet, node, _plan):
    fleet.bridge.unsplit(node.name, others_than(fleet, node))


TABLE = {
    "stop": Fault(nodes, stop, go_on),
    "kill": Fault(nodes, kill, start_again),
    "failover": Fault(primaries, fail_over, nothing),
    "split": Fault(split_from, split, unsplit),
    "migrate": Fault(takers_of, migrate, finish_migration),
    "delay": Fault(servers, spoil("delay", "ms"), unspoil),
    "stall": Fault(servers, spoil("stall"), unspoil),
    "tear": Fault(servers, spoil("tear", "seed"), unspoil),
    "refuse": Fault(servers, spoil("refuse"), unspoil),
    "cut": Fault(places, cut, uncut),
    "cut_replies": Fault(places, cut_replies, uncut_replies),
}

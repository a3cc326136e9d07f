"""Looks at the locks, their queues and last runs on the servers all the time, by way of sockets
that no fault touches, and notes each change."""
import threading

from plan import is_redlock
from resp import ReplyError

EVERY_S = 0.1
PATIENCE_S = 0.1  # of a server that is stopped

# Who holds KEYS[1], its queue KEYS[2] with the tickets, and the token and status of the
# last run in KEYS[3]: at one moment, and nothing is written.
LOOK = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local kind = redis.call('TYPE', KEYS[1]).ok
local holders = {}
if kind == 'string' then holders = {redis.call('GET', KEYS[1])} end
if kind == 'zset' then
  holders = redis.call('ZRANGEBYSCORE', KEYS[1], now, '+inf')
end
return {holders, redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES'),
  redis.call('HMGET', KEYS[3], 'token', 'status')}
"""


class Sampler(threading.Thread):
    """Runs until stop(). note(type, **fields), clock() and run_of(pid) are its owner's."""

    def __init__(self, fleet, topology, keys, note, clock, run_of):
        super().__init__(daemon=True)
        self.fleet, self.keys, self.note, self.run_of = fleet, keys, note, run_of
        self.clock = clock
        self.is_redlock = is_redlock(topology)
        self.ends = threading.Event()
        self.owners = {}  # of a key: the node that serves it
        self.holders = {}  # of (node, key)
        self.asked_at = {}  # of (node, key): when the last look was sent that saw them
        self.queues = {}  # of (node, key): waiters, and their tickets
        self.last_runs = {}  # of (node, key): token and status

    def run(self):
        while not self.ends.wait(EVERY_S):
            silent = set()  # asked once a round
            for key in self.keys:
                for node in self.nodes_of(key):
                    if node.name not in silent and not self.look(node, key):
                        silent.add(node.name)

    def stop(self):
        """The last holders are noted once more, with the time of their last look."""
        self.ends.set()
        self.join()
        for place, holders in self.holders.items():
            if holders:
                self.note_seen(place, holders)

    def nodes_of(self, key):
        if self.is_redlock:
            return self.fleet.nodes
        owner = self.fleet.owner(key)
        if key not in self.owners or self.owners[key] is not owner:
            # On a slow machine a round of all keys takes seconds.
            for each in self.keys if self.fleet.topology.serves_all_keys else [key]:
                self.note_owner(each, owner)
        return [owner] if owner else []

    def note_owner(self, key, owner):
        self.owners[key] = owner
        self.note("owner", key=key, node=owner and owner.name)

    def look(self, node, key):
        helpers = "{" + key + "}:rlk:"
        words = ("EVAL", LOOK, 3, key, helpers + "q", helpers + "r")
        asked_at = self.clock()
        try:
            holders, queue, last_run = node.query(*words, timeout=PATIENCE_S)
        except (OSError, ReplyError):
            return False
        if self.holders.get((node.name, key), []) != holders:
            self.note_seen((node.name, key), holders)
        self.asked_at[node.name, key] = asked_at
        self.note_queue(node, key, dict(zip(queue[::2], queue[1::2])))
        self.note_last_run(node, key, last_run)
        return True

    def note_seen(self, place, holders):
        node, key = place
        self.holders[place] = holders
        self.note("seen", node=node, key=key, former_at=self.asked_at.get(place),
                  holders=[holder.removeprefix("s:") for holder in holders])

    def note_last_run(self, node, key, last_run):
        token, status = last_run
        if self.last_runs.get((node.name, key)) != last_run and token:
            self.last_runs[node.name, key] = last_run
            self.note("recorded", node=node.name, key=key, token=token, status=status or "")

    def note_queue(self, node, key, queue):
        before = self.queues.get((node.name, key), {})
        self.queues[node.name, key] = queue
        for waiter in queue.keys() - before.keys():
            self.note_waiter("queued", node, key, waiter, queue)
        for waiter in before.keys() - queue.keys():
            self.note_waiter("unqueued", node, key, waiter, before)

    def note_waiter(self, what, node, key, waiter, queue):
        """Its name ends in PID@HOST."""
        pid = waiter.split(":")[-1].split("@")[0]
        run = self.run_of(int(pid)) if pid.isdigit() else None
        if run:
            self.note(what, node=node.name, key=key, run=run, ticket=int(queue[waiter]))

"""Rules about a lock as the servers show it: kept for --min-hold, freed at the end, not
free while somebody waits, and never given to anybody twice."""
from finding import Finding
from story import MS, SECOND, is_halted

# Samples are 100 ms apart, and the machine is loaded.
SAMPLES = 700 * MS
# How long nobody may come who has been woken: on a loaded machine.
IDLE = SECOND
# Faults whose effects on a server are over after so long.
AFTERMATH = 3 * SECOND
# From the end of a job to that of its rlockrun, which releases in between.
RELEASE = 100 * MS
LOSING = ("kill", "flush", "shorten", "failover", "migrate")


def find_short_holds(story):
    """Another job began before --min-hold had passed since a lock was acquired."""
    for run in story.started:
        if not (run.min_hold_ms and run.token and ended_by_itself(run)):
            continue
        until = run.at + run.min_hold_ms * MS
        for other in story.started:
            if run.start < other.start < until and are_rivals(run, other) \
                    and not may_lose(story, run.at, other.start) \
                    and not has_moved(story, run, other):
                text = (f"run {other.number} began {(other.start - run.at) / MS:.0f} ms after "
                        f"a lock was asked for that is kept for {run.min_hold_ms} ms")
                yield Finding("min-hold", other.start, (run.number, other.number), text)


def ended_by_itself(run):
    """The job ended, and the release is known to have arrived."""
    return bool(run.exit and run.root.end is not None and run.exit.status == run.job_status
                and "cannot confirm" not in run.exit.stderr)


def are_rivals(run, other):
    return other.top is not run.top and other.token and set(run.keys) & set(other.keys)


def may_lose(story, begin, end):
    """Whether a server can have lost what it had, or a failover can have begun."""
    faults = story.server_faults(begin - AFTERMATH, end)
    if story.is_single:
        faults = [fault for fault in faults if fault.fault in LOSING]
    return bool(faults)


def has_moved(story, run, other):
    """Whether a replica became the primary in between, which may lack what was kept."""
    return not run.wait_replicas and any(
        run.at < at < other.start
        for key in set(run.keys) & set(other.keys) for at in story.owner_changes(key))


def find_late_joins(story):
    """A nested run was let in by a lock that had ended, and was only kept. A new primary
    may not have heard of the release."""
    for run in story.started:
        outer = run.outer_run
        if outer and outer.root and run.token and run.token == outer.token \
                and ended_by_itself(outer) and run.at > outer.exit.at + RELEASE \
                and not may_lose(story, outer.start, run.at):
            text = (f"it began {(run.at - outer.exit.at) / MS:.0f} ms after the end of run "
                    f"{outer.number}, and joined its lock")
            yield Finding("join", run.start, (run.number, outer.number), text)


def find_stuck_locks(story):
    """A lock was still there when its last user had ended and released it."""
    if not story.is_single:
        return
    for run in story.started:
        free = freed_by(run)
        last = max((story.last_looks.get(token, 0) for token in run.tokens), default=0)
        if free is not None and last > free + SAMPLES \
                and not any(may_delay_release(fault, run) for fault in
                            story.server_faults(free - AFTERMATH, free + SAMPLES)):
            text = f"its lock was there {(last - free) / MS:.0f} ms after it should be free"
            still = story.is_after_standstill(last)
            yield Finding("stuck", last, (run.number,), text,
                          "the whole machine stood still" if still else None)


def may_delay_release(fault, run):
    """What is late on one connection, passes on another."""
    return fault.on == "server" or fault.on == "link" and fault.fault != "late" \
        or fault.on == "host" and fault.host == run.host


def freed_by(run):
    """When the lock of an outermost run must be free, or None if that is not known. The rest
    of --min-hold counts from when the release arrives, on a late link long after it was
    sent, but before the run exits."""
    users = [run, *(nested for nested in run.nested if nested.top is run)]
    if run.top is not run or not all(user.root and ended_by_itself(user) for user in users):
        return None
    rest = max(0, run.start + run.min_hold_ms * MS - run.root.end)
    return max(user.exit.at for user in users) + rest


def find_returns(story):
    """A server that had lost a lock was given it again, under the job."""
    if not story.is_single:
        return
    for run in story.started:
        for token in run.tokens if run.top is run else ():
            holds = sorted((begin, end) for _, begin, end in story.holds.get(token, []))
            for (_, gone), (back, _) in zip(holds, holds[1:]):
                if back > gone and gone > run.start:
                    text = f"its lock was gone since {gone / SECOND:.3f} s, and came back"
                    yield Finding("return", back, (run.number,), text)


def find_idle_locks(story):
    """A lock was free while somebody waited for it, though nothing had happened to those
    who use it: a waiter is woken at once (promise 6)."""
    if story.is_redlock:
        return
    for node, key, begin, end in free_spans(story):
        if end - begin > IDLE:
            queue = queued_in(story, node, key, begin, end)
            if queue and not is_disturbed(story, queue, key, begin, end):
                numbers = tuple(run.number for run in queue)
                yield Finding("idle", end, numbers, f'"{key}" was free for '
                              f"{(end - begin) / MS:.0f} ms while they waited")


def free_spans(story):
    """(node, key, begin, end) in which the sampler saw that nobody had the lock."""
    since = {}
    for seen in story.by_type["seen"]:
        place = seen.node, seen.key
        begin = since.pop(place, None)
        if begin is not None and seen.holders:
            yield *place, begin, seen.at
        if not seen.holders:
            since[place] = seen.at


def queued_in(story, node, key, begin, end):
    """Runs that were in the queue in all of that span, dead ones, too."""
    there = {}
    for entry in story.of_runs("queued") + story.of_runs("unqueued"):
        if (entry.node, entry.key) == (node, key) and entry.at < end:
            latest = there.get(entry.run)
            there[entry.run] = max(latest, entry, key=lambda it: it.at) if latest else entry
    return [story.runs[number] for number, entry in there.items()
            if entry.type == "queued" and entry.at <= begin]


def find_held_up_readers(story):
    """A writer at the head of the queue gave up, but the reader behind it went on waiting,
    although readers held the lock (promise 6)."""
    if story.is_redlock:
        return
    for left in story.of_runs("unqueued"):
        run = story.runs[left.run]
        queue = queue_after(story, left) if gave_up(run, left.at) else []
        if queue and story.runs[queue[0].run].mode == "shared":
            reader = story.runs[queue[0].run]
            end = held_by_readers_until(story, left, unqueued_at(story, queue[0], left.at))
            if end - left.at > IDLE \
                    and not are_disturbed(story, (run, reader), end):
                text = (f"waited for {(end - left.at) / MS:.0f} ms among readers of "
                        f'"{left.key}" after the writer before it had given up')
                yield Finding("idle", end, (reader.number, run.number), text)


def are_disturbed(story, runs, end):
    """Whether one of these, or the server as they see it, was struck since the first of
    them came. A link is late for connections that are older, or hardly younger."""
    begin, hosts = min(run.at for run in runs), {run.host for run in runs}
    return any(run.faults for run in runs) or any(
        fault.on != "host" or fault.host in hosts
        for fault in story.server_faults(begin - SAMPLES, end)
        if (fault.on != "lock" or fault.key in runs[0].keys)
        and (fault.fault != "late" or fault.at > begin - SAMPLES))


def gave_up(run, at):
    return run.mode == "exclusive" and run.exit and not run.root and len(run.keys) == 1 \
        and abs(run.ended - at) < SAMPLES and not run.struck("wrapper", "kill")


def queue_after(story, left):
    """Those that are still in the queue, if the one that has left was their head."""
    there = {}
    for entry in sorted(story.of_runs("queued") + story.of_runs("unqueued"),
                        key=lambda entry: entry.at):
        if (entry.node, entry.key) == (left.node, left.key) and entry.at <= left.at:
            there[entry.run] = entry
    queue = sorted((entry for entry in there.values()
                    if entry.type == "queued" and entry.run != left.run),
                   key=lambda entry: entry.ticket)
    return queue if queue and left.ticket < queue[0].ticket else []


def unqueued_at(story, entry, since):
    return min((left.at for left in story.of_runs("unqueued")
                if (left.node, left.key, left.run) == (entry.node, entry.key, entry.run)
                and left.at > since), default=story.end.at)


def held_by_readers_until(story, left, end):
    """The end of the span from there on in which readers alone had the lock."""
    readers = {token for run in story.started if run.mode == "shared" for token in run.tokens}
    holders = []
    for seen in story.by_type["seen"]:
        if (seen.node, seen.key) == (left.node, left.key) and seen.at < end:
            if seen.at <= left.at:
                holders = seen.holders
            elif not seen.holders or not set(seen.holders) <= readers:
                return seen.at if holders and set(holders) <= readers else left.at
    return end if holders and set(holders) <= readers else left.at


def is_disturbed(story, queue, key, begin, end):
    """Whether a server was struck, or a wrapper that may have been the holder's, which
    keeps the lock for another ttl, or the head's. A dead one is in the queue for up to a
    minute, and so is one that has ended, if a late try of its own came after that. One with
    several keys gives back what it cannot use yet."""
    near = [run for run in story.runs.values() if key in run.keys and not run.outer_run
            and run.at < end and run.ended > begin - SAMPLES - run.ttl]
    return bool(story.server_faults(begin - AFTERMATH, end)
                or any(run.ended < end for run in queue)
                or any(is_halted(run, begin - AFTERMATH, end) for run in near + queue)
                or any(len(run.keys) > 1 or run.wait_replicas for run in near))

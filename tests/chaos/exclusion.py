"""Rules about the lock: who may have it with whom, for how long, and in which order."""
import itertools

from finding import Finding
from losses import REPLICAS, SETTLE, STAMP, excuse_overlap, saw_job, was_unguarded
from story import MS, SECOND, intersect

# Both are granted at once, and start in any order; or the first gives up meanwhile.
TOGETHER = SECOND
# A head of the queue has one second to come; what was struck just before may cost it.
HEAD_SECOND = 2 * SECOND


def find_overlaps(story):
    """Two jobs that exclude each other lived at the same time (promise 1). A job is the
    command and what it started, until the command ends."""
    for one, other in pairs_to_compare(story):
        if exclude(one, other) and overlap(one, other):
            text = (f"jobs of {common_keys(one, other)} ran at the same time: "
                    f"{one.mode} since {one.start / SECOND:.3f} s, {other.mode} since "
                    f"{other.start / SECOND:.3f} s{shared_time(one, other)}")
            yield Finding("overlap", other.start, (one.number, other.number), text,
                          excuse_overlap(story, one, other))


def pairs_to_compare(story):
    """Pairs of runs in the order of their starts: those that share a lock, and lived at
    the same time or saw each other. All others are far apart."""
    pairs = set()
    for users in story.users.values():
        living = []
        for run in users:
            living = [other for other in living if other.last > run.start]
            pairs.update((other, run) for other in living)
            living.append(run)
    for run in story.started:
        for other in filter(None, map(story.runs.get, run.root.saw)):
            if other.root and set(other.keys) & set(run.keys):
                pairs.add((other, run) if other.start <= run.start else (run, other))
    return sorted(pairs, key=lambda pair: (pair[1].start, pair[0].start))


def exclude(one, other):
    """Whether the jobs of two runs that share a lock may never overlap."""
    return one.top is not other.top and (
        "exclusive" in (one.mode, other.mode) or one.mode != other.mode)


def count_turns(story):
    """How often a lock passed from one job to another that it excludes."""
    return sum(exclude(one, other) for users in story.users.values()
               for one, other in zip(users, users[1:]))


def overlap(one, other):
    """By the stamps of both, or by what the later one saw of the earlier one."""
    if intersect((one.start, one.last), (other.start, other.last)):
        return True
    return saw_job(other, one) or saw_job(one, other)


def shared_time(one, other):
    common = intersect((one.start, one.last), (other.start, other.last))
    return f", for {(common[1] - common[0]) / MS:.1f} ms" if common else ""


def common_keys(one, other):
    return ", ".join(f'"{key}"' for key in one.keys if key in other.keys)


def find_too_many(story):
    """More holders of permits than there are. Nested runs share one."""
    for run in story.started:
        if run.mode != "permits" or run.outer_run:
            continue
        others = [other for other in story.users[run.keys[0]] if shares_permits(run, other)]
        if len(others) >= run.permits:
            reasons = list(filter(None, (excuse_overlap(story, other, run)
                                         for other in others)))
            # Those that have an excuse leave their permits to others.
            excused = len(others) - len(reasons) < run.permits
            text = (f"the job is one of {len(others) + 1} of "
                    f"{common_keys(run, others[0])}, with {run.permits} permits")
            numbers = (*(other.number for other in others), run.number)
            yield Finding("permits", run.start, numbers, text,
                          reasons[0] if excused else None)


def shares_permits(run, other):
    """Whether the other one had its permit when this job started."""
    if other is run or other.mode != "permits" or other.outer_run:
        return False
    if other.start > run.start:
        return False
    return saw_job(run, other) or other.start < run.start < other.last


def find_outlived_leases(story):
    """The job lived on when its lease had ended, which rlockrun knows without a server
    (promise 2). What follows the last reply by more than the ttl cannot be a proven lease."""
    for run in holders(story):
        for since, why in lease_ends(story, run):
            late = run.last - since - run.ttl - STAMP
            if late > 0:
                text = (f"the job lived {late / MS:.0f} ms beyond its lease of "
                        f"{run.ttl / MS:.0f} ms: {why} since {since / SECOND:.3f} s")
                yield Finding("lease", run.last, (run.number,), text,
                              excuse_lease(story, run, since))
                break


def holders(story):
    return [run for run in story.started if run.token]


def excuse_lease(story, run, since):
    if run.on_lost == "warn":
        return "continued without the lock (--on-lost warn)"
    if was_unguarded(run) or was_unguarded(run.top):
        return "wrapper and guard were stopped or killed at the same time"
    if story.is_after_standstill(run.last):
        return "the whole machine stood still"
    changes = [at for key in run.keys for at in story.owner_changes(key)]
    if any(abs(at - since) < SECOND and run.last < at + SETTLE[story.topology] + run.ttl
           for at in changes) and run.wait_replicas < REPLICAS[story.topology]:
        return "a failover without --wait-replicas of all: the former primary renewed it"
    return None


def lease_ends(story, run):
    """(time, reason) of each last moment at which the lease can have been renewed."""
    for begin, _ in silences(story, run):
        yield begin, "its servers were unreachable"
    for token in run.tokens:
        gone = gone_since(story, token)
        # A grant that came too late to be used was asked for again.
        if gone is not None and gone > run.top.start:
            yield gone, "its token was gone"


def silences(story, run):
    """Spans of more than a ttl in which no lease could be acquired or renewed, as too many
    servers were each unreachable all the time."""
    outages = [story.outages(node, run.host) for node in story.nodes]
    needed = len(outages) - (story.majority if story.is_redlock else 1) + 1
    for begin in sorted({span[0] for spans in outages for span in spans}):
        needs = begin, begin + run.ttl
        lasting = sum(any(span[0] <= begin and span[1] >= needs[1] for span in spans)
                      for spans in outages)
        if lasting >= needed and run.start < needs[1] < run.last:
            yield needs


def gone_since(story, token):
    """Since when too few servers had that token, once it had been seen. What a server has
    lost never comes back; one of several may be given it anew."""
    needed = story.majority if story.is_redlock else 1
    holds = [(begin, end) for _, begin, end in story.holds.get(token, [])]
    for at in sorted({end for _, end in holds}, reverse=True):
        before = sum(begin < at <= end for begin, end in holds)
        after = sum(begin <= at < end for begin, end in holds)
        if before >= needed:
            return at if after < needed else None
    return None


def find_broken_order(story):
    """A waiter that came later was served first, though nothing had happened to either
    (promise 6). Several servers have no queue."""
    if story.is_redlock:
        return
    queued = [entry for entry in story.of_runs("queued")
              if len(story.runs[entry.run].keys) == 1 and not story.runs[entry.run].outer_run]
    queued.sort(key=lambda entry: (entry.key, entry.node, entry.ticket))
    queues = itertools.groupby(queued, key=lambda entry: (entry.key, entry.node))
    for first, second in itertools.chain.from_iterable(
            itertools.combinations(list(queue), 2) for _, queue in queues):
        if is_overtaken(story, first, second):
            one, other = story.runs[first.run], story.runs[second.run]
            text = (f"served before run {one.number}, which had queued for "
                    f'"{first.key}" {(second.ticket - first.ticket) / MS:.0f} ms earlier')
            yield Finding("order", other.start, (other.number, one.number), text)


def is_overtaken(story, first, second):
    """Whether the second of two entries of a queue was served before the first."""
    one, other = story.runs[first.run], story.runs[second.run]
    if one is other or one.mode != other.mode or not other.token or one.wait_replicas:
        return False
    served = one.start if one.root else one.ended
    margin = 0 if one.root and one.mode == "exclusive" else TOGETHER
    if served <= other.start + margin or one.at > other.start:
        return False
    if not is_last_entry(story, first, other.start) or \
            not is_last_entry(story, second, other.start):
        return False
    began = first.at - HEAD_SECOND
    return not (one.faults or other.faults or story.server_faults(began, other.start)
                # A new primary may not have their queue.
                or any(began <= at <= other.start for at in story.owner_changes(first.key)))


def find_overtaken(story):
    """A waiter with --newest started its job although a newer one, which came after it had
    entered the queue, had been in the queue or started before."""
    if story.is_redlock:
        return
    for run in holders(story):
        entered = entries_of(story, run) if run.is_newest else []
        for other in story.runs.values() if entered else []:
            if other.is_newest and set(other.keys) & set(run.keys) and other.at > entered[0]:
                came = min([at + run.ttl for at in entries_of(story, other)]
                           + ([other.start] if other.token else []), default=run.start)
                if came < run.start:
                    yield Finding("overtaken", run.start, (run.number, other.number),
                                  f"it started {(run.start - came) / MS:.0f} ms after run "
                                  f"{other.number}, which came later, with --newest",
                                  excuse_overtaken(story, run, other))


def entries_of(story, run):
    """When it was seen to enter a queue, the first time first."""
    return sorted(entry.at for entry in story.by_type["queued"] if entry.run == run.number)


def excuse_overtaken(story, run, other):
    """Losing the key of the newest waiter costs the overtaking. A failover without
    --wait-replicas may lose it, also one that sentinels decided by themselves."""
    moved = any(other.at - SETTLE.get(story.topology, 0) <= at <= run.start
                for key in run.keys for at in story.owner_changes(key))
    lost = [fault for fault in story.server_faults(other.at - 5 * SECOND, run.start)
            if fault.on in ("server", "sentinel")
            and (not story.is_single or fault.fault in ("kill", "flush", "full"))]
    return "the server may have lost who is the newest" if lost or moved else None


def is_last_entry(story, entry, until):
    """A waiter that has queued again has lost its former place."""
    run = story.runs[entry.run]
    return (not run.root or entry.at <= run.start) and not any(
        entry.at < later.at <= until for later in story.by_type["queued"]
        if (later.run, later.key) == (entry.run, entry.key))


def find_wrong_fences(story):
    """Fencing numbers grow with each acquisition; several servers give none."""
    fenced = [run for run in holders(story) if run.root.fence is not None]
    if story.is_redlock:
        for run in fenced:
            yield Finding("fence", run.start, (run.number,),
                          f"several servers gave the fence {run.root.fence}")
        return
    tops = [run for run in fenced if not run.outer_run and len(run.keys) == 1]
    tops.sort(key=lambda run: run.keys)
    for _, runs in itertools.groupby(tops, key=lambda run: run.keys):
        runs = list(runs)
        for other in runs:
            # One is enough: a number that falls back is below many.
            above = (one for one in runs if one is not other and one.start <= other.start
                     and one.root.fence >= other.root.fence and is_acquired_after(one, other))
            for one in itertools.islice(above, 1):
                text = (f"fence {other.root.fence} is not above {one.root.fence} of run "
                        f"{one.number}, which acquired before")
                yield Finding("fence", other.start, (other.number, one.number), text,
                              excuse_fence(story, one, other))


def is_acquired_after(one, other):
    """The other one was not there yet, or had to wait for this job's end. Only starts of
    jobs are stamped, and they may come in another order than the grants."""
    excluded = "exclusive" in (one.mode, other.mode) and one.last <= other.start
    return excluded or one.start <= other.at


def excuse_fence(story, one, other):
    """The other one may have acquired before the loss, and started after it."""
    begin = min(one.tenure[0], other.tenure[0])
    lost = [fault for fault in story.server_faults(begin, other.start)
            if fault.on != "host"]
    return "the server may have lost its counter" if lost else None


def find_repeated_tokens(story):
    """A token is random, and used for one ownership alone."""
    users = {}
    for run in holders(story):
        for token in run.tokens:
            first = users.setdefault(token, run)
            if first.top is not run.top:
                yield Finding("token", run.start, (first.number, run.number),
                              "two runs have the same token")


def find_unlocked(story):
    """A job without a lock: only with --on-unavailable run, if a server was struck."""
    for run in story.started:
        if run.token is None:
            struck = (story.server_faults(run.at - 5 * SECOND, run.start) or story.is_redlock
                      or story.lacks_owner(run.keys, run.at, run.start))
            if run.on_unavailable != "run":
                yield Finding("unlocked", run.start, (run.number,),
                              "the job ran without a lock")
            elif not struck and not run.struck("wrapper"):
                yield Finding("unlocked", run.start, (run.number,),
                              "no server was struck, but the job ran without a lock")

"""What may have taken a lock from a job that still ran: the excuses for an overlap.

The promises hold as long as servers keep what they acknowledged: CAVEATS of rlockrun(1)
says what breaks that. An overlap of two jobs is excused if one of them, the victim, had
the lock when it was lost, the other, the winner, started after that, and the victim was
dead when it could no longer believe in its lease."""
from story import MS, SECOND, intersect

# The job's stamps are 5 ms apart, and its end takes its time.
STAMP = 5 * MS
# From the end of an outage, or a failover that is asked for, until the former primary
# no longer confirms renewals of clients that are still connected to it. Sentinels demote
# a primary that has come back when it has claimed its role for 8 s.
SETTLE = {"sentinel": 12 * SECOND, "cluster": 3 * SECOND}
# How long a primary must be silent before another may take its place.
SILENCE = {"sentinel": 400 * MS, "cluster": 1000 * MS}
# A primary that is back sooner may be so before its failover, and empty.
BACK_BEFORE_FAILOVER = 5 * SECOND
# With this many acknowledgements of WAIT, any replica that is promoted has the lock.
REPLICAS = {"sentinel": 2, "cluster": 1}
FAILING_OVER = ("stop", "kill", "pause", "busy", "cut", "cut_replies", "stall", "delay",
                "refuse", "tear", "disconnect", "failover", "split")


def excuse_overlap(story, one, other):
    """Why these two jobs may overlap, or None."""
    if one.token is None or other.token is None:
        return "ran without the lock (--on-unavailable run)"
    for victim, winner in ((one, other), (other, one)):
        reason = excuse_victim(story, victim, winner)
        if reason:
            return reason
    if any(is_of_former_primary(story, run) for run in (one, other)):
        return "a failover without --wait-replicas: the former primary granted it"
    return None


def is_of_former_primary(story, run):
    """Whether the lock may have been granted by a primary that had been replaced, before it
    was demoted: nobody has seen it at the one that served the key."""
    if story.topology not in SETTLE or lost_without_wait(story, run, run) is None:
        return False
    for key in run.keys:
        owners = [owner for owner in story.by_type["owner"] if owner.key == key and owner.node]
        for old, new in zip(owners, owners[1:]):
            until = back_at(story, old.node, new.at) + SETTLE[story.topology]
            if old.node != new.node and new.at - SECOND <= run.start <= until \
                    and run.last <= until + run.ttl \
                    and not any(node == new.node for node, _, _ in story.holds_of(run)):
                return True
    return False


def back_at(story, node, at):
    """When the former primary came back from what it was replaced for."""
    return max([at] + [fault.until for fault in story.faults
                       if fault.on in ("server", "link") and fault.node == node
                       and fault.at <= at <= fault.until])


def excuse_victim(story, victim, winner):
    if victim.on_lost == "warn" and was_disturbed(story, victim) and not was_content(victim):
        return "continued without the lock (--on-lost warn)"
    last = max(victim.last, seen_alive(victim, winner))
    if was_unguarded(victim, last):
        return "wrapper and guard were stopped or killed at the same time"
    if story.is_after_standstill(winner.start) and story.is_after_standstill(last):
        return "the whole machine stood still"
    for at, until, reason in losses(story, victim, winner):
        if victim.last <= dead_by(story, victim, at, until):
            return reason
    return None


def was_disturbed(story, run):
    """Whether anything could have cost it the lock: not what strikes guard or job."""
    begin, end = run.tenure
    return bool(run.hindered("wrapper") or run.top.hindered("wrapper")
                or story.server_faults(begin, end))


def was_content(run):
    """Whether it said in the end that it had kept the lock."""
    return run.exit and run.exit.status == run.job_status \
        and "cannot confirm the release" not in run.exit.stderr


def was_unguarded(run, last=None):
    """Whether nobody could have killed the job until shortly before its LAST life. A guard
    that continues needs time for that, and a dead one leaves it to nobody."""
    last = run.last if last is None else last
    return any(begin <= last <= end + SECOND for begin, end in run.unguarded())


def seen_alive(run, other):
    """When the other's job saw that of RUN, which may have been stopped and does not stamp
    then, or 0."""
    return other.start if saw_job(other, run) else 0


def saw_job(run, other):
    """Whether a job found the other one alive when it started. What a killed command has
    left is seen, but no longer its job."""
    return other.number in run.root.saw and not (other.is_left and
                                                 other.last + STAMP < run.start)


def losses(story, victim, winner):
    """What may have taken the lock from VICTIM, for WINNER: (when, the last time at which
    the victim's lease may have been confirmed, reason) of each."""
    if story.is_redlock:
        yield from redlock_losses(story, victim, winner)
        return
    window = victim.tenure[0], winner.start + 1
    for fault in story.faults:
        loss = lost_data(story, fault, victim, winner)
        if loss and intersect((loss[0], loss[1] + 1), window):
            yield loss
    if not story.is_single:
        yield from unasked_failovers(story, victim, winner, window)


def lost_data(story, fault, victim, winner):
    """The loss that FAULT means to VICTIM, as losses() gives it, or None."""
    if fault.fault == "shorten":
        shared = set(victim.keys) & set(winner.keys)
        return (fault.at, fault.at, "the lease was cut short") if fault.key in shared else None
    if fault.on not in ("server", "link", "host", "sentinel") \
            or not may_have_served(story, fault, set(victim.keys) & set(winner.keys)):
        return None
    if fault.fault == "flush":
        return fault.at, fault.at, "the server was flushed"
    if story.is_single:
        empty = fault.fault == "kill" and fault.on == "server"
        return (fault.at, fault.at, "the server restarted empty") if empty else None
    return failover(story, fault, victim, winner)


def may_have_served(story, fault, keys):
    """Whether the node that was struck served one of these keys then, or was about to, as
    far as anybody saw it."""
    if not hasattr(fault, "node"):
        return True
    begin, end = fault.at - 2 * SECOND, fault.until + SETTLE.get(story.topology, 0)
    return any(node in (None, fault.node) and intersect((since, until), (begin, end))
               for key in keys for node, since, until in story.owner_spans(key))


def failover(story, fault, victim, winner):
    """The failover to which FAULT may have led, as far as it may lose the lock."""
    if not may_fail_over(story, fault) or not was_on(story, fault, victim):
        return None
    reason = lost_by_failover(story, fault, victim, winner)
    return (fault.at, fault.until + SETTLE[story.topology], reason) if reason else None


def may_fail_over(story, fault):
    """Links of a cluster carry clients alone; sentinels reach servers by theirs."""
    if fault.fault not in FAILING_OVER or fault.on not in ("server", "link"):
        return False
    if fault.on == "link" and story.topology == "cluster":
        return False
    long_enough = fault.until - fault.at >= SILENCE[story.topology]
    return long_enough or fault.fault in ("kill", "failover")


def was_on(story, fault, victim):
    """Whether the lock was on the node that was struck, as far as anybody saw it. A
    failover is asked for at the node that is to be promoted."""
    holds = story.holds_of(victim)
    if fault.fault == "failover" or not holds:
        return True
    around = fault.at - SECOND, fault.until + SETTLE[story.topology]
    return any(node == fault.node and intersect((since, until), around)
               for node, since, until in holds)


def lost_by_failover(story, fault, victim, winner):
    """Why a failover may have lost the lock, or None. With WAIT a replica has whatever
    was granted, but a primary that comes back empty before its failover makes its
    replicas empty, too."""
    unwaited = lost_without_wait(story, victim, winner)
    if unwaited:
        return unwaited
    back = winner.start >= fault.until and fault.until - fault.at < BACK_BEFORE_FAILOVER
    if fault.fault == "kill" and back:
        return "a primary restarted empty, perhaps before its failover"
    return None


def lost_without_wait(story, victim, winner):
    """Why any failover may lose the lock. One replica of two is not enough: when the other
    is being promoted, it no longer follows, and the former primary still gets its one
    acknowledgement."""
    waited = min(victim.wait_replicas, winner.wait_replicas)
    if waited == 0:
        return "a failover without --wait-replicas"
    if waited < REPLICAS[story.topology]:
        return "a failover to a replica that need not have acknowledged"
    return None


def unasked_failovers(story, victim, winner, window):
    """Failovers that were seen, whatever led to them: a loaded machine is enough."""
    reason = lost_without_wait(story, victim, winner)
    if reason is None:
        return
    for key in set(victim.keys) & set(winner.keys):
        for at in story.owner_changes(key):
            until = at + SETTLE[story.topology]
            # It is seen a little later, on a loaded machine up to a second.
            if intersect((at - SECOND, until), window):
                yield at, until, reason


def redlock_losses(story, victim, winner):
    """A majority that was killed, or the few nodes of a majority that lost the lock. A
    node that restarted abstains, so that a minority of them harms nobody."""
    begin = victim.tenure[0]
    struck = [fault for fault in story.faults if begin <= fault.at <= winner.start]
    killed = [fault for fault in struck if fault.fault == "kill" and fault.on == "server"]
    if len({fault.node for fault in killed}) >= story.majority:
        last = max(fault.at for fault in killed)
        yield last, last, "a majority restarted empty"
    emptied = [fault for fault in struck if fault.fault in ("flush", "shorten")]
    uptime = winner.option("min-uptime")
    if uptime is not None and uptime < victim.ttl:
        emptied += killed
    if emptied:
        last = max(fault.at for fault in emptied)
        lost = {fault.node for fault in emptied}
        if len(granted_by(story, victim, last) - lost) < story.majority:
            yield last, last, "too few servers kept the lock"


def granted_by(story, victim, until):
    """The servers on which the lock of VICTIM was seen before UNTIL, or all."""
    seen = {node for node, since, _ in story.holds_of(victim) if since <= until}
    return seen or set(story.nodes)


def dead_by(story, victim, at, until):
    """When the victim of a loss must be dead: at the end of the lease that it believes
    in. With one server that nothing else disturbs the next renewal reports the loss."""
    lease = until + victim.ttl + STAMP
    if story.is_single and is_undisturbed(story, victim, at):
        return min(lease, at + noticed_after(victim))
    return lease


def is_undisturbed(story, run, at):
    """Whether renewals could pass from that loss to the end of the job."""
    others = [fault for fault in story.server_faults(at - run.ttl, run.last)
              if (fault.at, fault.until) != (at, at)]
    return not others and not run.faults and not run.top.faults


def noticed_after(run):
    """A renewal is due each third of the ttl, give or take 5%; TERM follows at once, KILL
    after the grace, at most a second. A loaded machine needs another second for it."""
    return run.ttl * 35 // 100 + min(run.grace, SECOND) + SECOND

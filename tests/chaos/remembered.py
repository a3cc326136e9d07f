"""Rules about what a server remembers of the runs of a lock: --once-id rests on it, and
--check shows it. The locks are exclusive, so runs start in the order of their grants."""
from finding import Finding
from losses import SETTLE, may_fail_over, may_have_served
from story import MS, SECOND, is_halted

FINE, FAILED, OVERDUE, UNKNOWN = range(4)
LOSING = ("kill", "flush", "full", "migrate")
# What servers are struck with has effects for a while.
AFTERMATH = 5 * SECOND
# The end of a lease, as servers and a loaded machine see it.
LEASE_END = SECOND


def find_repeated_ids(story):
    """A job started although the last success with an id had that of its run."""
    for run in story.started:
        if run.once_id is None or not run.token or run.top is not run:
            continue
        former = last_success(story, run)
        if former and former.once_id == run.once_id:
            text = (f"it started {(run.start - former.root.end) / MS:.0f} ms after the success "
                    f"of run {former.number}, which had its id, {run.once_id}")
            yield Finding("once-id", run.start, (run.number, former.number), text,
                          excuse(story, run.keys[0], former.root.end, run.start))


def last_success(story, run):
    """The last run with an id that succeeded before this one started, or None if there is
    none or if another one may have."""
    for former in reversed(runs_of(story, run.keys[0])):
        if former.start < run.start and former.once_id is not None and may_succeed(former):
            return former if is_success(former) and former.root.end <= run.start else None
    return None


def has_succeeded(story, run):
    """Whether a run with the id of this one may have been the last success with an id, at
    some time while this one asked."""
    replaced = False
    for former in reversed(runs_of(story, run.keys[0])):
        if former.once_id is None or not may_succeed(former) or former.root.end > run.ended:
            continue
        if former.once_id == run.once_id:
            return not replaced
        replaced = replaced or (is_success(former) and former.ended < run.at
                                and not excuse(story, run.keys[0], former.root.end, run.ended))
    return False


def runs_of(story, key):
    """Those that are remembered, in the order of their starts. Nested ones are not."""
    return [run for run in story.users[key] if run.token and run.top is run]


def may_succeed(run):
    """Whether its release can have recorded a success."""
    return run.root.end is not None and run.root.status == 0


def is_success(run):
    return may_succeed(run) and is_recorded(run)


def is_recorded(run):
    """Whether its end is known to be on record: with its status, as it had the lock until
    then. A wrapper that was stopped may have come too late."""
    return bool(run.exit and run.root.end is not None and run.exit.status == run.job_status
                and not any(said in run.exit.stderr
                            for said in ("cannot confirm the release", "is not recorded"))
                and not is_halted(run, run.root.end - run.ttl, run.ended))


def excuse(story, key, begin, end):
    """Why what was recorded after BEGIN may be forgotten at END, or None. A former primary
    may have recorded it."""
    since = begin - SETTLE.get(story.topology, 0)
    if any(since <= at <= end + SECOND for at in story.owner_changes(key)):
        return "a failover without --wait-replicas"
    if any(may_forget(story, fault, key) for fault in story.server_faults(since, end)):
        return "the server may have forgotten it"
    return None


def may_forget(story, fault, key):
    if fault.on == "lock":
        return fault.key == key
    return may_have_served(story, fault, {key}) and (
        fault.fault in LOSING or not story.is_single and may_fail_over(story, fault))


def find_wrong_verdicts(story):
    """A --check said something else of a lock than what had happened."""
    for check in story.by_type["checked"]:
        facts = Facts(story, check)
        right = facts.verdicts()
        if check.status not in right and not (check.status == UNKNOWN
                                              and was_struck(story, check)):
            words = " or ".join(str(verdict) for verdict in sorted(right))
            yield Finding("check", check.at, facts.numbers(),
                          f'--check says {check.status} of "{check.key}", but {words} is right',
                          excuse(story, check.key, facts.since, check.at))


def was_struck(story, check):
    return story.server_faults(check.begun - AFTERMATH, check.at) \
        or story.lacks_owner([check.key], check.begun, check.at)


class Facts:
    """What was surely the case while a --check asked, and what perhaps."""

    def __init__(self, story, check):
        self.begin, self.end = check.begun, check.at
        users = [run for run in story.runs.values()
                 if check.key in run.keys and run.at < self.end]
        runs = [run for run in runs_of(story, check.key) if run.start < self.end]
        # The last one that is surely over, the last success, and one that says --expect.
        self.over = next(filter(self.is_over, reversed(runs)), None)
        self.success = next(filter(self.has_succeeded, reversed(runs)), None)
        self.expecting = next(filter(self.has_expected, runs), None)
        # Each of these may be the last one that is over.
        self.last = [run for run in runs if not self.is_on(run)
                     and (not self.over or run.start >= self.over.start)]
        self.strays = list(filter(self.may_stray, users)) + [
            run for run in users if run.root and self.may_come_again(story, run)]
        self.succeeded = max((min(run.ended, self.end) for run in runs
                              if may_succeed(run) and run.root.end < self.end), default=0)
        # All that say it say the same.
        self.expected = max((run.option("expect") or 0 for run in users), default=0)

    def is_over(self, run):
        """One without an end on record is over with its lease."""
        ended = run.ended if is_recorded(run) else run.ended + run.ttl + LEASE_END
        return ended < self.begin

    def is_on(self, run):
        return is_recorded(run) and run.root.end > self.end

    def may_lack_end(self, run):
        """Its release may still be on its way, beyond the end of its lease."""
        return run.ended > self.begin

    def has_succeeded(self, run):
        return is_success(run) and run.ended < self.begin

    def has_expected(self, run):
        return run.option("expect") and run.start < self.begin

    def may_stray(self, run):
        """Whether it may have been granted the lock without a job, and may be taken for the
        last run. One that waited in vain, undisturbed, was not."""
        in_vain = run.exit and not run.faults and "not started" in run.exit.stderr
        return not run.root and not in_vain \
            and not (self.over and run.ended < self.over.start)

    def may_come_again(self, story, run):
        """Whether a link held up its first request, which is served after its job."""
        return any(fault.on == "link" and fault.at < self.end
                   and not (self.over and fault.until < self.over.start)
                   for fault in story.server_faults(run.at, run.start))

    def verdicts(self):
        """All that may be right."""
        right = {OVERDUE} if self.may_be_overdue() else set()
        if self.may_be_in_time():
            if self.strays or not all(map(is_success, self.last)) \
                    or any(map(self.may_lack_end, self.last)):
                right.add(FAILED)
            if not self.over or any(map(may_succeed, self.last)):
                right.add(FINE)
        return right

    def may_be_overdue(self):
        """Without a run that is over, none may be known."""
        if not self.over:
            return True
        since = self.success.root.end if self.success else 0
        return 0 < self.expected < self.end - since

    def may_be_in_time(self):
        return not self.success or not self.expecting \
            or self.begin - self.succeeded < self.expected

    @property
    def since(self):
        return min(run.start for run in self.known()) if self.known() else self.begin

    def known(self):
        return [run for run in (self.over, self.success, self.expecting) if run]

    def numbers(self):
        return tuple(sorted({run.number for run in self.known()}))

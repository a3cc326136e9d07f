"""The rule about pauses."""
from finding import Finding
from losses import STAMP, was_unguarded
from story import MS, SECOND, intersect
from tenures import AFTERMATH, LOSING


def find_starts_in_pauses(story):
    """A job lived under a lock after a --pause had said that the lock is paused, and before
    it can have ended."""
    for pause in story.by_type["paused"]:
        for run in story.users[pause.key]:
            common = intersect((run.start, run.last - STAMP), (pause.at, pause.until))
            if common and run.token:
                text = (f'the job lived {(common[1] - common[0]) / MS:.0f} ms in the pause of '
                        f'"{pause.key}" since {pause.at / SECOND:.3f} s')
                yield Finding("pause", common[0], (run.number,), text,
                              excuse(story, pause, run))


def excuse(story, pause, run):
    begin = min(run.at, pause.at)
    if run.on_lost == "warn":
        return "continued without the lock (--on-lost warn)"
    if was_unguarded(run):
        return "wrapper and guard were stopped or killed at the same time"
    if may_lose(story, pause.key, begin, run.last):
        return "the server may have lost the pause"
    if any(begin <= at <= run.last for at in story.owner_changes(pause.key)):
        return "a failover without --wait-replicas"
    return None


def may_lose(story, key, begin, end):
    """Whether the server can have lost the pause, or a failover can have begun."""
    return any(fault.key == key if fault.on == "lock"
               else fault.fault in LOSING or not story.is_single
               for fault in story.server_faults(begin - AFTERMATH, end))

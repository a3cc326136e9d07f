"""Rules about what is left: by a wrapper or guard that is killed (promise 3), by a run
that ends, and when all is over."""
import re
import signal

from finding import Finding
from losses import STAMP, was_unguarded
from story import MS, SECOND, is_halted, last_life, merge

# A second is the promise. Dozens of jobs on two processors get half of one more.
KILLED_WITHIN = 1500 * MS
# What rlockrun says then, and the status.
STOPPING, OVERRUN = "stopping the job", 124
# From a signal until it has been forwarded, or from the start until it can be.
FORWARDED = 50 * MS
HOUR_MS, MINUTE_MS, DAY_MS = 3600_000, 60_000, 86400_000
HANDLED = ("term", "int", "hup")
BELL_MS = 10_000
ORDER_MS = 5000
HELPER = re.compile(r"\{(?P<name>.+)\}:rlk:(?P<kind>[a-z])(:.*)?|"
                    r"(?P<tagged>.+):rlkt:(?P<tagged_kind>[a-z])(:.*)?", re.DOTALL)


def find_orphans(story):
    """Processes of a job that live on after the death of wrapper or guard, or after the
    end of rlockrun."""
    for run in story.started:
        yield from find_outliving(run, "wrapper", "guard")
        yield from find_outliving(run, "guard", "wrapper")
        yield from find_outliving_exit(run)


def find_outliving(run, killed, other):
    """The death of one of the two ends the job, which the other sees to when it can."""
    for fault in run.struck(killed, "kill"):
        if run.is_left and last_life(run.root) <= fault.at + STAMP:
            continue  # those that it has left go on, nested runs, too
        for owner in with_nested(run):
            if fault.at < owner.start and owner is not run:
                continue
            orphans = [process for process in job_processes(owner, fault.at)
                       if last_life(process) > fault.at + KILLED_WITHIN]
            if orphans:
                last = max(map(last_life, orphans))
                text = (f"{count(orphans)} lived {(last - fault.at) / MS:.0f} ms after the "
                        f"{killed} of run {run.number} was killed")
                yield Finding("orphan", last, (owner.number,), text,
                              excuse_orphans(run, fault, other, orphans))


def with_nested(run):
    """A run and those nested in its job, however deep: they are part of it."""
    yield run
    for nested in run.nested:
        if nested.root:
            yield from with_nested(nested)


def job_processes(run, at):
    """The processes of the job at that time: none when a command had ended whose children
    may go on."""
    if run.is_left and last_life(run.root) <= at + STAMP:
        return []
    return [process for process in run.processes if process.at <= at + KILLED_WITHIN]


def count(processes):
    return f"{len(processes)} process{'es' if len(processes) > 1 else ''}"


def excuse_orphans(run, fault, other, orphans):
    """A stopped guard or wrapper ends the job when it continues, a dead one never does;
    but the command always dies with its guard."""
    if fault.on == "guard" and run.root in orphans:
        return None
    last = max(map(last_life, orphans))
    for begin, end in merge(run.hindered(other)):
        if begin <= fault.at + KILLED_WITHIN and end >= fault.at \
                and last <= end + KILLED_WITHIN:
            return f"the {other} was stopped or killed"
    return None


def find_outliving_exit(run):
    """rlockrun ends when its job has, unless it was killed itself. A command that ended by
    itself may have left others, if nobody had asked it to stop, but ends before rlockrun,
    too."""
    if not run.exit or was_killed(run):
        return
    leaves = run.is_left and not was_told_to_stop(run)
    alive = [process for process in ([run.root] if leaves else run.processes)
             if last_life(process) > run.exit.at + STAMP]
    if alive:
        last = max(map(last_life, alive))
        text = f"{count(alive)} lived {(last - run.exit.at) / MS:.0f} ms after rlockrun ended"
        yield Finding("orphan", last, (run.number,), text)


def was_killed(run):
    """A nested one by the guard of the outer one, too."""
    return run.struck("wrapper", "kill") or (
        run.outer_run and run.exit.status == -signal.SIGKILL)


def was_told_to_stop(run):
    """Whether rlockrun asked the command to stop, or forwarded a signal to it, and not just
    when it ended."""
    if run.exit.status == OVERRUN or STOPPING in run.exit.stderr:
        return True
    return not was_unguarded(run) and any(
        run.start + FORWARDED < fault.at < last_life(run.root) - FORWARDED
        and not is_halted(run, fault.at, last_life(run.root))
        for fault in run.struck("wrapper", "term", "int", "hup"))


def find_left_processes(story):
    """Processes that are there after all has ended, other than those that a command may
    leave."""
    for left in story.by_type["left"]:
        if left.what == "process":
            run = story.runs.get(getattr(left, "run", None))
            if not (run and run.root and run.is_left):
                name = getattr(left, "command", "?")
                yield Finding("process", left.at, (run.number,) if run else (),
                              f"process {left.pid} was left: {name}")


def find_left_keys(story):
    """Keys that never expire, that live longer than they may, or that somebody who ended
    in peace has left. Helper keys of a lock expire by themselves."""
    names = {key for run in story.runs.values() for key in run.keys} \
        | {pause.key for pause in story.by_type["paused"]}
    for left in story.by_type["left"]:
        if left.what == "key":
            for text in wrong_key(story, left, names):
                yield Finding("key", left.at, (), f'"{left.key}" on {left.node}: {text}')


def wrong_key(story, left, names):
    if left.pttl_ms < 0:
        yield "it never expires"
    name, kind = parse_key(left.key)
    if name not in names:
        yield "nobody has used this name"
        return
    limit = longest_life(story, left, name, kind)
    if limit is None:
        yield "there is no such key of a lock"
    elif left.pttl_ms > limit:
        yield f"it lives for another {left.pttl_ms} ms, at most {limit} ms are right"
    for member in getattr(left, "members", None) or []:
        owner = find_owner(story, kind, member)
        if kind in ("", "q", "l") and owner and ended_in_peace(story, owner):
            yield f"run {owner.number} has left {member}"


def parse_key(key):
    """The name of the lock and the letter of a helper key: "" for the lock itself."""
    match = HELPER.fullmatch(key)
    if not match:
        return key, ""
    return match["name"] or match["tagged"], match["kind"] or match["tagged_kind"]


def longest_life(story, left, name, kind):
    """In ms, from KEYS in rlockrun-protocol(7). Of a lock that is counted,
    the key lives three leases."""
    users = [run for run in story.runs.values() if name in run.keys]
    ttl = max((run.ttl_ms for run in users), default=0)
    held = max([ttl, *(run.min_hold_ms or 0 for run in users)])
    hour = max(HOUR_MS, 10 * ttl)
    lives = {"": held if left.kind == "string" else 3 * held, "f": hour, "i": hour,
             "n": hour, "q": MINUTE_MS, "l": MINUTE_MS, "m": BELL_MS, "o": MINUTE_MS,
             "r": 4 * DAY_MS, "s": ORDER_MS}
    return lives.get(kind)


def find_owner(story, kind, member):
    """The run that a token, or a waiter KIND:TOKEN:PID@HOST, belongs to."""
    member = str(member)
    for run in story.runs.values():
        if kind == "" and member.removeprefix("s:") in run.tokens:
            return run
        if kind in ("q", "l") and f":{run.pid}@" in member:
            return run
    return None


def ended_in_peace(story, run):
    """Its undo or release could reach the server, and min-hold keeps nothing. Signals that
    it handles do not hinder it."""
    rude = any(fault.on != "wrapper" or fault.fault not in HANDLED
               for fault in run.faults + run.top.faults)
    if rude or run.top.min_hold_ms or not run.exit:
        return False
    return not may_hinder_goodbye(story, run) \
        and "cannot confirm the release" not in run.exit.stderr


def may_hinder_goodbye(story, run):
    """Whether what it said last may not have arrived, or something older after that. What
    struck one server itself is over soon."""
    return any(fault.until > run.ended - 2 * SECOND or not story.is_single
               or fault.on in ("link", "host") or fault.fault == "cut"
               for fault in story.server_faults(run.at - 5 * SECOND, run.ended))


def find_faults_of_history(story):
    """What cannot be: the harness has written it wrong, and may be wrong elsewhere."""
    for at, runs, text in impossible(story):
        yield Finding("history", at, runs, text)


def impossible(story):
    yield from wrong_relations(story)
    yield from wrong_times(story)
    if len(story.by_type["quiet"]) != 1:
        yield story.end.at, (), f"{len(story.by_type['quiet'])} records of type quiet"
    unended = {left.run for left in story.of_runs("left") if left.what == "run"}
    for run in story.runs.values():
        # The end of a nested run is seen by the process of the job that started it.
        outer = run.outer_run
        seen = not outer or all(process.end is not None for process in outer.processes)
        if not run.exit and run.number not in unended and seen:
            yield run.at, (run.number,), "there is no exit of this run"
        if run.processes and not run.root:
            yield run.processes[0].at, (run.number,), "a job without its command"


def wrong_relations(story):
    """Records of runs that are unknown, or that are there twice."""
    seen = set()
    for thing in story.things:
        number = getattr(thing, "run", None)
        if number is not None and number not in story.runs:
            yield thing.at, (number,), f"{thing.type} of an unknown run"
        is_root = thing.type == "process" and thing.root
        if is_root or thing.type in ("run", "exit"):
            if (thing.type, number) in seen:
                yield thing.at, (number,), f"a second {thing.type} of this run"
            seen.add((thing.type, number))
    for run in story.runs.values():
        for number in ([run.outer] if run.outer is not None else []) + \
                (run.root.saw if run.root else []):
            if number not in story.runs:
                yield run.at, (run.number,), f"it refers to an unknown run {number}"


def wrong_times(story):
    """Times that run backwards."""
    for thing in story.things:
        if not 0 <= thing.at <= story.end.at:
            yield thing.at, (), f"{thing.type} outside of the history"
        if getattr(thing, "until", thing.at) < thing.at:
            yield thing.at, (), f"{thing.type} that ended before it began"
    for run in story.runs.values():
        for process in run.processes:
            if last_life(process) < process.at:
                yield process.at, (run.number,), "a process that ended before it began"
            if process.at < run.at:
                yield process.at, (run.number,), "a process that began before its run"
        if run.ended < run.at:
            yield run.ended, (run.number,), "the run ended before it began"

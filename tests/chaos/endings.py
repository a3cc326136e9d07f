"""Rules about the end of a run: its exit status (promise 4), and that it comes."""
import signal

from exclusion import gone_since
from finding import Finding
from losses import SETTLE, STAMP, was_unguarded
from remembered import has_succeeded
from story import MS, NEVER, SECOND

USAGE, UNAVAILABLE, INTERNAL, RESOURCE = 64, 69, 70, 71
BUSY, NOT_A_LOCK, REFUSED, CONFIG, LOST, REPLACED = 75, 76, 77, 78, 79, 80
OVERRUN, CANNOT_RUN, NOT_FOUND, SIGNAL = 124, 126, 127, 128
# Nothing in a chaos is a reason for one of these.
NEVER_RIGHT = (USAGE, INTERNAL, NOT_A_LOCK, REFUSED, CONFIG, CANNOT_RUN, NOT_FOUND)
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE,
           signal.SIGSYS, signal.SIGTRAP)
SENT = {"term": signal.SIGTERM, "int": signal.SIGINT, "hup": signal.SIGHUP,
        "kill": signal.SIGKILL}
# By which replies are late at most, and what a loaded machine needs besides.
DELAY = 900 * MS
LOAD = 350 * MS
# When a second connection has tried at the latest, unless --server-timeout is longer.
SECOND_TRY = 1500 * MS
# From a failover to a renewal at the new primary: two tries on a second connection.
MOVED = 4500 * MS
# What servers are struck with has effects for a while: elections, clients that
# reconnect, nodes that abstain.
AFTERMATH = 5 * SECOND
# A job that ignores signals, or is stopped by itself and cannot obey them.
DEAF = ("deaf", "stopping")
# After that a job kills the run that is nested in it: see job.c.
NESTED_LIFE = 30 * SECOND
# From a signal to the end of the command: on a loaded machine.
FORWARDED = 700 * MS
# A waiter that has no time left for another try need not wait any longer.
GIVES_UP_EARLY = 50 * MS
# The entry of a dead waiter stays so long in the queue.
QUEUED = 60 * SECOND
# From a signal to the end of a waiter, which takes what it has back.
GIVEN_UP = 2 * SECOND
# An order to stop is valid so long.
ORDERED = 5 * SECOND
# The time between two looks at the locks.
SAMPLE = 100 * MS
# The machine is loaded.
SLACK = 3 * SECOND


def find_hangs(story):
    """A run did not end, or not when its options say: the wait at most -w and the time
    that servers may be silent, the release at most a ttl."""
    for left in story.of_runs("left"):
        if left.what == "run":
            yield Finding("hang", left.at, (left.run,), "it had not ended")
    for run in story.runs.values():
        for late, what in overdue(run):
            if late <= 0:
                continue
            yield Finding("hang", run.ended, (run.number,),
                          f"{what} came {late / SECOND:.1f} s too late")


def overdue(run):
    """(how much, what) was too late. A stopped process cannot be in time; a job that
    stops itself does not say how long it lived."""
    spare = run.stopped_for() + SLACK
    if run.wait_ms is not None and (run.root or run.exit):
        wait = (run.wait_ms + run.server_timeout_ms) * MS + (run.option("splay") or 0)
        latest = run.at + wait + spare + (0 if run.root else run.ttl)
        yield (run.start if run.root else run.ended) - latest, "the end of the wait"
    if run.root and run.exit and not is_stopping(run):
        yield run.ended - (last_awaited(run) + run.ttl + spare), "the end"
    if run.root and run.max_run_ms is not None and not was_unguarded(run):
        grace = run.grace if run.kill_after_ms is None else run.kill_after_ms * MS
        slack = spare if run.faults else SECOND
        latest = run.start + run.max_run_ms * MS + grace + slack
        yield run.last - latest, "the end of a job with --max-run"


def last_awaited(run):
    """The last life of what a run waits for: with --wait-all of nested runs, too."""
    nested = [inner for inner in run.nested if inner.root] if run.wait_all else []
    return max([run.last, *map(last_awaited, nested)])


def is_stopping(run):
    return run.job == "stopping" or any(map(is_stopping, run.nested))


def find_ignored_signals(story):
    """A signal that the wrapper forwards did not end the command (promise 5)."""
    for run in story.started:
        if run.job in DEAF or run.root.end is None:
            continue
        for fault in run.struck("wrapper", "term", "int", "hup"):
            late = run.root.end - fault.at - run.stopped_for() - FORWARDED
            if fault.at > run.start + STAMP and late > 0:
                yield Finding("signal", run.root.end, (run.number,),
                              f"the command went on for {(late + FORWARDED) / MS:.0f} ms "
                              f"after {fault.fault.upper()}")


def find_waiters_that_stay(story):
    """A waiter ends by the signal that it gets, and starts nothing."""
    for run in story.runs.values():
        served = run.start if run.root else run.ended
        for fault in run.struck("wrapper", "term", "int", "hup"):
            # A stopped guard or wrapper goes on later.
            since = max([fault.at] + [end for name in ("wrapper", "guard")
                                      for begin, end in run.hindered(name)
                                      if end != NEVER and begin < served])
            if served > since + GIVEN_UP:
                yield Finding("signal", min(served, story.end.at), (run.number,),
                              f"it waited for {(served - since) / MS:.0f} ms more after "
                              f"{fault.fault.upper()}")


def find_wrong_statuses(story):
    """The exit status says something else than what happened."""
    for run in story.runs.values():
        if run.exit:
            for text in wrong_statuses(story, run):
                yield Finding("status", run.ended, (run.number,),
                              f"status {run.exit.status}: {text}")


def wrong_statuses(story, run):
    status = run.exit.status
    if status != -signal.SIGKILL and was_killed(run):
        yield "the wrapper had been killed"
    elif status < 0 or is_signal(status):
        yield from wrong_signal(run, -status if status < 0 else status - SIGNAL)
    elif status == run.job_status:
        yield from wrong_job_status(story, run)
    elif status in NEVER_RIGHT:
        yield "nothing in this chaos is a reason for it"
    elif status in CHECKS:
        yield from CHECKS[status](story, run)
    elif status == conflict_status(run):
        yield from wrong_busy(story, run)
    else:
        yield "it is neither the job's nor one of rlockrun's"
    # What a nested run wrote is not known.
    if status in (UNAVAILABLE, BUSY) and not run.root and not run.outer_run \
            and "-q" not in run.options and "not started" not in run.exit.stderr:
        yield "no message says that the command was not started"


def was_killed(run):
    """Whether SIGKILL struck it before its end, which may be seen a little later."""
    return any(fault.at < run.ended - SECOND for fault in run.struck("wrapper", "kill"))


def is_signal(status):
    return SIGNAL < status <= SIGNAL + 64


def wrong_signal(run, number):
    """It dies by a signal that was sent to it while it waited, or by the one that ended
    its job. A nested run is a part of another job, and may get what that gets."""
    if number in CRASHES:
        yield f"it crashed: {signal.Signals(number).name}"
    elif number not in signals_sent(run):
        yield f"signal {number} was not sent"


def signals_sent(run):
    sent = {SENT[fault.fault] for fault in run.struck("wrapper", *SENT)}
    if run.struck("job", "kill"):
        sent.add(signal.SIGKILL)
    outer = run.outer_run
    if outer and (outer.faults or not outer.root or outer.root.end is None):
        sent |= {signal.SIGTERM, signal.SIGKILL} | signals_sent(outer)
    if outer and outer.root and run.ended >= outer.start + NESTED_LIFE:
        sent.add(signal.SIGKILL)
    return sent


def wrong_job_status(story, run):
    """The job's own status: it ended by itself, with that, and had the lock until then."""
    if not run.root:
        yield "this is the job's status, but it never started"
    elif run.root.end is None:
        yield "this is the job's status, but it did not end by itself"
    elif run.root.status not in (None, run.job_status):
        yield f"the job ended with {run.root.status}"
    elif run.token and not is_stopping(run) and ended_late(run):
        yield "its lease had ended before the job"
    elif story.is_single and not run.outer_run and run.token:
        if "cannot confirm the release" not in run.exit.stderr and not released_late(run):
            yield from unnoticed_losses(story, run)
            yield from vanished_tokens(story, run)


def ended_late(run):
    """Whether the command ended while the wrapper was stopped, and could not have renewed
    the lease. A job that is continued continues its wrapper."""
    end = run.root.end
    if run.struck("job", "stop"):
        return False
    return any(run.start < begin and begin + run.ttl + STAMP < end < until
               for begin, until in run.hindered("wrapper"))


def unnoticed_losses(story, run):
    """A release that the server confirmed shows that the lock was held to the end: no
    other run can have had it, unless that had lost it. Its order among those that share it
    is not known."""
    if run.mode != "exclusive":
        return
    others = {other for key in run.keys for other in story.users[key]}
    for other in sorted(others, key=lambda other: other.start):
        if other.exit and other.exit.status == LOST:
            continue
        if other.top is not run and other.token \
                and run.start < other.start < run.root.end - STAMP:
            yield f"run {other.number} had the lock before this job ended"


def vanished_tokens(story, run):
    """The release itself shows that the lock was gone, if no renewal has; unless it had to
    be sent twice, as the first one may have freed it."""
    if story.server_faults(run.root.end, run.ended):
        return
    for token in run.tokens:
        gone = gone_since(story, token)
        if gone is not None and run.start < gone < run.root.end - SAMPLE:
            before = (run.root.end - gone) / MS
            yield f"its token was gone {before:.0f} ms before this job ended"


def released_late(run):
    """Whether the wrapper was stopped when the command ended, and so long that the
    lease was over: its last renewal was at most a third of the ttl old. Then the release
    does not show how long the lock was held."""
    return any(begin <= run.root.end <= until and until - begin > run.ttl * 6 // 10
               for begin, until in run.hindered("wrapper"))


def wrong_unavailable(story, run):
    if run.root:
        yield "no server replied in time, but the job had started"
    elif has_hasty_replicas(run):
        return
    elif not was_struck(story, run, run.at):
        yield "no server was struck"
    elif story.is_single and not run.faults and not run.top.faults \
            and (run.wait_ms is None or run.wait_ms * MS > SECOND_TRY) \
            and is_harmless(run, story.server_faults(silent_since(run), run.ended)):
        yield "a second connection would have got a reply"


def has_hasty_replicas(run):
    """On a loaded machine replicas may need longer than such a short wait."""
    return bool(run.wait_replicas and run.wait_ms and run.wait_ms * MS < SECOND
                and "replicas have the lock" in run.exit.stderr)


def silent_since(run):
    return run.ended - run.server_timeout_ms * MS - SECOND


def is_harmless(run, faults):
    """One delay of the requests that are on their way, which others overtake."""
    faults = [fault for fault in faults if fault.on != "host" or fault.host == run.host]
    return len(faults) <= 1 and all(fault.fault == "late" for fault in faults)


def was_struck(story, run, since):
    """Whether servers or the run were struck, so that a reply may have been late. An
    independent server that was killed abstains for as long as --min-uptime says."""
    if run.faults or run.top.faults or story.server_faults(since - AFTERMATH, run.ended) \
            or story.lacks_owner(run.keys, since, run.ended):
        return True
    return story.is_redlock and any(fault.fault == "kill" and fault.at < run.ended
                                    for fault in story.faults if fault.on == "server")


def wrong_busy(story, run):
    if run.root:
        yield "the lock was held by others, but the job had started"
    if "was overtaken by" in run.exit.stderr:
        if not run.is_newest or not has_newer(story, run):
            yield "no newer run with --newest was there"
        return
    if "last succeeded with the id" in run.exit.stderr:
        if not has_succeeded(story, run):
            yield "no run with this id had succeeded"
        return
    limited = run.has_option("--max-waiters", "--once-per", "-w", "--wait")
    if run.wait_ms is None and not limited:
        yield "it was to wait for ever"
    elif not run.has_option("--max-waiters", "--once-per"):
        early = run.at + run.wait_ms * MS - run.ended if run.wait_ms else 0
        if early > GIVES_UP_EARLY:
            yield f"it gave up {early / MS:.0f} ms before its time"
        if story.is_single and not run.root and not was_struck(story, run, run.at) \
                and not has_company(story, run):
            yield "nobody else wanted the lock"


def has_company(story, run):
    """Whether another run may have held or wanted the lock: the dead do for a while."""
    return any(other is not run and set(other.keys) & set(run.keys) and other.at < run.ended
               and run.at < other.ended + remains_of(other) for other in story.runs.values())


def has_newer(story, run):
    """Whether another run with --newest was there that may have come later."""
    return any(other.is_newest and other is not run and set(other.keys) & set(run.keys)
               and run.at - SLACK < other.at < run.ended for other in story.runs.values())


def remains_of(run):
    """How long a run may be found on the server when it has ended."""
    queued = QUEUED if run.faults or run.top.faults else 0
    return max(queued, 3 * run.ttl, (run.min_hold_ms or 0) * MS)


def conflict_status(run):
    """-E, if the options have it."""
    for before, option in zip([""] + run.options, run.options):
        if before in ("-E", "--conflict-exit-code") and option.isdigit():
            return int(option)
    return BUSY


def wrong_resource(story, run):
    if not run.struck("guard", "kill") and not run.top.struck("guard", "kill"):
        yield "no guard was killed"
    elif not run.root and not any(said in run.exit.stderr
                                  for said in ("not started", "guard was killed")):
        yield "no message says that the command was not started"


def wrong_lost(story, run):
    """A lost lock needs a reason. Without a queue, as on several servers, nested runs
    lose the lock when the outer one ends."""
    if story.is_after_standstill(run.ended - run.grace):
        return
    since = max(run.at, run.start - run.ttl) if run.root else run.at
    ended_outer = run.outer_run and run.outer_run.ended <= run.ended
    if not ended_outer and not was_struck(story, run, since) \
            and not has_moved(story, run, since):
        yield "nothing was struck that could have cost the lock"
    elif story.is_single and not run.faults and not run.top.faults and not run.outer_run:
        delays = {fault.fault for fault in story.server_faults(since - SECOND, run.ended)}
        if is_renewed_in_time(run, delays):
            yield "replies were late, but not for so long that the lock must be lost"
    elif story.topology == "sentinel" and run.root and not run.faults and not run.outer_run \
            and is_renewable_at_last(story, run):
        yield "the new primary had the lock, but was not believed"


def has_moved(story, run, since):
    """Whether a former primary may have gone on, until it was demoted."""
    settle = SETTLE.get(story.topology, 0)
    return any(since - settle <= at <= run.ended
               for key in run.keys for at in story.owner_changes(key))


def is_renewed_in_time(run, delays):
    """Whether these delays are all that hindered renewals, and TERM need not have been
    sent before a reply: it is asked for after a third of the ttl, and by a second
    connection after another quarter."""
    late = {"delay": DELAY, "late": run.ttl // 4}
    if not delays <= late.keys():
        return False
    reply = run.ttl * 36 // 100 + sum(late[name] for name in delays) + LOAD
    return reply <= run.ttl - run.grace


def is_renewable_at_last(story, run):
    """Whether the last primary under the job had its lock, and nothing kept it from being
    asked for long enough before TERM must have been sent."""
    owners = [owner for owner in story.by_type["owner"]
              if [owner.key] == run.keys and run.start < owner.at < run.last]
    if not owners or owners[-1].node is None or run.wait_replicas:
        return False
    moved = owners[-1]
    until = moved.at + MOVED
    held = any(node == moved.node and begin < moved.at + SECOND and end > until
               for node, begin, end in story.holds_of(run))
    hindered = any(may_hinder(fault, run, moved.node)
                   for fault in story.server_faults(moved.at - SECOND, run.last))
    stopped_at = run.last - (run.grace if run.job in DEAF else 0)
    return held and not hindered and stopped_at > until


def may_hinder(fault, run, node):
    """Whether it may keep that run from asking that primary."""
    if fault.on in ("server", "link"):
        return fault.node == node
    return fault.on != "host" or fault.host == run.host


def wrong_overrun(story, run):
    if run.max_run_ms is None:
        yield "there is no --max-run"
    elif run.ended - run.at < run.max_run_ms * MS:
        yield f"all of it took only {(run.ended - run.at) / MS:.0f} ms"
    elif run.struck("guard", "stop", "trace"):
        return  # the command may start late, or never
    elif not run.root:
        yield "no job was started"
    elif run.ended - run.start < run.max_run_ms * MS - LOAD:
        yield f"the job ran for only {(run.ended - run.start) / MS:.0f} ms"


def wrong_replaced(story, run):
    """Who gave the order was there, and its heartbeat repeated it."""
    askers = [other for other in story.runs.values()
              if other is not run and other.has_option("--replace")
              and set(other.keys) & set(run.keys)]
    if not run.has_option("--replaceable"):
        yield "there is no --replaceable"
    elif not run.root:
        yield "no job was started"
    elif not any(other.at < run.ended and run.start < other.ended + ORDERED + run.stopped_for()
                 for other in askers):
        yield "nobody with --replace was there"


CHECKS = {UNAVAILABLE: wrong_unavailable, RESOURCE: wrong_resource, BUSY: wrong_busy,
          LOST: wrong_lost, OVERRUN: wrong_overrun, REPLACED: wrong_replaced}

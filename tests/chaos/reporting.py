"""Rules about what runs say of themselves: log, hooks and metrics agree with what happened."""
from endings import LOST, REPLACED, SIGNAL
from finding import Finding
from leftovers import was_killed
from story import NEVER, SECOND

FORGETFUL = ("kill", "crash", "hang", "split", "failover", "flush", "migrate")
SEEN = SECOND // 2  # after the end of a run the sampler has looked at each lock


def find_wrong_reports(story):
    """A log or a hook says something else than the exit status. One that was killed may
    have said nothing."""
    said = {}
    for report in story.by_type["report"]:
        said.setdefault((report.run, report.by), []).append(report)
    for run in story.runs.values():
        if run.sinks and run.exit and not was_killed(run):
            for text in [*wrong_log(run, said.get((run.number, "log"), [])),
                         *wrong_hooks(run, said.get((run.number, "hook"), []))]:
                yield Finding("report", run.ended, (run.number,), text)


def wrong_log(run, reports):
    """Lines that a slow disk did not take in time are reported on stderr."""
    ends = [report.status for report in reports if report.event == "ended"]
    if "dropping lines" in run.exit.stderr and not ends:
        return
    if ends != [as_in_shell(run.exit.status)]:
        yield f"status {run.exit.status}, but its log says {ends or 'nothing of an end'}"


def as_in_shell(status):
    return SIGNAL - status if status < 0 else status


def wrong_hooks(run, reports):
    """A hook that could not be run in time is reported on stderr."""
    if "hook" in run.exit.stderr:
        return
    events = {report.event for report in reports}
    for status, event in ((LOST, "lost"), (REPLACED, "replaced")):
        if (run.exit.status == status) != (event in events):
            yield (f"status {run.exit.status}, but its hooks say "
                   f"{', '.join(events) or 'nothing'}")
    if {"lost", "released"} <= events:
        yield "its hooks say that it was lost, and released"


def find_wrong_counts(story):
    """The metrics of a lock lack a run, or have more than there were. One that was killed
    may have counted itself."""
    counts = {count.key: count.runs for count in story.by_type["counted"]}
    for key in {key for run in story.runs.values() for key in run.keys}:
        ended = [run for run in story.runs.values()
                 if run.sinks and run.exit and key in run.keys]
        sure = [run for run in ended if not (was_killed(run) or "metrics" in run.exit.stderr)]
        if not len(sure) <= counts.get(key, 0) <= len(ended):
            yield Finding("count", story.end.at, (), f'the metrics of "{key}" have '
                          f"{counts.get(key, 0)} runs, but {len(sure)} to {len(ended)} ended")


def find_false_successes(story):
    """The record of a lock says that a run succeeded which did not, as it had lost another
    lock. One that was killed, or could not reach a server at its end, could not correct
    what was recorded."""
    owners = {token: run for run in story.runs.values() for token in run.tokens}
    for record, until in last_records(story):
        run = owners.get(record.token)
        if record.status == "0" and run and run.exit and run.exit.status != 0 \
                and until > run.ended + SEEN and could_correct(story, run):
            yield Finding("success", run.ended, (run.number,),
                          f'status {run.exit.status}, but the record of "{record.key}" '
                          f"on {record.node} says 0")


def last_records(story):
    """Each with the time until which it was there."""
    latest = {}
    for record in story.by_type["recorded"]:
        place = (record.node, record.key)
        if place in latest:
            yield latest[place], record.at
        latest[place] = record
    for record in latest.values():
        yield record, NEVER


def could_correct(story, run):
    """It tries for 10 s, unless a signal ends it, and a server keeps what it has done."""
    if was_killed(run) or run.struck("wrapper") or run.ended - run.last > 9 * SECOND:
        return False
    return not any(fault.fault in FORGETFUL
                   for fault in story.server_faults(run.last - 5 * SECOND, run.ended))

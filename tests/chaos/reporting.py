"""Rules about what runs say of themselves: log, hooks and metrics agree with what happened."""
from endings import LOST, SIGNAL
from finding import Finding
from leftovers import was_killed


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
    ends = [report.status for report in reports if report.event == "ended"]
    if ends != [as_in_shell(run.exit.status)]:
        yield f"status {run.exit.status}, but its log says {ends or 'nothing of an end'}"


def as_in_shell(status):
    return SIGNAL - status if status < 0 else status


def wrong_hooks(run, reports):
    """A hook that could not be run in time is reported on stderr."""
    if "hook" in run.exit.stderr:
        return
    events = {report.event for report in reports}
    if (run.exit.status == LOST) != ("lost" in events):
        yield f"status {run.exit.status}, but its hooks say {', '.join(events) or 'nothing'}"
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

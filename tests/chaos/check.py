#!/usr/bin/python3 -SB
"""Checks the history of a chaos against the promises of rlockrun.

    check.py HISTORY [--picture FILE]

Prints a line for each finding, then what the history covered, then one line of totals.
A finding that CAVEATS of rlockrun(1) explains is excused, and counted apart. FILE gets
the history and the findings as an SVG.

Status 0: no findings but excused ones; 1: findings; 64: wrong usage; 65: no history."""
import collections
import sys

import endings
import exclusion
import history
import leftovers
import pauses
import remembered
import reporting
import tenures
from story import Story

# Each rule yields findings; its docstring says what must not be.
RULES = (
    exclusion.find_overlaps,
    exclusion.find_too_many,
    exclusion.find_outlived_leases,
    exclusion.find_broken_order,
    exclusion.find_overtaken,
    exclusion.find_wrong_fences,
    exclusion.find_repeated_tokens,
    exclusion.find_unlocked,
    pauses.find_starts_in_pauses,
    remembered.find_repeated_ids,
    remembered.find_wrong_verdicts,
    endings.find_hangs,
    endings.find_wrong_statuses,
    endings.find_ignored_signals,
    endings.find_waiters_that_stay,
    tenures.find_short_holds,
    tenures.find_late_joins,
    tenures.find_stuck_locks,
    tenures.find_returns,
    tenures.find_idle_locks,
    tenures.find_held_up_readers,
    leftovers.find_orphans,
    leftovers.find_left_processes,
    leftovers.find_left_keys,
    leftovers.find_faults_of_history,
    reporting.find_wrong_reports,
    reporting.find_wrong_counts,
    reporting.find_false_successes,
)


def check(records):
    """The findings of a history, in the order of time."""
    story = Story(records)
    findings = [finding for rule in RULES for finding in rule(story)]
    return sorted(findings, key=lambda finding: finding.at)


def is_clean(findings):
    return all(finding.excused for finding in findings)


def describe_coverage(records):
    """Lines that say how much there was to check."""
    story = Story(records)
    acquired = [run for run in story.started if run.token]
    faults = collections.Counter(f"{fault.on} {fault.fault}" for fault in story.faults)
    statuses = collections.Counter(name_of(run.exit.status) for run in story.runs.values()
                                   if run.exit)
    yield (f"{story.topology}, seed {story.begin.seed}: {len(story.runs)} runs, "
           f"{len(story.started)} jobs, {len(acquired)} with the lock, "
           f"{exclusion.count_turns(story)} turns from one to another")
    yield f"faults: {describe(faults)}"
    yield f"statuses: {describe(statuses)}"


def name_of(status):
    """Jobs have statuses of their own up to 40."""
    return "1 to 40" if 0 < status <= 40 else str(status)


def describe(counts):
    """Counts of things as `3 of this, 2 of that`, the most frequent first."""
    return ", ".join(f"{name} x {count}" for name, count in counts.most_common()) or "none"


def describe_totals(findings):
    found = collections.Counter(finding.kind for finding in findings if not finding.excused)
    excused = collections.Counter(f"{finding.kind} ({finding.excused})"
                                  for finding in findings if finding.excused)
    return f"findings: {describe(found)}; excused: {describe(excused)}"


def draw(records, findings, path):
    import picture
    with open(path, "w", encoding="utf-8") as file:
        file.write(picture.draw(records, findings))


def parse_arguments(arguments):
    """The paths of history and picture, which may be None. ValueError if wrong."""
    if len(arguments) == 3 and arguments[1] == "--picture":
        return arguments[0], arguments[2]
    if len(arguments) == 1 and not arguments[0].startswith("-"):
        return arguments[0], None
    raise ValueError("usage: check.py HISTORY [--picture FILE]")


def main(arguments):
    try:
        path, drawing = parse_arguments(arguments)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 64
    try:
        records = history.load(path)
    except (OSError, history.Malformed) as error:
        print(f"check.py: {path}: {getattr(error, 'strerror', None) or error}",
              file=sys.stderr)
        return 65
    findings = check(records)
    for line in [*findings, *describe_coverage(records), describe_totals(findings)]:
        print(line)
    if drawing:
        draw(records, findings, drawing)
    return 0 if is_clean(findings) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

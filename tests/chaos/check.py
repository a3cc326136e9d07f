#!/usr/bin/python3 -SB
"""Reads the log of a round of chaos, and reports each promise that was broken.

    tests/chaos/check.py build/chaos/TOPOLOGY-SEED

The promises are those of tests/sim/README.md, as far as real processes can show them. None
has a bound in time, as the machine may be slow: a job may overlap another one by little if
its guard, or its own death, was late by that. So `job witness` notes how late any process
was, and an overlap counts if it is many times longer."""
import collections
import signal
import sys

from plan import NESTED

JUDGED = 10  # so many times longer
BEFORE_US = 5_000_000  # what was late then may count
UNAVAILABLE, RESOURCE, BUSY, LOST, OVERRUN = 69, 71, 75, 79, 124
SENT = {"term": 15, "int": 2, "hup": 1, "interrupt": 2, "hangup": 1}


class Run:
    def __init__(self):
        self.mode = self.keys = self.options = self.end = self.status = None
        self.started, self.faults, self.stopped_at = False, [], None

    def ttl_us(self):
        return int(self.options[1].removesuffix("ms")) * 1000


class Log:
    def __init__(self, path):
        self.runs = collections.defaultdict(Run)
        self.late, self.overlaps, self.outlived = [], [], []
        self.faults = collections.Counter()
        self.findings, self.unjudged, self.fences = [], 0, {}
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                at, number, word, *more = line.split()
                getattr(self, "on_" + word)(int(at), int(number), *more)
                self.last_at = int(at)

    def find(self, promise, text):
        self.findings.append(f"{promise}: {text}")

    def on_run(self, _at, number, mode, keys, sort, *options):
        run = self.runs[number]
        run.mode, run.keys, run.options = mode, keys.split(","), options
        if sort == "nested":
            inner = self.runs[number + NESTED]
            inner.mode, inner.keys, inner.options = "-", run.keys, options
            inner.faults = run.faults

    def on_fault(self, at, number, on, fault, *_more):
        self.faults[f"{on} {fault}"] += 1
        if number:
            self.runs[number].faults.append((on, fault))
        if (on, fault) == ("wrapper", "stop"):
            self.runs[number].stopped_at = at

    def on_continued(self, _at, number):
        self.runs[number].stopped_at = None

    def on_late(self, at, _number, late_us):
        self.late.append((at, int(late_us)))

    def on_start(self, _at, number, _pid, fences):
        run = self.runs[number]
        run.started = True
        if run.mode == "x" and fences != "-":
            for key, fence in zip(run.keys, map(int, fences.split(","))):
                if fence <= self.fences.get(key, 0):
                    self.find("fences grow", f"{key}: run {number} has {fence}, "
                              f"another had {self.fences[key]}")
                self.fences[key] = fence

    def on_overlap(self, at, number, key):
        self.overlaps.append([at, number, key, None])

    def on_alone(self, at, number, key):
        for overlap in self.overlaps:
            if overlap[1:] == [number, key, None]:
                overlap[3] = at

    def on_end(self, at, number, status):
        """The lease of a run that is stopped was renewed before that."""
        run = self.runs[number]
        run.end = int(status)
        if run.stopped_at is not None:
            self.outlived.append((run.stopped_at + run.ttl_us(), at, number))

    def on_exit(self, at, number, status):
        self.runs[number].status = int(status)
        for overlap in self.overlaps:
            if overlap[1] == number and overlap[3] is None:
                overlap[3] = at

    def on_quiet(self, *_):
        """All faults of servers are over."""

    def on_left(self, _at, number, what, *more):
        self.find({"run": "every run ends", "process": "the job never outlives rlockrun",
                   "key": "nothing is left but what has a life"}[what],
                  " ".join([f"run {number}" if number else what, *more]))

    def check_spans(self):
        for begin, number, key, end in self.overlaps:
            self.judge("one at a time", begin, end or self.last_at,
                       f"run {number} began under {key} beside the job of another one")
        for begin, end, number in self.outlived:
            self.judge("the job never outlives the lease", begin, end,
                       f"the job of run {number}, which was stopped, went on")

    def judge(self, promise, begin, end, text):
        late = [late for at, late in self.late if begin - BEFORE_US <= at <= end]
        if end - begin > JUDGED * max(late, default=0):
            self.find(promise, f"{text}, for {(end - begin) / 1000:.0f} ms")
        elif end > begin:
            self.unjudged += 1

    def check_statuses(self):
        for number, run in self.runs.items():
            if run.status is not None and run.keys and run.status not in allowed(run):
                self.find("the exit code tells the truth",
                          f"run {number} {describe(run)} and exits with {run.status}")
        if not any(run.started for run in self.runs.values()):
            self.find("something was played", "no job was started")

    def check(self):
        self.check_spans()
        self.check_statuses()
        return self.findings

    def summary(self):
        started = sum(run.started for run in self.runs.values())
        ran = sum(run.status is not None for run in self.runs.values())
        yield f"{ran} runs, {started} jobs; " + ", ".join(
            f"{fault} x {count}" for fault, count in sorted(self.faults.items()))
        if self.unjudged:
            late = max((late for _, late in self.late), default=0)
            yield (f"{self.unjudged} x too short to judge on this machine, which let processes "
                   f"wait for up to {late / 1000:.0f} ms")


def allowed(run):
    """Statuses that are no lie. A job that is over in time may still be reported as lost."""
    allowed = {LOST, RESOURCE}
    if run.end is not None:
        allowed.add(run.end)
    if not run.started:
        allowed |= {UNAVAILABLE} | ({BUSY} if "-w" in run.options else set())
    if "--max-run" in run.options:
        allowed.add(OVERRUN)
    for on, fault in run.faults:
        if fault in SENT:
            allowed |= {-SENT[fault], 128 + SENT[fault]}
        if (on, fault) == ("wrapper", "kill"):
            allowed.add(-signal.SIGKILL)
        if (on, fault) == ("job", "kill"):
            allowed |= {-signal.SIGKILL, 128 + signal.SIGKILL}
    return allowed


def describe(run):
    faults = "".join(f", {on} {fault}" for on, fault in run.faults)
    job = "starts no job" if not run.started else \
        "has a job without an end" if run.end is None else f"has a job that ends with {run.end}"
    return f"({' '.join(run.options)}{faults}) {job}"


if __name__ == "__main__":
    log = Log(sys.argv[1] + "/log")
    print(*log.check(), *log.summary(), sep="\n")
    sys.exit(bool(log.findings))

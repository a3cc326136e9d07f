#!/usr/bin/python3 -SB
"""When the whole machine stood still, as a virtual machine may: nothing ran on any of its
processors, though its clock went on. No guard can kill a job then.

    standstill.py PROCESSOR

prints `BEGIN END`, in microseconds, for each time in which that processor did not even run
this process, which has priority over all that chaos starts. Without the privilege for that
priority nothing is watched, and so nothing is excused."""
import os
import subprocess
import sys
import time

from page import now_us

EVERY_S = 0.02
LEAST_US = 100_000


class Watch:
    """Runs until stop()."""

    def __init__(self):
        self.processes = [
            subprocess.Popen([sys.executable, "-SB", __file__, str(processor)],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            for processor in sorted(os.sched_getaffinity(0))]

    def pids(self):
        return [process.pid for process in self.processes]

    def stop(self):
        """The (begin, end) of each standstill."""
        for process in self.processes:
            process.terminate()
        first, *others = [spans_in(process.communicate()[0]) for process in self.processes]
        for spans in others:
            first = [(max(one[0], other[0]), min(one[1], other[1]))
                     for one in first for other in spans]
        return [(begin, end) for begin, end in first if end - begin >= LEAST_US]


def spans_in(text):
    return [tuple(map(int, line.split())) for line in text.splitlines()]


def watch(processor):
    os.sched_setaffinity(0, {processor})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return
    last = now_us()
    while True:
        time.sleep(EVERY_S)
        now = now_us()
        if now - last >= LEAST_US:
            print(last, now, flush=True)
        last = now


if __name__ == "__main__":
    watch(int(sys.argv[1]))

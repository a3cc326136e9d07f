"""What runs say of themselves: a log and metrics that they share, and hooks that note each
call."""
import collections
import glob
import json
import os
import re

LABEL = "run "  # --label: RUN in the log, and in the environment of hooks
COUNTED = re.compile(r'rlockrun_runs_total{key="(?P<key>\w+)",.*} (?P<runs>\d+)\n')


class Reports:
    def __init__(self, folder):
        self.log, self.hooks, self.metrics = (folder + name
                                              for name in ("/log", "/hooks", "/metrics"))
        os.mkdir(self.metrics)

    def options(self, number):
        """Those of run NUMBER."""
        note = f"echo \"$RLOCKRUN_LABEL,$RLOCKRUN_EVENT,$RLOCKRUN_STATUS\" >>'{self.hooks}'"
        return ["--label", LABEL + str(number), "--log-to", self.log, "--log-format", "json",
                "--hook", note, "--metrics", self.metrics]

    def slow_disk(self, ms):
        """What a run is started by if each of its calls to its log and metrics is to take so
        much longer. strace is no parent of the run then, and ends with it."""
        calls = "openat,newfstatat,unlinkat,read,writev,renameat2"
        return ["strace", "-D", "-qq", "-o", "/dev/null", "-P", self.log, "-P", self.metrics,
                "-e", "trace=" + calls, "-e", f"inject={calls}:delay_enter={ms * 1000}"]

    def count(self):
        """The fields of a record for each lock: how many of its runs the metrics have."""
        counts = collections.Counter()
        for path in glob.glob(self.metrics + "/*.prom"):
            for line in lines_of(path):
                if found := COUNTED.fullmatch(line):
                    counts[found["key"]] += int(found["runs"])
        return [{"key": key, "runs": runs} for key, runs in counts.items()]

    def read(self):
        """The fields of a record for each line of log and hooks."""
        for line in lines_of(self.log):
            said = json.loads(line)
            yield fields_of("log", said["label"], said["event"], said.get("status"))
        for line in lines_of(self.hooks):
            label, event, status = line.rstrip("\n").split(",")
            yield fields_of("hook", label, event, int(status) if status else None)


def lines_of(path):
    """None of them if nobody has written there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.readlines()
    except FileNotFoundError:
        return []


def fields_of(by, label, event, status):
    return {"run": int(label.removeprefix(LABEL)), "by": by, "event": event, "status": status}

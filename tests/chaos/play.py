"""Plays a plan against the servers of a fleet. What happens is written into a log, by this
process and by the jobs themselves (job.c); check.py reads it."""
import fcntl
import heapq
import os
import selectors
import signal
import subprocess
import termios
import threading
import time

import faults
import plan
from processes import (command_of, descendants_of, guard_of, is_zombie, name_of, open_process,
                       reap_orphans, signal_process)

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_LIVE = 40  # runs at a time: what comes then is left out
IDLE_S = 60  # when nothing at all has happened for so long, nothing will
LOOK_S = 0.02
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT,
           "hup": signal.SIGHUP, "stop": signal.SIGSTOP}


class Run:
    """A rlockrun that was started."""

    def __init__(self, action, process, terminal):
        self.action, self.process, self.terminal = action, process, terminal
        self.number = action["run"]
        self.pidfd = os.pidfd_open(process.pid)
        self.command = None  # the pid of its job, when that has said so


class Play:
    def __init__(self, the_plan, fleet, folder, rlockrun, job):
        self.plan, self.fleet, self.folder = the_plan, fleet, folder
        self.rlockrun, self.job = rlockrun, job
        self.log = os.open(folder + "/log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.read_to = 0  # of the log
        self.happened_at = time.monotonic()
        self.live = {}  # number -> Run
        self.due = []  # (time, number, what to do)
        self.helpers = []  # tracers and witnesses
        self.ends = selectors.DefaultSelector()
        self.over = threading.Event()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("RLOCKRUN", "REDIS"))}
        self.environment.update(RLOCKRUN_CONFIG="none", **fleet.environment)

    def note(self, run, *words):
        line = " ".join(map(str, (time.monotonic_ns() // 1000, run, *words)))
        os.write(self.log, line.encode() + b"\n")

    # --- the course of it -----------------------------------------------------------

    def play(self):
        for processor in os.sched_getaffinity(0):
            self.help(self.job, self.folder, "witness", processor)
        striking = self.fleet.threads.submit(self.strike_servers, time.monotonic())
        try:
            for action in self.plan.runs:
                self.later(action["at_ms"], lambda action=action: self.start(action))
            self.later(self.plan.duration_ms, self.over.set)
            while not self.over.is_set() and not striking.done():
                self.pass_time()
            self.over.set()
            while not striking.done():
                self.pass_time()
            striking.result()
            self.note(0, "quiet")
            self.settle()
            self.note_rest()
        finally:
            self.over.set()
            self.end_processes()

    def later(self, ms, act):
        heapq.heappush(self.due, (time.monotonic() + ms / 1000, id(act), act))

    def pass_time(self):
        """A short time, in which all is done that is due, and ends and starts are seen."""
        while self.due and self.due[0][0] <= time.monotonic():
            heapq.heappop(self.due)[2]()
        for key, _ in self.ends.select(LOOK_S):
            self.finish(key.data)
        self.read_log()
        reap_orphans(self.ours())

    def settle(self):
        """Returns when all has ended, or nothing has happened for a long time. What a job may
        leave ends soon after it."""
        self.happened_at = time.monotonic()
        while (self.live or self.strangers()) and time.monotonic() < self.happened_at + IDLE_S:
            self.pass_time()

    def read_log(self):
        """What jobs have said since: the first of their words starts what is to strike it."""
        text = os.pread(self.log, 1 << 20, self.read_to)
        self.read_to += (length := text.rfind(b"\n") + 1)
        for line in text[:length].decode().splitlines():
            _, number, word, *more = line.split()
            if word != "late":
                self.happened_at = time.monotonic()
            run = self.live.get(int(number))
            if word == "start" and run:
                run.command = int(more[0])
                self.strike_after(run, "start")

    # --- runs -----------------------------------------------------------------------

    def start(self, action):
        """Also a run that is stopped must not outlive us."""
        if self.over.is_set() or len(self.live) >= MAX_LIVE:
            return
        argv = self.fleet.on_host(
            action["host"], ["setpriv", "--pdeathsig", "KILL", *self.command(action)])
        on_terminal = action["fault"] and action["fault"]["on"] == "terminal"
        terminal, inside = os.openpty() if on_terminal else (None, None)
        self.note(action["run"], "run", action["mode"], ",".join(action["keys"]),
                  action["sort"], *action["options"])
        with open(f"{self.folder}/stderr.{action['run']}", "wb") as stderr:
            process = subprocess.Popen(
                argv, stdin=inside or subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=stderr, start_new_session=True, env=self.environment,
                preexec_fn=take_terminal if on_terminal else None)
        if on_terminal:
            os.close(inside)
        run = self.live[action["run"]] = Run(action, process, terminal)
        self.ends.register(run.pidfd, selectors.EVENT_READ, run)
        self.strike_after(run, "run")

    def command(self, action):
        words = [*self.locked(action), *self.job_of(action)]
        if action["sort"] == "nested":
            inner = {**action, "run": action["run"] + plan.NESTED, "sort": "short", "mode": "-",
                     "job_ms": action["job_ms"] // 2}
            words += [*self.locked({**inner, "mode": action["mode"]}), *self.job_of(inner)]
        return list(map(str, words))

    def job_of(self, action):
        return [self.job, self.folder, action["run"], action["sort"], action["job_ms"],
                action["job_status"], action["mode"], ",".join(action["keys"]),
                int(action["wait_all"])]

    def locked(self, action):
        words = [self.rlockrun, *action["options"]]
        for url in self.fleet.urls:
            words += ["-r", url]
        for key in action["keys"]:
            words += ["-k", key]
        if self.plan.topology in plan.REPLICATED:
            words += ["--wait-replicas", 1]
        if len(self.fleet.urls) > 1:
            words += ["--min-uptime", 0]  # they keep what they acknowledged
        words += {"x": [], "s": ["-s"], "p": ["-p", plan.PERMITS]}[action["mode"]]
        return [*words, "--"]

    def finish(self, run):
        self.ends.unregister(run.pidfd)
        self.note(run.number, "exit", run.process.wait())
        os.close(run.pidfd)
        if run.terminal:
            os.close(run.terminal)
        del self.live[run.number]

    # --- faults ---------------------------------------------------------------------

    def strike_servers(self, begun):
        """One after the other, in a thread; at the end all can be had again."""
        for action in self.plan.server_faults:
            if self.over.wait(max(0, begun + action["at_ms"] / 1000 - time.monotonic())):
                return
            faults.strike(self.fleet, action, self.over, self.note)

    def strike_after(self, run, event):
        fault = run.action["fault"]
        if fault and fault["after"] == event:
            self.later(fault["after_ms"], lambda: self.strike(run, fault))

    def strike(self, run, fault):
        """Nothing if it has ended, or is not yet what it is to become."""
        wrapper = run.process.pid
        if run.number not in self.live or name_of(wrapper) != "rlockrun":
            return
        pid = {"guard": guard_of(wrapper), "job": run.command}.get(fault["on"], wrapper)
        if not pid or is_zombie(pid) or not (target := open_process(pid)):
            return
        self.note(run.number, "fault", fault["on"], fault["fault"], fault["ms"])
        if fault["fault"] == "interrupt":
            os.write(run.terminal, b"\x03")
        elif fault["fault"] == "hangup":
            os.close(run.terminal)
            run.terminal = None
        elif fault["fault"] == "trace":
            self.help(HERE + "/tracer", pid, fault["ms"])
        else:
            signal_process(target, SIGNALS[fault["fault"]])
        if fault["fault"] == "stop":
            self.later(fault["ms"], lambda: self.go_on(run, target))
        else:
            os.close(target)

    def go_on(self, run, target):
        self.note(run.number, "continued")
        signal_process(target, signal.SIGCONT)
        os.close(target)

    def help(self, *argv):
        self.helpers.append(subprocess.Popen(
            list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL))

    # --- what is left ---------------------------------------------------------------

    def ours(self):
        of_fleet = [process.pid for node in self.fleet.nodes
                    for process in (node.process, node.wire) if process]
        self.helpers = [helper for helper in self.helpers if helper.poll() is None]
        return {*of_fleet, *(helper.pid for helper in self.helpers),
                *(run.process.pid for run in self.live.values())}

    def strangers(self):
        return descendants_of(os.getpid(), self.ours())

    def note_rest(self):
        for number in self.live:
            self.note(number, "left", "run")
        for pid in self.strangers():
            self.note(0, "left", "process", pid, command_of(pid))
        for node in self.fleet.nodes:
            if node.role == "server" and node.is_primary():
                for key in node.ask("KEYS", "*", timeout=5) or []:
                    if node.ask("PTTL", key, timeout=5) == -1:
                        self.note(0, "left", "key", node.name, key)

    def end_processes(self):
        """All that are left, also when something went wrong here."""
        for process in [*self.helpers, *(run.process for run in self.live.values())]:
            process.kill()
            process.wait()
        self.live, self.helpers = {}, []
        while left := self.strangers():
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            reap_orphans(self.ours())
            time.sleep(LOOK_S)
        os.close(self.log)


def take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

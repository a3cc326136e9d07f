"""Plays a plan against the servers of a fleet, and notes what happened: the records of
history.py, which check.py reads."""
import concurrent.futures
import heapq
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time

import plan
from left import keys_left
from page import Page, now_us
from processes import (children_of, command_of, descendants_of, guard_of, is_zombie, name_of,
                       open_process, reap_orphans, signal_process)
from reports import Reports
from sample import Sampler
from standstill import Watch

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "second", "client.py")
MAX_LIVE = 60  # runs at a time: what comes then is left out
SETTLE_S = 60  # that runs may take to end when all faults are over
STDERR_BYTES = 2000
REAP_MS = 200
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT,
           "hup": signal.SIGHUP, "stop": signal.SIGSTOP}


class Run:
    """A rlockrun that was started."""

    def __init__(self, action, process, pidfd, stderr):
        self.action, self.process, self.pidfd, self.stderr = action, process, pidfd, stderr
        self.number = action["run"]


class Command:
    """A --pause, a --resume or a --check."""

    def __init__(self, action, process, out, begun):
        self.action, self.process, self.out, self.begun = action, process, out, begun
        self.pidfd = os.pidfd_open(process.pid)


class Play:
    def __init__(self, the_plan, fleet, folder, rlockrun, job):
        self.plan, self.fleet, self.folder = the_plan, fleet, folder
        self.rlockrun, self.job = rlockrun, job
        self.keys = plan.keys_of(the_plan.topology)
        self.page = Page(folder + "/page")
        self.reports = Reports(folder)
        self.begun_us = now_us()
        self.records = []
        self.live = {}  # run number -> Run
        self.kills = {}  # run number -> record of the fault that killed its wrapper
        self.stops = {}  # pid -> records of the faults that have stopped it
        self.run_by_pid = {}
        self.struck = set()  # numbers of runs
        self.commands_live = set()  # that pause, resume and check
        self.resumed_at = 0  # the last time at which a --resume may have acted
        self.reap_at = 0
        self.due = []  # (time, number, what to do) of faults that end
        self.tracers = {}  # process -> record of the fault
        self.watch = None
        self.ends = selectors.DefaultSelector()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("RLOCKRUN", "REDIS"))}
        self.environment["RLOCKRUN_CONFIG"] = "none"
        self.environment.update(fleet.environment)

    # --- history -----------------------------------------------------------------

    def at(self):
        return now_us() - self.begun_us

    def note(self, what, /, at=None, **fields):
        record = {"type": what, "at": self.at() if at is None else at, **fields}
        self.records.append(record)
        return record

    # --- the course of it ----------------------------------------------------------

    def play(self):
        """Returns the records, in order of time."""
        self.warm_up()
        self.begun_us = now_us()
        self.note("begin", seed=self.plan.seed, topology=self.plan.topology,
                  duration_ms=self.plan.duration_ms, namespaces=self.fleet.namespaces)
        sampler = Sampler(self.fleet, self.plan.topology, self.keys, self.note,
                          self.at, self.run_by_pid.get)
        sampler.start()
        self.watch = Watch()
        try:
            self.act()
            self.calm_down()
        finally:
            self.end_processes()
            sampler.stop()
            standstills = self.watch.stop()
        for begin, end in standstills:
            self.note("standstill", at=begin - self.begun_us, until=end - self.begun_us)
        self.note_page()
        for fields in self.reports.read():
            self.note("report", **fields)
        for fields in self.reports.count():
            self.note("counted", **fields)
        self.note("end")
        self.page.close()
        return sorted((record for record in self.records if "missed" not in record),
                      key=lambda record: record["at"])

    def warm_up(self):
        """A server that has just been started does not count for a majority, and its
        uptime may be a second more than it says."""
        if plan.is_redlock(self.plan.topology):
            time.sleep(plan.MIN_UPTIME_MS / 1000 + 1)

    def act(self):
        for action in self.plan.actions:
            self.pass_time_until(self.begun_us + action["at_ms"] * 1000)
            if action["do"] == "run":
                self.start(action)
            elif action["do"] == "pause":
                self.pause(action)
            elif action["do"] == "check":
                self.check(action["key"], action["host"])
            else:
                self.strike(action)
        self.pass_time_until(self.begun_us + self.plan.duration_ms * 1000)

    def pass_time_until(self, end_us):
        """Sees runs end and ends faults meanwhile."""
        while (now := now_us()) < end_us:
            while self.due and self.due[0][0] <= now:
                heapq.heappop(self.due)[2]()
            until = min([end_us] + [due[0] for due in self.due[:1]])
            self.see_ends(max(0, (until - now_us()) / 1e6))

    def see_ends(self, seconds):
        for key, _ in self.ends.select(seconds):
            if isinstance(key.data, Command):
                self.finish_command(key.data)
            else:
                self.finish(key.data)
        self.see_traces_end()
        self.reap()

    def reap(self):
        """What jobs left, and nobody else waits for: a chain of processes that fork and
        exit would fill the process table."""
        if now_us() > self.reap_at:
            reap_orphans(self.ours() | {run.process.pid for run in self.live.values()}
                         | {command.process.pid for command in self.commands_live})
            self.reap_at = now_us() + REAP_MS * 1000

    def calm_down(self):
        """Ends all faults, and waits for all runs and their processes to end."""
        while self.due:
            heapq.heappop(self.due)[2]()
        self.heal()
        self.note("quiet")
        self.wait_for_ends()
        self.check_all()
        self.wait_for_ends()
        self.wait_for_rest()
        self.note_rest()

    def wait_for_ends(self):
        """Of what was started."""
        end = time.monotonic() + SETTLE_S
        while (self.live or self.commands_live) and time.monotonic() < end:
            self.see_ends(0.2)

    def heal(self):
        """Meanwhile runs end, and are seen to: a new primary may take long."""
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            healing = thread.submit(self.fleet.heal_all)
            while not healing.done():
                self.see_ends(0.05)
            healing.result()

    # --- runs ----------------------------------------------------------------------

    def start(self, action):
        if len(self.live) >= MAX_LIVE:
            return
        number = action["run"]
        # Also a run that is stopped must not outlive us.
        argv = self.fleet.on_host(
            action["host"], ["setpriv", "--pdeathsig", "KILL", *self.command(action)])
        stderr = f"{self.folder}/err.{number}"
        begun = self.at()  # its job may start before Popen() is back
        with open(stderr, "wb") as file:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file,
                start_new_session=True, env=self.environment)
        fields = {name: value for name, value in action.items()
                  if name not in ("do", "at_ms", "more")}
        self.note("run", at=begun, pid=process.pid, outer=None, options=action["more"],
                  **fields)
        run = Run(action, process, os.pidfd_open(process.pid), stderr)
        self.live[number] = run
        self.run_by_pid[process.pid] = number
        self.ends.register(run.pidfd, selectors.EVENT_READ, run)

    def command(self, action):
        job = [self.job, self.page.path, action["run"], action["job"], action["job_ms"],
               action["job_status"], self.bits(action["keys"]), int(action["wait_all"]), 0]
        if action["job"] in plan.NESTING:
            inner = dict(action, **nested_in(action), more=[])
            job += self.locked(inner) + [
                self.job, self.page.path, inner["run"], "short", inner["job_ms"],
                inner["job_status"], self.bits(inner["keys"]), int(inner["wait_all"]),
                action["run"]]
        locked = self.locked_by_client if action["client"] else self.locked
        words = [str(word) for word in locked(action) + job]
        return self.reports.slow_disk(action["disk_ms"]) + words if action["disk_ms"] else words

    def bits(self, keys):
        return f"{sum(1 << self.keys.index(key) for key in keys):x}"

    def locked(self, action):
        words = [self.rlockrun, *action["more"]]
        for url in self.fleet.urls:
            words += ["-r", url]
        for key in action["keys"]:
            words += ["-k", key]
        words += ["-t", f"{action['ttl_ms']}ms",
                  "--server-timeout", f"{action['server_timeout_ms']}ms"]
        if action["mode"] == "shared":
            words += ["--shared"]
        if action["mode"] == "permits":
            words += ["--permits", action["permits"]]
        for name in ("wait", "max_run", "min_hold", "kill_after"):
            if (ms := action[name + "_ms"]) is not None and (ms or name == "wait"):
                words += ["--" + name.replace("_", "-"), f"{ms}ms"]
        if action["wait_all"]:
            words += ["--wait-all"]
        if action["wait_replicas"]:
            words += ["--wait-replicas", action["wait_replicas"]]
        if action["sinks"]:
            words += self.reports.options(action["run"])
        if plan.is_redlock(self.plan.topology):
            words += ["--min-uptime", f"{plan.MIN_UPTIME_MS}ms"]
        return words + ["--on-lost", action["on_lost"],
                        "--on-unavailable", action["on_unavailable"], "--"]

    def locked_by_client(self, action):
        wait = [] if action["wait_ms"] is None else ["-w", action["wait_ms"] / 1000]
        return [CLIENT, "-r", *self.fleet.urls, "-k", *action["keys"],
                "-t", action["ttl_ms"] / 1000, *wait, "--"]

    def finish(self, run):
        """Of a rlockrun that has ended."""
        self.ends.unregister(run.pidfd)
        os.close(run.pidfd)
        status = run.process.wait()
        del self.live[run.number]
        self.page.forget_run(run.number)
        if run.number in self.kills and status != -signal.SIGKILL:
            self.kills[run.number]["missed"] = True  # it had ended before
        self.note("exit", run=run.number, status=status, stderr=text_of(run.stderr))
        os.unlink(run.stderr)

    # --- pauses and checks ---------------------------------------------------------

    def pause(self, action):
        """Names the lock at once, as its keys may be there even if nobody says so."""
        begun = self.at()
        self.note("paused", at=begun, key="z1", until=begun)
        self.start_command(action, action["host"], [
            "--pause", plan.PAUSED, "-k", "z1", "--for", f"{action['ms']}ms",
            "-w", f"{action['wait_ms']}ms", "--json"])

    def resume(self, action):
        """From now on nobody knows which pauses last."""
        self.end_pauses()
        self.start_command({"do": "resume"}, action["host"],
                           ["--resume", plan.PAUSED, "--json"])

    def check(self, key, host):
        self.start_command({"do": "check", "key": key}, host, ["--check", "-k", key])

    def check_all(self):
        """Nobody else is there any more."""
        for key in plan.families_of(self.plan.topology).get("once", ((),))[0]:
            self.check(key, 1)

    def start_command(self, action, host, words):
        urls = [word for url in self.fleet.urls for word in ("-r", url)]
        argv = ["setpriv", "--pdeathsig", "KILL", self.rlockrun, *urls, *words,
                "--server-timeout", "3s"]
        out, begun = tempfile.TemporaryFile("w+", encoding="utf-8"), self.at()
        process = subprocess.Popen(
            self.fleet.on_host(host, argv), stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.DEVNULL, start_new_session=True, env=self.environment)
        command = Command(action, process, out, begun)
        self.commands_live.add(command)
        self.ends.register(command.pidfd, selectors.EVENT_READ, command)

    def finish_command(self, command):
        self.ends.unregister(command.pidfd)
        os.close(command.pidfd)
        status = command.process.wait()
        self.commands_live.remove(command)
        with command.out as lines:
            lines.seek(0)
            said = list(lines)
        if command.action["do"] == "check":
            self.note("checked", key=command.action["key"], begun=command.begun,
                      status=status, said=said)
        elif command.action["do"] == "resume":
            self.end_pauses()
        else:
            self.finish_pause(command, [json.loads(line) for line in said])

    def finish_pause(self, command, said):
        if self.resumed_at < command.begun and \
                all(other.action["do"] != "resume" for other in self.commands_live):
            self.note_pauses(command, said)
        if command.action["resumes"]:
            self.later(command.action["ms"] / 2, lambda: self.resume(command.action))

    def note_pauses(self, command, said):
        """What is left of a pause counts from some time after the command began."""
        for lock in said:
            if lock["paused"] and (until := command.begun + lock["ttl_ms"] * 1000) > self.at():
                self.note("paused", key=lock["name"], until=until)

    def end_pauses(self):
        self.resumed_at = now = self.at()
        for record in self.records:
            if record["type"] == "paused":
                record["until"] = max(record["at"], min(record["until"], now))

    # --- faults --------------------------------------------------------------------

    def strike(self, action):
        if action["on"] in ("wrapper", "guard", "job"):
            self.strike_process(action)
        else:
            self.strike_fleet(action)

    def later(self, ms, act):
        heapq.heappush(self.due, (now_us() + ms * 1000, len(self.records), act))

    def strike_fleet(self, action):
        fault, more = action["fault"], {}
        if action["on"] == "lock":
            more["key"] = pick(self.keys, action["which"])
        if fault == "tear":
            more["seed"] = int(action["which"] * 1e9)
        targets = [target for target in self.fleet.targets(fault, key=more.get("key"))
                   if kind_of(target) == action["on"] or action["on"] in ("link", "lock")]
        if not targets:
            return
        struck = self.fleet.strike(fault, pick(targets, action["whom"]), action["ms"], **more)
        if struck is None:
            return
        record = self.note("fault", **fields_of(struck))
        # Long enough for another to take its place.
        record["fault"] = {"crash": "kill", "hang": "stop"}.get(fault, fault)
        record["until"] = record["at"]

        def end():
            self.fleet.heal(struck)
            record["until"] = self.at()
            if fault == "late":  # so much later the last request arrives
                record["until"] += action["ms"] * 1000
        if self.fleet.faults()[fault].bounded:
            self.later(action["ms"], end)

    def strike_process(self, action):
        holders = self.commands()
        runs = [number for number, run in sorted(self.live.items())
                if not run.action["calm"]
                and (number in holders or not (action["holders"] or action["on"] == "job"))]
        if not runs:
            return
        number = self.choose(runs, holders, action)
        self.strike_run(number, holders, action)
        if then := action["then"]:
            self.later(then["after_ms"], lambda: self.strike_run(number, self.commands(), then))

    def choose(self, runs, holders, action):
        fresh = [number for number in runs if number not in self.struck]
        runs = fresh if fresh and not action["again"] else runs
        if action["longest"] and action["holders"]:
            return max(runs, key=lambda number: holders[number][2])
        return pick(runs, action["whom"])

    def strike_run(self, number, holders, action):
        """Nothing if it has ended, or is not yet what it is to become: it would say nothing."""
        if number not in self.live:
            return
        wrapper = self.live[number].process.pid
        if name_of(wrapper) != os.path.basename(self.rlockrun):
            return
        self.struck.add(number)
        pid = {"wrapper": wrapper, "guard": guard_of(wrapper),
               "job": holders.get(number, (None, None))[1]}[action["on"]]
        if not pid or is_zombie(pid) or not (target := open_process(pid)):
            return
        fault, ms = action["fault"], action["ms"]
        if (action["on"], fault) == ("job", "kill"):
            self.page.note_struck(holders[number][0])
        if fault != "trace" and not signal_process(target, SIGNALS[fault]):
            os.close(target)
            return
        record = self.note("fault", fault=fault, on=action["on"], run=number, ms=ms)
        record["until"] = record["at"]
        if (action["on"], fault) == ("wrapper", "kill"):
            self.kills[number] = record
        if fault == "trace":
            self.tracers[start_tracer(pid, ms)] = record
        if fault == "stop":
            self.stops.setdefault(pid, []).append(record)
            self.later(ms, lambda: self.go_on(target, pid))
        else:
            os.close(target)

    def go_on(self, target, pid):
        """Ends all stops of that process: one SIGCONT is enough for them."""
        signal_process(target, signal.SIGCONT)
        os.close(target)
        for record in self.stops.pop(pid, []):
            record["until"] = self.at()

    def see_traces_end(self):
        for tracer in [tracer for tracer in self.tracers if tracer.poll() is not None]:
            self.tracers.pop(tracer)["until"] = self.at()

    def commands(self):
        """The commands that live: run number -> slot, pid and when it would end."""
        return {slot["run"]: (index, slot["pid"], slot["start_us"] + self.job_us(slot["run"]))
                for index, slot in self.page.commands().items() if slot["run"] in self.live}

    def job_us(self, number):
        return self.live[number].action["job_ms"] * 1000

    # --- what is left ----------------------------------------------------------------

    def ours(self):
        """Pids of processes that are no part of what is tried here."""
        of_fleet = [process.pid for node in self.fleet.nodes
                    for process in (node.process, node.wire) if process]
        return {*of_fleet, *(tracer.pid for tracer in self.tracers), *self.watch.pids(),
                *disks_below(os.getpid())}

    def strangers(self):
        started = {run.process.pid for run in self.live.values()}
        started |= {command.process.pid for command in self.commands_live}
        reap_orphans(self.ours() | started)
        helpers = self.ours()
        return [pid for pid in descendants_of(os.getpid(), helpers) if pid not in started]

    def wait_for_rest(self):
        """What jobs may leave behind ends 2 s after them, and permits are gone from a
        server after three times their ttl."""
        end = time.monotonic() + 3 * plan.LONGEST_TTL_MS / 1000 + 1
        while time.monotonic() < end and (self.strangers() or self.locks_left()):
            time.sleep(0.1)

    def locks_left(self):
        return any(found["key"] in self.keys for found in keys_left(self.fleet))

    def note_rest(self):
        for run in self.live.values():
            self.note("left", what="run", run=run.number, pid=run.process.pid)
        for pid in self.strangers():
            self.note("left", what="process", pid=pid, run=self.run_of_process(pid),
                      command=command_of(pid))
        for found in keys_left(self.fleet):
            self.note("left", what="key", **found)

    def run_of_process(self, pid):
        return next((slot["run"] for _, slot in self.page.slots() if slot["pid"] == pid), None)

    def end_processes(self):
        """All that are left, also when something went wrong here."""
        for tracer in self.tracers:
            tracer.terminate()
            tracer.wait()
        self.see_traces_end()
        for run in self.live.values():
            run.process.kill()
            run.process.wait()
        for command in self.commands_live:
            command.process.kill()
            command.process.wait()
        self.live, self.commands_live = {}, set()
        for _ in range(100):
            if not (left := self.strangers()):
                break
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    # --- the page ----------------------------------------------------------------------

    def note_page(self):
        outer = {record["run"]: fields_of(record) for record in self.records
                 if record["type"] == "run"}
        for index, slot in self.page.slots():
            self.note_process(index, slot)
            if slot["inner_start_us"]:
                self.note_inner(slot, outer[slot["run"]])

    def note_process(self, index, slot):
        ended = slot["end_us"] != 0
        self.note("process", at=slot["start_us"] - self.begun_us, run=slot["run"],
                  pid=slot["pid"], root=slot["root"] == index,
                  alive=slot["alive_us"] - self.begun_us,
                  end=slot["end_us"] - self.begun_us if ended else None,
                  status=slot["status"] if ended else None, token=slot["token"] or None,
                  fence=int(slot["fence"].split("\n")[0]) if slot["fence"] else None,
                  saw=slot["saw"])

    def note_inner(self, slot, outer):
        """The rlockrun that was nested in a job: as its command saw it."""
        number = slot["run"] + plan.NESTED
        self.note("run", at=slot["inner_start_us"] - self.begun_us,
                  **{**outer, **nested_in(outer), "options": [],
                     "pid": slot["inner_pid"], "outer": slot["run"]})
        if slot["inner_end_us"]:
            self.note("exit", at=slot["inner_end_us"] - self.begun_us, run=number,
                      status=slot["inner_status"], stderr="")


def nested_in(run):
    """What is different in the run nested in the job of that one."""
    late = run["job"] == "joining"
    return {"run": run["run"] + plan.NESTED, "job": "short", "max_run_ms": None,
            "sinks": False, "disk_ms": 0,
            "min_hold_ms": 0, "wait_ms": plan.JOIN_WAIT_MS if late else None}


def disks_below(pid):
    """What makes a disk slow, which ends with its run."""
    return [child for child in children_of(pid) if name_of(child) == "strace"]


def fields_of(record):
    return {name: value for name, value in record.items() if name not in ("type", "at")}


def start_tracer(pid, ms):
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.Popen([here + "/tracer", str(pid), str(ms)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kind_of(target):
    return "host" if isinstance(target, int) else target.role


def pick(things, whom):
    return things[min(int(whom * len(things)), len(things) - 1)]


def text_of(path):
    with open(path, "rb") as file:
        return file.read()[:STDERR_BYTES].decode("utf-8", "replace")

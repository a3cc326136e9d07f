"""What runs in each round: every kind of run, by several workers side by side, and
what stays all the time: holders, a waiter and a live view."""
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../chaos"))
from processes import command_of, descendants_of  # noqa: E402

WORKERS = 6
OVER_S = 60  # a run that takes longer has failed

AFTER_S = 0.15  # its start, a run gets its signal
CUT = (0, 69)  # what looks at a server ends if its connection is cut


@dataclass(frozen=True)
class Scene:
    """A run, and the statuses that it may have. In its words {key} is a lock that all
    workers share, {own} one of this worker."""
    words: str
    statuses: tuple = (0,)
    signal: int = 0

    def argv(self, program, worker):
        name = self.words.split()[0]
        return [program] + [
            word.format(key=f"soak:{name}", own=f"soak:{name}:{worker}", program=program,
                        # spaces within a word
                        **{"_": " "})
            for word in self.words.split()[1:]]


# The first word is the scene's name.
SCENES = (
    Scene("plain -k {own} -- true"),
    Scene("queue -k {key} -w 30 -- sleep 0.02"),
    Scene("busy -n -k soak:held -- true", (75,)),
    Scene("timeout -w 0.1 -k soak:held -- true", (75, 69)),  # 69: cut, and no time left
    Scene("several -k soak:several -k {own} -k soak:queue -w 30 -- sleep 0.02"),
    Scene("shared -s -k {key} -w 30 -- sleep 0.05"),
    Scene("permits -p 2 -k {key} -w 30 -- sleep 0.05"),
    Scene("newest --newest -k {key} -w 30 -- sleep 0.05", (0, 75)),
    Scene("replace --replace --replaceable -k {key} -w 30 -- sleep 0.1", (0, 80)),
    Scene("once --once-per 2s --once-id a -k {key} -w 30 -- sleep 0.02", (0, 75)),
    Scene("skipped --once-per 1h -E 3 -k {own} -- true", (0, 3)),
    Scene("min-hold --min-hold 200ms -k {own} -- true"),
    Scene("max-waiters --max-waiters 2 -k soak:queue -w 30 -- true", (0, 75)),
    Scene("nested -k {own} -- {program} -k {own} -- true"),
    Scene("renewed -t 1 --warn-after 300ms -k {own} -- sleep 0.5"),
    Scene("max-run --max-run 100ms -k {own} -- sleep 60", (124,)),
    Scene("fails -k {own} -c exit{_}3", (3,)),
    Scene("missing -k {own} -- ./is-missing", (127,)),
    Scene("left -k {own} -c sleep{_}0.1{_}&"),
    Scene("wait-all --wait-all -k {own} -c sleep{_}0.1{_}&"),
    # Again if a cut has hit it: otherwise the lock is kept, and the job stays.
    Scene("lost -t 1 -k {own} -c until{_}redis-cli{_}-e{_}-s{_}s{_}del{_}{own};"
          "do{_}:;done;sleep{_}60", (79,)),
    Scene("forced -t 1 -k {own} -c until{_}{program}{_}--force-release{_}--yes{_}-k{_}{own};"
          "do{_}:;done;sleep{_}60", (79,)),
    Scene("unlocked -r unix:///is-missing --on-unavailable run --server-timeout 100ms"
          " -k {own} -- true"),
    Scene("unavailable -r unix:///is-missing --server-timeout 100ms -k {own} -- true", (69,)),
    # One that is waiting or has a job, and ends by a signal.
    Scene("terminated -k {own} -- sleep 60", (-signal.SIGTERM,), signal.SIGTERM),
    Scene("withdrawn -k soak:held -- true", (-signal.SIGTERM,), signal.SIGTERM),
    Scene("killed -t 1 -k {own} -w 30 -- sleep 60", (-signal.SIGKILL,), signal.SIGKILL),
    Scene("dead -k soak:several:1st -- true", (-signal.SIGKILL,), signal.SIGKILL),
    Scene("hold --hold 1s -k {own}"),
    Scene("status --status --json -k soak:held", CUT),
    Scene("list --list", CUT),
    Scene("all --list --all --json", CUT),
    Scene("history --history -k soak:fails:0", CUT),
    Scene("check --check soak:held", (0, 1, 2, 3)),
    # Also by its name, as none matches the pattern before it has run.
    Scene("pause --pause soak:paused* -k soak:paused --for 1s", CUT),
    Scene("paused -k soak:paused -w 100ms -- true", (0, 75, 69)),
    Scene("resume --resume soak:paused*", CUT),
    Scene("doctor --doctor", (0, 1, 2, 3, 69, 75)),
    Scene("config --show-config"),
)

# They live from the first round to the last, with leases that a busy machine does not end.
# The view has a terminal.
RESIDENTS = (
    "holder -k soak:held --expect 1h -- sleep infinity",
    "holder of several -k soak:several:1st -k soak:several:2nd -- sleep infinity",
    "reader -s -k soak:read -- sleep infinity",
    "waiter -k soak:held -- true",
    "view --list --watch=100ms",
)


def log_and_measure(folder):
    """What each run and resident has besides, by its environment."""
    return {
        "RLOCKRUN_REDIS": f"unix://{folder}/s",
        "RLOCKRUN_CONFIG": "none",
        "RLOCKRUN_VERBOSE": "yes",
        "RLOCKRUN_LOG_TO": f"{folder}/log/log",
        "RLOCKRUN_LOG_FORMAT": "json",
        "RLOCKRUN_METRICS": f"{folder}/metrics",
        "RLOCKRUN_HOOK": f"echo $RLOCKRUN_EVENT >>{folder}/log/hooks",
    }


class Load:
    """Rounds of SCENES on the server of `folder`."""

    def __init__(self, program, folder, seed):
        self.program = program
        self.folder = folder
        self.dice = random.Random(seed)
        self.runs = 0
        self.faults = []  # what was not as it should be, as text
        self.lock = threading.Lock()

    def round(self, disturb):
        """All scenes by all workers, each in an order of its own. `disturb` is called
        all the while."""
        threads = [threading.Thread(target=self.work, daemon=True, args=(
            worker, self.dice.sample(SCENES, len(SCENES)))) for worker in range(WORKERS)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.3)
            disturb()

    def work(self, worker, scenes):
        for scene in scenes:
            self.run(scene, worker)

    def run(self, scene, worker):
        with open(f"{self.folder}/worker.{worker}", "w+", encoding="utf-8",
                  errors="replace") as output:
            process = subprocess.Popen(scene.argv(self.program, worker), cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            status = self.await_end(process, scene)
            output.seek(0)
            text = output.read()
        with self.lock:
            self.runs += 1
            if status not in scene.statuses:
                self.faults.append(f"{scene.words}: status {status}: {text.strip()[-300:]}")

    def await_end(self, process, scene):
        try:
            if scene.signal:
                time.sleep(AFTER_S)
                process.send_signal(scene.signal)
            return process.wait(OVER_S)
        except subprocess.TimeoutExpired:
            tree = [process.pid, *descendants_of(process.pid, ())]
            living = "; ".join(map(command_of, tree))
            process.kill()
            process.wait()
            return f"none in time, of {living}"


def await_hooks(folder, count):
    """Until so many have run: then the processes that run them exist."""
    for _ in range(200):
        with contextlib.suppress(FileNotFoundError), \
                open(f"{folder}/log/hooks", encoding="ascii") as file:
            if len(file.readlines()) >= count:
                return
        time.sleep(0.05)
    raise SystemExit("soak: what is to stay has not started")


class Residents:
    """Those of RESIDENTS, as processes."""

    def __init__(self, program, folder):
        self.processes = {}
        # One after the other: else the waiter may be the first, and has its turn.
        for words in RESIDENTS:
            name, _, options = words.partition(" -")
            argv = [program, *("-" + options).split()]
            if name == "view":
                # Its screen is read by on-pty, and dropped.
                argv = [os.path.join(os.path.dirname(__file__), "../helpers/on-pty"),
                        "/dev/null", "--", *argv]
            self.processes[name] = subprocess.Popen(
                argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, start_new_session=True)
            if name != "view":
                await_hooks(folder, len(self.processes))

    def ended(self):
        """Texts about those that have, as none shall."""
        return [f"the {name} has ended: status {process.returncode}"
                for name, process in self.processes.items() if process.poll() is not None]

    def end(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(30)

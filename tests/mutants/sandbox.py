"""Tests that end with all that they have started, whatever that is: they run in a
PID namespace, with bounds on their time and on the number of their processes."""
import ctypes
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

PR_SET_PDEATHSIG = 1
COMPLAINT = re.compile(r"tests planned|exit status|nothing was run|sanitizer report")
POLL_S = 0.5
MOST_BYTES = 1 << 28  # of one file: a mutant may log without end
MOST_PROCESSES = 1000  # the suites have some 400
TEST_S = 120
SILENCE_S = 240  # without the end of any test
FAULTS_S = 600
SIMULATION_S = 120  # and 0.2 s more for each history
JAIL = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
        "sh", "-c", '"$@"; exit $?', "sh"]
OUT_OF_TIME = "out of time, although one test ends after the other"
OK = re.compile(r"^(?:not )?ok ", re.MULTILINE)
NOT_OK = re.compile(r"^not ok \d+ (?:- )?(.*?)(?: in \d+ms)?$", re.MULTILINE)


class Outcome:
    """How the tests ended: `failure` says why, or is None if all passed; `test` is the
    (file, name) of the one that failed, if it was one."""

    def __init__(self, failure, test, seconds, failures=()):
        self.failure, self.test, self.seconds = failure, test, seconds
        self.failures = list(failures)


class Sandbox:
    """One call of tests/run, of the tree and the build in a folder."""

    def __init__(self, folder, scratch, jobs):
        self.folder, self.scratch, self.jobs = folder, scratch, jobs
        self.build = f"{folder}/build/release"
        self.log = f"{folder}/build/mutants.log"

    def run(self, tests, limit_s, name=None, ignored=(), go_on=False):
        """Stops at the first failing test that is not ignored, unless it is to go on.
        With a name, runs only that test."""
        scratch = tempfile.mkdtemp(dir=self.scratch)
        shutil.rmtree(f"{self.build}/tap", ignore_errors=True)
        start = time.monotonic()
        with open(self.log, "wb") as log:
            process = subprocess.Popen(
                [*JAIL, "tests/run", "build/release"],
                cwd=self.folder, env=self.environment(tests, name, scratch),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=bound)
        try:
            failure, test = self.watch(process, start + limit_s, ignored, go_on)
            return Outcome(failure, test, time.monotonic() - start, self.failing())
        finally:
            end(process)
            shutil.rmtree(scratch, ignore_errors=True)

    def simulate(self, first, count, scenes=()):
        """Plays whole runs in virtual time: a failure is one by its seed, beyond doubt."""
        start = time.monotonic()
        process = subprocess.Popen(
            [*JAIL, f"{self.build}/sim", "-f", "-j1", str(first), str(count), *scenes],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True, preexec_fn=bound)
        try:
            said = process.communicate(timeout=SIMULATION_S + 0.2 * count)[0]
            failure = said.splitlines()[0] if process.returncode else None
        except subprocess.TimeoutExpired:
            failure = "hangs"
        finally:
            end(process)
        return Outcome(failure and f"simulation: {failure}", None, time.monotonic() - start)

    def fail_calls(self, where):
        """The cases that fail, of each system call of a function: FILE:FUNCTION."""
        environment = self.environment([], None, "/tmp")
        environment["FILTER"] = f" {re.escape(where)}:"
        process = subprocess.Popen(
            [*JAIL, "tests/faults/run", "build/faults/rlockrun"],
            cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True, preexec_fn=bound)
        try:
            return set(re.findall(rf"^not ok: (.* {re.escape(where)}:[^:]*)",
                                  process.communicate(timeout=FAULTS_S)[0], re.MULTILINE))
        except subprocess.TimeoutExpired:
            return {"hangs"}
        finally:
            end(process)

    def scenes(self):
        return sorted(glob.glob(f"{self.folder}/tests/sim/scenes/*.txt"))

    def environment(self, tests, name, scratch):
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "FILTER", "TAGS",
                                      "DEPS", "STRICT", "TOPOLOGY")}
        environment.update(TESTS=" ".join(tests), JOBS=str(self.jobs), TMPDIR=scratch,
                           BATS_TEST_TIMEOUT=str(TEST_S),
                           WAIT_SECONDS="20")
        if name is not None:
            environment["FILTER"] = f"^{re.escape(name)}$"
        return environment

    def watch(self, process, ends_at, ignored, go_on):
        """(failure, test)"""
        ended, ended_at = 0, time.monotonic()
        while True:
            running = process.poll() is None
            for test in self.failing() if not go_on or not running else ():
                if test not in ignored:
                    return f"{test[0]}: {test[1]}", test
            if not running:
                return self.complaint(process.returncode, ignored), None
            if self.count_ended() > ended:
                ended, ended_at = self.count_ended(), time.monotonic()
            if time.monotonic() > ended_at + SILENCE_S:
                return "hangs", None
            if time.monotonic() > ends_at:
                return OUT_OF_TIME if time.monotonic() < ended_at + TEST_S else "hangs", None
            if count_processes(process.pid) > MOST_PROCESSES:
                return f"more than {MOST_PROCESSES} processes", None
            time.sleep(POLL_S)

    def failing(self):
        """(file, name) of each test that has failed so far."""
        return [(path, test) for path, text in self.outputs() for test in NOT_OK.findall(text)]

    def count_ended(self):
        return sum(len(OK.findall(text)) for _, text in self.outputs())

    def outputs(self):
        """(file, TAP) of each file that has begun."""
        tap = f"{self.build}/tap"
        for name in sorted(os.listdir(tap)) if os.path.isdir(tap) else ():
            if os.path.isdir(f"{tap}/{name}"):
                continue
            path = re.sub(r"^tests-([a-z]+)-", r"tests/\1/", name.split()[0])
            with open(f"{tap}/{name}", encoding="utf-8", errors="replace") as file:
                yield path, file.read()

    def complaint(self, status, ignored):
        """What tests/run found besides tests that fail: one that does not end its plan."""
        if not status or ignored and self.failing():
            return None
        with open(self.log, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file.read().splitlines() if COMPLAINT.search(line)]
        return lines[0] if lines else f"tests/run: exit status {status}"


def bound():
    """In the child: the namespace ends with us, whatever happens to us."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, hard))


def init_of(unshare):
    """The first process of the namespace, or None."""
    try:
        with open(f"/proc/{unshare}/task/{unshare}/children", encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, IndexError):
        return None


def namespace_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def count_processes(unshare):
    own = namespace_of(init_of(unshare))
    return sum(namespace_of(pid) == own for pid in os.listdir("/proc") if pid.isdigit()) \
        if own else 0


def end(process):
    """The kernel ends a namespace with its first process, before that is reaped."""
    while process.poll() is None:
        init = init_of(process.pid)
        if init:
            os.kill(init, signal.SIGKILL)
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            pass

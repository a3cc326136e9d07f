"""One run of a scene, with a fault or without, and what was seen of it."""
import ctypes
import fcntl
import os
import pty
import re
import shutil
import signal
import subprocess
import termios
import threading
import time

from servers import ask
from tracer import Tracer

LIMIT = 40   # seconds for a run: OpenSSL maps memory 10,000 times
LINGER = 10  # and for its guard after it: traced, a scan of /proc takes its time
TTL_MS = 2000
PR_SET_CHILD_SUBREAPER = 36
libc = ctypes.CDLL(None)

KEYS = ("local list = {} for _, key in ipairs(redis.call('keys', '*' .. ARGV[1] .. '*')) do "
        "list[#list + 1] = key .. ' ' .. redis.call('pttl', key) end "
        "return table.concat(list, '\\n')")


def processes_of(mark):
    """Those that have the line CASE=... in their environment, and are no zombies."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


class Case:
    def __init__(self, scene, program, code, calls, numbers, servers, number, fault=None):
        self.scene = scene
        self.program = program
        self.servers = servers
        self.fault = fault
        self.key = f"faults-{os.getpid()}-{number}-x"
        self.folder = f"{servers.folder}/{number}"
        self.tracer = Tracer(code, calls, numbers, fault)
        self.beside = []
        self.terminal = None
        self.shown = b""

    # --- the means of scenes ----------------------------------------------

    def ask(self, *words):
        return ask(self.socket, *words)

    def await_file(self, name):
        until = time.monotonic() + 10
        while not os.path.exists(f"{self.folder}/{name}"):
            if time.monotonic() > until:
                raise RuntimeError(f"{name} does not come")
            time.sleep(0.005)

    def unblock(self):
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def run_beside(self, arguments):
        """Another rlockrun of the same key, which nobody disturbs."""
        self.beside.append(subprocess.Popen(
            [self.program, "-t", "2", "-k", self.key, *arguments], env=self.environment,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=self.unblock))

    # --- the run ----------------------------------------------------------

    def prepare(self):
        os.mkdir(self.folder)
        url = getattr(self.servers, "url_" + self.scene.server)()
        server = self.scene.server
        name = server if server in ("tls", "cluster", "cold") else "one"
        self.socket = self.servers.socket_of(name)
        self.sockets = [self.socket]
        if self.scene.server == "several":
            self.sockets = [self.servers.socket_of(other) for other in ("one", "two", "three")]
        self.environment = {
            "PATH": os.environ["PATH"], "LC_ALL": "C", "CASE": self.folder, "S": self.socket,
            "K": self.key, "RLOCKRUN_CONFIG": "none", "RLOCKRUN_REDIS": url,
            "SSL_CERT_FILE": f"{self.servers.certificates}/ca.crt", "TERM": "xterm"}
        if self.scene.before:
            self.scene.before(self)
        if self.scene.memory:
            self.environment["MALLOC_MMAP_THRESHOLD_"] = "0"

    def arguments(self):
        scene = self.scene
        if scene.action in (["--help"], ["--version"]):
            return [self.program, *scene.action]
        if {"--list", "--resume"} & set(scene.action or ()):
            return [self.program, *scene.action, "*" + self.key]
        if scene.action:
            return [self.program, *scene.action, "-k", self.key]
        options = [f"{self.key}-{number}" if word == "OTHER" else word
                   for number, word in enumerate(scene.options)]
        command = scene.command or ["/bin/sh", "-c", scene.script()]
        return [self.program, "-t", str(TTL_MS // 1000), "--server-timeout", "2",
                "-k", self.key, *options, "--", *command]

    def enter(self):
        """In the child: what a run finds."""
        os.chdir(self.folder)
        with open("pid", "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
        os.setsid()
        if self.terminal:
            files = [os.open(self.terminal, os.O_RDWR)] * 3
            fcntl.ioctl(files[0], termios.TIOCSCTTY, 0)
        else:
            files = [os.open("/dev/null", os.O_RDONLY),
                     os.open("out", os.O_WRONLY | os.O_CREAT, 0o644),
                     os.open("err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)]
        files = [fcntl.fcntl(file, fcntl.F_DUPFD, 10) for file in files]
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(3, 256)
        if self.scene.closed:
            os.close(0)
        os.environ.clear()
        os.environ.update(self.environment)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        self.unblock()

    def run(self):
        """Leaves what was seen in this object."""
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        self.prepare()
        master = None
        if self.scene.terminal:
            master, slave = pty.openpty()
            self.terminal = os.ttyname(slave)
            typist = threading.Thread(target=self.type, args=[master])
            typist.start()
        began = time.monotonic()
        self.tracer.start(self.arguments(), self.enter)
        self.ended = self.tracer.run(began + LIMIT, LINGER)
        self.seconds = time.monotonic() - began
        status = self.tracer.status
        self.status = None if status is None else os.waitstatus_to_exitcode(status)
        if not self.ended:
            self.roles = sorted({tracee.role for tracee in self.tracer.tracees.values()})
            self.tracer.kill()
        if master is not None:
            os.write(slave, self.scene.awaits)
            typist.join()
            os.set_blocking(master, False)
            self.read_terminal(master)
            os.close(master)
            os.close(slave)
        self.look()

    def type(self, master):
        """Types what the scene does, when the terminal shows what it awaits."""
        while self.scene.awaits not in self.shown:
            self.shown += os.read(master, 1 << 16)
        os.write(master, self.scene.types.encode())

    def read_terminal(self, master):
        text = self.shown
        try:
            # What was typed and what was written may come in several pieces.
            while piece := os.read(master, 1 << 16):
                text += piece
        except BlockingIOError:
            pass
        with open(f"{self.folder}/err", "wb") as file:
            file.write(text)

    # --- what it left -----------------------------------------------------

    def read(self, name):
        try:
            with open(f"{self.folder}/{name}", encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def look(self):
        self.end_beside()
        self.leftover = self.await_processes(1.5)
        self.error = self.read("err")
        self.output = self.read("out")
        self.starts = len(self.read("started").split())
        self.launched = self.tracer.launched
        self.job_ended = os.path.exists(f"{self.folder}/ended")
        self.unlocked = os.path.exists(f"{self.folder}/unlocked")
        self.descriptors = self.read("descriptors").split()
        self.keys = self.read_keys()

    def end_beside(self):
        with open(f"{self.folder}/done", "w", encoding="ascii"):
            pass
        for process in self.beside:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    def await_processes(self, seconds):
        """Those of the run that are still there then, by name."""
        mark = b"CASE=" + self.folder.encode()
        until = time.monotonic() + seconds
        while True:
            self.reap()
            found = [pid for pid in processes_of(mark)]
            if not found or time.monotonic() > until:
                break
            time.sleep(0.02)
        names = []
        for pid in found:
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                    names.append(file.read().replace("\0", " ")[:40].strip())
                os.kill(pid, signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass
        return names

    def reap(self):
        """Orphans come to us. Servers live."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    def read_keys(self):
        """name -> remaining milliseconds, -1 for ever."""
        keys = {}
        for socket in self.sockets:
            text = ask(socket, "eval", KEYS, 0, self.key).decode(errors="replace")
            for name, left in re.findall(r"^(.+) (-?\d+)\r?$", text, re.M):
                keys[name] = max(keys.get(name, -2), int(left)) if left != "-1" else -1
        return keys

    def try_next(self):
        """(status, seconds) of the next run."""
        environment = dict(self.environment)
        environment.pop("RLOCKRUN_HELD", None)
        environment.pop("MALLOC_MMAP_THRESHOLD_", None)
        began = time.monotonic()
        kind = [word for word in self.scene.options if word in ("-s", "-p", "--min-uptime")]
        kind += {"-p": ["2"], "--min-uptime": ["0"]}.get(kind[0], []) if kind else []
        process = subprocess.run([self.program, "-t", "2", *kind, "-w", "9", "-k", self.key,
                                  "--", "true"], env=environment, timeout=20,
                                 stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                 preexec_fn=self.unblock)
        return process.returncode, time.monotonic() - began

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)

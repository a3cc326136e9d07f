"""Runs a program, sees its system calls by call site, and makes one of them fail.

The program, what it forks and what that forks are traced with ptrace(2), until
they execute another program: the job is left alone. A system call belongs to the
first address on the stack to which a library function returns in the program.

A fault is an errno, with which the call fails without being made; `done:` and an
errno, with which a call fails that has been made, as close(2) does; `short`, by
which it transfers half; or `zero`, by which it returns 0 without being made."""
import ctypes
import errno
import os
import re
import signal
import subprocess
import time

SYSCALL, GETREGS, SETREGS, DETACH = 24, 12, 13, 17
GETEVENTMSG, SEIZE, LISTEN, GET_SYSCALL_INFO = 0x4201, 0x4206, 0x4208, 0x420E
TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC = 1, 2, 4, 8, 16
EXITKILL = 0x100000
EVENT_EXEC, EVENT_STOP = 4, 128
FORK_EVENTS = (1, 2, 3)
WALL = 0x40000000
STOPS = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
OPTIONS = TRACESYSGOOD | TRACEFORK | TRACEVFORK | TRACECLONE | TRACEEXEC | EXITKILL
RAX, RDX, RSI, RDI, ORIG_RAX = 10, 12, 13, 14, 15  # of the 27 words of user_regs_struct
STACK = 16384  # how much of it is searched
MEMORY = ("brk", "mmap")
CONNECTING = ("redis/socket.c", "redis/names/resolve.c")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, address=0, data=0):
    """False when the process has just been killed."""
    if libc.ptrace(request, pid, address, data) != -1:
        return True
    if ctypes.get_errno() == errno.ESRCH:
        return False
    raise OSError(ctypes.get_errno(), "ptrace: " + os.strerror(ctypes.get_errno()))


def read_numbers():
    """The system calls of this machine by number."""
    text = subprocess.run(["cc", "-E", "-dM", "-include", "asm/unistd.h", "-x", "c",
                           "/dev/null"], check=True, capture_output=True, text=True).stdout
    return {int(number): name
            for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", text, re.M)}


def read_registers(pid):
    """All 0 of a process that has just been killed."""
    registers = (ctypes.c_uint64 * 27)()
    ptrace(GETREGS, pid, 0, ctypes.addressof(registers))
    return list(registers)


def write_registers(pid, registers):
    registers = (ctypes.c_uint64 * 27)(*registers)
    ptrace(SETREGS, pid, 0, ctypes.addressof(registers))


class Fault:
    """What fails: the nth time that ROLE makes SYSCALL at SITE in PHASE."""

    def __init__(self, role, site, syscall, phase, kind, nth=1):
        self.place = (role, site, syscall, phase)
        self.kind = kind
        self.nth = nth
        self.hits = 0

    def __str__(self):
        return " ".join(self.place) + f" {self.kind}"

    @property
    def error(self):
        name = self.kind.rpartition(":")[2]
        return getattr(errno, name) if name.startswith("E") else 0

    @property
    def is_made(self):
        return self.kind.startswith("done:") or self.kind == "short"


class Tracee:
    def __init__(self, role):
        self.role = role
        self.site = None      # of the system call it is in
        self.syscall = None
        self.fault = None     # that call is to fail
        self.ordered = False  # the guard, to start the job
        self.starving = False  # the same allocation tries in other ways
        self.memory = None
        self.registers = None  # at the entry of a call that is to fail


def read_stack(pid, tracee, pointer):
    """Empty of a process that has just been killed."""
    try:
        if tracee.memory is None:
            tracee.memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(tracee.memory, STACK, pointer)
    except OSError:
        return b""


class Tracer:
    def __init__(self, code, calls, numbers, fault=None):
        self.code = code
        self.calls = calls
        self.numbers = numbers
        self.fault = fault
        self.sites = {}     # by address
        self.phase = "start"
        self.seen = {}      # (role, site, syscall, phase) -> how often
        self.unlisted = set()
        self.tracees = {}
        self.early = set()  # children seen before their parent's report
        self.main = None
        self.command = None
        self.launched = False  # the command is executed
        self.status = None  # of the program, as waitpid(2) has it

    # --- the life of tracees ---------------------------------------------

    def start(self, argv, prepare):
        """prepare runs in the child, before the program is executed."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(writer)
            os.read(reader, 1)
            try:
                prepare()
                os.execv(argv[0], argv)
            finally:
                os._exit(99)
        os.close(reader)
        self.main = pid
        self.tracees[pid] = Tracee("main")
        ptrace(SEIZE, pid, 0, OPTIONS)
        os.close(writer)

    def run(self, until, linger):
        """Until all tracees have ended: at the latest linger seconds after the
        program, or at until. Returns whether they have."""
        while self.tracees:
            pid, status = os.waitpid(-1, WALL | os.WNOHANG)
            if pid == 0:
                if time.monotonic() > until:
                    return False
                # A stop of a tracee ends it as the end of a child does.
                signal.sigtimedwait([signal.SIGCHLD], 0.1)
                continue
            self.on_change(pid, status)
            if pid == self.main and self.status is not None:
                until = min(until, time.monotonic() + linger)
        return True

    def on_change(self, pid, status):
        if not os.WIFSTOPPED(status):
            self.forget(pid)
            if pid == self.main:
                self.status = status
            return
        if pid not in self.tracees:
            self.early.add(pid)
            return
        event, stopped_by = status >> 16, os.WSTOPSIG(status)
        if stopped_by == signal.SIGTRAP | 0x80:
            self.on_syscall(pid)
        elif event in FORK_EVENTS:
            self.on_fork(pid)
        elif event == EVENT_EXEC and self.tracees[pid].role == "command":
            self.on_command(pid)
        elif event == EVENT_EXEC and self.tracees[pid].role == "hook":
            self.forget(pid)
            ptrace(DETACH, pid)
        elif event == EVENT_EXEC and not self.sites:
            self.find_sites(pid)
            ptrace(SYSCALL, pid)
        elif event == EVENT_STOP and stopped_by in STOPS:
            ptrace(LISTEN, pid)
        else:
            ptrace(SYSCALL, pid, 0, 0 if event else stopped_by)

    def forget(self, pid):
        tracee = self.tracees.pop(pid, None)
        if tracee and tracee.memory is not None:
            os.close(tracee.memory)

    def on_fork(self, pid):
        message = ctypes.c_ulong()
        ptrace(GETEVENTMSG, pid, 0, ctypes.addressof(message))
        child = message.value
        self.tracees[child] = Tracee(self.role_of_child(self.tracees[pid]))
        if self.tracees[child].role == "command":
            self.command = child
        if child in self.early:
            self.early.discard(child)
            ptrace(SYSCALL, child)
        ptrace(SYSCALL, pid)

    def role_of_child(self, parent):
        roles = {"job/guard.c": "guard", "job/supervisor.c": "command",
                 "redis/names/resolve.c": "resolver", "sink/hooks.c": "runner",
                 "sink/hook_runner.c": "hook", "sink/writer.c": "writer",
                 "admin/list.c": "view"}
        return roles.get(parent.site.file if parent.site else "", "other")

    def on_command(self, pid):
        self.phase = "hold"
        self.launched = True
        self.forget(pid)
        ptrace(DETACH, pid)

    def find_sites(self, pid):
        with open(f"/proc/{pid}/maps", encoding="ascii") as file:
            base = int(file.readline().split("-")[0], 16)
        self.sites = {base + offset: site for offset, site in self.code.sites.items()}

    # --- system calls -----------------------------------------------------

    def on_syscall(self, pid):
        info = (ctypes.c_uint64 * 11)()
        if not ptrace(GET_SYSCALL_INFO, pid, ctypes.sizeof(info), ctypes.addressof(info)):
            return
        if info[0] & 0xFF == 1:
            self.on_entry(pid, info)
        else:
            self.on_exit(pid, ctypes.c_int64(info[3]).value)
        ptrace(SYSCALL, pid)

    def on_entry(self, pid, info):
        tracee = self.tracees[pid]
        former = tracee.site
        tracee.syscall = self.numbers.get(info[3], str(info[3]))
        tracee.site = self.find_site(pid, tracee, info) if self.sites else None
        tracee.fault = None
        if tracee.site is None:
            return
        self.enter_phase(tracee)
        place = (tracee.role, tracee.site.name, tracee.syscall, self.phase_of(tracee))
        self.seen[place] = self.seen.get(place, 0) + 1
        tracee.starving = (tracee.starving and tracee.site is former
                           and tracee.syscall in MEMORY)
        if self.fits(place) or tracee.starving:
            tracee.fault = self.fault
            tracee.starving = tracee.syscall in MEMORY
            self.spoil_entry(pid)

    def find_site(self, pid, tracee, info):
        """The innermost call of a library from which this system call can come. The
        stack begins at info[2]; vfork(2) has its return address in a register."""
        if tracee.syscall == "vfork":
            return self.sites.get(info[4])
        stack = read_stack(pid, tracee, info[2])
        first = None
        for word in memoryview(stack[:len(stack) & ~7]).cast("Q"):
            site = self.sites.get(word)
            if site and tracee.syscall in self.calls.of(site):
                return site
            first = first or site
        if first and tracee.syscall != "rt_sigreturn":  # of a handler, from anywhere
            self.unlisted.add((first.name, tracee.syscall))
        return None

    def enter_phase(self, tracee):
        role, site, syscall = tracee.role, tracee.site.name, tracee.syscall
        if self.phase == "start" and tracee.site.file in CONNECTING \
                and syscall in ("socket", "pipe2"):
            self.phase = "acquire"
        elif self.phase == "acquire" and site == "job/guard.c:guard_start_job:sendmsg":
            self.phase = "launch"
        elif self.phase == "hold" and site == "job/descendants.c:open_folder:openat64" \
                and role == "guard":
            self.phase = "stop"

    def phase_of(self, tracee):
        """The guard gets ready while rlockrun acquires the lock, sooner or later, and the
        writer's thread writes when it may."""
        if tracee.role == "writer":
            return "release"
        tracee.ordered |= tracee.site.name == "job/supervisor.c:read_env:recv"
        late = tracee.role == "guard" and not tracee.ordered and self.phase == "launch"
        return "acquire" if late else self.phase

    def on_exit(self, pid, value):
        tracee = self.tracees[pid]
        if tracee.fault:
            self.spoil_exit(pid, tracee)
        if tracee.syscall == "wait4" and value > 0 and value == self.command \
                and not os.path.exists(f"/proc/{value}"):
            self.phase = "release"

    # --- the fault --------------------------------------------------------

    def fits(self, place):
        if not self.fault or place != self.fault.place:
            return False
        return self.seen[place] == self.fault.nth

    def spoil_entry(self, pid):
        tracee = self.tracees[pid]
        tracee.fault.hits += 1
        tracee.registers = read_registers(pid)
        changed = list(tracee.registers)
        if tracee.fault.kind == "short":
            count = RSI if tracee.syscall == "getrandom" else RDX
            changed[count] = max(1, changed[count] // 2)
        elif tracee.syscall == "brk":
            changed[RDI] = 0  # it fails by returning the end as it is: this asks for it
        elif not tracee.fault.is_made:
            changed[ORIG_RAX] = -1 % 2 ** 64
        write_registers(pid, changed)

    def spoil_exit(self, pid, tracee):
        """The arguments are again what the caller believes them to be."""
        changed = list(tracee.registers)
        changed[RAX] = read_registers(pid)[RAX]
        if tracee.fault.kind != "short" and tracee.syscall != "brk":
            changed[RAX] = -tracee.fault.error % 2 ** 64
        write_registers(pid, changed)

    # --- the end ----------------------------------------------------------

    def kill(self):
        """What is still traced, when it has run out of time."""
        for pid in list(self.tracees):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                self.forget(pid)
        until = time.monotonic() + 5
        while self.tracees and time.monotonic() < until:
            pid, status = os.waitpid(-1, WALL | os.WNOHANG)
            if pid and not os.WIFSTOPPED(status):
                self.forget(pid)
            elif pid:
                ptrace(SYSCALL, pid)
            else:
                time.sleep(0.005)

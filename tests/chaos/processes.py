"""Processes of this machine, as /proc shows them."""
import os
import signal


def open_process(pid):
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def signal_process(pidfd, number):
    try:
        signal.pidfd_send_signal(pidfd, number)
    except OSError:
        return False
    return True


def children_of(pid):
    children = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children += [int(child) for child in file.read().split()]
    except OSError:
        pass
    return children


def descendants_of(pid, others):
    """Those that live, but for the others and their own. None can leave a subreaper."""
    found, new = [], children_of(pid)
    while new := [child for child in new if child not in others]:
        found += new
        new = [child for parent in new for child in children_of(parent)]
    return [child for child in found if not is_zombie(child)]


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return True
    return fields[0] in "ZX" and int(fields[17]) <= 1


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def guard_of(pid):
    guards = (child for child in children_of(pid) if name_of(child) == "rlockrun-guard")
    return next(guards, None)


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read().replace("\0", " ").strip()[:200]
    except OSError:
        return ""


def reap_orphans(ours):
    """Children that this process, a subreaper, got from others; `ours` are waited for
    by whoever started them."""
    for pid in children_of(os.getpid()):
        if pid not in ours and is_zombie(pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass

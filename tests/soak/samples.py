"""What may not grow, as it is while no run is under way."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../chaos"))
from processes import command_of, descendants_of  # noqa: E402

KIB = 1024
# What varies by itself. All else is counted, and has none.
SLACK = {
    "bytes of the server's memory": 96 * KIB,
    "bytes of memory": 96 * KIB,
    "bytes of files": 4 * KIB,
    "bytes of a round's log": 64 * KIB,
    "scripts": 4,  # which are seldom needed: a server keeps all that it has seen
    # A doorbell lives for 10 s, and a killed waiter is removed after 15 s.
    "doorbells": 12,
    "waiters": 30,
    # The list is cut to ten when it has twenty.
    "most runs of a lock": 10,
}
NONE = "keys that never expire"  # of these the first is one too many
COUNTS = {"hash": "HLEN", "zset": "ZCARD", "set": "SCARD"}


def slack_of(name):
    return next((slack for end, slack in SLACK.items() if name.endswith(end)), 0)


def sample(server, residents, folder):
    """Names, and how many or much of each."""
    numbers = {"processes": len(descendants_of(os.getpid(), ()))}
    numbers.update(of_server(server))
    for name, process in residents.processes.items():
        tree = [process.pid, *descendants_of(process.pid, ())]
        numbers[f"{name}: descriptors"] = sum(map(descriptors_of, tree))
        numbers[f"{name}: bytes of memory"] = sum(map(memory_of, tree))
    numbers.update(of_files(folder))
    return numbers


def of_server(server):
    keys = server.query(("KEYS", "*"), 10)
    types = [server.query(("TYPE", key), 10) for key in keys]
    doorbells = sum(":m:" in key for key in keys)
    sizes = {key: server.query((COUNTS[kind], key), 10)
             for key, kind in zip(keys, types) if kind in COUNTS}
    runs = [server.query(("LLEN", key), 10) for key in keys if key.endswith(":r")]
    queues = [key for key in sizes if key.endswith((":q", ":l"))]
    lines = server.query(("INFO", "everything"), 10).splitlines()
    info = dict(line.split(":", 1) for line in lines if ":" in line)
    return {
        "keys": len(keys) - doorbells,
        "doorbells": doorbells,
        NONE: sum(server.query(("PTTL", key), 10) == -1 for key in keys),
        "waiters": sum(sizes[key] for key in queues),
        "most runs of a lock": max(runs, default=0),
        "members of other keys": sum(sizes.values()) - sum(sizes[key] for key in queues),
        "connections": int(info["connected_clients"]),
        "scripts": int(info["number_of_cached_scripts"]),
        "the server: descriptors": descriptors_of(int(info["process_id"])),
        "bytes of the server's memory":
            int(info["used_memory"]) - int(info.get("used_memory_scripts", 0)),
    }


def descriptors_of(pid):
    """Only root may list those of a process that is not dumpable. The size of its
    table, which doubles, is for all to see."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return status_of(pid, "FDSize")
    except FileNotFoundError:
        return 0


def memory_of(pid):
    return KIB * (status_of(pid, "RssAnon") + status_of(pid, "VmSwap"))


def status_of(pid, name):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            lines = dict(line.split(":", 1) for line in file)
    except OSError:
        return 0
    return int(lines.get(name, "0").split()[0])


def of_files(folder):
    """The log is another one in each round."""
    count = size = logged = 0
    for where, _, names in os.walk(folder):
        for name in names:
            length = os.lstat(os.path.join(where, name)).st_size
            count += 1
            if where.endswith("/log"):
                logged += length
            elif where != folder:
                size += length
    return {"files": count, "bytes of files": size, "bytes of a round's log": logged}


def name_processes():
    return [command_of(pid) for pid in descendants_of(os.getpid(), ())]


def find_growth(first, last):
    """Texts about what is more in each of the last samples than in all of the first."""
    found = []
    for name in first[0]:
        before = 0 if name == NONE else max(numbers[name] for numbers in first)
        after = min(numbers[name] for numbers in last)
        if after > before + slack_of(name):
            found.append(f"{name}: {before} -> {after}")
    return found

"""The history of a chaos: a file of JSON lines, one record a line.

Each record has a `type` and `at`, the microseconds of one monotonic clock since the
chaos began. The first record is `begin`, the last is `end`; records between them need
not be in the order of time, as some are only complete when what they describe is over.

    begin    seed, topology and length of the chaos
    run      a rlockrun was started, with these options and this job
    process  one process of a job: its own stamps of its start, life and end
    exit     how a rlockrun ended, and what it wrote
    fault    what was done to whom, `at`..`until`
    standstill  no processor of the machine ran anything, `at`..`until`
    seen     the holders of a lock on one node, written when they change and at the end,
             and when the last look was sent that saw the former ones
    owner    the node that serves a key, written when that changes; only on it are
             holders looked for. Without such records all nodes serve all keys
    recorded  the last run of a lock by its record on that node: its token, and its exit
             status or "", written when one of them changes
    report   what a log or a hook said of a rlockrun, which ended with that status or not yet
    counted  the number of runs that the metrics of a lock have
    paused   a --pause said so of a lock, which is not resumed before `until`
    checked  --check said so, with its exit status, of a lock that it asked for since `begun`
    queued, unqueued  a waiter entered the queue, or left it
    quiet    all faults are over, no run is started from here on
    left     a process, key or rlockrun that is there after the end
    end      of the history

FIELDS has what each must contain; further fields are allowed."""
import json

TOPOLOGIES = ("one", "tls", "sentinel", "cluster", "redlock3", "redlock5")
MODES = ("exclusive", "shared", "permits")
TARGETS = ("wrapper", "guard", "job", "server", "sentinel", "host", "lock", "link")
JOBS = ("short", "deaf", "forking", "leaving", "session", "chain", "threads", "closing",
        "nested", "outlasting", "joining", "stopping")

NUMBER, TEXT, FLAG, LIST, NOTHING = int, str, bool, list, type(None)
FIELDS = {
    "begin": {"seed": (NUMBER,), "topology": TOPOLOGIES, "duration_ms": (NUMBER, float)},
    "run": {"run": (NUMBER,), "pid": (NUMBER,), "host": (NUMBER,), "keys": (LIST,),
            "mode": MODES, "permits": (NUMBER, NOTHING), "ttl_ms": (NUMBER,),
            "wait_ms": (NUMBER, NOTHING), "max_run_ms": (NUMBER, NOTHING),
            "min_hold_ms": (NUMBER, NOTHING), "wait_all": (FLAG,),
            "on_lost": ("stop", "warn"), "on_unavailable": ("fail", "run"),
            "wait_replicas": (NUMBER, NOTHING), "kill_after_ms": (NUMBER, NOTHING),
            "server_timeout_ms": (NUMBER,), "job": JOBS, "job_ms": (NUMBER, NOTHING),
            "job_status": (NUMBER,), "outer": (NUMBER, NOTHING), "options": (LIST,),
            "sinks": (FLAG,), "disk_ms": (NUMBER,)},
    "process": {"run": (NUMBER,), "pid": (NUMBER,), "root": (FLAG,), "alive": (NUMBER,),
                "end": (NUMBER, NOTHING), "status": (NUMBER, NOTHING),
                "token": (TEXT, NOTHING), "fence": (NUMBER, NOTHING), "saw": (LIST,)},
    "exit": {"run": (NUMBER,), "status": (NUMBER,), "stderr": (TEXT,)},
    "fault": {"until": (NUMBER,), "fault": (TEXT,), "on": TARGETS},
    "standstill": {"until": (NUMBER,)},
    "seen": {"node": (TEXT,), "key": (TEXT,), "holders": (LIST,),
             "former_at": (NUMBER, NOTHING)},
    "owner": {"key": (TEXT,), "node": (TEXT, NOTHING)},
    "paused": {"key": (TEXT,), "until": (NUMBER,)},
    "checked": {"key": (TEXT,), "begun": (NUMBER,), "status": (NUMBER,), "said": (LIST,)},
    "queued": {"key": (TEXT,), "run": (NUMBER,), "ticket": (NUMBER,), "node": (TEXT,)},
    "unqueued": {"key": (TEXT,), "run": (NUMBER,)},
    "recorded": {"node": (TEXT,), "key": (TEXT,), "token": (TEXT,), "status": (TEXT,)},
    "report": {"run": (NUMBER,), "by": ("log", "hook"), "event": (TEXT,),
               "status": (NUMBER, NOTHING)},
    "counted": {"key": (TEXT,), "runs": (NUMBER,)},
    "quiet": {},
    "left": {"what": ("process", "key", "run")},
    "end": {},
}
# What else a fault or something left over needs, by its `on` or `what`.
MORE = {
    "wrapper": {"run": (NUMBER,)}, "guard": {"run": (NUMBER,)}, "job": {"run": (NUMBER,)},
    "server": {"node": (TEXT,)}, "sentinel": {"node": (TEXT,)}, "link": {"node": (TEXT,)},
    "host": {"host": (NUMBER,)}, "lock": {"key": (TEXT,)},
    "process": {"pid": (NUMBER,)}, "run": {"run": (NUMBER,)},
    "key": {"node": (TEXT,), "key": (TEXT,), "kind": (TEXT,), "pttl_ms": (NUMBER,)},
}


class Malformed(Exception):
    """Not a history; the text says which line, and why."""


def load(path):
    """The records of a file. Raises Malformed, or OSError."""
    records = []
    with open(path, encoding="utf-8", errors="strict") as lines:
        try:
            for number, line in enumerate(lines, 1):
                records.append(parse(line, number))
        except UnicodeDecodeError:
            raise Malformed(f"line {len(records) + 1}: not UTF-8") from None
    require_frame(records)
    return records


def save(records, path):
    """Writes RECORDS as load() reads them."""
    with open(path, "w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


def parse(line, number):
    """The record in a line, complete and of the right types."""
    if not line.endswith("\n"):
        raise Malformed(f"line {number}: truncated")
    try:
        record = json.loads(line)
    except ValueError as error:
        raise Malformed(f"line {number}: no JSON: {error}") from None
    if not isinstance(record, dict):
        raise Malformed(f"line {number}: not a record")
    try:
        require_fields(record)
    except ValueError as error:
        raise Malformed(f"line {number}: {error}") from None
    return record


def require_fields(record):
    """Raises ValueError for a record that lacks something, or has it in a wrong form."""
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise ValueError(f"no such type of record: {kind!r}")
    fields = {"at": (NUMBER,), **FIELDS[kind]}
    for name, allowed in fields.items():
        require_field(record, name, allowed)
    for name, allowed in MORE.get(record.get("on", record.get("what")), {}).items():
        require_field(record, name, allowed)


def require_field(record, name, allowed):
    if name not in record:
        raise ValueError(f"{record['type']} without {name!r}")
    value = record[name]
    # Compared exactly, since a bool is an int, too.
    if type(value) not in allowed and not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{record['type']} with a wrong {name!r}: {value!r}")


def require_frame(records):
    """Raises Malformed unless the history has a beginning and an end."""
    if not records or records[0]["type"] != "begin":
        raise Malformed("line 1: a history begins with a record of type 'begin'")
    for number, record in enumerate(records[1:], 2):
        if record["type"] == "begin":
            raise Malformed(f"line {number}: a second 'begin'")
    if records[-1]["type"] != "end":
        raise Malformed(f"line {len(records)}: truncated: no record of type 'end'")

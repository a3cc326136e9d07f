"""Which files are broken, and which tests are to notice it. Those that know a file
come first, so that most mutants end soon; the others of its storey follow."""
import glob
import re

STOREYS = {
    "base": ["src/base/*.c"],
    "redis": ["src/redis/*.c", "src/redis/*/*.c"],
    "lock": ["src/lock/*.c"],
    "script": ["src/*/script/*.lua", "src/lock/script/shared/*.lua"],
    "job": ["src/job/*.c", "src/sink/hook*.c"],
    "run": ["src/run/*.c"],
}
# Parts of other builds, which are not played here.
NOT_BUILT = {f"src/redis/{name}.c"
             for name in ("tls/tls_linked", "tls/tls_static", "tls/tls_memory",
                          "names/resolve_getent")}

# What of these survives the unit tests is played by many more histories, or with
# system calls that fail.
SIMULATED = ("lock", "script", "run")
CALLING = ("base", "redis", "job", "run")
LOCK = ["tests/lock/*", "tests/queue/*", "tests/servers/redlock", "tests/servers/replies",
        "tests/cli/admin"]
SUITES = {
    "base": ["tests/lock/lock", "tests/cli/log", "tests/cli/config", "tests/job/job",
             "tests/cli/watch"],
    "redis": ["tests/servers/*"],
    "lock": LOCK,
    "script": LOCK,
    "job": ["tests/job/*"],
    "run": ["tests/cli/log", "tests/cli/metrics", "tests/lock/stopped", "tests/lock/hold",
            "tests/lock/lock", "tests/lock/once", "tests/lock/several", "tests/lock/lease",
            "tests/lock/nested", "tests/queue/queue", "tests/job/*"],
}

# File -> what knows it best.
FIRST = {
    "src/base/descriptors.c": ["job/descriptors"],
    "src/base/row.c": ["cli/admin"],
    "src/base/log.c": ["queue/waiters"],
    "src/base/secret.c": ["job/memory"],
    "src/base/table.c": ["cli/admin"],
    "src/redis/ways/cluster.c": ["servers/cluster"],
    "src/redis/ways/slot.c": ["servers/cluster"],
    "src/redis/ways/sentinel.c": ["servers/sentinel"],
    "src/redis/names/race.c": ["servers/addresses"],
    "src/redis/names/resolve.c": ["servers/addresses"],
    "src/redis/names/resolve_libc.c": ["servers/addresses"],
    "src/redis/reread.c": ["servers/rotation"],
    "src/redis/password_file.c": ["servers/rotation", "job/memory"],
    "src/redis/pipeline.c": ["job/memory"],
    "src/redis/handshake.c": ["servers/servers", "servers/replies"],
    "src/redis/way.c": ["servers/hangups"],
    "src/redis/exchange.c": ["servers/hangups", "servers/hostile", "servers/cluster"],
    "src/redis/tls/secure.c": ["servers/tls"],
    "src/redis/tls/tls.c": ["servers/tls"],
    "src/redis/tls/tls_loaded.c": ["servers/tls"],
    "src/redis/tls/tls_stream.c": ["servers/tls"],
    "src/redis/url.c": ["servers/addresses", "job/memory"],
    "src/lock/acquire.c": ["lock/lock", "queue/queue"],
    "src/lock/answer.c": ["lock/stopped", "lock/once"],
    "src/lock/claim.c": ["queue/queuekeys", "queue/waiters", "lock/nested"],
    "src/lock/outer.c": ["lock/nested"],
    "src/lock/contact.c": ["lock/lock", "lock/lease"],
    "src/lock/holder.c": ["lock/lock"],
    "src/lock/kind.c": ["lock/kinds"],
    "src/lock/lease.c": ["lock/nested", "lock/lease", "queue/policies"],
    "src/lock/queue.c": ["queue/queue", "queue/waiters"],
    "src/lock/redlock.c": ["servers/redlock"],
    "src/lock/votes.c": ["servers/redlock"],
    "src/lock/release.c": ["queue/waiters", "lock/nested", "servers/replies"],
    "src/lock/record.c": ["cli/admin", "lock/stopped"],
    "src/lock/request.c": ["lock/lock", "queue/queuekeys"],
    "src/lock/set.c": ["lock/several"],
    "src/lock/script/acquire.lua": ["queue/queue", "lock/once", "lock/nested"],
    "src/admin/script/force.lua": ["cli/admin"],
    "src/lock/script/heal.lua": ["queue/queuekeys"],
    "src/lock/script/join.lua": ["lock/nested"],
    "src/admin/script/look.lua": ["cli/admin"],
    "src/lock/script/order.lua": ["queue/policies"],
    "src/admin/script/pause.lua": ["lock/pause"],
    "src/lock/script/plain_acquire.lua": ["cli/access"],
    "src/lock/script/plain_release.lua": ["cli/access"],
    "src/lock/script/release.lua": ["lock/nested", "lock/kinds", "queue/waiters"],
    "src/lock/script/renew.lua": ["lock/lease"],
    "src/lock/script/ring.lua": ["queue/queue"],
    "src/lock/script/shared/acquire_policy.lua": ["lock/once", "queue/policies"],
    "src/lock/script/shared/acquire_queue.lua": ["queue/queue", "lock/once"],
    "src/lock/script/shared/counted.lua": ["lock/kinds", "queue/kinds"],
    "src/lock/script/shared/counted_release.lua": ["lock/kinds", "lock/nested"],
    "src/lock/script/shared/exclusive_release.lua": ["lock/nested"],
    "src/lock/script/shared/holders.lua": ["lock/kinds"],
    "src/lock/script/shared/release_history.lua": ["lock/kinds", "lock/stopped"],
    "src/lock/script/shared/queue.lua": ["queue/queue", "queue/kinds"],
    "src/job/child.c": ["job/job"],
    "src/job/descendants.c": ["job/groups", "job/guard"],
    "src/job/guard.c": ["job/guard", "job/guard_lost"],
    "src/sink/hook_runner.c": ["job/hook"],
    "src/sink/hooks.c": ["job/hook"],
    "src/job/process.c": ["job/kernels", "job/groups"],
    "src/job/signals.c": ["job/signals"],
    "src/job/supervisor.c": ["job/guard", "job/signals", "job/guard_lost"],
    "src/job/terminal.c": ["job/terminal", "job/tty", "queue/waiters"],
    "src/run/command.c": ["job/job", "lock/several", "lock/nested"],
    "src/run/hold.c": ["lock/hold"],
    "src/run/watch.c": ["job/limits", "lock/lease", "lock/several"],
    "src/run/relay.c": ["job/signals", "job/tty"],
    "src/run/event.c": ["cli/log", "job/hook"],
    "src/run/events.c": ["cli/log", "job/hook"],
    "src/run/observer.c": ["lock/lease", "queue/queue", "servers/redlock"],
    "src/run/run.c": ["lock/lock", "queue/queue", "lock/stopped", "lock/once", "job/limits"],
}

# Each script with each command denied: it takes a quarter of a minute.
DENIALS = "tests/unit/denials_test.c"

# What is obviously broken and so must be noticed: file and function, line,
# changed line.
PROBES = {
    "base": ("src/base/loop.c loop_timer_remove", "if (*p == timer) {", "if (*p != timer) {"),
    "redis": ("src/redis/ways/cluster.c cluster_redirect",
              'if (strncmp(error, "MOVED ", 6) == 0)', 'if (strncmp(error, "MOVED ", 6) != 0)'),
    "lock": ("src/lock/release.c release_send",
             "clock_min(give_up_at, overdue_at + 1)) == -1) {",
             "clock_min(give_up_at, overdue_at + 1)) != -1) {"),
    "script": ("src/lock/script/shared/exclusive.lua -",
               "call('SET', lock, token, 'PX', math.max(ttl, left))", ""),
    "job": ("src/job/supervisor.c start_job",
            "if (getppid() == guard)", "if (getppid() != guard)"),
    "run": ("src/run/event.c event_shell_status",
            "return status < 0 ? EXITCODE_SIGNAL - status : status;",
            "return status < 0 ? EXITCODE_SIGNAL + status : status;"),
}


def storey_of(path):
    return next(name for name, patterns in STOREYS.items() if path in files_of(patterns))


def files_of(patterns):
    return sorted({path for pattern in patterns for path in glob.glob(pattern)} - NOT_BUILT)


def expand(patterns):
    for pattern in patterns:
        yield from files_of([f"{pattern}.bats"])


def units_of(storey):
    """Unit tests of modules of that storey, and the tables, where the scripts run, too."""
    units, sink = ["tests/unit/tables_test.c"], "sink/hook" if storey == "job" else "-"
    if storey == "script":
        return [*units, DENIALS]
    for path in files_of(["tests/unit/*_test.c"]):
        with open(path, encoding="utf-8") as file:
            if path != DENIALS and re.search(rf'#include "({storey}/|{sink})', file.read()):
                units.append(path)
    return units


def suites_of(storey, path=None):
    """In the order in which they are run."""
    first = [f"tests/{name}" for name in FIRST.get(path, ())]
    return list(dict.fromkeys([*expand(first), *expand(SUITES[storey])]))

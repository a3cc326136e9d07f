"""The runs in which system calls fail. Each is short, and ends by itself.

A job is a shell script. It has CASE, the folder of the case; S, the socket of a
server that has the key; and K, the key. It leaves a line in CASE/started when it
begins, and CASE/ended when it has come to its end; its status is 7. CASE/pid is
the process id of rlockrun."""
import os
import shutil
import signal
import subprocess
import time

BEGIN = 'echo $$ >>"$CASE/started"; '
OWNER = ('[ "$(redis-cli -s "$S" get "$K")" = "$RLOCKRUN_TOKEN" ] '
         '|| echo "$*" >>"$CASE/unlocked"; ')
DESCRIPTORS = 'ls /proc/$$/fd >"$CASE/descriptors"; '
END = 'echo >"$CASE/ended"; exit 7'
# For a second at most, whatever happens to who should end it.
HOLD = ('echo >"$CASE/held"; i=0; while [ ! -e "$CASE/done" ] && [ $((i += 1)) -lt 100 ]; '
        'do sleep 0.02; done')


class Scene:
    """How rlockrun is run, and what may come of it without a fault."""

    def __init__(self, name, options=(), job=END, server="tcp", status=7, **more):
        self.name = name
        self.options = list(options)
        self.job = job
        self.server = server
        self.status = status            # as of subprocess: -N for a signal
        self.before = more.get("before")  # called with the case
        self.action = more.get("action")  # instead of a job
        self.command = more.get("command")
        self.starts = more.get("starts", self.action is None and self.command is None
                               and (status in (7, 79, 124) or bool(more.get("started"))))
        self.statuses = more.get("statuses", ())  # others that a fault may lead to
        self.owned = more.get("owned", True)   # K holds the token of the job
        self.only = more.get("only", "")  # this phase
        self.terminal = more.get("terminal", False)
        self.types = more.get("types", "")  # at the terminal
        self.awaits = more.get("awaits", b"")  # until it shows that
        self.closed = more.get("closed", False)  # stdin is
        self.memory = more.get("memory", False)  # each allocation asks the kernel
        self.leaves = more.get("leaves", False)  # processes may outlive the run
        self.keeps = more.get("keeps", False)  # K may stay for its time
        # The phases and processes in which calls have another meaning than elsewhere.
        self.differs = set(more.get("differs", "start acquire" if self.action else "").split())

    def __str__(self):
        return self.name

    def script(self):
        owner = OWNER if self.owned else ""
        return BEGIN + owner + DESCRIPTORS + self.job.replace("OWNER;", owner)


# --- what is there before ---------------------------------------------------

def foreign(milliseconds):
    """Another client holds the lock so long."""
    def before(case):
        case.ask("set", case.key, "somebody", "px", milliseconds)
    return before


def other_run(*options):
    """Another run holds the lock, until CASE/done is there."""
    def before(case, script=HOLD):
        case.run_beside([*options, "--", "/bin/sh", "-c", script])
        case.await_file("held")
    return before


def paused(case):
    """The lock is paused."""
    foreign(1500)(case)
    case.ask("hset", "{" + case.key + "}:rlk:i", "token", "somebody", "host", "h", "pid", 1,
             "user", "u", "command", "", "kind", "x", "paused", 1,
             "since", int(time.time() * 1000))
    case.ask("pexpire", "{" + case.key + "}:rlk:i", 1500)


def brief_run(case):
    """Another run holds the lock until a waiter is in the queue."""
    script = ('echo >"$CASE/held"; i=0; while [ "$(redis-cli -s "$S" exists "{$K}:rlk:q")" '
              '!= 1 ] && [ $((i += 1)) -lt 40 ]; do sleep 0.02; done; sleep 0.1')
    other_run()(case, script)


def signal_waiter(case):
    """SIGTERM to rlockrun when it is in the queue."""
    foreign(4000)(case)
    script = ('i=0; while [ "$(redis-cli -s "$S" exists "{$K}:rlk:q")" != 1 ] '
              '&& [ ! -e "$CASE/done" ] && [ $((i += 1)) -lt 100 ]; do sleep 0.02; done; '
              '[ -e "$CASE/done" ] || kill -TERM "$(cat "$CASE/pid")"')
    subprocess.Popen(["/bin/sh", "-c", script], env=case.environment,
                     stderr=subprocess.DEVNULL, preexec_fn=case.unblock)


def outer_run(case):
    """This run is nested in another one."""
    script = 'echo "$RLOCKRUN_HELD" >"$CASE/nest"; ' + HOLD
    other_run()(case, script)
    with open(f"{case.folder}/nest", encoding="ascii") as file:
        case.environment["RLOCKRUN_HELD"] = file.read().strip()


def queue_alone(case):
    """A waiter without a lock."""
    for queue in ("{%s}:rlk:q" % case.key, "{tag}%s:rlkt:q" % case.key):
        case.ask("zadd", queue, 1, "x:00000000-0000-4000-8000-000000000000:1@host")
        case.ask("pexpire", queue, 4000)


def no_server(case):
    case.environment["RLOCKRUN_REDIS"] = f"unix://{case.folder}/nothing"


def credentials(case):
    path = f"{case.folder}/password"
    with open(path, "w", encoding="ascii") as file:
        file.write("secret\n")
    os.chmod(path, 0o600)
    case.environment["RLOCKRUN_PASSWORD_FILE"] = path
    case.environment["RLOCKRUN_USER"] = "worker"


def configuration(case):
    """A link, in place of the user's file; that of the host is not the case's."""
    del case.environment["RLOCKRUN_CONFIG"]
    case.environment["XDG_CONFIG_HOME"] = case.folder
    path = f"{case.folder}/conf"
    with open(path, "w", encoding="ascii") as file:
        file.write("[lock *]\nlabel = configured\n")
    os.chmod(path, 0o600)
    os.symlink(path, f"{case.folder}/rlockrun.conf")


def metrics_first(case):
    """An empty folder."""
    case.environment["RLOCKRUN_METRICS"] = f"{case.folder}/metrics"
    os.mkdir(f"{case.folder}/metrics")


def sinks(log):
    """What the host's configuration would ask for."""
    def before(case):
        metrics_first(case)
        case.environment["RLOCKRUN_LOG_TO"] = log
    return before


def metrics(case):
    """A folder with the file of former runs, of which one left its record."""
    metrics_first(case)
    with open(f"{case.folder}/metrics/rlockrun-{case.key}.prom", "w",
              encoding="ascii") as file:
        file.write("# run 1 holds 1700000000000\n# end\n")


def metrics_beside(case):
    """Another reader writes the same files."""
    metrics(case)
    other_run("-s")(case)


def metrics_locked(case):
    """Another process keeps the file locked."""
    metrics(case)
    script = 'exec 9>"$0"; flock 9; ' + HOLD
    lock = f"{case.folder}/metrics/rlockrun-{case.key}.lock"
    subprocess.Popen(["/bin/sh", "-c", script, lock], env=case.environment,
                     stderr=subprocess.DEVNULL, preexec_fn=case.unblock)
    case.await_file("held")


def metrics_link(case):
    metrics(case)
    os.rename(f"{case.folder}/metrics", f"{case.folder}/there")
    os.symlink(f"{case.folder}/there", f"{case.folder}/metrics")


def script_without_interpreter(case):
    path = f"{case.folder}/script"
    with open(path, "w", encoding="ascii") as file:
        file.write("#!/nonexistent/interpreter\n")
    os.chmod(path, 0o755)


def password_in_url(case):
    url = case.environment["RLOCKRUN_REDIS"]
    case.environment["RLOCKRUN_REDIS"] = url.replace("//", "//worker:secret@")


def tls_file(case):
    case.environment["RLOCKRUN_TLS_CA"] = case.environment.pop("SSL_CERT_FILE")
    case.environment["RLOCKRUN_TLS_CERT"] = f"{case.servers.certificates}/client.crt"
    case.environment["RLOCKRUN_TLS_KEY"] = f"{case.servers.certificates}/client.key"


def own_tls_files(case):
    """This run's own, so that its job may change them."""
    tls_file(case)
    for variable in ("RLOCKRUN_TLS_CERT", "RLOCKRUN_TLS_KEY"):
        copy = shutil.copy(case.environment[variable], case.folder)
        case.environment[variable] = copy


# --- the scenes -------------------------------------------------------------

SHORT = "sleep 0.05; OWNER;" + END
RENEWED = "sleep 0.8; OWNER;" + END
LONG = "sleep 6; " + END  # unless it is stopped before
LOSE = 'redis-cli -s "$S" del "$K" >/dev/null; '
TO_SELF = 'kill -%s "$(cat "$CASE/pid")"; '
STUBBORN = "trap '' TERM; (trap '' TERM; setsid sh -c 'sleep 20; :') & "
CUT = 'redis-cli -s "$S" client kill type normal >/dev/null; '
KILL = ["--kill-after", "0.3"]
HOOK = ["--hook", "echo $RLOCKRUN_EVENT"]
TERM = -signal.SIGTERM
KILLED = -signal.SIGKILL

SCENES = [
    Scene("tcp", job=SHORT),
    Scene("renew", job=RENEWED, differs="hold"),
    Scene("cold", job=RENEWED, server="cold", differs="acquire hold release"),
    Scene("unix", job=SHORT, server="unix", differs="acquire"),
    Scene("tls", job=SHORT, server="tls", differs="start acquire hold release"),
    Scene("name", job=SHORT, server="name", differs="acquire"),
    Scene("password", job=SHORT, before=credentials, differs="start acquire"),
    Scene("configuration", job=SHORT, before=configuration, differs="start"),
    Scene("hook", HOOK, job=SHORT),
    Scene("splay", ["--splay", "0.1"], job=SHORT, differs="start"),
    Scene("poll", job=SHORT, before=foreign(400), statuses=(75,), differs="acquire"),
    Scene("queue", job=SHORT, before=brief_run, statuses=(75,), differs="acquire"),
    Scene("busy", ["-n"], status=75, before=foreign(1500), starts=False, differs="acquire"),
    Scene("timeout", ["-w", "0.3"], status=75, before=foreign(1500), starts=False,
          differs="acquire"),
    Scene("wait-term", status=TERM, before=signal_waiter, starts=False, differs="acquire"),
    Scene("lost", KILL, LOSE + LONG, status=79, owned=False, differs="hold stop release"),
    Scene("lost-stubborn", KILL, LOSE + STUBBORN + LONG, status=79, owned=False,
          differs="guard command hold stop release"),
    Scene("lost-warn", ["--on-lost", "warn"], LOSE + "sleep 0.9; " + END, status=79,
          owned=False, differs="hold stop release"),
    # The time may end before the report that the command cannot be executed.
    Scene("max-run", [*KILL, "--max-run", "0.2"], LONG, status=124, statuses=(124,),
          differs="hold stop release"),
    Scene("max-run-stubborn", [*KILL, "--max-run", "0.2"], STUBBORN + LONG, status=124,
          statuses=(124,), differs="guard command hold stop release"),
    Scene("term", KILL, "sleep 20 & " + TO_SELF % "TERM" + LONG, status=TERM, started=True,
          differs="hold stop release"),
    Scene("job-killed", job="sleep 0.1; kill -KILL $$", status=KILLED, started=True,
          differs="hold stop release"),
    Scene("guard-killed", job="sleep 20 & kill -KILL $PPID; " + LONG, status=71, started=True,
          differs="guard command hold stop release"),
    Scene("run-killed", job="sleep 20 & " + TO_SELF % "KILL" + LONG, status=KILLED,
          started=True, keeps=True, differs="guard command hold stop release"),
    Scene("nested", job=SHORT, before=outer_run, keeps=True, differs="acquire hold release"),
    Scene("several", ["-k", "OTHER"], job=SHORT, owned=False, differs="acquire hold release"),
    Scene("shared", ["-s"], job=RENEWED, owned=False, keeps=True,
          differs="acquire hold release"),
    Scene("permits", ["-p", "2"], job=SHORT, owned=False, keeps=True, differs="acquire"),
    Scene("min-hold", ["--min-hold", "0.4"], job=SHORT, keeps=True, differs="release"),
    Scene("children", job="sleep 0.3 & " + SHORT, leaves=True, differs="hold release"),
    Scene("wait-all", ["--wait-all"], job="sleep 0.3 & " + SHORT, differs="hold release"),
    Scene("log", ["--log-to", "log"], job='mv "$CASE/log" "$CASE/old"; ' + SHORT,
          differs="start acquire launch hold release"),
    Scene("log-descriptor", ["--log-to", "/dev/stdout"], job=SHORT, differs="start"),
    Scene("log-syslog", ["--log-to", "syslog"], job=SHORT,
          differs="acquire launch hold release"),
    Scene("sentinel", job=SHORT, server="sentinel", differs="acquire hold release"),
    Scene("cluster", job=SHORT, server="cluster", differs="acquire hold release"),
    Scene("redlock", ["--min-uptime", "0"], job=RENEWED, server="several", owned=False,
          keeps=True, differs="acquire hold release"),
    Scene("cut", job=CUT + RENEWED,
          differs="hold release"),
    Scene("silent", job='redis-cli -s "$S" client pause 700 all >/dev/null; sleep 1.2; '
          "OWNER;" + END, differs="hold"),
    Scene("terminal", job=SHORT, terminal=True, differs="start acquire launch hold release"),
    Scene("terminal-wait", job=SHORT, before=brief_run, statuses=(75,), terminal=True,
          differs="acquire"),
    Scene("terminal-stop", job="(sleep 0.2; kill -CONT $$) & kill -STOP $$; " + SHORT,
          terminal=True, differs="hold release"),
    Scene("guard-stopped", job="kill -STOP $PPID; " + SHORT, differs="hold release"),
    Scene("closed", job=SHORT, closed=True, differs="start launch"),
    Scene("tls-file", job=SHORT, server="tls", before=tls_file, differs="start acquire"),
    Scene("tls-again", job='touch "$CASE/client.crt"; ' + CUT + RENEWED, server="tls",
          before=own_tls_files, differs="hold"),
    Scene("password-again", job=CUT + RENEWED, before=credentials, differs="hold"),
    Scene("unavailable", status=69, before=no_server, starts=False, differs="acquire"),
    Scene("unavailable-run", ["--on-unavailable", "run"], job=SHORT, before=no_server,
          owned=False, differs="acquire launch hold release"),
    Scene("metrics", job=RENEWED, before=metrics, differs="hold release"),
    Scene("metrics-first", ["--metrics", "metrics"], job=SHORT, before=metrics_first,
          differs="release"),
    Scene("metrics-beside", ["-s"], job=RENEWED, before=metrics_beside, owned=False,
          keeps=True, differs="hold release"),
    Scene("metrics-locked", job=SHORT, before=metrics_locked, differs="release"),
    Scene("metrics-link", job=SHORT, before=metrics_link, differs="release"),
    Scene("not-found", command=["nonexistent-command"], status=127, differs="start"),
    Scene("no-interpreter", command=["./script"], status=126,
          before=script_without_interpreter, differs="launch release"),
    Scene("status", action=["--status"], before=foreign(1500), status=0, statuses=(75,)),
    Scene("status-json", action=["--status", "--json"], before=other_run(), status=0,
          statuses=(75,)),
    Scene("list", action=["--list"], before=other_run(), status=0),
    Scene("force", action=["--force-release", "--yes"], before=foreign(1500), status=0,
          statuses=(75,)),
    Scene("force-asked", action=["--force-release"], before=foreign(1500), status=0,
          statuses=(64, 75), terminal=True, types="yes\n"),
    Scene("hold", action=["--hold", "1"], status=0, keeps=True),
    Scene("hold-queue", action=["--hold", "1"], before=brief_run, status=0, statuses=(75,),
          keeps=True),
    Scene("hold-extend", action=["--hold", "2", "--token", "somebody"],
          before=foreign(1000), status=0, statuses=(79,), keeps=True),
    Scene("pause", action=["--pause", "none", "--for", "1"], status=0, statuses=(75,),
          keeps=True),
    Scene("pause-wait", action=["--pause", "none", "--for", "1"], before=foreign(300), status=0,
          statuses=(75,), keeps=True),
    Scene("resume", action=["--resume"], before=paused, status=0),
    Scene("watch", action=["--list", "--watch"], before=other_run(), status=0,
          statuses=(64,), terminal=True, types="q", awaits=b"held, "),
    Scene("doctor", action=["--doctor"], before=sinks("log"), status=1,
          statuses=(69, 71, 77)),
    Scene("doctor-syslog", action=["--doctor"], before=sinks("syslog"), status=1,
          statuses=(69, 71, 77)),
    Scene("list-cluster", action=["--list"], before=other_run(), status=0, server="cluster"),
    Scene("show-config", action=["--show-config"], before=configuration, status=0),
    Scene("help", action=["--help"], status=0),
    Scene("version", action=["--version"], status=0),
    Scene("memory", job=RENEWED, memory=True),
    Scene("memory-cold", job=RENEWED, server="cold", memory=True,
          differs="acquire hold release"),
    Scene("memory-queue", job=SHORT, memory=True, before=brief_run, statuses=(75,),
          differs="acquire"),
    Scene("memory-lost", KILL, LOSE + LONG, status=79, owned=False, memory=True,
          differs="hold stop release"),
    Scene("memory-name", job=SHORT, server="name", memory=True, differs="acquire"),
    Scene("memory-nested", job=SHORT, before=outer_run, memory=True, keeps=True,
          differs="acquire hold release"),
    Scene("memory-redlock", ["--min-uptime", "0"], job=SHORT, server="several", owned=False,
          memory=True, differs="acquire hold release"),
    Scene("memory-cluster", job=SHORT, server="cluster", memory=True,
          differs="acquire hold release"),
    Scene("memory-hook", HOOK, job=SHORT, memory=True),
    Scene("memory-list", action=["--list"], before=other_run(), status=0, memory=True),
    Scene("memory-watch", action=["--list", "--watch"], before=other_run(), status=0,
          statuses=(64,), terminal=True, types="q", awaits=b"held, ", memory=True),
    Scene("memory-show-config", action=["--show-config"], before=configuration, status=0,
          memory=True),
    Scene("memory-list-cluster", action=["--list"], before=other_run(), status=0,
          server="cluster", memory=True),
    Scene("memory-log", ["--log-to", "log", "--log-format", "json"], job=SHORT, memory=True,
          differs="start acquire launch hold release"),
    Scene("memory-metrics", job=RENEWED, before=metrics, memory=True,
          differs="start hold release"),
    Scene("memory-json", action=["--status", "--json"], before=other_run(), status=0,
          statuses=(75,), memory=True),
    Scene("memory-status", action=["--status"], before=other_run(), status=0,
          statuses=(75,), memory=True),
    Scene("memory-unavailable-run", ["--on-unavailable", "run"], job=SHORT,
          before=no_server, owned=False, memory=True, differs="acquire hold"),
    Scene("memory-list-queue", action=["--list"], before=queue_alone, status=0, memory=True),
    # Traced, the handshake with its 10,000 mappings takes two seconds and more.
    Scene("memory-tls", ["--server-timeout", "20"], job=SHORT, server="tls", memory=True,
          only="acquire"),
    Scene("memory-url", job=SHORT, before=password_in_url, memory=True, differs="start"),
    Scene("memory-many", [word for _ in range(15) for word in ("-k", "OTHER")], job=RENEWED,
          owned=False, memory=True, differs="acquire hold release"),
    Scene("memory-sentinel", job=SHORT, server="sentinel", memory=True,
          differs="acquire hold release"),
]

"""What is no matter of chance: the table of commands, and those that the source uses."""
import glob
import os
import re

FLAGS = {"write", "denyoom", "noscript", "loading", "stale", "no_auth", "allow_busy"}
# What a doctor alone asks, of real servers; and the word of an error.
ELSEWHERE = {"acl|getuser", "command", "exec", "multi", "sentinel|replicas", "readonly"}
IN_C = re.compile(r'"([A-Z]+)"(?=(?:,\s*"([A-Za-z-]+)")?)')
IN_LUA = re.compile(r"'([A-Z]+)'")


def read_table(double):
    """{name: (arity, first, last, step, flags)} as the double has it."""
    rows = {}
    for _, line in double.order("commands"):
        name, arity, first, last, step, *flags = line.decode().split(" ")
        rows[name] = (int(arity), int(first), int(last), int(step),
                      {flag for flag in ",".join(flags).split(",") if flag})
    return rows


def read_real(control, name):
    """The same, as COMMAND INFO describes it; None if there is no such command."""
    reply = control.ask("COMMAND", "INFO", name).decode()
    head = re.match(r"\*1\r\n\*\d+\r\n\$\d+\r\n\S+\r\n:(-?\d+)\r\n\*(\d+)\r\n((?:\+\S+\r\n)*)"
                    r":(-?\d+)\r\n:(-?\d+)\r\n:(-?\d+)\r\n", reply)
    if not head:
        return None
    flags = {flag for flag in head.group(3).replace("+", "").split() if flag in FLAGS}
    return (int(head.group(1)), *(int(head.group(i)) for i in (4, 5, 6)), flags)


def check_table(primary, double, generators):
    """How many rows of the double's table differ, or have nothing that plays them."""
    failed = 0
    rows, version = read_table(double), primary.version()
    for name, row in rows.items():
        real = read_real(primary.control, name)
        if not name.startswith("sentinel|") and \
                (not real or version.drop_flags(name, real) != version.drop_flags(name, row)):
            print(f"# table: {name}\n#   real:   {real}\n#   double: {row}")
            failed += 1
        if name not in generators:
            print(f"# table: nothing plays {name}")
            failed += 1
    for name in sorted(set(generators) - set(rows)):
        print(f"# table: the double has no {name}")
        failed += 1
    return failed


def words_of(root):
    """{(a word that may be a command, that behind it): a file}, of all that talks to
    servers."""
    found = {}
    for path in (glob.glob(f"{root}/src/**/*.c", recursive=True)
                 + glob.glob(f"{root}/src/*/script/**/*.lua", recursive=True)):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(".lua"):
            found.update({(word, ""): path for word in IN_LUA.findall(text)})
        elif '#include "redis/' in text or "/redis/" in path:
            found.update({pair: path for pair in IN_C.findall(text)})
    return found


def check_used(primary, root, generators):
    """How many commands the source uses that nothing plays."""
    containers = {name.split("|")[0] for name in generators if "|" in name}
    failed = 0
    for (word, behind), path in words_of(root).items():
        name = word.lower()
        if name in containers and behind:
            name = f"{name}|{behind.lower()}"
        elif name in containers or not read_real(primary.control, name):
            continue
        if name not in generators and name not in ELSEWHERE:
            print(f"# {os.path.relpath(path, root)}: nothing plays {name}")
            failed += 1
    return failed

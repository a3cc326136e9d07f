"""What is no matter of chance: the table of commands."""
import re

FLAGS = {"write", "denyoom", "noscript", "loading", "stale", "no_auth", "allow_busy"}


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
    rows = read_table(double)
    for name, row in rows.items():
        real = read_real(primary.control, name)
        if real != row and not name.startswith("sentinel|"):
            print(f"# table: {name}\n#   real:   {real}\n#   double: {row}")
            failed += 1
        if name not in generators:
            print(f"# table: nothing plays {name}")
            failed += 1
    for name in sorted(set(generators) - set(rows)):
        print(f"# table: the double has no {name}")
        failed += 1
    return failed

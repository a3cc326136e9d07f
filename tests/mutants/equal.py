"""The list `equal`: mutants that behave like the original."""


def read(path):
    """(file and function, line, changed line) -> reason"""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    entries = {}
    for head, before, after in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        place, colon, reason = head.partition(": ")
        if not colon or before[0] != "-" or after[0] != "+":
            raise ValueError(f"no reason, line and changed line: {head}")
        entries[place, before[1:].strip(), after[1:].strip()] = reason
    return entries


def find_stale(entries, mutants):
    """Entries that no longer fit a line of the source."""
    return sorted(set(entries) - {mutant.key() for mutant in mutants})

"""The list `equal`: mutants that behave like the original."""


def read(path):
    """(file and function, line, changed line) -> reason"""
    entries = {}
    with open(path, encoding="utf-8") as file:
        paragraphs = file.read().split("\n\n")
    for paragraph in paragraphs:
        lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        if len(lines) < 4 or not lines[1].startswith("-") or not lines[2].startswith("+"):
            raise ValueError(f"no file, line, changed line and reason: {lines[0]}")
        key = lines[0], " ".join(lines[1][1:].split()), " ".join(lines[2][1:].split())
        entries[key] = " ".join(line.strip() for line in lines[3:])
    return entries


def find_stale(entries, mutants):
    """Entries that no longer fit a line of the source."""
    return sorted(set(entries) - {mutant.key() for mutant in mutants})

"""The call sites of a program: where it calls a library.

They are read from the program itself, with objdump and addr2line, so that a new
call is known as soon as it is compiled. The program must be built with symbols,
without inlining and without tail calls (`make VARIANT=faults`): then the address
to which a library function returns is that of its call site alone."""
import re
import subprocess

FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
CALL = re.compile(r"^\s*[0-9a-f]+:\s+call\s+(?:[0-9a-f]+ <([\w]+)@plt>|(\*).*)$")
ADDRESS = re.compile(r"^\s*([0-9a-f]+):")


class Site:
    """One call in the source, which may be several in the program."""

    def __init__(self, file, function, symbol):
        self.file = file
        self.function = function
        self.symbol = symbol  # "*" is a call by pointer, as to OpenSSL
        self.name = f"{file}:{function}:{symbol}"

    def __str__(self):
        return self.name


class Code:
    def __init__(self, program):
        self.program = program
        self.sites = {}  # by the offset to which the call returns
        self.read()

    def names(self):
        return {site.name for site in self.sites.values()}

    def read(self):
        calls = list(find_calls(self.program))
        places = find_places(self.program, [offset for offset, _, _ in calls])
        lines = {}
        for (offset, function, symbol), (file, line) in zip(calls, places):
            if file is None:
                continue
            site = Site(file, function, symbol)
            self.sites[offset] = site
            lines.setdefault(site.name, {}).setdefault(line, []).append(site)
        number_repeated(lines)


def number_repeated(lines):
    """The second call of the same function in a function is `name#2`."""
    for by_line in lines.values():
        for number, line in enumerate(sorted(by_line), 1):
            for site in by_line[line]:
                site.name += f"#{number}" if number > 1 else ""


def find_calls(program):
    """(offset behind the call, function, symbol) of each call of a library."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", program],
                          check=True, capture_output=True, text=True).stdout
    function = called = None
    for line in text.splitlines():
        head = FUNCTION.match(line)
        address = ADDRESS.match(line)
        if head:
            function = head[1].split(".")[0]
        if not address:
            continue
        # Behind the call of a function that does not return another one may begin.
        if called:
            yield int(address[1], 16), *called
        call = CALL.match(line)
        called = (function, call[1] or call[2]) if call else None


def find_places(program, offsets):
    """(file, line) of each call, (None, None) outside of src."""
    asked = "\n".join(hex(offset - 1) for offset in offsets)
    text = subprocess.run(["addr2line", "-e", program], input=asked,
                          check=True, capture_output=True, text=True).stdout
    for place in text.splitlines():
        path, _, line = place.partition(" ")[0].rpartition(":")
        _, source, file = path.rpartition("src/")
        yield (file, int(line)) if source else (None, None)

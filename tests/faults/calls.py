"""The table `calls`: which system calls a library function makes, and how each of
them can fail."""


class Calls:
    def __init__(self, path):
        self.faults = {}   # symbol, folder/symbol or file:symbol -> system call -> faults
        self.none = set()  # symbols that make none
        self.sometimes = set()  # and that need not make any
        with open(path, encoding="ascii") as file:
            for line in file:
                self.add(line.split("#")[0].split())

    def add(self, words):
        if not words:
            return
        if words[0] == "none":
            self.none.update(words[1:])
            return
        if words[0] == "sometimes":
            self.sometimes.update(words[1:])
            return
        symbols, syscalls, *faults = words
        if faults[0] == "-":
            faults = []
        for symbol in symbols.split(","):
            for syscall in syscalls.split(","):
                self.faults.setdefault(symbol, {}).setdefault(syscall, []).extend(faults)

    def of(self, site):
        """system call -> faults, of those that a call site can make."""
        folder = site.file.partition("/")[0]
        for name in (f"{site.file}:{site.symbol}", f"{folder}/{site.symbol}", site.symbol):
            if name in self.faults:
                return self.faults[name]
        return {}

    def knows(self, site):
        return site.symbol in self.none or bool(self.of(site))

    def must_be_reached(self, site):
        """It makes a system call each time, and that can fail."""
        return site.symbol not in self.sometimes and any(self.of(site).values())

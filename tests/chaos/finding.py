"""A finding: what a rule says against a history."""


class Finding:
    """`at` in microseconds; `excused` is the reason why it may be so, or None."""

    def __init__(self, kind, at, runs, text, excused=None):
        self.kind, self.at, self.runs = kind, at, runs
        self.text, self.excused = text, excused

    def __str__(self):
        runs = ", ".join(str(number) for number in self.runs)
        whose = f" (run {runs})" if len(self.runs) == 1 else f" (runs {runs})" if runs else ""
        line = f"{self.kind} at {self.at / 1e6:.3f} s: {self.text}{whose}"
        return f"excused: {line}: {self.excused}" if self.excused else line

"""What a run of mutants has found so far, so that the same run goes on where it was
stopped. It counts only while nothing is changed that is built or played."""
import hashlib
import json
import os

from sites import Mutant

UNPLAYED = ("equal", "README.md")


def digest_of(folders):
    digest = hashlib.sha256()
    for folder in folders:
        for where, _, names in sorted(os.walk(folder)):
            for name in sorted(set(names).difference(UNPLAYED)):
                path = f"{where}/{name}"
                digest.update(path.encode() + b"\0")
                with open(path, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


class State:
    """drawn: the mutants; results: number -> (whether it was noticed, how), of those that
    were played; control: storey -> (tests that fail as it is, seconds)."""

    def __init__(self, path, *about):
        self.path, self.about = path, [digest_of(["src", "tests"]), *map(str, about)]
        self.drawn, self.results, self.control = None, {}, {}
        try:
            with open(path, encoding="utf-8") as file:
                self.load(json.load(file))
        except FileNotFoundError:
            pass

    def load(self, kept):
        if kept["about"] != self.about:
            return
        self.drawn = [self.mutant(*place) for place in kept["drawn"]]
        self.results = {int(number): result for number, result in kept["results"].items()}
        self.control = {storey: ([tuple(test) for test in broken], seconds)
                        for storey, (broken, seconds) in kept["control"].items()}

    @staticmethod
    def mutant(path, start, end, new):
        with open(path, encoding="utf-8") as file:
            return Mutant(path, file.read(), start, end, new)

    def save(self):
        places = [(one.path, one.start, one.end, one.new) for one in self.drawn]
        with open(f"{self.path}.new", "w", encoding="utf-8") as file:
            json.dump({"about": self.about, "drawn": places, "results": self.results,
                       "control": self.control}, file)
        os.replace(f"{self.path}.new", self.path)

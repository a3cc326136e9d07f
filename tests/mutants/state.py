"""What a run of mutants has found so far, so that the same run goes on where it was
stopped. It counts only while nothing is changed that is built or played, unless what was
noticed before is to be believed."""
import hashlib
import json
import os

from sites import mutants_of

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
    """drawn: the mutants; results: name -> (whether it was noticed, how), of those that
    were played; control: storey -> (tests that fail as it is, seconds)."""

    def __init__(self, path, again, *about):
        """again: of another source, or with other tests, what was noticed counts too."""
        self.path, self.about = path, [digest_of(["src", "tests"]), *map(str, about)]
        self.again = again
        self.known = set()  # names of mutants that were drawn before
        self.drawn, self.results, self.control = None, {}, {}
        try:
            with open(path, encoding="utf-8") as file:
                self.load(json.load(file))
        except FileNotFoundError:
            pass

    def load(self, kept):
        self.known = {*kept["drawn"], *kept["results"]}
        if kept["about"] != self.about:
            self.results = {name: result for name, result in kept["results"].items()
                            if self.again and result[0]}
            return
        every = {mutant.name(): mutant for path in sorted(set(kept["paths"]))
                 for mutant in mutants_of(".", path)}
        self.drawn = [every[name] for name in kept["drawn"]]
        self.results = kept["results"]
        self.control = {storey: ([tuple(test) for test in broken], seconds)
                        for storey, (broken, seconds) in kept["control"].items()}

    def save(self):
        with open(f"{self.path}.new", "w", encoding="utf-8") as file:
            json.dump({"about": self.about, "paths": [one.path for one in self.drawn],
                       "drawn": [one.name() for one in self.drawn],
                       "results": self.results, "control": self.control}, file)
        os.replace(f"{self.path}.new", self.path)

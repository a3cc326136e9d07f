"""Plays mutants in a copy of the tree, and doubts the tests that fail."""
from sandbox import OUT_OF_TIME
from suites import storey_of, tests_of, units_of

CONTROL_S = 1800
ALONE_S = 120


class Known:
    """What all players know of the tests on the program as it is."""

    def __init__(self):
        self.limits = {}     # storey -> the bound of a mutant, in seconds
        self.broken = set()  # tests that fail, also alone

    def note(self, storey, broken, seconds):
        self.broken.update(broken)
        self.limits[storey] = 2 * seconds + 10


class Player:
    def __init__(self, tree, sandbox, known):
        self.tree, self.sandbox, self.known = tree, sandbox, known

    def control(self, storey):
        """(tests that fail on the program as it is, seconds)"""
        self.must_build(units_of(storey))
        simulated = self.sandbox.simulate()
        if simulated.failure:
            return [("the program as it is", simulated.failure)], simulated.seconds
        outcome = self.sandbox.run(tests_of(storey), CONTROL_S, go_on=True)
        if outcome.failure and not outcome.failures:
            raise RuntimeError(f"{storey}: {outcome.failure}")
        broken = [test for test in outcome.failures if self.fails_alone(test)]
        return broken, outcome.seconds

    def play(self, mutant):
        """(whether it was noticed, how)"""
        storey = storey_of(mutant.path)
        self.tree.write(mutant)
        try:
            self.must_build(units_of(storey))
            return self.judge(mutant, storey)
        finally:
            self.tree.restore(mutant)

    def judge(self, mutant, storey):
        tests = tests_of(storey, mutant.path)
        limit = self.known.limits["lock" if storey == "script" else storey]
        ignored, doubts = set(self.known.broken), ""
        simulated = self.sandbox.simulate()
        seconds = simulated.seconds
        if simulated.failure:
            return True, f"noticed after {seconds:.0f} s: {simulated.failure}"
        while True:
            outcome = self.sandbox.run(tests, limit, ignored=ignored)
            seconds += outcome.seconds
            if not outcome.failure:
                return False, f"survived {seconds:.0f} s{doubts}"
            if outcome.failure == OUT_OF_TIME:
                return False, f"survived? {seconds:.0f} s, {OUT_OF_TIME}{doubts}"
            if not outcome.test or self.is_noticed(mutant, outcome.test):
                return True, f"noticed after {seconds:.0f} s: {outcome.failure}{doubts}"
            doubts += f" (suspicious: {outcome.failure}: failed once)"
            ignored.add(outcome.test)

    def is_noticed(self, mutant, test):
        """Whether a test fails because of the mutant: alone it fails again, and without
        the mutant it passes."""
        if not test[0].endswith(".bats"):
            return True
        if not self.fails_alone(test):
            return False
        self.tree.restore(mutant)
        self.must_build([])
        fails = self.fails_alone(test)
        self.tree.write(mutant)
        self.must_build([])
        return not fails

    def fails_alone(self, test):
        return self.sandbox.run([test[0]], ALONE_S, name=test[1]).failure is not None

    def must_build(self, units):
        complaint = self.tree.build(units)
        if complaint:
            raise RuntimeError(complaint)

"""Plays mutants in a copy of the tree, and doubts the tests that fail."""
from sandbox import OUT_OF_TIME
from suites import CALLING, SIMULATED, storey_of, suites_of, units_of

LIMIT_S = 1800  # a survivor is played by all suites of its storey
ALONE_S = 120
# Histories by their seeds: with all scenes at first, and before the suites.
SOON, LATER = 300, 2000


class Player:
    def __init__(self, tree, sandbox, broken):
        """broken: the tests that fail, also alone, on the program as it is; all players
        know them."""
        self.tree, self.sandbox, self.broken = tree, sandbox, broken

    def control(self, storey):
        """(what of the simulation and the unit tests fails on the program as it is, seconds).
        A suite is looked at when one of its tests fails."""
        self.must_build(units_of(storey))
        histories = LATER if storey in SIMULATED else SOON
        simulated = self.sandbox.simulate(1, histories, self.sandbox.scenes())
        if simulated.failure:
            return [("the program as it is", simulated.failure)], simulated.seconds
        outcome = self.sandbox.run(units_of(storey), LIMIT_S, go_on=True)
        if outcome.failure and not outcome.failures:
            raise RuntimeError(f"{storey}: {outcome.failure}")
        broken = [test for test in outcome.failures if self.fails_alone(test)]
        return broken, outcome.seconds

    def play(self, mutant):
        """(whether it was noticed, how)"""
        storey = storey_of(mutant.path)
        self.tree.write(mutant)
        try:
            self.must(self.tree.build_simulation())
            return self.judge(mutant, storey)
        finally:
            self.tree.restore(mutant)

    def judge(self, mutant, storey):
        def run_units():
            self.must_build(units_of(storey))
            return self.sandbox.run(units_of(storey), LIMIT_S, ignored=self.broken)

        steps = [lambda: self.sandbox.simulate(1, SOON, self.sandbox.scenes()), run_units]
        if storey in SIMULATED:
            steps.append(lambda: self.sandbox.simulate(SOON + 1, LATER - SOON))
        seconds = 0
        for step in steps:
            outcome = step()
            seconds += outcome.seconds
            if outcome.failure:
                return True, f"noticed after {seconds:.0f} s: {outcome.failure}"
        failing = self.fail_calls(mutant) if storey in CALLING else set()
        if failing:
            return True, f"noticed after {seconds:.0f} s: a system call fails: {min(failing)}"
        return self.judge_by_suites(mutant, storey, seconds)

    def fail_calls(self, mutant):
        """The cases of system calls of its function that fail, twice, with it alone."""
        def play():
            self.must(self.tree.build_faults())
            return self.sandbox.fail_calls(where)

        where = f"{mutant.path.removeprefix('src/')}:{mutant.function}"
        failing = play()
        if failing:
            failing &= play()
        if failing:
            self.tree.restore(mutant)
            failing -= play()
            self.tree.write(mutant)
            self.must_build([])
        return failing

    def judge_by_suites(self, mutant, storey, seconds):
        ignored, doubts = set(self.broken), ""
        while True:
            outcome = self.sandbox.run(suites_of(storey, mutant.path), LIMIT_S, ignored=ignored)
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
        if fails:
            self.broken.add(test)
        return not fails

    def fails_alone(self, test):
        return self.sandbox.run([test[0]], ALONE_S, name=test[1]).failure is not None

    def must_build(self, units):
        self.must(self.tree.build(units))

    @staticmethod
    def must(complaint):
        if complaint:
            raise RuntimeError(complaint)

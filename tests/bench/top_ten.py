"""Shares per function as two ways of measuring have them, side by side."""

import math

from benchmark import table

TOP = 10
# Of Student's distribution, two-sided, 95%, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}


class Shares:
    """Shares in percent, with errors, of what functions took in several turns."""

    def __init__(self, turns, counts=False):
        """turns: what each function took in each. counts: that is a number of samples."""
        self.turns = turns
        self.counts = counts
        self.taken = {}
        for turn in turns:
            for function, taken in turn.items():
                self.taken[function] = self.taken.get(function, 0) + taken
        self.total = sum(self.taken.values())
        self.ranked = sorted(self.taken, key=lambda function: -self.taken[function])
        self.top = self.ranked[:TOP]

    def share(self, function):
        return 100 * self.taken.get(function, 0) / self.total

    def error(self, function):
        """Half of the 95% interval, in points: by leaving out a turn at a time, and of samples not
        less than their number gives."""
        others = [(self.total - sum(turn.values()), self.taken.get(function, 0) - turn.get(function, 0))
                  for turn in self.turns]
        left = [100 * taken / total for total, taken in others if total > 0]
        mean = sum(left) / len(left)
        by_turns = math.sqrt((len(left) - 1) / len(left) * sum((one - mean) ** 2 for one in left))
        by_turns *= STUDENT.get(len(left) - 1, 2)
        share = self.share(function) / 100
        by_number = 196 * math.sqrt(share * (1 - share) / self.total) if self.counts else 0
        return max(by_turns, by_number)

    def cell(self, function):
        return f"{self.share(function):.1f}% ±{self.error(function):.1f}"

    def told(self, function):
        """Its rank, and how far it is from the tenth."""
        rank = self.ranked.index(function) + 1 if function in self.taken else None
        return "not seen" if rank is None else f"rank {rank} with {self.share(function):.2f}%"

    def may_be_in_top(self, function):
        """Whether its share differs from the tenth's by less than their errors."""
        tenth = self.top[-1]
        return self.share(tenth) - self.share(function) < \
            math.hypot(self.error(tenth), self.error(function))


def compared(truth, ours, names):
    """Lines: a table of both top tens in the first one's order, and what it comes to. names: of both."""
    shown = sorted(set(truth.top) | set(ours.top), key=lambda function: -truth.share(function))
    rows = []
    for function in shown:
        tens = [name for name, one in zip(names, (truth, ours)) if function in one.top]
        rows.append([f"`{function}`", truth.cell(function), ours.cell(function),
                     f"{ours.share(function) - truth.share(function):+.1f}",
                     "both" if len(tens) == 2 else f"{tens[0]} only"])
    same = set(truth.top) & set(ours.top)
    furthest = max(set(truth.taken) | set(ours.taken),
                   key=lambda function: abs(ours.share(function) - truth.share(function)))
    lines = [table(["function", *names, "points", "in the top ten of"], rows), "",
             f"Top ten: {len(same)} of {TOP} the same; largest difference "
             f"{abs(ours.share(furthest) - truth.share(furthest)):.1f} points (`{furthest}`), with an "
             f"error of {math.hypot(ours.error(furthest), truth.error(furthest)):.1f}."]
    for mine, other, name in ((truth, ours, names[1]), (ours, truth, names[0])):
        for function in mine.top:
            if function not in other.top:
                tie = "a tie within the error" if other.may_be_in_top(function) else \
                    "more than the error apart"
                lines.append(f"`{function}` is not in the top ten of {name}: {other.told(function)}, the "
                             f"tenth has {other.share(other.top[-1]):.2f}%: {tie}.")
    return lines

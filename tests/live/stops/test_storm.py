"""The largest, busiest processes (storm.erl) are in each dump, with all of their terms: they run and
collect all the time. Each term proves itself, and all of them can be reached at every moment.

BEAMDUMP_STORM_KINDS, _SIZES (megabytes of a process), _PROCESSES, _MODES: what is captured, separated by
commas. BEAMDUMP_STORM_CAPTURES is how often each (soak: 100)."""

import os
import pathlib
import tempfile
import unittest

from support import tools
from support.storm import StormNode, checked, items_of, lacks

SHORT = "map,list,recursion,append,reverse,hibernate,dirty_nif"
MAX_PAUSE_MS = 100
# What a stop may take beyond its bound: the kernel's own time for the last of its threads.
SLACK_MS = 20


def chosen(name, default):
    return [word for word in os.environ.get(f"BEAMDUMP_STORM_{name}", default).split(",") if word]


KINDS = chosen("KINDS", SHORT)
SIZES = [float(size) for size in chosen("SIZES", "60")]
PROCESSES = [int(count) for count in chosen("PROCESSES", "1")]
MODES = chosen("MODES", "auto,snapshot,freeze")
CAPTURES = int(os.environ.get("BEAMDUMP_STORM_CAPTURES", "1"))


class Cell:
    """One place of the matrix: a kind, a size, a number of processes, a mode."""

    def __init__(self, kind, megabytes, count, mode):
        self.kind, self.items, self.mode = kind, items_of(kind, megabytes), mode
        self.count = count
        self.title = f"{kind:15} {megabytes:6g} MB x {count} {mode:9}"
        self.had = self.total = 0
        self.stops = []
        self.lacking = {}

    def take(self, dump, names):
        """Adds what a dump has of the processes of those names."""
        found = checked(dump, self.items)
        for name in names:
            lack = lacks(found.get(name), self.items, self.kind)
            self.total += 1
            self.had += lack is None
            if lack is not None:
                self.lacking[lack] = self.lacking.get(lack, 0) + 1
        self.stops.append(tools.analyze_json("summary", dump)["capture"])

    def longest_ms(self):
        return max(stops["longest_stop_ns"] for stops in self.stops) / 1e6

    def most_stopped_ms(self):
        return max(stops["total_stopped_ns"] for stops in self.stops) / 1e6

    def wrong(self):
        """What does not hold, as lines."""
        lines = [f"{self.title}: {times} times {lack}" for lack, times in self.lacking.items()]
        if self.mode == "auto":
            bound = MAX_PAUSE_MS + SLACK_MS
            if self.longest_ms() > bound:
                lines.append(f"{self.title}: a stop of {self.longest_ms():.1f} ms")
            if self.most_stopped_ms() > bound * (self.count + 1):
                lines.append(f"{self.title}: stopped for {self.most_stopped_ms():.1f} ms in total")
        return lines

    def __str__(self):
        stops = max(stops["stops"] for stops in self.stops)
        return (f"{self.title} {self.had:4} of {self.total:4}; stops {stops:3}, longest "
                f"{self.longest_ms():7.1f} ms, in total {self.most_stopped_ms():7.1f} ms")


class Storm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.storms = StormNode()
        cls.addClassCleanup(cls.storms.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def fill(self, cells, names):
        dump = self.scratch / "storm.beamdump"
        for cell in cells:
            limit = ["--max-pause", MAX_PAUSE_MS] if cell.mode == "auto" else []
            for _ in range(CAPTURES):
                tools.capture(self.storms.node, dump, "--force", "--mode", cell.mode,
                              "--binary-bytes", "all", *limit)
                cell.take(dump, names)
            print(cell, *cell.wrong(), sep="\n    ", flush=True)

    def test_at_rest(self):
        """The same state at rest: what is compared is right."""
        items = items_of("waiting", min(SIZES))
        dump = self.scratch / "rest.beamdump"
        with self.storms.storm("waiting", items, 1) as names:
            tools.capture(self.storms.node, dump, "--mode", "live", "--binary-bytes", "all")
            process = checked(dump, items)[names[0]]
            self.assertIsNone(lacks(process, items, "waiting"))
            self.assertEqual(process["without_bytes"], 0)

    def test_matrix(self):
        wrong = []
        for kind in KINDS:
            for megabytes in SIZES:
                for count in PROCESSES:
                    cells = [Cell(kind, megabytes, count, mode) for mode in MODES]
                    with self.storms.storm(kind, cells[0].items, count) as names:
                        before = self.storms.rounds()
                        self.fill(cells, names)
                        self.storms.wait_for_rounds(before + 1)
                    self.assertEqual(self.storms.node.ask("ping"), "pong")
                    wrong += [line for cell in cells for line in cell.wrong()]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)

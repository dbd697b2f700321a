"""The largest, busiest processes (storm.erl) are in each dump, with all of their terms: they run and
collect all the time. Each term proves itself, and all of them can be reached at every moment.

BEAMDUMP_STORM_KINDS (or "all"), _SIZES (megabytes of a process), _PROCESSES, _MODES: the matrix, each
separated by commas. BEAMDUMP_STORM_CAPTURES is how often each of its cells is captured (soak: 100), _MAX_PAUSE the
milliseconds that auto may stop a node.
BEAMDUMP_STORM_KEEP: a folder for the dumps that lack something."""

import os
import pathlib
import re
import shutil
import tempfile
import unittest

from support import tools
from support.paths import CAPTURE
from support.storm import KINDS as EVERY
from support.storm import StormNode, checked, items_of, lacks

# Of a process that is in a native call most of the time: what it does between two of them is short.
NATIVE_MB = 5
# One entry of the map after the other; growing; frames; a binary; a long list; asleep; native code.
SHORT = "map,list,recursion,append,reverse,hibernate,dirty_nif"
MAX_PAUSE_MS = int(os.environ.get("BEAMDUMP_STORM_MAX_PAUSE", "100"))
# Stops for twins after that of mode snapshot may take so much in all (docs/safety.md).
FURTHER_TWINS, SNAPSHOT_STOP_MS = 4, 50
# What a stop may take beyond its bound on a machine that is busy with other things too.
SLACK_MS = 50


def chosen(name, default):
    return [word for word in os.environ.get(f"BEAMDUMP_STORM_{name}", default).split(",") if word]


KINDS = [kind for kind in EVERY if kind in chosen("KINDS", SHORT) or "all" in chosen("KINDS", SHORT)]
SIZES = [float(size) for size in chosen("SIZES", "60")]
PROCESSES = [int(count) for count in chosen("PROCESSES", "1")]
MODES = chosen("MODES", "auto,snapshot,freeze")
CAPTURES = int(os.environ.get("BEAMDUMP_STORM_CAPTURES", "1"))
WANTED, MOST_TRIES = 2, 10  # of one process in one mode
# Short stops, as those of auto, may all miss the moment in which these can be told, on a busy machine.
HARD = ("compare", "registers")
ALLOWED = ("void: ", "no dump: ")  # said, not wrong
KEEP = os.environ.get("BEAMDUMP_STORM_KEEP")
NUMBER = re.compile(r"\d+|/\S+")  # of pids and files: the same refusal is one line


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
        """Adds what a dump has of the processes of those names; whether it lacks nothing."""
        had = self.had
        found = checked(dump, self.items)
        for name in names:
            lack = lacks(found.get(name), self.items, self.kind)
            self.had += lack is None
            self.count_one(lack)
        self.stops.append(tools.analyze_json("summary", dump)["capture"])
        return self.had - had == len(names)

    def refused(self, names, ended):
        """Counts a capture that made no dump."""
        for _ in names:
            self.count_one(f"no dump: {re.sub(NUMBER, 'N', ended.diagnostics.strip())[-300:]}")

    def count_one(self, lack):
        self.total += 1
        if lack is not None:
            self.lacking[lack] = self.lacking.get(lack, 0) + 1

    def most(self, name):
        return max((stops[name] for stops in self.stops), default=0)

    def longest_ms(self):
        return self.most("longest_stop_ns") / 1e6

    def most_stopped_ms(self):
        return self.most("total_stopped_ns") / 1e6

    def wrong(self):
        """What does not hold, as lines."""
        lines = [f"{self.title}: {times} times {lack}" for lack, times in self.lacking.items()]
        if self.mode == "auto":
            bound = MAX_PAUSE_MS + SLACK_MS
            if self.longest_ms() > bound:
                lines.append(f"{self.title}: a stop of {self.longest_ms():.1f} ms")
            if self.most_stopped_ms() > bound * (self.count + 1):
                lines.append(f"{self.title}: stopped for {self.most_stopped_ms():.1f} ms in total")
        if self.mode == "snapshot":
            for stops in self.stops:
                longest, total = (stops[name] / 1e6 for name in ("longest_stop_ns", "total_stopped_ns"))
                if total > longest + FURTHER_TWINS * max(SNAPSHOT_STOP_MS, 2 * longest) + SLACK_MS:
                    lines.append(f"{self.title}: stopped for {total:.1f} ms in total, {longest:.1f} ms at once")
        return lines

    def row(self):
        """For the summary: how many of the captures have all, and what the others say."""
        reasons = "; ".join(f"{times} {lack}" for lack, times in self.lacking.items())
        return f"{self.title} {self.had:4} of {self.total:4}  {reasons}".rstrip()

    def __str__(self):
        return (f"{self.title} {self.had:4} of {self.total:4}; stops {self.most('stops'):3}, longest "
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
                ended = tools.run_measured([CAPTURE, "--quiet", "-o", dump, "--force", "--mode", cell.mode,
                                            "--binary-bytes", "all", *limit, self.storms.node.pid])
                if ended.status not in (0, 3):
                    cell.refused(names, ended)
                elif not cell.take(dump, names) and KEEP:
                    shutil.copy(dump, tempfile.mkstemp(".beamdump", f"{cell.kind}-{cell.mode}-", KEEP)[1])
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
            self.assertEqual(process["appended"], items)

    def test_they_are_captured(self):
        """In each mode, more than once: what is not void lacks nothing. Before processes were captured in
        the middle of a collection, none of the map's was in ten captures; before they were in the middle of
        a comparison, one of nine; before x registers were known in the middle of a function, none of what
        they hold; before a system call was told by its number, one of ten that waited in a
        BIF on OTP 29."""
        for kind in ("map", "recursion", "mailbox", "nif", "compare", "cons", "registers", "waiting_bif"):
            megabytes = NATIVE_MB if kind in ("nif", "cons", "registers", "waiting_bif") else min(SIZES)
            cells = [Cell(kind, megabytes, 1, mode) for mode in MODES
                     if mode != "auto" or kind not in HARD]
            with self.storms.storm(kind, cells[0].items, 1) as names:
                for cell in cells:
                    while cell.had < WANTED and cell.total < MOST_TRIES:
                        self.fill([cell], names)
                    self.assertGreaterEqual(cell.had, WANTED, cell)
                    self.assertEqual([lack for lack in cell.lacking if not lack.startswith(ALLOWED)], [])
            self.assertEqual(self.storms.node.ask("ping"), "pong")

    def test_matrix(self):
        wrong, rows = [], []
        self.addCleanup(lambda: print("", "All cells:", *rows, sep="\n", flush=True))
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
                    rows += [cell.row() for cell in cells]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)

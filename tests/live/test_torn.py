"""Nothing torn: a node under full load whose terms carry a proof of themselves (busy.erl) is
captured again and again while it runs; no process that the dump calls consistent holds a term that
contradicts itself, and in auto mode nearly all are consistent.

BEAMDUMP_CAPTURES is how often in each mode (6; soak: 200).
"""

import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

from support import tools
from support.node import start_workload
from support.paths import PROGRAMS

CAPTURES = int(os.environ.get("BEAMDUMP_CAPTURES", "6"))
LEAST_CONSISTENT = 0.99
WORKERS = 400
MOST_UNPROVEN = 30
LEAST_TERMS = 300  # of a capture: else the check looked at nothing

INVARIANT = re.compile(r"\{invariant,(\d+),(\d+),\[([\d,]*)\],<<([\d,]*)>>\}")


def contradiction(counter, total, items, octets):
    """What a term says against itself; None for a whole one."""
    expected = struct.pack(">BI", 255, counter) * (len(octets) // 5)
    if not items or items != list(range(counter, counter - len(items), -1)):
        return f"counter {counter} but list {items[:5]}..."
    if sum(items) != total:
        return f"sum {total} but the list's is {sum(items)}"
    if not octets or bytes(octets) != expected:
        return f"counter {counter} but binary {octets[:10]}..."
    return None


class Checked:
    """What was found in one dump."""

    def __init__(self, dump):
        ended = subprocess.run([PROGRAMS / "process_texts", dump], capture_output=True, check=True)
        self.processes = self.consistent = self.terms = 0
        self.faults = []
        self.void = {}
        for line in ended.stdout.splitlines():
            self._process(json.loads(line))

    def _process(self, process):
        self.processes += 1
        if process.get("error"):
            self.faults.append(f"{process['pid']}: {process['error']}")
        elif process["void"]:
            self.void[process["void"]] = self.void.get(process["void"], 0) + 1
        else:
            self.consistent += 1
            self._consistent(process)

    def _consistent(self, process):
        for name in "malformed", "absent", "cut_short", "placeholders", "message_placeholders":
            if process[name]:
                self.faults.append(f"{process['pid']} {process['name']}: {name} {process[name]}")
        for text in [process["backtrace"], *process["dictionary"], *process["messages"]]:
            found = list(INVARIANT.finditer(text))
            if len(found) != text.count("{invariant,"):
                self.faults.append(f"{process['pid']} {process['name']}: no whole invariant in "
                                   f"{text[text.find('{invariant'):][:300]}")
            for term in found:
                self.terms += 1
                counter, total, items, octets = term.groups()
                wrong = contradiction(int(counter), int(total),
                                      list(map(int, items.split(","))) if items else [],
                                      list(map(int, octets.split(","))) if octets else [])
                if wrong:
                    self.faults.append(f"{process['pid']} {process['name']}: {wrong}")


class Torn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("busy")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def captures(self, mode, *options):
        for _ in range(CAPTURES):
            dump = self.scratch / f"{mode}.beamdump"
            tools.capture(self.node, dump, "--force", "--mode", mode, "--binary-bytes", "all",
                          "--threads", "2", *options)
            yield dump

    def check(self, mode, *options):
        """All captures of a mode; the smallest share of consistent processes."""
        shares, terms, void = [], 0, {}
        for dump in self.captures(mode, *options):
            found = Checked(dump)
            self.assertEqual(found.faults[:10], [], f"{mode}: {len(found.faults)} torn")
            self.assertGreaterEqual(found.processes, WORKERS)
            self.assertGreater(found.terms, LEAST_TERMS)
            shares.append(found.consistent / found.processes)
            terms += found.terms
            for reason, count in found.void.items():
                void[reason] = void.get(reason, 0) + count
        print(f"{mode}: {CAPTURES} captures, {terms} terms checked, at least "
              f"{100 * min(shares):.1f}% of the processes consistent, void: {void}", flush=True)
        self.assertEqual(self.node.ask("ping"), "pong")
        return min(shares)

    def test_without_proof_torn_terms_are_found(self):
        """The check itself: told to trust whatever it reads, the writer copies torn heaps."""
        faults = 0
        for _ in range(MOST_UNPROVEN):
            dump = self.scratch / "unproven.beamdump"
            subprocess.run([PROGRAMS / "capture_unproven", str(self.node.pid), dump], check=True)
            faults += len(Checked(dump).faults)
            if faults:
                break
        print(f"without proof: {faults} faults found", flush=True)
        self.assertGreater(faults, 0)

    def test_freeze(self):
        self.check("freeze")

    def test_live(self):
        self.check("live")

    def test_snapshot(self):
        self.assertGreaterEqual(self.check("snapshot"), LEAST_CONSISTENT)

    def test_auto(self):
        self.assertGreaterEqual(self.check("auto"), LEAST_CONSISTENT)


if __name__ == "__main__":
    unittest.main(verbosity=2)

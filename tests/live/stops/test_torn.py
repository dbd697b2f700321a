"""No torn terms: a node under full load whose terms have checksums (busy.erl) is captured
repeatedly while it runs; no consistent process has a term with a wrong checksum, and in auto mode
nearly all are consistent.

BEAMDUMP_CAPTURES is how often in each mode (4; soak: 200)."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from support import tools
from support.invariant import Checked
from support.node import start_workload
from support.paths import PROGRAMS

CAPTURES = int(os.environ.get("BEAMDUMP_CAPTURES", "4"))
LEAST_CONSISTENT = 0.99
WORKERS = 400
MOST_UNPROVEN = 30
LEAST_TERMS = 300  # of a capture; fewer would show nothing


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
        """Checks all captures of a mode. Returns the smallest share of consistent processes."""
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
        """Tests the test: with the proof disabled the writer copies torn heaps."""
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

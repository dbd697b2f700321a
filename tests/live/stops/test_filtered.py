"""A node with a seccomp filter that kills it when it makes a process: no capture does so, everything
else is captured, and --check reports the filter."""

import os
import pathlib
import tempfile
import time
import unittest

from support import tools
from support.nif import build_nif
from support.node import start_workload
from support.paths import CAPTURE
from support.watched import entries, eventually, state

MOST_SECONDS = 240


class Filtered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        os.environ["BEAMDUMP_FILTERED_NIF"] = str(build_nif(cls.scratch, "filtered"))
        cls.addClassCleanup(os.environ.pop, "BEAMDUMP_FILTERED_NIF")

    def setUp(self):
        self.node = start_workload("filtered")
        self.addCleanup(self.node.stop)
        self.before = entries(self.node.pid)
        self.assertIn("\nSeccomp:\t2\n", pathlib.Path(f"/proc/{self.node.pid}/status").read_text())

    def unharmed(self):
        self.assertEqual(self.node.ask("ping"), "pong")
        self.assertTrue(eventually(lambda: entries(self.node.pid) == self.before))

    def capture(self, *options):
        return tools.run_measured([CAPTURE, "--quiet", "-o", self.scratch / "filtered.beamdump",
                                   "--force", *options, self.node.pid])

    def test_captures(self):
        for mode in ("live", "auto", "freeze"):
            with self.subTest(mode=mode):
                deadline = time.monotonic() + MOST_SECONDS
                while True:
                    ended = tools.expect(self.capture("--mode", mode), 0, 3)
                    self.unharmed()
                    if ended.status == 3 or mode != "auto" or time.monotonic() > deadline:
                        break
                if mode == "auto":
                    # A process too large for a stop is left out and reported. On a busy machine it may have
                    # just been preempted, and is captured without a stop.
                    self.assertEqual(ended.status, 3)
                    self.assertIn("no twin was made: system calls of process "
                                  f"{self.node.pid} are filtered (Seccomp: 2)", ended.diagnostics)
        listed = tools.analyze_json("processes", self.scratch / "filtered.beamdump", "--limit", "0")
        self.assertGreater(len(listed["processes"]), 30)
        refused = tools.expect(self.capture("--mode", "snapshot"), 1)
        self.assertRegex(refused.diagnostics, r"^beamdump-capture: .*\(Seccomp: 2\).*"
                                              r"it is unknown whether .*--force-twin")
        self.unharmed()
        for mode in ("auto", "live", "freeze"):
            wrong = tools.expect(self.capture("--mode", mode, "--force-twin"), 2)
            self.assertIn("--force-twin needs --mode snapshot", wrong.diagnostics)

    def test_check_says_so(self):
        said = tools.expect(tools.run_measured([CAPTURE, "--check", self.node.pid]), 0).output
        self.assertRegex(said, r"(?m)^  --mode snapshot  refused: .*\(Seccomp: 2\)")
        self.assertRegex(said, r"(?m)^  --mode auto .*\n +processes too large for such a stop are left out: "
                               r".*\(Seccomp: 2\)")
        forced = tools.expect(tools.run_measured(
            [CAPTURE, "--check", "--mode", "snapshot", "--force-twin", self.node.pid]), 0).output
        self.assertRegex(forced, r"(?m)^  --mode snapshot  one stop of about")
        self.unharmed()

    def test_the_filter_kills(self):
        """Otherwise the other tests would show nothing."""
        self.capture("--mode", "snapshot", "--force-twin")
        self.assertTrue(eventually(lambda: state(self.node.pid) in (None, "Z"), 5))


if __name__ == "__main__":
    unittest.main(verbosity=2)

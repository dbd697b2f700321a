"""The writer killed at any moment, in every mode: the node continues to run, no twin or zombie
stays, and the partial dump opens.

BEAMDUMP_KILLS says how often in each mode (8; the soak target: 250)."""

import contextlib
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

from support import tools
from support.node import start_workload
from support.paths import CAPTURE
from support.watched import entries, eventually

KILLS = int(os.environ.get("BEAMDUMP_KILLS", "8"))
SCALE = 0.15
MODES = ("auto", "live", "snapshot", "freeze")


class KillWriter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("standard", SCALE)
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def test_node_runs_on_and_the_partial_dump_opens(self):
        self.before = entries(self.node.pid)
        for mode in MODES:
            self.kills_in(mode)

    def kills_in(self, mode):
        whole = min((tools.capture(self.node, self.scratch / f"whole-{mode}-{n}", "--mode", mode)
                     for n in range(2)), key=lambda ended: ended.seconds)
        seed = random.randrange(1 << 32)
        print(f"{mode}: a whole capture takes {whole.seconds} s; seed {seed}", flush=True)
        moments = random.Random(seed)
        outcomes = {}
        for number in range(KILLS):
            # Also shortly after the end: the rename must not lose a dump either.
            delay = moments.uniform(0, whole.seconds * 1.05)
            with self.subTest(mode=mode, kill=number, seed=seed, after_seconds=round(delay, 4)):
                outcome = self.kill_after(delay, mode, self.scratch / f"kill-{number}")
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        print(f"{mode}, {KILLS} kills: " + ", ".join(f"{count} {what}"
                                             for what, count in sorted(outcomes.items())))
        self.assertGreater(outcomes.get("opens, incomplete", 0), 0, "no kill hit the copying")

    def kill_after(self, delay, mode, dump):
        writer = subprocess.Popen(
            [CAPTURE, "--quiet", "--mode", mode, "-o", dump, str(self.node.pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            writer.wait(timeout=delay)
        writer.kill()
        writer.wait()
        self.node_runs_on()
        return self.look_into(dump)

    def node_runs_on(self):
        """The kernel resumes the threads of a dead tracer some time after its death; a twin's exit
        takes longer on a busy machine."""
        self.assertTrue(eventually(lambda: self.node.stopped_threads() == []))
        self.assertTrue(eventually(lambda: entries(self.node.pid) == self.before, 10),
                        f"{self.before}\n{entries(self.node.pid)}")
        self.assertEqual(self.node.ask("ping", seconds=20), "pong")

    def look_into(self, dump):
        partial = dump.with_name(dump.name + ".partial")
        self.assertFalse(dump.exists() and partial.exists())
        try:
            if dump.exists():
                tools.expect(tools.analyze("summary", dump), 0, 3)
                return "whole"
            if not partial.exists():
                return "before the file was made"
            opened = tools.expect(tools.analyze("summary", partial), 0, 1, 3)
            if opened.status == 0:
                return "whole, killed before it got its name"
            if opened.status == 3:
                return "opens, incomplete"
            self.assertRegex(opened.diagnostics, r"beamdump-analyze: .*\w{4}",
                             "a refusal names its reason")
            self.assertLess(tools.file_bytes(partial), 4 << 20,
                            f"megabytes that do not open: {opened.diagnostics}")
            return "refused with a reason: not one whole frame"
        finally:
            for path in (dump, partial):
                path.unlink(missing_ok=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)

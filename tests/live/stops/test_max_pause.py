"""--max-pause limits what a thread in uninterruptible sleep costs the node: the stop for a twin, all
attempts together, and the wait for threads to stand."""

import pathlib
import re
import tempfile
import unittest

from support import tools
from support.faults import FaultNode, Writer

CELLS = 4_000_000  # 60 MB: too large for a stop of 50 ms
# A busy machine lengthens a stop: of three captures the shortest counts.
TRIES = 3
MARGIN_MS = 15


class MaxPause(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node = FaultNode(cls.scratch, cls.addClassCleanup)
        cls.node.node.ask(f"faults restless {CELLS}")

    def capture(self, max_pause_ms):
        """What a capture says in which a twin was needed, and what it cost; None if none was."""
        dump = self.scratch / "dump"
        self.node.feeling.reset()
        with Writer(self.node.node, dump, "--mode", "auto", "--max-pause", str(max_pause_ms),
                    "--process", "restless") as writer:
            status = writer.ended()
            felt_ms = self.node.feeling.longest_ms()
        self.assertIn(status, (0, 3), writer.told)
        if "no twin was made" not in writer.told:
            return None
        cost = tools.analyze_json("summary", dump)["capture"]
        print(f"--max-pause {max_pause_ms}: {cost['stops']} stops, "
              f"{cost['total_stopped_ns'] / 1e6:.1f} ms, felt {felt_ms:.1f} ms", flush=True)
        return writer.told, cost, felt_ms

    def test_a_thread_in_uninterruptible_sleep(self):
        for max_pause_ms in (50, 20):
            with self.subTest(max_pause_ms=max_pause_ms), self.node.hanging():
                shortest = []
                for _ in range(10 * TRIES):
                    seen = self.capture(max_pause_ms)
                    if seen is None:
                        continue  # it held still for as long as copying it takes
                    told, cost, felt_ms = seen
                    if "no processor was free for it" in told:
                        self.assertEqual(cost["stops"], 1)
                        continue  # another thread of the node was kept waiting by the machine
                    waited = re.search(r"did not stop within (\d+) ms: it is in uninterruptible sleep",
                                       told)
                    self.assertTrue(waited, told)
                    self.assertLessEqual(int(waited[1]), max_pause_ms / 2)
                    # The thread would not stop in another attempt either.
                    self.assertEqual(cost["stops"], 1)
                    shortest.append(max(cost["total_stopped_ns"] / 1e6, felt_ms))
                    if len(shortest) == TRIES or shortest[-1] < max_pause_ms + MARGIN_MS:
                        break
                self.assertTrue(shortest, "its heap was never too large for a stop")
                self.assertLess(min(shortest), max_pause_ms + MARGIN_MS)
        self.assertEqual(self.node.node.ask("ping"), "pong")


if __name__ == "__main__":
    unittest.main(verbosity=2)

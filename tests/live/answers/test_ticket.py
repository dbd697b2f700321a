"""The five commands of the README's section "From a full node to a line of code"."""

import pathlib
import re
import tempfile
import unittest

from support import tools
from support.node import start_workload
from support.paths import ROOT

REQUESTS = 3000  # of 64 KiB
SOURCE = ROOT / "testdata" / "workloads" / "shop" / "session_store.erl"


class Ticket(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        node = start_workload("shop", REQUESTS / 6000)
        cls.addClassCleanup(node.stop)
        cls.dump = cls.scratch / "shop.beamdump"
        tools.capture(node, cls.dump)

    def ask(self, *arguments):
        return tools.expect(tools.analyze(*arguments), 0, 3).output

    def test_from_memory_to_the_line_of_code(self):
        summary = self.ask(self.dump)
        self.assertRegex(summary, r"(?m)^  \d+% of the node's memory .* reference-counted binaries, of which "
                                  r"session_store \(<\S+>\) keeps about 18\d\.\d MiB\.$")
        self.assertIn(f"beamdump-analyze binaries {self.dump} --leaks", summary)

        leaks = self.ask("binaries", self.dump, "--leaks")
        worst = re.search(r"(?m)^(<\S+>) +session_store +3,000 +187\.5 MiB .* (0x[0-9a-f]+): 96 B of 64\.0 KiB shown$",
                          leaks)
        self.assertIsNotNone(worst, leaks)

        holders = self.ask("refs", self.dump, worst[2])
        self.assertRegex(holders, rf"{worst[1]} session_store  y\(1\) of frame 0, session_store:loop/1 -> as key "
                                  r'<<"0+\.\.\.  bytes ')

        frames = self.ask("backtrace", self.dump, "session_store", "--lines", "--max-bytes", "200")
        place = re.search(r"(?m)^#0 +session_store:loop/1 \+ \d+  \(\S*session_store\.erl:(\d+)\)$", frames)
        self.assertIsNotNone(place, frames)
        self.assertEqual(SOURCE.read_text().splitlines()[int(place[1]) - 1], "loop(Sessions) ->")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""A healthy node has no findings: at rest, and under load, in each mode. Those of RabbitMQ, ejabberd and
an application in Elixir are asked by test_applications."""

import pathlib
import tempfile
import unittest

from support import tools
from support.node import start_workload

MODES = ("auto", "live", "freeze", "snapshot")
# A moment of load is not like the next one.
CAPTURES = 3
# No binary of these nodes has as much: what has is memory that was freed while it was read.
MOST_BINARY_BYTES = 16 * 2**20


class Healthy(unittest.TestCase):
    def check(self, node, captures):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        dump = scratch / "healthy.beamdump"
        for mode in MODES:
            for _ in range(captures):
                tools.capture(node, dump, "--force", "--mode", mode)
                [largest] = tools.analyze_json("binaries", dump, "--sort", "size_bytes",
                                               "--limit", "1")["binaries"]
                self.assertLess(largest["size_bytes"], MOST_BINARY_BYTES, "it is none")
                for depth in ("quick", "full"):
                    answer = tools.analyze_json("summary", dump, "--findings", depth)
                    self.assertEqual(answer["findings"], [], f"mode {mode}, {depth}")

    def test_at_rest(self):
        node = start_workload("sample")
        self.addCleanup(node.stop)
        self.check(node, 1)

    def test_under_load(self):
        node = start_workload("serving")
        self.addCleanup(node.stop)
        before = int(node.ask("serving served"))
        self.check(node, CAPTURES)
        served = int(node.ask("serving served")) - before
        print(f"{served} requests were served meanwhile", flush=True)
        self.assertGreater(served, 1000)


if __name__ == "__main__":
    unittest.main(verbosity=2)

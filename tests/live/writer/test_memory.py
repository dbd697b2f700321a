"""The writer's memory, and its effect on the node's.

BEAMDUMP_SCALES is two scales of the standard node, the smaller first (0.1,0.5; soak: 1,5)."""

import os
import pathlib
import tempfile
import unittest

from support import tools
from support.node import start_workload

SMALL, LARGE = map(float, os.environ.get("BEAMDUMP_SCALES", "0.1,0.5").split(","))
MOST_WRITER_KIB = 64 * 1024
MOST_GROWTH = 1.10


class Memory(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def peak_on(self, scale):
        node = start_workload("standard", scale)
        self.addCleanup(node.stop)
        resident = node.status_field("VmRSS")
        tables = node.status_field("VmPTE")
        ended = tools.capture(node, self.scratch / "dump", "--threads", "2", "--force")
        resident_after = node.status_field("VmRSS")
        tables_after = node.status_field("VmPTE")
        print(f"scale {scale}: node {resident} KiB resident, {resident_after} after; page tables "
              f"{tables} and {tables_after} KiB; writer's peak {ended.peak_kib} KiB; dump "
              f"{tools.file_bytes(self.scratch / 'dump')} bytes", flush=True)
        # Copying makes no page present that was not: all that the node held, it holds.
        self.assertLess(resident_after, resident * 1.02 + 2048)
        self.assertLess(tables_after, tables * 1.02 + 64)
        node.stop()
        return ended.peak_kib

    def test_peak_is_bounded_and_does_not_grow_with_the_node(self):
        small, large = self.peak_on(SMALL), self.peak_on(LARGE)
        self.assertLess(large, MOST_WRITER_KIB)
        self.assertLessEqual(large, small * MOST_GROWTH)


if __name__ == "__main__":
    unittest.main(verbosity=2)

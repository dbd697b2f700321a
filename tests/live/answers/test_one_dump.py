"""The counts of one dump agree, although the node makes and drops things while it is read."""

import os
import pathlib
import tempfile
import unittest

from support import tools
from support.node import start_workload

TIMES = int(os.environ.get("BEAMDUMP_ONE_DUMP", "3"))


class OneDump(unittest.TestCase):
    def test_counts_agree(self):
        node = start_workload("churning")
        self.addCleanup(node.stop)
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for mode in ("auto", "snapshot"):
            for _ in range(TIMES):
                dump = scratch / "dump"
                tools.capture(node, dump, "--force", "--mode", mode)
                self.assert_agrees(dump)

    def assert_agrees(self, dump):
        def ask(*question):
            return tools.analyze_json(question[0], dump, *question[1:])

        summary = ask("summary")
        memory = ask("memory")
        binaries = ask("binaries", "--limit", "1")
        modules = ask("modules", "--limit", "0")
        counts = summary["counts"]
        print(f"{binaries['total']} binaries, {modules['total']} modules", flush=True)
        self.assertEqual(binaries["total"], memory["binary_count"])
        self.assertEqual(binaries["total"], counts["binaries"])
        self.assertEqual(binaries["total_bytes"], memory["binary_bytes"])
        self.assertEqual(modules["total"], memory["module_instances"])
        self.assertEqual(modules["total"], counts["module_instances"])
        self.assertEqual(sum(module["code_bytes"] for module in modules["modules"]),
                         memory["code_bytes"])
        self.assertFalse(memory["of_one_moment"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The node's memory by category, by allocator and by resident parts is as the node says."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import tools, whole_node
from support.memory import carriers
from support.node import start_workload

MODES = ("live", "snapshot", "freeze")
SCALE = 0.1
PEAK_CACHE = 4 << 20
# Carriers of 128 KiB: many, so that those that a question changes are few of them.
FLAGS = "+Musmbcs 128 +Mulmbcs 128"

TRIES = 10


class NodeMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with mock.patch.dict(os.environ, ERL_FLAGS=FLAGS):
            cls.node = start_workload("standard", SCALE)
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        # The first questions load code that stays.
        whole_node.ask_numbers(cls.node)
        carriers.ask(cls.node, cls.scratch)
        cls.node.wait_until_quiet()

    def capture(self, mode):
        dump = self.scratch / f"{mode}.beamdump"
        tools.capture(self.node, dump, "--mode", mode, "--force")
        warnings = tools.analyze_json("summary", dump)["warnings"]
        self.assertEqual([text for text in warnings if "memory" in text], [])
        return dump

    def test_memory_is_as_the_node_says_and_explained(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                then = carriers.ask(self.node, self.scratch)
                # The memory of the question may be given back at any time.
                resident = [self.node.status_field("VmRSS") << 10]
                dump = self.capture(mode)
                resident.append(self.node.status_field("VmRSS") << 10)
                carriers.compare(self, dump, then, carriers.ask(self.node, self.scratch),
                                 all_read=mode != "freeze")
                told = whole_node.ask_numbers(self.node)
                answer = whole_node.check_resident(self, dump)
                self.assertGreater(answer["resident_bytes"], 0.98 * min(resident))
                self.assertLess(answer["resident_bytes"], 1.02 * max(resident))
                whole_node.compare_categories(self, answer["categories"], told)
                whole_node.compare_allocators(self, tools.analyze_json("allocators", dump), told)

    def test_so_it_is_after_a_peak(self):
        # While a live capture reads one thing after another, the cache gives memory back: one segment
        # per second and instance. A busy machine may take longer to ask than the cache needs for all.
        for _ in range(TRIES):
            self.node.ask("peak")
            dump = self.capture("snapshot")
            told = whole_node.ask_numbers(self.node)
            answer = whole_node.check_resident(self, dump)
            parts = {part["name"]: part["bytes"] for part in answer["resident_parts"]}
            cached = tools.analyze_json("allocators", dump)["cached_segments"]
            if parts["segment_cache"] > PEAK_CACHE and told["segments.cached"] >= cached / 2:
                break
        self.assertGreater(parts["segment_cache"], PEAK_CACHE)
        self.assertAlmostEqual(cached, told["segments.cached"], delta=cached / 2)

        text = tools.expect(tools.ask("memory", dump), 0).output
        self.assertIn("Memory by category (erlang:memory/0)", text)
        self.assertRegex(text, r"heaps, stacks and messages of processes +[\d.]+ MiB")


class WithoutAllocators(unittest.TestCase):
    """A node with disabled allocators counts nothing: the capture works and says so."""

    def test_a_capture_works_and_warns(self):
        before = os.environ.get("ERL_FLAGS")
        os.environ["ERL_FLAGS"] = "+Mea min"
        try:
            node = start_workload("sample")
        finally:
            os.environ.pop("ERL_FLAGS")
            if before is not None:
                os.environ["ERL_FLAGS"] = before
        self.addCleanup(node.stop)
        with tempfile.TemporaryDirectory() as directory:
            dump = pathlib.Path(directory, "node.beamdump")
            tools.capture(node, dump, "--mode", "live")
            answer = tools.analyze_json("memory", dump)
            self.assertNotIn("total", answer["categories"])
            self.assertIn("atom", answer["categories"])
            self.assertGreater(answer["resident_bytes"], 0)
            self.assertIn("the node's memory", "".join(tools.analyze_json("summary", dump)["warnings"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)

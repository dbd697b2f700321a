"""Undecoded messages of another node: the dump shows what the node shows later."""

import pathlib
import re
import tempfile
import unittest

from support import comparison, schemas, tools
from support.captured import details
from support.distribution import start_pair
from support.texts import Texts

# Far more than the largest message; the messages in the queue have 6 MB together.
MOST_KIB = 64 * 1024


class UndecodedMessages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node, cls.sent, silent = start_pair()
        cls.addClassCleanup(cls.node.stop)
        cls.dump = scratch / "far.beamdump"
        cls.before = cls.node.ask("processes").split()
        tools.capture(cls.node, cls.dump, "--binary-bytes", "all")
        cls.told = comparison.ask_oracle(cls.node, terms=cls.before)
        # The VM counts an undecoded message with its decoded size.
        cls.silent = cls.told.pop(silent)
        cls.page = tools.analyze_json("messages", cls.dump, "silent", "--limit", "0",
                                      "--term-bytes", "0")
        cls.after = scratch / "after.beamdump"
        tools.capture(cls.node, cls.after)

    def test_messages_are_as_the_node_prints_them(self):
        ours = [message["term"]["text"] for message in self.page["messages"]]
        told = self.silent["terms"]["messages"]
        self.assertEqual(len(ours), self.sent)
        self.assertEqual(len(told), self.sent)
        different = []
        for number, (one, bytes_told) in enumerate(zip(ours, told)):
            other = bytes_told.decode(errors="latin1_bytes")
            if other.startswith("{many_maps,"):
                # The VM shows the inner nodes of a large map, which the message does not contain.
                self.assertEqual(sorted(re.findall(r"(\d+)=>-\1\b", one)),
                                 sorted(map(str, range(1, 41))))
            elif one != other:
                different.append(f"message {number}: {one[:200]} in the dump, {other[:200]} in "
                                 "the node")
        self.assertEqual(different, [])
        self.assertEqual(self.page["placeholders"], 0)
        print(f"{self.sent} undecoded messages are as the node prints them")

    def test_an_unusual_process_is_as_the_node_says(self):
        """Suspending, labelled, linked and monitoring across nodes, with binaries and limits."""
        texts = Texts(self.dump)
        result = comparison.compare(details(self.dump, self.told), self.before, self.told,
                                    also=texts)
        result.print("near")
        texts.print("near")
        self.assertEqual(result.differences, [])
        pid, unusual = next((pid, facts) for pid, facts in self.told.items()
                            if facts["registered_name"] == "unusual")
        self.assertIn(pid, result.pids)
        self.assertEqual(unusual["label"], '{unusual,"label"}')
        self.assertEqual(len(unusual["suspending"]), 1)
        self.assertGreaterEqual(len(unusual["binary"]), 21)
        self.assertGreaterEqual(len(unusual["monitors"]), 4)

    def test_they_were_undecoded_then_and_are_not_now(self):
        """Otherwise the other tests would test nothing."""
        words = {}
        for dump in (self.dump, self.after):
            details = tools.analyze_json("process", dump, "silent", "--limit", "0")
            words[dump] = details["memory"]["total_heap_size"]
        self.assertLess(words[self.dump], words[self.after] / 2)

    def test_shapes_are_counted(self):
        shapes = {shape["shape"]: shape["count"]
                  for shape in self.page["histogram"]["shapes"]}
        self.assertEqual(sum(shapes.values()), self.sent)
        self.assertEqual(shapes["{'$gen_cast',{add,_}}"], 50)
        self.assertEqual(shapes["{'$gen_call',_,{get,_}}"], 10)
        self.assertEqual(shapes["#{'__struct__'=>'Elixir.Job'}"], 1)
        self.assertEqual(shapes["{a,... 10 elements}"], 1)
        self.assertEqual(shapes["ping"], 1)
        after = tools.analyze_json("messages", self.after, "silent")
        self.assertEqual({shape["shape"]: shape["count"]
                          for shape in after["histogram"]["shapes"]}, shapes)

    def test_a_page_is_read_alone(self):
        page = tools.analyze_json("messages", self.dump, "silent", "--from", "55", "--limit", "3",
                                  "--no-histogram")
        schemas.validate(page, "messages")
        self.assertEqual([message["index"] for message in page["messages"]], [55, 56, 57])
        self.assertTrue(page["messages"][0]["term"]["text"].startswith("{'$gen_call',"))
        self.assertEqual(page["records"]["read_for_page"], 1)
        self.assertEqual(page["records"]["read_for_histogram"], 0)

    def test_memory_does_not_depend_on_the_largest_message(self):
        ended = tools.expect(tools.analyze("messages", self.dump, "silent", "--limit", "0"), 0)
        self.assertLess(ended.peak_kib, MOST_KIB)
        print(f"messages of silent: {ended.peak_kib} KiB")


if __name__ == "__main__":
    unittest.main(verbosity=2)

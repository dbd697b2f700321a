"""A process in the middle of a collection is redacted as exactly as any other: the node stands still by
SIGSTOP, is captured twice, with and without values, and the dump with values is redacted afterwards."""

import array
import contextlib
import os
import pathlib
import signal
import tempfile
import time
import unittest

from support import tools
from support.paths import CAPTURE
from support.release import RELEASE
from support.storm import StormNode, checked, items_of, lacks

# Short parts of binaries become binaries of their own in a collection, up to OTP 26; a big integer that
# arithmetic has made lies in a heap fragment.
KINDS = ("map", "hibernate")
MEGABYTES = 12
MOST_TRIES = 200
# Smaller numbers are in records too.
LEAST_INDEX = 1000


class RedactedCollection(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.storms = StormNode()
        cls.addClassCleanup(cls.storms.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    @contextlib.contextmanager
    def standing(self):
        os.kill(self.storms.node.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.storms.node.pid, signal.SIGCONT)

    def capture(self, name, *options):
        dump = self.scratch / f"{name}.beamdump"
        ended = tools.run_measured([CAPTURE, "--quiet", "-o", dump, "--force", "--mode", "freeze",
                                    "--binary-bytes", "all", *options, self.storms.node.pid])
        self.assertIn(ended.status, (0, 3), ended.diagnostics)
        return dump

    def counted(self, dump, pid):
        """What redaction does not change: how many objects there are, of which kinds and sizes, and where."""
        heap = tools.analyze_json("heap", dump, pid)
        return {"kinds": {kind["name"]: (kind["objects"], kind["words"]) for kind in heap["kinds"]},
                "memory": heap["memory"], "unreadable": heap["unreadable"], "binaries": heap["binaries"]}

    def numbers_of_items(self, dump, items):
        """How many words of the dump are the index of an item, as a small integer."""
        content = tools.flat(dump)
        words = array.array("Q", content[:len(content) // 8 * 8])
        indexes = {index << 4 | 0xF for index in range(LEAST_INDEX, items + 1)}
        return sum(word in indexes for word in words)

    def in_a_collection(self, dump, name, items, kind):
        """Its pid, where the process was captured in the middle of one; None elsewhere."""
        if lacks(checked(dump, items).get(name), items, kind) is not None:
            return None
        process = tools.analyze_json("process", dump, name)
        moving = any(region["kind"] == "collected_heap" for region in process["regions"]["items"])
        return process["pid"] if moving else None

    def compared(self, kind, name, items):
        """Whether the process stood in a collection, and was compared."""
        with self.standing():
            plain = self.capture("plain")
            pid = self.in_a_collection(plain, name, items, kind)
            if pid is None:
                return False
            redacted = self.capture("redacted", "--redact", "structure")
        afterwards = self.scratch / "afterwards.beamdump"
        tools.expect(tools.analyze("redact", plain, "-o", afterwards, "--force"), 0)
        wanted = self.counted(plain, pid)
        self.assertEqual(wanted["unreadable"], 0)
        self.assertGreater(sum(objects for objects, _ in wanted["kinds"].values()), items)
        self.assertEqual(self.counted(afterwards, pid), wanted)
        self.assertEqual(self.counted(redacted, pid), wanted)
        whole, *others = (self.numbers_of_items(dump, items) for dump in (plain, afterwards, redacted))
        self.assertGreater(whole, items / 2)
        self.assertLess(max(others), whole / 1000)
        return True

    def test_counts_are_those_with_values(self):
        for kind in KINDS:
            items = items_of(kind, MEGABYTES)
            with self.storms.storm(kind, items, 1) as (name,):
                for tries in range(1, MOST_TRIES + 1):
                    if self.compared(kind, name, items):
                        break
                    time.sleep(0.05)
                else:
                    self.fail(f"{kind}: it was never captured in a collection")
                print(f"OTP {RELEASE}, {kind}: equal; {tries} tries", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)

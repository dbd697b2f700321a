"""What is known of a process in the middle of compiled code, at each instruction that it executes: no word of a known
x register or of its stack is anything but a term of it. The tool steps the thread and executes native code whole, so
that places right behind calls that collect are among them.

BEAMDUMP_STEPS is how many instructions of each kind of work (2,000; soak: 50,000, of all kinds)."""

import json
import os
import pathlib
import re
import subprocess
import unittest
from unittest import mock

from support.paths import PROGRAMS
from support.storm import StormNode

# Small states: each of their collections and rounds is among the steps.
ITEMS = 300
KINDS = ("append", "map", "list", "recursion", "compare")
MORE_KINDS = ("registers", "tuple", "concat", "send", "cons")
STEPS = int(os.environ.get("BEAMDUMP_STEPS", "2000"))
LONG = STEPS > 2000


def scheduler_of(pid):
    """The thread of the only scheduler of a node."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        if re.search(r"sched(uler)?_?1?$", pathlib.Path(f"/proc/{pid}/task/{thread}/comm").read_text().strip()):
            return thread
    raise RuntimeError("no scheduler's thread")


class KnownPlaces(unittest.TestCase):
    def test_each_instruction(self):
        with mock.patch.dict(os.environ, {"ERL_FLAGS": "+S 1:1"}):
            storm = StormNode()
        self.addCleanup(storm.stop)
        for kind in KINDS + MORE_KINDS * LONG:
            with storm.storm(kind, ITEMS, 1), self.subTest(kind=kind):
                ended = subprocess.run([PROGRAMS / "known_places", str(storm.node.pid), scheduler_of(storm.node.pid),
                                        str(STEPS)], capture_output=True, text=True)
                self.assertEqual(ended.returncode, 0, ended.stderr)
                told = json.loads(ended.stdout)
                print(kind, told, flush=True)
                self.assertEqual((told["contradictions"], told["first"]), (0, ""))
                if kind == "append":
                    self.assertGreater(told["native_calls"], 0)
                self.assertGreater(told["x_words"], 0)
                # The others are on the thread's own stack, for native code.
                self.assertGreater(told["known"], told["steps"] / 3)
                self.assertGreater(told["whole_frame"], told["known"] / 2)
        self.assertEqual(storm.node.ask("ping"), "pong")


if __name__ == "__main__":
    unittest.main()

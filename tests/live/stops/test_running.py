"""Processes that never pause (spinning.erl): those in Erlang code are captured at yield points,
those on dirty schedulers like waiting ones; their terms have checksums.

BEAMDUMP_CAPTURES is how often in each mode (3; soak: 50)."""

import os
import pathlib
import tempfile
import unittest

from support import tools
from support.invariant import Checked
from support.node import start_workload

CAPTURES = int(os.environ.get("BEAMDUMP_CAPTURES", "3"))
DIRTY = ("dirty_io_forever", "dirty_cpu_forever")
FRAMES = 10
SPINNERS_TERMS = FRAMES + 2  # with those of the argument and the dictionary


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("spinning")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def capture(self, mode, *options):
        """The dump, and the spinning processes by name."""
        dump = self.scratch / f"{mode}.beamdump"
        tools.capture(self.node, dump, "--force", "--mode", mode, "--binary-bytes", "all", *options)
        checked = Checked(dump)
        self.assertEqual(checked.faults, [])
        listed = tools.analyze_json("processes", dump, "--limit", "0")["processes"]
        restless = {process["registered_name"]: process for process in listed
                    if process.get("registered_name", "").startswith(("spinning_", "dirty_"))}
        return dump, checked, restless

    def check(self, mode, captures=CAPTURES):
        """The numbers of spinning processes that were captured and that were not."""
        captured = void = 0
        for _ in range(captures):
            dump, checked, restless = self.capture(mode)
            spinning = [process for name, process in restless.items() if name not in DIRTY]
            self.assertEqual(len(restless) - len(spinning), len(DIRTY))
            self.assertGreater(len(spinning), 0)
            for name in DIRTY:
                self.assertNotIn("void_reason", restless[name])
            whole = [process for process in spinning if "void_reason" not in process]
            captured += len(whole)
            void += len(spinning) - len(whole)
            for process in whole:
                self.spinner(dump, process)
            # In invariant/1, before its next term, a spinning process has no such argument.
            self.assertLessEqual(checked.terms, len(whole) * SPINNERS_TERMS + 2 * len(DIRTY))
            self.assertGreaterEqual(checked.terms,
                                    len(whole) * (SPINNERS_TERMS - 1) + 2 * len(DIRTY))
        print(f"{mode}: {captured} spinning processes captured, {void} not", flush=True)
        self.assertEqual(self.node.ask("ping"), "pong")
        return captured, void

    def spinner(self, dump, process):
        """It stands below the frames that led it there. One that was put aside for another process
        for a moment is waiting to run on, and one may be in a collection; binary:copy/2, out of
        reductions, goes on in a function of the runtime's own."""
        self.assertIn(process["status"], ("running", "runnable", "garbage_collecting"))
        function = process["current_function"]
        if function != "erlang:binary_copy_trap/3":
            self.assertIn(function.split(":")[0], ("spinning", "lists", "binary"))
        backtrace = tools.expect(tools.ask("backtrace", dump, process["pid"]), 0).output
        self.assertEqual(backtrace.count("(spinning:down/2 "), FRAMES, backtrace)

    def test_auto(self):
        captured, void = self.check("auto")
        self.assertGreater(captured, void)

    def test_snapshot(self):
        captured, void = self.check("snapshot")
        self.assertGreater(captured, void)

    def test_freeze(self):
        """There is only one stop."""
        captured, _ = self.check("freeze", max(CAPTURES, 10))
        self.assertGreater(captured, 0)

    def test_live(self):
        """They are captured only if another process happens to run in their place: one in six."""
        _, void = self.check("live")
        self.assertGreater(void, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Processes that run and collect all the time (testdata/workloads/storm) on a node of aarch64, in an emulated machine:
in modes freeze and snapshot each is in a dump with all of its terms, and no term in any dump is torn.
BEAMDUMP_OTP: the node's release. BEAMDUMP_STORM_KINDS, separated by commas."""

import os
import pathlib
import shutil
import tempfile
import unittest

import machine
from support.release import RELEASE
from support.storm import checked, items_of, lacks

MEGABYTES = 8  # collected on dirty schedulers, as all from 1 MiB on
MODES = ("freeze", "snapshot")
# The emulated machine is slow, and a stop short: what is not at a place that is known by then is void.
WANTED, MOST_TRIES = 2, 15
ALLOWED = "void: "  # said, not wrong


class Storm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.machine = machine.Machine(scratch, RELEASE)
        cls.addClassCleanup(cls.machine.stop)
        shutil.copy(machine.STATIC / "beamdump-capture", cls.machine.share)
        cls.node = machine.start_workload(cls.machine, RELEASE,
                                          machine.compiled_testdata(cls.machine, RELEASE), "storm")

    def test_each_is_captured_and_none_is_torn(self):
        for kind in os.environ.get("BEAMDUMP_STORM_KINDS", "map,append,mailbox,hibernate").split(","):
            items = items_of(kind, MEGABYTES)
            self.node.ask(f"storm start {kind} {items} 1")
            for mode in MODES:
                with self.subTest(f"{kind}, {mode}"):
                    self.expect_whole(kind, items, mode)
            self.node.ask("storm end")

    def expect_whole(self, kind, items, mode):
        lacking = []
        whole = 0
        while whole < WANTED and whole + len(lacking) < MOST_TRIES:
            dump = self.machine.share / "storm.beamdump"
            ended = machine.capture(self.machine, self.node.pid, mode, dump, "--force")
            self.assertIn(ended.status, (0, 3), ended.diagnostics)
            lack = lacks(checked(dump, items).get(f"storm_{kind}_1"), items, kind)
            if lack:
                self.assertTrue(lack.startswith(ALLOWED), lack)
                lacking.append(lack)
            else:
                whole += 1
        print(f"OTP {RELEASE}, {kind}, {mode}: {whole} of {whole + len(lacking)} whole {lacking}", flush=True)
        self.assertEqual(whole, WANTED)
        self.assertGreater(int(self.node.ask("storm rounds")), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""beamdump-capture for aarch64, run beside a node in an emulated machine: of each process of the zoo, the dump that mode
live makes has what the node itself says: facts, backtraces, terms and sizes. BEAMDUMP_OTP: the node's release."""

import shutil
import unittest

import machine
import zoo_there
from support import tools
from support.release import RELEASE

CAPTURE_SECONDS = 600


class Live(zoo_there.ZooThere):
    @classmethod
    def copy_node(cls):
        for program in machine.STATIC_NAMES:
            shutil.copy(machine.STATIC / program, cls.machine.share)
        return cls.machine.run(f"{cls.machine.share}/beamdump-capture --quiet --mode live --binary-bytes all "
                               f"-o {cls.dump} {cls.node.pid}", seconds=CAPTURE_SECONDS)

    def test_all_that_the_node_says_is_in_the_dump(self):
        self.compare_with_the_node("live on aarch64")


if __name__ == "__main__":
    unittest.main(verbosity=2)

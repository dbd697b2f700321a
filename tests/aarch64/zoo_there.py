"""The zoo in an emulated machine of aarch64, a dump of it, and what the node said afterwards."""

import pathlib
import tempfile
import unittest

import machine
from support import comparison, tools
from support.captured import details
from support.release import RELEASE
from support.texts import Texts

COOKIE = "cookie0123456789abcdef"  # as long as those of support.node
# If asked for it, the node would print 2^60 tuples.
ENDLESS_WHEN_FLAT = "zoo_dag"
# A question makes it decode its messages, which its memory counts only then.
UNDECODED = "zoo_suspended_far"


class ZooThere(unittest.TestCase):
    """Subclasses have copy_node(), which makes cls.dump of cls.node and returns how the program
    ended."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.root = machine.installed(RELEASE)
        cls.machine = machine.Machine(cls.scratch, RELEASE)
        cls.addClassCleanup(cls.machine.stop)
        cls.node = machine.start_zoo(cls.machine, RELEASE,
                                     machine.compiled_testdata(cls.machine, RELEASE), COOKIE)
        cls.before = cls.node.ask("processes").split()
        cls.dump = cls.machine.share / "zoo.beamdump"
        cls.said = tools.expect(cls.copy_node(), 0, 3)
        cls.captured = details(cls.dump, cls.before)
        cls.pids = {process["registered_name"]: pid for pid, process in cls.captured.items()}
        cls.told = comparison.ask_oracle(cls.node, backtraces=cls.before,
                                         terms=[pid for pid in cls.before
                                                if pid != cls.pids.get(ENDLESS_WHEN_FLAT)])

    def compared(self, what, dump=None, captured=None):
        """The comparison with the node's word. dump, captured: another one than cls.dump, with its details()."""
        texts = Texts(dump or self.dump, COOKIE)
        changed = self.pids[UNDECODED]
        captured, told = ({pid: process for pid, process in processes.items() if pid != changed}
                          for processes in (captured or self.captured, self.told))
        result = comparison.compare(captured, self.before, told, also=texts)
        result.print(what)
        texts.print(what)
        return result

    def compare_with_the_node(self, what):
        result = self.compared(what)
        result.verify(self)
        changed = self.pids[UNDECODED]
        own = {pid for name, pid in self.pids.items() if name and name.startswith("zoo_")}
        self.assertGreater(len(own), 150)
        self.assertEqual(own - set(result.pids) - {changed}, set(),
                         "processes of the zoo's own ran")

"""Signals between messages in queues (signals.erl): message_queue_len is what the node reports
afterwards, and all messages are in the dump."""

import pathlib
import tempfile
import unittest

from support import comparison, tools
from support.captured import listed
from support.node import start_workload

PREFIX = "waiting_"


class Signals(unittest.TestCase):
    def setUp(self):
        self.node = start_workload("signals")
        self.addCleanup(self.node.stop)
        self.dump = (pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) /
                     "signals.beamdump")

    def waiting(self):
        """The suspended processes in the dump, by name."""
        return {process["registered_name"]: process for process in listed(self.dump).values()
                if (process.get("registered_name") or "").startswith(PREFIX)}

    def check(self, mode):
        tools.capture(self.node, self.dump, "--mode", mode)
        self.node.ask("start signals 1.0")
        told = {facts["registered_name"]: facts
                for facts in comparison.ask_oracle(self.node).values()
                if (facts.get("registered_name") or "").startswith(PREFIX)}
        waiting = self.waiting()
        self.assertEqual(len(waiting), 7)
        self.assertEqual(sorted(waiting), sorted(told))
        signals = 0
        for name, process in waiting.items():
            messages = int(name.removeprefix(PREFIX))
            self.assertEqual(told[name]["message_queue_len"], messages)
            self.assertEqual(process["message_queue_len"], messages, name)
            page = tools.analyze_json("messages", self.dump, name, "--limit", "0")
            self.assertEqual(len(page["messages"]), messages)
            signals += page["histogram"]["other_signals"]
        # Otherwise no signal was queued any more.
        self.assertGreaterEqual(signals, 600)
        print(f"{mode}: {signals} signals wait beside messages", flush=True)

    def test_live(self):
        self.check("live")

    def test_freeze(self):
        self.check("freeze")

    def test_the_longest_queues_are_chosen_by_all_of_their_messages(self):
        tools.capture(self.node, self.dump, "--top", "3", "--by", "queue")
        chosen = [name for name, process in self.waiting().items()
                  if "void_reason" not in process]
        self.assertEqual(sorted(chosen), ["waiting_1000", "waiting_71", "waiting_900"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The summary's findings on nodes with problems: each problem is named, with the node's own numbers in
its sentence, and nothing else. The dump is made first, then the node is asked."""

import os
import pathlib
import shlex
import signal
import tempfile
import time
import unittest
from unittest import mock

from support import schemas, tools, whole_node
from support.nif import build_nif
from support.node import start_workload
from support.zoo import crash_zoo

ATOM_LIMIT = 40000
# Large, since index, atoms and the processes with findings are a large part of this small node's dump.
MOST_QUICK_SHARE = 0.75
# Questions change carriers by this share at most.
MOST_MOVED = 0.05

QUICK = ["mailbox", "call_cycle", "waiting_callers", "process_kind", "large_dictionary", "ets_table",
         "atom_table", "old_code"]
FULL = QUICK + ["pinned_binaries"]


def ask_ailing(node, scratch):
    """The node's own numbers, and its processes by registered name."""
    told = scratch / "told"
    assert node.ask(f"ailing {told}") == "written"
    words = [line.split() for line in told.read_text().splitlines()]
    return ({name: int(value) for what, name, value in words if what == "number"},
            {name: value for what, name, value in words if what == "name"})


class Findings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        with mock.patch.dict(os.environ, ERL_FLAGS=f"+t {ATOM_LIMIT}"):
            cls.node = start_workload("ailing")
        cls.addClassCleanup(cls.node.stop)
        cls.dump = scratch / "ailing.beamdump"
        tools.capture(cls.node, cls.dump)
        cls.told, cls.pids = ask_ailing(cls.node, scratch)
        cls.full = cls.ask("summary", "--findings", "full")

    @classmethod
    def ask(cls, command, *arguments):
        answer = tools.analyze_json(command, cls.dump, *arguments)
        schemas.validate(answer, command)
        return answer

    def one(self, name):
        """Sentence and figures of the rule's first finding, which is the worst."""
        return next((finding["sentence"], finding["figures"])
                    for finding in self.full["findings"] if finding["id"] == name)

    def ids(self, answer):
        return sorted({finding["id"] for finding in answer["findings"]})

    def test_each_problem_is_named_and_no_other(self):
        self.assertEqual(self.ids(self.full), sorted(FULL))
        self.assertEqual(self.full["findings_left_out"], [])
        ended = tools.expect(tools.analyze("summary", self.dump, "--json", "--stats"), 0, 3)
        quick = tools.parse(ended)
        self.assertEqual(self.ids(quick), sorted(QUICK))
        left_out = {rule["id"] for rule in quick["findings_left_out"]}
        self.assertLessEqual({"pinned_binaries"}, left_out)
        self.assertLessEqual(left_out, {"pinned_binaries", "large_dictionary", "old_code"})
        share = tools.bytes_read(ended) / tools.file_bytes(self.dump)
        print(f"quick findings read {share:.1%} of the file in {ended.seconds} s")
        self.assertLess(share, MOST_QUICK_SHARE)

    def test_numbers_are_the_nodes(self):
        told = self.told
        sentence, figures = self.one("mailbox")
        self.assertEqual(figures["messages"], told["messages"])
        self.assertEqual(figures["process"], self.pids["ailing_mailbox"])
        self.assertIn(f"{told['messages']:,} messages in ailing_mailbox "
                      f"({self.pids['ailing_mailbox']})", sentence)
        self.assertEqual((figures["shape"], figures["sender"]),
                         ("{order,_}", self.pids["ailing_sender"]))
        sentence, figures = self.one("large_dictionary")
        self.assertEqual((figures["entries"], figures["process"]),
                         (told["entries"], self.pids["ailing_dictionary"]))
        self.assertIn(f"{told['entries']:,} entries", sentence)
        sentence, figures = self.one("ets_table")
        self.assertEqual((figures["memory_bytes"], figures["rows"], figures["table"]),
                         (told["table_bytes"], told["rows"], "ailing_table"))
        self.assertIn(f"{figures['share_percent']}% of the node's memory", sentence)
        sentence, figures = self.one("process_kind")
        self.assertEqual((figures["processes"], figures["initial_call"]),
                         (told["idle"], "ailing:idle/1"))
        # The question may need one more process.
        self.assertAlmostEqual(figures["all_processes"], told["processes"], delta=2)
        sentence, figures = self.one("waiting_callers")
        self.assertEqual(figures["callers"], told["behind_slow"])
        self.assertIn("ailing_slow", sentence)
        sentence, figures = self.one("call_cycle")
        self.assertEqual((figures["processes"], figures["callers"]),
                         (2, told["in_calls"] - told["behind_slow"] - 2))
        self.assertTrue("ailing_inventory" in sentence and "ailing_stock" in sentence, sentence)
        sentence, figures = self.one("pinned_binaries")
        self.assertEqual((figures["binaries"], figures["kept_bytes"], figures["process"]),
                         (told["binaries"], told["binary_bytes"], self.pids["ailing_parts"]))
        self.assertEqual(figures["shown_percent"], 0)
        sentence, figures = self.one("old_code")
        self.assertEqual((figures["processes"], figures["module"]),
                         (told["run_old_code"], "planted_old"))
        sentence, figures = self.one("atom_table")
        self.assertEqual(figures["atom_limit"], told["atom_limit"])
        # Questions create atoms.
        self.assertLessEqual(figures["atoms"], told["atoms"])
        self.assertGreater(figures["atoms"], told["atoms"] - 50)
        self.assertEqual((figures["group"], figures["group_atoms"]), ("param_N", 15000))
        self.assertIn(f"{figures['full_percent']}% full", sentence)

    def test_commands_show_more(self):
        for finding in self.full["findings"]:
            program, *arguments = shlex.split(finding["command"])
            self.assertEqual(program, "beamdump-analyze")
            self.assertNotEqual(tools.expect(tools.ask(*arguments), 0, 3).output, "")

    def test_tables_of_a_process(self):
        (owner, *_) = self.ask("processes", "--sort", "ets")["processes"]
        self.assertEqual((owner["registered_name"], owner["ets_tables"], owner["ets_bytes"]),
                         ("ailing_table_owner", 1, self.told["table_bytes"]))

    def test_senders(self):
        answer = self.ask("messages", "ailing_mailbox", "--by", "sender", "--limit", "1")
        senders = answer["sender_histogram"]
        count = self.told["messages"]
        self.assertEqual(
            [(sender["sender"], sender["registered_name"], sender["told_by"], sender["count"])
             for sender in senders["senders"]],
            [(self.pids["ailing_sender"], "ailing_sender", "vm", count * 3 // 4),
             (self.pids["ailing_other"], "ailing_other", "vm", count // 4)])
        self.assertEqual((senders["not_told"], senders["other"]), (0, 0))


class CrashDump(unittest.TestCase):
    """The same node's crash dump, where its text is small enough to be read whole."""

    def test_each_problem_is_named_and_no_other(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        dump = scratch / "erl_crash.dump"
        flags = {"ERL_FLAGS": f"+t {ATOM_LIMIT}", "ERL_CRASH_DUMP": str(dump),
                 "ERL_CRASH_DUMP_BYTES": str(1 << 40), "ERL_CRASH_DUMP_SECONDS": "-1"}
        with mock.patch.dict(os.environ, flags):
            node = start_workload("ailing")
        self.addCleanup(node.stop)
        told, pids = ask_ailing(node, scratch)
        crash_zoo(node)
        ended = tools.expect(tools.analyze("summary", dump, "--json"), 0, 3)
        answer = tools.parse(ended)
        schemas.validate(answer, "summary")
        found = {finding["id"]: finding for finding in answer["findings"]}
        print(f"crash dump of {dump.stat().st_size / 1e6:.1f} MB, summary in {ended.seconds} s")
        for finding in answer["findings"]:
            print(finding["sentence"])
        self.assertEqual(sorted(found), sorted(set(QUICK) - {"large_dictionary"} | {"slogan"}))
        self.assertIn("SIGUSR1", found["slogan"]["sentence"])
        self.assertEqual(found["call_cycle"]["figures"]["processes"], 2)
        self.assertEqual((found["call_cycle"]["figures"]["callers"],
                          found["waiting_callers"]["figures"]["callers"]),
                         (told["in_calls"] - told["behind_slow"] - 2, told["behind_slow"]))
        self.assertEqual(found["mailbox"]["figures"]["process"], pids["ailing_mailbox"])


class Strained(unittest.TestCase):
    """After a peak of memory, while one process does the work."""

    def test_each_problem_is_named_and_no_other(self):
        node = start_workload("strained")
        self.addCleanup(node.stop)
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        dump = scratch / "strained.beamdump"
        tools.capture(node, dump)
        told = whole_node.ask_numbers(node)
        answer = tools.parse(tools.expect(tools.analyze("summary", dump, "--json"), 0, 3))
        found = {finding["id"]: finding for finding in answer["findings"]}
        self.assertEqual(found.keys(), {"hot_process", "carriers", "orphaned_timers"})
        for finding in found.values():
            print(finding["sentence"], flush=True)
        figures = found["hot_process"]["figures"]
        self.assertIn("strained_hot", found["hot_process"]["sentence"])
        self.assertGreater(figures["reductions"], 12_000_000_000)
        self.assertEqual((found["orphaned_timers"]["figures"]["timers"],
                          found["orphaned_timers"]["figures"]["receiver"]), (2000, "strained_gone"))
        figures = found["carriers"]["figures"]
        self.assertEqual(figures["allocator"], "eheap_alloc")
        for figure, number in (("carrier_bytes", told["allocator.eheap_alloc.carriers_size"]),
                               ("free_bytes", told["allocator.eheap_alloc.carriers_size"] -
                                told["blocks.eheap_alloc.size"])):
            self.assertAlmostEqual(figures[figure], number, delta=MOST_MOVED * number, msg=figure)
        self.stopped(node, scratch / "stopped.beamdump")

    def stopped(self, node, dump):
        """A node that a signal has stopped is captured, and the summary says that nothing runs."""
        os.kill(node.pid, signal.SIGSTOP)
        try:
            deadline = time.monotonic() + 60
            while not node.stopped_threads() and time.monotonic() < deadline:
                time.sleep(0.05)
            tools.capture(node, dump)
        finally:
            os.kill(node.pid, signal.SIGCONT)
        found = [finding["id"] for finding in tools.analyze_json("summary", dump)["findings"]]
        self.assertIn("stopped_node", found)
        self.assertEqual(node.ask("ping"), "pong")


class Wedged(unittest.TestCase):
    """A native call on a normal scheduler that does not return."""

    def test_the_process_is_named_in_each_mode_that_looks_twice(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        with mock.patch.dict(os.environ, BEAMDUMP_WEDGED_NIF=str(build_nif(scratch, "wedged"))):
            node = start_workload("wedged", 0.1)
        self.addCleanup(node.stop)
        dump = scratch / "wedged.beamdump"
        self.assertEqual(self.native_calls(node, dump, "auto"), [])
        self.assertEqual(node.ask("wedged sleeping"), "ok")
        # A snapshot has the process as it is in the call, but not for how long it has been there.
        for mode in ("auto", "live"):
            for _ in range(100):
                found = self.native_calls(node, dump, mode)
                if found:
                    break
                # The process has not begun to run.
                time.sleep(0.05)
            print(mode, found, flush=True)
            (finding,) = found
            self.assertRegex(finding["sentence"],
                             r"^sleeping \(<0\.\d+\.0>\) ran without a pause for at least [\d,]+ ms, its "
                             r"last known function is wedged:sleeping/0: native code")

    def native_calls(self, node, dump, mode):
        tools.capture(node, dump, "--force", "--mode", mode)
        return [finding for finding in tools.analyze_json("summary", dump)["findings"]
                if finding["id"] == "native_call"]


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Partial dumps: selected processes, limits of time, size and stops. All other processes are listed
with the facts of their structures. Nodes chosen by name."""

import pathlib
import re
import secrets
import tempfile
import unittest

from support import tools
from support.node import ApplicationStart, start_workload
from support.paths import CAPTURE

SCALE = 0.2
FACTS_OF_A_PROCESS = 200  # upper bound of the bytes in the dump


class Choice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("standard", SCALE)
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.whole = cls.scratch / "whole"
        tools.capture(cls.node, cls.whole)

    def captured(self, *options, status=0):
        """The processes that a capture with those options lists, by pid; its summary; the dump."""
        dump = self.scratch / "chosen"
        ended = tools.run_measured([CAPTURE, "--force", "-o", dump, *options, self.node.pid])
        tools.expect(ended, status)
        rows = tools.analyze_json("processes", dump, "--limit", "0")["processes"]
        return {row["pid"]: row for row in rows}, tools.analyze_json("summary", dump), dump

    def everyone_is_listed(self, rows):
        pids = set(self.node.ask("processes").split())
        self.assertGreater(len(pids & rows.keys()), 0.95 * len(pids))

    @staticmethod
    def with_memory(rows):
        return {pid for pid, row in rows.items() if not row.get("void_reason")}

    def test_named_processes(self):
        rows, summary, dump = self.captured("--process", "standard_state", "--process", "<0.0.0>")
        self.everyone_is_listed(rows)
        chosen = self.with_memory(rows)
        self.assertEqual({rows[pid]["registered_name"] for pid in chosen},
                         {"standard_state", "init"})
        self.assertEqual(summary["void_by_reason"], {"left_out": len(rows) - 2})
        for name in "standard_state", "init":
            ours = tools.expect(tools.ask("backtrace", dump, name), 0, 3).output
            theirs = tools.expect(tools.ask("backtrace", self.whole, name), 0, 3).output
            self.assertEqual(ours, theirs)

    def test_unknown_names_are_refused(self):
        for name in "nobody", "<0.99999999.0>":
            ended = tools.run_measured([CAPTURE, "-o", self.scratch / "none", "--process", name,
                                        self.node.pid])
            self.assertEqual(ended.status, 1)
            self.assertRegex(ended.diagnostics, r"\Abeamdump-capture: no[^\n]*" + name
                             if name == "nobody" else r"the node has no process <0.99999999.0>")
            self.assertFalse((self.scratch / "none").exists())

    def test_the_largest(self):
        all_rows = tools.analyze_json("processes", self.whole, "--limit", "0")["processes"]
        for by, fact in ("memory", "memory"), ("queue", "message_queue_len"), ("reductions",
                                                                               "reductions"):
            with self.subTest(by=by):
                rows, _, _ = self.captured("--top", "2", "--by", by)
                self.everyone_is_listed(rows)
                chosen = self.with_memory(rows)
                self.assertEqual(len(chosen), 2)
                largest = max(all_rows, key=lambda row: row.get(fact) or 0)
                if by != "memory":  # that estimate excludes messages and binaries
                    self.assertIn(largest["pid"], chosen)

    def test_no_heaps(self):
        rows, _, dump = self.captured("--no-heaps")
        self.everyone_is_listed(rows)
        self.assertEqual(self.with_memory(rows), set())
        self.assertLess(tools.file_bytes(dump), tools.file_bytes(self.whole) / 5)
        queue = next(row for row in rows.values() if row.get("registered_name") == "standard_queue")
        self.assertEqual(queue["message_queue_len"], round(200000 * SCALE))

    def test_size_cuts_the_largest(self):
        limit = tools.file_bytes(self.whole) // 2
        rows, summary, dump = self.captured("--max-size", str(limit), status=3)
        self.everyone_is_listed(rows)
        self.assertLess(tools.file_bytes(dump), limit + FACTS_OF_A_PROCESS * len(rows) + (1 << 20))
        self.assertEqual(set(summary["void_by_reason"]), {"limit"})
        state = next(row for row in rows.values() if row.get("registered_name") == "standard_state")
        self.assertEqual(state["void_reason"], "limit")
        self.assertGreater(len(self.with_memory(rows)), len(rows) / 4)

    def test_a_freeze_that_ends_in_time(self):
        rows, summary, _ = self.captured("--mode", "freeze", "--max-pause", "20", status=3)
        self.everyone_is_listed(rows)
        self.assertEqual(set(summary["void_by_reason"]), {"limit"})
        self.assertEqual(summary["capture"]["stops"], 1)
        self.assertEqual(self.node.stopped_threads(), [])


class ByName(unittest.TestCase):
    """Other tests' nodes run at the same time."""

    @classmethod
    def setUpClass(cls):
        cls.name = f"choice{secrets.token_hex(4)}@localhost"
        start = ApplicationStart()
        cls.named = start.run(
            ["erl", "-noinput", "-setcookie", start.cookie, "-pa", str(start.ebin), "-kernel",
             "inet_dist_use_interface", "{127,0,0,1}", "-sname", cls.name, "-run", "control", "start",
             str(start.directory / "control")], "kernel", {})
        cls.addClassCleanup(cls.named.stop)
        cls.unnamed = start_workload("sample")
        cls.addClassCleanup(cls.unnamed.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def refused(self, *arguments):
        dump = self.scratch / "none"
        ended = tools.expect(tools.run_measured([CAPTURE, "-o", dump, *arguments]), 2)
        self.assertEqual(ended.diagnostics.count("\n"), 1, ended.diagnostics)
        self.assertFalse(dump.exists())
        return ended.diagnostics

    def test_full_and_short_name(self):
        for name in self.name, self.name.split("@")[0]:
            with self.subTest(name):
                dump = self.scratch / name
                tools.expect(tools.run_measured([CAPTURE, "-o", dump, name]), 0)
                answer = tools.analyze_json("summary", dump)
                self.assertEqual(answer["node"]["name"], self.name)
                self.assertEqual(self.named.stopped_threads(), [])

    def test_the_output_has_the_pid(self):
        ended = tools.run_measured(["env", "-C", self.scratch, CAPTURE, self.name])
        tools.expect(ended, 0)
        self.assertRegex(ended.diagnostics, rf"writing to beamdump-{self.named.pid}-")
        self.assertEqual(len(list(self.scratch.glob(f"beamdump-{self.named.pid}-*.beamdump"))), 1)

    def test_several_nodes_are_listed(self):
        told = self.refused()
        self.assertRegex(told, r"\d+ nodes run here; give the pid or the name of one: ")
        self.assertIn(f"{self.named.pid} ({self.name})", told)
        self.assertIn(f"{self.unnamed.pid} (without a name)", told)

    def test_a_mistyped_name(self):
        told = self.refused(self.name.replace("choice", "chioce"))
        self.assertIn(f"did you mean {self.name}?", told)
        self.assertRegex(told, re.escape(f"{self.named.pid} ({self.name})"))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""beamdump-sample profile --off-cpu: where processes wait, and how many, is what the node says of a
workload with known numbers of them; those that wake are told from those that do not."""

import json
import signal
import subprocess
import time
import unittest

from support import exported, schemas, tools
from support.node import start_workload
from support.paths import SAMPLE

DONE, FAILED, WRONG, INCOMPLETE = 0, 1, 2, 3
NUMBERS = {"servers": 40, "deep": 300, "waking": 20}
DURATION_NS = 1_500_000_000


class OffCpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("parked", 1)
        cls.addClassCleanup(cls.node.stop)

    def run_it(self, *options):
        return tools.expect(tools.run_measured([SAMPLE, "profile", "--off-cpu", "--duration",
                                                "1500ms", *options, self.node.pid]),
                            DONE, INCOMPLETE)

    def test_places(self):
        ended = self.run_it("--json", "--by", "initial_call")
        answer = tools.parse(ended)
        schemas.validate(answer, "off-cpu")
        self.assertEqual(sum(stack["waiting"] for stack in answer["stacks"]), answer["waiting"])
        self.assertEqual(sum(one["waiting"] for one in answer["functions"]), answer["waiting"])
        groups = {"servers": "parked:init/1", "deep": "parked:deep/1", "waking": "parked:waking/0"}
        for kind, number in NUMBERS.items():
            told, count = self.node.ask(f"parked {kind}").split("=")
            self.assertEqual(int(count), number)
            stacks = [stack for stack in answer["stacks"] if stack["group"] == groups[kind]]
            if kind == "waking":
                # One of them may run or be collected when it is read.
                self.assertLessEqual(sum(stack["waiting"] for stack in stacks), number)
                continue
            self.assertEqual([(stack["frames"], stack["waiting"]) for stack in stacks],
                             [(told.split(","), number)])
            self.assertEqual(stacks[0]["not_run"], number)
            self.assertGreaterEqual(stacks[0]["shortest_ns"], DURATION_NS * 9 // 10)
            self.assertLessEqual(stacks[0]["longest_ns"], answer["took_ns"])

    def test_waking(self):
        """The node may be held up for longer than the duration: then it is looked at again."""
        for _ in range(20):
            functions = tools.parse(self.run_it("--json"))["functions"]
            waking = [one for one in functions if one["function"] == "parked:waking/0"]
            if waking and waking[0]["not_run"] == 0:
                return
        self.fail(f"processes that wake are counted as not run: {waking}")

    def test_formats(self):
        folded = self.run_it("--format", "folded").output.splitlines()
        self.assertIn("parked:deep/1;parked:below/1 300", folded)
        shown = json.loads(self.run_it("--format", "speedscope").output)
        self.assertIn(300, shown["profiles"][0]["weights"])
        self.assertRegex(self.run_it().output, r"\n +300 +300 +[\d.]+ s +[\d.]+ s  parked:below/1\n")

    def test_interrupted(self):
        """An interrupt ends the waiting: what waits then is shown. One that comes before anything
        was read ends it without an answer; then it is given more time."""
        for attempt in range(12):
            running = subprocess.Popen([SAMPLE, "profile", "--off-cpu", "--duration", "1h", "--format",
                                        "pprof", str(self.node.pid)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(0.3 * 2 ** attempt)
            running.send_signal(signal.SIGINT)
            output, said = running.communicate(timeout=300)
            if running.returncode in (DONE, INCOMPLETE):
                break
            self.assertIn(running.returncode, (FAILED, -signal.SIGINT), said)
        stacks = exported.folded_of_pprof(output)
        self.assertEqual(stacks["parked:deep/1", "parked:below/1"], NUMBERS["deep"])

    def test_refusals(self):
        for options in (("--readings",), ("--by", "thread"), ("--rate", "5")):
            tools.expect(tools.run_measured(
                [SAMPLE, "profile", "--off-cpu", *options, self.node.pid]), WRONG)


class Crowd(unittest.TestCase):
    def test_one_complete_reading(self):
        """Of 100,000 processes each one is counted once, in a reading that takes no longer than it
        may: else there is no answer, and on a busy machine it is asked for again."""
        node = start_workload("crowd", 1 / 3)
        self.addCleanup(node.stop)
        for _ in range(10):
            ended = tools.run_measured([SAMPLE, "profile", "--off-cpu", "--json", "--duration",
                                        "5s", node.pid])
            if ended.status != FAILED:
                break
            self.assertIn("too long for one answer", ended.diagnostics)
        tools.expect(ended, DONE, INCOMPLETE)
        answer = tools.parse(ended)
        schemas.validate(answer, "off-cpu")
        crowd = [one for one in answer["functions"] if one["function"] == "crowd:waiting/1"]
        self.assertEqual([(one["waiting"], one["not_run"]) for one in crowd], [(100_000, 100_000)])
        self.assertEqual(sum(stack["waiting"] for stack in answer["stacks"]), answer["waiting"])
        print(f"{answer['readings']} readings in {answer['took_ns'] / 1e9:.1f} s, the last one expected to "
              f"take {answer['expected_ns'] / 1e9:.1f} s, {answer['processor_ns'] / 1e9:.1f} s of processor time")
        # Stacks of so many processes cannot be read in a moment, and that was known before.
        self.assertGreater(answer["expected_ns"], 100_000_000)


if __name__ == "__main__":
    unittest.main()

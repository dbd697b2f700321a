"""beamdump-capture --profile: the dump says what the node did before it was captured, as it says what
the node holds; counted by any property of processes later; redaction leaves it what it was."""

import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from profiles import PARTS, check_sums, part_of, spent
from support import captured, schemas, tools
from support.node import start_workload
from support.paths import CAPTURE

LEAST_SAMPLES = 30
# What beamdump-capture may use on any node.
PEAK_KIB = 64 << 10
WORKER = "profiled_worker"


def profile(dump, *options):
    answer = tools.parse(tools.expect(tools.analyze("profile", dump, "--json", *options), 0, 3))
    schemas.validate(answer, "profile")
    return answer


class SampledDump(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("profiled", 1)
        cls.addClassCleanup(cls.node.stop)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.dump = cls.folder / "sampled.beamdump"
        # Samples are of processor time, of which a node on a busy machine gets less.
        for seconds in (2, 4, 8, 16, 32, 64):
            cls.before = spent(unittest.TestCase(), cls.node)
            cls.ended = tools.capture(cls.node, cls.dump, "--profile", f"{seconds}s", "--mode",
                                      "live", "--force")
            cls.after = spent(unittest.TestCase(), cls.node)
            cls.answer = profile(cls.dump)
            cls.parts = dict.fromkeys(PARTS, 0)
            for stack in cls.answer["stacks"]:
                for part in part_of(stack["frames"]):
                    cls.parts[part] += stack["samples"]
            if sum(cls.parts.values()) > LEAST_SAMPLES:
                break

    def test_shares(self):
        self.assertLess(self.ended.peak_kib, PEAK_KIB)
        check_sums(self, self.answer)
        self.assertEqual((self.answer["mode"], self.answer["rate"]), ("samples", 99))
        self.assertEqual(self.answer["node"]["os_pid"], self.node.pid)
        samples = sum(self.parts.values())
        self.assertGreater(samples, LEAST_SAMPLES)
        told = {part: self.after[part] - self.before[part] for part in PARTS}
        # Three times the standard error of a share of one half, and what the capture itself changes.
        points = 150 / samples ** 0.5 + 4
        for part, count in self.parts.items():
            self.assertAlmostEqual(100 * count / samples, 100 * told[part] / sum(told.values()),
                                   delta=points, msg=f"{part}: {self.parts} of {told}")

    def test_groups(self):
        whole = self.answer["samples"]
        for by in ("process", "name", "initial_call", "scheduler", "thread"):
            answer = profile(self.dump, "--by", by)
            check_sums(self, answer)
            self.assertEqual(sum(group["samples"] for group in answer["groups"]), whole)
            if by in ("process", "name"):
                # Whoever is found in the dump itself by the name that the group has.
                first = answer["groups"][0]["group"]
                process = tools.analyze_json("process", self.dump, WORKER)
                self.assertEqual(first, WORKER if by == "name" else f"{process['pid']} {WORKER}")

    def test_formats(self):
        folded = tools.expect(tools.analyze("profile", self.dump, "--format", "folded"), 0, 3)
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.output.splitlines()),
                         self.answer["samples"])
        text = tools.expect(tools.analyze("profile", self.dump), 0, 3).output
        self.assertIn(f"\n{self.answer['samples']} samples, 99 a second", text)
        # The dump is one as any other.
        self.assertGreater(len(captured.listed(self.dump)), 30)

    def test_redacted(self):
        redacted = self.folder / "redacted.beamdump"
        tools.expect(tools.analyze("redact", self.dump, "--policy", "structure", "-o", redacted),
                     0, 3)
        found = profile(redacted, "--by", "initial_call")
        wanted = profile(self.dump, "--by", "initial_call")
        for answer in (found, wanted):
            answer["node"].pop("name")
        self.assertEqual(found, wanted)
        # A registered name is an atom that may say something.
        self.assertNotIn(WORKER, str(profile(redacted, "--by", "name")))


class Refused(unittest.TestCase):
    def test_usage(self):
        for options, sentence in (
                (["--profile", "0s", "1"], "--profile"),
                (["--profile", "x", "1"], "--profile"),
                (["--profile", "1s", "--core", "core"], "--core"),
                (["--profile", "1s", "--check", "1"], "--check")):
            ended = tools.run_measured([CAPTURE, *options])
            self.assertEqual(ended.status, 2, options)
            self.assertIn(sentence, ended.diagnostics)
            self.assertEqual(ended.diagnostics.count("\n"), 1, ended.diagnostics)

    def test_interrupted(self):
        node = start_workload("profiled", 1)
        self.addCleanup(node.stop)
        with tempfile.TemporaryDirectory() as folder:
            dump = pathlib.Path(folder) / "a.beamdump"
            running = subprocess.Popen([CAPTURE, "--profile", "60s", "-o", dump, str(node.pid)],
                                       stderr=subprocess.PIPE, text=True)
            self.assertIn("sampling for 60.0 s", running.stderr.readline())
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=60)
            self.assertEqual(running.returncode, 1)
            self.assertRegex(errors, r"\Abeamdump-capture: interrupted[^\n]*\n\Z")
            self.assertFalse(dump.exists())
        node.ask("profiled spent")


if __name__ == "__main__":
    unittest.main()

"""beamdump-sample blame: planted native work is found by its caller; calls are counted as the node
counts them; what has no name is said."""

import signal
import subprocess
import time
import unittest

from support import schemas, tools
from support.node import start_workload
from support.paths import SAMPLE
from support.release import RELEASE

RATE = 999
DONE, FAILED, USAGE, INCOMPLETE = 0, 1, 2, 3
# The executable of OTP 29 has no names of the emulator's functions.
NAMES = int(RELEASE) < 29


class Blame(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("blamed", 1)
        cls.addClassCleanup(cls.node.stop)

    def blame(self, native, *options, duration="1s"):
        ended = tools.expect(tools.run_measured(
            [SAMPLE, "blame", "--json", "--native", native, "--duration", duration, "--rate", RATE,
             *options, self.node.pid]), DONE, INCOMPLETE)
        answer = tools.parse(ended)
        schemas.validate(answer, "profile")
        self.assertEqual(sum(answer["account"].values()), answer["samples"])
        self.assertEqual(sum(stack["samples"] for stack in answer["stacks"]), answer["samples"])
        return answer

    def callers(self, native):
        """The innermost Erlang functions of at least 100 samples of native code, by samples."""
        counts, samples, unnamed = {}, 0, 0
        for _ in range(60):
            answer = self.blame(native, duration="500ms")
            samples += answer["samples"]
            unnamed += answer["only"]["unnamed"]
            self.assertLessEqual(answer["samples"] + answer["only"]["unnamed"],
                                 answer["only"]["all_samples"])
            for one in answer["functions"]:
                if one["self"]:
                    counts[one["function"]] = counts.get(one["function"], 0) + one["self"]
            if sum(counts.values()) >= 100:
                break
        print(f"{native}: {samples} samples, {unnamed} unnamed; {counts}", flush=True)
        return counts

    def test_collections(self):
        """A collection of a large heap is a dirty scheduler's work, whose function is read later:
        on a busy machine too late for many samples."""
        counts = self.callers("gc" if NAMES else "*")
        self.assertGreater(counts["blamed:collecting/0"], 0.1 * sum(counts.values()))

    @unittest.skipUnless(NAMES, "the next test is for such executables")
    def test_copies(self):
        for native in ("copy", "copy_struct_x", "erlang:send/2"):
            counts = self.callers(native)
            self.assertGreater(counts["blamed:copying/2"], 0.95 * sum(counts.values()), native)

    @unittest.skipIf(NAMES, "the test before is for such executables")
    def test_copies_without_names(self):
        """The BIF that copies has a name in any case; for the rest it is said what is not known."""
        answer = self.blame("copy")
        self.assertEqual(answer["samples"], 0)
        self.assertGreater(answer["only"]["unnamed"], 0)
        counts = self.callers("erlang:send/2")
        self.assertGreater(counts["blamed:copying/2"], 0.95 * sum(counts.values()))

    def test_appended_binaries(self):
        counts = self.callers("erts_bs_*append*" if NAMES else "beam.smp+0x*")
        self.assertIn("blamed:appending/2", counts)
        if NAMES:
            self.assertGreater(counts["blamed:appending/2"], 0.95 * sum(counts.values()))

    @unittest.skipUnless(NAMES, "of such executables fragments alone have names, see below")
    def test_exact(self):
        """Calls, scaled to the whole time, are the messages that the sender counts."""
        before, began = int(self.node.ask("blamed sends")), time.monotonic()
        answer = self.blame("copy_struct_x", "--exact", duration="3s")
        after, ended = int(self.node.ask("blamed sends")), time.monotonic()
        calls = answer["calls"]
        self.assertEqual(answer["mode"], "calls")
        self.assertEqual(calls["functions"], ["copy_struct_x"])
        self.assertEqual(calls["held_back"], 0)
        a_second = calls["calls"] / (answer["took_ns"] / 1e9)
        ratio = a_second / ((after - before) / (ended - began))
        print(f"{calls}: {ratio:.2f} of what the node says", flush=True)
        self.assertGreater(ratio, 0.7)
        self.assertLess(ratio, 1.5)
        counts = {one["function"]: one["self"] for one in answer["functions"] if one["self"]}
        self.assertGreater(counts["blamed:copying/2"], 0.95 * answer["samples"])

    @unittest.skipUnless(NAMES, "of such executables fragments alone have names, see below")
    def test_exact_of_a_bif(self):
        """A BIF is named as Erlang does, or as the emulator does."""
        answer = self.blame("erlang:monotonic_time/0", "--exact")
        self.assertEqual(answer["calls"]["functions"], ["monotonic_time_0"])

    def test_exact_of_shared_code(self):
        """The JIT's fragments have names in every executable, and the place that calls them."""
        answer = self.blame("<garbage_collect>", "--exact")
        self.assertEqual(answer["calls"]["functions"], ["<garbage_collect>"])
        self.assertGreater(answer["calls"]["counted"], 0)
        self.assertGreater(answer["account"].get("exact", 0), 0.9 * answer["samples"])
        counts = {one["function"]: one["self"] for one in answer["functions"]}
        self.assertGreater(counts["blamed:building/2"], 0.8 * answer["samples"], counts)

    def test_refused(self):
        def said(*options):
            ended = subprocess.run([SAMPLE, "blame", *options, str(self.node.pid)],
                                   stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertRegex(ended.stderr, r"\Abeamdump-sample: [^\n]*\n\Z")
            return ended.returncode, ended.stderr
        status, text = said("--native", "no_such_function", "--exact")
        self.assertEqual(status, FAILED)
        self.assertIn("no function named no_such_function", text)
        self.assertEqual("names of its own functions" in text, not NAMES)
        status, text = said("--native", "erlang:list_to_atmo/1", "--exact")
        self.assertEqual(status, FAILED)
        self.assertIn("did you mean list_to_atom_1?" if NAMES else "names of its own functions", text)
        status, text = said("--native", "<*>", "--exact")
        self.assertEqual(status, USAGE)
        self.assertIn("more than 4 functions", text)
        ended = subprocess.run([SAMPLE, "blame", "--native", "gc", str(self.node.pid)],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               preexec_fn=tools.without_perf_events)
        self.assertEqual(ended.returncode, FAILED)
        self.assertIn("native code is seen in samples alone", ended.stderr)

    def test_killed(self):
        """A breakpoint ends with the program that set it."""
        running = subprocess.Popen(
            [SAMPLE, "blame", "--native", "<garbage_collect>", "--exact", "--duration", "1m",
             str(self.node.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        tools.wait_for_perf_events(self, running, 1)
        running.send_signal(signal.SIGKILL)
        running.wait()
        # All breakpoints can be set again at once: none is left.
        self.assertGreater(self.blame("<garbage_collect>", "--exact")["calls"]["counted"], 0)
        self.assertEqual(self.node.ask("ping"), "pong")


if __name__ == "__main__":
    unittest.main()

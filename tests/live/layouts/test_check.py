"""--check: reports what a capture would find and cost."""

import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from support import tools
from support.layouts import CHECKED
from support.node import start_workload
from support.paths import CAPTURE
from support.release import RELEASE

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Symbols in the stock packages' executables, and how the other tables are found.
FOUND_BY = {"erts_proc": "dynsym", "erts_atom_table": "dynsym", "process_reg": "name string",
            "bccix": "shape"}
if RELEASE == "29":
    FOUND_BY |= {"erts_proc": "shape", "erts_atom_table": "name string"}


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("standard", 0.2)
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.ended = tools.run_measured([CAPTURE, "--check", "--verbose", cls.node.pid])
        print(cls.ended.output, flush=True)

    def test_says_all_that_support_asks_for(self):
        text = tools.expect(self.ended, 0).output
        self.assertRegex(text, rf"(?m)^\S+@\S+: OTP {RELEASE} \(ERTS [\d.]+\), JIT, "
                               r"64-bit words$")
        self.assertIn(f"process {self.node.pid}, ", text)
        for name, how in FOUND_BY.items():
            self.assertRegex(text, rf"(?m)^  {name} +0x[0-9a-f]+  {how}$")
        self.assertRegex(text, rf"Layout otp-{RELEASE}, made for this release")
        idle, busy, given_up = map(int, re.search(
            r"--mode snapshot  one stop of about (\d+) ms on an idle machine, (\d+) ms on a busy one; "
            r"abandoned after (\d+) ms\n +at most 3 attempts, none after one that took more than 250 ms\n", text).groups())
        self.assertLess(idle, busy)
        self.assertLess(busy, given_up)
        self.assertRegex(text, r"did not yield within 1.2 ms, stops of at most 50 ms "
                               r"each \(--max-pause\), 120 at most\n")
        self.assertRegex(text, r"up to [\d.]+ [KMG]iB more memory during the capture")
        self.assertRegex(text, r"memory left to the node: [\d.]+ [MG]iB \(")

    def test_what_a_person_wants_comes_first_and_alone(self):
        text = tools.expect(tools.run_measured([CAPTURE, "--check", self.node.pid]), 0).output
        lines = text.splitlines()
        self.assertLess(len(lines), 26, text)
        self.assertEqual(lines[5], "A capture", text)
        self.assertIn("--verbose", lines[-1])
        self.assertNotIn("Found by", text)
        self.assertIn("--verbose goes with --check",
                      tools.expect(tools.run_measured([CAPTURE, "--verbose", self.node.pid]), 2).diagnostics)

    def test_what_no_check_sees_is_named(self):
        text = self.ended.output
        seen, fields = map(int, re.search(r"(\d+) of its (\d+) fields are verified", text).groups())
        listed = []
        for line in re.search(r"Not noticed:\n((?:    .*\n)+)", text)[1].splitlines():
            words = line.split()
            if words[0].endswith(":"):
                structure = words.pop(0)[:-1]
            listed += [f"{structure}.{field}" for field in words]
        self.assertEqual(len(listed), fields - seen)
        self.assertGreater(seen, 40)
        if int(RELEASE) < 27:
            self.assertEqual(set(listed) & set(CHECKED), set())

    def test_the_estimate_is_of_the_right_size(self):
        # The estimate counts memory that the node has freed and still holds; it is given back with time.
        unused = self.resident_in_use_ratio()
        end = time.monotonic() + 20
        while unused > 1.5 and time.monotonic() < end:
            time.sleep(0.2)
            unused = self.resident_in_use_ratio()
        checked = tools.expect(tools.run_measured([CAPTURE, "--check", self.node.pid]), 0)
        number, unit = re.search(r"writes about ([\d.]+) (\S+) or less", checked.output).groups()
        dump = self.scratch / "standard.beamdump"
        tools.capture(self.node, dump, "--binary-bytes", "all")
        ratio = float(number) * UNITS[unit] / tools.file_bytes(dump)
        print(f"the estimate is {ratio:.2f} times the dump's size; {unused:.2f} times the memory in use "
              "was resident", flush=True)
        self.assertGreater(ratio, 0.7)
        self.assertLess(ratio, 2 * max(1.5, unused))

    def resident_in_use_ratio(self):
        return (self.node.status_field("VmRSS") << 10) / int(self.node.ask("memory"))

    def test_nothing_is_stopped_or_left(self):
        self.assertEqual(self.node.stopped_threads(), [])
        self.assertEqual(self.node.ask("ping"), "pong")
        before = set(self.scratch.iterdir())
        ended = subprocess.run(["strace", "-f", "--seccomp-bpf", "-e", "trace=ptrace,kill,tkill", "-o",
                                self.scratch / "calls", CAPTURE, "--check", str(self.node.pid)],
                               cwd=self.scratch, capture_output=True)
        self.assertEqual(ended.returncode, 0)
        calls = (self.scratch / "calls").read_text()
        self.assertNotIn("ptrace(", calls)
        # It sends signals only to its own guardian.
        own = set(re.findall(r"(?m)^(\d+) ", calls))
        self.assertNotIn(str(self.node.pid), own)
        self.assertLessEqual(set(re.findall(r" t?kill\((\d+), SIG", calls)), own)
        self.assertEqual(set(self.scratch.iterdir()) - before, {self.scratch / "calls"})

    def test_another_program_is_refused(self):
        with subprocess.Popen(["sleep", "100"]) as sleep:
            ended = tools.run_measured([CAPTURE, "--check", sleep.pid])
            sleep.kill()
        self.assertEqual(ended.status, 1)
        self.assertEqual(len(ended.diagnostics.splitlines()), 1)
        self.assertEqual(ended.output, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)

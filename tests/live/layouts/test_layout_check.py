"""beamdump-layout check: whether a layout fits a node or its core, and which fields are
verified."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import tools
from support.cores import gcore
from support.layouts import CHECKED, LAYOUTS
from support.node import start_workload
from support.paths import CAPTURE, LAYOUT
from support.release import RELEASE, erlang_directory

# Fields whose verification depends on what the running node was doing.
MOST_DIFFERENT = 3
NO_PROCESS = 2**22 + 1  # above the kernel's largest process id


def fields(text, heading):
    """The names listed below a line that ends in heading."""
    listed, structure = set(), None
    for line in re.search(rf"(?m){heading}:\n((?:    .*\n)+)", text)[1].splitlines():
        words = line.split()
        if words[0].endswith(":"):
            structure = words.pop(0)[:-1]
        listed |= {f"{structure}.{field}" for field in words}
    return listed


class LayoutCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("sample")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node.wait_until_quiet()
        cls.own = LAYOUTS / f"otp-{RELEASE}.json"
        cls.fits = tools.expect(cls.check(cls.node.pid), 0).output
        print(cls.fits, flush=True)

    @classmethod
    def check(cls, target, *options):
        return tools.run_measured([LAYOUT, "check", target, *options])

    def refused(self, status, target, *options):
        ended = tools.expect(self.check(target, *options), status)
        self.assertEqual(len(ended.diagnostics.splitlines()), 1, ended.diagnostics)
        self.assertEqual(ended.output, "")
        return ended.diagnostics

    def assert_same_fields(self, said):
        """The same fields as the first time are verified, except for a few."""
        before, after = fields(self.fits, "Not noticed"), fields(said, "Not noticed")
        if before != after:
            print(f"noticed only once: {' '.join(sorted(before ^ after))}", flush=True)
        self.assertLessEqual(len(before ^ after), MOST_DIFFERENT)

    def test_the_right_one_fits(self):
        self.assertRegex(self.fits, rf"\AOTP {RELEASE} \(ERTS [\d.]+\), JIT: {self.node.pid}\n"
                                    rf"Layout otp-{RELEASE}, made for this release\n")
        looked_at = re.search(r"it fits: (\d+) atoms, (\d+) functions of (\d+) modules, (\d+) "
                              r"processes with (\d+) heap bounds and (\d+) return addresses\n"
                              r"  (\d+) dictionary slots, (\d+) links, (\d+) monitors; (\d+) objects "
                              r"on heaps, of them (\d+) binaries and (\d+) funs\n", self.fits)
        for count, least in zip(map(int, looked_at.groups()), [30] * 6 + [1] * 6):
            self.assertGreaterEqual(count, least)
        seen, unseen = fields(self.fits, "  Noticed"), fields(self.fits, "Not noticed")
        told = re.search(r"(\d+) of its (\d+) fields", self.fits)
        self.assertEqual((len(seen), len(seen | unseen)), tuple(map(int, told.groups())))
        self.assertEqual(seen & unseen, set())
        checked = {field for field in CHECKED if field in seen | unseen}
        self.assertGreater(len(checked), 0.8 * len(CHECKED))
        self.assertEqual(checked - seen, set())

    def test_a_capture_says_the_same(self):
        capture = tools.expect(tools.run_measured([CAPTURE, "--check", "--verbose", self.node.pid]), 0).output
        self.assert_same_fields(capture)
        # The number of processes at rest differs each time.
        steady = r"Layout .*\n  it fits: \d+ atoms, \d+ functions of \d+ modules, "
        self.assertEqual(re.search(steady, capture)[0], re.search(steady, self.fits)[0])

    def test_the_same_from_a_file_fits(self):
        given = tools.expect(self.check(self.node.pid, "--layout", self.own), 0).output
        self.assertIn(f"Layout otp-{RELEASE}, given by --layout\n", given)
        self.assert_same_fields(given)

    def test_other_releases_are_refused(self):
        others = [path for path in LAYOUTS.glob("otp-*.json") if path != self.own]
        self.assertGreaterEqual(len(others), 2)
        for path in others:
            with self.subTest(layout=path.name):
                why = self.refused(1, self.node.pid, "--layout", path)
                print(why, end="", flush=True)
                self.assertRegex(why, rf"layout {path.stem} does not fit.*: .*(expected|lacks)")

    def test_a_core_gives_the_same_list(self):
        executable = os.readlink(f"/proc/{self.node.pid}/exe")
        options = []
        if os.environ.get("BEAMDUMP_OTP"):
            # The program of a node below another root: its core has the path inside that root.
            (executable,) = erlang_directory().glob("erts-*/bin/beam.smp")
            options = ["--exe", executable]
        core = gcore(self.node, self.scratch)
        said = tools.expect(self.check(core, *options), 0).output
        self.assertTrue(said.startswith(f"OTP {RELEASE} "), said)
        self.assert_same_fields(said)
        for path in LAYOUTS.glob("otp-*.json"):
            if path != self.own:
                self.refused(1, core, *options, "--layout", path)

    def test_what_cannot_be_looked_at_is_another_status(self):
        self.assertIn(f"there is no process {NO_PROCESS}", self.refused(2, NO_PROCESS))
        self.assertIn("nowhere", self.refused(2, self.scratch / "nowhere"))
        self.assertIn("nowhere", self.refused(2, self.node.pid, "--layout",
                                              self.scratch / "nowhere"))
        bad = self.scratch / "bad.json"
        bad.write_text("{}")
        self.assertIn("bad.json", self.refused(2, self.node.pid, "--layout", bad))
        with subprocess.Popen(["sleep", "100"]) as sleep:
            why = self.refused(2, sleep.pid)
            sleep.kill()
        self.assertIn("sleep", why)

    def test_nothing_is_stopped(self):
        calls = self.scratch / "calls"
        ended = subprocess.run(["strace", "-f", "--seccomp-bpf", "-e", "trace=ptrace,kill,tkill",
                                "-o", calls, LAYOUT, "check", str(self.node.pid)],
                               capture_output=True)
        self.assertEqual(ended.returncode, 0)
        self.assertNotRegex(calls.read_text(), r"ptrace\(|kill\(")
        self.assertEqual(self.node.stopped_threads(), [])
        self.assertEqual(self.node.ask("ping"), "pong")


if __name__ == "__main__":
    unittest.main(verbosity=2)

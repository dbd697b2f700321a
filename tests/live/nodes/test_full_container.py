"""A node and a capture in one memory cgroup of which little is left, as with `docker exec`: the
capture completes in what is left, or ends with a sentence; the node lives in any case. And a node at
97% of its limit that is captured from outside.

BEAMDUMP_CAPTURES: how often each (2; soak: 20)."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from support import tools
from support.memory.cgroup import MIB, MemoryCgroup, parent
from support.node import Node, base_environment, compile_testdata, temporary_directory
from support.paths import CAPTURE, PROGRAMS
from support.release import of_release

CAPTURES = int(os.environ.get("BEAMDUMP_CAPTURES", "2"))
READY_SECONDS = 120
MOST_MIB = 12
FULL = 0.97
STATIC = PROGRAMS.parent / "static" / "beamdump-capture"


def programs():
    return [CAPTURE, STATIC] if STATIC.exists() else [CAPTURE]


@unittest.skipUnless(os.geteuid() == 0 and parent(), "no memory cgroup of version 1 can be made: "
                                                     "NOT TESTED here: full containers")
class FullContainer(unittest.TestCase):
    def setUp(self):
        belongings = self.enterContext(contextlib.ExitStack())
        self.scratch = pathlib.Path(belongings.enter_context(tempfile.TemporaryDirectory()))
        self.cgroup = MemoryCgroup(self.id().rsplit(".", 1)[-1])
        belongings.callback(self.cgroup.remove)
        directory = temporary_directory(belongings)
        ebin = compile_testdata(directory)
        process = subprocess.Popen(
            of_release("erl", "-noinput", "-start_epmd", "false", "-pa", ebin, "-run", "workload",
                       "start", "sample", "0.1", directory),
            env=base_environment(directory), cwd=directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=self.cgroup.join)
        belongings.callback(process.wait)
        belongings.callback(process.kill)
        deadline = time.monotonic() + READY_SECONDS
        ready = directory / "ready"
        while not (ready.exists() and ready.read_text()) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.process = process
        self.node = Node(int(ready.read_text()), directory, contextlib.ExitStack())
        self.node.wait_until_quiet()

    def run_with(self, mebibytes, program, *options, inside=True):
        """A run with so much left, and the most that was used beyond what the node had."""
        before = self.cgroup.leave(mebibytes)
        ended = subprocess.run([program, *options, str(self.node.pid)], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True,
                               preexec_fn=self.cgroup.join if inside else None)
        peak = self.cgroup.number("memory.max_usage_in_bytes") - before
        self.assertIsNone(self.process.poll(), f"the node was killed; {ended.stderr}")
        self.assertEqual(self.node.ask("ping"), "pong")
        return ended, peak / MIB

    def test_completes_in_what_is_left(self):
        for program in programs():
            for left in 24, 16:
                peaks = []
                for number in range(CAPTURES):
                    with self.subTest(program=program.parent.name, left=left, number=number):
                        dump = self.scratch / "node.beamdump"
                        ended, peak = self.run_with(left, program, "--force", "-o", dump)
                        self.assertIn(ended.returncode, (0, 3), ended.stderr)
                        self.assertIn("one thread and level 1", ended.stderr)
                        self.has_the_cgroup(dump)
                        peaks.append(peak)
                        # The node's own may grow a little meanwhile.
                        self.assertLess(peak, MOST_MIB + 1)
                print(f"{program.parent.name}, {left} MiB left: peaks of "
                      f"{', '.join(f'{peak:.1f}' for peak in peaks)} MiB", flush=True)

    def test_from_outside(self):
        """Nothing of the capture counts for the container but a twin, which is refused where there is
        no room for it."""
        dump = self.scratch / "node.beamdump"
        for mode in "live", "auto", "freeze", "snapshot":
            peaks, refused = [], 0
            for number in range(CAPTURES):
                with self.subTest(mode=mode, number=number):
                    left = self.cgroup.number("memory.usage_in_bytes") / MIB * (1 / FULL - 1)
                    ended, peak = self.run_with(left, CAPTURE, "--force", "--mode", mode, "-o", dump,
                                                inside=False)
                    peaks.append(peak)
                    if mode == "snapshot" and ended.returncode == 1:
                        self.assertRegex(ended.stderr, r"MiB")
                        refused += 1
                        continue
                    self.assertIn(ended.returncode, (0, 3), ended.stderr)
                    self.assertNotIn("one thread and level 1", ended.stderr)
                    self.has_the_cgroup(dump)
                    processes = tools.analyze_json("processes", dump, "--limit", "0")["processes"]
                    self.assertEqual([process for process in processes if "void_reason" in process], [])
            print(f"{mode} from outside at {FULL:.0%}: {len(peaks) - refused} of {len(peaks)} complete, "
                  f"{refused} refused; at most {max(peaks):.1f} MiB beyond the node's", flush=True)

    def has_the_cgroup(self, dump):
        """What the kernel counts for the container is in the dump."""
        own = tools.analyze_json("memory", dump)["cgroups"][0]
        self.assertTrue(own["name"].endswith(self.cgroup.directory.name), own)
        self.assertEqual(own["limit_bytes"], self.cgroup.number("memory.limit_in_bytes"))
        self.assertLessEqual(own["working_set_bytes"], own["used_bytes"])
        self.assertLessEqual(own["used_bytes"], own["limit_bytes"])
        self.assertEqual(own["oom_kills"], 0)
        summary = tools.analyze_json("summary", dump)
        if own["working_set_bytes"] >= 0.9 * own["limit_bytes"]:
            self.assertIn("cgroup_memory", [finding["id"] for finding in summary["findings"]])

    def test_check_says_the_same(self):
        ended, _ = self.run_with(8, CAPTURE, "--check")
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertRegex(ended.stderr, r"\Abeamdump-capture: [^\n]*needs 12.0 MiB of memory, and "
                                       r"[^\n]* are left: [^\n]*the container's host[^\n]*\n\Z")

    def test_next_to_nothing_is_left(self):
        for program in programs():
            for left in 1, 2, 5:
                for number in range(CAPTURES):
                    with self.subTest(program=program.parent.name, left=left, number=number):
                        dump = self.scratch / "node.beamdump"
                        ended, _ = self.run_with(left, program, "--force", "-o", dump)
                        self.assertIn(ended.returncode, (1, -signal.SIGKILL))
                        if ended.returncode == 1:
                            self.assertRegex(ended.stderr, "MiB of memory, and .* are left: ")
                        self.assertFalse(dump.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

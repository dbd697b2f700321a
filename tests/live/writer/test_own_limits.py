"""The writer's own failures: limits on its threads, memory, files and descriptors. Each is one
sentence with a remedy, and the node notices nothing."""

import fcntl
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time
import unittest

from support import tools
from support.node import start_workload
from support.paths import CAPTURE

# Limits on processes do not hold for root: a user of its own, who may look into any process.
USER = "54321"
RIGHTS = "+sys_ptrace,+dac_override,+dac_read_search,+kill"
AS_USER = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups",
           "--inh-caps", RIGHTS, "--ambient-caps", RIGHTS]
WITHOUT_RIGHTS = AS_USER[:AS_USER.index("--inh-caps")]
# Below so much memory the program is not even loaded.
LEAST_MIB = 20
WHAT_TO_DO = {"threads": "ulimit -u", "memory": "ulimit -v", "file": "ulimit -f",
              "descriptors": "ulimit -n"}


def limited(which, limit):
    return lambda: resource.setrlimit(which, (limit, limit))


class OwnLimits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("sample", 0.1)
        cls.addClassCleanup(cls.node.stop)
        cls.node.wait_until_quiet()

    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.scratch.chmod(0o777)
        self.program = self.scratch / "beamdump-capture"
        shutil.copy(CAPTURE, self.program)
        self.dump = self.scratch / "node.beamdump"
        self.partial = self.scratch / "node.beamdump.partial"
        self.before = self.threads()

    def threads(self):
        return sorted(os.listdir(f"/proc/{self.node.pid}/task"))

    def run_capture(self, *options, below=(), **settings):
        self.dump.unlink(missing_ok=True)
        self.partial.unlink(missing_ok=True)
        ended = subprocess.run([*below, self.program, "--quiet", "-o", self.dump, *options,
                                str(self.node.pid)], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=60, **settings)
        self.assert_unharmed()
        return ended

    def assert_unharmed(self):
        self.assertEqual(self.node.stopped_threads(), [])
        self.assertEqual(self.node.ask("ping"), "pong")
        deadline = time.monotonic() + 1
        while self.threads() != self.before and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.threads(), self.before)

    def assert_sentence(self, ended, pattern):
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertRegex(ended.stderr, r"\Abeamdump-capture: [^\n]*\n\Z")
        self.assertRegex(ended.stderr, pattern)

    def assert_whole_or_sentence(self, ended, pattern):
        """Whether it is whole."""
        if ended.returncode in (0, 3):
            tools.expect(tools.analyze("summary", self.dump), 0)
            return True
        self.assert_sentence(ended, pattern)
        return False

    def test_threads_are_refused(self):
        """With few it continues more slowly; with none it reports an error."""
        limits = 1, 2, 3, 4, 5, 6, 12
        for mode in "live", "auto", "snapshot", "freeze":
            whole = []
            for limit in limits:
                with self.subTest(mode=mode, threads=limit):
                    ended = self.run_capture(
                        "--mode", mode, "--threads", "4",
                        below=[*AS_USER, "prlimit", f"--nproc={limit}:{limit}"])
                    whole.append(self.assert_whole_or_sentence(ended, WHAT_TO_DO["threads"]))
            print(f"{mode}: whole with so many threads: "
                  f"{[limit for limit, done in zip(limits, whole) if done]}", flush=True)
            self.assertFalse(whole[0])
            self.assertTrue(whole[-1])
            if mode == "live":
                self.assertTrue(whole[3], "five compression threads fewer than asked for")

    def test_signals_to_the_node_are_refused(self):
        """Who may not end a twin makes none."""
        rights = RIGHTS.removesuffix(",+kill")
        below = [rights if word == RIGHTS else word for word in AS_USER]
        ended = self.run_capture("--mode", "snapshot", below=below)
        self.assert_sentence(ended, "may not kill a twin of it.*CAP_KILL")
        for mode in "auto", "freeze":
            with self.subTest(mode):
                ended = self.run_capture("--mode", mode, below=below)
                self.assertTrue(self.assert_whole_or_sentence(ended, "$^"), ended.stderr)

    def test_memory_is_refused(self):
        """Whatever is refused first: a library, a stack, a buffer, even an exception's few bytes."""
        whole = []
        limits = [*range(LEAST_MIB, 44, 4), *(halves / 2 for halves in range(88, 152)), 120, 200]
        for limit in limits:
            with self.subTest(mebibytes=limit):
                ended = self.run_capture("--mode", "freeze", preexec_fn=limited(
                    resource.RLIMIT_AS, int(limit * 2**20)))
                if ended.returncode == 127:
                    self.assertIn("shared libraries", ended.stderr)  # the loader's words
                    whole.append(False)
                else:
                    whole.append(self.assert_whole_or_sentence(ended, WHAT_TO_DO["memory"]))
        print(f"whole with so many MiB: {[limit for limit, done in zip(limits, whole) if done]}",
              flush=True)
        self.assertFalse(whole[0])
        self.assertTrue(whole[-1])

    def test_what_a_memory_limit_takes_the_place_of_is_said(self):
        for options in (["--level", "9"], ["--threads", "4"]):
            ended = subprocess.run([self.program, "-o", self.dump, "--force", "--memory", "16M", *options,
                                    str(self.node.pid)], stdin=subprocess.DEVNULL, capture_output=True,
                                   text=True, timeout=60)
            self.assertIn(ended.returncode, (0, 3), ended.stderr)
            self.assertIn("with one thread and level 1, since --memory is 16.0 MiB", ended.stderr)

    def test_a_file_may_not_be_as_large(self):
        for limit in 0, 4096, 300000:
            with self.subTest(bytes=limit):
                ended = self.run_capture(preexec_fn=limited(resource.RLIMIT_FSIZE, limit))
                self.assert_sentence(ended, f"{limit} bytes were written.*{WHAT_TO_DO['file']}")
                self.assertEqual(self.partial.stat().st_size, limit)
        self.assertEqual(tools.analyze("summary", self.partial).status, 3)

    def test_too_few_descriptors(self):
        for mode in "live", "snapshot":
            for limit in 4, 5, 6, 9, 12, 15, 30:
                with self.subTest(mode=mode, descriptors=limit):
                    ended = self.run_capture("--mode", mode, preexec_fn=limited(
                        resource.RLIMIT_NOFILE, limit))
                    self.assert_sentence(ended, "(?i)too many open files.*" +
                                         WHAT_TO_DO["descriptors"])
                    self.assertFalse(self.partial.exists())

    def test_it_raises_a_soft_limit_of_descriptors_itself(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        ended = self.run_capture(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                       (10, hard)))
        self.assertIn(ended.returncode, (0, 3), ended.stderr)

    def test_the_partial_file_is_another_users(self):
        """Held by a capture of root's that is still running, and left by one. Of a core, which needs
        no rights."""
        subprocess.run(["gcore", "-o", self.scratch / "core", str(self.node.pid)], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        core = self.scratch / f"core.{self.node.pid}"
        core.chmod(0o644)
        for mode, locked, pattern in ((0o600, True, "another user.*another name"),
                                      (0o600, False, "another user.*another name"),
                                      (0o644, True, "another capture.*another name")):
            with self.subTest(mode=oct(mode), locked=locked):
                with self.partial.open("w") as held:
                    held.write("of root's")
                    held.flush()
                    self.partial.chmod(mode)
                    if locked:
                        fcntl.flock(held, fcntl.LOCK_EX)
                    ended = subprocess.run(
                        [*WITHOUT_RIGHTS, self.program, "--quiet", "-o", self.dump, "--core", core],
                        stdin=subprocess.DEVNULL, capture_output=True, text=True)
                self.assert_sentence(ended, pattern)
                self.assertEqual(self.partial.read_text(), "of root's")
        self.partial.unlink()


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The test nodes: each workload runs on the requested OTP release, with the package's program, and
leaves nothing behind."""

import contextlib
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from support.applications import start_ejabberd, start_rabbitmq
from support.distribution import start_pair
from support.leftovers import processes_of
from support.nif import build_nif
from support.node import Node, start_workload
from support.release import OWN, RELEASE, erlang_directory, otp_root
from support.zoo import start_zoo

WORKLOADS = {"sample": 1, "standard": 0.05, "busy": 0.2, "twin_load": 0.2, "steady": 1}
START_SECONDS = 60
END_SECONDS = 10
TESTS = pathlib.Path(__file__).parent
HAS_APPLICATIONS = (otp_root() / "usr" / "lib" / "rabbitmq").exists()

# A test that prints its node's directory.
KILLED_TEST = """
from support import node
temporary_directory = node.temporary_directory
def told(belongings):
    directory = temporary_directory(belongings)
    print(directory, flush=True)
    return directory
node.temporary_directory = told
node.start_workload("sample")
import time
time.sleep(1000)
"""


def mounts(node):
    """On this machine, for the node."""
    places = [str(node.directory)]
    if RELEASE != OWN:
        places.append(str(otp_root().parent))
    return [mount for mount in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
            if any(place in mount for place in places)]


def md5(path):
    return hashlib.md5(pathlib.Path(path).read_bytes()).hexdigest()


class Nodes(unittest.TestCase):
    def check(self, node):
        """The node answers, and runs the package's program of the right release."""
        self.assertEqual(node.ask("ping"), "pong")
        self.assertEqual(node.ask("release"), RELEASE)
        program = next(erlang_directory().glob("erts-*/bin/beam.smp"))
        self.assertTrue(os.readlink(f"/proc/{node.pid}/exe").endswith(
            str(program.relative_to(erlang_directory().parent))))
        self.assertEqual(md5(f"/proc/{node.pid}/exe"), md5(program))

    def assert_nothing_left(self, node):
        deadline = time.monotonic() + END_SECONDS
        while (processes_of(node.directory) or node.directory.exists()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(processes_of(node.directory), set())
        self.assertFalse(node.directory.exists())
        self.assertEqual(mounts(node), [])

    def check_and_end(self, node):
        try:
            self.check(node)
            self.assertEqual(mounts(node), [])
            self.assertIn(node.pid, processes_of(node.directory))
        finally:
            node.stop()
        self.assert_nothing_left(node)

    def test_workloads(self):
        scratch = self.enterContext(tempfile.TemporaryDirectory())
        os.environ["BEAMDUMP_STEADY_NIF"] = str(build_nif(pathlib.Path(scratch), "steady"))
        self.addCleanup(os.environ.pop, "BEAMDUMP_STEADY_NIF")
        for workload, scale in WORKLOADS.items():
            with self.subTest(workload=workload):
                self.check_and_end(start_workload(workload, scale))

    def test_the_distributed_zoo(self):
        node, _ = start_zoo(0.1)
        self.check_and_end(node)

    def test_the_distributed_pair(self):
        self.check_and_end(start_pair()[0])

    @unittest.skipUnless(HAS_APPLICATIONS, f"NOT TESTED: RabbitMQ and ejabberd on OTP {RELEASE}")
    def test_applications(self):
        for start in (start_rabbitmq, start_ejabberd):
            with self.subTest(start=start.__name__):
                self.check_and_end(start()[0])

    def test_a_test_that_is_killed(self):
        """The test is killed while its node starts, and when the node runs."""
        for seen in ("log", "control"):
            with self.subTest(seen=seen):
                self.kill_a_test_when(seen)

    def kill_a_test_when(self, seen):
        test = subprocess.Popen([sys.executable, "-B", "-c", KILLED_TEST], cwd=TESTS,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        with contextlib.closing(test.stdout):
            directory = pathlib.Path(test.stdout.readline().strip())
            deadline = time.monotonic() + START_SECONDS
            while not (directory / seen).exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertTrue((directory / seen).exists())
            self.assertNotEqual(processes_of(directory), set())
            test.kill()
            test.wait()
        self.assert_nothing_left(Node(test.pid, directory, contextlib.ExitStack()))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The nodes that the tests run on: each workload on the OTP release that was asked for, its program
the one of the package, and nothing left of it in the end."""

import contextlib
import hashlib
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from support.node import Node, start_workload, temporary_directory
from support.paths import ROOT
from support.release import OWN, RELEASE, erlang_directory, otp_root, settings
from support.steady import build_nif
from support.zoo import start_zoo

WORKLOADS = {"sample": 1, "standard": 0.05, "busy": 0.2, "twin_load": 0.2, "steady": 1}
END_SECONDS = 10


def mounts(node):
    """On this machine, for the node."""
    places = [str(node.directory)]
    if RELEASE != OWN:
        places.append(str(otp_root().parent))
    return [mount for mount in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
            if any(place in mount for place in places)]


def processes_below(directory):
    """Ids of processes that name the directory in their command line or environment, or work in it."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            if str(directory).encode() in told + os.readlink(process / "cwd").encode():
                found.add(int(process.name))
    return found - {os.getpid()}


def md5(path):
    return hashlib.md5(pathlib.Path(path).read_bytes()).hexdigest()


class Nodes(unittest.TestCase):
    def check(self, node):
        """It answers, and is the package's program of the right release."""
        self.assertEqual(node.ask("ping"), "pong")
        self.assertEqual(node.ask("release"), RELEASE)
        program = next(erlang_directory().glob("erts-*/bin/beam.smp"))
        self.assertTrue(os.readlink(f"/proc/{node.pid}/exe").endswith(
            str(program.relative_to(erlang_directory().parent))))
        self.assertEqual(md5(f"/proc/{node.pid}/exe"), md5(program))

    def assert_nothing_left(self, node):
        deadline = time.monotonic() + END_SECONDS
        while processes_below(node.directory) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(processes_below(node.directory), set())
        self.assertFalse(node.directory.exists())
        self.assertEqual(mounts(node), [])

    def check_and_end(self, node):
        try:
            self.check(node)
            self.assertEqual(mounts(node), [])
            self.assertIn(node.pid, processes_below(node.directory))
        finally:
            node.stop()
        self.assert_nothing_left(node)

    def test_workloads(self):
        scratch = self.enterContext(tempfile.TemporaryDirectory())
        os.environ["BEAMDUMP_STEADY_NIF"] = str(build_nif(pathlib.Path(scratch)))
        self.addCleanup(os.environ.pop, "BEAMDUMP_STEADY_NIF")
        for workload, scale in WORKLOADS.items():
            with self.subTest(workload=workload):
                self.check_and_end(start_workload(workload, scale))

    def test_the_distributed_zoo(self):
        node, _ = start_zoo(0.1)
        self.check_and_end(node)

    def test_what_starts_a_node_is_killed(self):
        """Its node goes on, and can be ended; mounts go with it."""
        with contextlib.ExitStack() as belongings:
            directory = temporary_directory(belongings)
            starter = subprocess.Popen(
                [ROOT / "scripts" / "start-node", "--dir", directory, "--otp", RELEASE, "sample"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=os.environ | settings())
            deadline = time.monotonic() + 60
            while not (directory / "log").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            starter.kill()
            starter.wait()
            for pid in processes_below(directory):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            node = Node(starter.pid, directory, belongings.pop_all())
        node.stop()
        self.assert_nothing_left(node)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The programs of one file, and the Debian package, in roots of their own made by debootstrap: only in
soak, as these are fetched. A root is kept below BEAMDUMP_OTP_ROOT (default: ~/.cache/beamdump).

bullseye: glibc 2.31, older than the one that the programs were built with; its own Erlang is OTP 23, before
the JIT, which a capture must refuse. sid: the newest glibc, OTP 29. bookworm: without any library that
beamdump needs, for the package. In each a node of this machine is captured too, which has another root."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from roots import ENVIRONMENT, build_package, copy_static, in_root, root_of, run, succeed
from support.node import start_workload

READY_SECONDS = 120
# A process whose only message tells that it was read, and the node's own word of its registered processes.
TOLD = """
    register(probe, spawn(fun() -> receive never -> ok end end)),
    probe ! {found, <<"in this root">>},
    ok = file:write_file("/tmp/told.new", lists:join(" ", [pid_to_list(whereis(N)) || N <- registered()])),
    ok = file:rename("/tmp/told.new", "/tmp/told").
"""


class Root:
    """A root in use: each command in it has a /proc of its own, and little of this environment."""

    def __init__(self, path):
        self.path = path
        (path / "opt").mkdir(exist_ok=True)
        copy_static(path / "opt")

    def run(self, *words):
        return run(*in_root(self.path, *words), env=ENVIRONMENT)

    def succeed(self, *words):
        return succeed(*in_root(self.path, *words), env=ENVIRONMENT)

    @contextlib.contextmanager
    def node(self):
        """A node of the root's own Erlang: its process id, and what it told."""
        told = self.path / "tmp" / "told"
        told.unlink(missing_ok=True)
        process = subprocess.Popen(in_root(self.path, "erl", "-noinput", "-start_epmd", "false", "-eval", TOLD),
                                   env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + READY_SECONDS
            while not told.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the node in {self.path} did not start")
                time.sleep(0.1)
            # sh, chroot and erl have replaced one another in this process.
            name = pathlib.Path(f"/proc/{process.pid}/comm").read_text().strip()
            if name != "beam.smp":
                raise RuntimeError(f"process {process.pid} is {name}")
            yield process.pid, told.read_text().split()
        finally:
            process.kill()
            process.wait()


@unittest.skipUnless(os.geteuid() == 0, "other roots need root")
class Roots(unittest.TestCase):
    def assert_captured(self, root, pid, capture="/opt/beamdump-capture", analyze="/opt/beamdump-analyze"):
        print(root.succeed(capture, "--force", "-o", "/tmp/node.beamdump", pid), end="")
        return root.succeed(analyze, "processes", "--limit", "0", "/tmp/node.beamdump")

    def assert_captures_this_machines(self, root, **programs):
        node = start_workload("sample")
        try:
            listed = self.assert_captured(root, node.pid, **programs)
            pids = node.ask("processes").split()
            self.assertGreater(sum(f"{pid} " in listed for pid in pids), 0.95 * len(pids))
        finally:
            node.stop()

    def test_debian_11(self):
        root = Root(root_of("bullseye", ["erlang-base"]))
        self.assertIn("2.31", root.succeed("ldd", "--version"))
        self.assert_captures_this_machines(root)
        with root.node() as (pid, _):
            ran = root.run("/opt/beamdump-capture", "--force", "-o", "/tmp/node.beamdump", pid)
            print(ran.stderr, end="")
            self.assertEqual(ran.returncode, 1)
            self.assertIn("OTP 23", ran.stderr)
            os.kill(pid, 0)

    def test_debian_sid(self):
        root = Root(root_of("sid", ["erlang-base"]))
        with root.node() as (pid, told):
            listed = self.assert_captured(root, pid)
            self.assertGreater(len(told), 15)
            self.assertEqual([one for one in told if f"{one} " not in listed], [])
            self.assertIn('{found,<<"in this root">>}',
                          root.succeed("/opt/beamdump-analyze", "messages", "/tmp/node.beamdump", "probe"))
            self.assertIn("release     Erlang/OTP 29", root.succeed("/opt/beamdump-analyze", "/tmp/node.beamdump"))
        self.assert_captures_this_machines(root)

    def test_the_package_is_installed(self):
        root = Root(root_of("bookworm", ["dpkg"]))
        self.assertFalse((root.path / "usr/bin/beamdump-capture").exists())
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(build_package(pathlib.Path(folder)), root.path / "tmp" / "beamdump.deb")
        root.succeed("apt-get", "-q", "update")
        root.succeed("apt-get", "-q", "-y", "install", "/tmp/beamdump.deb")
        try:
            self.assertEqual(root.succeed("dpkg", "--verify", "beamdump"), "")
            self.assertIn("--max-pause", root.succeed("beamdump-capture", "--help"))
            self.assert_captures_this_machines(root, capture="beamdump-capture", analyze="beamdump-analyze")
            root.succeed("beamdump-layout", "--version")
        finally:
            root.succeed("apt-get", "-q", "-y", "purge", "--autoremove", "beamdump")
        self.assertFalse((root.path / "usr/bin/beamdump-capture").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

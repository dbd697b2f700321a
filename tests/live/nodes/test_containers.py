"""A node as in a container: in its own mount and pid namespaces, below another root, as the first
process, with its program at a path that does not exist outside. Captured from outside in every
mode."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from support import tools
from support.node import Node, base_environment, compile_testdata, temporary_directory
from support.release import otp_root
from support.watched import entries

MODES = ("auto", "live", "snapshot", "freeze")
READY_SECONDS = 60

# The root is this machine's (with the release's /usr and /etc), except that Erlang is only at
# /opt/erlang.
INSIDE = """
set -eu
mount --rbind / "$ROOT"
[ "$OTP" = / ] || mount --bind "$OTP/usr" "$ROOT/usr"
[ "$OTP" = / ] || mount --bind "$OTP/etc" "$ROOT/etc"
mount -t tmpfs none "$ROOT/opt"
mkdir "$ROOT/opt/erlang"
mount --bind "$OTP/usr/lib/erlang" "$ROOT/opt/erlang"
mount -t tmpfs none "$ROOT/usr/lib/erlang"
mount -t proc proc "$ROOT/proc"
export ROOTDIR=/opt/erlang EMU=beam PROGNAME=erl
export BINDIR=/opt/erlang/$(cd "$ROOT/opt/erlang" && echo erts-*)/bin
exec chroot "$ROOT" /bin/sh -c 'cd /; exec $BINDIR/erlexec "$@"' sh -noinput -start_epmd false \\
  -pa "$EBIN" -run control start "$CONTROL"
"""


def root_is_a_mount():
    """Not possible in a plain chroot, where a namespace's mounts cannot be separated."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return any(mount.split()[4] == "/" for mount in mounts)


@unittest.skipUnless(os.geteuid() == 0, "namespaces and other roots need root")
@unittest.skipUnless(root_is_a_mount(), "the root directory is no mount point (a plain chroot?): "
                                        "NOT TESTED here: nodes in containers")
class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        belongings = contextlib.ExitStack()
        cls.addClassCleanup(belongings.close)
        directory = temporary_directory(belongings)
        root = directory / "root"
        root.mkdir()
        environment = base_environment(directory) | {
            "ROOT": str(root), "EBIN": str(compile_testdata(directory)),
            "CONTROL": str(directory / "control"), "OTP": str(otp_root())}
        process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--propagation", "private",
             "bash", "-c", INSIDE],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        belongings.callback(process.wait)
        belongings.callback(process.kill)
        cls.node = Node(cls.first_inside(process), directory, contextlib.ExitStack())
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if cls.node.ask("ping") == "pong":
                    break
            time.sleep(0.1)

    @staticmethod
    def first_inside(process):
        """The process started by unshare, as soon as it is the VM."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            for child in children.read_text().split():
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "beam.smp":
                    return int(child)
            time.sleep(0.05)
        raise RuntimeError("the node in its own namespaces did not start")

    def test_it_is_where_it_should_be(self):
        status = pathlib.Path(f"/proc/{self.node.pid}/status").read_text()
        self.assertRegex(status, rf"NSpid:\t{self.node.pid}\t1\n")
        program = os.readlink(f"/proc/{self.node.pid}/exe")
        self.assertIn("/opt/erlang/", program)
        self.assertFalse(os.path.exists(program))

    def test_captured_in_every_mode(self):
        before = entries(self.node.pid)
        pids = set(self.node.ask("processes").split())
        with tempfile.TemporaryDirectory() as scratch:
            for mode in MODES:
                with self.subTest(mode=mode):
                    dump = pathlib.Path(scratch) / mode
                    tools.capture(self.node, dump, "--mode", mode)
                    listed = {process["pid"] for process in tools.analyze_json(
                        "processes", dump, "--limit", "0")["processes"]}
                    self.assertGreater(len(pids & listed), 0.95 * len(pids))
                    deadline = time.monotonic() + 1
                    while entries(self.node.pid) != before and time.monotonic() < deadline:
                        time.sleep(0.01)
                    self.assertEqual(entries(self.node.pid), before)
                    self.assertEqual(self.node.ask("ping"), "pong")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Failed captures: the exit status, one sentence, and a node that continues to run."""

import contextlib
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import tools
from support.node import base_environment, start_workload, temporary_directory
from support.paths import CAPTURE
from support.release import erlang_directory, of_release
from support.tools import Ended

NOBODY = 65534
SCALE = 0.1


def run_capture(*arguments, **settings):
    """A run to its end, without progress: what is on stderr is the error alone."""
    result = subprocess.run([CAPTURE, *map(str, arguments)], stdin=subprocess.DEVNULL,
                            capture_output=True, timeout=60, **settings)
    return Ended(result.returncode, "", result.stderr.decode(errors="replace"), 0, 0)


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("what should happen did not")
        time.sleep(0.005)


class Scratch(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.dump = self.scratch / "node.beamdump"

    def program_for_everyone(self):
        """A copy of the program that user nobody may run."""
        program = self.scratch / "beamdump-capture"
        shutil.copy(CAPTURE, program)
        for path in (self.scratch, program):
            path.chmod(0o755)
        return program

    def assert_sentence(self, ended, status, pattern):
        self.assertEqual(ended.status, status, ended.diagnostics)
        self.assertRegex(ended.diagnostics, r"\Abeamdump-capture: [^\n]*\n\Z")
        self.assertRegex(ended.diagnostics, pattern)


class WrongTargets(Scratch):
    def assert_refused(self, pid, pattern):
        self.assert_sentence(run_capture(pid, "-o", self.dump), 1, pattern)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def start(self, *command, **settings):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **settings)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_no_such_process(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.assert_refused(ended.pid, f"there is no process {ended.pid}")

    def test_another_program(self):
        process = self.start("sleep", "1000")
        wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/sleep"))
        self.assert_refused(process.pid, rf"process {process.pid} is /\S*/sleep, "
                                         r"not an Erlang VM \(beam\.smp\)$")

    def test_another_program_called_beam(self):
        copy = self.enterContext(contextlib.ExitStack())
        program = temporary_directory(copy) / "beam.smp"
        shutil.copy(shutil.which("sleep"), program)
        process = self.start(program, "1000")
        wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/beam.smp"))
        self.assert_refused(process.pid, r"not an Erlang VM")

    def test_a_zombie(self):
        process = self.start("true")
        wait_for(lambda: ") Z " in pathlib.Path(f"/proc/{process.pid}/stat").read_text())
        self.assert_refused(process.pid, "has exited .*zombie")


class WrongUsage(Scratch):
    def test_arguments(self):
        for arguments in (["1", "--mode", "warp"], ["1", "--level", "99"]):
            with self.subTest(arguments=arguments):
                self.assert_sentence(run_capture(*arguments), 2, r"\w{4}")

    def test_a_terminal_gets_no_dump(self):
        leader, terminal = pty.openpty()
        try:
            result = subprocess.run([CAPTURE, "1", "-o", "-"], stdin=subprocess.DEVNULL,
                                    stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=60)
        finally:
            os.close(terminal)
            os.close(leader)
        self.assert_sentence(Ended(result.returncode, "", result.stderr, 0, 0), 2, "terminal")


class OnANode(Scratch):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("standard", SCALE)
        cls.addClassCleanup(cls.node.stop)

    def tearDown(self):
        self.assertEqual(self.node.stopped_threads(), [])
        self.assertEqual(self.node.ask("ping", seconds=20), "pong")

    def test_a_name_that_no_node_has(self):
        self.assert_sentence(run_capture("x"), 2, "no node is named x")

    def start_into_pipe(self):
        """A capture blocked in the middle: its output is a pipe that nobody reads."""
        writer = subprocess.Popen([CAPTURE, "--quiet", "--mode", "freeze", "-o", "-", str(self.node.pid)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.addCleanup(writer.stdout.close)
        self.addCleanup(writer.stderr.close)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        wait_for(self.node.stopped_threads)
        # The node is let go, the writer waits for the pipe.
        wait_for(lambda: not self.node.stopped_threads())
        time.sleep(0.3)
        self.assertIsNone(writer.poll())
        return writer

    def end_of(self, writer):
        """Without reading on from the pipe."""
        status = writer.wait(timeout=60)
        return Ended(status, "", writer.stderr.read().decode(errors="replace"), 0, 0)

    def test_a_thread_of_it(self):
        thread = max(map(int, os.listdir(f"/proc/{self.node.pid}/task")))
        self.assert_sentence(run_capture(thread, "-o", self.dump), 1,
                             f"{thread} is a thread .* of process {self.node.pid}")

    def test_its_relatives_name_it(self):
        child = pathlib.Path(f"/proc/{self.node.pid}/task/{self.node.pid}/children").read_text()
        self.assert_sentence(run_capture(child.split()[0], "-o", self.dump), 1,
                             rf"erl_child_setup, not an Erlang VM .*; its parent, "
                             rf"process {self.node.pid}, is one: use that")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
    def test_no_permission(self):
        program = self.program_for_everyone()
        result = subprocess.run([program, "-o", "-", str(self.node.pid)], stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=60, cwd="/",
                                user=NOBODY, group=NOBODY, extra_groups=[])
        ended = Ended(result.returncode, "", result.stderr.decode(), 0, 0)
        self.assert_sentence(ended, 1, r"belongs to user root and this program runs as \w+: run as root")
        self.assertEqual(result.stdout, b"")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("gdb"), "needs root and gdb")
    def test_traced_already(self):
        tracer = subprocess.Popen(
            ["gdb", "-q", "-p", str(self.node.pid), "-ex", "echo attached\\n", "-nx"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=base_environment(self.scratch))
        with tracer.stdin, tracer.stdout:
            wait_for(lambda: self.node.status_field("TracerPid") == tracer.pid)
            self.assert_sentence(run_capture(self.node.pid, "--mode", "freeze", "-o", self.dump), 1,
                                 rf"process {self.node.pid} \(.*traced by process {tracer.pid} \(gdb\)")
            tracer.stdin.write(b"detach\nquit\n")
        tracer.wait(timeout=60)
        self.assertFalse(self.dump.exists())

    def test_output_exists(self):
        self.dump.write_text("precious")
        self.assert_sentence(run_capture(self.node.pid, "-o", self.dump), 1,
                             rf"{self.dump} exists.*--force")
        self.assertEqual(self.dump.read_text(), "precious")
        self.assertEqual([entry.name for entry in self.scratch.iterdir()], [self.dump.name])

    def test_no_such_directory(self):
        self.assert_sentence(run_capture(self.node.pid, "-o", self.scratch / "no" / "dump"), 1,
                             "no/dump")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to mount a small file system")
    def test_full_disk(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "beamdump", self.scratch],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", self.scratch], check=True)
        ended = run_capture(self.node.pid, "-o", self.dump, "--quiet")
        self.assert_sentence(ended, 1, rf"cannot write to {self.dump}\.partial: "
                                       "No space left on device.*free space")
        self.assertGreater((self.scratch / "node.beamdump.partial").stat().st_size, 0)
        self.assertFalse(self.dump.exists())

    def test_reader_closes_the_pipe(self):
        writer = self.start_into_pipe()
        writer.stdout.close()
        self.assert_sentence(self.end_of(writer), 1, "reader|closed")

    def test_cancelled(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                writer = self.start_into_pipe()
                writer.send_signal(number)
                writer.stdout.read()
                self.assert_sentence(self.end_of(writer), 1, "interrupted; the node continues to run")

    def test_cancelled_while_nobody_reads(self):
        writer = self.start_into_pipe()
        writer.send_signal(signal.SIGTERM)
        self.assert_sentence(self.end_of(writer), 1, "interrupted while the output is blocked")
        self.node_runs_on()

    def test_killed(self):
        writer = self.start_into_pipe()
        writer.kill()
        self.assertEqual(self.end_of(writer).status, -signal.SIGKILL)
        self.node_runs_on()

    def node_runs_on(self):
        """The kernel resumes a dead tracer's threads some time after its death."""
        with contextlib.suppress(TimeoutError):
            wait_for(lambda: not self.node.stopped_threads(), seconds=1)

    def test_under_sigstop_it_stays_stopped(self):
        os.kill(self.node.pid, signal.SIGSTOP)
        try:
            threads = len(os.listdir(f"/proc/{self.node.pid}/task"))
            wait_for(lambda: len(self.node.stopped_threads()) == threads)
            ended = run_capture(self.node.pid, "-o", self.dump)
            self.assertIn(ended.status, (0, 3), ended.diagnostics)
            wait_for(lambda: len(self.node.stopped_threads()) == threads)
        finally:
            os.kill(self.node.pid, signal.SIGCONT)


class DyingNode(Scratch):
    def test_the_node_dies_during_capture(self):
        for mode in "freeze", "live", "auto", "snapshot":
            with self.subTest(mode=mode):
                self.node_dies(mode)

    def node_dies(self, mode):
        node = start_workload("crowd", 0.3)
        self.addCleanup(node.stop)
        writer = subprocess.Popen([CAPTURE, "--quiet", "--mode", mode, "-o", "-", str(node.pid)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        with writer.stdout, writer.stderr:
            if mode == "freeze":
                wait_for(node.stopped_threads)
            time.sleep(1)  # then it stands: nobody reads the pipe
            os.kill(node.pid, signal.SIGKILL)
            self.assertGreater(len(writer.stdout.read()), 0)
            diagnostics = writer.stderr.read().decode()
            ended = Ended(writer.wait(timeout=60), "", diagnostics, 0, 0)
        self.assert_sentence(ended, 1, f"process {node.pid} exited during the capture")


class OddNodes(Scratch):
    def start(self, command, directory, **settings):
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, **settings)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def assert_captured(self, capture):
        """A node that is still booting may be refused: retry for a while."""
        ended = None

        def captured():
            nonlocal ended
            ended = capture()
            return ended.status in (0, 3)
        with contextlib.suppress(TimeoutError):
            wait_for(captured, seconds=30)
        self.assertIn(ended.status, (0, 3), ended.diagnostics)
        names = {process.get("registered_name") for process in
                 tools.analyze_json("processes", "--limit", 0, self.dump)["processes"]}
        self.assertIn("init", names)

    def test_a_renamed_vm_started_through_the_loader(self):
        loader = next(iter(pathlib.Path("/lib64").glob("ld-linux-*")), None)
        if loader is None:
            self.skipTest("no loader in /lib64")
        beam = next(erlang_directory().glob("erts-*/bin/beam.smp"))
        program = self.scratch / "renamed"
        shutil.copy(beam, program)
        binaries = f"/usr/lib/erlang/{beam.parent.relative_to(erlang_directory())}"
        environment = base_environment(self.scratch) | {
            "ROOTDIR": "/usr/lib/erlang", "BINDIR": binaries, "EMU": "beam", "PROGNAME": "erl"}
        process = self.start(
            of_release(loader, program, "--", "-root", "/usr/lib/erlang", "-bindir", binaries,
                       "-progname", "erl", "--", "-home", self.scratch, "--", "-start_epmd",
                       "false", "-noshell", "-noinput"), self.scratch, env=environment)
        wait_for(lambda: str(program) in pathlib.Path(f"/proc/{process.pid}/maps").read_text())
        program.unlink()  # as an upgrade does
        self.assert_captured(lambda: run_capture(process.pid, "-o", self.dump))

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
    def test_a_users_own_node(self):
        program = self.program_for_everyone()
        self.scratch.chmod(0o777)
        nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        process = self.start(of_release("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                                        "--clear-groups", "erl", "-start_epmd", "false",
                                        "-noinput"),
                             self.scratch, env=base_environment(self.scratch))
        wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/beam.smp"))

        def capture():
            result = subprocess.run([program, "-o", self.dump, "--force", str(process.pid)],
                                    stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                    cwd="/", **nobody)
            return Ended(result.returncode, "", result.stderr.decode(), 0, 0)
        self.assert_captured(capture)
        self.assertEqual(self.dump.stat().st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main(verbosity=2)

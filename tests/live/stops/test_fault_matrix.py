"""Each mode with each fault: the node's stops keep to their bounds, no thread stays stopped,
nothing is left behind, and live copies are kept.

A thread of the node with real-time priority measures the stops. Other load on the machine can only
lengthen them: a cell with a stop that is too long runs again, and fails at the third time.
BEAMDUMP_FAULTS is how often each cell is run (1; soak: 100)."""

import math
import os
import pathlib
import signal
import tempfile
import time
import unittest

from support import slow_files, tools
from support.faults import (FaultNode, SignalStream, Writer, cpu_quota, stalled_pipe, state_of,
                            traced_by_strace, wait_for)
from support.nif import build_nif

TIMES = int(os.environ.get("BEAMDUMP_FAULTS", "1"))
MODES = {"live": ("--mode", "live"), "auto": ("--mode", "auto"), "snapshot": ("--mode", "snapshot"),
         "freeze": ("--mode", "freeze"), "freeze, 50 ms": ("--mode", "freeze", "--max-pause", "50")}
# Milliseconds. Limit for stopping all threads without --max-pause; a freeze also takes the measured
# time of copying and 50 ms of waiting.
BOUNDS = {"live": 0, "auto": 50, "snapshot": 100, "freeze": 100, "freeze, 50 ms": 50}
WAITING_MS = 50
# A writer that is stopped during a snapshot's stop is woken after the time of the slowest fork.
STOPPED_SNAPSHOT_MS = 200
MARGIN_MS = 10
# strace stops threads itself, and SIGSTOP is a stop, too.
FELT_BY_ITSELF = ("another tracer", "SIGSTOP to the node")
DONE = (0, 3)
HOLD_TRIES = 10
QUOTA_PERCENT = 20
# Some machines need several times the processor time for a program that they stop all the time.
QUOTA_SECONDS = 300
QUOTA = f"{QUOTA_PERCENT}% of a processor"
# A freeze lasts as long as copying, which is as slow as the writer.
UNBOUNDED = {(QUOTA, "freeze")}
# Its guardian kills a writer that does not run for long enough while the node is stopped.
KILLED = {mode: (-signal.SIGKILL,) if mode.startswith("freeze") else () for mode in MODES}


class Cells(unittest.TestCase):
    """A node, and the invariants of each cell."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node = FaultNode(cls.scratch, cls.addClassCleanup)
        cls.dump = cls.scratch / "node.beamdump"
        cls.shape = cls.node.shape()
        cls.node.feeling.reset()
        time.sleep(0.5)
        cls.noise_ms = cls.node.feeling.longest_ms()
        cls.copying_ms = cls.longest_stop_ms("freeze")
        print(f"without a fault: noise {cls.noise_ms:.1f} ms; a bare stop "
              f"{cls.longest_stop_ms('freeze, 50 ms', '--no-heaps'):.1f} ms; a whole freeze "
              f"{cls.copying_ms:.1f} ms", flush=True)

    @classmethod
    def longest_stop_ms(cls, mode, *options):
        tools.capture(cls.node.node, cls.dump, "--force", *MODES[mode], *options)
        return tools.analyze_json("summary", cls.dump)["capture"]["longest_stop_ns"] / 1e6

    def cells(self, fault, do, modes=MODES):
        """do(mode) checks the writer; the invariants are checked here."""
        for mode in modes:
            for _ in range(TIMES):
                with self.subTest(fault=fault, mode=mode):
                    felt = [self.cell(fault, mode, do)]
                    while (fault not in FELT_BY_ITSELF and felt[-1] > self.bound_ms(mode, fault)
                           and len(felt) < 3):
                        felt.append(self.cell(fault, mode, do))
                    if fault not in FELT_BY_ITSELF:
                        self.assertLess(felt[-1], self.bound_ms(mode, fault), felt)

    def cell(self, fault, mode, do):
        self.node.feeling.reset()
        told = do(mode)
        felt = self.node.feeling.longest_ms()
        print(f"{fault:24}{mode:16}{felt:8.1f} ms  {told}", flush=True)
        self.assert_unharmed()
        return felt

    def bound_ms(self, mode, fault):
        if (fault, mode) in UNBOUNDED:
            return math.inf
        bound = BOUNDS[mode]
        if fault == "SIGSTOP to the writer" and mode == "snapshot":
            bound = STOPPED_SNAPSHOT_MS
        if mode == "freeze":
            bound = max(bound, self.copying_ms * 1.5) + WAITING_MS
        return bound + MARGIN_MS + max(self.noise_ms, 5)

    def assert_unharmed(self):
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline and (self.node.node.stopped_threads()
                                               or self.node.shape() != self.shape):
            time.sleep(0.005)
        self.assertEqual(self.node.node.stopped_threads(), [])
        self.assertEqual(self.node.shape(), self.shape)
        self.assertEqual(self.node.node.ask("ping", seconds=20), "pong")

    def writer(self, mode, output=None, **settings):
        return Writer(self.node.node, output or self.dump, *MODES[mode], **settings)

    def assert_done(self, writer, *statuses, seconds=60):
        self.assertIn(writer.ended(seconds), statuses or DONE, writer.told)

    def assert_kept(self, mode="live"):
        """Checks that the dump opens and has processes with their memory; after one short stop only some."""
        totals = tools.analyze_json("summary", self.dump)["counts"]
        self.assertGreater(totals["processes"], 1000)
        if mode != "freeze, 50 ms":
            self.assertLess(totals["processes_void"], 100)

    def assert_refused_or_live(self, writer, mode, sentence):
        """The node cannot be stopped: live copies are kept, other modes give the reason."""
        if mode in ("live", "auto"):
            self.assert_done(writer)
            self.assert_kept()
            if mode == "auto" and writer.process.returncode == 3:
                self.assertRegex(writer.told, sentence)
        else:
            self.assert_done(writer, 1)
            self.assertRegex(writer.told, rf"\Abeamdump-capture: [^\n]*{sentence}[^\n]*\n\Z")
        return f"status {writer.process.returncode}"

    def in_a_hold(self, mode, do):
        """Calls do(writer) while the node is stopped; in live mode, which never stops it, at any time."""
        for _ in range(HOLD_TRIES):
            with self.writer(mode) as writer:
                if mode == "live":
                    time.sleep(0.05)
                if mode == "live" or writer.wait_for_hold(self.node):
                    return do(writer)
            self.node.feeling.reset()
        self.fail("the node was never seen held")


class FaultMatrix(Cells):
    def test_uninterruptible_sleep(self):
        def do(mode):
            with self.node.hanging(), self.writer(mode) as writer:
                return self.assert_refused_or_live(
                    writer, mode, "did not stop within .* uninterruptible sleep")
        self.cells("uninterruptible sleep", do)

    def test_blocking_flush(self):
        directory = self.scratch / "slow"
        directory.mkdir()
        slow = slow_files.SlowFile(directory, "never")
        self.addCleanup(slow.end)
        self.node.node.ask(f"faults hold {slow.path}")
        slow.hide()
        flushes = slow.flushes

        def do(mode):
            with self.writer(mode) as writer:
                self.assert_done(writer)
            self.assert_kept(mode)
            self.assertEqual(slow.flushes, flushes, "a flush of the node's file")
            return f"status {writer.process.returncode}"
        self.cells("a flush that blocks", do)
        slow.end()
        self.node.node.ask("faults let_go")

    def test_another_tracer(self):
        def do(mode):
            with traced_by_strace(self.node.pid) as tracer, self.writer(mode) as writer:
                told = self.assert_refused_or_live(
                    writer, mode, rf"is traced by process {tracer} \(strace\)")
            self.assertNotIn("the attempt stopped", writer.told)
            if writer.process.returncode != 1:
                self.assertIn("the node was not stopped", writer.told)
            return told
        self.cells("another tracer", do)

    def stop_and_continue(self, number, *statuses):
        def do(writer):
            writer.send(number)
            # In this order: a writer that the guardian woke to end its hold stops again after it, and a
            # SIGCONT before that is lost.
            wait_for(lambda: not self.node.is_held() and state_of(writer.pid) == "T",
                     "a node that runs and a stopped writer")
            writer.send(signal.SIGCONT)
            self.assert_done(writer, *statuses)
            return f"status {writer.process.returncode}"
        return do

    def test_ctrl_z(self):
        self.cells("Ctrl-Z", lambda mode: self.in_a_hold(
            mode, self.stop_and_continue(signal.SIGTSTP)))

    def test_sigstop(self):
        # If it is stopped while it stops the node, no time is left: status 1 in modes with one stop.
        self.cells("SIGSTOP to the writer", lambda mode: self.in_a_hold(
            mode, self.stop_and_continue(signal.SIGSTOP, *DONE, 1)))

    def test_killed_writer(self):
        def do(writer):
            writer.send(signal.SIGKILL)
            self.assert_done(writer, -signal.SIGKILL)
            return "killed"
        self.cells("SIGKILL to the writer", lambda mode: self.in_a_hold(mode, do))

    def test_killed_guardian(self):
        def do(writer):
            if writer.guardian():  # or it has ended already
                os.kill(writer.guardian(), signal.SIGKILL)
            self.assert_done(writer)
            return f"status {writer.process.returncode}"
        self.cells("SIGKILL to the guardian", lambda mode: self.in_a_hold(mode, do))

    def test_killed_guardian_before_a_stop(self):
        def do(mode):
            with self.writer(mode) as writer:
                wait_for(writer.guardian, "a guardian")
                os.kill(writer.guardian(), signal.SIGKILL)
                return self.assert_refused_or_live(
                    writer, mode, "guardian process .* was killed")
        self.cells("no guardian", do)

    def test_stopped_node(self):
        def do(writer):
            os.kill(self.node.pid, signal.SIGSTOP)
            time.sleep(0.2)
            os.kill(self.node.pid, signal.SIGCONT)
            self.assert_done(writer)
            return f"status {writer.process.returncode}"
        self.cells("SIGSTOP to the node", lambda mode: self.in_a_hold(mode, do))

    def test_signals(self):
        def do(mode):
            with SignalStream(self.node) as stream, self.writer(mode) as writer:
                self.assert_done(writer)
            self.assertEqual(stream.handled(), stream.sent)
            return f"{stream.sent} signals"
        self.cells("SIGUSR2 to the node", do)

    def test_stalled_output(self):
        def do(mode):
            with stalled_pipe() as (reader, pipe), self.writer(mode, "-", stdout=pipe) as writer:
                pipe.close()
                time.sleep(0.6)
                self.assertFalse(self.node.is_held())
                self.assertTrue(writer.running())
                # It continues when somebody reads.
                self.dump.write_bytes(reader.readall())
                self.assert_done(writer)
            tools.expect(tools.analyze("summary", self.dump), *DONE)
            return f"status {writer.process.returncode}"
        self.cells("stalled output", do)

    def test_interrupt_with_stalled_output(self):
        def do(mode):
            with stalled_pipe() as (_, pipe), self.writer(mode, "-", stdout=pipe) as writer:
                pipe.close()
                time.sleep(0.5)
                begin = time.monotonic()
                writer.send(signal.SIGINT)
                self.assert_done(writer, 1)
                self.assertLess(time.monotonic() - begin, 2)
                self.assertRegex(writer.told, "interrupted while the output is blocked")
            return "interrupted"
        self.cells("SIGINT, stalled output", do)

    def test_cpu_quota(self):
        with cpu_quota(QUOTA_PERCENT) as wrapper:
            if wrapper is None:
                self.skipTest("no cgroup with a quota can be made here")

            def do(mode):
                with self.writer(mode, wrapper=wrapper) as writer:
                    self.assert_done(writer, *DONE, 1, *KILLED[mode], seconds=QUOTA_SECONDS)
                if writer.process.returncode < 0:
                    self.assertIn("killed by its guardian process", writer.told)
                return f"status {writer.process.returncode}"
            # Live mode stops nothing, and a capture under a quota can take a minute.
            self.cells(QUOTA, do, [mode for mode in MODES if mode != "live"])


class FilteredMatrix(Cells):
    """On a node with a filter that kills it for making a process."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["BEAMDUMP_FILTERED_NIF"] = str(build_nif(pathlib.Path(scratch), "filtered"))
            super().setUpClass()
            cls.node.node.ask("faults filter")
            del os.environ["BEAMDUMP_FILTERED_NIF"]

    def test_a_filter_that_kills(self):
        def do(mode):
            with self.writer(mode) as writer:
                if mode == "snapshot":
                    return self.assert_refused_or_live(writer, mode, r"\(Seccomp: 2\)")
                self.assert_done(writer)
                self.assert_kept(mode)
            return f"status {writer.process.returncode}"
        self.cells("a filter that kills", do)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""beamdump-sample stacks: what the schedulers of a running node run, and every process's stack, is
what the node itself says; no stack of a node under full load contradicts itself.

BEAMDUMP_STACKS is how many stacks of busy workers are checked without a stop (50; soak: 1,000), and
for each two of them one in each other mode."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
from unittest import mock

from support import schemas, tools
from support.nif import build_nif
from support.node import start_workload
from support.paths import SAMPLE
from support.release import RELEASE

STACKS = int(os.environ.get("BEAMDUMP_STACKS", "50"))
MOST_RUNS = 40 * STACKS
WAITS = 12
# On a busy machine threads may need longer to stand than by default.
IN_A_STOP = ("--stop", "--max-pause", "1000")
CROWD = 300_000
DONE, INCOMPLETE = 0, 3
LABELS = int(RELEASE) >= 27
# What pause() of the C library is called there.
WAITS_IN = "pause"


def stacks(node, *options):
    """The answer as JSON, valid by its schema; and the exit status."""
    ended = tools.expect(tools.run_measured([SAMPLE, "stacks", "--json", *options, node.pid]),
                         DONE, INCOMPLETE)
    answer = tools.parse(ended)
    schemas.validate(answer, "stacks")
    return answer, ended


def shown(answer):
    return [scheduler["process"] for scheduler in answer["schedulers"]
            if "frames" in scheduler.get("process", {})]


def contradiction(frames):
    """Why these cannot be the frames of a worker of sampled.erl; nothing if they can."""
    own = [frame for frame in frames if frame.startswith("sampled:")]
    if frames[len(frames) - len(own):] != own:
        return "other functions below its own"
    if not own or own[-1] != "sampled:loop/1":
        return "it does not begin with loop/1"
    depths = own[:-1]
    if depths and depths[0] == "sampled:leaf/2":
        depths = depths[1:]
        if not depths:
            return "leaf/2 without a caller"
    for depth, frame in enumerate(reversed(depths), 1):
        if not re.fullmatch(rf"sampled:[ab]{depth}/2", frame):
            return f"{frame} at depth {depth}"
    return None


class Busy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # More schedulers than processors: more stacks a run.
        with mock.patch.dict(os.environ, {"ERL_FLAGS": "+S 4:4"}):
            cls.node = start_workload("sampled", 4)
        cls.addClassCleanup(cls.node.stop)

    def check(self, enough, *options):
        """Checks the stacks of workers until there were enough of them."""
        checked, missed, whole = 0, {}, 0
        for run in range(MOST_RUNS):
            if checked >= enough:
                break
            answer, _ = stacks(self.node, *options)
            found = [process for process in shown(answer) + answer.get("processes", [])
                     if process["initial_call"] == "sampled:loop/1"]
            for process in found:
                self.assertIsNone(contradiction(process["frames"]), process)
                self.assertFalse(process["more_frames"])
                whole += len(process["frames"]) > 2
            checked += len(found)
            for reason, count in answer["not_shown"].items():
                missed[reason] = missed.get(reason, 0) + count
        print(f"{' '.join(options) or 'without a stop'}: {checked} stacks of workers in {run} runs, "
              f"{whole} deeper than two frames, not shown: {missed}", flush=True)
        self.assertGreaterEqual(checked, enough)
        self.assertGreater(whole, checked / 4)
        self.assertEqual(self.node.ask("ping"), "pong")

    def test_without_a_stop(self):
        self.check(STACKS)

    def test_in_a_stop(self):
        self.check(STACKS // 2, *IN_A_STOP)

    def test_all(self):
        self.check(STACKS // 2, "--all")

    def test_waiting(self):
        """A process that waits has the frames that the node tells, deeper than the node tells."""
        for options in (("--all",), ("--all", *IN_A_STOP)):
            answer, _ = stacks(self.node, *options)
            found = {process.get("registered_name"): process for process in answer["processes"]}
            waiter = found["sampled_waiter"]
            self.assertEqual(waiter["frames"],
                             ["sampled:deeper/2"] * (WAITS + 1) + ["sampled:waiter/1"])
            self.assertEqual(waiter["initial_call"], "sampled:waiter/1")
            self.assertEqual(waiter["status"], "waiting")
            for name in ("sampled_waiter", "sampled_labelled"):
                self.assertEqual(found[name]["frames"], self.node.ask(f"sampled stack {name}").split())
            labelled = found["sampled_labelled"]
            self.assertEqual(labelled["initial_call"], "sampled:labelled/0")
            self.assertEqual(labelled.get("label"), '{worker,"north",7}' if LABELS else None)
            self.assertEqual("stopped_ns" in answer, "--stop" in options)
            self.assertEqual({process["proof"] for process in (waiter, labelled)},
                             {"stopped" if "--stop" in options else "unchanged"})

    def test_few_frames(self):
        answer, _ = stacks(self.node, "--all", "--frames", "3")
        waiter = next(process for process in answer["processes"]
                      if process.get("registered_name") == "sampled_waiter")
        self.assertEqual(waiter["frames"], ["sampled:deeper/2"] * 4)
        self.assertTrue(waiter["more_frames"])

    def test_text(self):
        ended = tools.expect(tools.run_measured([SAMPLE, "stacks", "--all", self.node.pid]),
                             DONE, INCOMPLETE)
        self.assertIn("sampled_waiter (sampled:waiter/1), waiting\n    sampled:deeper/2\n",
                      ended.output)
        self.assertIn("the node was not stopped", ended.output)


class Forbidden(unittest.TestCase):
    def test_without_perf_events(self):
        """What runs Erlang code is shown at a pause, or not at all; the message says so."""
        node = start_workload("sampled", 2)
        self.addCleanup(node.stop)
        checked = 0
        for _ in range(5):
            ended = subprocess.run([SAMPLE, "stacks", "--all", "--json", str(node.pid)],
                                   stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                   preexec_fn=tools.without_perf_events)
            self.assertIn(ended.returncode, (DONE, INCOMPLETE), ended.stderr)
            self.assertIn("sampling by perf events is forbidden", ended.stderr)
            answer = json.loads(ended.stdout)
            schemas.validate(answer, "stacks")
            for process in shown(answer) + answer["processes"]:
                self.assertNotEqual(process["proof"], "sampled")
                if process["initial_call"] == "sampled:loop/1":
                    self.assertIsNone(contradiction(process["frames"]), process)
                    checked += 1
        print(f"{checked} stacks of workers without perf events", flush=True)
        self.assertGreater(checked, 0)


class FramePointers(unittest.TestCase):
    def test_frame_pointers(self):
        """Frame pointers stand between the return addresses."""
        with mock.patch.dict(os.environ, {"ERL_FLAGS": "+JPperf true"}):
            node = start_workload("sampled", 2)
        self.addCleanup(node.stop)
        checked = 0
        while checked < STACKS / 5:
            answer, _ = stacks(node, "--all")
            for process in shown(answer) + answer["processes"]:
                if process["initial_call"] == "sampled:loop/1":
                    self.assertIsNone(contradiction(process["frames"]), process)
                    checked += 1


class Lost(unittest.TestCase):
    """Nodes of which a scheduler, or all, never come back."""

    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def started(self):
        node = start_workload("wedged", 0.1)
        self.addCleanup(node.stop)
        return node

    def lost(self, call):
        os.environ["BEAMDUMP_WEDGED_NIF"] = str(build_nif(self.scratch, "wedged"))
        self.addCleanup(os.environ.pop, "BEAMDUMP_WEDGED_NIF")
        node = self.started()
        self.assertEqual(node.ask(f"wedged {call}"), "ok")
        return node

    def find(self, node, name, *options):
        """The scheduler that runs the process of that name, once one does."""
        for _ in range(100):
            answer, ended = stacks(node, *options)
            for scheduler in answer["schedulers"]:
                process = scheduler.get("process", {})
                if "frames" in process and process.get("registered_name") == name:
                    return scheduler
            time.sleep(0.05)
        self.fail(f"{name} was not shown: {answer}\n{ended.diagnostics}")

    def called(self, scheduler, call, kind="normal"):
        frames = scheduler["process"]["frames"]
        self.assertEqual(frames[0], f"wedged:{call}/0")
        self.assertRegex(frames[1], r"^wedged:'-tell/1-fun-\d+-'/1$")
        self.assertEqual(len(frames), 2)
        self.assertEqual(scheduler["kind"], kind)

    def native(self, scheduler, *innermost):
        """The native frames begin so, and go on to the emulator's own function that called."""
        # A sample may be of a moment in the kernel; newer C libraries wait in a function of their own.
        own = re.compile(r"\[kernel\]|libc\.so\.6\+0x[0-9a-f]+")
        native = list(itertools.dropwhile(own.fullmatch, scheduler["native_frames"]))
        self.assertEqual(native[:len(innermost)], list(innermost), native)
        self.assertGreater(len(native), len(innermost))
        self.assertRegex(native[len(innermost)], r"^(beam_jit_call_nif|call_nif|erts_call_dirty_nif|beam\.smp\+)")
        self.assertFalse(scheduler["more_native_frames"], native)

    def test_a_native_call_that_never_waits(self):
        node = self.lost("spinning")
        for options in ((), IN_A_STOP):
            scheduler = self.find(node, "spinning", *options)
            self.called(scheduler, "spinning")
            self.native(scheduler, "deeper", "spinning_nif")

    def test_a_native_call_that_waits(self):
        node = self.lost("sleeping")
        for options in ((), IN_A_STOP):
            scheduler = self.find(node, "sleeping", *options)
            self.called(scheduler, "sleeping")
            self.native(scheduler, WAITS_IN, "deeper_sleep", "sleeping_nif")

    def test_a_native_call_on_a_dirty_scheduler(self):
        node = self.lost("dirty_sleeping")
        for options in ((), IN_A_STOP):
            scheduler = self.find(node, "dirty_sleeping", *options)
            self.called(scheduler, "dirty_sleeping", "dirty_io")
            self.native(scheduler, WAITS_IN, "deeper_sleep", "sleeping_nif")
        self.assertEqual(node.ask("ping"), "pong")

    def test_a_wedged_node(self):
        """All schedulers wait for one in a native call of some seconds."""
        node = self.started()
        self.assertEqual(node.ask("wedged wedge"), "ok")
        scheduler = self.find(node, "wedging")
        self.assertEqual(scheduler["process"]["frames"][0], "erts_debug:set_internal_state/2")
        if "native_frames" in scheduler:
            self.assertFalse(scheduler["more_native_frames"], scheduler["native_frames"])

    def test_text(self):
        node = self.lost("sleeping")
        self.find(node, "sleeping")
        ended = tools.expect(tools.run_measured([SAMPLE, "stacks", node.pid]), DONE, INCOMPLETE)
        self.assertRegex(ended.output, r"    \[native\] deeper_sleep\n    \[native\] sleeping_nif\n"
                                       r"(    \[native\] .*\n)+    wedged:sleeping/0\n")


class Crowd(unittest.TestCase):
    """Too long for every run: see soak in tests/live/CMakeLists.txt."""

    def test_300_000_processes(self):
        with mock.patch.dict(os.environ, {"ERL_FLAGS": f"+P {4 * CROWD}"}):
            node = start_workload("crowd", 1)
        self.addCleanup(node.stop)
        answer, ended = stacks(node, "--all")
        waiting = [process for process in answer["processes"]
                   if process["initial_call"] == "crowd:waiting/1"]
        print(f"{answer['shown']} stacks in {ended.seconds:.1f} s, peak {ended.peak_kib >> 10} MiB, "
              f"not shown: {answer['not_shown']}", flush=True)
        self.assertEqual(len(waiting), CROWD)
        self.assertEqual({tuple(process["frames"]) for process in waiting}, {("crowd:waiting/1",)})
        self.assertLess(ended.peak_kib, 128 << 10)


if __name__ == "__main__":
    unittest.main()

"""beamdump-sample threads: which thread has the mutex that another waits for, what schedulers run, wait
for and spin in is what a NIF was made to do; the threads are those that the kernel lists."""

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

DONE, INCOMPLETE = 0, 3
TRIES = 100


class OfANode(unittest.TestCase):
    """A node, and what is asked about its threads."""

    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        library = build_nif(self.scratch, "threaded")
        self.prepare(library.with_suffix(".so"))
        # A scheduler that is lost leaves others to answer.
        self.enterContext(mock.patch.dict(os.environ, {
            "BEAMDUMP_THREADED_NIF": str(library), "ERL_FLAGS": "+S 4:4 +SDcpu 3:3"}))
        self.node = start_workload("threaded")
        self.addCleanup(self.node.stop)

    def prepare(self, library):
        """Before the node loads the library."""

    def threads(self, *options):
        ended = tools.expect(tools.run_measured([SAMPLE, "threads", "--json", "--duration", "300ms", *options,
                                                 self.node.pid]), DONE, INCOMPLETE)
        answer = tools.parse(ended)
        schemas.validate(answer, "threads")
        return answer

    def until(self, found, *options):
        """The first answer in which something is found, with it: a loaded machine may be slow."""
        for _ in range(TRIES):
            answer = self.threads(*options)
            if one := found(answer):
                return answer, one
            time.sleep(0.1)
        self.fail(f"not found in {TRIES} answers: {answer}")

    def named(self, name, holds):
        return lambda answer: next((one for one in answer["threads"] if one["name"] == name and holds(one)), None)

    def of_process(self, name, holds):
        return lambda answer: next((one for one in answer["threads"]
                                    if one.get("registered_name") == name and holds(one)), None)

    def stack_of(self, answer, thread, on_processor=False):
        stacks = [stack for stack in answer["stacks"] if stack["on_processor"] == on_processor and
                  any(one["thread"] == thread["thread"] for one in stack["threads"])]
        return max(stacks, key=lambda stack: stack["seen"])


class Stripped(OfANode):
    """Of a library whose symbols are in a debug file."""

    def prepare(self, library):
        notes = subprocess.run(["readelf", "-n", library], check=True, capture_output=True, text=True).stdout
        self.build_id = re.search("Build ID: ([0-9a-f]+)", notes)[1]
        self.symbols = self.scratch / "symbols"
        subprocess.run(["objcopy", "--only-keep-debug", library, self.symbols], check=True)
        subprocess.run(["strip", "--strip-all", library], check=True)

    def test_static_functions_have_the_names_of_debug_files(self):
        self.node.ask("threaded burning")
        burner = self.of_process("burning", lambda one: one["samples"] > 0)
        folder = self.scratch / "debug"
        for options, file in (((), None),
                              (("--debug-dir", folder), f".build-id/{self.build_id[:2]}/{self.build_id[2:]}.debug"),
                              (("--debug-dir", folder), f"{self.build_id}/debuginfo")):
            with self.subTest(file):
                if file:
                    (folder / file).parent.mkdir(parents=True)
                    (folder / file).symlink_to(self.symbols)
                answer, thread = self.until(burner, *options)
                frames = self.stack_of(answer, thread, on_processor=True)["native_frames"]
                self.assertEqual("burn" in frames, file is not None, frames)
                self.assertEqual(any(frame.startswith("threaded_nif.so+0x") for frame in frames), file is None,
                                 frames)
                if file:
                    (folder / file).unlink()
        ended = tools.run_measured([SAMPLE, "threads", "--debug-dir", self.scratch / "none", self.node.pid])
        self.assertRegex(tools.expect(ended, 1).diagnostics, "there is no folder .*none with debug files")


class Threads(OfANode):
    def test_kinds_times_and_mutexes(self):
        """On one node, since each needs some time to start."""
        self.check_kinds()
        holder, wanter, mutex, planted = map(int, self.node.ask("threaded threads").split())
        self.check_times()
        self.check_without_perf_events(holder)
        self.check_table_lock()
        self.check_mutexes(holder, wanter, mutex, planted)

    def check_kinds(self):
        answer = self.threads()
        listed = {int(path.name): (path / "comm").read_text().strip()
                  for path in pathlib.Path(f"/proc/{self.node.pid}/task").iterdir()}
        told = {one["thread"]: one["name"] for one in answer["threads"]}
        self.assertEqual(told, listed)
        kinds = {}
        for one in answer["threads"]:
            kinds.setdefault(one["kind"], []).append(one.get("number"))
        self.assertEqual(sorted(kinds["scheduler"]), [1, 2, 3, 4])
        self.assertEqual(sorted(kinds["dirty_cpu"]), [1, 2, 3])
        self.assertEqual(sorted(kinds["dirty_io"]), list(range(1, 11)))
        for kind in ("main", "aux", "poll", "signals", "messages"):
            self.assertEqual(len(kinds[kind]), 1, kinds)
        self.assertNotIn("other", kinds)

    def check_times(self):
        def counted(thread):
            return int(pathlib.Path(f"/proc/{self.node.pid}/task/{thread}/schedstat").read_text().split()[0])
        before = {one["thread"]: counted(one["thread"]) for one in self.threads()["threads"]}
        answer = self.threads()
        for one in answer["threads"]:
            self.assertLessEqual(before[one["thread"]], one["processor_ns"], one)
            self.assertLessEqual(one["processor_ns"], counted(one["thread"]), one)
            self.assertLessEqual(one["ran_ns"], answer["took_ns"] * 1.1, one)
        busiest = max(answer["threads"], key=lambda one: one["ran_ns"])
        self.assertEqual((busiest["name"], busiest["kind"]), ("planted_burner", "other"))

    def check_mutexes(self, holder, wanter, mutex, planted):
        pid = self.node.ask("threaded wanting")
        waits = lambda one: one.get("wait", {}).get("for") == "mutex"
        answer, scheduler = self.until(self.of_process("wanting", waits))
        self.assertEqual(scheduler["pid"], pid)
        self.assertEqual(scheduler["kind"], "scheduler")
        self.assertEqual(scheduler["wait"], {
            "for": "mutex", "call": "futex", "address": hex(planted), "variable": "planted_mutex",
            "owner_thread": holder})
        thread = next(one for one in answer["threads"] if one["thread"] == wanter)
        self.assertEqual((thread["name"], thread["kind"], thread["state"]), ("planted_wanter", "other", "S"))
        self.assertEqual(thread["wait"], {
            "for": "mutex", "call": "futex", "address": hex(mutex), "owner_thread": holder})
        owner = next(one for one in answer["threads"] if one["thread"] == holder)
        self.assertEqual((owner["name"], owner["kind"]), ("planted_holder", "other"))
        self.assertEqual(owner["wait"], {"for": "other", "call": "pause"})
        # Each look found them there, and how they came there.
        self.assertEqual((thread["waits"], thread["ran_ns"]), (thread["looks"], 0))
        self.assertIn("want", self.stack_of(answer, thread)["native_frames"])
        stack = self.stack_of(answer, scheduler)
        self.assertIn("wanting_nif", stack["native_frames"])
        self.assertEqual(stack["native_frames"][-1], "threaded:wanting/0")
        self.assertRegex(stack["frames"][0], "^threaded:'-tell/1-fun")
        text = tools.expect(tools.run_measured([SAMPLE, "threads", "--duration", "100ms", self.node.pid]),
                            DONE, INCOMPLETE).output
        self.assertRegex(text, rf"(?m)^ *{wanter}  planted_wanter +other +S .*  waits for the mutex at {mutex:#x}, "
                               rf"which thread {holder} planted_holder has$")
        self.assertRegex(text, rf"{re.escape(pid)} wanting \(.*\): waits for the mutex at {planted:#x} "
                               rf"\(planted_mutex\), which thread {holder} planted_holder has")

    def check_table_lock(self):
        """One process reads a table of which another one gets the lock only between two reads."""
        owner = self.node.ask("threaded table")
        answer, writer = self.until(self.of_process(
            "threaded_writer", lambda one: one.get("wait", {}).get("for") == "table_lock"))
        self.assertEqual(writer["wait"], {"for": "table_lock", "call": "futex",
                                          "variable": f"threaded_table, owner {owner}"})
        self.assertEqual((writer["kind"], writer["idle"]), ("scheduler", False))

    def test_native_calls_of_schedulers(self):
        # The node may not answer once a scheduler is lost.
        reading, burning = self.node.ask("threaded reading"), self.node.ask("threaded burning")
        answer, burner = self.until(self.of_process("burning", lambda one: one["samples"] > 0))
        self.assertEqual((burner["pid"], burner["kind"], burner["spins"]), (burning, "scheduler", False))
        self.assertNotIn("wait", burner)
        self.assertGreater(burner["ran_ns"], 0)
        stack = self.stack_of(answer, burner, on_processor=True)
        self.assertIn("burn", stack["native_frames"])
        self.assertEqual(stack["native_frames"][-1], "threaded:burning/0")
        _, reader = self.until(self.of_process("reading", lambda one: "wait" in one))
        self.assertEqual((reader["pid"], reader["kind"], reader["idle"]), (reading, "dirty_io", False))
        self.assertEqual((reader["wait"]["for"], reader["wait"]["call"]), ("descriptor", "read"))
        self.assertEqual(reader["wait"]["file"],
                         os.readlink(f"/proc/{self.node.pid}/fd/{reader['wait']['descriptor']}"))
        self.assertRegex(reader["wait"]["file"], r"^pipe:\[\d+\]$")

    def test_a_scheduler_that_spins_without_a_process(self):
        """It runs the destructor of a resource that a timer's message had: for no process."""
        self.assertNotIn(True, [one["spins"] for one in self.threads()["threads"]])
        self.node.ask("threaded timer")
        answer, spins = self.until(lambda answer: next((one for one in answer["threads"] if one["spins"]), None))
        self.assertEqual(spins["kind"], "scheduler")
        self.assertNotIn("pid", spins)
        native = self.stack_of(answer, spins, on_processor=True)["native_frames"]
        self.assertIn("burn", native)
        # The others have nothing to do, or wait for this one.
        self.assertEqual([one["number"] for one in answer["threads"] if one["spins"]], [spins["number"]])

    def check_without_perf_events(self, holder):
        """What threads run is then not known, and is not told as nothing; where they wait is."""
        ended = subprocess.run([SAMPLE, "threads", "--json", "--duration", "100ms", str(self.node.pid)],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               preexec_fn=tools.without_perf_events)
        self.assertEqual(ended.returncode, DONE, ended.stderr)
        self.assertIn("what threads run is not shown", ended.stderr)
        answer = json.loads(ended.stdout)
        schemas.validate(answer, "threads")
        self.assertFalse([one for one in answer["threads"] if one.keys() & {"samples", "spins"}])
        self.assertEqual(next(one for one in answer["threads"] if one["thread"] == holder)["wait"]["call"], "pause")


if __name__ == "__main__":
    unittest.main()

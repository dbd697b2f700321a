"""Nodes as in production: various table sizes and schedulers, the JIT's options, 300,000 processes,
blocking native calls, a node that is terminating. Each is captured, or refused with the reason."""

import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
from unittest import mock

from support import comparison, tools
from support.captured import details, listed
from support.nif import build_nif
from support.node import start_workload
from support.paths import CAPTURE
from support.release import RELEASE
from support.texts import Texts

FLAGS = ("+P 1024", "+P 16777216", "+S 1", "+S 64 +SDcpu 32 +SDio 64",
         "+hms 100000 +hmbs 200000 +hmqd off_heap", "+MMscs 256", "+Mea min")
# Huge pages by allocation of carriers: super carrier or malloc(); otherwise none.
HUGE_PAGES = {"+Mummmbc 0 +Mummsbc 0": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}}
if RELEASE != "25":
    HUGE_PAGES["+MMscs 512 +MMlp on"] = {}
THP = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
# This adds frame pointers, which are not terms.
PERF = "+JPperf true"
CROWD = 300_000
ATTACH_TRIES = 5


def huge_kib(node):
    """Bytes of the node in huge pages."""
    maps = pathlib.Path(f"/proc/{node.pid}/smaps").read_text()
    return sum(map(int, re.findall(r"(?m)^AnonHugePages: +(\d+) kB", maps)))


class Flavours(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.dump = self.scratch / "flavour.beamdump"

    def started(self, workload, flags, scale=1, environment=()):
        with mock.patch.dict(os.environ, {"ERL_FLAGS": flags, **dict(environment)}):
            node = start_workload(workload, scale)
        self.addCleanup(node.stop)
        return node

    def agrees(self, node, what, mode):
        before = node.ask("processes").split()
        tools.capture(node, self.dump, "--force", "--mode", mode)
        found = listed(self.dump)
        result = comparison.compare(found, before, comparison.ask_oracle(node), comparison.LISTED)
        result.print(f"{what}, {mode}")
        result.verify(self)

    def test_emulator_flags(self):
        for flags in FLAGS:
            with self.subTest(flags=flags):
                node = self.started("sample", flags)
                for mode in ("auto", "snapshot"):
                    self.agrees(node, flags, mode)
                node.stop()

    def test_huge_pages(self):
        for flags, environment in HUGE_PAGES.items():
            with self.subTest(flags=flags):
                node = self.started("sample", flags, environment=environment)
                before = huge_kib(node)
                print(f"{flags}: {before} KiB in huge pages", flush=True)
                if THP.exists() and "[never]" not in THP.read_text():
                    self.assertGreater(before, 0)
                else:
                    print("NOT TESTED: this kernel has no huge pages for whoever asks", flush=True)
                for mode in ("auto", "live", "snapshot", "freeze"):
                    self.agrees(node, flags, mode)
                node.stop()

    def test_frame_pointers(self):
        """Frame pointers stand between the terms of stacks, and are printed as the node prints them."""
        node = self.started("sample", PERF)
        self.agrees(node, PERF, "snapshot")
        before = node.ask("processes").split()
        tools.capture(node, self.dump, "--force", "--binary-bytes", "all")
        told = comparison.ask_oracle(node, backtraces=before)
        texts = Texts(self.dump)
        result = comparison.compare(details(self.dump, told), before, told, also=texts)
        result.print(PERF)
        texts.print(PERF)
        result.verify(self)
        self.assertGreater(texts.backtraces, 200)

    def test_a_crowd(self):
        node = self.started("crowd", f"+P {4 * CROWD}")
        seconds = sorted(self.attach_seconds(node) for _ in range(ATTACH_TRIES))
        print(f"{CROWD} processes: attached within {1000 * seconds[ATTACH_TRIES // 2]:.0f} ms "
              f"({1000 * seconds[0]:.0f} to {1000 * seconds[-1]:.0f})", flush=True)
        ended = tools.capture(node, self.dump)
        summary = tools.analyze_json("summary", self.dump)["counts"]
        self.assertGreater(summary["processes"], CROWD)
        print(f"captured in {ended.seconds:.1f} s, peak {ended.peak_kib >> 10} MiB, "
              f"{tools.file_bytes(self.dump) >> 20} MiB", flush=True)
        self.assertLess(ended.peak_kib, 64 << 10)

    def attach_seconds(self, node):
        """Until all tables are found and checked, when the dump's file is made."""
        dump = self.scratch / "attach.beamdump"
        began = time.monotonic()
        with subprocess.Popen([CAPTURE, "--quiet", "--no-heaps", "-o", dump,
                               str(node.pid)]) as capture:
            partial = dump.with_name(dump.name + ".partial")
            while not partial.exists() and capture.poll() is None:
                time.sleep(0.0005)
            seconds = time.monotonic() - began
        self.assertEqual(capture.returncode, 0)
        dump.unlink()
        return seconds

    def test_a_wedged_node(self):
        node = self.started("wedged", "", 0.2)
        self.assertEqual(node.ask("wedged wedge"), "ok")
        time.sleep(1)
        for mode in ("auto", "live", "freeze"):
            tools.capture(node, self.dump, "--force", "--mode", mode)
            found = {process.get("registered_name"): process
                     for process in listed(self.dump).values()}
            self.assertEqual(found["wedging"]["status"], "running")
            self.assertIn("wedging", found)
            self.assertNotIn("void_reason", found["sample_deep"])
        # It was at rest the whole time, and continues.
        self.assertEqual(node.ask("ping"), "pong")

    def test_native_calls_that_never_return(self):
        """Each on a normal scheduler: all processes except the caller are captured, and the caller
        too where its thread was seen to stay in the call."""
        os.environ["BEAMDUMP_WEDGED_NIF"] = str(build_nif(self.scratch, "wedged"))
        self.addCleanup(os.environ.pop, "BEAMDUMP_WEDGED_NIF")
        for call in ("sleeping", "spinning"):
            with self.subTest(call=call):
                self.native_call(call)

    def native_call(self, call):
        node = self.started("wedged", "", 0.2)
        self.assertEqual(node.ask(f"wedged {call}"), "ok")
        time.sleep(1)
        # Processes on the lost scheduler wait for ever, perhaps also the one that answers questions.
        for mode in ("auto", "live", "snapshot", "freeze"):
            ended = tools.run_measured(
                [CAPTURE, "--force", "-o", self.dump, "--mode", mode, node.pid])
            self.assertIn(ended.status, (0, 3), ended.diagnostics)
            print(f"{call}, {mode}: {ended.diagnostics}", flush=True)
            processes = listed(self.dump)
            void = {process.get("registered_name"): process for process in processes.values()
                    if process.get("void_reason")}
            if mode != "live":
                self.assertEqual(void, {})
                caller = [process for process in processes.values()
                          if process.get("registered_name") == call]
                self.assertEqual([process["current_function"] for process in caller],
                                 [f"wedged:{call}/0"])
                backtrace = tools.expect(tools.analyze("backtrace", self.dump, call), 0)
                self.assertIn("wedged:", backtrace.output)
                continue
            self.assertEqual(list(void), [call])
            self.assertEqual(void[call]["void_reason"], "running")
            self.assertEqual(void[call]["current_function"], f"wedged:{call}/0")
            self.assertGreater(len(processes), 90)
            backtrace = tools.analyze("backtrace", self.dump, call)
            self.assertEqual(backtrace.status, 3)
            self.assertIn("was running when it was captured", backtrace.diagnostics)
        self.assertEqual(node.stopped_threads(), [])
        tools.expect(tools.run_measured([CAPTURE, "--check", node.pid]), 0)
        node.stop()

    def test_a_node_that_is_ending(self):
        """The node waits for a process that traps exits: both are captured as usual."""
        node = self.started("wedged", "", 0.2)
        self.assertEqual(node.ask("wedged end"), "ok")
        time.sleep(0.5)
        tools.expect(tools.run_measured([CAPTURE, "--quiet", "-o", self.dump, node.pid]), 0)
        processes = {process.get("registered_name"): process
                     for process in listed(self.dump).values()}
        self.assertEqual(processes["slow_to_end"]["current_function"], "timer:sleep/1")
        self.assertRegex(processes["init"]["current_function"], r"^init:shutdown_loop/\d$")


if __name__ == "__main__":
    unittest.main(verbosity=2)

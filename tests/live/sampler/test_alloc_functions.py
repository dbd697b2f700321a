"""beamdump-sample alloc --function: calls are as many as the node counts, their words are exactly
those that the functions are known to build, also by caller; calls during which the heap is collected,
by BIFs too, are left out; what cannot be counted is refused."""

import json
import subprocess
import time
import unittest

from refused_events import run_without_breakpoints
from support import schemas, tools
from support.node import start_workload
from support.paths import SAMPLE

DONE, FAILED, USAGE, INCOMPLETE = 0, 1, 2, 3
BUILT, TWICE, BY_BIFS = "allocating:built/2", "allocating:twice/1", "allocating:by_bifs/1"
# Words of a call of built/2, by caller, and of twice/1, in thousandths.
WORDS = {"allocating:often/0": 50_000, "allocating:seldom/0": 99_000, TWICE: 48_000}
CALLERS = {"allocating:often/0": 0.75, "allocating:seldom/0": 0.25}


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("allocating", 1)
        cls.addClassCleanup(cls.node.stop)
        cls.node.ask("allocating calls")

    def functions(self, *functions, duration="1s"):
        wanted = [option for function in functions for option in ("--function", function)]
        ended = tools.expect(tools.run_measured(
            [SAMPLE, "alloc", "--json", "--duration", duration, *wanted, self.node.pid]),
            DONE, INCOMPLETE)
        answer = tools.parse(ended)
        schemas.validate(answer, "alloc-functions")
        self.assertEqual([one["function"] for one in answer["functions"]], list(functions))
        return answer

    def test_calls_and_words(self):
        """Calls in the whole time, by the windows, are what the node counts in it. On a busy machine
        windows can be empty: it is asked until enough is known."""
        told = counted = 0
        samples, words = dict.fromkeys(CALLERS, 0), {}
        for _ in range(60):
            before, began = int(self.node.ask("allocating counted")), time.monotonic()
            answer = self.functions(BUILT, TWICE)
            node = (int(self.node.ask("allocating counted")) - before) / (time.monotonic() - began)
            built, twice = answer["functions"]
            seconds = answer["took_ns"] / 1e9
            print(f"{built['calls'] / seconds:.0f} calls a second (+-{built['calls_error'] / seconds:.0f}, "
                  f"{answer['slowed_permille']} permille slowed), the node says {node:.0f}; {built}; {twice}",
                  flush=True)
            self.assertLessEqual(answer["set_ns"], answer["took_ns"])
            told += built["calls"] / seconds
            counted += node
            for caller in built["callers"]:
                samples[caller["function"]] += caller["samples"]
                if "words_of_call" in caller:
                    words[caller["function"]] = caller["words_of_call"]
            if "words_of_call" in twice:
                words[TWICE] = twice["words_of_call"]
            if built.get("words_of_call", {}).get("calls_permille") == 1000:
                # Of all calls: by the numbers of those of the callers.
                of_all = built["words_of_call"]
                self.assertLess(abs(of_all["milliwords"] - 62_250), of_all["milliwords_error"] + 5_000)
            if sum(samples.values()) >= 300 and len(words) == len(WORDS):
                break
        for function, of_call in WORDS.items():
            self.assertEqual((words[function]["milliwords"], words[function]["milliwords_error"]),
                             (of_call, 0), function)
        self.assertGreater(told, 0.5 * counted)
        self.assertLess(told, 1.5 * counted)
        for caller, share in CALLERS.items():
            self.assertAlmostEqual(samples[caller] / sum(samples.values()), share, delta=0.1)

    def test_collected(self):
        """In a new process each of two BIFs collects the heap: no call's words are known."""
        collected = 0
        for _ in range(60):
            of_bifs, = self.functions(BY_BIFS)["functions"]
            print(of_bifs, flush=True)
            self.assertEqual(of_bifs["measured"], 0)
            self.assertNotIn("words_of_call", of_bifs)
            collected += of_bifs["collected"]
            if collected >= 5:
                break
        self.assertGreaterEqual(collected, 5)

    def test_not_called(self):
        never, = self.functions("lists:keymap/3", duration="300ms")["functions"]
        self.assertEqual((never["counted"], never["calls"], never["callers"]), (0, 0, []))
        self.assertGreater(never["calls_error"], 0)

    def said(self, *options, preexec_fn=None):
        ended = subprocess.run([SAMPLE, "alloc", "--duration", "300ms", *options, str(self.node.pid)],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               preexec_fn=preexec_fn)
        return ended.returncode, ended.stdout, ended.stderr

    def test_text(self):
        status, text, _ = self.said("--function", BUILT)
        self.assertIn(status, (DONE, INCOMPLETE))
        self.assertRegex(text, rf"\n *(>= )?[0-9.]+ +[0-9.]+ +[0-9]+ .* {BUILT}\n")

    def test_refused(self):
        def refused(status, text, *options, **how):
            ended, output, diagnostics = self.said(*options, **how)
            self.assertEqual((ended, output), (status, ""), diagnostics)
            self.assertRegex(diagnostics, r"\Abeamdump-sample: [^\n]*\n\Z")
            self.assertIn(text, diagnostics)
        refused(FAILED, "erlang:send/2 is a BIF", "--function", "erlang:send/2")
        refused(FAILED, "the module has no such function", "--function", "lists:map/9")
        refused(FAILED, "the module is not loaded", "--function", "no_such_module:map/2")
        refused(USAGE, "not module:function/arity", "--function", "map/2")
        refused(USAGE, "there twice", "--function", "lists:map/2", "--function", "lists:map/2")
        refused(USAGE, "4 functions, not for 5",
                *(word for at in range(5) for word in ("--function", f"lists:map/{at}")))
        refused(USAGE, "excludes", "--function", BUILT, "--stacks")
        refused(FAILED, "sampling by perf events is forbidden", "--function", BUILT,
                preexec_fn=tools.without_perf_events)

    def test_no_breakpoints(self):
        """On a processor, or in a virtual machine, without them."""
        for command in (["alloc", "--function", BUILT], ["blame", "--exact", "--native", "<garbage_collect>"]):
            ended, refused = run_without_breakpoints([SAMPLE, *command, "--duration", "1s", self.node.pid])
            self.assertEqual((ended.returncode, ended.stdout), (FAILED, ""), ended.stderr)
            self.assertRegex(ended.stderr, r"\Abeamdump-sample: this kernel, or the virtual machine that it "
                                           r"runs in, has no breakpoints of the processor[^\n]*\n\Z")
            self.assertGreater(refused, 0)
        # Shares of words need none.
        ended, refused = run_without_breakpoints(
            [SAMPLE, "alloc", "--json", "--duration", "3s", self.node.pid])
        self.assertIn(ended.returncode, (DONE, INCOMPLETE), ended.stderr)
        self.assertGreater(refused, 0)
        answer = json.loads(ended.stdout)
        schemas.validate(answer, "alloc")
        self.assertNotIn("collections", answer)
        self.assertEqual(answer["held_up_samples"], 0)
        self.assertGreater(answer["words"], 0)
        self.assertIn("not all collections are seen: this kernel", " ".join(answer["remarks"]))

    def test_no_breakpoint_left(self):
        """While another one has all of the processor's breakpoints; they are free when it is killed."""
        functions = [BUILT, TWICE, BY_BIFS, "allocating:called/1"]
        running = subprocess.Popen(
            [SAMPLE, "alloc", "--duration", "1h", str(self.node.pid),
             *(word for function in functions for word in ("--function", function))],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        tools.wait_for_perf_events(self, running, len(functions))
        for _ in range(100):
            status, _, text = self.said("--function", "lists:map/2")
            if status == FAILED:
                break
        self.assertRegex(text, r"\Abeamdump-sample: thread [0-9]+ has no breakpoint left: [^\n]*\n\Z")
        running.kill()
        running.wait()
        self.functions(*functions)
        self.assertEqual(self.node.ask("ping"), "pong")


if __name__ == "__main__":
    unittest.main()

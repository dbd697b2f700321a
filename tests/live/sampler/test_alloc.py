"""beamdump-sample alloc: shares of words are those that functions are known to allocate, and those
of the node's own call_memory tracing; words of messages are not their receiver's; by stack, those of
each caller of one function; collections are counted, after BIFs too; nothing is left.

Bursts are sampled until BEAMDUMP_INTERVALS of them are known (2,400), however busy the machine is."""

import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from support import schemas, tools
from support.node import start_workload
from support.paths import SAMPLE
from support.release import RELEASE

INTERVALS = int(os.environ.get("BEAMDUMP_INTERVALS", "2400"))
POINTS = 5
KINDS_INTERVALS = 300
# In the soak: on a busy machine a run lasts long.
KINDS_RUNS = int(os.environ.get("BEAMDUMP_KINDS_RUNS", "0"))
# 3 ms with 30,000 a second, and one more.
BURST_SAMPLES = 91
DONE, FAILED, WRONG, INCOMPLETE = 0, 1, 2, 3
LISTING = "allocating:listing/2"
# What the workload's rounds allocate.
WORDS = {"listing": 2 * 30000, "pairing": 5 * 4000, "few": 2 * 1000, "spinning": 0}

# What one function allocates for each of two callers, in the rounds for callers.
CALLERS = {"much": 2 * 30000, "little": 2 * 10000}


def shares(words):
    total = sum(words.values())
    return {function: 100 * of / total for function, of in words.items()}


class Alloc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("allocating", 1)
        cls.addClassCleanup(cls.node.stop)
        tasks = pathlib.Path(f"/proc/{cls.node.pid}/task")
        cls.schedulers = sum(bool(re.fullmatch(r"erts_sched_[0-9]+|[0-9]+_scheduler",
                                               (task / "comm").read_text().strip()))
                             for task in tasks.iterdir())

    def alloc(self, duration, *options):
        ended = tools.expect(tools.run_measured(
            [SAMPLE, "alloc", "--json", "--duration", duration, *options, self.node.pid]),
            DONE, INCOMPLETE)
        answer = tools.parse(ended)
        schemas.validate(answer, "alloc")
        self.assertLessEqual(answer["certain_words"], answer["words"])
        # Each function's words are rounded.
        self.assertLessEqual(abs(sum(one["words"] for one in answer["functions"]) - answer["words"]),
                             len(answer["functions"]))
        # The kernel ends a burst, also if the program is late.
        self.assertLessEqual(answer["function_samples"] + answer["held_up_samples"],
                             answer["bursts"] * BURST_SAMPLES * self.schedulers)
        self.assertEqual(sum(one["collections"] for one in answer["functions"]),
                         answer["collections"])
        for one in answer["functions"]:
            self.assertLessEqual(one["certain_words"], one["words"] + 1)
        self.assertEqual("stacks" in answer, "--stacks" in options)
        return answer

    def test_shares(self):
        self.node.ask("allocating functions")
        words, errors = dict.fromkeys(WORDS, 0), dict.fromkeys(WORDS, 0)
        seen = all_words = intervals = collections = 0
        while intervals < INTERVALS:
            answer = self.alloc("2s")
            intervals += answer["intervals"]
            all_words += answer["words"]
            for one in answer["functions"]:
                module, function = one["function"].split("/")[0].split(":")
                collections += one["collections"] if module == "allocating" else 0
                if module == "allocating" and function in words:
                    words[function] += one["words"]
                    errors[function] += one["words_error"]
                    seen += one["words"]
        known, found = shares(WORDS), shares(words)
        print(f"{intervals} intervals, {all_words} words, {collections} collections", flush=True)
        traced = {}
        if int(RELEASE) >= 27:
            told = self.node.ask("allocating words", seconds=60).split()
            traced = shares(dict(zip(told[::2], map(int, told[1::2]))))
        for function, share in found.items():
            # The error that it states itself is of chance, and comes on top.
            points = POINTS + 100 * errors[function] / all_words
            print(f"{function:8} {share:5.1f}% (within {points:.1f}), known {known[function]:5.1f}%, by call_memory "
                  f"{traced.get(function, 'not in this release')}", flush=True)
            self.assertAlmostEqual(share, known[function], delta=points)
            if traced:
                self.assertAlmostEqual(share, traced[function], delta=points)
        # The rest is of the functions that call these, and of other processes.
        self.assertGreater(seen, 0.95 * all_words)
        self.assertGreater(collections, 10)

    def test_recursion(self):
        """Words of calls that are nested, built as they return: six times those of a loop. Collections
        are where the stack needs room."""
        self.node.ask("allocating recursion")
        words, intervals, error, all_words = {"nesting": 0, "listing": 0}, 0, 0, 0
        while intervals < INTERVALS / 4:
            answer = self.alloc("2s")
            intervals += answer["intervals"]
            all_words += answer["words"]
            # A heap that grows into what was the stack was not collected.
            self.assertLess(answer["unusable_intervals"], max(20, answer["intervals"]))
            for one in answer["functions"]:
                function = one["function"].split("/")[0].split(":")[1]
                if function in words:
                    words[function] += one["words"]
                    error += one["words_error"] if function == "nesting" else 0
        # What is made up for beside collections is in the error, which has to hold by itself.
        share, points = shares(words)["nesting"], 100 * error / all_words
        print(f"{intervals} intervals, nesting {share:.1f}% (within {points:.1f}), known 85.7%", flush=True)
        self.assertAlmostEqual(share, 600 / 7, delta=points)

    @unittest.skipUnless(KINDS_RUNS, "BEAMDUMP_KINDS_RUNS: how many runs")
    def test_kinds(self):
        """Of functions that build lists, by nested calls and in a loop, tuples, funs, binaries and maps: each is within
        the error that is stated with it, against the words that the node counts on a heap."""
        told = self.node.ask("allocating known").split()
        known = shares(dict(zip(told[::2], map(int, told[1::2]))))
        self.node.ask("allocating kinds")
        beyond = 0
        for _ in range(KINDS_RUNS):
            answer = self.seen_enough()
            found = {one["function"].split("/")[0].split(":")[1]: one for one in answer["functions"]
                     if one["function"].startswith("allocating:")}
            told = []
            for function, share in known.items():
                words, error = (100 * found.get(function, {}).get(what, 0) / answer["words"]
                                for what in ("words", "words_error"))
                told.append(f"{function} {words:.1f}% (within {error:.1f}), known {share:.1f}%")
                beyond += abs(words - share) > error
            print(f"{answer['intervals']} intervals: {', '.join(told)}", flush=True)
        self.assertLessEqual(beyond, KINDS_RUNS * len(known) // 10)

    def seen_enough(self):
        """An answer of so many intervals that each function is in some, however busy the machine is."""
        for seconds in (5, 10, 20, 40, 80):
            answer = self.alloc(f"{seconds}s")
            if answer["intervals"] >= KINDS_INTERVALS:
                break
        return answer

    def test_messages(self):
        """Words of messages that arrive while a process waits are not its functions'."""
        self.node.ask("allocating messages")
        words = {"sending": 0, "receiving": 0}
        error = all_words = scheduled_out = intervals = 0
        while intervals < INTERVALS / 4:
            answer = self.alloc("2s")
            intervals += answer["intervals"]
            all_words += answer["words"]
            scheduled_out += answer["scheduled_out_words"]
            for one in answer["functions"]:
                module, function = one["function"].split("/")[0].split(":")
                if module == "allocating" and function in words:
                    words[function] += one["words"]
                    error += one["words_error"]
        share = shares(words)["receiving"]
        points = POINTS + 100 * error / all_words
        print(f"receiving {share:.1f}% (within {points:.1f}), known 50.0%; of intervals in which the process "
              f"was scheduled out {100 * scheduled_out / all_words:.1f}%", flush=True)
        self.assertAlmostEqual(share, 50, delta=points)

    def test_collections_after_bifs(self):
        """Those of a process with a small heap, for which BIFs build lists. The time that their
        breakpoints take is no function's."""
        self.node.ask("allocating calls")
        held_up = 0
        for _ in range(30):
            answer = self.alloc("1s")
            held_up += answer["held_up_samples"]
            found = {one["function"]: one["collections"] for one in answer["functions"]}
            if found.get("allocating:by_bifs/1") and held_up:
                return
        self.fail((found, held_up))

    def test_stacks(self):
        self.node.ask("allocating callers")
        words, certain = dict.fromkeys(CALLERS, 0), dict.fromkeys(CALLERS, 0)
        errors = dict.fromkeys(CALLERS, 0)
        of_function = not_known = intervals = 0
        while intervals < INTERVALS / 4:
            answer = self.alloc("2s", "--stacks")
            intervals += answer["intervals"]
            by_function = dict.fromkeys((one["function"] for one in answer["functions"]), 0)
            for stack in answer["stacks"]:
                self.assertLessEqual(stack["certain_words"], stack["words"] + 1)
                by_function[stack["frames"][-1]] += stack["words"]
                if stack["frames"][-1] != LISTING:
                    continue
                if stack["frames"][0] == "(callers not known)":
                    not_known += stack["words"]
                    continue
                # All of it, from the process's first function on.
                self.assertEqual(stack["frames"][0], "allocating:rounds_of_work/0")
                self.assertEqual(len(stack["frames"]), 3)
                caller = stack["frames"][1].split(":")[1].split("/")[0]
                words[caller] += stack["words"]
                certain[caller] += stack["certain_words"]
                errors[caller] += stack["words_error"]
            # Words of a function's stacks are its words; each number is rounded.
            for one in answer["functions"]:
                self.assertAlmostEqual(by_function[one["function"]], one["words"],
                                       delta=len(answer["stacks"]) + 1)
                of_function += one["words"] if one["function"] == LISTING else 0
        known, found = shares(CALLERS), shares(words)
        print(f"{intervals} intervals, {of_function} words, {100 * not_known / of_function:.1f}% without "
              f"callers; {100 * sum(certain.values()) / sum(words.values()):.1f}% certain", flush=True)
        for caller, share in found.items():
            points = POINTS + 100 * errors[caller] / of_function
            print(f"{caller:8} {share:5.1f}% (within {points:.1f}), known {known[caller]:5.1f}%", flush=True)
            self.assertAlmostEqual(share, known[caller], delta=points)
        self.assertLess(not_known, 0.1 * of_function)

    def shows(self, pattern, *options):
        """Where the node was held up for so long that nothing was seen it is looked at again."""
        for _ in range(30):
            ended = subprocess.run([SAMPLE, "alloc", "--duration", "1s", *options, str(self.node.pid)],
                                   stdin=subprocess.DEVNULL, capture_output=True)
            self.assertIn(ended.returncode, (DONE, INCOMPLETE), ended.stderr)
            output = gzip.decompress(ended.stdout) if "pprof" in options else ended.stdout
            if re.search(pattern, output.decode(errors="replace")):
                return output.decode(errors="replace")
        self.fail(f"no {pattern} in {output}")

    def test_formats(self):
        self.node.ask("allocating callers")
        self.shows(rf"(?m)^allocating:rounds_of_work/0;allocating:much/1;{LISTING} [1-9][0-9]*$",
                   "--format", "folded")
        shown = json.loads(self.shows(LISTING, "--format", "speedscope"))
        self.assertEqual(sum(shown["profiles"][0]["weights"]), shown["profiles"][0]["endValue"])
        self.assertIn("words", self.shows(LISTING, "--format", "pprof"))
        tools.expect(tools.run_measured([SAMPLE, "alloc", "--json", "--format", "folded",
                                         self.node.pid]), WRONG)

    def test_text_and_refusals(self):
        self.node.ask("allocating functions")
        self.assertNotIn("\nStacks\n", self.shows(rf"(?m)  {LISTING}$"))
        self.shows(rf"\nStacks\n( .*\n)* *[0-9.]+%  {LISTING}\n +allocating:list/1\n +allocating:rounds_of_work/0\n",
                   "--stacks")
        tools.expect(tools.run_measured([SAMPLE, "alloc", "--rate", "60001", self.node.pid]), WRONG)
        ended = subprocess.run([SAMPLE, "alloc", str(self.node.pid)], stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, preexec_fn=tools.without_perf_events)
        self.assertEqual(ended.returncode, FAILED)
        self.assertRegex(ended.stderr, r"\Abeamdump-sample: sampling by perf events is forbidden: a seccomp filter [^\n]*\n\Z")

    def test_ended(self):
        """By Ctrl-C it shows what it has; killed, it leaves no breakpoint."""
        for how in (signal.SIGINT, signal.SIGKILL):
            running = subprocess.Popen([SAMPLE, "alloc", "--json", "--duration", "1h",
                                        str(self.node.pid)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE)
            tools.wait_for_perf_events(self, running, 2)
            running.send_signal(how)
            output = running.communicate()[0]
            self.assertEqual(running.returncode, DONE if how == signal.SIGINT else -how)
            if how == signal.SIGINT:
                self.assertIn(b"beamdump.alloc/1", output)
        self.assertGreater(self.alloc("500ms")["collections"], 0)
        self.assertEqual(self.node.ask("ping"), "pong")


if __name__ == "__main__":
    unittest.main()

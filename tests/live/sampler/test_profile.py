"""beamdump-sample profile: shares of functions are those that the workload measures itself; the
account adds up; exports agree; without perf events; nothing is left of one that is killed.

Samples are taken until there are BEAMDUMP_SAMPLES of the worker (3,000: the standard error of a
share is then at most 0.9 points), however busy the machine is."""

import gzip
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from profiles import PARTS, add_counts, by_part, check_sums, spent
from support import schemas, tools
from support.nif import build_nif
from support.node import start_workload
from support.paths import SAMPLE
from support.watched import eventually

SAMPLES = int(os.environ.get("BEAMDUMP_SAMPLES", "3000"))
POINTS = 5
RATE = 1500
STOPS_RATE = 250  # a stop takes some 0.2 ms
DONE, INCOMPLETE = 0, 3
NO_PROCESS = ("emulator", "other_thread")
NATIVE = {"unpack": "erlang:tuple_to_list/1", "lookup": "ets:lookup/2"}


def profile(node, *options, duration="1s", rate=RATE, statuses=(DONE, INCOMPLETE)):
    """The answer as JSON, valid by its schema, its sums checked; and what was said."""
    ended = tools.expect(tools.run_measured(
        [SAMPLE, "profile", "--json", "--duration", duration, "--rate", rate, *options, node.pid]),
        *statuses)
    answer = tools.parse(ended)
    schemas.validate(answer, "profile")
    return answer, ended.diagnostics


class Shares(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("profiled", 1)
        cls.addClassCleanup(cls.node.stop)

    def test_shares(self):
        self.compare_shares()

    def test_shares_by_stops(self):
        """Threads stand while they are read: callers are known of nearly all."""
        account = self.compare_shares("--stops", samples=SAMPLES * 2 // 3, rate=STOPS_RATE)
        known = account["exact"] + account.get("all_read_after", 0) + account.get("read_after", 0)
        # Dirty schedulers that have no process, and those that collect, are the others.
        self.assertGreater(known, 0.9 * (known + account.get("function_only", 0)), account)

    def compare_shares(self, *options, samples=SAMPLES, rate=RATE):
        parts = dict.fromkeys(PARTS, 0)
        native = dict.fromkeys(NATIVE, 0)
        told = dict.fromkeys(PARTS, 0)
        account, other, runs = {}, 0, 0
        while sum(parts.values()) < samples:
            before = spent(self, self.node)
            answer, _ = profile(self.node, *options, rate=rate)
            if options:
                self.assertEqual(answer["mode"], "stops")
                self.assertGreater(answer["stops"]["count"], 0)
                # All that are stopped are let go within 20 ms.
                self.assertLess(answer["stops"]["longest_ns"], 25_000_000)
            for part, after in spent(self, self.node).items():
                told[part] += after - before[part]
            check_sums(self, answer)
            runs += 1
            add_counts(account, answer["account"])
            for part, stack in by_part(self, answer):
                if part is None:
                    other += stack["samples"]
                    continue
                parts[part] += stack["samples"]
                if NATIVE.get(part) in stack["frames"]:
                    native[part] += stack["samples"]
        told = {part: 100 * lasted / sum(told.values()) for part, lasted in told.items()}
        total = sum(parts.values())
        shares = {part: 100 * count / total for part, count in parts.items()}
        print(f"{total} samples of parts in {runs} runs, {other} others; {account}", flush=True)
        for part, share in shares.items():
            print(f"{part:8} {share:5.1f}%, by its own clock {told[part]:5.1f}%", flush=True)
        # Comparisons have no function if the program reads too late, as on a busy machine.
        late = 100 * account["process_only"] / (total + account["process_only"])
        for part, share in shares.items():
            self.assertLessEqual(share, told[part] + POINTS, part)
            self.assertGreaterEqual(share, told[part] - POINTS - (late if part == "sort" else 0), part)
        # Nearly all of these parts is one BIF.
        for part, count in native.items():
            print(f"{part}: {100 * count / parts[part]:.1f}% in {NATIVE[part]}", flush=True)
            self.assertGreater(count, 0.8 * parts[part])
        # Outside of the parts are the schedulers' work, and one_round/1 and loop/1 themselves.
        self.assertLess(other, 0.3 * (total + other))
        self.assertGreater(account["exact"], 0.25 * total)
        return account

    def test_groups(self):
        """Each way to group has all samples, and the worker's group is the largest."""
        largest = {"name": "profiled_worker", "initial_call": "profiled:worker/0"}
        for by in ("process", "name", "initial_call", "scheduler", "thread"):
            answer, _ = profile(self.node, "--by", by, duration="300ms")
            check_sums(self, answer)
            self.assertEqual(answer["by"], by)
            self.assertEqual(sum(group["samples"] for group in answer["groups"]), answer["samples"])
            groups = {group["group"]: group for group in answer["groups"]}
            self.assertEqual({stack["frames"][0] for stack in answer["stacks"]}, set(groups))
            if by in largest:
                self.assertIn(largest[by], groups)
                functions = {one["function"] for one in groups[largest[by]]["functions"]}
                self.assertIn("profiled:counting/2", functions)
            if by == "process":
                worker = [name for name in groups if name.endswith("> profiled_worker")]
                self.assertEqual(len(worker), 1, groups.keys())

    def test_formats(self):
        """Other programs' formats, read as these read them; the text has the account."""
        def written(*options):
            ended = subprocess.run(
                [SAMPLE, "profile", "--duration", "300ms", "--rate", str(RATE), *options,
                 str(self.node.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.assertIn(ended.returncode, (DONE, INCOMPLETE))
            return ended.stdout
        folded = written("--format", "folded").decode().splitlines()
        self.assertTrue(any(line.split(" ")[0].split(";")[0] == "profiled:loop/1" and
                            int(line.rsplit(" ", 1)[1]) > 0 for line in folded), folded)
        flame = json.loads(written("--format", "speedscope"))
        self.assertIn("profiled:counting/2", [frame["name"] for frame in flame["shared"]["frames"]])
        weights = flame["profiles"][0]["weights"]
        self.assertEqual(sum(weights), flame["profiles"][0]["endValue"])
        self.assertEqual({weight % (1_000_000_000 // RATE) for weight in weights}, {0})
        self.assertEqual(flame["profiles"][0]["unit"], "nanoseconds")
        self.assertIn(b"profiled:counting/2", gzip.decompress(written("--format", "pprof")))
        text = written().decode()
        self.assertIn("profiled:counting/2", text)
        self.assertIn("exact: function and callers are of the moment", text)

    def test_perf_map(self):
        """perf itself names Erlang functions by the map."""
        perf_map = pathlib.Path(f"/tmp/perf-{self.node.pid}.map")
        self.addCleanup(perf_map.unlink)
        perf_map.write_bytes(subprocess.run([SAMPLE, "perf-map", str(self.node.pid)], check=True,
                                            stdout=subprocess.PIPE).stdout)
        ranges = sorted((int(start, 16), int(size, 16)) for start, size, _ in
                        (line.split(" ", 2) for line in perf_map.read_text().splitlines()))
        self.assertGreater(len(ranges), 5000)
        for (start, size), (following, _) in zip(ranges, ranges[1:]):
            self.assertLessEqual(start + size, following)
        with tempfile.TemporaryDirectory() as scratch:
            data = pathlib.Path(scratch) / "perf.data"
            subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-o", data,
                            "-p", str(self.node.pid), "--", "sleep", "1"], check=True,
                           stdout=subprocess.DEVNULL)
            # perf takes the JIT's memory, which OTP maps twice, for a file, and looks for no map.
            data.write_bytes(data.read_bytes().replace(
                b"/memfd:vmem (deleted)", b"//anon".ljust(len("/memfd:vmem (deleted)"), b"\0")))
            report = subprocess.run(["perf", "report", "-i", data, "--stdio", "-F", "overhead,sym"],
                                    check=True, stdin=subprocess.DEVNULL, capture_output=True,
                                    text=True).stdout
        self.assertRegex(report, r"(?m)^ +\d+\.\d+% +\[\.\] \$profiled:counting/2")

    def test_without_perf_events(self):
        """Where they are forbidden, and where readings are asked for, it says what it shows."""
        for forbidden in (True, False):
            options = [] if forbidden else ["--readings"]
            ended = subprocess.run(
                [SAMPLE, "profile", "--json", "--duration", "500ms", *options, str(self.node.pid)],
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                preexec_fn=tools.without_perf_events if forbidden else None)
            self.assertEqual(ended.returncode, DONE, ended.stderr)
            answer = json.loads(ended.stdout)
            schemas.validate(answer, "profile")
            check_sums(self, answer)
            self.assertEqual(answer["mode"], "readings")
            self.assertEqual(set(answer["account"]), {"reading"})
            self.assertEqual("sampling by perf events is forbidden" in ended.stderr, forbidden)
            self.assertTrue(any(stack["frames"][-1].startswith(("profiled:", "lists:"))
                                for stack in answer["stacks"]), answer["stacks"])

    def test_stops_without_perf_events(self):
        """They need none."""
        ended = subprocess.run(
            [SAMPLE, "profile", "--json", "--duration", "1s", "--stops", str(self.node.pid)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            preexec_fn=tools.without_perf_events)
        self.assertIn(ended.returncode, (DONE, INCOMPLETE), ended.stderr)
        answer = json.loads(ended.stdout)
        schemas.validate(answer, "profile")
        self.assertEqual((answer["mode"], answer["kernel_sampled"]), ("stops", False))
        self.assertIn("profiled:loop/1", {stack["frames"][0] for stack in answer["stacks"]})

    def threads_in_a_stop(self):
        """How many of the node's threads a tracer has stopped."""
        return sum("\nState:\tt" in status.read_text()
                   for status in pathlib.Path(f"/proc/{self.node.pid}/task").glob("*/status"))

    def test_killed_in_a_stop(self):
        """The thread that it had stopped goes on."""
        running = subprocess.Popen([SAMPLE, "profile", "--duration", "1m", "--rate", "1000", "--stops",
                                    str(self.node.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        while not self.threads_in_a_stop():
            self.assertIsNone(running.poll())
        running.send_signal(signal.SIGKILL)
        self.assertEqual(running.wait(), -signal.SIGKILL)
        self.assertTrue(eventually(lambda: not self.threads_in_a_stop(), 10))
        self.assertEqual(self.node.status_field("TracerPid"), 0)
        self.assertEqual(self.node.ask("ping"), "pong")

    def test_killed(self):
        """Perf events are descriptors of the profiler: nothing is in the node."""
        def shape():
            folder = pathlib.Path(f"/proc/{self.node.pid}")
            return (sorted(os.readlink(one) for one in (folder / "fd").iterdir() if one.is_symlink()),
                    sorted(one.name for one in (folder / "task").iterdir()))
        before = shape()
        running = subprocess.Popen([SAMPLE, "profile", "--duration", "1m", str(self.node.pid)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        tools.wait_for_perf_events(self, running, len(before[1]))
        self.assertEqual(self.node.status_field("TracerPid"), 0)
        running.send_signal(signal.SIGKILL)
        self.assertEqual(running.wait(), -signal.SIGKILL)
        self.assertEqual(shape(), before)
        self.assertEqual(self.node.ask("ping"), "pong")

    def test_interrupted(self):
        """What was sampled until Ctrl-C is shown."""
        running = subprocess.Popen([SAMPLE, "profile", "--duration", "1h", "--json",
                                    str(self.node.pid)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        tools.wait_for_perf_events(self, running, 1)
        running.send_signal(signal.SIGINT)
        answer = json.loads(running.communicate()[0])
        self.assertEqual(running.returncode, DONE)
        schemas.validate(answer, "profile")


class Mixed(unittest.TestCase):
    """Of the workload of the benchmark, what its tables depend on."""

    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("mixed", 1)
        cls.addClassCleanup(cls.node.stop)

    def samples_of(self, work, rate, duration, wanted, *functions, rare=()):
        """Samples with each function innermost, until there are as many as wanted of all, and of
        each rare function one, or ten times as many of all."""
        self.node.ask(f"mixed {work}")
        counts = dict.fromkeys(functions, 0)
        def enough(total):
            return total >= 10 * wanted or total >= wanted and all(counts[one] for one in rare)
        while not enough(sum(counts.values())):
            answer, _ = profile(self.node, duration=duration, rate=rate)
            check_sums(self, answer)
            # A page that is missing in a thread's stack hides what called native code.
            self.assertLess(answer["not_known"].get("not_unwound", 0), 0.02 * answer["samples"] + 5)
            for one in answer["functions"]:
                if one["function"] in counts:
                    counts[one["function"]] += one["self"]
        print(work, counts, flush=True)
        return counts

    def test_comparisons(self):
        """A function without a frame of its own that compares terms is innermost, not its caller."""
        caller, compares = "mixed:merge_sort/1", "mixed:pairs/2"
        # pairs/2 has about one in a hundred of these samples.
        counts = self.samples_of("mixed", RATE, "2s", 300, caller, compares, "mixed:merge/3",
                                 rare=(compares,))
        self.assertLess(counts[caller], 0.02 * sum(counts.values()))
        self.assertGreater(counts[compares], 0)

    def test_a_loop_with_the_period_of_the_samples(self):
        """Its phases, which last 50, 30 and 20 parts in 100 of it, have these shares."""
        phases = {"mixed:one_half/1": 50, "mixed:three_tenths/1": 30, "mixed:two_tenths/1": 20}
        counts = self.samples_of("regular", 99, "6s", 500, *phases)
        for phase, share in phases.items():
            self.assertAlmostEqual(100 * counts[phase] / sum(counts.values()), share, delta=10)


class Flavours(unittest.TestCase):
    def started(self, flags):
        os.environ["ERL_FLAGS"] = flags
        self.addCleanup(os.environ.pop, "ERL_FLAGS")
        node = start_workload("profiled", 1)
        self.addCleanup(node.stop)
        return node

    def test_frame_pointers(self):
        """+JPperf true has frame pointers between the return addresses."""
        node = self.started("+JPperf true")
        known = 0
        while known < SAMPLES / 10:
            answer, _ = profile(node, "--by", "name")
            check_sums(self, answer)
            for stack in answer["stacks"]:
                group, outermost, *_ = stack["frames"] + [""]
                if group == "profiled_worker":
                    self.assertIn(outermost, ("profiled:loop/1", "(callers not known)",
                                              "(further callers)"), stack)
                    known += stack["samples"] * (outermost == "profiled:loop/1")


class Threads(unittest.TestCase):
    def test_threads_born_later(self):
        """A thread that a NIF makes while the profile runs is counted by its name."""
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["BEAMDUMP_LATER_NIF"] = str(build_nif(pathlib.Path(scratch), "later"))
            self.addCleanup(os.environ.pop, "BEAMDUMP_LATER_NIF")
            node = start_workload("later", 1)
            self.addCleanup(node.stop)
            running = subprocess.Popen([SAMPLE, "profile", "--json", "--duration", "1m",
                                        str(node.pid)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE)
            tools.wait_for_perf_events(self, running, len(os.listdir(f"/proc/{node.pid}/task")))
            # It ends when it has used a second of processor time.
            self.assertEqual(node.ask("later spin"), "ok")
            running.send_signal(signal.SIGINT)
            answer = json.loads(running.communicate()[0])
            schemas.validate(answer, "profile")
            check_sums(self, answer)
            counted = {one["name"]: one["samples"] for one in answer["other_threads"]}
            self.assertGreater(counted.get("born_later", 0), 10, counted)


if __name__ == "__main__":
    unittest.main()

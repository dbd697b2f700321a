"""Twins of a node under load: it answers, and nothing is left behind, whichever process dies at any
point.

BEAMDUMP_TWINS says how many are made (20; soak: 200), BEAMDUMP_KILL_STRIDE at how many of the
points the maker is killed (5: at every fifth; soak: 1)."""

import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import tools
from support.node import start_workload
from support.paths import PROGRAMS
from support.watched import Process, eventually

TWINS = int(os.environ.get("BEAMDUMP_TWINS", "20"))
KILL_STRIDE = int(os.environ.get("BEAMDUMP_KILL_STRIDE", "5"))
DRIVER = PROGRAMS / "twin_driver"
KEEPER = PROGRAMS / "registers_keeper"
UNSHARED_KIB = 1024  # other allocations of a node at rest


def run(*command):
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120)


def run_with_processor(*command):
    """Again where the machine had no processor for a thread that was to stop."""
    for _ in range(tools.MOST_TRIES):
        result = run(*command)
        if tools.NO_PROCESSOR not in result.stderr:
            break
    return result


def objects(result):
    if result.returncode != 0:
        raise AssertionError(f"exit status {result.returncode}: {result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines()]


def exists(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def memory_kib(pid):
    """From smaps_rollup: the proportional share of anonymous memory (that of files changes when another
    node starts or ends), and private dirty memory."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return [int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)[1])
            for name in ("Pss_Anon", "Private_Dirty")]


class OfANodeAtRest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("standard", 0.2)
        cls.addClassCleanup(cls.node.stop)

    def resident_at_rest(self, process, still=4, seconds=60):
        """In KiB, as soon as it changes by less than a hundredth in some seconds."""
        deadline = time.monotonic() + seconds
        last = process.resident_kib()
        since = time.monotonic()
        while time.monotonic() - since < still:
            self.assertLess(time.monotonic(), deadline, "the node does not come to rest")
            time.sleep(0.2)
            now = process.resident_kib()
            if abs(now - last) > last // 100:
                last, since = now, time.monotonic()
        return process.resident_kib()

    def test_only_what_the_node_writes_to_is_copied(self):
        process = Process(self.node.pid)
        # Memory left over from its start is returned to the system later, and then belongs only to the twin.
        resident = self.resident_at_rest(process)
        children = set(process.shape()["children"])
        before, _ = memory_kib(self.node.pid)
        with subprocess.Popen([DRIVER, str(self.node.pid), "--read", str(1 << 40),
                               "--hold-ms", "2000"], stdout=subprocess.PIPE, text=True) as driver:
            self.assertTrue(eventually(lambda: set(process.shape()["children"]) - children, 10))
            (twin,) = set(process.shape()["children"]) - children
            # All of it is read before, and again later.
            time.sleep(1.5)
            node_share, _ = memory_kib(self.node.pid)
            twin_share, copied = memory_kib(twin)
            (told,) = [json.loads(line) for line in driver.stdout]
        self.assertEqual(driver.returncode, 0)
        extra = node_share + twin_share - before
        print(f"{resident} KiB resident, {told['bytes'] >> 10} KiB read; node and twin have "
              f"{extra} KiB more than the node alone, of which the node wrote to {copied} KiB; "
              f"page tables {told['page_tables_kib']} KiB", flush=True)
        self.assertGreater(told["bytes"] >> 10, resident // 2)
        self.assertLessEqual(extra, copied + UNSHARED_KIB)
        self.assertLess(copied, resident // 20)
        self.assertLess(told["page_tables_kib"], resident // 100 + UNSHARED_KIB)


class OfANode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("twin_load")
        cls.addClassCleanup(cls.node.stop)
        cls.process = Process(cls.node.pid)
        cls.signals = 0
        # Once before, so that pages of code and of a stack are present.
        objects(run_with_processor(DRIVER, cls.node.pid))
        cls.before = cls.process.shape()

    def node_is_as_before(self):
        """Within a second: threads, descriptors and children are the same, nothing is stopped, it
        answers, and its dispatcher reads signals."""
        as_before = eventually(lambda: self.process.shape() == self.before)
        self.assertTrue(as_before, f"\n{self.before}\n{self.process.shape()}")
        self.assertTrue(eventually(lambda: not set("tT") & set(self.process.states().values())))
        self.assertEqual(self.node.ask("ping", seconds=20), "pong")
        type(self).signals += 1
        os.kill(self.node.pid, signal.SIGUSR2)
        told = self.node.directory / "signals"
        self.assertTrue(eventually(
            lambda: told.exists() and len(told.read_text().splitlines()) == self.signals, 5),
            "the signal was not dispatched")

    def test_many(self):
        resident = []
        figures = []
        for _ in range(TWINS):
            (twin,) = objects(run_with_processor(DRIVER, self.node.pid, "--read", 64 << 20,
                                                 "--hold-ms", 5, "--bare-stop"))
            self.assertFalse(exists(twin["twin"]))
            self.assertFalse(exists(twin["reaper"]))
            self.assertGreater(twin["bytes"], 16 << 20)
            self.assertTrue(twin["same"], "the twin's memory changed")
            self.node_is_as_before()
            resident.append(self.process.resident_kib())
            figures.append(twin)
        fork = objects(run(PROGRAMS / "twin_driver", self.node.pid, "--measure-fork", 5))
        print(f"{TWINS} twins; node {resident[0]} KiB resident, {resident[-1]} at the end; "
              f"copied in a twin's life at most "
              f"{max(twin['private_dirty_kib'] for twin in figures)} KiB, page tables "
              f"{figures[-1]['page_tables_kib']} KiB")
        for name in ("stop_us", "bare_stop_us"):
            values = sorted(twin[name] for twin in figures)
            print(f"{name}: median {values[len(values) // 2]}, longest {values[-1]}")
        print(f"bare fork of as much memory: {fork}", flush=True)
        third = max(1, TWINS // 3)
        # Its heaps come and go; a page table or a stack leaked each time would stay.
        self.assertLess(min(resident[-third:]), max(resident[:third]) * 1.1 + 4096)

    def test_maker_ends_without_removing(self):
        for _ in range(5):
            (twin,) = objects(run_with_processor(DRIVER, self.node.pid, "--abandon"))
            self.assertTrue(eventually(lambda twin=twin: not exists(twin["twin"])))
            self.node_is_as_before()

    def test_second_twin_at_a_time_is_refused(self):
        first = subprocess.Popen([DRIVER, str(self.node.pid), "--hold-ms", "1500"],
                                 stdout=subprocess.DEVNULL)
        self.assertTrue(eventually(lambda: len(self.process.threads()) >
                                   len(self.before["threads"]) and not self.process.traced(), 5))
        second = run(DRIVER, self.node.pid)
        self.assertEqual(second.returncode, 1)
        self.assertIn("already has a twin", second.stderr)
        self.assertEqual(first.wait(), 0)
        self.node_is_as_before()

    def test_no_room_is_refused_with_the_reason(self):
        refused = run(DRIVER, self.node.pid, "--copied-bytes", 1 << 60)
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, r"may need \d+\.\d MiB, and \d+\.\d MiB are left: ")
        self.node_is_as_before()

    def test_maker_killed_at_each_system_call(self):
        calls = collections.Counter()
        point = 1 + int.from_bytes(os.urandom(2), "little") % KILL_STRIDE
        killed = True
        # How often it waits differs from run to run, so the end may come early: one that was not
        # killed has ended well.
        while killed:
            (outcome,) = objects_of_kill(run(PROGRAMS / "kill_at_syscall", point, DRIVER,
                                             self.node.pid))
            killed = outcome["killed"]
            with self.subTest(point=point, outcome=outcome):
                self.node_is_as_before()
            if killed:
                calls[outcome["call"]] += 1
            point += KILL_STRIDE
        print(f"killed at {sum(calls.values())} points of about {point}; by system call: "
              f"{dict(calls)}", flush=True)
        self.assertGreater(calls[101], 100 // KILL_STRIDE, "ptrace's points were not met")

    def test_maker_ends_at_each_instruction_of_the_injection(self):
        for steps in injection_steps():
            with self.subTest(steps=steps):
                options = [f"--{name}={count}" for name, count in steps.items()]
                (done,) = objects(run_with_processor(PROGRAMS / "step_injection", self.node.pid,
                                                     *options))
                self.assertEqual(done["borrowed"]["steps"], steps["borrowed"])
                self.assertEqual(done["reaper"]["steps"], steps["reaper"] + min(4, steps["last"]))
                self.assertEqual(done["twin"]["steps"], min(7, steps["twin"]))
                self.node_is_as_before()


def objects_of_kill(result):
    """The last line is from kill_at_syscall; the lines before are from the driver."""
    if result.returncode != 0:
        raise AssertionError(f"exit status {result.returncode}: {result.stderr}")
    return [json.loads(result.stdout.splitlines()[-1])]


def injection_steps():
    """How far each of them may have come. The borrowed thread runs 6 instructions, the third of which
    makes the reaper; that runs 7, the fourth of which makes the twin, and waits; the twin runs 7
    and ends at the next; then the reaper runs 4 more and ends at the next."""
    for borrowed in range(7):
        if borrowed < 3:
            yield {"borrowed": borrowed, "reaper": 0, "twin": 0, "last": 0}
            continue
        for reaper in range(8):
            for twin in range(9 if reaper >= 4 else 1):
                yield {"borrowed": borrowed, "reaper": reaper, "twin": twin, "last": 0}
        for last in range(1, 6):
            yield {"borrowed": borrowed, "reaper": 7, "twin": 8, "last": last}


class OfASmallProcess(unittest.TestCase):
    """registers_keeper: what it had in its registers, and what its death means."""

    def start(self, program=KEEPER, **options):
        keeper = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True, **options)
        self.addCleanup(self.end, keeper)
        process = Process(keeper.pid)
        self.assertTrue(eventually(lambda: self.named(process, "keeper"), 5))
        return keeper, process

    @staticmethod
    def end(keeper):
        keeper.kill()
        keeper.wait()
        keeper.stdin.close()
        keeper.stdout.close()

    @staticmethod
    def named(process, name):
        """The thread of that name, once it waits in read(2)."""
        for thread in process.threads():
            task = process.directory / "task" / thread
            with contextlib.suppress(OSError):
                if ((task / "comm").read_text().strip() == name
                        and (task / "syscall").read_text().startswith("0 0x0 ")):
                    return thread
        return None

    @staticmethod
    def driver(keeper, *options):
        return [DRIVER, str(keeper.pid), "--thread", "keeper", *map(str, options)]

    @staticmethod
    def answer(keeper):
        keeper.stdin.write("x")
        keeper.stdin.flush()
        return keeper.stdout.readline().strip()

    def test_registers_are_kept(self):
        keeper, _ = self.start()
        for _ in range(20):
            objects(run_with_processor(*self.driver(keeper)))
            self.assertEqual(self.answer(keeper), "kept")

    def test_registers_are_kept_when_the_maker_dies(self):
        keeper, process = self.start()
        threads = process.threads()
        for point in range(1, 500, 3):
            (outcome,) = objects_of_kill(
                run(PROGRAMS / "kill_at_syscall", point, *self.driver(keeper)))
            self.assertTrue(eventually(lambda: process.threads() == threads), f"point {point}")
            self.assertEqual(self.answer(keeper), "kept", f"point {point}")
            if not outcome["killed"]:
                return
        self.fail("the driver made more system calls than expected")

    def test_when_the_node_dies_its_descriptors_are_closed_and_the_twin_is_given_up(self):
        keeper, _ = self.start()
        maker = subprocess.Popen(self.driver(keeper, "--hold-ms", 1000), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # Before, the maker is still at work: its error would end it at once.
        self.assertIn("holds the twin", maker.stderr.readline())
        twins = twins_of(keeper.pid)
        self.assertEqual(len(twins), 1)
        keeper.kill()
        self.assertEqual(keeper.stdout.read(), "")  # the pipe ends, although the maker still holds it
        self.assertIsNone(maker.poll())
        _, told = maker.communicate()
        self.assertEqual(maker.returncode, 1)
        self.assertIn(f"process {keeper.pid} has exited", told)
        self.assertTrue(eventually(lambda: not exists(twins[0])))

    def test_its_descriptors_are_the_node_s_own(self):
        keeper, _ = self.start()
        maker = subprocess.Popen(self.driver(keeper, "--hold-ms", 500), stdout=subprocess.DEVNULL)
        # The thread that waits for the twin exists before the twin does.
        self.assertTrue(eventually(lambda: twins_of(keeper.pid), 5))
        (twin,) = twins_of(keeper.pid)
        self.assertEqual(os.listdir(f"/proc/{twin}/fd"), os.listdir(f"/proc/{keeper.pid}/fd"))
        self.assertEqual(maker.wait(), 0)
        self.assertEqual(self.answer(keeper), "kept")

    def test_the_kernel_refuses_a_thread_or_a_process(self):
        """As another user with a limit that allows no further thread, or only the reaper."""
        self.assertEqual(os.geteuid(), 0, "run as root: it starts a process as another user")
        # Where another user may run it: the checkout may lie in a home directory.
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = scratch / KEEPER.name
        shutil.copy(KEEPER, program)
        for path in (scratch, program):
            path.chmod(0o755)
        for most, told in ((2, "refuses to start a thread"), (3, "refuses to make a twin")):
            keeper, process = self.start(
                program, user=54321, cwd="/", preexec_fn=functools.partial(
                    resource.setrlimit, resource.RLIMIT_NPROC, (most, most)))
            threads = process.threads()
            refused = run(*self.driver(keeper))
            self.assertEqual(refused.returncode, 1)
            self.assertIn(told, refused.stderr)
            self.assertTrue(eventually(lambda: process.threads() == threads))
            self.assertEqual(self.answer(keeper), "kept")
            self.end(keeper)

    def test_a_process_under_sigstop_is_refused(self):
        keeper, process = self.start()
        keeper.send_signal(signal.SIGSTOP)
        self.assertTrue(eventually(lambda: set(process.states().values()) == {"T"}))
        refused = run(*self.driver(keeper))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is stopped by a signal", refused.stderr)
        keeper.send_signal(signal.SIGCONT)
        self.assertEqual(self.answer(keeper), "kept")


def twins_of(pid):
    """Children of a process."""
    children = []
    for thread in Process(pid).threads():
        with contextlib.suppress(OSError):
            children += pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
    return list(map(int, children))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Every signal sent to a process arrives once, whatever the writer does at the time, and also if it
is killed: counted by a process that counts exactly (signal_counter), and by a node.

BEAMDUMP_KILLS is how often the writer is killed (100; soak: 1000), BEAMDUMP_STOPS how often the
node is stopped by a signal (20; soak: 200)."""

import mmap
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from support import tools
from support.node import start_workload
from support.paths import CAPTURE, PROGRAMS
from support.watched import entries, eventually, state, states

KILLS = int(os.environ.get("BEAMDUMP_KILLS", "100"))
STOPS = int(os.environ.get("BEAMDUMP_STOPS", "20"))
LEAST_SIGNALS = 1000
BURST = 5
QUEUED = (signal.SIGRTMIN, signal.SIGRTMIN + 5)


def quiet(*command):
    return subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Stream:
    """Sends signals to signal_counter all the time: queued ones at once, SIGUSR2 after the previous one
    has arrived."""

    def __init__(self, pid, counts):
        self.pid = pid
        self.counts = counts
        self.sent = dict.fromkeys((*QUEUED, signal.SIGUSR2), 0)
        self.lost = 0
        self.wanted = True
        self.thread = threading.Thread(target=self.send)
        self.thread.start()

    def arrived(self, number):
        return struct.unpack_from("<Q", self.counts, 8 * number)[0]

    def send(self):
        while self.wanted:
            for number in QUEUED * BURST:
                self.kill(number)
            if self.arrived(signal.SIGUSR2) == self.sent[signal.SIGUSR2]:
                self.kill(signal.SIGUSR2)
            time.sleep(0.0002)

    def kill(self, number):
        self.sent[number] += 1
        os.kill(self.pid, number)

    def end(self):
        self.wanted = False
        self.thread.join()


class OfACounter(unittest.TestCase):
    def setUp(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.counter = subprocess.Popen([PROGRAMS / "signal_counter", scratch / "counts"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.counter.wait)
        self.addCleanup(self.counter.stdout.close)
        self.addCleanup(self.counter.stdin.close)
        self.addCleanup(self.counter.kill)
        self.assertEqual(self.counter.stdout.readline(), "ready\n")
        with (scratch / "counts").open("rb") as file:
            self.counts = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.addCleanup(self.counts.close)
        self.before = entries(self.counter.pid)

    def check(self, writer, kills):
        """`writer` is killed at random moments while signals are sent."""
        seed = random.randrange(1 << 32)
        moments = random.Random(seed)
        stream = Stream(self.counter.pid, self.counts)
        self.addCleanup(stream.end)
        for _ in range(kills):
            process = quiet(*writer)
            time.sleep(moments.uniform(0.004, 0.03))
            process.kill()
            process.wait()
        while min(stream.sent.values()) < LEAST_SIGNALS and eventually(
                lambda: stream.arrived(signal.SIGUSR2) == stream.sent[signal.SIGUSR2], 0.5):
            pass
        stream.end()
        eventually(lambda: all(stream.arrived(number) == sent
                               for number, sent in stream.sent.items()))
        arrived = {number: stream.arrived(number) for number in stream.sent}
        print(f"{kills} kills, seed {seed}; sent {list(stream.sent.values())}, arrived "
              f"{list(arrived.values())}", flush=True)
        self.assertEqual(arrived, stream.sent)
        self.assertGreaterEqual(min(stream.sent.values()), LEAST_SIGNALS)
        self.assertTrue(eventually(lambda: entries(self.counter.pid) == self.before))
        self.assertFalse(states(self.counter.pid) & set("tT"))

    def test_twins_and_stops(self):
        self.check([PROGRAMS / "twin_driver", self.counter.pid, "--thread", "counter",
                    "--bare-stop", "--repeat", "1000"], KILLS)

    def test_stops(self):
        self.check([PROGRAMS / "twin_driver", self.counter.pid, "--thread", "counter",
                    "--stops", "100000"], KILLS)


class OfANode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("twin_load")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.counted = cls.node.directory / "signals"
        subprocess.run([PROGRAMS / "twin_driver", str(cls.node.pid)], check=True,
                       stdout=subprocess.DEVNULL)
        cls.before = entries(cls.node.pid)

    def as_before(self):
        self.assertEqual(self.node.ask("ping", seconds=20), "pong")
        self.assertTrue(eventually(lambda: entries(self.node.pid) == self.before),
                        f"{self.before}\n{entries(self.node.pid)}")
        self.assertTrue(eventually(lambda: not states(self.node.pid) & set("tT")))

    def arrived(self):
        return len(self.counted.read_text().splitlines()) if self.counted.exists() else 0

    def test_sigusr2(self):
        """Sends each after the previous one has arrived, while captures in all modes run and are killed."""
        sent = self.arrived()
        for number in range(KILLS // 4):
            mode = ("auto", "snapshot", "freeze")[number % 3]
            writer = quiet(CAPTURE, "--quiet", "--force", "-o", self.scratch / mode, "--mode", mode,
                           self.node.pid)
            end = time.monotonic() + random.uniform(0.15, 0.4)
            while time.monotonic() < end:
                os.kill(self.node.pid, signal.SIGUSR2)
                sent += 1
                if time.monotonic() + 0.005 > end:
                    writer.kill()
                self.assertTrue(eventually(lambda: self.arrived() == sent, 10),
                                f"{sent} sent, {self.arrived()} arrived; {mode}")
            writer.kill()
            writer.wait()
        print(f"{sent} sent and arrived", flush=True)
        self.as_before()

    def stopped_and_continued(self, *writer, until, killed):
        """SIGSTOP while the writer runs. The writer finishes, unless it is killed."""
        writer = quiet(*writer)
        time.sleep(random.uniform(0, until))
        os.kill(self.node.pid, signal.SIGSTOP)
        if killed:
            time.sleep(random.uniform(0, 0.003))
            writer.kill()
        writer.wait(timeout=20)
        self.stays_stopped()
        os.kill(self.node.pid, signal.SIGCONT)
        self.as_before()
        return writer.returncode

    def stays_stopped(self):
        self.assertTrue(eventually(lambda: states(self.node.pid) == {"T"}),
                        f"SIGSTOP was lost: {states(self.node.pid)}")
        time.sleep(0.02)
        self.assertEqual(states(self.node.pid), {"T"})

    def test_sigstop_while_twins_are_made(self):
        for number in range(STOPS):
            with self.subTest(number=number):
                self.stopped_and_continued(PROGRAMS / "twin_driver", self.node.pid, "--repeat",
                                           "1000", until=0.05, killed=number % 2 == 1)

    def test_sigstop_in_captures(self):
        for number in range(STOPS):
            mode = ("auto", "snapshot", "freeze")[number % 3]
            killed = number // 3 % 2 == 1
            with self.subTest(number=number, mode=mode, killed=killed):
                # No twin is made of a stopped node, unless the stop came later.
                status = self.stopped_and_continued(
                    CAPTURE, "--quiet", "--force", "-o", self.scratch / mode, "--mode", mode,
                    self.node.pid, until=0.2, killed=killed)
                if not killed:
                    self.assertIn(status, (0, 1, 3) if mode == "snapshot" else (0, 3))

    def test_sigstop_while_a_twin_lives(self):
        """The capture is finished from the twin, whose remains disappear with SIGCONT."""
        dump = self.scratch / "stopped.beamdump"
        remains = 0
        for _ in range(max(1, STOPS // 5)):
            writer = subprocess.Popen([CAPTURE, "--quiet", "--force", "-o", dump, "--mode",
                                       "snapshot", str(self.node.pid)], stderr=subprocess.PIPE,
                                      text=True)
            self.assertTrue(eventually(lambda: entries(self.node.pid)[1] != self.before[1], 10))
            os.kill(self.node.pid, signal.SIGSTOP)
            _, told = writer.communicate(timeout=20)
            self.stays_stopped()
            threads, children = entries(self.node.pid)
            remains += threads != self.before[0]
            self.assertIn(writer.returncode, (0, 3), told)
            self.assertFalse(dump.with_name(dump.name + ".partial").exists())
            tools.expect(tools.analyze("summary", dump), 0, 3)
            if threads != self.before[0]:
                self.assertIn("remain until it is continued", told)
                (twin,) = set(children) - set(self.before[1])
                self.assertEqual(state(twin), "Z")
            os.kill(self.node.pid, signal.SIGCONT)
            self.as_before()

    def test_sigcont(self):
        """The node continues to run after SIGSTOP and a SIGCONT soon after it."""
        for number in range(STOPS):
            writer = quiet(PROGRAMS / "twin_driver", self.node.pid, "--repeat", "20")
            for _ in range(20):
                time.sleep(random.uniform(0, 0.004))
                os.kill(self.node.pid, signal.SIGSTOP)
                time.sleep(random.choice((0, 0.0005, 0.004)))
                os.kill(self.node.pid, signal.SIGCONT)
            if number % 2 == 1:
                writer.kill()
            writer.wait(timeout=20)
            self.as_before()


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Faults during a capture, as context managers, and a node that measures them from inside
(faults.erl)."""

import contextlib
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import threading
import time

from support.nif import build_nif
from support.node import start_workload
from support.paths import CAPTURE
from support.watched import entries

SCALE = 0.1
LONGEST_HANG_MS = 30000
MOMENT = 0.0005


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not in {seconds} s")
        time.sleep(MOMENT)


class Feeling:
    """Stops that the node's thread with real-time priority measured; number of SIGUSR2 that the node
    handled."""

    def __init__(self, path):
        path.write_bytes(bytes(mmap.PAGESIZE))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def reset(self):
        struct.pack_into("Q", self._page, 0, 0)

    def longest_ms(self):
        return struct.unpack_from("Q", self._page, 0)[0] / 1e6

    def release(self, released):
        """Releases the node's hanging thread."""
        struct.pack_into("Q", self._page, 24, int(released))

    def signals(self):
        return struct.unpack_from("Q", self._page, 8)[0]


class FaultNode:
    """A node for faults: the node, its own measurements, and its state from outside."""

    def __init__(self, scratch, belongings):
        page = scratch / "faults.page"
        self.feeling = Feeling(page)
        os.environ["BEAMDUMP_FAULTS_NIF"] = str(build_nif(scratch, "faults"))
        os.environ["BEAMDUMP_FAULTS_PAGE"] = str(page)
        self.node = start_workload("faults", SCALE)
        belongings(self.node.stop)
        self.pid = self.node.pid

    def shape(self):
        """Its threads and children, which include twins and zombies."""
        return entries(self.pid)

    def is_held(self):
        """Whether its first thread is in a ptrace stop."""
        return state_of(self.pid) == "t"

    @contextlib.contextmanager
    def hanging(self):
        """Whether one of its threads is in uninterruptible sleep."""
        before = hanging_threads(self.pid)
        self.feeling.release(False)
        self.node.ask(f"faults hang {LONGEST_HANG_MS}")
        try:
            wait_for(lambda: hanging_threads(self.pid) - before, "a thread that hangs")
            yield
        finally:
            self.feeling.release(True)
        wait_for(lambda: not hanging_threads(self.pid) - before, "that it hangs no more")


def state_of(pid):
    """R, S, D, T (stopped), t (stopped by a tracer) or Z; None if there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def hanging_threads(pid):
    return {thread for thread in os.listdir(f"/proc/{pid}/task")
            if state_of(f"{pid}/task/{thread}") == "D"}


@contextlib.contextmanager
def traced_by_strace(pid):
    """strace attached to all threads, without effect on them."""
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=none", "-e", "signal=none",
                               "-o", "/dev/null", "-p", str(pid)],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: all(tracer_of(pid, thread) == tracer.pid
                             for thread in os.listdir(f"/proc/{pid}/task")), "strace attached")
        yield tracer.pid
    finally:
        tracer.terminate()
        tracer.wait()


def tracer_of(pid, thread):
    try:
        lines = pathlib.Path(f"/proc/{pid}/task/{thread}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(next(line for line in lines if line.startswith("TracerPid:")).split()[1])


class Writer:
    """A running capture; ended and reaped at the end of the block."""

    def __init__(self, node, output, *options, stdout=subprocess.DEVNULL, wrapper=()):
        self.process = subprocess.Popen(
            [*wrapper, CAPTURE, "--force", *options, "-o", output, str(node.pid)],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, process_group=0)
        self.pid = self.process.pid
        self.told = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def send(self, number):
        os.kill(self.pid, number)

    def ended(self, seconds=60):
        """Its exit status; its diagnostics are in self.told."""
        self.told = self.process.communicate(timeout=seconds)[1].decode(errors="replace")
        return self.process.returncode

    def running(self):
        return self.process.poll() is None

    def guardian(self):
        """Its guardian process."""
        children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def wait_for_hold(self, node):
        """Waits until the node is stopped. False if the capture ends before that."""
        while self.running():
            if node.is_held():
                return True
        return False


@contextlib.contextmanager
def stalled_pipe():
    """A pipe without a reader yet: the program that will read it, and its write end."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as reader, os.fdopen(writing, "wb") as writer:
        yield reader, writer


CPU_CGROUPS = pathlib.Path("/sys/fs/cgroup/cpu")  # version 1


@contextlib.contextmanager
def cpu_quota(percent):
    """A command prefix that limits the command to a share of one processor; empty if cgroups cannot
    be created here."""
    group = CPU_CGROUPS / f"beamdump-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        period = int((group / "cpu.cfs_period_us").read_text())
        (group / "cpu.cfs_quota_us").write_text(str(period * percent // 100))
        yield ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"]
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text(), "an empty cgroup")
        group.rmdir()


class SignalStream:
    """Sends SIGUSR2 to a node, each after it has handled the previous one."""

    def __init__(self, node):
        self._node = node
        self._wanted = True
        self.sent = 0
        self._thread = threading.Thread(target=self._send)

    def _send(self):
        while self._wanted:
            before = self._node.feeling.signals()
            os.kill(self._node.pid, signal.SIGUSR2)
            self.sent += 1
            deadline = time.monotonic() + 5
            while self._node.feeling.signals() == before and time.monotonic() < deadline:
                time.sleep(0.0001)

    def __enter__(self):
        self._before = self._node.feeling.signals()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._wanted = False
        self._thread.join()

    def handled(self):
        return self._node.feeling.signals() - self._before

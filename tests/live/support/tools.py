"""Runs the programs, and measures them."""

import atexit
import contextlib
import ctypes
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass

from support.paths import ANALYZE, CAPTURE, PROGRAMS

# Each question reads its crash dump itself, and nothing is left in the user's cache.
os.environ.setdefault("BEAMDUMP_CACHE", "off")


@dataclass
class Ended:
    """A program that has ended."""
    status: int
    output: str
    diagnostics: str
    seconds: float
    peak_kib: int  # largest resident size


def run_measured(command):
    """Runs command below GNU time: a child of Python's own would count Python's memory."""
    with tempfile.NamedTemporaryFile("r") as figures:
        result = subprocess.run(
            ["/usr/bin/time", "-q", "-f", "%e %M", "-o", figures.name, "--",
             *map(str, command)],
            stdin=subprocess.DEVNULL, capture_output=True)
        seconds, peak = figures.read().split()[-2:]
    return Ended(result.returncode, result.stdout.decode(errors="replace"),
                 result.stderr.decode(errors="replace"), float(seconds), int(peak))


def expect(ended, *statuses):
    if ended.status not in statuses:
        raise AssertionError(f"exit status {ended.status}, expected one of {statuses}; "
                             f"diagnostics:\n{ended.diagnostics[-2000:]}")
    return ended


# Of a machine that has no processor for a thread that is to stop: tried again.
NO_PROCESSOR = "no processor was free for it"
MOST_TRIES = 20


def capture(node, dump, *options):
    """A successful capture, perhaps with processes that could not be copied (status 3)."""
    for _ in range(MOST_TRIES):
        ended = run_measured([CAPTURE, "--quiet", "-o", dump, *options, node.pid])
        if ended.status in (0, 3) or NO_PROCESSOR not in ended.diagnostics:
            break
        pathlib.Path(f"{dump}.partial").unlink(missing_ok=True)
    return expect(ended, 0, 3)


def analyze(*arguments):
    return run_measured([ANALYZE, *arguments])


def parse(ended):
    return json.loads(ended.output)


class Answerer:
    """One process that answers many command lines of beamdump-analyze, without measurements."""

    def __init__(self):
        self._process = None

    def ask(self, *arguments):
        """Output and diagnostics as bytes."""
        if self._process is None:
            self._process = subprocess.Popen([PROGRAMS / "answer_questions"],
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            atexit.register(self._end)
        question = json.dumps([str(argument) for argument in arguments])
        self._process.stdin.write(question.encode() + b"\n")
        self._process.stdin.flush()
        head = self._process.stdout.readline().split()
        if len(head) != 3:
            raise AssertionError(f"exit status {self._process.wait()} instead of an answer to "
                                 f"{question}")
        status, output, diagnostics = map(int, head)
        return Ended(status, self._process.stdout.read(output),
                     self._process.stdout.read(diagnostics), 0, 0)

    def _end(self):
        self._process.stdin.close()
        self._process.wait()


_ANSWERER = Answerer()


def ask_bytes(*arguments):
    """Output and diagnostics of beamdump-analyze as bytes, without measurements."""
    return _ANSWERER.ask(*arguments)


def ask(*arguments):
    """The same as text."""
    ended = ask_bytes(*arguments)
    ended.output = ended.output.decode(errors="replace")
    ended.diagnostics = ended.diagnostics.decode(errors="replace")
    return ended


def analyze_json(*arguments):
    return parse(expect(ask(*arguments, "--json"), 0, 3))


def flat(dump):
    """The bytes of a dump's records, decompressed and decoded."""
    return subprocess.run([PROGRAMS / "flat_stream", dump], check=True, capture_output=True).stdout


def bytes_read(ended):
    """Bytes of the dump's file that were read, as --stats says."""
    return int(re.search(r"file_bytes_read=(\d+)", ended.diagnostics)[1])


def file_bytes(path):
    return pathlib.Path(path).stat().st_size


def on_processor(pid):
    """Seconds of processor time of all threads that a process has now."""
    spent = 0
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        # A thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            spent += int(file.read_text().split()[0])
    return spent / 1e9


def perf_event_filter(action):
    """A filter for seccomp(2) with this action for perf_event_open, and the code that it points to."""
    load, equal, give = 0x20, 0x15, 0x06
    perf_event_open, allowed = 298, 0x7fff0000
    program = b"".join(struct.pack("HBBI", *one) for one in (
        (load, 0, 0, 0), (equal, 0, 1, perf_event_open), (give, 0, 0, action), (give, 0, 0, allowed)))
    code = ctypes.create_string_buffer(program)
    return ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8,
                                                   ctypes.addressof(code))), code


def without_perf_events():
    """For preexec_fn: perf_event_open fails with EPERM from here on, as in containers (seccomp(2))."""
    filters, code = perf_event_filter(0x00050001)
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((38, 1, 0, 0, 0), (22, 2, ctypes.addressof(filters), 0, 0)):
        if libc.prctl(*map(ctypes.c_ulong, call)) != 0:
            os._exit(1)
    del code  # until here the filter points to it


def wait_for_perf_events(test, running, count):
    """Until the profiler has as many perf events."""
    for _ in range(6000):
        test.assertIsNone(running.poll(), "it ended")
        own = f"/proc/{running.pid}/fd"
        opened = 0
        for name in os.listdir(own):
            with contextlib.suppress(FileNotFoundError):
                opened += os.readlink(f"{own}/{name}") == "anon_inode:[perf_event]"
        if opened >= count:
            return
        time.sleep(0.02)
    test.fail(f"{opened} perf events, expected {count}")

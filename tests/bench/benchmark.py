"""Capture against gcore, its modes against each other and zstd, and what the analyzer's answers cost, on one standard node in one run.

    benchmark.py [--scale N] [--repeat N] [--record]

Prints a table. --record also writes it, with date and machine, into docs/benchmarks.md.
"""

import argparse
import contextlib
import datetime
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "live"))

from modes import measure_modes, measure_stops, times  # noqa: E402
from support import tools  # noqa: E402
from support.node import start_workload  # noqa: E402
from support.paths import ANALYZE, CAPTURE  # noqa: E402

RECORD = ROOT / "docs" / "benchmarks.md"
MARKS = ("<!-- results: written by the bench_record target -->", "<!-- end of results -->")


class Measured:
    """Several runs of one thing: seconds, bytes written, longest stop, peak memory."""

    def __init__(self):
        self.runs = []

    def add(self, seconds, written, stop_ms, peak_kib):
        self.runs.append((seconds, written, stop_ms, peak_kib))

    def median(self, column):
        return statistics.median(run[column] for run in self.runs)

    def cells(self):
        return [times([run[0] for run in self.runs]),
                f"{self.median(1) / 1e6:.1f} MB", f"{self.median(2):.0f} ms",
                f"{self.median(3) / 1024:.1f} MiB"]


def with_watch(node, command):
    """Runs command while a process in the node watches for stops."""
    node.ask("watch")
    ended = tools.run_measured(command)
    return ended, int(node.ask("gap")) / 1000


def measure_capture(node, directory):
    dump = directory / "standard.beamdump"
    ended, stop = with_watch(node, [CAPTURE, "--quiet", "--force", "--threads", "2",
                                    "-o", dump, node.pid])
    tools.expect(ended, 0, 3)
    return (ended.seconds, tools.file_bytes(dump), stop, ended.peak_kib)


def measure_gcore(node, directory):
    """gcore, and its core after zstd -1."""
    prefix = directory / "core"
    ended, stop = with_watch(node, ["gcore", "-o", prefix, node.pid])
    tools.expect(ended, 0)
    core = directory / f"core.{node.pid}"
    core_bytes = tools.file_bytes(core)
    compressed = directory / "core.zst"
    squeezed = tools.expect(
        tools.run_measured(["zstd", "-1", "-q", "-f", "-o", compressed, core]), 0)
    measured = ((ended.seconds, core_bytes, stop, ended.peak_kib),
                (squeezed.seconds, tools.file_bytes(compressed)))
    core.unlink()
    compressed.unlink()
    return measured


def measure_answers(dump):
    """What each question costs: rows of the second table."""
    rows = []
    for arguments in (["summary", dump], ["processes", dump], ["processes", dump, "--limit", "0"],
                      ["backtrace", dump, "standard_state"], ["backtrace", dump, "standard_deep"],
                      ["backtrace", dump, "standard_queue"],
                      ["heap", dump, "standard_state"],
                      ["heap", dump, "standard_state", "--retained"],
                      ["memory", dump], ["ets", dump], ["binaries", dump],
                      ["binaries", dump, "--leaks"], ["allocators", dump], ["ports", dump],
                      ["schedulers", dump], ["timers", dump], ["nodes", dump], ["modules", dump],
                      ["atoms", dump], ["persistent-terms", dump], ["waits", dump],
                      ["tree", dump]):
        runs = [tools.expect(tools.analyze(*arguments, "--stats"), 0, 3) for _ in range(5)]
        read = tools.bytes_read(runs[0])
        words = [part if part is not dump else "DUMP" for part in arguments]
        rows.append([f"`{' '.join(words)}`",
                     f"{statistics.median(run.seconds for run in runs) * 1000:.0f} ms",
                     f"{read / 1e6:.2f} MB ({100 * read / tools.file_bytes(dump):.2f}%)",
                     f"{len(runs[0].output) / 1e3:.1f} kB",
                     f"{max(run.peak_kib for run in runs) / 1024:.1f} MiB"])
    return rows


def run_to_nowhere(command):
    """Seconds of a program whose output goes to /dev/null."""
    began = time.monotonic()
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def first_byte_ms(command):
    began = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        seconds = time.monotonic() - began
        process.stdout.read()
    return seconds * 1000


def measure_backtraces(dump, repeat=9):
    """Whole backtraces to /dev/null, in turn with zstd decompressing the same dump."""
    peer = ["zstd", "-dc", dump]
    commands = {name: [ANALYZE, "backtrace", dump, name]
                for name in ("standard_state", "standard_deep")}
    runs = {name: [] for name in commands}
    peer_runs = []
    for _ in range(repeat):
        for name, command in commands.items():
            runs[name].append(run_to_nowhere(command))
        peer_runs.append(run_to_nowhere(peer))
    peer_seconds = statistics.median(peer_runs)
    rows = []
    for name, command in commands.items():
        seconds = runs[name]
        whole = tools.run_measured(command)
        size = len(whole.output.encode())
        rows.append([f"`backtrace DUMP {name} > /dev/null`",
                     times(seconds),
                     f"{size / 1e6 / statistics.median(seconds):.0f} MB/s",
                     f"{statistics.median(seconds) / peer_seconds:.2f}",
                     f"{statistics.median(first_byte_ms(command) for _ in range(5)):.0f} ms",
                     f"{whole.peak_kib / 1024:.1f} MiB"])
    rows.append(["`zstd -dc DUMP > /dev/null`", f"{peer_seconds:.2f} s", "", "1", "", ""])
    return rows


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    erlang = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "erlang-base"],
                            capture_output=True, text=True).stdout
    return (f"{os.cpu_count()} cores of {model[1] if model else platform.machine()}, "
            f"{memory / (1 << 20):.0f} GiB, Linux {platform.release().split('-')[0]}, "
            f"erlang-base {erlang}")


def run(scale, repeat):
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        node = start_workload("standard", scale)
        stack.callback(node.stop)
        resident = node.status_field("VmRSS")
        capture, gcore, squeeze = Measured(), Measured(), []
        for _ in range(repeat):
            capture.add(*measure_capture(node, directory))
            core, squeezed = measure_gcore(node, directory)
            gcore.add(*core)
            squeeze.append(squeezed)
        modes = measure_modes(node, directory, repeat)
        stops = measure_stops(node, directory, 9)
        node.stop()
        answers = measure_answers(directory / "standard.beamdump")
        backtraces = measure_backtraces(directory / "standard.beamdump")

    squeeze_seconds = statistics.median(seconds for seconds, _ in squeeze)
    squeeze_bytes = statistics.median(size for _, size in squeeze)
    head = ["", "wall time (range)", "bytes written", "longest stop", "the tool's peak memory"]
    ratios = (f"Capture takes {capture.median(0) / gcore.median(0):.2f} of gcore's time; its file "
              f"is {capture.median(1) / squeeze_bytes:.2f} of the size of gcore's core after "
              f"`zstd -1`, and {capture.median(1) / gcore.median(1):.3f} of the core itself.")
    return "\n".join([
        f"{datetime.date.today().isoformat()}; {machine()}. Standard node at scale {scale:g}: "
        f"{resident / (1 << 20):.2f} GiB resident. Medians of {repeat} runs, taken in turn.", "",
        table(head, [["`beamdump-capture --threads 2`", *capture.cells()],
                     ["`gcore`", *gcore.cells()],
                     ["`zstd -1` of that core", f"{squeeze_seconds:.2f} s",
                      f"{squeeze_bytes / 1e6:.1f} MB", "", ""]]), "", ratios, "",
        table(["", "wall time (range)", "of zstd's speed", "longest stop", "stops",
               "peak memory"], modes), "",
        table(["", "median", "smallest", "largest", ""], stops), "",
        table(["question", "time", "read of the dump", "printed", "peak memory"], answers), "",
        table(["whole backtraces", "wall time (range)", "text", "of zstd's time", "first byte",
               "peak memory"], backtraces)])


def record(text, marks):
    """Puts text between two lines of docs/benchmarks.md."""
    document = RECORD.read_text()
    start, end = (document.index(mark) for mark in marks)
    RECORD.write_text(document[:start] + marks[0] + "\n\n" + text + "\n\n" + document[end:])


def main(document, measure, marks, repeat, scale=1):
    """A benchmark as a program: measure, called with scale and repeat, gives the text."""
    parser = argparse.ArgumentParser(description=document.splitlines()[0])
    parser.add_argument("--scale", type=float, default=scale)
    parser.add_argument("--repeat", type=int, default=repeat)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    text = measure(options.scale, options.repeat)
    print(text)
    if options.record:
        record(text, marks)


if __name__ == "__main__":
    main(__doc__, run, MARKS, repeat=3)

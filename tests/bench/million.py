"""Captures of a node with a million small processes, in turn with gcore of the same node, and of one with a tenth of them.

    million.py [--scale N] [--repeat N] [--record]

Prints tables. --record also writes them, with date and machine, into docs/benchmarks.md.
"""

import datetime
import os
import pathlib
import statistics
import sys
import tempfile
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "live"))

from benchmark import machine, main, table  # noqa: E402
from modes import capture, times  # noqa: E402
from support import tools  # noqa: E402
from support.node import start_workload  # noqa: E402

MARKS = ("<!-- a million processes: written by the bench_million_record target -->",
         "<!-- end of a million processes -->")
MODES = ("auto", "snapshot", "freeze")


class Runs:
    """Captures of one node in each mode, and its cores by gcore, in turn."""

    def __init__(self, scale, repeat, directory):
        with mock.patch.dict(os.environ, ERL_FLAGS=f"+P {round(1_500_000 * max(scale, 1))}"):
            node = start_workload("small_processes", scale)
        try:
            self.resident = node.status_field("VmRSS")
            self.captures = {mode: [] for mode in MODES}
            self.gcore = []
            for _ in range(repeat):
                for mode in MODES:
                    self.captures[mode].append(capture(node, directory / "million.beamdump", mode))
                self.gcore.append(tools.expect(tools.run_measured(
                    ["gcore", "-o", directory / "core", node.pid]), 0))
                (directory / f"core.{node.pid}").unlink()
        finally:
            node.stop()
        self.bytes_written = tools.file_bytes(directory / "million.beamdump")

    def seconds(self, mode):
        return [ended.seconds for ended, _, _ in self.captures[mode]]

    def processes(self):
        return self.captures["auto"][0][2]["processes"]


def run(scale, repeat):
    with tempfile.TemporaryDirectory() as scratch:
        tenth, whole = (Runs(part * scale, repeat, pathlib.Path(scratch)) for part in (0.1, 1))
    peer = statistics.median(ended.seconds for ended in whole.gcore)
    rows = []
    for mode in MODES:
        seconds = statistics.median(whole.seconds(mode))
        small = statistics.median(tenth.seconds(mode))
        runs = whole.captures[mode]
        rows.append([
            f"`--mode {mode}`", times(whole.seconds(mode)), f"{seconds / peer:.2f}",
            times(tenth.seconds(mode)), f"{seconds / small:.1f}",
            f"{statistics.median(cost['longest_stop_ns'] for _, cost, _ in runs) / 1e6:.1f} ms",
            f"{max(ended.peak_kib for ended, _, _ in runs) / 1024:.1f} MiB"])
    rows.append(["`gcore`", times([ended.seconds for ended in whole.gcore]), "1",
                 times([ended.seconds for ended in tenth.gcore]),
                 "", "", ""])
    return "\n".join([
        f"{datetime.date.today().isoformat()}; {machine()}. {whole.processes():,} processes, "
        f"{whole.resident / (1 << 20):.2f} GiB resident, {whole.bytes_written / 1e6:.1f} MB written; "
        f"and {tenth.processes():,} processes. Medians of {repeat} runs, taken in turn.", "",
        table(["", "wall time (range)", "of gcore's time", "a tenth of the processes",
               "times the tenth's", "longest stop", "peak memory"], rows)])


if __name__ == "__main__":
    main(__doc__, run, MARKS, repeat=5)

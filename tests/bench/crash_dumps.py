"""Answers from the standard node's crash dump, against `wc -l` and OTP's crashdump_viewer, in turn on the same file.

    crash_dumps.py [--scale N] [--repeat N] [--dump FILE] [--record]

Prints a table. --record also writes it, with date and machine, into docs/benchmarks.md.
"""

import argparse
import datetime
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "live"))

from benchmark import machine, record, table  # noqa: E402
from support import tools  # noqa: E402
from support.crash import crashdump_viewer  # noqa: E402
from support.paths import ANALYZE, PROGRAMS  # noqa: E402
from support.release import RELEASE  # noqa: E402

MARKS = ("<!-- crash dumps: written by the bench_crash_dumps_record target -->",
         "<!-- end of crash dumps -->")
SCREEN_BYTES = 4096
STATE = "standard_state"


class Runs:
    """One thing, measured several times: milliseconds and the peak."""

    def __init__(self):
        self.milliseconds = []
        self.peak_kib = 0

    def add(self, milliseconds, peak_kib):
        self.milliseconds.append(milliseconds)
        self.peak_kib = max(self.peak_kib, peak_kib)

    def median(self):
        return statistics.median(self.milliseconds)

    def cells(self):
        fastest, slowest = min(self.milliseconds), max(self.milliseconds)
        return [f"{self.median():,.0f} ms ({fastest:,.0f} to {slowest:,.0f})",
                f"{self.peak_kib / 1024:,.1f} MiB"]


def run(runs, *command):
    """The time is that of the whole program; GNU time's own is in hundredths of a second."""
    with open("/dev/null", "wb") as nowhere, tempfile.NamedTemporaryFile("r") as peak:
        began = time.monotonic()
        subprocess.run(["/usr/bin/time", "-q", "-f", "%M", "-o", peak.name, "--",
                        *map(str, command)], stdin=subprocess.DEVNULL, stdout=nowhere, check=True)
        milliseconds = (time.monotonic() - began) * 1000
        runs.add(milliseconds, int(peak.read().split()[-1]))


def make_dump(directory, scale):
    made = subprocess.run(
        [ROOT / "scripts" / "make-crash-dumps", "--workload", "standard", "--scale", f"{scale:g}",
         directory, "halt"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        check=True)
    return pathlib.Path(made.stdout.strip())


def measure(dump, repeat):
    state = tools.analyze_json("process", dump, STATE, "--limit", "1")["pid"]
    names = ("wc", "sections", "load and table", "processes", "details", "screen", "backtrace")
    runs = {name: Runs() for name in names}
    run(Runs(), "wc", "-l", dump)  # into the page cache
    for _ in range(repeat):
        run(runs["wc"], "wc", "-l", dump)
        run(runs["sections"], PROGRAMS / "crash_dump_sections", dump)
        took, ended = crashdump_viewer.measure(dump)
        runs["load and table"].add(took["load"] + took["table"], ended.peak_kib)
        run(runs["processes"], ANALYZE, "processes", dump, "--limit", "0")
        run(runs["screen"], ANALYZE, "backtrace", dump, STATE, "--max-bytes", SCREEN_BYTES)
        run(runs["backtrace"], ANALYZE, "backtrace", dump, STATE)
    # Once: it takes minutes at scale 1.
    took, ended = crashdump_viewer.measure(dump, state)
    runs["details"].add(took[state], ended.peak_kib)
    return runs


def rows(runs):
    def row(what, name, against=None):
        times = ""
        if against:
            times = f"{runs[against].median() / runs[name].median():,.1f} times as fast"
        return [what, *runs[name].cells(), times]

    return [row("`wc -l`", "wc"), row("all sections found", "sections", "wc"),
            row("crashdump_viewer: load, and the process table", "load and table"),
            row("`processes --limit 0`", "processes", "load and table"),
            row(f"crashdump_viewer: details of `{STATE}`, once", "details"),
            row(f"`backtrace {STATE} --max-bytes {SCREEN_BYTES}`", "screen", "details"),
            row(f"`backtrace {STATE} > /dev/null`", "backtrace", "details")]


def report(dump, what, repeat):
    runs = measure(dump, repeat)
    size = tools.file_bytes(dump)
    return "\n".join([
        f"{datetime.date.today().isoformat()}; {machine()}. {what}: "
        f"{size / 1e6:,.0f} MB. Medians of {repeat} runs, taken in turn.", "",
        table(["", "time (range)", "peak memory", "against its peer above"], rows(runs)), "",
        f"`wc -l` reads {size / 1e6 / runs['wc'].median():,.1f} GB/s, the sections are found at "
        f"{size / 1e6 / runs['sections'].median():,.1f} GB/s."])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--dump", type=pathlib.Path, help="one that is there, of a standard node")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if options.dump:
            dump, what = options.dump, f"Crash dump {options.dump.name}"
        else:
            dump = make_dump(directory, options.scale)
            what = f"Crash dump of the standard node at scale {options.scale:g}, OTP {RELEASE}"
        text = report(dump, what, options.repeat)
    print(text)
    if options.record:
        record(text, MARKS)


if __name__ == "__main__":
    main()

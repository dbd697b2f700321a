"""Shares of processor time by `beamdump-sample profile` beside the VM's own tracing and `perf
record`, and what profiling costs the node, on OTP 25, 27 and 29.

    profiles.py [--seconds N] [--record]

Prints tables. --record also writes them, with date and machine, into docs/benchmarks.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "live"))
sys.path.insert(0, str(ROOT / "tests" / "live" / "sampler"))

from benchmark import machine, record, table  # noqa: E402
from support.node import start_workload  # noqa: E402
from support.paths import SAMPLE  # noqa: E402
from test_profile import PARTS, part_of  # noqa: E402

MARKS = ("<!-- profiles: written by the bench_profiles_record target -->",
         "<!-- end of profiles -->")
RATE = 499


def shares(counts):
    total = sum(counts.values())
    return {part: 100 * count / total for part, count in counts.items()}


def told(node, question):
    words = node.ask(f"profiled {question}", seconds=600).split()
    return {part: float(share) for part, share in zip(words[::2], words[1::2])}


def by_profile(node, seconds):
    answer = json.loads(subprocess.run(
        [SAMPLE, "profile", "--json", "--rate", str(RATE), "--duration", f"{seconds}s",
         str(node.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout)
    counts = dict.fromkeys(PARTS, 0)
    for stack in answer["stacks"]:
        for part in part_of(stack["frames"]):
            counts[part] += stack["samples"]
    return shares(counts), answer["account"] | {"lost": answer["lost"]}


def by_perf(node, seconds):
    """perf's own stacks, with the names of the node's perf map."""
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "perf.data"
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(RATE), "-g", "-o", data,
                        "-p", str(node.pid), "--", "sleep", str(seconds)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], check=True,
                              capture_output=True, text=True).stdout
    counts = dict.fromkeys(PARTS, 0)
    for sample in text.split("\n\n"):
        frames = re.findall(r"^\s*[0-9a-f]+ \$([^\s+]+)", sample, re.MULTILINE)
        for part in part_of(frames):
            counts[part] += 1
    return shares(counts)


def rounds_a_second(node, seconds):
    before, began = int(node.ask("profiled rounds")), time.monotonic()
    time.sleep(seconds)
    after, ended = int(node.ask("profiled rounds")), time.monotonic()
    return (after - before) / (ended - began)


def cost(node, seconds, *command, repeat=9):
    """The throughput while a command samples, as a share of that without, in turn."""
    ratios = []
    for _ in range(repeat):
        without = rounds_a_second(node, seconds)
        running = subprocess.Popen([SAMPLE, *command, "--duration", "10m", str(node.pid)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(1)
        ratios.append(rounds_a_second(node, seconds) / without)
        running.terminate()
        running.wait()
    return ratios


def started(release, flags=""):
    os.environ["ERL_FLAGS"] = flags
    try:
        return start_workload("profiled", 1, otp=release)
    finally:
        del os.environ["ERL_FLAGS"]


def measure(release, seconds):
    node = started(release)
    columns = {}
    columns["`profile`"], account = by_profile(node, seconds)
    columns["`call_time`"] = told(node, "shares")
    costs = {name: cost(node, max(2, seconds // 4), *command)
             for name, command in (("a profile at 99 Hz", ["profile", "--rate", "99"]),
                                   ("alloc", ["alloc"]))}
    node.stop()
    node = started(release, "+JPperf true")
    columns["`perf record`, `+JPperf`"] = by_perf(node, seconds)
    node.stop()
    rows = [[part, *(f"{column[part]:.1f}%" for column in columns.values())] for part in PARTS]
    samples = ", ".join(f"{count} {kind}" for kind, count in account.items())
    return "\n".join([
        f"OTP {release}: {samples}.", "", table(["part of the work", *columns], rows), "",
        *(f"Rounds of the work with {name}, of those without: {statistics.median(ratios):.3f} (median "
          f"of {len(ratios)} in turn; {min(ratios):.3f} to {max(ratios):.3f})."
          for name, ratios in costs.items())])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    text = "\n\n".join([f"{datetime.date.today()}; {machine()}.", *(measure(release, arguments.seconds)
                                     for release in ("25", "27", "29"))])
    print(text)
    if arguments.record:
        record(text, MARKS)


if __name__ == "__main__":
    main()

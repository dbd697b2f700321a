"""What a node notices of beamdump-watch: requests that a busy server answers, and the longest delay of a process that
wants to run each millisecond, with and without a watcher that reads it each second and all its processes each 10 s.

    watch_noticed.py [--seconds N] [--window N] [--record]

Windows in pairs, in turn. Prints ratios, with the 95% interval of their median. --record also writes them, with
the machine, into docs/benchmarks.md.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

from benchmark import machine, record, table  # noqa: E402
from node_cost import Window, median_interval  # noqa: E402
from support.node import start_workload  # noqa: E402
from support.paths import WATCH  # noqa: E402
from support.tools import on_processor  # noqa: E402

MARKS = ("<!-- a watched node: written by the bench_watch_noticed_record target -->", "<!-- end of a watched node -->")
SECONDS = 300
WINDOW_SECONDS = 5
SETTLED_SECONDS = 2
MILLISECONDS_A_SECOND = 1000
RULES = "memory > 99%", "total > 99%", "atoms > 99%", "mailbox > 99999999", "held > 1h", "stalled > 1h"
REQUESTS, OF_PROCESSOR, DELAY, OWN = ("requests a second", "requests a second of the node's processor time",
                                      "longest delay of a window, ms", "the watcher's processor time, % of a core")


def measured(node, seconds, watch=None):
    node.ask("watch")
    before = on_processor(watch.pid) if watch else 0
    window = Window(node, lambda: int(node.ask("serving served")), seconds)
    spent = on_processor(watch.pid) - before if watch else 0
    return {REQUESTS: window.a_wall_second, OF_PROCESSOR: window.a_processor_second,
            DELAY: int(node.ask("gap")) / MILLISECONDS_A_SECOND, OWN: 100 * spent / seconds}


def watched(node, seconds):
    with tempfile.TemporaryDirectory() as folder:
        options = [option for rule in RULES for option in ("--rule", rule)]
        watch = subprocess.Popen([WATCH, "-o", folder, *options, str(node.pid)], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL)
        try:
            time.sleep(SETTLED_SECONDS)
            found = measured(node, seconds, watch)
            if watch.poll() is not None:
                raise RuntimeError("the watcher ended")
            return found
        finally:
            watch.terminate()
            watch.wait()


def alone(node, seconds):
    time.sleep(SETTLED_SECONDS)
    return measured(node, seconds)


def run(seconds, window):
    pairs = []
    node = start_workload("serving", 1)
    load = [os.getloadavg()[0]]
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end or not pairs:
            order = (watched, alone) if len(pairs) % 2 == 0 else (alone, watched)
            found = {how: how(node, window) for how in order}
            pairs.append((found[watched], found[alone]))
            load.append(os.getloadavg()[0])
    finally:
        node.stop()
    rows = []
    for name in (REQUESTS, OF_PROCESSOR, DELAY):
        ratios = [with_it[name] / without[name] for with_it, without in pairs]
        low, high = median_interval(ratios)
        rows.append([name, *(f"{statistics.median(one[which][name] for one in pairs):,.1f}" for which in (1, 0)),
                     f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"])
    own = statistics.median(with_it[OWN] for with_it, _ in pairs)
    return "\n".join([
        machine(), "",
        f"{len(pairs)} pairs of windows of {window:.0f} s, load {min(load):.1f} to {max(load):.1f} (the node's own work "
        f"is a part of it). The watcher took {own:.2f}% of a core.", "",
        table(["", "without", "with the watcher", "with of without, median of the pairs (95% interval)"], rows)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--window", type=float, default=WINDOW_SECONDS)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    text = run(options.seconds, options.window)
    print(text)
    if options.record:
        record(text, MARKS)


if __name__ == "__main__":
    main()

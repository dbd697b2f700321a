"""What beamdump-watch costs: processor time and memory of a watcher of a node of 10,000 processes that
is read each second, and of one that also samples the threads of a busy node. Prints; `watch_cost.py
SECONDS [RULE...]` for another time or other rules."""

import contextlib
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

from support.node import start_workload
from support.paths import WATCH
from support.tools import on_processor

SECONDS = 60
SETTLED_SECONDS = 5
SCALE_OF_10_000 = 0.01
SCALE_OF_BUSY = 0.1
RULES = "memory > 99%", "total > 99%", "atoms > 99%"
RATES = 10, 20


def memory_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    return f"{int(facts['VmHWM'].split()[0]) / 1024:.1f} MiB"


def measure(node, seconds, rules, *options):
    """What a watcher of the node took, as a sentence's part."""
    for rule in rules:
        options += "--rule", rule
    with tempfile.TemporaryDirectory() as folder:
        watch = subprocess.Popen([WATCH, "-o", folder, *map(str, options), str(node.pid)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            time.sleep(SETTLED_SECONDS)
            before, of_node, begun = on_processor(watch.pid), on_processor(node.pid), time.monotonic()
            time.sleep(seconds)
            spent, passed = on_processor(watch.pid) - before, time.monotonic() - begun
            used = on_processor(node.pid) - of_node
            memory = memory_of(watch.pid)
        finally:
            watch.terminate()
            watch.wait()
        recorded = sum(file.stat().st_size for file in pathlib.Path(folder).glob("*.recording"))
    return (f"{100 * spent / passed:.3f}% of a core, {memory} resident at most, {recorded / 1024:.0f} KiB recorded; "
            f"the node took {100 * used / passed:.0f}%")


@contextlib.contextmanager
def started(*workload):
    node = start_workload(*workload)
    try:
        yield node
    finally:
        node.stop()


def main(seconds, rules):
    with started("small_processes", SCALE_OF_10_000) as node:
        print(f"{', '.join(rules)}: {measure(node, seconds, rules)}", flush=True)
        print(f"with a profile, {RATES[0]} a second: "
              f"{measure(node, seconds, rules, '--record-profile', RATES[0])}", flush=True)
    with started("busy", SCALE_OF_BUSY) as node:
        print(f"of a busy node: {measure(node, seconds, rules)}", flush=True)
        for rate in RATES:
            print(f"of a busy node with a profile, {rate} a second: "
                  f"{measure(node, seconds, rules, '--record-profile', rate)}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS, sys.argv[2:] or RULES)

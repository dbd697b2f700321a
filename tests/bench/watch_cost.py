"""What beamdump-watch costs: processor time and memory of a watcher of a node of 10,000 processes that
is read each second. Prints; `watch_cost.py SECONDS [RULE...]` for another time or other rules."""

import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

from node_cost import on_processor
from support.node import start_workload
from support.paths import WATCH

SECONDS = 60
SETTLED_SECONDS = 5
SCALE_OF_10_000 = 0.01
RULES = "memory > 99%", "total > 99%", "atoms > 99%"


def memory_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    return f"{int(facts['VmHWM'].split()[0]) / 1024:.1f} MiB"


def main(seconds, rules):
    node = start_workload("small_processes", SCALE_OF_10_000)
    with tempfile.TemporaryDirectory() as folder:
        options = [option for rule in rules for option in ("--rule", rule)]
        watch = subprocess.Popen([WATCH, "-o", folder, *options, str(node.pid)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            time.sleep(SETTLED_SECONDS)
            before, begun = on_processor(watch.pid), time.monotonic()
            time.sleep(seconds)
            spent, passed = on_processor(watch.pid) - before, time.monotonic() - begun
            print(f"{', '.join(rules)}: {100 * spent / passed:.3f}% of a core, "
                  f"{memory_of(watch.pid)} resident at most")
        finally:
            watch.terminate()
            watch.wait()
            node.stop()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS, sys.argv[2:] or RULES)

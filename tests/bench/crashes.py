"""A node that dies by a signal: beamdump-capture as the handler of core_pattern against the kernel's own core.

    crashes.py [--scale N] [--repeat N] [--record]

In turn in an emulated machine, whose core_pattern is its own; and on this machine the kernel's core, where its
core_pattern is a file, against a capture of the same node that stands. Prints a table. --record also writes it,
with date and machine, into docs/benchmarks.md.
"""

import contextlib
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

from benchmark import machine, main, table  # noqa: E402
from modes import times  # noqa: E402
from support import tools  # noqa: E402
from support.guest import Guest, check_guest  # noqa: E402
from support.node import compile_testdata, start_workload  # noqa: E402
from support.paths import ANALYZE, CAPTURE  # noqa: E402

MARKS = ("<!-- crashes: written by the bench_crashes_record target -->", "<!-- end of crashes -->")
# 500 MB of heaps, about.
SCALE = 0.45
GUEST_MIB = 4096
MOST_SECONDS = 3000
HANDLED, CORE, STANDING = ("`beamdump-capture --crashed`", "the kernel's core",
                           "`beamdump-capture --mode freeze` of the node before")
# A node is started, and dies when it is ready. The kernel ends a process when its core has been taken.
COMMANDS = """
mkdir /dumps && mount -t tmpfs -o size=2g dumps /dumps
syslogd -O /node/log
ulimit -c unlimited
now() { cut -d' ' -f1 /proc/uptime; }
die() {
    echo "$2" > /proc/sys/kernel/core_pattern
    rm -f /node/ready /node/control
    /usr/lib/erlang/bin/erl -noinput -start_epmd false -pa /node/ebin -run workload start standard SCALE /node &
    until [ -s /node/ready ]; do sleep 1; done
    pid=$(cat /node/ready)
    sleep 2
    resident=$(sed -n 's/VmRSS:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$pid/status)
    begins=$(now)
    kill -SEGV $pid
    wait $!
    echo "died $1 $begins $(now) $resident $(stat -c '%s %b' /dumps/*)"
    [ $1 = handled ] && /usr/bin/beamdump-analyze summary /dumps/* | grep -E '^(Process|Taken|Died|processes)|process'
    rm /dumps/*
}
for run in $(seq REPEAT); do
    die handled '|/usr/bin/beamdump-capture --crashed %P -o /dumps --free 1MiB'
    die core /dumps/core
done
cat /node/log
"""


def in_guest(scale, repeat):
    """Of each way (seconds, bytes written) of its runs, and the node's resident KiB."""
    with tempfile.TemporaryDirectory() as scratch:
        guest = Guest(pathlib.Path(scratch) / "guest")
        guest.copy_erlang()
        guest.copy(compile_testdata(pathlib.Path(scratch)), "/node/ebin")
        guest.copy(CAPTURE, "/usr/bin/beamdump-capture")
        guest.copy(ANALYZE, "/usr/bin/beamdump-analyze")
        told, _ = guest.run(COMMANDS.replace("SCALE", str(scale)).replace("REPEAT", str(repeat)),
                            MOST_SECONDS, GUEST_MIB)
    found = re.findall(r"(?m)^died (\w+) ([\d.]+) ([\d.]+) (\d+) (\d+) (\d+)$", told)
    print(told, flush=True)
    if len(found) != 2 * repeat:
        raise RuntimeError(f"{len(found)} of {2 * repeat} nodes died as they should:\n{told[-3000:]}")
    runs = {HANDLED: [], CORE: []}
    for name, begins, ends, _, size, blocks in found:
        # A core has holes.
        runs[HANDLED if name == "handled" else CORE].append((float(ends) - float(begins),
                                                             min(int(size), 512 * int(blocks))))
    return runs, statistics.median(int(one[3]) for one in found)


def on_this_machine(scale, repeat):
    """As in_guest(), without a handler; None where the kernel's core is not a file in the node's folder."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if not re.fullmatch(r"\w+", pattern):
        return None
    runs = {STANDING: [], CORE: []}
    resident = []
    for _ in range(repeat):
        with contextlib.ExitStack() as stack:
            node = start_workload("standard", scale)
            stack.callback(node.stop)
            # The same share of a busy machine as the capture has: the kernel writes a core in the node's own time.
            pathlib.Path(f"/proc/{node.pid}/autogroup").write_text(
                pathlib.Path("/proc/self/autogroup").read_text().split()[-1])
            resident.append(node.status_field("VmRSS"))
            folder = pathlib.Path(os.readlink(f"/proc/{node.pid}/cwd"))
            dump = folder / "standing.beamdump"
            ended = tools.expect(tools.run_measured([CAPTURE, "--quiet", "--mode", "freeze", "-o", dump, node.pid]), 0, 3)
            runs[STANDING].append((ended.seconds, tools.file_bytes(dump)))
            dump.unlink()
            subprocess.run(["prlimit", f"--pid={node.pid}", "--core=unlimited:unlimited"], check=True)
            begun = time.monotonic()
            os.kill(node.pid, signal.SIGSEGV)
            while pathlib.Path(f"/proc/{node.pid}/exe").exists():
                time.sleep(0.01)
            seconds = time.monotonic() - begun
            [core] = folder.glob(pattern + "*")
            runs[CORE].append((seconds, min(core.stat().st_size, 512 * core.stat().st_blocks)))
            core.unlink()
    return runs, statistics.median(resident)


def rows_of(runs):
    seconds, size = ({name: statistics.median(run[column] for run in of_way) for name, of_way in runs.items()}
                     for column in (0, 1))
    return [[name, times([run[0] for run in of_way]), f"{size[name] / 1e6:.1f} MB",
             f"{seconds[name] / seconds[CORE]:.2f}", f"{size[name] / size[CORE]:.3f}"]
            for name, of_way in runs.items()]


def run(scale, repeat):
    head = ["", "from the signal to the node's end (range)", "bytes written", "of the core's time", "of the core's bytes"]
    emulated, resident = in_guest(scale, repeat)
    lines = [machine(), "",
             f"In an emulated machine of 2 processors, without hardware support, everything in memory: {resident / 1024:.0f} "
             f"MiB resident, medians of {repeat} runs, taken in turn.", "",
             table(head, rows_of(emulated))]
    own = on_this_machine(scale, repeat)
    if own:
        standing, resident = own
        lines += ["", f"On the machine itself: {resident / 1024:.0f} MiB resident, medians of {repeat} runs. The capture is of the "
                  "node that stands, as the one that dies does.", "",
                  table(["", "time (range)", *head[2:]], rows_of(standing))]
    return "\n".join(lines)


if __name__ == "__main__":
    check_guest()
    main(__doc__, run, MARKS, repeat=3, scale=SCALE)

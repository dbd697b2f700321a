"""The modes of capturing on one node, in turn with zstd -1 -T2 over the same pages; what stops cost
where small processes never rest, beside a bare stop of all threads and a bare fork."""

import json
import statistics
import subprocess

from support import tools
from support.paths import CAPTURE, PROGRAMS

MODES = ("live", "auto", "snapshot", "freeze")
BUSY = "start busy 0.25"


def capture(node, dump, mode):
    """Seconds, peak in KiB, and what the dump says of its stops."""
    ended = tools.expect(tools.run_measured(
        [CAPTURE, "--quiet", "--force", "--threads", "2", "--mode", mode, "-o", dump, node.pid]),
        0, 3)
    summary = tools.analyze_json("summary", dump)
    return ended, summary["capture"], summary["counts"]


def driver(node, *options):
    ended = subprocess.run([PROGRAMS / "twin_driver", *options, str(node.pid)],
                           capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def median(values):
    return statistics.median(values)


def times(seconds):
    return f"{median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def measure_modes(node, directory, repeat):
    """Rows of a table: time, of zstd's time, longest stop, stops, peak."""
    runs = {mode: [] for mode in MODES}
    peer = []
    dump, pages = directory / "modes.beamdump", directory / "pages"
    for _ in range(repeat):
        for mode in MODES:
            runs[mode].append(capture(node, dump, mode))
        with pages.open("wb") as output:
            subprocess.run(["zstd", "-dcq", dump], stdout=output, check=True)
        squeezed = tools.expect(tools.run_measured(
            ["zstd", "-1", "-T2", "-q", "-f", "-o", directory / "pages.zst", pages]), 0)
        peer.append(squeezed.seconds)
    pages.unlink()
    rows = []
    for mode, measured in runs.items():
        seconds = [ended.seconds for ended, _, _ in measured]
        longest = [capture["longest_stop_ns"] / 1e6 for _, capture, _ in measured]
        rows.append([f"`--mode {mode}`",
                     times(seconds),
                     f"{median(peer) / median(seconds):.2f}", f"{median(longest):.1f} ms",
                     f"{max(capture['stops'] for _, capture, _ in measured)}",
                     f"{max(ended.peak_kib for ended, _, _ in measured) / 1024:.1f} MiB"])
    rows.append(["`zstd -1 -T2` of the same stream",
                 times(peer), "1", "", "", ""])
    return rows


def measure_stops(node, directory, repeat):
    """Rows of a table of milliseconds: median, smallest, largest. The kernel's own fork of the node
    is measured inside each stop, beside forks of another program with as many pages. Makes some of
    the node's processes busy, for good."""
    forks = [us / 1000 for us in
             driver(node, "--measure-fork", str(repeat))[0]["fork_us"]]
    twins = driver(node, "--repeat", str(repeat), "--bare-stop")
    quiet = [twin["bare_stop_us"] / 1000 for twin in twins]
    snapshots = [twin["stop_us"] / 1000 for twin in twins]
    own_forks = [twin["fork_us"] / 1000 for twin in twins]
    node.ask(BUSY)
    dump = directory / "stops.beamdump"
    busy, stops, left = [], [], []
    for _ in range(repeat):
        _, cost, counts = capture(node, dump, "auto")
        busy.append(cost["longest_stop_ns"] / 1e6)
        stops.append(cost["stops"])
        left.append(counts["processes_void"])
    bare = [twin["bare_stop_us"] / 1000
            for twin in driver(node, "--repeat", str(repeat), "--bare-stop")]

    def row(what, values, note=""):
        return [what, f"{median(values):.1f} ms", f"{min(values):.1f} ms", f"{max(values):.1f} ms",
                note]

    share = median(stop / fork for stop, fork in zip(snapshots, own_forks))
    return [row("another program's fork of as many pages", forks),
            row("the kernel's fork of the node, for a twin", own_forks),
            row("the whole stop for that twin, node at rest", snapshots,
                f"{share:.2f} of the kernel's fork of the node"),
            row("bare stop of all threads, node at rest", quiet),
            row("bare stop of all threads, 100 busy processes", bare),
            row("longest stop of `--mode auto`, 100 busy processes", busy,
                f"{median(busy) - median(bare):.1f} ms more than the bare stop; {min(stops)} to "
                f"{max(stops)} stops, at most {max(left)} processes left void")]

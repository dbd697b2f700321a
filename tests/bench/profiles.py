"""Shares of processor time and of allocated words per function, by `beamdump-sample profile` and
`alloc` beside the VM's own profilers and `perf record`, and what they cost the node, on OTP 25, 27
and 29.

    profiles.py [--seconds N] [--turns N] [--pairs N] [--window N] [--releases 25,27,29] [--record]

Prints tables. --record also writes them, with date and machine, into docs/benchmarks.md.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "live"))

from benchmark import machine, record, table  # noqa: E402
from node_cost import costs_of  # noqa: E402
from support.node import start_workload  # noqa: E402
from support.paths import SAMPLE  # noqa: E402
from top_ten import Shares, compared  # noqa: E402

MARKS = ("<!-- profiles: written by the bench_profiles_record target -->",
         "<!-- end of profiles -->")
RATE = 499
REGULAR_RATE = 99
# Of whose functions the VM tells what they take: those of the work.
MODULES = ("mixed:", "lists:", "gen:", "gen_server:")
PHASES = ("mixed:one_half/1", "mixed:three_tenths/1", "mixed:two_tenths/1")


def of_work(taken):
    return {function: of for function, of in taken.items() if function.startswith(MODULES) and of > 0}


def told(node, question):
    """What each function takes by the VM's own profiler."""
    words = node.ask(f"mixed {question}", seconds=600).split()
    return of_work(dict(zip(words[::3], map(int, words[2::3]))))


def answered(node, command, seconds, *options):
    ended = subprocess.run([SAMPLE, command, "--json", *options, "--duration", f"{seconds}s",
                            str(node.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return json.loads(ended.stdout)


class Profiles:
    """Of several turns: samples of functions, those of their own code, and the account."""

    def __init__(self, rate):
        self.rate = rate
        self.turns, self.own_turns, self.account = [], [], {"lost": 0}
        self.samples = self.elsewhere = 0

    def add(self, node, seconds):
        answer = answered(node, "profile", seconds, "--rate", str(self.rate))
        functions = answer["functions"]
        self.turns.append(of_work({one["function"]: one["self"] for one in functions}))
        self.own_turns.append(of_work({one["function"]: one["self"] - one["native"]
                                       for one in functions}))
        self.samples += answer["samples"]
        self.elsewhere += sum(one["self"] for one in functions) - sum(self.turns[-1].values())
        for kind, count in (answer["account"] | {"lost": answer["lost"]}).items():
            self.account[kind] = self.account.get(kind, 0) + count

    def told(self):
        """Which samples are in no function of the work."""
        inside = sum(sum(turn.values()) for turn in self.turns)
        unknown = self.samples - inside - self.elsewhere
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.account.items())
        return (f"{self.samples} samples: {100 * inside / self.samples:.1f}% in functions of the work, "
                f"{100 * self.elsewhere / self.samples:.1f}% in others, "
                f"{100 * unknown / self.samples:.1f}% without a function ({kinds}).")


def compare_time(node, seconds, turns):
    profiles, truth = Profiles(RATE), []
    for _ in range(turns):
        profiles.add(node, seconds)
        truth.append(told(node, "time"))
    return [*compared(Shares(truth), Shares(profiles.turns, counts=True),
                      ("call_time", "profile")), profiles.told()]


def compare_words(node, seconds, turns):
    ours, truth, certain, words = [], [], 0, 0
    for _ in range(turns):
        answer = answered(node, "alloc", seconds)
        ours.append(of_work({one["function"]: one["words"] for one in answer["functions"]}))
        certain += answer["certain_words"]
        words += answer["words"]
        truth.append(told(node, "words"))
    return [*compared(Shares(truth), Shares(ours), ("call_memory", "alloc")),
            f"{100 * certain / words:.1f}% of the words that `alloc` saw are of certain functions."]


def compare_regular(node, seconds, turns):
    """The loop whose period is that of the samples."""
    node.ask("mixed regular")
    profiles, truth = Profiles(REGULAR_RATE), []
    for _ in range(turns):
        profiles.add(node, 2 * seconds)
        truth.append(told(node, "time"))
    node.ask("mixed mixed")
    ours, theirs = Shares(profiles.turns, counts=True), Shares(truth)
    furthest = max(abs(ours.share(phase) - theirs.share(phase)) for phase in PHASES)
    return [table(["phase", "call_time", f"profile, {REGULAR_RATE} Hz"],
                  [[f"`{phase}`", theirs.cell(phase), ours.cell(phase)] for phase in PHASES]), "",
            f"Largest difference {furthest:.1f} points, of {profiles.samples} samples."]


def perf_script(node, seconds, *options):
    """Samples of perf record, each the names of its frames, the innermost first."""
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "perf.data"
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(RATE), *options, "-o", data,
                        "-p", str(node.pid), "--", "sleep", str(seconds)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], check=True,
                              capture_output=True, text=True).stdout
    samples = text.split("\n\n") if options else text.splitlines()
    return [re.findall(r"^\s*[0-9a-f]+ (\S+)", sample, re.MULTILINE) for sample in samples
            if sample.strip()]


def erlang_function(symbol):
    """Of perf's name of a place in a function's code; nothing in other code."""
    found = re.fullmatch(r"\$([^:]+:[^/]+/\d+).*", symbol)
    return found[1] if found and not symbol.startswith("$global::") else None


def compare_perf(node, seconds, turns):
    """Samples in functions' own code: of native code perf mostly does not say who called it."""
    profiles, theirs, taken, in_code = Profiles(RATE), [], 0, 0
    for _ in range(turns):
        profiles.add(node, seconds)
        counts = {}
        for frames in perf_script(node, seconds):
            taken += 1
            if function := erlang_function(frames[0]):
                in_code += 1
                counts[function] = counts.get(function, 0) + 1
        theirs.append(of_work(counts))
    ours = Shares(profiles.own_turns, counts=True)
    native = unwound = 0
    for frames in perf_script(node, seconds, "--call-graph", "dwarf,8192"):
        if frames and not frames[0].startswith("$"):
            native += 1
            first = next((frame for frame in frames if frame.startswith("$")), "")
            unwound += erlang_function(first) is not None
    return [*compared(Shares(theirs, counts=True), ours, ("perf", "profile")),
            f"In functions' own code are {100 * in_code / taken:.1f}% of perf's {taken} samples and "
            f"{100 * ours.total / profiles.samples:.1f}% of the {profiles.samples} of `profile`. Of perf's "
            f"samples in native code, unwound by DWARF, {100 * unwound / max(native, 1):.0f}% lead to an "
            f"Erlang function, the others to shared code of the JIT or to nothing."]


@contextlib.contextmanager
def started(workload, release, flags="", scale=1):
    os.environ["ERL_FLAGS"] = flags
    try:
        node = start_workload(workload, scale, otp=release)
    finally:
        del os.environ["ERL_FLAGS"]
    try:
        yield node
    finally:
        node.stop()
        for file in (f"/tmp/perf-{node.pid}.map", f"/tmp/jit-{node.pid}.dump"):
            pathlib.Path(file).unlink(missing_ok=True)


def costs(release, pairs, window):
    commands = (["profile", "--rate", "99"], ["alloc"], ["profile", "--rate", "990"])
    # Schedulers without work would take processor time too, more or less of it.
    with started("profiled", release, "+sbwt none +sbwtdcpu none +sbwtdio none") as node:
        found = costs_of(node, lambda: int(node.ask("profiled rounds")),
                         [[SAMPLE, *command, "--duration", "10m"] for command in commands], window, pairs)
    rows = [[f"`{' '.join(command)}`", *cost.cells()] for command, cost in zip(commands, found)]
    return [table(["", "less a second", "less a second of the node's processor time",
                   "the program's own processor time"], rows)]


def measure(release, arguments):
    parts = shares(release, arguments.seconds, arguments.turns) if arguments.turns > 0 else []
    if arguments.pairs > 0:
        parts.append((f"cost, {arguments.pairs} pairs of windows of {arguments.window} s",
                      costs(release, arguments.pairs, arguments.window)))
    text = "\n\n".join(f"**OTP {release}, {name}.**\n\n" + "\n".join(lines) for name, lines in parts)
    print(text, flush=True)
    return text


def shares(release, seconds, turns):
    parts = []
    with started("mixed", release) as node:
        parts.append(("time", compare_time(node, seconds, turns)))
        if int(release) >= 27:
            parts.append(("words, heaps of 100,000", compare_words(node, seconds, turns)))
        parts.append(("a regular loop", compare_regular(node, seconds, turns)))
    if int(release) >= 27:
        with started("mixed", release, scale=10) as node:
            parts.append(("words, heaps of 1,000,000", compare_words(node, seconds, turns)))
    with started("mixed", release, "+JPperf true") as node:
        parts.append(("beside perf", compare_perf(node, seconds, turns)))
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10, help="of a profile in each turn")
    parser.add_argument("--turns", type=int, default=6, help="of each comparison; 0: none")
    parser.add_argument("--pairs", type=int, default=40, help="of windows, for the cost; 0: not measured")
    parser.add_argument("--window", type=int, default=2, help="seconds of each of these windows")
    parser.add_argument("--releases", default="25,27,29")
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    text = "\n\n".join([f"{datetime.date.today()}; {machine()}.",
                        *(measure(release, arguments)
                          for release in arguments.releases.split(","))])
    if arguments.record:
        record(text, MARKS)


if __name__ == "__main__":
    main()

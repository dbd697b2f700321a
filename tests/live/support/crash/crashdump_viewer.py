"""Runs OTP's crashdump_viewer without its graphics on a crash dump, and measures its time.
scripts/install-otp --crashdump-viewer unpacks its modules."""

import contextlib
import json
import os
import subprocess
import sys
import unittest
from dataclasses import dataclass, field

from support import tools
from support.node import base_environment, compile_testdata, temporary_directory
from support.paths import ROOT
from support.release import RELEASE, of_release

# Groups of the zoo's terms that take crashdump_viewer most of its time. A list is written the same
# way whatever its length. BEAMDUMP_LONG_LISTS includes them (soak).
SLOW_GROUPS = () if "BEAMDUMP_LONG_LISTS" in os.environ else ("long_lists",)
# install-otp's exit status if a package of a changing suite is not available.
NOT_TO_BE_HAD = 77


class Unavailable(Exception):
    """This release's crashdump_viewer is not available: its suite has changed."""


@dataclass
class Viewed:
    """Its answers about a dump. Terms have the form of testdata/crash_dumps/crash_dump_terms.erl."""
    general: dict = field(default_factory=dict)
    table: dict = field(default_factory=dict)  # by pid, as in its list of processes
    details: dict = field(default_factory=dict)  # by pid, with stack, messages and dictionary
    failed: dict = field(default_factory=dict)  # reasons for missing details, by pid
    left_out: list = field(default_factory=list)  # pids that were not asked about
    said: str = ""  # its warnings about the dump


def modules(release=RELEASE):
    """The folder with its modules."""
    found = subprocess.run([ROOT / "scripts" / "install-otp", "--crashdump-viewer", release],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if found.returncode == NOT_TO_BE_HAD:
        raise Unavailable(found.stderr)
    if found.returncode != 0:
        raise FileNotFoundError(f"no crashdump_viewer of OTP {release}:\n{found.stderr}")
    return found.stdout.strip()


def run_tests():
    """Runs the tests, or exits with the status that says that they cannot run."""
    try:
        modules()
    except Unavailable as reason:
        print(f"NOT TESTED here: {reason}", file=sys.stderr)
        sys.exit(NOT_TO_BE_HAD)
    unittest.main(verbosity=2)


def view(dump, left_out=()):
    """Its answers about the dump, without the terms of the processes in left_out (names or pids)."""
    with contextlib.ExitStack() as belongings:
        directory = temporary_directory(belongings)
        answers = directory / "answers.jsonl"
        ended = _run(directory, "write", dump, answers, *left_out)
        viewed = Viewed(said=ended.stdout)
        with answers.open(encoding="utf-8") as lines:
            for line in lines:
                _take(viewed, json.loads(line))
        return viewed


def _take(viewed, answer):
    what = answer.pop("what")
    if what == "general":
        viewed.general = answer
    elif what == "row":
        viewed.table[answer["pid"]] = answer
    elif what == "details":
        viewed.details[answer["pid"]] = answer
    elif what == "failed":
        viewed.failed[answer["pid"]] = answer["reason"]
    elif what == "left_out":
        viewed.left_out.append(answer["pid"])


def measure(dump, *pids):
    """Milliseconds for "load", "table" and each pid's details, and what ran: its peak counts."""
    with contextlib.ExitStack() as belongings:
        directory = temporary_directory(belongings)
        command = _command(directory, "measure", dump, *pids)
        ended = tools.expect(tools.run_measured(
            ["env", "-i", *(f"{name}={value}" for name, value in
                            base_environment(directory).items()), *command]), 0)
        pairs = (line.split() for line in ended.output.splitlines())
        return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}, ended


def _run(directory, function, *arguments):
    ended = subprocess.run(_command(directory, function, *arguments), cwd=directory,
                           env=base_environment(directory), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace")
    if ended.returncode != 0:
        raise AssertionError(f"crashdump_viewer ended with {ended.returncode}:\n"
                             f"{ended.stdout[-4000:]}")
    return ended


def _command(directory, function, *arguments):
    ebin = compile_testdata(directory)
    return of_release("erl", "-noinput", "-start_epmd", "false", "-boot", "no_dot_erlang",
                      "-pa", modules(), "-pa", ebin,
                      "-run", "viewed_crash_dump", function, *arguments)

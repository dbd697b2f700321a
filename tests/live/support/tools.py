"""Runs the programs, and measures them."""

import json
import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass

from support.paths import ANALYZE, CAPTURE


@dataclass
class Ended:
    """A program that ran to its end."""
    status: int
    output: str
    diagnostics: str
    seconds: float
    peak_kib: int  # largest resident size


def run_measured(command):
    """Runs command below GNU time: a child of Python's own would count Python's memory."""
    with tempfile.NamedTemporaryFile("r") as figures:
        result = subprocess.run(
            ["/usr/bin/time", "-q", "-f", "%e %M", "-o", figures.name, "--",
             *map(str, command)],
            stdin=subprocess.DEVNULL, capture_output=True)
        seconds, peak = figures.read().split()[-2:]
    return Ended(result.returncode, result.stdout.decode(errors="replace"),
                 result.stderr.decode(errors="replace"), float(seconds), int(peak))


def expect(ended, *statuses):
    if ended.status not in statuses:
        raise AssertionError(f"exit status {ended.status}, expected one of {statuses}; "
                             f"diagnostics:\n{ended.diagnostics[-2000:]}")
    return ended


def capture(node, dump, *options):
    """A capture that worked, perhaps with processes that it could not copy (status 3)."""
    return expect(run_measured([CAPTURE, "--quiet", "-o", dump, *options, node.pid]), 0, 3)


def analyze(*arguments):
    return run_measured([ANALYZE, *arguments])


def parse(ended):
    return json.loads(ended.output)


def analyze_json(*arguments):
    return parse(expect(analyze(*arguments, "--json"), 0, 3))


def bytes_read(ended):
    """Of the dump's file, as --stats says."""
    return int(re.search(r"file_bytes_read=(\d+)", ended.diagnostics)[1])


def file_bytes(path):
    return pathlib.Path(path).stat().st_size

"""Watchers of test nodes."""

import contextlib
import json
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from support.node import ApplicationStart, start_workload
from support.paths import ANALYZE, WATCH

READY_SECONDS = 120


class Watch:
    """A watcher that runs, and what it has said so far. `begin`: a command line that goes before its own."""

    def __init__(self, belongings, folder, *options, begin=()):
        self.folder = folder
        self.log = folder.parent / f"{folder.name}.events"
        self.errors = folder.parent / f"{folder.name}.errors"
        folder.mkdir(exist_ok=True)
        free = () if "--free" in options else ("--free", "1M")
        with self.log.open("wb") as log, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*map(str, begin), WATCH, "--json", *free, "-o", folder, *map(str, options)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=errors)
        belongings.callback(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait()

    def all_events(self):
        text = self.log.read_text()
        # A line that is being written has no end yet.
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def events(self, kind):
        return [event for event in self.all_events() if event["event"] == kind]

    def wait_for(self, kind, count=1):
        """The first `count` events of that kind."""
        deadline = time.monotonic() + READY_SECONDS
        while len(self.events(kind)) < count:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no {kind}: {self.log.read_text()} {self.errors.read_text()}")
            time.sleep(0.05)
        return self.events(kind)[:count]

    def dumps(self):
        return sorted(self.folder.glob("*.beamdump"))


def run(*command):
    ended = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode not in (0, 3):
        raise RuntimeError(f"{command}: {ended.stderr}")
    return ended


def summary_of(dump):
    return json.loads(run(ANALYZE, "summary", dump, "--json").stdout)


def wait_past(dump):
    """Until the second in the name of a dump or recording is over."""
    name = re.search(r"-(\d{8}T\d{6})Z[-.]", dump)[1]
    while time.strftime("%Y%m%dT%H%M%S", time.gmtime()) <= name:
        time.sleep(0.05)


class WithNode(unittest.TestCase):
    def setUp(self):
        self.belongings = self.enterContext(contextlib.ExitStack())
        self.scratch = pathlib.Path(self.belongings.enter_context(tempfile.TemporaryDirectory()))

    def workload(self, *arguments):
        node = start_workload(*arguments)
        self.belongings.callback(node.stop)
        return node

    def started(self, *options, **environment):
        """A node with an epmd of its own."""
        start = ApplicationStart()
        node = start.run(["erl", "-noinput", *options, "-pa", start.ebin, "-kernel",
                          "inet_dist_use_interface", "{127,0,0,1}", "-run", "control", "start",
                          start.directory / "control"], "kernel", environment)
        self.belongings.callback(node.stop)
        return node

    def watch(self, *options):
        return Watch(self.belongings, self.scratch / "dumps", *options)

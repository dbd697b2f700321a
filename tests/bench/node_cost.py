"""What a command that watches a node costs it: work done with and without, in turn."""

import os
import pathlib
import statistics
import subprocess
import time

from support.tools import on_processor


class Window:
    """Rounds of the node's work in some seconds of wall time."""

    def __init__(self, node, rounds, seconds):
        before = (rounds(), on_processor(node.pid), time.monotonic())
        time.sleep(seconds)
        after = (rounds(), on_processor(node.pid), time.monotonic())
        done, of_processor, of_wall = (now - then for then, now in zip(before, after))
        self.a_wall_second = done / of_wall
        self.a_processor_second = done / of_processor


class Cost:
    """Throughput of a node while a command watches it, as parts of that without."""

    def __init__(self):
        self.wall, self.processor, self.own = [], [], []

    def add(self, watched, own, alone):
        self.wall.append(watched.a_wall_second / alone.a_wall_second)
        self.processor.append(watched.a_processor_second / alone.a_processor_second)
        self.own.append(own)

    def cells(self):
        return [_told(self.wall), _told(self.processor), f"{100 * statistics.median(self.own):.2f}%"]


def costs_of(node, rounds, commands, seconds, turns):
    """A Cost for each command; the node's pid is appended to it. rounds: a function that returns how
    many rounds the node has done. The window without a command is between the first two."""
    costs = [Cost() for _ in commands]
    order = [*zip(costs, commands)]
    order.insert(1, (None, None))
    for turn in range(turns):
        # What changes steadily meanwhile cancels out over two turns.
        measured = {cost: _measured(node, rounds, command, seconds)
                    for cost, command in (order if turn % 2 == 0 else reversed(order))}
        alone, _ = measured.pop(None)
        for cost, (window, own) in measured.items():
            cost.add(window, own, alone)
    return costs


def _measured(node, rounds, command, seconds):
    """A window, and the command's own processor time in each second."""
    if command is None:
        # As long after another window as the other kind.
        time.sleep(1)
        return Window(node, rounds, seconds), None
    running = subprocess.Popen([*command, str(node.pid)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for_events(running)
        began, spent = time.monotonic(), on_processor(running.pid)
        window = Window(node, rounds, seconds)
        own = (on_processor(running.pid) - spent) / (time.monotonic() - began)
        if running.poll() is not None:
            raise RuntimeError(f"{command} ended")
        return window, own
    finally:
        running.kill()
        running.wait()


def _target(link):
    """What a descriptor refers to; nothing if it was closed meanwhile."""
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


def _wait_for_events(running):
    """Until it has perf events, and half a second longer."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.poll() is None:
        links = pathlib.Path(f"/proc/{running.pid}/fd")
        if any("perf_event" in _target(link) for link in links.iterdir()):
            time.sleep(0.5)
            return
        time.sleep(0.02)
    raise RuntimeError("no perf events were set")


def _told(ratios):
    """By how much there is less, in percent: the median, and the 95% interval of that."""
    low, high = median_interval(ratios)
    return (f"{100 * (1 - statistics.median(ratios)):.2f}% "
            f"({100 * (1 - high):.2f} to {100 * (1 - low):.2f})")


def median_interval(values):
    """Between these is the median with a probability of at least 95%, whatever the distribution: so
    many values on each side, by the binomial distribution. All values, if they are too few."""
    values = sorted(values)
    count = len(values)
    below, part = 0, 0.5 ** count
    outside = part
    while 2 * outside <= 0.05:
        below += 1
        part *= (count - below + 1) / below
        outside += part
    return values[max(0, below - 1)], values[min(count - 1, count - below)]

"""The state of a process as seen from outside."""

import contextlib
import os
import pathlib
import time


def eventually(true, seconds=1.0):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def entries(pid):
    """A process's threads and children."""
    tasks = pathlib.Path(f"/proc/{pid}/task")
    threads = sorted(os.listdir(tasks))
    children = []
    for thread in threads:
        with contextlib.suppress(OSError):
            children += (tasks / thread / "children").read_text().split()
    return threads, sorted(children)


def state(pid):
    """The kernel's letter for its state; None if there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def states(pid):
    """The states of all its threads."""
    return {state(thread) for thread in os.listdir(f"/proc/{pid}/task")}


class Process:
    """The state that a process must have again when its twin is gone."""

    def __init__(self, pid):
        self.pid = pid
        self.directory = pathlib.Path(f"/proc/{pid}")

    def threads(self):
        return sorted(os.listdir(self.directory / "task"))

    def shape(self):
        """Its threads, descriptors, children, and blocked signals of each thread."""
        links = {}
        for entry in os.listdir(self.directory / "fd"):
            with contextlib.suppress(OSError):
                links[entry] = os.readlink(self.directory / "fd" / entry)
        children = []
        blocked = {}
        for thread in self.threads():
            task = self.directory / "task" / thread
            with contextlib.suppress(OSError):
                children += (task / "children").read_text().split()
                blocked[thread] = self._field(task / "status", "SigBlk")
        return {"threads": self.threads(), "descriptors": links, "children": sorted(children),
                "blocked": blocked}

    def states(self):
        return {thread: self._field(self.directory / "task" / thread / "status", "State")[0]
                for thread in self.threads()}

    def traced(self):
        return any(self._field(self.directory / "task" / thread / "status", "TracerPid") != "0"
                   for thread in self.threads())

    def resident_kib(self):
        return int(self._field(self.directory / "status", "VmRSS").split()[0])

    @staticmethod
    def _field(path, name):
        with contextlib.suppress(OSError):
            for line in path.read_text().splitlines():
                if line.startswith(name + ":"):
                    return line.split(":", 1)[1].strip()
        return "?"

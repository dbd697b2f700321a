"""What can be seen of a process from outside."""

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
    """The letter that the kernel has for it; None where there is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def states(pid):
    """Of all its threads."""
    return {state(thread) for thread in os.listdir(f"/proc/{pid}/task")}

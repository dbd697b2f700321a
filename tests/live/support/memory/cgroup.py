"""A memory cgroup of its own for a node and what runs beside it, as in a container. Version 1 only:
the kernels of these tests' machines have it, and its files are the same everywhere."""

import contextlib
import os
import pathlib
import time

MIB = 2**20
MOUNT = pathlib.Path("/sys/fs/cgroup/memory")


def parent():
    """The cgroup of this process; None: there is no memory controller of version 1 to write to."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            directory = MOUNT / path.lstrip("/")
            directory = directory if directory.is_dir() else MOUNT
            return directory if os.access(directory, os.W_OK) else None
    return None


class MemoryCgroup:
    def __init__(self, name):
        self.directory = parent() / f"beamdump-test.{os.getpid()}.{name}"
        self.directory.mkdir()

    def join(self):
        """For a child before it executes."""
        (self.directory / "cgroup.procs").write_text(str(os.getpid()))

    def holding(self, *command):
        """The command, begun in this cgroup; for threads, where join() in a child is not safe."""
        return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.directory / "cgroup.procs"),
                *command]

    def number(self, file):
        return int((self.directory / file).read_text())

    def leave(self, mebibytes):
        """Limits it so that so much is left beyond what its processes use now; what can be taken
        back from the page cache is not counted as used."""
        with contextlib.suppress(OSError):
            (self.directory / "memory.force_empty").write_text("0")
        used = self.number("memory.usage_in_bytes")
        (self.directory / "memory.limit_in_bytes").write_text(str(used + int(mebibytes * MIB)))
        (self.directory / "memory.max_usage_in_bytes").write_text("0")
        return used

    def tighten(self, mebibytes):
        """Lowers the limit to so much beyond what its processes use now; where that cannot be, as they
        take it meanwhile, the limit stays."""
        limit = self.number("memory.usage_in_bytes") + mebibytes * MIB
        with contextlib.suppress(OSError):
            if limit < self.number("memory.limit_in_bytes"):
                (self.directory / "memory.limit_in_bytes").write_text(str(limit))

    def remove(self):
        """When its processes have ended."""
        deadline = time.monotonic() + 30
        while self.directory.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                self.directory.rmdir()
                return
            time.sleep(0.05)

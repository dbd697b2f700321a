"""Cleans up after a killed test. A test starts `leftovers.py` beside its nodes, which reads the name of
a directory from standard input. At the end of the input, because the test has ended, it ends the
processes that were started for the directory, and removes the directory."""

import contextlib
import os
import pathlib
import shutil
import signal
import sys
import time

QUIET_SECONDS = 1


def processes_of(directory):
    """Ids of processes that have the directory as their home or name it in their command line."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if _belongs(process, os.fsencode(directory)):
                found.add(int(process.name))
    return found - {os.getpid()}


def _belongs(process, directory):
    return (b"HOME=" + directory in (process / "environ").read_bytes().split(b"\0")
            or directory in (process / "cmdline").read_bytes())


def _end(pid, directory):
    """Ends the process, unless its id has been reused."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        with contextlib.closing(os.fdopen(handle)):
            if _belongs(pathlib.Path(f"/proc/{pid}"), os.fsencode(directory)):
                signal.pidfd_send_signal(handle, signal.SIGKILL)


def _clean(directory):
    quiet_since = time.monotonic()
    while time.monotonic() < quiet_since + QUIET_SECONDS:
        for pid in processes_of(directory):
            _end(pid, directory)
            quiet_since = time.monotonic()
        time.sleep(0.1)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    _clean(sys.stdin.read().strip())

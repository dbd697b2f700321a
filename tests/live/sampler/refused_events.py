"""Runs a program on a kernel whose processor has no breakpoints, as far as the program can tell: each
perf_event_open of one is answered by ENOENT (seccomp_unotify(2)); all others go on."""

import ctypes
import errno
import fcntl
import os
import select
import struct
import subprocess
import tempfile

from support.tools import perf_event_filter

LISTENER = 1000  # the child's number of it
LIBC = ctypes.CDLL(None, use_errno=True)
SECCOMP, PIDFD_OPEN, PIDFD_GETFD = 317, 434, 438
SET_FILTER, NEW_LISTENER, NO_NEW_PRIVILEGES = 1, 8, 38
NOTIFIED = 0x7fc00000
RECEIVE, SEND, GO_ON = 0xc0502100, 0xc0182101, 1
NOTIFICATION, ANSWER = struct.Struct("QII iIQ6Q"), struct.Struct("QqiI")
BREAKPOINT = 5  # perf_event_attr.type


def called(number, *arguments):
    result = LIBC.syscall(*(ctypes.c_long(one) for one in (number, *arguments)))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return result


def ask_before_events():
    """For preexec_fn."""
    filters, code = perf_event_filter(NOTIFIED)
    LIBC.prctl(*(ctypes.c_ulong(one) for one in (NO_NEW_PRIVILEGES, 1, 0, 0, 0)))
    os.dup2(called(SECCOMP, SET_FILTER, NEW_LISTENER, ctypes.addressof(filters)), LISTENER)
    del code  # until here the filter points to it


def answered(listener):
    """Answers one call; whether that was refused."""
    asked = bytearray(NOTIFICATION.size)
    fcntl.ioctl(listener, RECEIVE, asked, True)
    number, caller, _, _, _, _, attributes, *_ = NOTIFICATION.unpack(asked)
    with open(f"/proc/{caller}/mem", "rb", buffering=0) as memory:
        kind, = struct.unpack("I", os.pread(memory.fileno(), 4, attributes))
    refused = kind == BREAKPOINT
    fcntl.ioctl(listener, SEND, ANSWER.pack(number, 0, -errno.ENOENT if refused else 0,
                                            0 if refused else GO_ON))
    return refused


def run_without_breakpoints(command):
    """The ended program with its output, and how many breakpoints were refused."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as diagnostics:
        running = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=diagnostics, preexec_fn=ask_before_events, close_fds=False)
        process = called(PIDFD_OPEN, running.pid, 0)
        listener = called(PIDFD_GETFD, process, LISTENER, 0)
        os.close(process)
        waits = select.poll()
        waits.register(listener, select.POLLIN)
        refused = 0
        while running.poll() is None:
            if any(events & select.POLLIN for _, events in waits.poll(100)):
                refused += answered(listener)
        os.close(listener)
        output.seek(0)
        diagnostics.seek(0)
        return subprocess.CompletedProcess(command, running.returncode, output.read(),
                                           diagnostics.read()), refused

"""A file with a slow close(2): a FUSE server of one file, which answers FLUSH after some seconds or
never. As a program, `slow_files.py DIRECTORY SECONDS|never` serves DIRECTORY, and prints a line when
it is mounted and one for each FLUSH request."""

import contextlib
import ctypes
import os
import pathlib
import struct
import subprocess
import sys
import threading
import time

NAME = "slow"
DEVICE = "/dev/fuse"
# Linux' include/uapi/linux/fuse.h
REQUEST = struct.Struct("<IIQQIIII")
ANSWER = struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<6QIIIIIIIII4x")
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, OPENDIR, INTERRUPT = (
    1, 2, 3, 14, 15, 18, 25, 26, 27, 36)
UNANSWERED = (FORGET, INTERRUPT, 42)  # the last is BATCH_FORGET
ROOT, FILE = 1, 2
ENOENT, ENOSYS = -2, -38
MNT_DETACH = 2
FOR_EVER = 1 << 30


def attributes(node):
    directory = node == ROOT
    return ATTRIBUTES.pack(node, 0 if directory else 4, 1, 0, 0, 0, 0, 0, 0,
                           0o40755 if directory else 0o100644, 2 if directory else 1, 0, 0, 0, 4096)


class Server:
    def __init__(self, device, flush_seconds):
        self.device = device
        self.flush_seconds = flush_seconds

    def serve(self):
        with contextlib.suppress(OSError):  # unmounted
            while True:
                request = os.read(self.device, 1 << 20)
                _, operation, unique, node, *_ = REQUEST.unpack_from(request)
                if operation == FLUSH:
                    print("flush", flush=True)
                    threading.Thread(target=self.flush, args=(unique,), daemon=True).start()
                elif operation not in UNANSWERED:
                    self.answer(unique, *self.reply(operation, node, request[REQUEST.size:]))

    def flush(self, unique):
        time.sleep(self.flush_seconds)
        with contextlib.suppress(OSError):
            self.answer(unique, 0, b"")

    def answer(self, unique, error, content):
        os.write(self.device, ANSWER.pack(ANSWER.size + len(content), error, unique) + content)

    @staticmethod
    def reply(operation, node, arguments):
        if operation == INIT:
            return 0, struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 12, 9, 4096, 1, 1, 0, 0)
        if operation == LOOKUP:
            if arguments.rstrip(b"\0") != NAME.encode():
                return ENOENT, b""
            return 0, struct.pack("<QQQQII", FILE, 0, 60, 60, 0, 0) + attributes(FILE)
        if operation == GETATTR:
            return 0, struct.pack("<QII", 60, 0, 0) + attributes(node)
        if operation in (OPEN, OPENDIR):
            return 0, struct.pack("<QII", 1, 0, 0)
        if operation == READ:
            return 0, b"slow"
        if operation == RELEASE:
            return 0, b""
        return ENOSYS, b""


def main(directory, flush_seconds):
    device = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"slow_files", directory.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    # Nothing stays mounted, whichever is killed: the mount ends with the device's descriptor and
    # the last open file.
    threading.Thread(target=lambda: (sys.stdin.read(), libc.umount2(directory.encode(), MNT_DETACH)),
                     daemon=True).start()
    Server(device, FOR_EVER if flush_seconds == "never" else float(flush_seconds)).serve()


class SlowFile:
    """A server at that directory; `path` is its file until hide(). `flushes` counts FLUSH requests."""

    def __init__(self, directory, flush_seconds):
        self.directory = pathlib.Path(directory)
        self.path = self.directory / NAME
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, str(directory), str(flush_seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.flushes = 0
        mounted = self.process.stdout.readline() == "mounted\n"
        self._reader = threading.Thread(target=self._count, daemon=True)
        self._reader.start()
        if not mounted:
            self.end()
            raise OSError(f"no FUSE file system could be mounted at {directory}: NOT TESTED here: "
                          "files that are slow to close")

    def _count(self):
        for _ in self.process.stdout:
            self.flushes += 1

    def hide(self):
        """Unlinks the file from the directory; open descriptors keep it."""
        self.process.stdin.close()

    def end(self):
        """From now on, operations on its open files fail."""
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self._reader.join()
        self.process.stdout.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

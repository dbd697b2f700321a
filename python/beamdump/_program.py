"""The program beamdump-analyze: where it is, how it is asked."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings

# Of one answer, as the program limits it.
MOST_ANSWER_BYTES = 16 << 20
DAY = 24 * 60 * 60
PROTOCOL = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": PROTOCOL, "io.modelcontextprotocol/clientCapabilities": {}}
INCOMPLETE = 3


class Error(Exception):
    """A question that has no answer: the sentence that the program ended with."""


class IncompleteWarning(UserWarning):
    """Data is missing from an answer: the sentence says which."""


def find_program(given=None):
    """The path of beamdump-analyze: the one given, of BEAMDUMP_ANALYZE, of the wheel, of PATH."""
    own = pathlib.Path(__file__).parent / "bin" / "beamdump-analyze"
    for path in (given, os.environ.get("BEAMDUMP_ANALYZE"), own if own.exists() else None,
                 shutil.which("beamdump-analyze")):
        if path:
            return os.fspath(path)
    raise Error("beamdump-analyze is not on PATH: name it in BEAMDUMP_ANALYZE, or install a wheel that has it")


def warn(messages):
    """Tells what is missing from an answer, as a warning at the line that asked."""
    inside = os.path.dirname(__file__)
    level, frame = 1, sys._getframe()
    while frame and os.path.dirname(frame.f_code.co_filename) == inside:
        level, frame = level + 1, frame.f_back
    for message in messages:
        warnings.warn(message, IncompleteWarning, stacklevel=level)


def sentences(text):
    """Lines of standard error, without the program's name."""
    return [line.removeprefix("beamdump-analyze: ") for line in text.splitlines() if line.strip()]


class Run:
    """A run of the program: its standard output, and when it has ended what it said on standard error."""

    def __init__(self, output):
        self.output, self.messages, self.incomplete = output, [], False


@contextlib.contextmanager
def running(command):
    """Runs the program, and ends it where the block is left early. Error: it failed."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise Error(f"cannot run {command[0]}: {error.strerror}") from error
        with process:
            try:
                run = Run(process.stdout)
                yield run
                status = process.wait()
            finally:
                # An error of the reader, or a reader that wants no more.
                process.kill()
        errors.seek(0)
        run.messages = sentences(errors.read().decode(errors="replace"))
    run.incomplete = status == INCOMPLETE
    if status not in (0, INCOMPLETE):
        raise Error("\n".join(run.messages) or f"{command[0]} ended with status {status}")


class Server:
    """A process of `beamdump-analyze mcp`, asked one question after the other. Safe for threads."""

    def __init__(self, program, paths):
        self._asked = 0
        self._lock = threading.Lock()
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                [program, "mcp", "--page-bytes", str(MOST_ANSWER_BYTES), "--max-seconds", str(DAY), "--", *paths],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        except OSError as error:
            self._errors.close()
            raise Error(f"cannot run {program}: {error.strerror}") from error

    def call(self, tool, arguments):
        """What a tool answers: its envelope, with `answer`, `messages` and `incomplete`. Error: its sentence."""
        with self._lock:
            if self._process is None:
                raise Error("the dump is closed")
            self._asked += 1
            number = self._asked
            self._send({"id": number, "method": "tools/call",
                        "params": {"name": tool, "arguments": arguments, "_meta": META}})
            try:
                answer = self._receive(number)
            except BaseException:
                # An interrupt: the answer to this question is skipped later, by its number.
                if self._process is not None:
                    with contextlib.suppress(Error):
                        self._send({"method": "notifications/cancelled", "params": {"requestId": number}})
                raise
        if "error" in answer:
            raise Error(answer["error"]["message"])
        result = answer["result"]
        if result["isError"]:
            raise Error(result["content"][0]["text"])
        return result["structuredContent"]

    def close(self):
        with self._lock:
            self._end()

    def _send(self, message):
        try:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._fail()

    def _receive(self, number):
        while True:
            line = self._process.stdout.readline()
            if not line:
                self._fail()
            answer = json.loads(line)
            if answer.get("id") == number:
                return answer

    def _fail(self):
        """The process has ended by itself: its last sentences."""
        said = sentences(self._end() or "")
        raise Error("\n".join(said) or "beamdump-analyze ended without an answer")

    def _end(self):
        if self._process is None:
            return None
        process, self._process = self._process, None
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.stdout.close()
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            # It answers a question that nobody waits for.
            process.kill()
            process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")
        self._errors.close()
        return said

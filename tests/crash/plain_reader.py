"""A small reader of a crash dump's text, independent of the analyzer: facts and terms of each
process, and what the text lacks. Terms are in the form of tests/live/support/canonical.py, and an
object without a line is ABSENT."""

import base64
import re

from plain_external import Malformed
from plain_heap import ABSENT, Heap, text_of

SECTION = re.compile(rb"^=([a-z_]+)(?::([^\n]*))?\n", re.MULTILINE)
SIZES = ("Message queue length", "Number of heap fragments", "Heap fragment data", "Reductions",
         "Stack+heap", "OldHeap", "Heap unused", "OldHeap unused", "Memory", "BinVHeap",
         "OldBinVHeap")


class Process:
    def __init__(self, pid):
        self.pid = pid
        self.facts = {}
        self.sections = {}


class CrashText:
    """bytes_of: the whole text."""

    def __init__(self, text):
        text = text.lstrip(b"\r\n")
        self.windows = b"\r\n" in text[:200]
        if self.windows:
            text = text.replace(b"\r\n", b"\n")
        self._text = text
        head = re.match(rb"=erl_crash_dump:(\d+)\.(\d+)\n", text)
        if not head:
            raise Malformed("no sections: a crash dump of a release before R10")
        self.base64 = (int(head[1]), int(head[2])) >= (0, 5)
        system = re.search(rb"System version: (Erlang[^\n]*)", text[:20000])
        self.system_version = system[1].decode() if system else ""
        self.word_bytes = 4 if system and "64-bit" not in self.system_version else 8
        self.processes, self.binaries, self.node = {}, {}, "nonode@nohost"
        self.literals = Heap(self, None)
        self.has_end = False
        starts = list(SECTION.finditer(text))
        for number, found in enumerate(starts):
            end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
            self._add(found[1].decode(), text_of(found[2] or b""), text[found.end():end])
        self.cut = not self.has_end
        for process in self.processes.values():
            process.heap = Heap(self, self.literals)
            process.heap.add(process.sections.get("proc_heap", b""))

    @property
    def release(self):
        found = re.search(r"Erlang/OTP (\d+)|Erlang (R\d+)|emulator version 5\.(\d+)",
                          self.system_version)
        if not found:
            return "unknown"
        return found[1] or found[2] or {"4": "R10", "5": "R11", "6": "R12"}.get(found[3], "R13")

    @property
    def prints_pid_of_alias(self):
        """Whether the VM prints all numbers of a reference that has a pid; OTP 24 to 26: three."""
        return self.release.isdigit() and int(self.release) >= 27

    @property
    def of_windows(self):
        """CRLF line ends, or a version line as only Windows' VM writes it."""
        return self.windows or (bool(self.system_version) and
                                "source" not in self.system_version and
                                "hipe" not in self.system_version)

    def _add(self, tag, argument, body):
        if tag in ("proc", "proc_stack", "proc_heap", "proc_messages", "proc_dictionary"):
            process = self.processes.setdefault(argument, Process(argument))
            process.sections[tag] = body
            if tag == "proc":
                process.facts = facts_of(body)
        elif tag == "binary":
            size, _, data = body.partition(b":")
            try:
                self.binaries[int(argument, 16)] = (int(size, 16), self.octets(data.strip()))
            except ValueError:
                pass
        elif tag == "literals":
            self.literals.add(body)
        elif tag == "node":
            self.node = argument.strip("'")
        elif tag == "end":
            self.has_end = True

    def octets(self, text):
        if self.base64:
            return base64.b64decode(text + b"=" * (-len(text) % 4))
        return bytes.fromhex(text.decode()[:len(text) // 2 * 2])


def facts_of(body):
    facts = {}
    for line in body.decode("utf-8", "replace").split("\n"):
        key, _, value = line.partition(": ")
        if key in SIZES:
            if re.fullmatch(r"\d+", value):
                facts[key] = int(value)
        elif key in ("State", "Name", "Spawned as", "Spawned by", "Current call",
                     "Last scheduled in for"):
            facts[key] = value
        elif key == "Program counter":
            facts[key] = int(value.split()[0], 16)
            function = re.match(r"\w+ \(([^ ]*)", value)
            if function and "/" in function[1]:
                facts["in function"] = function[1]
        elif key == "Link list":
            inner = re.sub(r"\{[^{}]*\}", "{}", value.strip().strip("[]"))
            facts["links"] = len(inner.split(", ")) if inner else 0
    return facts


def roots(process, heap, what):
    """Of "proc_stack", "proc_dictionary" or "proc_messages": one text for each element, or None for
    what is no term."""
    body = process.sections.get(what, b"")
    at, result = 0, []
    while at < len(body):
        if what == "proc_stack":
            # OTP 23 and 24 have addresses in place of the names of the first frame's registers.
            found = re.compile(rb"(?:(?:0x)?[0-9A-Fa-f]+:(?=S)|0x[0-9A-Fa-f]+:|y\d+:)").match(body,
                                                                                           at)
            if not found:
                end = body.find(b"\n", at)
                result.append(("", None))
                at = len(body) if end < 0 else end + 1
                continue
            name = text_of(found[0][:-1])
            at = found.end()
            if body[at:at + 1] == b"S":
                end = body.find(b"\n", at)
                end = len(body) if end < 0 else end
                line = text_of(body[at + 1:end])
                code = re.match(r"(?:(Catch)|Return addr) (?:0x)?[0-9A-Fa-f]+ \(", line)
                result.append((name, ("catch" if code[1] else "return", line) if code else None))
                at = end + 1
                continue
        else:
            name = ""
        try:
            if what == "proc_messages" and body[at:at + 1] == b"D":
                value, end = "%external", body.find(b"\n", at)
            else:
                value, end = heap.element(body, at)
                value = heap.term(value)
                if what == "proc_stack" and body[end:end + 1] not in (b"", b"\n"):
                    value = None
                end = body.find(b"\n", end)
        except (Malformed, AttributeError):
            value, end = None, body.find(b"\n", at)
        result.append((name, value))
        at = len(body) if end < 0 else end + 1
    return result

"""A small reader of a crash dump's text, without anything of the analyzer's: facts and terms of each
process, and what the text lacks. Terms are in the form of tests/live/support/canonical.py, and an
object that no line has is ABSENT."""

import base64
import re
import struct

ABSENT = "%CDVIncompleteHeap"
# The atom undefined in external format stands for a map (erl_process_dump.c of OTP 18 to 20).
MAP_LEFT_OUT = b"\x83d\0\x09undefined"
SECTION = re.compile(rb"^=([a-z_]+)(?::([^\n]*))?\n", re.MULTILINE)
LINE = re.compile(rb"([0-9A-Fa-f]+):")
ATOM = re.compile(rb"(?<=[:,|l])A([0-9A-F]+):")
SIZES = ("Message queue length", "Number of heap fragments", "Heap fragment data", "Reductions",
         "Stack+heap", "OldHeap", "Heap unused", "OldHeap unused", "Memory", "BinVHeap",
         "OldBinVHeap")


class Malformed(Exception):
    """No term stands there."""


def quoted(name):
    return 'a"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text_of(octets):
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")


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


class Heap:
    """The objects of one process, or the literals, by address."""

    def __init__(self, text, beyond):
        self._text, self._beyond = text, beyond
        self._lines, self._done = {}, {}
        self._body = b""

    def add(self, body):
        self._body = body
        at = 0
        while at < len(body):
            found = LINE.match(body, at)
            begin = found.end() if found else at
            end = self._end_of(begin)
            if found:
                self._lines[int(found[1], 16)] = (begin, end)
            at = end + 1

    def _end_of(self, at):
        """Of a line: an atom's newlines are its own."""
        body = self._body
        while True:
            end = body.find(b"\n", at)
            end = len(body) if end < 0 else end
            found = ATOM.search(body, at, end)
            if not found:
                return end
            at = found.end() + int(found[1], 16)

    # ---- elements

    def element(self, body, at):
        """The canonical text or ('H', address), and where it ends."""
        tag = body[at:at + 1]
        if tag == b"H":
            found = re.compile(rb"[0-9A-Fa-f]+").match(body, at + 1)
            return ("H", int(found[0], 16)), found.end()
        if tag == b"N":
            return "[]", at + 1
        if tag == b"I":
            found = re.compile(rb"-?\d+").match(body, at + 1)
            return found[0].decode(), found.end()
        if tag == b"A":
            found = re.compile(rb"([0-9A-Fa-f]+):").match(body, at + 1)
            end = found.end() + int(found[1], 16)
            return quoted(text_of(body[found.end():end])), end
        if tag in (b"P", b"p"):
            found = re.compile(rb"(#Port)?<(\d+)\.(\d+(?:\.\d+)?)>").match(body, at + 1)
            if not found:
                raise Malformed(body[at:at + 40])
            return identifier(found[2].decode(), found[3].decode(), tag == b"P"), found.end()
        raise Malformed(body[at:at + 40])

    def _elements(self, body, at, count):
        items = []
        for index in range(count):
            if index:
                at += 1
            item, at = self.element(body, at)
            items.append(item)
        return items, at

    # ---- terms

    def term(self, element):
        """The canonical text of what an element means."""
        if isinstance(element, str):
            return element
        return self.at(element[1])

    def at(self, address):
        if address in self._done:
            return self._done[address]
        if address not in self._lines:
            return self._beyond.at(address) if self._beyond is not None else ABSENT
        self._done[address] = ABSENT
        try:
            result = self._read(address)
        except (Malformed, ValueError, IndexError, AttributeError, struct.error):
            result = ABSENT
        self._done[address] = result
        return result

    def kind(self, address):
        begin, end = self._lines.get(address, (0, 0))
        if begin == end and self._beyond is not None:
            return self._beyond.kind(address)
        return self._body[begin:begin + 1].decode()

    def cell(self, address):
        """Head and tail as elements, or None."""
        if address not in self._lines:
            return self._beyond.cell(address) if self._beyond is not None else None
        begin, _ = self._lines[address]
        if self._body[begin:begin + 1] != b"l":
            return None
        head, at = self.element(self._body, begin + 1)
        tail, _ = self.element(self._body, at + 1)
        return head, tail

    def _list(self, address):
        items, seen = [], set()
        while True:
            cell = self.cell(address)
            if cell is None or address in seen:
                return "[" + ",".join(items) + "|" + self.at(address) + "]"
            seen.add(address)
            items.append(self.term(cell[0]))
            tail = cell[1]
            if tail == "[]":
                return "[" + ",".join(items) + "]"
            if isinstance(tail, str):
                return "[" + ",".join(items) + "|" + tail + "]"
            address = tail[1]

    def _read(self, address):
        begin, end = self._lines[address]
        body = self._body
        tag, at = body[begin:begin + 1], begin + 1
        if tag == b"l":
            return self._list(address)
        if tag == b"t":
            arity, _, _ = body[at:end].partition(b":")
            items, _ = self._elements(body, at + len(arity) + 1, int(arity, 16))
            return "{" + ",".join(map(self.term, items)) + "}"
        line = body[begin:end]
        if tag == b"F":
            return f"{float(line.split(b':', 1)[1]):.6e}"
        if tag == b"B":
            return str(big(line[1:].decode()))
        if tag == b"P" or tag == b"p":
            found = re.match(rb"(?:#Port)?<(\d+)\.(\d+(?:\.\d+)?)>", line[1:])
            return identifier(found[1].decode(), found[2].decode(), tag == b"P")
        if tag == b"E":
            octets = self._text.octets(line.split(b":", 1)[1])
            if octets[0] != 131:
                raise Malformed("no external format")
            if octets == MAP_LEFT_OUT:
                return ABSENT
            return External(octets[1:], self._text.node, self._text.prints_pid_of_alias).term()
        if tag == b"M":
            pairs = []
            self._pairs(address, pairs)
            return "#{" + ",".join(sorted((f"{key}=>{value}" for key, value in pairs),
                                          key=lambda pair: pair.encode())) + "}"
        if tag == b"Y":
            return self._binary(line)
        raise Malformed(line[:40])

    def _pairs(self, address, pairs):
        if address not in self._lines:
            if self._beyond is None:
                raise Malformed("a part of a map is absent")
            self._beyond._pairs(address, pairs)
            return
        begin, end = self._lines[address]
        line = self._body[begin:end]
        found = re.match(rb"Mf([0-9A-F]+):", line)
        if found:
            keys, at = self.element(self._body, begin + found.end())
            count = int(found[1], 16)
            values, _ = self._elements(self._body, at + 1, count)
            pairs += zip(self._tuple(keys, count), map(self.term, values))
            return
        found = re.match(rb"M(?:h[0-9A-F]+:|n)([0-9A-F]+):", line)
        items, _ = self._elements(self._body, begin + found.end(), int(found[1], 16))
        for item in items:
            cell = self.cell(item[1])
            if cell:
                pairs.append((self.term(cell[0]), self.term(cell[1])))
            else:
                self._pairs(item[1], pairs)

    def _tuple(self, element, count):
        if isinstance(element, str):
            if count == 0:
                return []
            raise Malformed("keys")
        address = element[1]
        if address not in self._lines:
            if count == 0:
                return []
            if self._beyond is None:
                raise Malformed("the keys of a map are absent")
            return self._beyond._tuple(element, count)
        begin, _ = self._lines[address]
        found = re.compile(rb"t([0-9A-F]+):").match(self._body, begin)
        items, _ = self._elements(self._body, found.end(), int(found[1], 16))
        return [self.term(item) for item in items]

    def _binary(self, line):
        if line[1:2] == b"h":
            size, _, data = line[2:].partition(b":")
            octets = self._text.octets(data)
            if len(octets) != int(size, 16):
                raise Malformed("octets")
            return f"<<{octets.hex()}>>"
        owner, offset, size = (int(part, 16) for part in line[2:].split(b":"))
        if size == 0:
            return "<<>>"
        held = self._text.binaries.get(owner)
        if held is not None:
            if offset >= owner:
                offset = 0
            return f"<<{held[1][offset:offset + size].hex()}>>" \
                if len(held[1]) >= offset + size else ABSENT
        whole = self.at(owner & ~3) if line[1:2] == b"s" else ABSENT
        if not whole.startswith("<<"):
            return ABSENT
        return f"<<{whole[2:-2][offset * 2:(offset + size) * 2]}>>"


def identifier(channel, rest, pid):
    channel = channel if channel == "0" else "*"
    return f"<{channel}.{rest}>" if pid else f"#Port<{channel}.{rest}>"


def big(text):
    found = re.match(r"(-?)16[#r]([0-9A-Fa-f]+)", text)
    return int(found[1] + found[2], 16) if found else int(text)


class External:
    """A term in external format, version magic passed."""

    def __init__(self, octets, node, prints_pid_of_alias):
        self._octets, self._node, self._at = octets, node, 0
        self._prints_pid_of_alias = prints_pid_of_alias

    def _take(self, form):
        values = struct.unpack_from(">" + form, self._octets, self._at)
        self._at += struct.calcsize(">" + form)
        return values if len(values) > 1 else values[0]

    def _bytes(self, count):
        self._at += count
        if self._at > len(self._octets):
            raise Malformed("external format breaks off")
        return self._octets[self._at - count:self._at]

    def _channel(self):
        return "0" if self._atom() == self._node else "*"

    def _atom(self):
        tag = self._take("B")
        if tag in (100, 118):
            return self._name(self._bytes(self._take("H")), tag == 100)
        if tag in (115, 119):
            return self._name(self._bytes(self._take("B")), tag == 115)
        raise Malformed(f"tag {tag} for an atom")

    @staticmethod
    def _name(octets, latin1):
        return octets.decode("latin-1" if latin1 else "utf-8")

    def _terms(self, count):
        return [self.term() for _ in range(count)]

    def term(self):
        tag = self._octets[self._at]
        if tag in (100, 115, 118, 119):
            return quoted(self._atom())
        self._at += 1
        if tag == 97:
            return str(self._take("B"))
        if tag == 98:
            return str(self._take("i"))
        if tag in (110, 111):
            size = self._take("B" if tag == 110 else "I")
            sign = self._take("B")
            value = int.from_bytes(self._bytes(size), "little")
            return str(-value if sign else value)
        if tag == 70:
            return f"{self._take('d'):.6e}"
        if tag == 99:
            return f"{float(self._bytes(31).rstrip(bytes(1))):.6e}"
        if tag == 106:
            return "[]"
        if tag == 107:
            return "[" + ",".join(map(str, self._bytes(self._take("H")))) + "]"
        if tag == 108:
            items = self._terms(self._take("I"))
            tail = self.term()
            return "[" + ",".join(items) + ("" if tail == "[]" else "|" + tail) + "]"
        if tag in (104, 105):
            return "{" + ",".join(self._terms(self._take("B" if tag == 104 else "I"))) + "}"
        if tag == 109:
            return f"<<{self._bytes(self._take('I')).hex()}>>"
        if tag == 77:
            size, bits = self._take("IB")
            return f"<<{self._bytes(size).hex()}:{bits}>>"
        if tag == 116:
            pairs = [(self.term(), self.term()) for _ in range(self._take("I"))]
            return "#{" + ",".join(sorted((f"{key}=>{value}" for key, value in pairs),
                                          key=lambda pair: pair.encode())) + "}"
        if tag in (103, 88):
            channel = self._channel()
            number, serial = self._take("II")
            self._take("B" if tag == 103 else "I")
            return f"<{channel}.{number}.{serial}>"
        if tag in (102, 89, 120):
            channel = self._channel()
            number = self._take("Q" if tag == 120 else "I")
            self._take("B" if tag == 102 else "I")
            return f"#Port<{channel}.{number}>"
        if tag in (114, 90):
            count = self._take("H")
            channel = self._channel()
            self._take("B" if tag == 114 else "I")
            numbers = [self._take("I") for _ in range(count)]
            if count == 5 and not self._prints_pid_of_alias:
                numbers = numbers[:3]
            return f"#Ref<{channel}." + ".".join(map(str, reversed(numbers))) + ">"
        if tag == 113:
            module, function = self._atom(), self._atom()
            return f"fun {quoted(module)}:{quoted(function)}/{self.term()}"
        if tag == 112:
            _, _, _, _, free = self._take("IB16sII")
            module = self._atom()
            index, uniq = int(self.term()), int(self.term())
            self._terms(1 + free)
            return f"#Fun<{quoted(module)}.{index}.{uniq}>"
        if tag == 117:
            free = self._take("I")
            self.term()
            module = self._atom()
            index, uniq = int(self.term()), int(self.term())
            self._terms(free)
            return f"#Fun<{quoted(module)}.{index}.{uniq}>"
        raise Malformed(f"tag {tag}")


def roots(process, heap, what):
    """Of "proc_stack", "proc_dictionary" or "proc_messages": one text for each element, or None for
    what is no term."""
    body = process.sections.get(what, b"")
    at, result = 0, []
    while at < len(body):
        if what == "proc_stack":
            found = re.compile(rb"(?:(?:0x)?[0-9A-Fa-f]+:(?=S)|y\d+:)").match(body, at)
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

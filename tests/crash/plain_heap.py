"""The objects in a crash dump's text and their terms, in the form of
tests/live/support/canonical.py; an object without a line is ABSENT. Independent of the analyzer."""

import re
import struct

from plain_external import External, Malformed, quoted

ABSENT = "%CDVIncompleteHeap"
# The atom undefined in external format stands for a map (erl_process_dump.c of OTP 18 to 20).
MAP_LEFT_OUT = b"\x83d\0\x09undefined"
LINE = re.compile(rb"([0-9A-Fa-f]+):")
ATOM = re.compile(rb"(?<=[:,|l])A([0-9A-F]+):")


def text_of(octets):
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")


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
        """Of a line: an atom's newlines are its own. Only cells, tuples and maps have atoms; an
        address in another line may read like one."""
        body = self._body
        if body[at:at + 1] not in (b"l", b"t", b"M"):
            end = body.find(b"\n", at)
            return len(body) if end < 0 else end
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

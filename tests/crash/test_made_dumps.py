"""Small crash dumps of each kind of release, 32 and 64 bits: objects as close together as on a
node, so that one that is too large would overlap the next; old forms of the text."""

import base64
import json
import pathlib
import struct
import tempfile
import unittest

import compare_crash_dumps
from plain_reader import ABSENT
from support import tools
from support.canonical import canonical

# System version, version of the text, word size, words of a fun without environment and of an export:
# erl_fun.h and export.h of each release.
RELEASES = (
    ("Erlang (BEAM) emulator version 5.4.13 [source]", "0.1", 4, 6, 2),
    ("Erlang (BEAM) emulator version 5.5.5 [source] [64-bit]", "0.1", 8, 6, 2),
    ("Erlang R14B04 (erts-5.8.5) [source] [smp:2:2]", "0.1", 4, 6, 2),
    ("Erlang R16B03 (erts-5.10.4) [source] [64-bit] [smp:2:2]", "0.1", 8, 6, 2),
    ("Erlang/OTP 19 [erts-8.3] [smp:2:2]", "0.3", 4, 6, 2),
    ("Erlang/OTP 24 [erts-12.3] [source] [64-bit]", "0.5", 8, 6, 2),
    ("Erlang/OTP 26 [erts-14.2] [source] [64-bit]", "0.5", 8, 5, 5),
    ("Erlang/OTP 27 [erts-15.2] [source] [64-bit]", "0.5", 8, 3, 2),
    ("Erlang/OTP 28 [erts-16.1] [source] [64-bit]", "0.5", 8, 2, 2),
    ("Erlang/OTP 29 [erts-17.0] [64-bit]", "0.5", 8, 2, 2))


def atom(name):
    return b"d" + struct.pack(">H", len(name)) + name


def integer(number):
    return b"a" + bytes([number])


def fun(free):
    rest = (struct.pack(">B16sII", 1, bytes(16), 3, free) + atom(b"shop") + integer(3) +
            integer(9) + b"j" + b"j" * free)
    return b"p" + struct.pack(">I", len(rest) + 4) + rest


EXPORT = b"q" + atom(b"lists") + atom(b"map") + integer(2)


def a_map(pairs):
    return b"t" + struct.pack(">I", pairs) + b"".join(
        integer(key) + b"l" + struct.pack(">I", 2) + integer(key) + b"m" +
        struct.pack(">I", 3) + b"abc" + b"j" for key in range(pairs))


def dump(system, version, word, fun_words, export_words, newline=b"\n", prefix=True):
    """A process whose heap has funs, exports and cells side by side."""
    with_base64 = version >= "0.5"
    lines, at = [], 0x10000000

    def put(text, words):
        nonlocal at
        lines.append(b"%X:%s" % (at, text))
        at += words * word
        return at - words * word

    def external(octets, words):
        octets = b"\x83" + octets
        text = base64.b64encode(octets) if with_base64 else octets.hex().upper().encode()
        return put(b"E%X:%s" % (len(octets), text), words)

    held = []
    for number in range(3):
        held.append(external(fun(number), fun_words + number))
        held.append(put(b"lI%d|N" % number, 2))
        held.append(external(EXPORT, export_words))
        held.append(put(b"t1:A5:a" + newline + b"b:c", 2))
        # As a map of 40 pairs has on a node: its head and 16 nodes at most.
        held.append(external(a_map(3), 3 + 3))
        held.append(external(a_map(40), 2 + 16))
        held.append(put(b"lA3:end|N", 2))
        if newline == b"\n":
            held.append(0x7FFFFFF0)  # no line has it
    tuple_at = put(b"t%X:" % len(held) + b",".join(b"H%X" % one for one in held), 1 + len(held))
    start = b"0x" if prefix else b""
    parts = [
        b"=erl_crash_dump:" + version.encode(), b"Sat Nov 21 10:00:00 2026", b"Slogan: made",
        b"System version: " + system.encode(), b"Atoms: 9", b"=proc:<0.1.0>", b"State: Waiting",
        b"Name: shop", b"Spawned as: proc_lib:init_p/5", b"Spawned by: <0.0.0>",
        b"Message queue length: 1", b"Number of heap fragments: 0", b"Heap fragment data: 0",
        b"Link list: [<0.0.0>]", b"Reductions: 100", b"Stack+heap: 610", b"OldHeap: 0",
        b"Heap unused: 300", b"OldHeap unused: 0",
        b"Program counter: 0x00001230 (gen_server:loop/6 + 16)",
        b"=proc_stack:<0.1.0>", b"y0:H%X" % tuple_at,
        start + b"10000f00:SReturn addr " + start + b"1240 (proc_lib:init_p/5 + 8)", b"y0:N",
        start + b"10000f08:SReturn addr " + start + b"1250 (<terminate process normally>)",
        b"=proc_messages:<0.1.0>", b"H%X:N" % tuple_at,
        b"=proc_dictionary:<0.1.0>", b"=proc_heap:<0.1.0>", *lines, b"=node:'nonode@nohost'",
        b"=no_distribution", b"=end", b""]
    return newline.join(parts)


class MadeDumps(unittest.TestCase):
    def compare(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "made.dump"
            path.write_bytes(text)
            comparison = compare_crash_dumps.Comparison(path)
            comparison.run(directory, 0)
        self.assertEqual(comparison.differences, [])
        return comparison

    def test_each_release(self):
        for release in RELEASES:
            with self.subTest(release[0]):
                comparison = self.compare(dump(*release))
                self.assertEqual(comparison.counts["absent in part"], 2)
                self.assertGreaterEqual(comparison.counts["terms"], 3)

    def test_old_forms(self):
        """Addresses without 0x, and a blank first line."""
        self.compare(dump(*RELEASES[0], prefix=False))
        self.compare(b"\n" + dump(*RELEASES[3]))

    def test_line_ends_of_windows(self):
        """The one in an atom is one character, as its length counts it."""
        for release in RELEASES:
            with self.subTest(release[0]):
                self.compare(dump(*release, newline=b"\r\n"))

    def test_an_address_that_reads_like_an_atom(self):
        """Of a part of a binary, as on macOS: the lines after it are read all the same."""
        self.compare(dump(*RELEASES[8]).replace(b"y0:N", b"y0:H6FFFFF40").replace(
            b"=node:", b"6FFFFF00:YcAA2CB8438:AA2CB8458:2\n6FFFFF40:t1:I7\n"
                       b"=binary:AA2CB8438\n2:YWI=\n=node:"))

    def test_before_r10(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "made.dump"
            path.write_text("<Erlang crash dump>\nMon Jan 28 21:38:24 2002\n\nSlogan: made\n")
            comparison = compare_crash_dumps.Comparison(path)
            comparison.run(directory, 0)
        self.assertIn("before R10", comparison.refused)

    def test_maps_left_out(self):
        """OTP 18 to 20 print the atom undefined in place of a map: absent, and no unreadable line."""
        text = dump(*RELEASES[4]).replace(
            b"=node:", b"7FFFFFF0:ED:83640009756E646566696E6564\n=node:")
        self.compare(text)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "made.dump"
            path.write_bytes(text)
            converted = path.with_suffix(".beamdump")
            tools.expect(tools.ask("convert", path, "-o", converted), 0)
            for one in (path, converted):
                ended = tools.ask("backtrace", one, "<0.1.0>", "--json")
                self.assertEqual(ended.status, 3)
                self.assertNotIn("could not be read", ended.diagnostics)
                shown = json.loads(ended.output)["frames"][0]["registers"][0]["term"]
                self.assertEqual(canonical(shown).count(ABSENT), 3)

    def test_overlaps(self):
        """Funs as close together as no node of the release has them: one that would reach into the
        next object is left out and told of, and the comparison sees it."""
        text = dump(*RELEASES[6]).replace(b"Erlang/OTP 26 [erts-14.2]", b"Erlang/OTP 24 [erts-12.3]")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "made.dump"
            path.write_bytes(text)
            converted = path.with_suffix(".beamdump")
            for arguments in (("backtrace", path, "<0.1.0>"),
                              ("convert", path, "-o", converted)):
                ended = tools.ask(*arguments)
                self.assertEqual(ended.status, 3)
                self.assertIn("3 objects of the crash dump are left out", ended.diagnostics)
            texts = [canonical(tools.analyze_json("backtrace", one, "<0.1.0>")["frames"][0]
                               ["registers"][0]["term"]) for one in (path, converted)]
            self.assertEqual(*texts)
            self.assertEqual(texts[0].count(ABSENT), 6)  # with the three that no line has
            for cell in ("[0]", "[1]", "[2]"):
                self.assertIn("," + cell + ",", texts[0])


if __name__ == "__main__":
    unittest.main()

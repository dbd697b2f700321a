"""Crash dumps made to use much memory or disk: the limits hold for whole commands, and a message says
which was reached.

BEAMDUMP_PART_OF_FULL_SIZE: the dumps are that many times smaller than at full size."""

import lzma
import os
import pathlib
import tempfile
import unittest

from support import tools

PART = int(os.environ.get("BEAMDUMP_PART_OF_FULL_SIZE", 100))
HEAD = b"=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom\n"
SYSTEM = b"System version: Erlang/OTP 27 [erts-15.2.7] [64-bit] [smp:2:2]\n"
PIECE = 1 << 20
MIB = 1 << 20
# Program, buffers and read-ahead, in addition to what grows with the dump.
OVERHEAD = 96 * MIB
UNPACKED = 4_000_000_000 // PART
PAGES = 3_000_000 // PART
SECTIONS = 10_000_000 // PART


class CrashDumpLimits(unittest.TestCase):
    def setUp(self):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.dump = directory / "erl_crash.dump"
        self.made = directory / "made.beamdump"

    def refused(self, what, option, limit, *arguments):
        """The command ends with the message of the limit, and used no more memory than allowed."""
        ended = tools.analyze(*arguments, option, str(limit))
        self.told(what, ended)
        tools.expect(ended, 1)
        kind = "temporary files" if option == "--max-temporary" else "memory"
        self.assertRegex(ended.diagnostics, f"more than [0-9.]+ [KMG]iB of {kind}")
        self.assertEqual(ended.diagnostics.count("\n"), 1, ended.diagnostics)
        memory = limit if option == "--max-memory" else 1024 * MIB
        self.assertLess(ended.peak_kib * 1024, memory + OVERHEAD)
        return ended

    def told(self, what, ended):
        print(f"{what} ({self.dump.stat().st_size} bytes): status {ended.status}, "
              f"{ended.seconds:.2f} s, {ended.peak_kib / 1024:.0f} MiB: "
              f"{ended.diagnostics.strip()[:200]}", flush=True)

    def test_what_is_unpacked(self):
        with lzma.open(self.dump, "wb", preset=0) as packed:
            packed.write(HEAD)
            for _ in range(UNPACKED // PIECE):
                packed.write(b"0" * PIECE)
        limit = UNPACKED // 4
        ended = self.refused("unpacked", "--max-temporary", limit, "summary", self.dump)
        self.assertLess(ended.peak_kib * 1024, OVERHEAD)
        whole = tools.analyze("summary", self.dump, "--max-temporary", str(2 * UNPACKED))
        self.told("unpacked whole", whole)
        self.assertIn(whole.status, (0, 3), whole.diagnostics)
        self.assertLess(whole.peak_kib * 1024, OVERHEAD)

    def test_lines_on_pages_of_their_own(self):
        with self.dump.open("wb") as text:
            text.write(HEAD + SYSTEM + b"=proc:<0.9.0>\nState: Waiting\n=proc_dictionary:<0.9.0>\n"
                       b"H7F0000000000\n=proc_stack:<0.9.0>\n=proc_heap:<0.9.0>\n")
            for number in range(PAGES):
                text.write(b"%X:lI1|H%X\n" % (0x7F0000000000 + number * 8192,
                                             0x7F0000000000 + (number + 1) * 8192))
            text.write(b"=end\n")
        self.refused("pages in files", "--max-temporary", 1024 * MIB // PART, "convert", self.dump,
                     "-o", self.made)
        self.assertFalse(self.made.exists())
        self.refused("pages in memory", "--max-memory", 128 * MIB // PART, "convert", self.dump,
                     "-o", self.made)
        for command in ("process", "heap"):
            self.refused(command, "--max-temporary", 1024 * MIB // PART, command, self.dump,
                         "<0.9.0>")
        # The shown lines are at the beginning: the others are not read.
        ended = tools.analyze("dictionary", self.dump, "<0.9.0>")
        self.told("dictionary", ended)
        tools.expect(ended, 3)
        self.assertLess(ended.peak_kib * 1024, 1024 * MIB + OVERHEAD)

    def test_sections(self):
        with self.dump.open("wb") as text:
            text.write(HEAD + SYSTEM)
            for number in range(SECTIONS):
                text.write(b"=proc:<0.%d.0>\n" % number)
            text.write(b"=end\n")
        self.refused("sections", "--max-memory", 1024 * MIB // PART, "processes", self.dump)
        self.refused("sections converted", "--max-memory", 1024 * MIB // PART, "convert", self.dump,
                     "-o", self.made)

    def test_names(self):
        with self.dump.open("wb") as text:
            text.write(HEAD + SYSTEM + b"=proc:<0.9.0>\nState: Waiting\n=proc_messages:<0.9.0>\n")
            for number in range(SECTIONS):
                text.write(b"A8:n%07d:N\n" % number)
            text.write(b"=proc_stack:<0.9.0>\n=proc_heap:<0.9.0>\n=end\n")
        self.refused("names", "--max-memory", 256 * MIB // PART, "convert", self.dump, "-o",
                     self.made)


if __name__ == "__main__":
    unittest.main(verbosity=2)

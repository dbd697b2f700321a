"""A table of many rows is captured whole, in memory that does not grow with it.

BEAMDUMP_PART_OF_FULL_SIZE: of 10,000,000 rows, 2 GB.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import tools
from support.node import start_workload
from support.paths import ANALYZE, CAPTURE

PART = float(os.environ.get("BEAMDUMP_PART_OF_FULL_SIZE", "0.01"))
ROWS = round(10_000_000 * PART)
LENGTH = 17
STEP = ROWS // 10  # to the next one of ten rows that are larger, each by an element more
# Of the whole table's bytes at full size 3%.
MOST_KIB = 64 << 10
ROW = re.compile(r"\{(\d+),\{((?:\d+,)*\d+)\}\}")


class LargeTable(unittest.TestCase):
    def test_it_is_captured_whole(self):
        node = start_workload("sample", 0.1)
        self.addCleanup(node.stop)
        node.ask(f"start large_table {PART:f}", seconds=600)
        dump = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "large.beamdump"
        for mode in ("live", "snapshot"):
            with self.subTest(mode=mode):
                captured = tools.expect(tools.run_measured(
                    [CAPTURE, "--quiet", "--force", "--mode", mode, "--ets", "full", "-o", dump,
                     node.pid]), 0, 3)
                self.assertLess(captured.peak_kib, MOST_KIB)
                (table,) = tools.analyze_json("ets", dump, "--filter", "name=large_table")["tables"]
                self.assertEqual(table["size"], ROWS)
                found, peak_kib = self.rows(dump)
                self.assertEqual(found, ROWS)
                self.assertLess(peak_kib, MOST_KIB)
                self.largest(dump)
                self.searched_no_further(dump)
                print(f"{mode}: {ROWS:,} rows in {captured.seconds:.1f} s, {captured.peak_kib >> 10} MiB; "
                      f"listed in {peak_kib >> 10} MiB", flush=True)

    def largest(self, dump):
        """SQL reads the rows record by record, and keeps those that it sorts to the front."""
        asked = tools.expect(tools.run_measured(
            [ANALYZE, "sql", dump, "--csv", "--stats",
             "SELECT key, words FROM ets_rows('large_table') ORDER BY words DESC LIMIT 10"]), 0)
        rows = [tuple(map(int, line.split(","))) for line in asked.output.split()[1:]]
        # Of {N, {N, ...}}: two headers, the key, a pointer, the elements.
        self.assertEqual(rows, [(number * STEP, 4 + LENGTH + number) for number in range(10, 0, -1)])
        self.assertLess(asked.peak_kib, MOST_KIB)
        print(f"the largest ten of {ROWS:,} rows by SQL: {asked.seconds:.1f} s, {tools.bytes_read(asked):,} of "
              f"{tools.file_bytes(dump):,} bytes, {asked.peak_kib >> 10} MiB", flush=True)

    def searched_no_further(self, dump):
        """With --limit a search ends with the last of the terms that it is to show."""
        read = {}
        for words in (["--limit", "1"], []):
            ended = tools.expect(tools.run_measured(
                [ANALYZE, "search", dump, "{_, {_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _}}",
                 "--json", "--stats", *words]), 0, 3)
            answer = tools.parse(ended)
            self.assertEqual(answer["found"], 1 if words else ROWS - 10)
            self.assertEqual(answer.get("stopped", False), bool(words))
            read[bool(words)] = tools.bytes_read(ended)
        # Both read all processes first, which are more than half of a part of the table.
        self.assertLess(read[True], read[False] * 3 / 4)

    def rows(self, dump):
        """How many different rows the dump has, each as it was inserted; the peak of listing them."""
        seen = bytearray(ROWS + 1)
        with subprocess.Popen([ANALYZE, "ets", dump, "large_table", "--limit", "0", "--term-bytes",
                               "0"], stdout=subprocess.PIPE, text=True) as listing:
            for line in listing.stdout:
                if row := ROW.search(line):
                    number, rest = divmod(int(row[1]), STEP)
                    self.assertEqual(row[2], ",".join((LENGTH + (0 if rest else number)) * [row[1]]))
                    seen[int(row[1])] += 1
            _, status, used = os.wait4(listing.pid, 0)
            listing.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(listing.returncode, 0)
        self.assertEqual(max(seen), 1)
        return sum(seen), used.ru_maxrss


if __name__ == "__main__":
    unittest.main(verbosity=2)

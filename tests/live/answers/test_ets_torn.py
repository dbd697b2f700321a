"""Rows of ETS tables that are written all the time contain checks (table_writers.erl): no row in a
dump is torn, with any kind of lock, and with one scheduler, which uses no locks.

BEAMDUMP_CAPTURES is how often in each mode (3; soak: 200).
"""

import collections
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import tools
from support.node import start_workload
from support.paths import PROGRAMS

CAPTURES = int(os.environ.get("BEAMDUMP_CAPTURES", "3"))
MODES = "live", "snapshot", "freeze"
KEYS = 64
MOST_UNPROVEN = 30
TABLES = ("writers_set", "writers_write", "writers_auto", "writers_tree", "writers_ca",
          "writers_read", "writers_lists", "writers_private", "writers_protected")
ROW = re.compile(r"\{(\d+),<<([\d,]+)>>,([\d,]+)\}")


def fault(text):
    """The contradiction in a row; None if it is intact."""
    row = ROW.fullmatch(text)
    if row is None:
        return f"no row: {text[:100]}"
    numbers = set(row[3].split(","))
    if len(numbers) != 1:
        return f"torn: {numbers}"
    content = bytes(map(int, row[2].split(",")))
    if content != int(numbers.pop()).to_bytes(8, "big") * 10:
        return f"another binary: {text[:200]}"
    return None


class Checked:
    """The rows of a dump: the number for each table, and rows that contradict themselves."""

    def __init__(self, dump):
        self.faults, self.rows, self.missing = [], {}, {}
        for table in TABLES:
            answer = tools.parse(tools.expect(
                tools.ask("ets", dump, table, "--limit", "0", "--term-bytes", "0", "--json"), 0, 3))
            self.rows[table] = len(answer["rows"])
            self.missing[table] = {why: rows for why, rows in answer["missing"].items() if rows}
            texts = [row["row"]["text"] for row in answer["rows"]]
            self.faults += [f"{table}: {found}" for text in texts if (found := fault(text))]
            keys = [text[1:].split(",")[0] for text in texts]
            if len(keys) != len(set(keys)):
                self.faults.append(f"{table}: rows twice")
            if answer["captured"] != len(texts):
                self.faults.append(f"{table}: {answer['captured']} rows, {len(texts)} shown")
            if len(texts) < KEYS and not self.missing[table]:
                # A key is missing only while its row is replaced.
                if len(texts) < KEYS - 8:
                    self.faults.append(f"{table}: {len(texts)} rows, and none said to be missing")


class WithLocks(unittest.TestCase):
    flags = None
    # Tables that may be locked all the time have no minimum.
    read_by_mode = {"live": 0.3, "snapshot": 0.3, "freeze": 0.3}

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as restored:
            if cls.flags:
                os.environ["ERL_FLAGS"] = cls.flags
                restored.callback(os.environ.pop, "ERL_FLAGS")
            cls.node = start_workload("table_writers")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def test_none_is_torn(self):
        for mode in MODES:
            with self.subTest(mode):
                rows = 0
                missing = {table: collections.Counter() for table in TABLES}
                for _ in range(CAPTURES):
                    dump = self.scratch / f"{mode}.beamdump"
                    tools.capture(self.node, dump, "--force", "--mode", mode, "--binary-bytes",
                                  "all")
                    found = Checked(dump)
                    self.assertEqual(found.faults[:10], [], f"{mode}: {len(found.faults)}")
                    rows += sum(found.rows.values())
                    for table, why in found.missing.items():
                        missing[table].update(why)
                share = rows / (CAPTURES * KEYS * len(TABLES))
                print(f"{mode}: {CAPTURES} captures, {100 * share:.1f}% of the rows read, none torn;"
                      f" missing: { {table: dict(why) for table, why in missing.items()} }", flush=True)
                self.assertGreater(share, self.read_by_mode[mode])

    def test_without_proof_torn_rows_are_found(self):
        faults = []
        for _ in range(MOST_UNPROVEN):
            dump = self.scratch / "unproven.beamdump"
            subprocess.run([PROGRAMS / "capture_unproven", str(self.node.pid), dump], check=True)
            faults += Checked(dump).faults
            if faults:
                break
        print(f"without proof: {faults[:2]}", flush=True)
        self.assertNotEqual(faults, [])


class OneScheduler(WithLocks):
    flags = "+S 1:1"
    read_by_mode = {"live": 0.0, "snapshot": 0.0, "freeze": 0.0}


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The runtime's tables are found without symbols at the same addresses, and the dumps are the
same."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from support import tools
from support.answers import without
from support.captured import listed
from support.node import start_workload
from support.paths import CAPTURE, PROGRAMS
from support.release import RELEASE

# The first stock release whose executable has no symbols for them.
FIRST_WITHOUT_NAMES = 29
SYMBOL_TABLES = {"symtab", "dynsym"}
# Each question about a process's terms starts a program; some processes get more questions.
QUESTIONS = ("process", "heap")
EVERY = 20
# Facts of the capture itself, and facts that change on an idle node.
OF_THE_CAPTURE = {"dump", "capture", "cost", "boot_us", "uptime_us", "resident", "reductions",
                  "processes", "process_heaps"}
LEAST_COMPARED = 300
# mseg_alloc returns cached memory to the system while nothing else happens; of the rest of the resident
# memory some blocks move between allocators when a process runs.
GIVEN_BACK = "segment_cache"
MOST_MOVED_BYTES = 64 << 10
PAGE = 4096
TABLE_BYTES = 320  # offsets in ErtsPTab, in all releases
CACHE_LINE = 64


def found_by(dump):
    """name: (address, how)"""
    ended = subprocess.run([PROGRAMS / "found_by", dump], capture_output=True, check=True,
                           text=True)
    lines = map(json.loads, ended.stdout.splitlines())
    return {line["name"]: (line["address"], line["how"]) for line in lines}


def texts(dump):
    """pid: backtrace, dictionary and messages, as text"""
    ended = subprocess.run([PROGRAMS / "process_texts", dump], capture_output=True, check=True)
    return {process["pid"]: process for process in map(json.loads, ended.stdout.splitlines())}


def data_segments(pid):
    """The program's writable memory: mapped from its file, and the anonymous mapping after it."""
    program = os.readlink(f"/proc/{pid}/exe").rpartition("/")[2]
    segments = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        begin, end = (int(number, 16) for number in fields[0].split("-"))
        own = len(fields) > 5 and fields[5].endswith("/" + program)
        follows = len(fields) == 5 and segments and segments[-1][1] == begin
        if fields[1].startswith("rw") and (own or follows):
            segments.append((begin, end))
    return segments


class Memory:
    """A node's memory, while it is stopped."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)
        self.file = open(f"/proc/{self.pid}/mem", "r+b", buffering=0)
        return self

    def __exit__(self, *_):
        self.file.close()
        os.kill(self.pid, signal.SIGCONT)

    def read(self, address, size):
        self.file.seek(address)
        return self.file.read(size)

    def write(self, address, data):
        self.file.seek(address)
        self.file.write(data)


TRIES = 10


class NoSymbols(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("sample")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node.wait_until_quiet()
        cls.named, cls.searched = cls.scratch / "named", cls.scratch / "searched"
        # Again where the node used its memory between the two.
        for _ in range(TRIES):
            tools.capture(cls.node, cls.named, "--mode", "freeze", "--force")
            tools.capture(cls.node, cls.searched, "--mode", "freeze", "--no-symbols", "--force")
            first, second = (tools.analyze_json("summary", dump)["node_memory"]
                             for dump in (cls.named, cls.searched))
            if first.get("system") == second.get("system"):
                break

    def test_everything_is_found_where_its_name_says(self):
        named, searched = found_by(self.named), found_by(self.searched)
        by_name = {name for name, (_, how) in named.items() if how in SYMBOL_TABLES}
        self.assertEqual({how for _, how in searched.values()} & SYMBOL_TABLES, set())
        both = named.keys() & searched.keys()
        for name in sorted(both):
            self.assertEqual(named[name][0], searched[name][0], name)
        compared = sorted(both & by_name)
        print(f"{len(both)} found by both, {len(compared)} of them by name: {' '.join(compared)}",
              flush=True)
        if int(RELEASE) < FIRST_WITHOUT_NAMES:
            self.assertGreaterEqual(by_name & both, {
                "erts_proc", "erts_port", "erts_atom_table", "erts_node_table", "erts_this_node",
                "erts_literals_start", "erts_literals_size", "the_active_code_index",
                "beam_normal_exit", "beam_exit", "beam_continue_exit", "resource_type_list"})
        else:
            self.assertEqual(by_name, set())
            self.assertIn("resource_type_list", both)

    def test_the_dumps_say_the_same(self):
        named, searched = [without(tools.analyze_json("summary", dump), OF_THE_CAPTURE)
                           for dump in (self.named, self.searched)]
        # One counter in the sum cannot be found by shape (docs/capture.md).
        self.assertNotIn("ets", searched["node_memory"])
        named["node_memory"].pop("ets", None)
        resident = [{part["name"]: part["bytes"] for part in summary.pop("resident_parts")
                     if part["name"] != GIVEN_BACK} for summary in (named, searched)]
        self.assertEqual(resident[0].keys(), resident[1].keys())
        for name, resident_bytes in resident[0].items():
            self.assertAlmostEqual(resident_bytes, resident[1][name], delta=MOST_MOVED_BYTES, msg=name)
        self.assertEqual(named, searched)
        before, after = listed(self.named), listed(self.searched)
        rest = [pid for pid, process in before.items()
                if pid in after and process["reductions"] == after[pid]["reductions"]]
        self.assertGreaterEqual(len(rest), LEAST_COMPARED)
        texts_before, texts_after = texts(self.named), texts(self.searched)
        for pid in rest:
            self.assertEqual(before[pid], after[pid])
            self.assertEqual(texts_before[pid], texts_after[pid])
        for pid in rest[::EVERY]:
            for command in QUESTIONS:
                self.assertEqual(self.answer(self.named, command, pid),
                                 self.answer(self.searched, command, pid), (command, pid))
        print(f"{len(rest)} processes compared, {len(before.keys() | after.keys()) - len(rest)} "
              "left out: they ran, began or ended in between", flush=True)

    def answer(self, dump, command, pid):
        everything = ["--limit", "0"] if command == "process" else []
        return without(tools.analyze_json(command, dump, pid, *everything), OF_THE_CAPTURE)

    def test_every_mode(self):
        for mode in "auto", "live", "snapshot":
            with self.subTest(mode=mode):
                dump = self.scratch / mode
                tools.capture(self.node, dump, "--mode", mode, "--no-symbols")
                self.assertGreaterEqual(len(listed(dump)), LEAST_COMPARED)

    def test_a_second_one_of_the_same_shape_is_an_error(self):
        """A copy of the process table in unused data."""
        address, _ = found_by(self.searched)["erts_proc"]
        with Memory(self.node.pid) as memory:
            table = memory.read(address, TABLE_BYTES)
            place = self.unused(memory)
            memory.write(place, table)
        try:
            ended = tools.run_measured([CAPTURE, "--quiet", "--no-symbols", "-o",
                                        self.scratch / "ambiguous", self.node.pid])
        finally:
            with Memory(self.node.pid) as memory:
                memory.write(place, bytes(TABLE_BYTES))
        self.assertEqual(ended.status, 1)
        found = {int(text, 16) for text in re.findall(r"0x[0-9a-f]+", ended.diagnostics)}
        self.assertIn("erts_proc", ended.diagnostics)
        self.assertEqual(found, {address, place})
        self.assertFalse((self.scratch / "ambiguous").exists())
        self.assertEqual(self.node.ask("ping"), "pong")

    def unused(self, memory):
        """A cache line in a page of zeros."""
        for begin, end in data_segments(self.node.pid):
            for page in range(begin, end - PAGE, PAGE):
                if memory.read(page, 2 * PAGE) == bytes(2 * PAGE):
                    return page + PAGE - PAGE % CACHE_LINE
        self.fail("no page of the program's data is unused")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""The programs of the preset aarch64, run by qemu-user, answer as those of this machine do, byte for byte: about the
dumps of testdata, a dump and a crash dump of the zoo, and the command lines of the golden files."""

import concurrent.futures
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import machine
from support import tools
from support.answers import without
from support.captured import listed
from support.paths import ANALYZE, ROOT
from support.zoo import crash_zoo, start_zoo

NAMES = ("beamdump-analyze", "beamdump-capture", "beamdump-layout", "beamdump-sample", "beamdump-watch")
QUESTIONS = ("summary", "memory", "allocators", "schedulers", "emulator", "profile", "history", "crash", "nodes",
             "modules", "atoms", "processes", "tree", "waits", "hang", "binaries", "ets", "persistent-terms",
             "resources", "ports", "sockets", "timers", "sections")
OF_A_PROCESS = ("process", "messages", "dictionary", "heap")
# All terms of all processes and tables are in some of them.
WRITTEN = (("export", "json"), ("export", "ndjson"), ("crash-dump",), ("report",))
SQL = "SELECT registered_name, memory, message_queue_len FROM processes ORDER BY memory DESC, pid"
PATTERNS = ("{_, _}", "#{}", "[_ | _]")
OF_A_LARGE_CRASH_DUMP = ("summary", "crash", "processes")
# All that some patterns find in the zoo takes minutes to print.
MOST_FOUND = "300"
# Of the zoo's processes one in so many is asked about: each of the emulator's answers begins anew. The exports have
# the terms of all.
ASKED_ONE_IN = 8
QUESTION_SECONDS = 600


def emulated(directory):
    """A folder with the programs for aarch64, as commands of this machine."""
    folder = pathlib.Path(directory) / "emulated"
    folder.mkdir()
    root = machine.installed("libraries")
    for name in NAMES:
        program = machine.PROGRAMS / name
        if not program.exists():
            raise machine.NoGuest(f"{program} is not there: scripts/build aarch64 makes it")
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec qemu-aarch64 -L {root} {program} "$@"\n')
        command.chmod(0o755)
    return folder


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.programs = emulated(cls.scratch)

    def answers(self, program, arguments):
        """Status, output and diagnostics, and the file that it wrote."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            ended = subprocess.run([program, *map(str, arguments)], cwd=folder, stdin=subprocess.DEVNULL,
                                   capture_output=True, timeout=QUESTION_SECONDS,
                                   env=os.environ | {"BEAMDUMP_CACHE": "off", "TMPDIR": folder})
            written = {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
        return ended.returncode, ended.stdout, ended.stderr, written

    def compare(self, questions):
        """Returns how many bytes of answers were compared, and how many questions succeeded."""
        emulated_program = self.programs / ANALYZE.name
        compared = succeeded = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            here = pool.map(self.answers, itertools.repeat(ANALYZE), questions)
            there = pool.map(self.answers, itertools.repeat(emulated_program), questions)
            for question, one, other in zip(questions, here, there):
                with self.subTest(question):
                    for what, ours, theirs in zip(("exit status", "output", "diagnostics", "files"), one, other):
                        if ours != theirs:
                            self.fail(f"{what}: {ours!r:.2000} on this machine, {theirs!r:.2000} on aarch64")
                    self.assertIn(one[0], (0, 1, 2, 3))
                    succeeded += one[0] in (0, 3)
                    compared += len(one[1]) + len(one[2]) + sum(map(len, one[3].values()))
        return compared, succeeded

    def compare_conversions(self, crash_dump):
        """Of a dump's own bytes some say when it was made."""
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            folder, told = pathlib.Path(name), []
            for program in ANALYZE, self.programs / ANALYZE.name:
                converted = subprocess.run([program, "convert", crash_dump, "-o", "converted", "--force"], cwd=folder,
                                           stdin=subprocess.DEVNULL, capture_output=True)
                exported = subprocess.run([ANALYZE, "export", "json", "converted"], cwd=folder,
                                          stdin=subprocess.DEVNULL, capture_output=True)
                told.append((converted.returncode, converted.stderr, exported.returncode, exported.stderr,
                             without(json.loads(exported.stdout), ("file_bytes",))))
        self.assertEqual(*told)
        self.assertIn(told[0][0], (0, 3))

    def questions(self, dump, processes):
        asked = [(command, dump, *form) for command in QUESTIONS for form in ((), ("--json",))]
        asked += [("processes", dump, "--limit", "0", "--json"), ("sql", dump, SQL),
                  *(("search", dump, pattern, "--limit", MOST_FOUND) for pattern in PATTERNS)]
        asked += [(command, dump, pid, "--limit", "0", "--json") for pid in processes
                  for command in OF_A_PROCESS]
        asked += [("backtrace", dump, pid, "--term-limit", "classic") for pid in processes]
        return asked + [(*written, dump, "-o", "written") for written in WRITTEN]

    def test_dumps_of_testdata(self):
        testdata = ROOT / "testdata"
        dumps = [*sorted(testdata.glob("formats/*.beamdump")), *sorted(testdata.glob("crash_dumps/*.dump"))]
        self.assertGreaterEqual(len(dumps), 8)
        for dump in dumps:
            compared, succeeded = self.compare(self.questions(dump, [*listed(dump)][:5]))
            print(f"{dump.name}: {succeeded} answers, {compared} bytes", flush=True)
            self.assertGreater(succeeded, 40)
            if dump.suffix == ".dump":
                self.compare_conversions(dump)

    def test_the_zoo(self):
        crash_dump = self.scratch / "zoo.dump"
        node, _ = start_zoo(crash_dump=crash_dump)
        self.addCleanup(node.stop)
        dump = self.scratch / "zoo.beamdump"
        tools.capture(node, dump, "--binary-bytes", "all")
        crash_zoo(node)
        processes = [pid for pid, process in listed(dump).items() if process.get("registered_name")]
        self.assertGreater(len(processes), 150)
        asked = processes[::ASKED_ONE_IN]
        compared, succeeded = self.compare(self.questions(dump, asked))
        print(f"{dump.name}: {succeeded} answers, of {len(asked)} processes, {compared} bytes", flush=True)
        self.assertGreaterEqual(succeeded, len(asked) * (len(OF_A_PROCESS) + 1))
        # Each question reads all of its 300 MB; what they are converted to has all that is asked for.
        compared, succeeded = self.compare([(command, crash_dump, "--json") for command in OF_A_LARGE_CRASH_DUMP])
        print(f"{crash_dump.name}: {succeeded} answers, {compared} bytes", flush=True)
        self.assertEqual(succeeded, len(OF_A_LARGE_CRASH_DUMP))
        self.compare_conversions(crash_dump)

    def test_golden_files(self):
        ended = subprocess.run([sys.executable, "-B", ROOT / "tests" / "golden" / "check_golden.py"],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               env=os.environ | {"BEAMDUMP_PROGRAMS": str(self.programs)})
        self.assertEqual(ended.returncode, 0, ended.stderr)


def setUpModule():
    if not shutil.which("qemu-aarch64"):
        raise machine.NoGuest("qemu-aarch64 (qemu-user) is not installed")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Dumps from gcore's and the kernel's cores have the same answers as one of a frozen node."""

import contextlib
import functools
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from support import schemas, tools
from support.answers import without
from support.captured import listed
from support.cores import gcore
from support.node import start_workload
from support.paths import CAPTURE
from support.release import erlang_directory

# Facts of the capture, not of the node. A core has neither start time nor host nor resident size.
OF_THE_CAPTURE = {"dump", "capture", "cost"}
UNKNOWN_IN_A_CORE = {"boot_us", "uptime_us", "host_name", "os_release", "resident"}
QUESTIONS = ("process", "backtrace", "heap")
# Totals that include processes which ran between freeze and core, and the largest difference.
TOTALS_THAT_MOVE = {"reductions", "processes", "process_heaps"}
MOST_DIFFERENCE = 0.02
LEAST_COMPARED = 300
CORE_SECONDS = 120
# Offsets in the header of an ELF file of 64 bits, and in a program header (elf.h).
E_PHOFF, E_PHNUM, P_MEMSZ = 32, 56, 40
ELF_HEADER_BYTES = 64
# p_type, p_flags, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_align.
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
PT_LOAD = 1
PAGE_BYTES = 4096


def kernel_core(node):
    """Aborts the node and returns the kernel's core; None if cores go elsewhere."""
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern or not pattern:
        print(f"NOT TESTED: cores of the kernel. core_pattern is '{pattern}', so the core goes "
              "elsewhere; only gcore's is compared", flush=True)
        return None
    everything = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(node.pid, resource.RLIMIT_CORE, everything)
    os.kill(node.pid, signal.SIGABRT)
    deadline = time.monotonic() + CORE_SECONDS
    while running(node.pid):
        if time.monotonic() > deadline:
            raise TimeoutError("the node does not end")
        time.sleep(0.1)
    cores = [path for path in node.directory.iterdir() if path.name.startswith("core")]
    if len(cores) != 1:
        raise RuntimeError(f"core_pattern is '{pattern}', but the kernel left {cores}")
    return cores[0]


def running(pid):
    """False for a zombie, whose core is written."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def split(header, page):
    """The program headers in place of one: those before, of, and after a page, which has no data."""
    kind, flags, offset, begin, physical, dumped, size, align = header
    if kind != PT_LOAD or not (begin <= page.start and page.stop <= begin + dumped):
        return [header]
    parts = [(begin, page.start, True), (page.start, page.stop, False), (page.stop, begin + size, True)]
    return [(kind, flags, offset + first - begin, first, physical,
             min(last, begin + dumped) - first if kept else 0, last - first, align)
            for first, last, kept in parts if first < last]


# The path on this machine of the program of a node below another root: its core has the path there.
SEEN_HERE = []


def captured(core, dump, *options, of_node=True):
    if of_node and SEEN_HERE and "--exe" not in options:
        options += ("--exe", SEEN_HERE[0])
    return tools.run_measured([CAPTURE, "--quiet", "--core", core, "-o", dump, *options])


class Core(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("sample")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node.wait_until_quiet()
        cls.frozen = cls.scratch / "frozen"
        tools.capture(cls.node, cls.frozen, "--mode", "freeze")
        cls.cores = {"gcore": gcore(cls.node, cls.scratch)}
        cls.executable = os.readlink(f"/proc/{cls.node.pid}/exe")
        if core := kernel_core(cls.node):
            cls.cores["kernel"] = core
        cls.dumps = {}
        if os.environ.get("BEAMDUMP_OTP"):
            (cls.executable,) = erlang_directory().glob("erts-*/bin/beam.smp")
            SEEN_HERE.append(cls.executable)
        for kind, core in cls.cores.items():
            cls.dumps[kind] = cls.scratch / f"{kind}.beamdump"
            ended = tools.expect(captured(core, cls.dumps[kind]), 0, 3)
            print(f"{kind}: core of {tools.file_bytes(core)} bytes, dump of "
                  f"{tools.file_bytes(cls.dumps[kind])}, writer's peak {ended.peak_kib} KiB",
                  flush=True)

    def at_rest(self, dump):
        """Pids of processes that did not run between the two captures, and all other pids."""
        before, after = listed(self.frozen), listed(dump)
        facts = ("reductions", "void_reason")
        rest = [pid for pid, process in before.items()
                if pid in after and not process.get("void_reason")
                and all(process.get(fact) == after[pid].get(fact) for fact in facts)]
        return rest, sorted((before.keys() | after.keys()) - set(rest))

    def test_every_process_at_rest_answers_the_same(self):
        for kind, dump in self.dumps.items():
            with self.subTest(core=kind):
                rest, moved = self.at_rest(dump)
                before, after = listed(self.frozen), listed(dump)
                answers = 0
                for pid in rest:
                    self.assertEqual(before[pid], after[pid])
                    for command in QUESTIONS:
                        self.assertEqual(self.answer(self.frozen, command, pid),
                                         self.answer(dump, command, pid), (command, pid))
                        answers += 1
                print(f"{kind}: {len(rest)} processes compared, {answers} answers the same; left "
                      f"out, for they ran: {' '.join(moved) or 'none'}", flush=True)
                self.assertGreater(len(rest), LEAST_COMPARED)
                self.assertLessEqual(len(moved), len(rest) * 0.05)

    @classmethod
    @functools.cache
    def answer(cls, dump, command, pid):
        """Exit status and the whole answer about the process."""
        ended = tools.ask(command, dump, pid, "--json")
        return ended.status, without(tools.parse(ended), OF_THE_CAPTURE)

    def test_the_summary_is_the_same(self):
        theirs = tools.analyze_json("summary", self.frozen)
        for kind, dump in self.dumps.items():
            with self.subTest(core=kind):
                ours = tools.analyze_json("summary", dump)
                schemas.validate(ours, "summary")
                self.assertEqual(ours["capture"]["mode"], "core")
                self.assertEqual(ours["capture"]["stops"], 0)
                left_out = OF_THE_CAPTURE | UNKNOWN_IN_A_CORE
                self.assertEqual(without(ours["node"], left_out), without(theirs["node"], left_out))
                self.assertIn("-root", ours["node"]["arguments"])
                compared = self.compare_numbers(kind, without(theirs, left_out),
                                                without(ours, left_out))
                self.assertGreater(compared, 10)

    def compare_numbers(self, where, theirs, ours):
        """All counts and sizes of the node."""
        compared = 0
        for part in ("counts", "memory"):
            self.assertEqual(theirs[part].keys(), ours[part].keys())
            for name, value in theirs[part].items():
                moves = name in TOTALS_THAT_MOVE
                self.assertAlmostEqual(value, ours[part][name], msg=f"{where}: {part}.{name}",
                                       delta=value * MOST_DIFFERENCE if moves else 0)
                compared += 1
        print(f"{where}: {compared} totals compared", flush=True)
        return compared

    def test_registered_names_lead_to_processes(self):
        for dump in self.dumps.values():
            ended = tools.expect(tools.analyze("backtrace", dump, "sample_deep"), 0)
            self.assertGreaterEqual(ended.output.count("sample:deep/2"), 1000)

    def test_the_executable_may_stand_elsewhere(self):
        core, dump = self.cores["gcore"], self.scratch / "elsewhere.beamdump"
        copy = self.scratch / "beam"
        shutil.copy(self.executable, copy)
        tools.expect(captured(core, dump, "--exe", copy), 0, 3)
        self.assertEqual(len(listed(dump)), len(listed(self.dumps["gcore"])))

    def test_another_build_is_refused(self):
        """The same program with another build id; or, where it has none, with another program header."""
        contents = bytearray(pathlib.Path(self.executable).read_bytes())
        build_id = self.build_id()
        if build_id:
            self.assertEqual(contents.count(build_id), 1)
            contents = contents.replace(build_id, build_id[::-1])
            told = f"its build id is {build_id[::-1].hex()}, the core's is {build_id.hex()}"
        else:
            [first] = struct.unpack_from("<Q", contents, E_PHOFF)
            contents[first + P_MEMSZ] ^= 1
            told = "neither has a build id, and their entry points or segments differ"
        other = self.scratch / "other"
        other.write_bytes(contents)
        for kind, core in self.cores.items():
            with self.subTest(core=kind):
                dump = self.scratch / "never"
                ended = tools.expect(captured(core, dump, "--exe", other), 1)
                self.assertIn(told, ended.diagnostics)
                self.assertFalse(dump.exists())

    def build_id(self):
        """Empty where its compiler makes none."""
        notes = subprocess.run(["readelf", "-n", self.executable], capture_output=True, text=True).stdout
        return bytes.fromhex(notes.split("Build ID:")[1].split()[0]) if "Build ID:" in notes else b""

    def test_a_core_cut_off_says_how_much_is_missing(self):
        """The kernel's core: gcore writes its headers last."""
        ended = captured(self.cut(self.cores["gcore"], 1 << 20), self.scratch / "never-cut")
        tools.expect(ended, 1)
        self.assertIn("is truncated", ended.diagnostics)
        if "kernel" not in self.cores:
            return
        core = self.cores["kernel"]
        # The last mappings are libraries and the stack, which are not needed.
        dump = self.scratch / "cut.beamdump"
        ended = tools.expect(captured(self.cut(core, 40960), dump), 3)
        self.assertRegex(ended.diagnostics, r"is truncated: 40960 of \d+ bytes of memory")
        self.assertEqual(len(listed(dump)), len(listed(self.dumps["kernel"])))
        refused = tools.expect(captured(self.cut(core, tools.file_bytes(core) * 3 // 4),
                                        self.scratch / "never-cut"), 1)
        self.assertIn("is truncated", refused.diagnostics)
        self.assertEqual(refused.diagnostics.count("\n"), 1)

    def test_memory_that_is_missing_is_never_zero(self):
        """The page with the accounts' stack is a segment of its own that has no data."""
        if "kernel" not in self.cores:
            return
        core = self.cut(self.cores["kernel"], 0)
        missing = self.leave_out(core, self.stack_of("sample_accounts"))
        dump = self.scratch / "holed.beamdump"
        tools.expect(captured(core, dump), 3)
        whole = listed(self.dumps["kernel"])
        void = {pid: process for pid, process in listed(dump).items()
                if process.get("void_reason") and not whole[pid].get("void_reason")}
        self.assertIn(("sample_accounts", "unreadable"),
                      [(process.get("registered_name"), process["void_reason"])
                       for process in void.values()])
        # Small heaps share a page: a heap may be on it with its stack on the next one.
        elsewhere = [pid for pid in void if self.stack_of(pid) not in missing]
        print(f"{len(void)} processes without their terms, {len(elsewhere)} with another stack",
              flush=True)
        self.assertLess(len(elsewhere), 10)

    def stack_of(self, process):
        # Status 3: a binary in the stack was captured in part.
        ended = tools.expect(tools.analyze("backtrace", self.dumps["kernel"], process), 0, 3)
        return int(re.search(r"^0x([0-9a-f]+) Return addr", ended.output, re.MULTILINE)[1], 16)

    def leave_out(self, core, address):
        """Splits the segment with an address so that its page has no data; returns that page.

        Only the page: adjacent carriers are one segment, in which structures of processes may lie
        too. The new table of program headers is at the end of the file.
        """
        page = range(address & -PAGE_BYTES, (address & -PAGE_BYTES) + PAGE_BYTES)
        with open(core, "r+b") as file:
            start = bytearray(file.read(ELF_HEADER_BYTES))
            [table] = struct.unpack_from("<Q", start, E_PHOFF)
            [count] = struct.unpack_from("<H", start, E_PHNUM)
            file.seek(table)
            headers = []
            for header in PROGRAM_HEADER.iter_unpack(file.read(count * PROGRAM_HEADER.size)):
                headers += split(header, page)
            if len(headers) == count:
                raise AssertionError(f"no memory at {address:#x} in {core}")
            struct.pack_into("<Q", start, E_PHOFF, file.seek(0, os.SEEK_END))
            struct.pack_into("<H", start, E_PHNUM, len(headers))
            file.write(b"".join(PROGRAM_HEADER.pack(*header) for header in headers))
            file.seek(0)
            file.write(start)
        return page

    def cut(self, core, missing):
        """A copy without that many of its last bytes."""
        copy = self.scratch / "cut"
        subprocess.run(["cp", "--sparse=always", core, copy], check=True)
        os.truncate(copy, tools.file_bytes(core) - missing)
        return copy

    def test_a_core_of_another_program_is_named(self):
        other = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        core = subprocess.run(["gcore", "-o", self.scratch / "sleep", str(other.pid)],
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(core.returncode, 0)
        ended = tools.expect(captured(self.scratch / f"sleep.{other.pid}",
                                      self.scratch / "never", of_node=False), 1)
        self.assertRegex(ended.diagnostics,
                         rf"\(process {other.pid}\) is a core of \S*/sleep, not of an Erlang VM")


if __name__ == "__main__":
    unittest.main(verbosity=2)

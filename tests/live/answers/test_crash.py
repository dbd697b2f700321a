"""How a node died, by its core: the thread, its process, function and library are those that gdb and the
workload name."""

import contextlib
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from support import schemas, tools
from support.cores import gcore
from support.nif import build_nif
from support.node import start_workload
from support.paths import CAPTURE
from support.release import OWN, RELEASE, erlang_directory, otp_root

CORE_SECONDS = 120
# What gdb says of the thread that died: a line for each frame that is a function of its own.
FRAMES = """python
frame = gdb.newest_frame()
while frame is not None:
    if frame.type() == gdb.NORMAL_FRAME:
        print("FRAME", hex(frame.pc()), frame.name())
    frame = frame.older()
end
"""
# Offsets in the header of an ELF file of 64 bits; a program header (elf.h): p_type, p_flags, p_offset,
# p_vaddr, p_paddr, p_filesz, p_memsz, p_align.
E_PHOFF, E_PHNUM, ELF_HEADER_BYTES = 32, 56, 64
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
PT_NOTE = 4
# More than a pipe holds: the kernel writes until the handler has read, or has ended.
MEMORY_BYTES = 1 << 20
# Ways to die: the signal, the causes, the innermost function of the library, and what was called.
NIF = ("dying:die/2", "nif")
WAYS = {
    "null": ("SIGSEGV", ["null_pointer", "library"], "read_through_null", NIF),
    "bus": ("SIGBUS", ["file_too_short", "library"], "read_behind_the_end", NIF),
    "double_free": ("SIGABRT", ["heap_corruption", "library"], "free_it_twice", NIF),
    "halt": ("SIGABRT", ["vm_abort"], None, ("erlang:halt/2", "bif")),
}
# Ways in which releases do not differ.
FURTHER_WAYS = {
    "overflow": ("SIGSEGV", ["stack_overflow", "library"], "recurse", NIF),
    "illegal": ("SIGILL", ["illegal_instruction", "library"], "run_nonsense", NIF),
    "abort": ("SIGABRT", ["library"], "give_up", NIF),
    "dirty_null": ("SIGSEGV", ["null_pointer", "library"], "read_through_null",
                   ("dying:dirty_die/2", None)),
}
LIBRARY = "dying_nif.so"


def is_running(pid):
    """False for a zombie, whose core is written."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def program():
    """The emulator's path on this machine."""
    path, = erlang_directory().glob("erts-*/bin/beam.smp")
    return path


def plain(name):
    """A function's name without what its aliases differ in: __GI_raise, raise."""
    return name.split("(")[0].removeprefix("__GI_").lstrip("_")


def gdb_frames(core, libraries):
    """Addresses and names of the frames of the thread that died; an address is where the frame goes on.
    libraries: a folder with those that the release's root does not have."""
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write(FRAMES)
        script.flush()
        root = [] if RELEASE == OWN else ["-iex", f"set sysroot {otp_root()}", "-iex",
                                               f"set solib-search-path {libraries}"]
        told = subprocess.run(["gdb", "-batch", "-nx", *root, "-x", script.name, program(), core],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    return [(int(place, 16), name) for place, name in re.findall(r"^FRAME (0x[0-9a-f]+) (.*)$", told,
                                                                 re.MULTILINE)]


def as_the_kernel_writes(core, piped):
    """gdb's core as the kernel begins one: its notes first. Of the memory only some bytes follow."""
    with open(core, "rb") as file:
        start = bytearray(file.read(ELF_HEADER_BYTES))
        [table] = struct.unpack_from("<Q", start, E_PHOFF)
        [count] = struct.unpack_from("<H", start, E_PHNUM)
        file.seek(table)
        headers = [list(header) for header in
                   PROGRAM_HEADER.iter_unpack(file.read(count * PROGRAM_HEADER.size))]
        [notes] = [header for header in headers if header[0] == PT_NOTE]
        file.seek(notes[2])
        contents = file.read(notes[5])
    headers = [notes, *(header for header in headers if header is not notes)]
    at = ELF_HEADER_BYTES + count * PROGRAM_HEADER.size
    for header in headers:
        header[2] = at
        at += header[5]
    struct.pack_into("<Q", start, E_PHOFF, ELF_HEADER_BYTES)
    piped.write_bytes(bytes(start) + b"".join(PROGRAM_HEADER.pack(*header) for header in headers) +
                      contents + os.urandom(MEMORY_BYTES))
    return piped


def let_die(node, how):
    """It may die before it has answered."""
    with contextlib.suppress(ConnectionError):
        assert node.ask(f"die {how}") == "ok"


class Dying(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        os.environ["BEAMDUMP_DYING_NIF"] = str(build_nif(self.scratch, "dying"))
        self.addCleanup(os.environ.pop, "BEAMDUMP_DYING_NIF")

    def start(self):
        node = start_workload("dying")
        self.addCleanup(node.stop)
        node.wait_until_quiet()
        return node

    def core_of(self, how):
        """The core that the kernel writes of a node that dies so."""
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
        if pattern.startswith("|") or "/" in pattern or not pattern:
            self.skipTest(f"core_pattern is '{pattern}', so the core goes elsewhere")
        node = self.start()
        resource.prlimit(node.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
        let_die(node, how)
        deadline = time.monotonic() + CORE_SECONDS
        while is_running(node.pid):
            self.assertLess(time.monotonic(), deadline, "the node does not end")
            time.sleep(0.05)
        cores = [path for path in node.directory.iterdir() if path.name.startswith("core")]
        self.assertEqual(len(cores), 1, f"core_pattern is '{pattern}'")
        return cores[0]

    def captured(self, core, name):
        dump = self.scratch / f"{name}.beamdump"
        begin = time.monotonic()
        tools.expect(tools.run_measured([CAPTURE, "--quiet", "--core", core, "--exe", program(), "-o",
                                         dump]), 0, 3)
        print(f"{name}: core of {tools.file_bytes(core)} bytes, dump of {tools.file_bytes(dump)} in "
              f"{time.monotonic() - begin:.2f} s", flush=True)
        return dump

    def crash(self, dump):
        answer = tools.analyze_json("crash", dump)
        schemas.validate(answer, "crash")
        return answer

    def check(self, answer, how, ways):
        name, causes, function, called = ways[how]
        self.assertEqual(answer["end"], "signal")
        self.assertEqual(answer["signal_name"], name)
        self.assertEqual([cause["id"] for cause in answer["causes"]], causes, answer["causes"])
        died = answer["thread"]
        self.assertEqual(died["process"]["registered_name"], "victim")
        self.assertEqual(died["scheduler_kind"],
                         "dirty_cpu" if how.startswith("dirty_") else "normal")
        self.assertEqual(died["scheduler_state"], "running")
        self.assertEqual((died["called"], died.get("called_kind")), called)
        places = [place.get("function") for place in died["erlang_frames"]]
        self.assertTrue(died["erlang_frames_complete"])
        self.assertEqual(places[-2:], ["dying:outer/1", "dying:'-tell/1-fun-0-'/1"], places)
        self.assertIn("dying:inner/1", places)
        if function:
            ours = [frame for frame in died["native_frames"]
                    if frame.get("file", "").endswith(LIBRARY)]
            self.assertEqual(ours[0]["function"], function)
            self.assertIn("build_id", ours[0])
            self.assertIn(LIBRARY, answer["causes"][-1]["sentence"])
        return died

    def compare_with_gdb(self, died, core):
        """Every frame that gdb has is ours, up to Erlang code; names agree where both have one."""
        theirs = gdb_frames(core, self.scratch)
        ours = died["native_frames"]
        self.assertGreater(len(theirs), 1)
        compared = named = 0
        for number, (frame, (place, name)) in enumerate(zip(ours, theirs)):
            self.assertEqual(int(frame["address"], 16), place - (number > 0), (number, name))
            compared += 1
            if "function" in frame and name != "None":
                ours_name, theirs_name = plain(frame["function"]), plain(name)
                self.assertTrue(ours_name in theirs_name or theirs_name in ours_name,
                                (frame["function"], name))
                named += 1
        print(f"{compared} frames are gdb's, {named} names", flush=True)
        self.assertGreater(compared, 1)


class Crash(Dying):
    def check_way(self, how, ways):
        core = self.core_of(how)
        dump = self.captured(core, how)
        answer = self.crash(dump)
        died = self.check(answer, how, ways)
        self.compare_with_gdb(died, core)
        finding = tools.analyze_json("summary", dump)["findings"][0]
        self.assertEqual(finding["id"], "crash")
        self.assertIn(answer["causes"][0]["sentence"], finding["sentence"])
        return dump, answer

    def test_null(self):
        """The process that died is captured as it was before the call."""
        dump, answer = self.check_way("null", WAYS)
        self.assertEqual(answer["fault_address"], "0x0")
        text = tools.expect(tools.analyze("backtrace", dump, "victim"), 0).output
        self.assertIn("dying:inner/1", text)
        self.assertIn('x(1)     "mapped"', text)
        self.assertIn('how => <<"null">>', tools.ask("dictionary", dump, "victim").output)
        redacted = self.scratch / "redacted"
        tools.expect(tools.ask("redact", dump, "--policy", "structure", "-o", redacted), 0)
        hidden = self.crash(redacted)
        self.assertNotIn("registers", hidden["thread"])
        self.assertEqual(hidden["thread"]["native_frames"][0]["function"], "read_through_null")
        self.assertNotIn(str(self.scratch), str(hidden["thread"]))

    def test_bus(self):
        _, answer = self.check_way("bus", WAYS)
        self.assertTrue(answer["fault_mapping"].endswith("/mapped"), answer["fault_mapping"])

    def test_double_free(self):
        _, answer = self.check_way("double_free", WAYS)
        self.assertIn("free", answer["abort_text"])

    def test_halt(self):
        self.check_way("halt", WAYS)

    def test_stack_overflow(self):
        core = self.core_of("overflow")
        answer = self.crash(self.captured(core, "overflow"))
        self.assertEqual([cause["id"] for cause in answer["causes"]], FURTHER_WAYS["overflow"][1])
        self.assertEqual(answer["thread"]["process"]["registered_name"], "victim")
        self.assertEqual(answer["thread"]["called"], "dying:die/2")
        self.assertIn("recurse", answer["causes"][0]["sentence"])

    def test_illegal(self):
        self.check_way("illegal", FURTHER_WAYS)

    def test_abort(self):
        self.check_way("abort", FURTHER_WAYS)

    def test_dirty(self):
        self.check_way("dirty_null", FURTHER_WAYS)

    def test_killed_from_outside(self):
        """The node's own doing is not blamed."""
        node = self.start()
        resource.prlimit(node.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
        os.kill(node.pid, signal.SIGSEGV)
        deadline = time.monotonic() + CORE_SECONDS
        while is_running(node.pid):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        core, = [path for path in node.directory.iterdir() if path.name.startswith("core")]
        answer = self.crash(self.captured(core, "killed"))
        self.assertEqual([cause["id"] for cause in answer["causes"]], ["sent"])
        self.assertEqual(answer["sender_pid"], os.getpid())

    def test_running(self):
        """gcore's core of a node that runs, and a dump of it, name no crash."""
        node = self.start()
        dump = self.scratch / "running"
        tools.capture(node, dump)
        self.assertEqual(self.crash(dump)["end"], "running")
        core = gcore(node, self.scratch)
        answer = self.crash(self.captured(core, "gcore"))
        self.assertEqual(answer["end"], "running")
        self.assertNotIn("thread", answer)


class Held(Dying):
    """The handler of core_pattern: a process that stands at its signal, held by gdb in the kernel's place,
    and its core through a pipe."""

    def held(self, node, how):
        """gdb's core of the node at the signal; the node stands until the test ends."""
        core, held, go = (self.scratch / name for name in ("gdb-core", "held", "go"))
        script = self.scratch / "hold.gdb"
        script.write_text(
            "set pagination off\nhandle all nostop noprint pass\nhandle SIGSEGV stop print\ncontinue\n"
            f"generate-core-file {core}\nshell touch {held}; while [ ! -e {go} ]; do sleep 0.05; done\n"
            "kill\n")
        gdb = subprocess.Popen(["gdb", "-batch", "-nx", "-p", str(node.pid), "-x", script],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        self.addCleanup(gdb.wait)
        self.addCleanup(go.touch)
        deadline = time.monotonic() + CORE_SECONDS
        status = pathlib.Path(f"/proc/{node.pid}/status")
        while "TracerPid:\t0" in status.read_text():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        # gdb stops the threads when it attaches, and lets them go then.
        while True:
            with contextlib.suppress(OSError):
                self.assertEqual(node.ask(f"die {how}"), "ok")
                break
            self.assertLess(time.monotonic(), deadline)
        while not held.exists():
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(gdb.poll())
            time.sleep(0.05)
        return core

    def handle(self, core, pid, *words):
        with open(core, "rb") as file:
            cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            ended = subprocess.run([CAPTURE, "--crashed", str(pid), *map(str, words)], stdin=cat.stdout,
                                   capture_output=True, text=True)
            cat.stdout.close()
            cat.wait()
        return ended

    def test_dump_of_a_held_process(self):
        node = self.start()
        of_gdb = self.held(node, "null")
        core = as_the_kernel_writes(of_gdb, self.scratch / "core")
        folder, copy = self.scratch / "dumps", self.scratch / "copy"
        begin = time.monotonic()
        ended = self.handle(core, node.pid, "-o", folder, "--", "|/usr/bin/dd", "status=none",
                            f"of={copy}")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
        dump, = folder.iterdir()
        print(f"{time.monotonic() - begin:.2f} s, dump of {tools.file_bytes(dump)} bytes",
              flush=True)
        self.assertEqual(copy.read_bytes(), core.read_bytes())
        answer = self.crash(dump)
        died = self.check(answer, "null", WAYS)
        self.assertIn("sched", died["name"])
        self.assertEqual(tools.analyze_json("summary", dump)["capture"]["mode"], "crashed")
        if RELEASE == OWN:  # of its own core of another root gdb unwinds nothing
            self.compare_with_gdb(died, of_gdb)
        self.assertEqual(len(answer["other_threads"]) + 1,
                         len(os.listdir(f"/proc/{node.pid}/task")))

    def test_a_capture_that_fails_passes_the_core_on(self):
        node = self.start()
        core = as_the_kernel_writes(self.held(node, "null"), self.scratch / "core")
        copy = self.scratch / "copy"
        for options in (["--no-such-option"], ["-o", "/proc/no/such/folder"], ["--free", "100000G"]):
            with self.subTest(options=options):
                ended = self.handle(core, node.pid, *options, "--", "|/usr/bin/dd", "status=none",
                                    f"of={copy}")
                self.assertEqual(ended.returncode, 1)
                self.assertEqual(copy.read_bytes(), core.read_bytes())
                copy.unlink()


if __name__ == "__main__":
    unittest.main(verbosity=2)

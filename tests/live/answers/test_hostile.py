"""Statements and messages that nobody should send, to the server for assistants and to the command `sql`, with dumps of a
real node: a captured one, the node's own crash dump, one that breaks off and one with damage. Each is answered in bounded
time, memory and length, and no file is opened but the dumps."""

import collections
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import time
import unittest

from support import assistant, tools
from support.paths import ANALYZE, PROGRAMS
from support.zoo import crash_zoo, left_out, start_zoo

COUNT = int(os.environ.get("BEAMDUMP_HOSTILE", 300))
SEED = int(os.environ.get("BEAMDUMP_SEED", 39))
# An answer is given up after so long. The processor time between two answers may be more by what happens between two
# looks at the clock; a machine that others use may take any time.
MOST_SECONDS = 2
MOST_PROCESSOR_SECONDS = 20
MOST_MEMORY_MIB = 256
# Beside what is counted: of the program, of an answer of up to 16 MiB as text, parsed and in pages.
OTHER_MEMORY_MIB = 256
# From an interrupt to the end.
MOST_INTERRUPT_SECONDS = 60
# Of the statements, one of so many is also a command line.
ONE_COMMAND_OF = 20
# Fewer than wait at most: the server refuses others.
TOGETHER = 16

# System calls that change a file, a folder or another process.
CHANGES = re.compile(r"^(creat|mkdir|rmdir|unlink|rename|link|symlink|mknod|chmod|fchmod|chown|fchown|lchown|truncate|"
                     r"utime|futimes|setxattr|removexattr|mount|umount|chroot|swapo|acct|execve|socket|connect|bind|"
                     r"ptrace|kill|tkill)")
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE")
CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+|\?)")
# Before it begins: the kernel ends the analyzer first where memory is short.
OWN_SCORE = '"/proc/self/oom_score_adj", O_WRONLY'
# What the loader and the C library open of any program, SQLite for random(), and the descriptors of the dumps, opened
# once more.
OF_THE_SYSTEM = re.compile(r"(/usr)?/lib(64)?/.*|/etc/ld\.so\.(cache|preload)|/usr/lib/locale/.*|/proc/self/fd/\d+|"
                           r"/proc/self/oom_score_adj|/dev/urandom|/proc/sys/vm/overcommit_memory|"
                           r"/sys/devices/system/cpu/online")


def below_strace(command, log, folder, **streams):
    """A command in an empty folder, whose files, connections and signals are in the log. It can be interrupted, also
    where this test was started in the background of a shell."""
    return subprocess.Popen(
        ["strace", "-f", "-qq", "--seccomp-bpf", "-s", "9999", "-e", "trace=%file,%network,kill,tkill,ptrace",
         "-e", "signal=none", "-o", log, "--", *map(str, command)], cwd=folder, **streams,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env={"PATH": "/usr/bin", "TMPDIR": str(folder), "HOME": str(folder), "BEAMDUMP_CACHE": "off",
             "ASAN_OPTIONS": "detect_leaks=0"})


def analyzer_below(strace):
    """The pid of the program itself: strace begins with a process that only tries what the kernel can. None: it has
    ended."""
    children = pathlib.Path(f"/proc/{strace.pid}/task/{strace.pid}/children")
    while strace.poll() is None:
        for child in children.read_text().split():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{child}/exe") == str(ANALYZE):
                    return child
        time.sleep(0.05)
    return None


class Server:
    """beamdump-analyze mcp below strace."""

    def __init__(self, folder, dumps):
        self.log = folder / "calls"
        self.folder = folder / "empty"
        self.folder.mkdir()
        command = [ANALYZE, "mcp", "--max-seconds", MOST_SECONDS, "--max-memory", f"{MOST_MEMORY_MIB}MiB",
                   "--folder", self.folder, *dumps]
        self.errors = open(folder / "errors", "w+")
        self.process = below_strace(command, self.log, self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=self.errors)
        self.server = analyzer_below(self.process)
        assert self.server, f"strace ended: {self.process.returncode}"

    def __enter__(self):
        return self

    def __exit__(self, *ended):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()

    def say(self, lines):
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline()

    def of_process(self, name):
        """A file of /proc of the server itself."""
        return pathlib.Path(f"/proc/{self.server}/{name}").read_text()

    def peak_mib(self):
        return int(re.search(r"VmHWM:\s+(\d+)", self.of_process("status"))[1]) >> 10

    def processor_seconds(self):
        fields = self.of_process("stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        """The exit status, and what it said on standard error."""
        self.process.stdin.close()
        status = self.process.wait()
        self.errors.seek(0)
        return status, self.errors.read()


class Hostile(assistant.Client):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.whole = cls.scratch / "zoo.beamdump"
        cls.crash = cls.scratch / "erl_crash.dump"
        cls.cut = cls.scratch / "cut.beamdump"
        cls.damaged = cls.scratch / "damaged.beamdump"
        node, _ = start_zoo(0.01, left_out("long_lists"), crash_dump=cls.crash)
        cls.addClassCleanup(node.stop)
        tools.capture(node, cls.whole, "--ets", "full")
        crash_zoo(node)
        content = cls.whole.read_bytes()
        cls.cut.write_bytes(content[:len(content) * 3 // 4])
        chance = random.Random(SEED)
        damaged = bytearray(content)
        for _ in range(40):
            # Behind the head, without which no dump is open.
            at = chance.randrange(len(content) // 20, len(content))
            damaged[at:at + 64] = chance.randbytes(64)
        cls.damaged.write_bytes(damaged)
        # One that cannot be opened is no dump to ask.
        cls.dumps = [dump for dump in (cls.whole, cls.crash, cls.cut, cls.damaged)
                     if tools.analyze("summary", dump).status in (0, 3)]
        print({dump.name: dump.stat().st_size for dump in cls.dumps}, flush=True)
        assert len(cls.dumps) >= 3, "no damaged dump is open"

    def lines(self, kind):
        made = subprocess.run([PROGRAMS / "hostile_questions", kind, str(COUNT), str(SEED), self.outside, *self.dumps],
                              capture_output=True, check=True).stdout
        lines = made.split(b"\n")[:-1]
        self.assertEqual(len(lines), COUNT)
        return lines

    def ask_all(self, kind):
        """The answers to all lines, some of them together, and the counts of what they are."""
        folder = self.scratch / kind
        folder.mkdir()
        self.outside = folder / "touched"
        waits = b'{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"list","_meta":{' \
                b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",' \
                b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
        lines = self.lines(kind)
        answers = []
        longest = 0
        with Server(folder, self.dumps) as server:
            for first in range(0, COUNT, TOGETHER):
                server.say([*lines[first:first + TOGETHER], waits % first])
                before = server.processor_seconds()
                while True:
                    said = server.answer()
                    self.assertTrue(said, f"the server ended within {lines[first:first + TOGETHER]}")
                    now = server.processor_seconds()
                    longest, before = max(longest, now - before), now
                    answer = json.loads(said)
                    if answer.get("id") == str(first):
                        break
                    answers.append(answer)
            peak = server.peak_mib()
            status, errors = server.end()
            self.assertEqual((status, errors), (0, ""))
            self.assertEqual(list(server.folder.iterdir()), [])
        print(f"{COUNT} {kind}: {len(answers)} answers, at most {longest:.1f} s of a processor for one, {peak} MiB",
              flush=True)
        opened = self.opened_only(set(map(str, self.dumps)), server.log)
        self.assertLessEqual(set(map(str, self.dumps)), opened.keys())
        print(f"{opened.total()} times {len(opened)} files were opened", flush=True)
        self.assertLess(longest, MOST_PROCESSOR_SECONDS)
        self.assertLess(peak, MOST_MEMORY_MIB + OTHER_MEMORY_MIB)
        return answers

    def opened_only(self, allowed, log):
        """These, and what any program opens: how often each."""
        opened = collections.Counter()
        begun = False
        for line in log.read_text(errors="replace").splitlines():
            self.assertNotIn(str(self.outside), line)
            call = CALL.match(line)
            self.assertTrue(call, line)
            name, arguments, result = call.groups()
            if name == "execve" and not begun:
                begun = True
                continue
            self.assertFalse(CHANGES.search(name), line)
            self.assertFalse(WRITES.search(arguments) and OWN_SCORE not in arguments, line)
            if not name.startswith("open") or result.startswith("-"):
                continue
            path = re.search(r'"([^"]*)"', arguments)[1]
            opened[path] += 1
            if path not in allowed:
                self.assertRegex(path, f"^({OF_THE_SYSTEM.pattern})$", line)
        return opened

    def test_statements(self):
        answers = self.ask_all("statements")
        results = [answer for answer in answers if "result" in answer]
        self.assertEqual([answer["id"] for answer in results], list(range(COUNT)))
        self.assertEqual(len(results), len([answer for answer in answers if "method" not in answer]))
        kinds = collections.Counter()
        for answer in results:
            self.is_bounded(answer["result"])
            kinds[self.kind_of(answer["result"])] += 1
        print(f"statements: {dict(kinds.most_common(12))}", flush=True)
        self.assertGreater(kinds["answered"], COUNT // 10)
        self.assertGreater(kinds["refused"] + kinds["given up"], COUNT // 10)

    def kind_of(self, result):
        if not result["isError"]:
            return "answered"
        return "given up" if "took longer than" in result["content"][0]["text"] else "refused"

    def test_commands(self):
        """An interrupt ends what takes too long."""
        folder = self.scratch / "commands"
        empty = folder / "empty"
        empty.mkdir(parents=True)
        self.outside = folder / "touched"
        log, statement = folder / "calls", folder / "statement.sql"
        statuses = collections.Counter()
        for line in self.lines("statements")[::ONE_COMMAND_OF]:
            asked = json.loads(line)["params"]["arguments"]
            statement.write_bytes(asked["statement"].encode("utf-8", "surrogatepass"))
            command = [ANALYZE, "sql", *asked["dumps"], "--file", statement, "--json", "--max-memory",
                       f"{MOST_MEMORY_MIB}MiB"]
            with open(folder / "errors", "w+") as errors, \
                    below_strace(command, log, empty, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=errors) as process:
                interrupted = False
                try:
                    process.wait(MOST_SECONDS)
                except subprocess.TimeoutExpired:
                    interrupted = True
                    self.interrupt(process)
                statuses["interrupted" if interrupted else process.returncode] += 1
                if not interrupted:
                    self.assertIn(process.returncode, (0, 1, 2, 3), asked["statement"])
            self.opened_only({*asked["dumps"], str(statement)}, log)
            self.assertEqual(list(empty.iterdir()), [])
        print(f"commands: {dict(statuses)}", flush=True)
        self.assertGreater(statuses[0], 0)
        self.assertGreater(statuses[1] + statuses[2], 0)

    def interrupt(self, strace):
        pid = analyzer_below(strace)
        if not pid:
            return
        os.kill(int(pid), signal.SIGINT)
        try:
            strace.wait(MOST_INTERRUPT_SECONDS)
        except subprocess.TimeoutExpired:
            os.kill(int(pid), signal.SIGKILL)
            raise

    def test_messages(self):
        answers = self.ask_all("messages")
        kinds = collections.Counter()
        for answer in answers:
            self.assertEqual(answer["jsonrpc"], "2.0")
            self.assertEqual(sum(member in answer for member in ("result", "error", "method")), 1, answer)
            if "content" in answer.get("result", {}):
                self.is_bounded(answer["result"])
                kinds[self.kind_of(answer["result"])] += 1
            elif "error" in answer:
                self.assertTrue(answer["error"]["message"])
                kinds[answer["error"]["code"]] += 1
        print(f"messages: {dict(kinds)}", flush=True)
        self.assertGreater(kinds["answered"], COUNT // 20)
        self.assertGreater(kinds["refused"], COUNT // 10)


if __name__ == "__main__":
    unittest.main()

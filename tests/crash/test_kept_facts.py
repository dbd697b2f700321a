"""Every question about small crash dumps of each kind: the same answer without a cache, with one that
is empty, and from it. And that an entry is not used where it must not be."""

import contextlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import time
import unittest

import test_made_dumps
from support import tools
from support.paths import ANALYZE, PROGRAMS, ROOT

# What a command asks besides its dump; PID is that of a process. Of the commands without one:
# convert, redact and crash-dump read the whole text.
QUESTIONS = (
    ("summary",), ("summary", "--findings", "full"), ("processes", "--limit", "0"),
    ("processes", "--sort", "binaries", "--columns", "stack,heap"),
    ("processes", "--group-by", "initial_call"), ("process", "PID", "--sensitive"),
    ("backtrace", "PID", "--sensitive"), ("messages", "PID", "--sensitive"),
    ("messages", "PID", "--by", "sender", "--sensitive"), ("dictionary", "PID", "--sensitive"),
    ("term", "PID", "--sensitive"),
    ("heap", "PID", "--terms", "--retained", "--sensitive"), ("backtrace", "nobody"),
    ("tree",), ("waits",), ("hang",), ("binaries",), ("refs", "PID"), ("search", "{_, _}"), ("atoms", "--list"),
    ("modules",), ("crash",), ("ports",), ("persistent-terms",), ("schedulers",), ("emulator",),
    ("resources",), ("nodes",), ("timers",),
    ("ets",), ("memory",), ("allocators",), ("sections",), ("diff", "DUMP"),
    ("sql", "SELECT pid, memory FROM processes"), ("sql", "SELECT term FROM messages('PID')"),
    ("export", "ndjson"), ("report",), ("crash-dump",))
TEXT_ONLY = ("backtrace", "nobody"), ("export", "ndjson"), ("report",), ("crash-dump",)
NOT_ASKED = {"convert", "history", "mcp", "profile", "redact", "sockets"}
SETTLED_SECONDS = 2.2


@contextlib.contextmanager
def environment(**variables):
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def words(question, dump, pid):
    command, *rest = question
    if command == "export":
        return [command, rest[0], dump, *rest[1:]]
    rest = [pid if word == "PID" else dump if word == "DUMP" else word for word in rest]
    return [command, dump, *rest]


class KeptFacts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.cache = cls.folder / "cache" / "beamdump"
        cls.enterClassContext(environment(XDG_CACHE_HOME=str(cls.cache.parent), BEAMDUMP_CACHE="0"))
        cls.answerer = tools.Answerer()
        cls.dumps = []
        for source in sorted((ROOT / "tests/fuzz/corpus/crash_dump_fuzz").iterdir()):
            cls.dumps.append(cls.folder / source.name)
            shutil.copy(source, cls.dumps[-1])
        for number, release in enumerate(test_made_dumps.RELEASES[::2]):
            newline = b"\r\n" if number % 2 == 0 else b"\n"
            cls.dumps.append(cls.folder / f"made-{number}")
            cls.dumps[-1].write_bytes(test_made_dumps.dump(*release, newline=newline))
        whole = cls.dumps[-1].read_bytes()
        cls.dumps.append(cls.folder / "cut")
        cls.dumps[-1].write_bytes(whole[:len(whole) * 2 // 3])
        cls.generated = cls.folder / "generated"
        subprocess.run([PROGRAMS / "generate_crash_dump", cls.generated, "300000"],
                       stdin=subprocess.DEVNULL, capture_output=True, check=True)
        cls.dumps.append(cls.generated)
        time.sleep(SETTLED_SECONDS)  # a file that was changed just now is not kept

    def setUp(self):
        self.forget()

    def forget(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    def ask(self, *arguments):
        ended = self.answerer.ask(*arguments)
        return ended.status, ended.output, ended.diagnostics

    def kept(self, *arguments):
        """The answer, and what --stats says of the cache."""
        status, output, diagnostics = self.ask(*arguments, "--stats")
        lines = diagnostics.decode().splitlines()
        kept = [line.removeprefix("stats: crash_dump_cache=") for line in lines
                if line.startswith("stats: crash_dump_cache=")]
        rest = [line for line in lines if not line.startswith("stats: ")]
        return (status, output, rest), kept[0] if kept else None

    def entries(self):
        return sorted(self.cache.glob("*")) if self.cache.exists() else []

    def test_all_commands_are_asked(self):
        text = subprocess.run([ANALYZE, "--help"], capture_output=True, text=True).stdout
        commands = set(re.findall(r"(?m)^  ([a-z][a-z-]*)(?= |$)", text))
        self.assertGreater(len(commands), 20)
        self.assertEqual(commands - {question[0] for question in QUESTIONS}, NOT_ASKED)

    def test_same_answers(self):
        """Each question is the first one about one of the dumps."""
        used = 0
        for number, dump in enumerate(self.dumps):
            listed = self.answerer.ask("processes", dump, "--no-cache").output.decode()
            pids = [word for word in listed.split() if word.startswith("<") and word.endswith(">")]
            for place, question in enumerate(QUESTIONS):
                arguments = words(question, dump, pids[0] if pids else "<0.1.0>")
                if question not in TEXT_ONLY and (place + number) % 2 == 0:
                    arguments.append("--json")
                with self.subTest(dump=dump.name, question=arguments[0]):
                    plain = self.ask(*arguments, "--no-cache")
                    if place % len(self.dumps) == number:
                        self.forget()
                        self.assertEqual(self.ask(*arguments), plain, "the first time")
                    self.assertEqual(self.ask(*arguments), plain, "from the cache")
                    used += len(self.entries())
        self.assertGreater(used, len(self.dumps) * len(QUESTIONS) / 2)

    def test_facts_of_another_question_are_used(self):
        self.assertEqual(self.kept("memory", self.generated)[1], "written")
        for arguments in (["processes", self.generated], ["backtrace", self.generated, "monster"],
                          ["heap", self.generated, "<0.1000.0>"]):
            plain, off = self.kept(*arguments, "--no-cache")
            self.assertEqual(off, "off")
            self.assertEqual(self.kept(*arguments), (plain, "used"))

    def test_no_scan(self):
        """Only the sections that a question needs are read again."""
        def read(*arguments):
            diagnostics = self.ask(*arguments, "--stats")[2].decode()
            return int(diagnostics.split("crash_dump_bytes_read=")[1].split()[0])
        size = self.generated.stat().st_size
        self.assertGreaterEqual(read("processes", self.generated), size)
        self.assertLess(read("processes", self.generated), size / 2)

    def test_private_files(self):
        self.kept("memory", self.generated)
        self.assertEqual(stat.S_IMODE(self.cache.stat().st_mode), 0o700)
        entry, = self.entries()
        self.assertEqual(stat.S_IMODE(entry.stat().st_mode), 0o600)

    def test_switched_off(self):
        for value in ("off", "1000000000"):
            with environment(BEAMDUMP_CACHE=value):
                ended = tools.expect(tools.analyze("memory", self.generated, "--stats"), 0, 3)
            self.assertIn("crash_dump_cache=" + ("off" if value == "off" else "not for small texts"),
                          ended.diagnostics)
        self.assertEqual(self.entries(), [])

    def test_damaged_entries_are_thrown_away(self):
        plain = self.kept("backtrace", self.generated, "monster", "--no-cache")[0]
        for damage in (lambda content: content[:-1], lambda content: content + b"x", lambda _: b"",
                       lambda content: content[:2000] + bytes([content[2000] ^ 1]) + content[2001:]):
            self.forget()
            self.kept("backtrace", self.generated, "monster")
            entry, = self.entries()
            entry.write_bytes(damage(entry.read_bytes()))
            self.assertEqual(self.kept("backtrace", self.generated, "monster"), (plain, "written"))
            self.assertEqual(self.kept("backtrace", self.generated, "monster"), (plain, "used"))
            self.assertEqual(len(self.entries()), 1)

    def test_changed_texts(self):
        """Also one of the same size and with the same modification time."""
        text = self.folder / "changing"
        content = self.generated.read_bytes()
        text.write_bytes(content)
        hour = 3600
        os.utime(text, (time.time() + hour, time.time() + hour))
        self.assertEqual(self.kept("process", text, "monster")[1],
                         "not kept: the file was changed just now")
        os.utime(text, (time.time() - hour, time.time() - hour))
        time.sleep(SETTLED_SECONDS)
        self.assertEqual(self.kept("process", text, "monster")[1], "written")
        before = text.stat()
        text.write_bytes(content.replace(b"Name: monster", b"Name: gadgets"))
        os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(text.stat().st_size, before.st_size)
        self.assertEqual(self.kept("process", text, "monster")[0][0], 1)
        self.assertEqual(self.kept("process", text, "gadgets")[0][0], 0)
        time.sleep(SETTLED_SECONDS)
        self.kept("process", text, "gadgets")
        self.assertEqual(self.kept("process", text, "gadgets")[1], "used")
        self.assertEqual(len(self.entries()), 1)
        # Another file in its place.
        other = self.folder / "other"
        other.write_bytes(content)
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        other.rename(text)
        self.assertEqual(self.kept("process", text, "monster")[0][0], 0)

    def test_no_place_to_keep(self):
        """Such a cache is no error, and not used."""
        plain = self.kept("memory", self.generated, "--no-cache")[0]
        self.cache.parent.mkdir(exist_ok=True)
        self.cache.write_text("a file")
        answer, kept = self.kept("memory", self.generated)
        self.assertEqual(answer, plain)
        self.assertIn("is not a directory of this user", kept)
        self.cache.unlink()
        self.cache.mkdir()
        self.cache.chmod(0o777)
        answer, kept = self.kept("memory", self.generated)
        self.assertEqual(answer, plain)
        self.assertIn("others cannot write to", kept)
        self.assertEqual(self.entries(), [])

    def test_many_at_one_time(self):
        plain = self.ask("memory", self.generated, "--no-cache")[1]
        for _ in range(3):
            self.forget()
            running = [subprocess.Popen([ANALYZE, "memory", self.generated],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
                       for _ in range(6)]
            for process in running:
                self.assertEqual(process.communicate()[0], plain)
                self.assertEqual(process.returncode, 0)
            self.assertEqual(len(self.entries()), 1)
            self.assertTrue(self.entries()[0].name.endswith(".facts"))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Crash dumps of nodes of this release: the analyzer shows what OTP's crashdump_viewer shows: each
process's details, stack, messages and dictionary.

They are compared as terms: crashdump_viewer's, which it builds from the same text, and what the
analyzer prints, both in one form. What crashdump_viewer does not show is excluded here, with the
reason."""

import base64
import collections
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import unittest

from support import schemas, tools
from support.crash import crashdump_viewer
from support.crash.crash_comparison import CrashComparison
from support.node import base_environment
from support.paths import ROOT
from support.release import RELEASE, of_release
from support.zoo import crash_zoo, left_out, start_zoo

ZOO_SCALE = 0.01
SAMPLE_SCALE = 0.2
# Ways to end the sample; the zoo is ended by a signal. BEAMDUMP_CRASHES selects some (soak: all).
WAYS = os.environ.get("BEAMDUMP_CRASHES", "halt").split(",")

# crashdump_viewer has no limits: it would write 2^60 tuples.
ENDLESS_WHEN_FLAT = "zoo_dag"
# OTP 29 dies while it writes a dump with native records in a heap.
WITHOUT = left_out("records", *crashdump_viewer.SLOW_GROUPS)

# crashdump_viewer crashes on the details of these processes.
UNREADABLE = (
    # The VM writes newlines in atoms unescaped; crashdump_viewer reads lines.
    r"zoo_\w+_atoms",
    # OTP 25 writes a match context in external format, which has none: the result is not a term.
    r"zoo_match_context")
BASE64 = rb"([A-Za-z0-9+/]*={0,2})"
OF_OBJECTS = re.compile(rb"^([0-9A-F]+:(?:Yh|E)[0-9A-F]+:)" + BASE64)
# Bytes in a text, by section: the text before them, and the bytes.
BYTES_IN = {b"proc_heap": OF_OBJECTS, b"literals": OF_OBJECTS,
            b"binary": re.compile(rb"^([0-9A-F]+:)" + BASE64),
            # Atoms first; base64 may end like the text before bytes.
            b"proc_messages": re.compile(rb"^(D[0-9A-F]+:.*?(?<!A)E[0-9A-F]+:)" + BASE64)}
# Processes whose terms have bytes of all kinds.
WITH_BYTES = ("zoo_stack_", "zoo_dictionary_", "zoo_on_heap_", "zoo_far_watched")
# Processes that fill the process table are alike: details of one in this many are compared.
FILLING = "crash:rest/0"
ONE_IN = 20
# Sections whose facts are in records of their own.
WITH_RECORDS = ("proc", "proc_stack", "proc_heap", "proc_messages", "proc_dictionary", "binary",
                "literals", "end")
# Differences with a known reason.
REASONS = ()


class CrashDumps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def test_the_zoo(self):
        """Every kind of term and process, and messages from another node."""
        dump = self.directory / "zoo.dump"
        node, _ = start_zoo(ZOO_SCALE, arguments=WITHOUT, crash_dump=dump)
        self.addCleanup(node.stop)
        crash_zoo(node)
        self.compare_with_older_text(dump)
        comparison = self.compare(dump)
        self.persistent_terms(dump)
        for what in ("messages", "keys and values", "catches", "registers"):
            self.assertGreater(comparison.counts[what], 100, what)

    def persistent_terms(self, dump):
        """One for each line of the section; all terms that they refer to are among the literals."""
        lines = [line for line in dump.read_bytes().split(b"\n=persistent_terms\n")[1]
                 .split(b"\n=")[0].split(b"\n") if b"|" in line]
        answer = tools.parse(tools.expect(
            tools.ask("persistent-terms", dump, "--limit", "0", "--json"), 0))
        self.assertEqual(len(answer["terms"]), len(lines))
        self.assertGreater(len(lines), 15)
        values = {term["key"]: term["value"] for term in answer["terms"]}
        self.assertRegex(values["logger_proxy"], r"^\{logger_proxy,<0\.[0-9]+\.0>,\{logger_olp,")
        self.assertEqual(answer["missing"]["unreadable"], 0)

    def compare_with_older_text(self, dump):
        """Before version 0.5, bytes are pairs of hexadecimal digits: the same answers."""
        older = self.directory / "older.dump"
        changed = write_version_0_4(dump, older)
        self.assertGreater(changed, 500)
        asked = 0
        for process in tools.analyze_json("processes", dump, "--limit", "0")["processes"]:
            if not process.get("registered_name", "").startswith(WITH_BYTES):
                continue
            for command in ("backtrace", "messages", "dictionary"):
                answers = [tools.expect(tools.ask(command, text, process["pid"]), 0, 3).output
                           for text in (dump, older)]
                self.assertEqual(*answers, f"{command} of {process}")
                asked += 1
        older.unlink()
        print(f"OTP {RELEASE}: {changed} lines in the older form, {asked} answers: the same",
              flush=True)
        self.assertGreater(asked, 50)

    def test_ways_to_end(self):
        for way in WAYS:
            with self.subTest(way):
                made = subprocess.run(
                    [ROOT / "scripts" / "make-crash-dumps", "--otp", RELEASE, "--workload",
                     "sample", "--scale", str(SAMPLE_SCALE), self.directory, way],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.compare(made.stdout.strip())

    def test_the_break_menu(self):
        """Its slogan has no line end up to OTP 27: the release stands on the same line."""
        dump = self.directory / "break.dump"
        # A signal from the node's controlling terminal opens the menu.
        command = ["setsid", "--ctty", *of_release("erl", "-start_epmd", "false", "-boot",
                                                   "no_dot_erlang")]
        environment = base_environment(self.directory) | {
            "ERL_CRASH_DUMP": str(dump), "ERL_CRASH_DUMP_BYTES": str(1 << 40),
            "ERL_CRASH_DUMP_SECONDS": "-1", "TERM": "dumb"}
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        node = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs,
                                env=environment, cwd=self.directory)
        self.addCleanup(node.wait)
        self.addCleanup(node.kill)
        os.close(theirs)
        answer_terminal(ours, b">", b"\x03")
        answer_terminal(ours, b"(A)bort", b"A\n")
        node.wait(30)
        summary = tools.analyze_json("summary", dump)
        self.assertEqual(summary["crash"]["slogan"], "Crash dump requested by user")
        self.assertEqual(summary["node"]["otp_release"], RELEASE)
        self.assertGreater(summary["node"]["schedulers"], 0)
        # The same text, read by a reader that shares no code with the analyzer.
        compared = subprocess.run([sys.executable, "-B", ROOT / "tests" / "crash" /
                                   "compare_crash_dumps.py", dump],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)

    def compare(self, dump):
        viewed = crashdump_viewer.view(dump, left_out=[ENDLESS_WHEN_FLAT])
        for pid, reason in viewed.failed.items():
            name = viewed.table[pid]["name"]
            self.assertTrue(any(re.fullmatch(known, name) for known in UNREADABLE),
                            f"crashdump_viewer does not read {pid} {name}: {reason}")
        thin_out(viewed.details)
        converted = self.directory / "converted.beamdump"
        tools.expect(tools.analyze("convert", dump, "-o", converted, "--force"), 0, 3)
        comparison = CrashComparison(dump, viewed, converted=converted)
        comparison.compare()
        comparison.print(f"OTP {RELEASE}, {pathlib.Path(dump).name}")
        self.assertGreater(comparison.counts["processes"], 0)
        self.assertEqual(comparison.counts["processes"], len(viewed.details))
        self.assertGreater(comparison.counts["frames"], 0)
        self.assertGreater(comparison.counts["bytes of terms"], 0)
        unexplained = [difference for difference in comparison.differences
                       if not any(re.search(reason, difference) for reason in REASONS)]
        shown = "\n".join(unexplained[:40])
        self.assertEqual(len(unexplained), 0, f"of {dump}:\n{shown}")
        self.compare_sections(dump, converted)
        return comparison

    def compare_sections(self, dump, converted):
        """Other sections are shown verbatim, also from the conversion."""
        text = other_sections(dump)
        for asked in (dump, converted):
            counts = tools.analyze_json("sections", asked)
            schemas.validate(counts, "sections")
            self.assertEqual({kind["tag"]: kind["sections"] for kind in counts["tags"]},
                             {tag: len(sections) for tag, sections in text.items()})
            for tag, sections in text.items():
                answer = tools.analyze_json("sections", asked, tag, "--limit", "0")
                schemas.validate(answer, "sections")
                self.assertEqual(answer["total"], len(sections))
                told = [(section.get("argument", ""), [
                    f"{line['name']}: {line['value']}" if "name" in line else line["value"]
                    for line in section["lines"]]) for section in answer["sections"]]
                self.assertEqual(told, sections, f"{tag} of {asked}")
        lines = sum(len(lines) for sections in text.values() for _, lines in sections)
        print(f"{len(text)} other kinds of sections, {lines} lines of them: the same", flush=True)
        self.assertIn("ets", text)
        self.assertIn("allocator", text)


def write_version_0_4(dump, older):
    """Writes the text with all bytes as hexadecimal digits; returns the number of such lines."""
    changed = 0
    section = b""
    with open(dump, "rb") as text, open(older, "wb") as out:
        for line in text:
            if line.startswith(b"="):
                section = line[1:].split(b":")[0].strip()
                line = line.replace(b"=erl_crash_dump:0.5", b"=erl_crash_dump:0.4")
            elif section in BYTES_IN:
                line, count = BYTES_IN[section].subn(hexadecimal, line, count=1)
                changed += count
            out.write(line)
    return changed


def hexadecimal(found):
    return found[1] + base64.b64decode(found[2]).hex().upper().encode()


def other_sections(dump):
    """Arguments and lines of the sections other than processes, binaries and literals, by tag."""
    found = collections.defaultdict(list)
    lines = None
    with open(dump, encoding="utf-8", errors="surrogateescape", newline="\n") as text:
        for line in text:
            line = line.rstrip("\n")
            if line.startswith("="):
                tag, _, argument = line[1:].partition(":")
                lines = []
                if tag not in WITH_RECORDS:
                    found[tag].append((argument, lines))
            elif line:
                lines.append(line)
    return found


def answer_terminal(terminal, prompt, answer):
    """Reads the terminal's output up to the prompt, then types."""
    shown = b""
    while prompt not in shown:
        if not select.select([terminal], [], [], 20)[0]:
            raise TimeoutError(f"no {prompt} after {shown!r}")
        shown += os.read(terminal, 1024)
    os.write(terminal, answer)


def thin_out(details):
    alike = [pid for pid, facts in details.items() if facts["init_func"] == FILLING]
    for number, pid in enumerate(alike):
        if number % ONE_IN != 0:
            del details[pid]


if __name__ == "__main__":
    crashdump_viewer.run_tests()

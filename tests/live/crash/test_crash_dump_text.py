"""The text that `crash-dump` writes: OTP's crashdump_viewer of this release opens it and shows for
each process what the analyzer shows for the dump: details, stack, messages, dictionary."""

import pathlib
import re
import stat
import tempfile
import unittest

from support import tools
from support.canonical import canonical
from support.crash import crashdump_viewer
from support.crash.crash_comparison import WHOLE, CrashComparison
from support.release import RELEASE
from support.zoo import left_out, start_zoo

SCALE = 0.01
MOST_KIB = 64 * 1024

# crashdump_viewer has no limits: it would write 2^60 tuples.
ENDLESS_WHEN_FLAT = "zoo_dag"

# Monitors shown in the VM's crash dumps; a monitoring resource has a type there, which a dump lacks.
SHOWN_MONITORS = ("process", "port", "remote", "time_offset", "node")

MANY_TERMS = 1000
# Native records of OTP 29 are in external format: their fields are in the order of their declaration.
# Those of more than 64 KiB, or nested deeper than 500 levels, are absent.
NATIVE_RECORD = re.compile(r"#\w+:\w+\{")
# References of other nodes and undecoded messages are in external format with the node's name, so
# the node number differs.
NUMBER_OF_NODE = re.compile(r"(#Ref|)<[1-9]\d*\.(?=\d+[.>])")


def terms_of(dump, pid):
    """Messages, dictionary and registers of a process, as text."""
    for message in tools.analyze_json("messages", dump, pid, "--no-histogram",
                                      *WHOLE).get("messages", ()):
        yield message["term"]["text"]
    for entry in tools.analyze_json("dictionary", dump, pid, *WHOLE).get("dictionary", ()):
        yield from (entry["key"]["text"], entry["value"]["text"])
    for frame in tools.analyze_json("backtrace", dump, pid, "--sensitive")["frames"]:
        yield from (register["term"] for register in frame["registers"] if "term" in register)


class TextComparison(CrashComparison):
    """References, and all identifiers in undecoded messages, are in external format with the node's
    name: in the node of crashdump_viewer they are identifiers of another node, with other node
    numbers."""

    def _compare_term(self, pid, where, text, theirs):
        if text == "#MatchState":
            # OTP 25 prints nothing else of it; the text has the rest to match.
            self.counts["match contexts"] += 1
            return
        if "%Other#" in theirs:
            # crash_dump_terms.erl has no text for native records.
            self.counts["terms with native records"] += 1
            if '#a"' not in canonical(text):
                self._differ(pid, where, text, theirs)
            return
        ours = re.sub(r"#Ref<\d+\.", "#Ref<0.", text)
        theirs = theirs.replace("#Ref<*.", "#Ref<0.")
        if where.startswith("message"):
            ours, theirs = (re.sub(r"<[1-9]\d*(\.\d+\.\d+>)", r"<1\1", term)
                            for term in (ours, theirs))
        super()._compare_term(pid, where, ours, theirs)


class CrashDumpText(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.dump = cls.scratch / "zoo.beamdump"
        cls.text = cls.scratch / "erl_crash.dump"
        node, _ = start_zoo(SCALE, arguments=left_out(*crashdump_viewer.SLOW_GROUPS))
        try:
            tools.capture(node, cls.dump, "--binary-bytes", "all")
        finally:
            node.stop()
        cls.ended = tools.expect(
            tools.analyze("crash-dump", cls.dump, "-o", cls.text, "--sensitive"), 0, 3)

    def test_crashdump_viewer_says_what_the_analyzer_says(self):
        viewed = crashdump_viewer.view(self.text, left_out=[ENDLESS_WHEN_FLAT])
        self.assertEqual(viewed.failed, {})
        comparison = TextComparison(self.dump, viewed,
                                    facts_left_out=("monitors", "monitored_by"))
        comparison.compare()
        comparison.print(f"OTP {RELEASE}, text of a dump")
        self.assertEqual(comparison.counts["processes"], len(viewed.details))
        for what in ("messages", "keys and values", "catches", "registers"):
            self.assertGreater(comparison.counts[what], 100, what)
        self.assertEqual(len(comparison.differences), 0, "\n".join(comparison.differences[:40]))
        self.compare_monitors(viewed)

    def compare_monitors(self, viewed):
        compared = 0
        for pid, theirs in viewed.details.items():
            ours = tools.analyze_json("process", self.dump, pid, "--limit", "0")
            for side, told in (("monitors", "monitors"), ("monitored_by", "mon_by")):
                shown = [monitor for monitor in ours[side]["items"]
                         if monitor["kind"] in SHOWN_MONITORS]
                compared += len(shown)
                self.assertEqual(len(shown), len(theirs[told] or ()), f"{side} of {pid}")
        self.assertGreater(compared, 50)

    def test_the_analyzer_reads_the_same_terms_back(self):
        """Objects in the text do not overlap: each has at most as many words as in the node."""
        again = self.scratch / "again.beamdump"
        converted = tools.expect(tools.analyze("convert", self.text, "-o", again), 0, 3)
        self.assertNotIn("overlap", converted.diagnostics)
        listed = tools.analyze_json("processes", self.dump, "--limit", "0")["processes"]
        compared = 0
        self.records = 0
        for process in listed:
            name = process.get("registered_name", "")
            if name.startswith("zoo_") and name != ENDLESS_WHEN_FLAT:
                compared += self.compare_terms(process["pid"], again)
        self.assertGreater(compared, MANY_TERMS)
        print(f"{compared} terms, {self.records} with native records", flush=True)
        self.assertEqual(self.records > 0, int(RELEASE) >= 29)

    def compare_terms(self, pid, again):
        ours, theirs = (list(terms_of(dump, pid)) for dump in (self.dump, again))
        self.assertEqual(len(ours), len(theirs), pid)
        for number, (one, other) in enumerate(zip(ours, theirs)):
            one, other = (NUMBER_OF_NODE.sub(r"\1<*.", text) for text in (one, other))
            if NATIVE_RECORD.search(one):
                if "#Absent<" not in other:
                    self.records += 1
                    self.assertEqual(sorted(one), sorted(other), f"term {number} of {pid}")
            elif one != "#MatchState":
                self.assertEqual(one, other, f"term {number} of {pid}")
        return len(ours)

    def test_general_facts(self):
        summary = tools.analyze_json("summary", self.dump)
        processes = tools.analyze_json("processes", self.dump, "--limit", "0")["processes"]
        with self.text.open("rb") as text:
            sections = [line.split(b":")[0].strip() for line in text if line.startswith(b"=")]
        self.assertEqual(sections[0], b"=erl_crash_dump")
        self.assertEqual(sections[-1], b"=end")
        self.assertEqual(sections.count(b"=proc"), len(processes))
        self.assertGreater(sections.count(b"=binary"), 0)
        self.assertGreater(summary["node"]["schedulers"], 0)

    def test_what_the_text_does_not_have_is_not_told_as_none(self):
        """It has no sections of tables, ports, timers and other nodes, of which the node has some."""
        for command, things in (("ets", "ETS tables"), ("ports", "ports"), ("timers", "timers"), ("nodes", "other nodes"),
                                ("schedulers", "schedulers")):
            with self.subTest(command):
                said = tools.expect(tools.analyze(command, self.text), 1).diagnostics
                self.assertIn(f"the crash dump has no sections of {things}", said)

    def test_the_file(self):
        """Only its owner can read it, it replaces a file only with --force, and it costs little
        memory."""
        self.assertEqual(stat.S_IMODE(self.text.stat().st_mode), 0o600)
        before = self.text.stat().st_size
        again = tools.expect(tools.analyze("crash-dump", self.dump, "-o", self.text), 1)
        self.assertIn("--force", again.diagnostics)
        self.assertEqual(self.text.stat().st_size, before)
        self.assertLess(self.ended.peak_kib, MOST_KIB)

    def test_sensitive_processes_are_left_out_unless_asked_for(self):
        other = self.scratch / "other.dump"
        ended = tools.expect(tools.analyze("crash-dump", self.dump, "-o", other), 3)
        self.assertIn("1 process flagged sensitive", ended.diagnostics)
        self.assertLess(other.read_bytes().count(b"\n=proc_stack:"),
                        self.text.read_bytes().count(b"\n=proc_stack:"))


if __name__ == "__main__":
    crashdump_viewer.run_tests()

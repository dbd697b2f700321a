"""A dump of a live node and the crash dump of the same node a moment later have the same answers,
for processes that did not run in between and facts that both have.

support/crash/same_answers.py and a table in docs/crash-dump-import.md name what only one of them
holds; nothing else may differ."""

import pathlib
import re
import tempfile
import unittest

from support import schemas, tools
from support.crash.same_answers import NOT_IN_DUMP, NOT_IN_TEXT, SameAnswers
from support.release import RELEASE
from support.zoo import crash_zoo, left_out, start_zoo

SCALE = 0.01
MOST_LEFT_OUT = 0.05
# OTP 29 dies while it writes a dump with native records in a heap.
WITHOUT = left_out("records")
# Its texts would have 2^60 tuples.
ENDLESS_WHEN_FLAT = "zoo_dag"
STATEMENT = "SELECT p.pid, p.memory, m.term FROM processes p, messages(p.pid) m LIMIT 100"
# Commands with --json that a capture, or its crash dump, cannot answer: profile needs samples
# (live.sampled_dump), history a watcher (live.watch), and no text of a crash dump has sockets.
# Where the list of NIF resources' types lies is not known in 29.
NOT_OF_CAPTURE = {"history", "profile", "sections"}
NOT_OF_CRASH_DUMP = {"emulator", "history", "profile", "resources", "sockets"}


class CrashDumpSame(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.live, cls.crash = directory / "live.beamdump", directory / "crash.dump"
        node, _ = start_zoo(SCALE, arguments=WITHOUT, crash_dump=cls.crash)
        try:
            tools.capture(node, cls.live, "--binary-bytes", "all")
            crash_zoo(node)
        finally:
            node.stop()
        cls.converted = directory / "converted.beamdump"
        tools.expect(tools.analyze("convert", cls.crash, "-o", cls.converted), 0, 3)

    def test_same_answers(self):
        live, crash = (rows(dump) for dump in (self.live, self.crash))
        answers = SameAnswers(self.live, self.crash, self.converted)
        left_out = []
        for pid in sorted(live.keys() | crash.keys()):
            reason = moved(live.get(pid), crash.get(pid))
            if reason:
                left_out.append(f"{pid} {reason}")
            elif live[pid].get("registered_name") != ENDLESS_WHEN_FLAT:
                answers.compare_process(pid, live[pid], crash[pid])
        answers.print(f"OTP {RELEASE}")
        print(f"left out: {len(left_out)} of {len(live)} processes: {', '.join(left_out)}")
        shown = "\n".join(answers.differences[:40])
        self.assertEqual(len(answers.differences), 0, shown)
        self.assertEqual(answers.only_live.keys() - NOT_IN_TEXT, set())
        self.assertEqual(answers.only_crash.keys() - NOT_IN_DUMP, set())
        self.assertGreater(answers.counts["processes"], 200)
        self.assertGreater(answers.counts["facts"], 15_000)
        self.assertLessEqual(len(left_out), MOST_LEFT_OUT * len(live))

    def test_diff_finds_the_same_processes(self):
        live = rows(self.live)
        pairs = ((self.live, self.crash), (self.crash, self.converted), (self.live, self.converted))
        for pair in pairs:
            with self.subTest(pair=[path.name for path in pair]):
                diff = tools.analyze_json("diff", *pair)
                self.assertTrue(diff["same_run"])
                schemas.validate(diff, "diff")
                processes = diff["sections"]["processes"]
                moved = processes["appeared"] + processes["gone"]
                self.assertLessEqual(moved, MOST_LEFT_OUT * len(live))
                self.assertGreaterEqual(processes["common"], len(live) - moved)
                self.assertEqual(diff["sections"]["ets_names"]["in_dumps"], [1, 2])
                modules = diff["sections"]["modules"]
                self.assertEqual(modules["in_dumps"], [1, 2])
                self.assertEqual([modules[what] for what in ("gone", "grown", "shrunk")], [0, 0, 0])
                self.assertGreater(modules["common"], 60)
                atoms = diff["sections"]["atoms"]
                self.assertEqual(atoms["in_dumps"], [1, 2])
                self.assertGreater(atoms["common"], 5_000)
                # A capture has no cookie.
                self.assertLessEqual(atoms["appeared"], 1)

    def test_every_json_answer_follows_its_schema(self):
        """Of each command that has --json, as the program's help says. What a command is asked for besides
        dumps is by the name in its usage; one that is new there has to be added here."""
        pid = max(rows(self.live).values(), key=lambda process: process["message_queue_len"])["pid"]
        asked = {"DUMP": "", "BEFORE": self.live, "AFTER...": "", "PROCESS": pid, "TARGET": pid,
                 "[PATTERN]": "{_,_}"}
        optional = {"[ADDRESS]", "[KEY]", "[PATH]", "[PROCESS]", "[TABLE]", "[TAG]", "[TYPE]"}
        listed = re.findall(r"(?m)^  ([a-z][a-z-]*)(?= |$)", tools.ask("--help").output)
        # The conversion is read faster than the crash dump's text.
        refused = {self.live: NOT_OF_CAPTURE, self.converted: NOT_OF_CRASH_DUMP}
        commands = set()
        for command in listed:
            text = tools.ask(command, "--help").output
            if "--json" not in text:
                continue
            commands.add(command)
            words = re.search(r"(?m)^Usage: .*\[OPTIONS\] (.*)$", text)[1].split()
            for dump, without in refused.items():
                given = [dump, STATEMENT] if command == "sql" else [
                    asked[word] or dump for word in words if word not in optional]
                given += ["--limit", "5"] if "--limit" in text else []
                ended = tools.ask(command, *given, "--json")
                if command in without:
                    tools.expect(ended, 1)
                else:
                    schemas.validate(tools.parse(tools.expect(ended, 0, 3)), command)
        self.assertGreater(len(commands), 20)
        self.assertLessEqual(NOT_OF_CAPTURE | NOT_OF_CRASH_DUMP, commands)

    def test_same_node(self):
        live, crash = (tools.analyze_json("summary", dump) for dump in (self.live, self.crash))
        for fact, told in crash["node"].items():
            self.assertEqual(told, live["node"][fact], fact)
        self.assertGreater(len(crash["node"]), 5)
        self.assertEqual(crash["counts"]["module_instances"], live["counts"]["module_instances"])
        self.assertEqual(crash["crash"]["slogan"], "Received SIGUSR1")
        self.assertNotIn("stops", crash["capture"])


def rows(dump):
    listed = tools.analyze_json("processes", dump, "--limit", "0")["processes"]
    return {process["pid"]: process for process in listed}


def moved(live, crash):
    """Why a process cannot be compared."""
    if live is None or crash is None:
        return "began or ended"
    if live["reductions"] != crash["reductions"]:
        return f"ran {crash['reductions'] - live['reductions']} reductions"
    for fact in ("status", "message_queue_len"):
        if live[fact] != crash[fact]:
            return f"has another {fact}: {crash[fact]}"
    if live.get("void_reason") or crash.get("void_reason"):
        return f"is {live.get('void_reason')} and {crash.get('void_reason')}"
    return None


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Comparing dumps of a node that leaks: the leak is what grew most, steadily, for each kind of leak;
of the same node under load that does not leak, nothing grows steadily. Before the node leaks of the
next kind it stops to leak of the last, so that one dump is the last of a kind and the first of the
next. Exports of the dumps compare as the dumps do, in all that an export holds."""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import schemas, tools
from support.node import start_workload

EACH = 20000
LEAKERS = 4
MOST_CAPTURES = 1000
# Of each kind: the section that names the leak, and what identifies the thing in it.
LEAKS = {
    "mailbox": ("processes", "registered_name", "leaky_mailbox"),
    "ets": ("ets_tables", "key", "leaky_table"),
    "dictionary": ("processes", "registered_name", "leaky_dictionary"),
    "atoms": ("atoms", "key", "leak_N"),
    "binaries": ("binary_holders", "registered_name", "leaky_binaries"),
    "processes": ("groups", "key", "leaking:waiting/1"),
}

# What an export holds of a node (docs/diff.md), by its --detail; it never has who holds binaries.
FACTS = {"memory", "ets_tables", "ets_names", "atoms", "modules", "ports", "sockets"}
PROCESSES = FACTS | {"processes", "registered_names", "groups", "mailboxes"}  # without shapes of messages
STACKS = PROCESSES | {"binaries"}

# A comparison of two dumps of a node with 300,000 processes may take 512 MiB. A part of the processes
# may take that part of it.
FULL_CROWD = 300_000
MOST_KIB = 512 << 10
CROWD = int(os.environ.get("BEAMDUMP_CROWD", FULL_CROWD // 10))


class Leaks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node = start_workload("leaking")
        cls.addClassCleanup(cls.node.stop)
        cls.taken = 0
        cls.steady = [cls.capture_under_load() for _ in range(3)]
        cls.leaking = {}
        last = cls.steady[-1]
        for kind in LEAKS:
            dumps = [last]
            for _ in range(2):
                assert cls.node.ask(f"leaking {kind}") == "leaked"
                dumps.append(cls.capture())
            cls.leaking[kind] = dumps
            last = dumps[-1]

    @classmethod
    def capture(cls):
        """A dump in which what leaks is at rest: on a busy machine a process has often not run yet that was
        sent something, or not stopped to run that has answered, and has no memory in the dump then."""
        cls.taken += 1
        dump = cls.scratch / f"{cls.taken:02}.beamdump"
        for _ in range(MOST_CAPTURES):
            tools.capture(cls.node, dump, "--mode", "freeze", "--force")
            found = tools.analyze_json("processes", dump, "--filter", "leaky_", "--limit", "0")["processes"]
            leakers = [one for one in found if one.get("registered_name", "").startswith("leaky_")]
            assert len(leakers) == LEAKERS, leakers
            if all(one["status"] == "waiting" and "void_reason" not in one for one in leakers):
                return dump
        raise AssertionError(f"never at rest: {leakers}")

    @classmethod
    def capture_under_load(cls):
        """A dump between which and the last one each worker has worked on average."""
        before = int(cls.node.ask("leaking load"))
        while int(cls.node.ask("leaking load")) < before + 100:
            pass
        return cls.capture()

    def diff(self, *arguments):
        answer = tools.parse(tools.expect(tools.ask("diff", *arguments, "--limit", "5", "--json"),
                                         0, 3))
        schemas.validate(answer, "diff")
        self.assertTrue(answer["same_run"])
        return answer

    def test_nothing_grows_steadily_under_load(self):
        answer = self.diff(*self.steady)
        self.assertEqual([thing for thing in answer["growth"] if thing["steady"]], [])
        tools.expect(tools.ask("diff", *self.steady, "--exit-code"), 0, 3)

    def test_each_leak_is_first(self):
        for kind, (section, name, value) in LEAKS.items():
            with self.subTest(kind):
                answer = self.diff(*self.leaking[kind])
                first = answer["growth"][0]
                self.assertEqual((first["section"], first[name]), (section, value))
                self.assertTrue(first["steady"])
                series = first[first["measure"]]
                self.assertEqual((series["steps"], series["rises"]), (2, 2))
                self.assertGreater(series["change_per_hour"], series["change"])
                tools.expect(tools.ask("diff", *self.leaking[kind], "--exit-code"), 4)

    def test_each_leak_is_first_of_two_dumps(self):
        for kind, (section, name, value) in LEAKS.items():
            with self.subTest(kind):
                first = self.diff(self.leaking[kind][0], self.leaking[kind][2])["growth"][0]
                self.assertEqual((first["section"], first[name]), (section, value))
                self.assertNotIn("steady", first)

    def test_numbers_are_those_that_leaked(self):
        mailbox = self.diff(*self.leaking["mailbox"])["sections"]["mailboxes"]["grown_most"][0]
        self.assertEqual(mailbox["registered_name"], "leaky_mailbox")
        self.assertEqual(mailbox["messages"]["change"], 2 * EACH)
        self.assertEqual([(shape["shape"], shape["messages"]["change"])
                          for shape in mailbox["shapes"]], [("{event,_,_}", 2 * EACH)])
        table = self.diff(*self.leaking["ets"])["sections"]["ets_tables"]["grown_most"][0]
        self.assertEqual((table["key"], table["rows"]["change"]), ("leaky_table", 2 * EACH))
        atoms = self.diff(*self.leaking["atoms"])["sections"]["atoms"]["grown_most"][0]
        self.assertEqual((atoms["key"], atoms["atoms"]["change"]), ("leak_N", 2 * EACH))
        binaries = self.diff(*self.leaking["binaries"])["sections"]
        self.assertEqual(binaries["binary_holders"]["grown_most"][0]["bytes"]["change"],
                         2 * 100 * 80000)
        groups = self.diff(*self.leaking["processes"])["sections"]["groups"]["grown_most"][0]
        self.assertEqual(groups["processes"]["change"], 2 * EACH // 10)

    def test_the_heap_tells_what_grew_inside(self):
        answer = self.diff(*self.leaking["dictionary"], "--heap", "leaky_dictionary")
        first = answer["growth"][0]
        self.assertEqual((first["section"], first["key"]), ("heap_root_kinds", "dictionary"))
        self.assertEqual(first["roots"]["change"], 2 * EACH)
        tags = {tag["key"]: tag for tag in answer["sections"]["heap_tags"]["grown_most"]}
        self.assertEqual(tags["{session,_,_}"]["objects"]["change"], 2 * EACH)
        keys = answer["sections"]["heap_key_sets"]["grown_most"][0]
        self.assertEqual((keys["key"], keys["objects"]["change"]), ("#{user}", 2 * EACH))

    def made(self, file, *command):
        """What the analyzer's command writes, once."""
        if not file.exists():
            tools.expect(tools.ask(*command, "-o", file), 0, 3)
        return file

    def exported(self, dump, detail="stacks"):
        return self.made(dump.with_suffix(f".{detail}.ndjson"),
                         "export", "ndjson", dump, "--detail", detail)

    def redacted(self, dump):
        return self.made(dump.with_suffix(".redacted.beamdump"), "redact", dump)

    def everything(self, dumps):
        """The answer but for the files' names and sizes."""
        answer = tools.analyze_json("diff", *dumps)
        return {name: value for name, value in answer.items() if name != "dumps"}

    def compare(self, dumps, files, held):
        """`files`: the same dumps, some or all as exports, which hold the sections `held`."""
        expected, found = self.everything(dumps), self.everything(files)
        if held != STACKS:
            for thing in expected["sections"]["mailboxes"]["grown_most"]:
                thing.pop("shapes", None)
        self.assertIn("processes_started", expected)
        self.assertNotIn("processes_started", found)
        del expected["processes_started"]
        both = list(range(1, len(dumps) + 1))
        exports = {number for number in both if files[number - 1] != dumps[number - 1]}
        for name, section in expected["sections"].items():
            with self.subTest(name):
                if name in held:
                    self.assertEqual(section["in_dumps"], both)
                    self.assertEqual(found["sections"][name], section)
                else:
                    self.assertEqual(exports & {*found["sections"][name]["in_dumps"]}, set())
        for answer in (expected, found):
            answer["growth"] = [thing for thing in answer["growth"] if thing["section"] in held]
            del answer["sections"]
        self.assertEqual(found, expected)

    def ends(self):
        """Before the first leak and after the last one."""
        return [self.leaking["mailbox"][0], self.leaking["processes"][-1]]

    def test_exports_compare_as_their_dumps(self):
        dumps = self.leaking["mailbox"][:2] + self.ends()[1:]
        exports = [self.exported(dump) for dump in dumps]
        self.compare(dumps, exports, STACKS)
        self.compare(dumps, [exports[0], dumps[1], exports[2]], STACKS)

    def test_exports_with_less_detail_lack_what_is_documented(self):
        before, after = self.ends()
        self.compare([before, after], [self.exported(before, "facts"), after], FACTS)
        self.compare([before, after], [before, self.exported(after, "processes")], PROCESSES)

    def test_exports_of_redacted_dumps_compare_as_these(self):
        dumps = [self.redacted(dump) for dump in self.ends()]
        self.compare(dumps, [self.exported(dumps[0]), dumps[1]], STACKS)
        self.compare(dumps, [dumps[0], self.exported(dumps[1])], STACKS)


class Crowd(unittest.TestCase):
    """Memory for many processes."""

    def test_memory_is_bounded_by_the_number_of_processes(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        with mock.patch.dict(os.environ, ERL_FLAGS="+P 1000000"):
            node = start_workload("crowd", CROWD / FULL_CROWD)
        self.addCleanup(node.stop)
        dumps = [scratch / "1.beamdump", scratch / "2.beamdump"]
        for dump in dumps:
            tools.capture(node, dump, "--mode", "freeze")
        ended = tools.expect(tools.analyze("diff", *dumps, "--json"), 0, 3)
        processes = tools.parse(ended)["sections"]["processes"]
        self.assertGreaterEqual(processes["common"], CROWD)
        alone = tools.expect(tools.analyze("atoms", dumps[0], "--json"), 0, 3)
        print(f"diff of {processes['common']} processes: {ended.seconds} s, {ended.peak_kib} KiB; "
              f"a command that reads no processes: {alone.peak_kib} KiB")
        self.assertLess(ended.peak_kib - alone.peak_kib,
                        (MOST_KIB - alone.peak_kib) * CROWD // FULL_CROWD)


if __name__ == "__main__":
    unittest.main()

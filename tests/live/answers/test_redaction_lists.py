"""Of what a policy's lists of modules, records, structs and keys name, everything remains but what
other lists hide, and of all else nothing: in each kind of place, in each form of a value."""

import pathlib
import random
import re
import struct
import tempfile
import unittest

from support import tools
from support.answers import SIZE_QUESTIONS, numbers
from support.node import ApplicationStart
from support.paths import CAPTURE

PLACES = ("dictionary", "stack", "mailbox", "old_heap", "ets", "persistent_term", "literals",
          "records", "kept_module", "hidden_module")
SORTS = "kept", "hidden", "other", "shared"
# Where the cells of a list lie one after another.
CONTIGUOUS = "ets", "persistent_term", "literals"
NOT_HELD = {("records", "shared"), ("kept_module", "other"), ("kept_module", "shared"),
            ("hidden_module", "kept"), ("hidden_module", "shared")}
# A value that is in a kept and in a hidden place is one object, but here: each place has its own.
COPIED = "ets", "literals"
POLICY = """{"level": "structure",
 "keep_keys": ["show?"], "hide_keys": ["private"],
 "keep_records": ["order"], "hide_records": ["secret"],
 "keep_structs": ["Shop.*"], "hide_structs": ["shop_key"],
 "keep_modules": ["listed_kept"], "hide_modules": ["listed_hidden"]}"""


def forms(text, number):
    """The bytes that stand for a text and a number in a node's memory, by the kind of term."""
    letters = [struct.pack("<Q", ord(letter) << 4 | 0xF) for letter in text]
    return {"text": text.encode(), "list": letters, "number": struct.pack("<Q", number << 4 | 0xF),
            "float": struct.pack("<d", number + 0.5), "digits": struct.pack("<QQ", 0, number)}


def has(content, form):
    """Whether the content has the bytes; or a list's heads, a cell after another. Lists are copied
    from their end to their beginning where they have immediates only."""
    if isinstance(form, bytes):
        return form in content
    heads = [re.escape(head) for head in form]
    return any(re.search(b"(?s:.{8})".join(order), content) for order in (heads, heads[::-1]))


class RedactionLists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        chance = random.Random(7)
        number = iter(chance.sample(range(10**12, 10**13), len(PLACES) * len(SORTS)))
        cls.values = {place: {sort: ("".join(chance.choices("QXZJKVWY", k=14)), next(number))
                              for sort in SORTS} for place in PLACES}
        start = ApplicationStart()
        listed = start.directory / "values"
        listed.write_text("".join(
            "{" + ",".join([place, *(f'{{"{text}",{value}}}' for text, value in sorts.values())]) + "}.\n"
            for place, sorts in cls.values.items()))
        cls.node = start.run(
            ["erl", "-noinput", "-pa", start.ebin, "-run", "control", "start",
             start.directory / "control", "-run", "listed", "start", listed], "kernel", {})
        cls.addClassCleanup(cls.node.stop)
        cls.node.wait_until_made(listed.with_suffix(".held"))
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.policy = cls.scratch / "policy.json"
        cls.policy.write_text(POLICY)
        cls.whole = cls.scratch / "whole.beamdump"
        tools.capture(cls.node, cls.whole, "--mode", "freeze", "--ets", "full",
                      "--binary-bytes", "all")
        cls.redacted = cls.scratch / "redacted.beamdump"
        tools.expect(tools.analyze("redact", cls.whole, "--policy", cls.policy, "-o", cls.redacted), 0)

    def found(self, dump):
        """The values that are in a dump, as (place, sort, form)."""
        content = tools.flat(dump)
        return {(place, sort, name) for place, sorts in self.values.items()
                for sort, value in sorts.items() for name, form in forms(*value).items()
                if has(content, form)}

    def test_only_what_the_lists_keep_remains(self):
        held = {(place, sort, name) for place in PLACES for sort in SORTS if (place, sort) not in NOT_HELD
                for name in forms("A", 1) if name != "list" or place in CONTIGUOUS}
        self.assertEqual(held - self.found(self.whole), set(), "the node does not hold what it was told to")
        kept = {(place, sort, name) for place, sort, name in held
                if sort == "kept" or sort == "shared" and place in COPIED}
        found = self.found(self.redacted)
        self.assertEqual(kept - found, set(), "hidden")
        self.assertEqual({one[:2] for one in found} - {one[:2] for one in kept}, set(), "not hidden")

    def dictionary(self, dump, pid):
        return [(entry["key"]["text"], entry["value"]["text"]) for entry in tools.analyze_json(
            "dictionary", dump, pid, "--limit", "0", "--term-bytes", "0")["dictionary"]]

    def holders(self):
        pids = [row["pid"] for row in tools.analyze_json("processes", self.whole, "--limit", "0")["processes"]
                if re.fullmatch(r"listed\w*:hold/3", row.get("initial_call", ""))]
        self.assertEqual(len(pids), len(PLACES))
        return pids

    def test_what_is_kept_reads_as_before(self):
        for pid in self.holders():
            entries = dict(self.dictionary(self.whole, pid))
            if entries.keys() == {"shown", "private", "other", "terms"}:
                break
        after = [value for _, value in self.dictionary(self.redacted, pid)]
        self.assertIn(entries["shown"], after)
        self.assertTrue({entries["private"], entries["other"], entries["terms"]}.isdisjoint(after))

    def test_sizes_are_the_same(self):
        for command, *rest in (*SIZE_QUESTIONS, *(("heap", pid) for pid in self.holders())):
            with self.subTest(question=command):
                self.assertEqual(*(numbers(tools.analyze_json(command, dump, *rest))
                                   for dump in (self.whole, self.redacted)))

    def test_a_capture_with_lists_is_refused(self):
        ended = tools.run_measured([CAPTURE, "-o", self.scratch / "no.beamdump", "--redact", self.policy,
                                    self.node.pid])
        tools.expect(ended, 2)
        self.assertIn("beamdump-analyze redact", ended.diagnostics)
        self.assertFalse((self.scratch / "no.beamdump").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)

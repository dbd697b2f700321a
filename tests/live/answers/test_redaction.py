"""A redacted dump holds none of the texts that were planted in the node, and answers every question
about sizes as before."""

import pathlib
import random
import re
import struct
import tempfile
import time
import unittest

from support import tools
from support.node import ApplicationStart
from support.paths import CAPTURE
from support.release import RELEASE

SECRETS = 10000 if RELEASE == "25" else 2000
# No text of the node is of eight of these letters.
LETTERS = b"QXZJKVWY"
LENGTH = 16
PART = 8  # so many letters of a secret in a row give it away
POLICIES = "structure", "text"
# Sizes, counts and shapes.
QUESTIONS = (("summary",), ("processes", "--all"), ("ets",), ("binaries",), ("memory",), ("allocators",),
             ("persistent-terms",), ("modules",), ("heap", "secrets_holders"), ("ports",), ("timers",))


def units(width):
    """A run of characters of `width` bytes each, the lowest byte first or last."""
    letter = b"[" + LETTERS + b"]"
    zeros = rb"\0" * (width - 1)
    return [re.compile(b"(?:" + unit + b"){%d}" % PART) for unit in {letter + zeros, zeros + letter}]


def words(apart):
    """A run of small integers, with `apart` bytes between one and the next."""
    small = b"(?:" + b"|".join(re.escape(struct.pack("<Q", letter << 4 | 0xF)) for letter in LETTERS) + b")"
    return re.compile((b"(?s:.{%d})" % apart).join([small] * PART))


ENCODINGS = {"bytes": units(1), "UTF-16": units(2), "UTF-32": units(4),
             "lists": [words(8)], "tuples": [words(0)]}


def found_in(content):
    """How often runs of the letters are in content, by encoding."""
    return {name: sum(len(one.findall(content)) for one in patterns) for name, patterns in ENCODINGS.items()}


def numbers(value):
    """An answer without its texts."""
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [numbers(item) for item in value]
    return None if isinstance(value, str) else value


class Redaction(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        chance = random.Random(20)
        cls.secrets = [bytes(chance.choices(LETTERS, k=LENGTH)).decode() for _ in range(SECRETS)]
        start = ApplicationStart("secrets")
        listed = start.directory / "secrets"
        listed.write_text("\n".join(cls.secrets))
        cls.node = start.run(
            ["erl", "-noinput", "-sname", cls.secrets[0] + "@localhost", "-pa", start.ebin,
             "+t", "4000000", "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
             "-secret", cls.secrets[1], "-run", "control", "start", start.directory / "control",
             "-run", "secrets", "start", listed],
            "kernel", {"A_SECRET": cls.secrets[2], "ERL_AFLAGS": "-password " + cls.secrets[3]})
        cls.addClassCleanup(cls.node.stop)
        deadline = time.monotonic() + 240
        while not listed.with_suffix(".held").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        cls.assertTrue(cls(), listed.with_suffix(".held").exists())
        cls.node.wait_until_quiet()
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.whole = cls.capture("whole")

    @classmethod
    def capture(cls, name, *arguments):
        dump = cls.scratch / f"{name}.beamdump"
        tools.expect(tools.run_measured([CAPTURE, "--quiet", "-o", dump, "--mode", "freeze", "--ets", "full",
                                         "--binary-bytes", "all", *arguments, cls.node.pid]), 0, 3)
        return dump

    def redact(self, policy, *arguments):
        dump = self.scratch / f"{policy}-afterwards.beamdump"
        if not dump.exists():
            tools.expect(tools.analyze("redact", self.whole, "-o", dump, "--policy", policy), 0)
        return dump

    def verify_structure(self, dump):
        content = tools.flat(dump)
        self.assertIn(b"code_server", content, "texts are not where they were looked for")
        self.assertEqual(found_in(content), dict.fromkeys(ENCODINGS, 0))

    def verify_text(self, dump):
        """Atoms, numbers and tuples of them remain: they are no texts."""
        content = tools.flat(dump)
        found = found_in(content)
        atoms = {secret.encode() for secret in self.secrets}
        bytes_left = [run for run in re.findall(b"[" + LETTERS + b"]{%d,}" % PART, content)
                      if run not in atoms]
        self.assertEqual([found[name] for name in ("UTF-16", "UTF-32", "lists")], [0, 0, 0])
        return bytes_left

    def test_the_node_is_full_of_them(self):
        """Without this, the other tests could not fail."""
        content = tools.flat(self.whole)
        found = found_in(content)
        print(f"{len(content)} bytes without compression: {found}", flush=True)
        for name, count in found.items():
            self.assertGreater(count, SECRETS // 2, name)
        self.assertGreaterEqual(len({run for run in re.findall(b"[" + LETTERS + b"]{16}", content)}
                                    & {secret.encode() for secret in self.secrets}), SECRETS)

    def test_none_is_left_afterwards(self):
        self.verify_structure(self.redact("structure"))

    def test_none_is_captured(self):
        for mode in "freeze", "live", "auto", "snapshot":
            with self.subTest(mode=mode):
                self.verify_structure(self.capture(f"structure-{mode}", "--redact", "structure", "--mode", mode))
        self.assertEqual(self.node.ask("ping"), "pong")

    def test_sizes_are_the_same(self):
        for policy in POLICIES:
            redacted = self.redact(policy)
            for question in QUESTIONS:
                with self.subTest(policy=policy, question=question[0]):
                    command, *rest = question
                    answers = [tools.parse(tools.expect(
                        tools.analyze(command, dump, *rest, "--json"), 0, 3))
                        for dump in (self.whole, redacted)]
                    self.assertEqual(*map(numbers, answers))


if __name__ == "__main__":
    unittest.main(verbosity=2)

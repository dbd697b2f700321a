"""A default dump shows the bytes that parts of large binaries show, wherever the parts are held."""

import pathlib
import tempfile
import unittest

from support import tools
from support.node import start_workload

MOST_PARTS = 64
PREFIX = 64
OF_A_PART = 256
WHOLE = 2_000_000
MANY = 999


def part(number, numbers=2):
    return '<<"' + "".join(f"{n:09}," for n in range(number, number + numbers)) + '">>'


class BinaryParts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("parts")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def captured(self, *options):
        dump = self.scratch / "parts.beamdump"
        tools.capture(self.node, dump, "--force", *options)
        return dump

    def dictionary(self, dump, process):
        answer = tools.analyze_json("dictionary", dump, process, "--term-bytes", "0")
        return {entry["key"]["text"]: entry["value"]["text"] for entry in answer["dictionary"]}

    def test_in_every_place(self):
        for options in ([], ["--mode", "snapshot"], ["--mode", "freeze"]):
            with self.subTest(options=options):
                self.places(self.captured(*options))

    def places(self, dump):
        held = self.dictionary(dump, "parts_holder")
        # The runtime has copied it: it is short.
        self.assertEqual(held["part"], part(100000))
        # It begins in the first bytes of the whole, and ends behind them.
        self.assertEqual(held["begins_inside"], part(5, 10))
        shifted = int(held["expected"]).to_bytes(100, "big")
        self.assertEqual(held["shifted"], "<<" + ",".join(map(str, shifted)) + ">>")
        # Of a longer one the first bytes.
        self.assertRegex(held["long_part"], r'^#Bin<5000 bytes, first 256: <<"000140000,0001')
        messages = tools.analyze_json("messages", dump, "parts_mailbox", "--term-bytes",
                                      "0")["messages"]
        self.assertEqual([message["term"]["text"] for message in messages],
                         [f"{{part,{part(110000, 20)}}}"])
        rows = tools.analyze_json("ets", dump, "parts_rows", "--term-bytes", "0")["rows"]
        self.assertEqual({row["row"]["text"] for row in rows},
                         {f"{{{n},{part(120000 + 100 * n, 20)}}}" for n in range(1, 6)})
        (term,) = tools.analyze_json("persistent-terms", dump, "parts_term", "--term-bytes",
                                     "0")["terms"]
        self.assertEqual(term["term"]["text"], f"{{part,{part(130000, 20)}}}")

    def test_how_many_are_kept_is_bounded(self):
        dump = self.captured()
        many = self.dictionary(dump, "parts_many")["many"]
        self.assertEqual(many.count('<<"'), MOST_PARTS)
        self.assertEqual(many.count("#Bin<100 bytes>"), MANY - MOST_PARTS)
        wholes = [binary for binary in tools.analyze_json("binaries", dump)["binaries"]
                  if binary["size_bytes"] >= WHOLE]
        self.assertEqual(len(wholes), 2)
        for binary in wholes:
            self.assertLessEqual(binary["captured_bytes"], PREFIX + MOST_PARTS * OF_A_PART)

    def test_what_was_not_asked_for_is_no_loss(self):
        """Of binaries the first bytes are in the dump, as the capture was asked: exit status 0."""
        for options in ([], ["--binary-bytes", "0"]):
            dump = self.captured(*options)
            for command in ("dictionary", "backtrace", "process", "term", "heap"):
                with self.subTest(command, options=options):
                    tools.expect(tools.analyze(command, dump, "parts_holder"), 0)
            self.assertIn("#Bin<5000 bytes", tools.analyze("dictionary", dump, "parts_holder").output)

    def test_none_are_kept_where_no_bytes_are_asked_for(self):
        dump = self.captured("--binary-bytes", "0")
        self.assertEqual(self.dictionary(dump, "parts_holder")["begins_inside"],
                         "#Bin<100 bytes>")


if __name__ == "__main__":
    unittest.main(verbosity=2)

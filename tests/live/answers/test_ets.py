"""ETS tables of every kind and option, read live, from a snapshot and in a freeze, are as the node
says; with one scheduler, where tables have no locks, their rows are too.
"""

import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import schemas, tools, whole_node
from support.node import start_workload

MODES = "live", "auto", "snapshot", "freeze"

# The questions change these: tables of the answering process and of the loader.
LEAST_TABLES = 60
LEAST_TABLES_WITH_ROWS = 15
# Of one scheduler, which wakes up at times: a row that is read just then is left out.
MOST_CAPTURES = 20


class OnNode:
    flags = ""

    @classmethod
    def setUpClass(cls):
        with mock.patch.dict(os.environ, ERL_FLAGS=cls.flags):
            cls.node = start_workload("tables", 0.1)
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        whole_node.ask_tables(cls.node, cls.scratch)  # the first question loads code that stays
        cls.node.wait_until_quiet()

    def captured(self, mode, *options):
        dump = self.scratch / f"{mode}.beamdump"
        tools.capture(self.node, dump, "--force", "--mode", mode, *options)
        return dump

    def rows_of_the_node(self):
        """By table."""
        answer = self.scratch / "rows"
        count = int(self.node.ask(f"rows {answer}"))
        rows = {}
        for line in answer.read_text().splitlines():
            identity, row = line.split("\t", 1)
            rows.setdefault(identity, []).append(row)
        self.assertEqual(sum(map(len, rows.values())), count)
        self.assertGreater(len(rows), LEAST_TABLES_WITH_ROWS)
        return rows

    def rows_are(self, dump, identity, expected):
        answer = tools.analyze_json("ets", dump, identity, "--limit", "0", "--term-bytes", "0")
        found = sorted(row["row"]["text"] for row in answer["rows"])
        name = answer["table"]["name"]
        self.assertEqual(sum(answer["missing"].values()), 0, name)
        if answer["table"]["compressed"]:
            # In these, only the key and one-word terms are not compressed.
            expected, found = ([row[1:].split(",")[0] for row in rows] for rows in (expected, found))
        self.assertEqual(found, expected, name)


class Tables(OnNode, unittest.TestCase):
    def test_all_tables_are_as_the_node_says(self):
        for mode in MODES:
            with self.subTest(mode):
                dump = self.captured(mode)
                expected = whole_node.ask_tables(self.node, self.scratch)
                answer = whole_node.compare_tables(self, dump, expected, expected)
                found = {table["id"]: table for table in answer["tables"]}
                self.assertGreater(len(found), LEAST_TABLES)
                self.assertEqual(set(found), set(expected))
                self.assertEqual(answer["total_memory_bytes"],
                                 sum(table["memory_bytes"] for table in found.values()))

    def test_rows_are_as_the_node_says(self):
        for mode in ("live", "snapshot", "freeze"):
            with self.subTest(mode):
                dump = self.captured(mode, "--ets", "full", "--binary-bytes", "all")
                expected = self.rows_of_the_node()
                for identity, rows in expected.items():
                    self.rows_are(dump, identity, sorted(rows))

    def test_rows_are_found_by_key_and_by_size(self):
        dump = self.captured("live", "--binary-bytes", "all")
        answer = tools.analyze_json("ets", dump, "tables_bag", "--key", "11", "--term-bytes", "60")
        self.assertEqual(sorted(row["row"]["text"][:12] for row in answer["rows"]),
                         ["{11,<<0,0,0,", "{11,again,11"])
        answer = tools.analyze_json("ets", dump, "tables_bag", "--sort", "size", "--limit", "0")
        words = [row["words"] for row in answer["rows"]]
        self.assertEqual(words, sorted(words, reverse=True))
        self.assertGreater(words[0], words[-1])
        groups = tools.analyze_json("ets", dump, "tables_bag", "--group-by", "shape", "--limit", "0")
        schemas.validate(groups, "groups")
        self.assertEqual(sum(group["count"] for group in groups["groups"]), len(words))
        self.assertEqual(sum(group["sums"]["words"] for group in groups["groups"]), sum(words))
        again = [row for row in answer["rows"] if ",again," in row["row"]["text"]]
        self.assertIn({"values": {"shape": "{integer,atom,integer}"}, "count": len(again),
                       "sums": {"words": sum(row["words"] for row in again)}}, groups["groups"])
        self.assertGreater(groups["group_count"], 1)

    def test_rows_that_are_not_asked_for_are_said_to_be_missing(self):
        dump = self.captured("live", "--ets", "none")
        ended = tools.ask("ets", dump, "tables_set")
        self.assertEqual(ended.status, 1)
        self.assertIn("were not captured", ended.diagnostics)
        self.assertEqual(tools.analyze_json("ets", dump)["total"],
                         tools.analyze_json("ets", self.captured("live"))["total"])


class OneScheduler(OnNode, unittest.TestCase):
    flags = "+S 1:1"

    def test_rows_are_as_the_node_says(self):
        for _ in range(MOST_CAPTURES):
            dump = self.captured("live", "--ets", "full", "--binary-bytes", "all")
            expected = self.rows_of_the_node()
            answers = [tools.analyze_json("ets", dump, identity, "--limit", "1")
                       for identity in expected]
            if not any(sum(answer["missing"].values()) for answer in answers):
                break
        self.assertIn("public", {answer["table"]["protection"] for answer in answers})
        for identity, rows in expected.items():
            self.rows_are(dump, identity, sorted(rows))


if __name__ == "__main__":
    unittest.main(verbosity=2)

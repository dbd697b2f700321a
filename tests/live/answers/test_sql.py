"""Questions in SQL have the node's own answers: states of the servers of one module, rows of a table by
prefix and by size, messages by their tag, entries of dictionaries, holders of binaries, timers by
receiver."""

import collections
import pathlib
import tempfile
import unittest

from support import tools
from support.node import start_workload
from support.paths import ANALYZE

MOST_KIB = 64 << 10


class Sql(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node = start_workload("asked")
        cls.addClassCleanup(cls.node.stop)
        cls.dump = scratch / "asked.beamdump"
        tools.capture(cls.node, cls.dump, "--ets", "full")
        told = scratch / "told"
        assert cls.node.ask(f"asked {told}") == "written"
        cls.told = collections.defaultdict(list)
        for line in told.read_text().splitlines():
            what, *words = line.split()
            cls.told[what].append(words)

    def rows(self, statement):
        answer = tools.analyze_json("sql", self.dump, statement)
        return [tuple(row.values()) for row in answer["rows"]]

    def test_states_of_one_module(self):
        told = sorted((pid, int(number), int(items), int(words), int(flat))
                      for pid, number, items, words, flat in self.told["state"])
        self.assertEqual(len(told), 20)
        rows = self.rows("""
            SELECT pid, CAST(term(pid, 'state/element 2') AS INTEGER) AS number,
                   term_count(pid, 'state/element 3/key items') AS items,
                   term_words(pid, 'state') AS words, term_flat_words(pid, 'state') AS flat
            FROM processes WHERE translated_initial_call = 'asked:init/1' ORDER BY pid""")
        self.assertEqual(sorted(rows), told)

    def test_parts_of_a_state(self):
        pid, number, *_ = self.told["state"][0]
        rows = self.rows(f"SELECT step, kind, term FROM terms('{pid}', 'state') ORDER BY step")
        self.assertEqual(rows[:2], [("element 1", "atom", "state"),
                                    ("element 2", "integer", number)])
        self.assertEqual((rows[2][0], rows[2][1]), ("element 3", "map"))
        roots = self.rows(f"SELECT term FROM heap_roots('{pid}') WHERE kind = 'tuple'")
        self.assertIn(f"{{state,{number},", "".join(term for term, in roots))

    def test_rows_by_prefix(self):
        rows = self.rows("""
            SELECT CASE WHEN key LIKE '<<"user:%' THEN 'user:' ELSE 'order:' END AS prefix,
                   count(*) AS n, sum(words) AS words
            FROM ets_rows('asked_rows') GROUP BY prefix""")
        self.assertEqual(sorted(rows), sorted((prefix, int(count), int(words))
                                              for prefix, count, words in self.told["rows"]))

    def test_largest_rows(self):
        rows = self.rows("""
            SELECT words, key FROM ets_rows('asked_rows') ORDER BY words DESC, key LIMIT 10""")
        self.assertEqual(rows, [(int(words), f'<<"{key}">>')
                                for words, key in self.told["largest"]])

    def test_messages_by_tag(self):
        rows = self.rows("""
            SELECT term(process, 'message ' || number || '/element 1') AS tag, count(*) AS n,
                   min(CAST(term(process, 'message ' || number || '/element 2') AS INTEGER))
            FROM messages('asked_mailbox') GROUP BY tag""")
        self.assertEqual(sorted(rows), sorted((tag, int(count), int(oldest))
                                              for tag, count, oldest in self.told["messages"]))

    def test_terms_of_messages_and_rows(self):
        rows = self.rows("""
            SELECT tag(value) AS tag, count(*) AS n, min(element(value, 2))
            FROM messages('asked_mailbox') GROUP BY tag(value)""")
        self.assertEqual(sorted(rows), sorted((tag, int(count), int(oldest))
                                              for tag, count, oldest in self.told["messages"]))
        rows = self.rows("""
            SELECT text(value, 'element 1'), flat_words(value) FROM ets_rows('asked_rows')
            ORDER BY flat_words(value) DESC, key LIMIT 10""")
        self.assertEqual(rows, [(f'<<"{key}">>', int(words))
                                for words, key in self.told["largest"]])
        rows = self.rows("""
            SELECT count(*), sum(part(value, 'element 2[1]')) FROM ets_rows('asked_rows')
            WHERE matches(value, '{_, [_ | _]}')""")
        # Row N has a list of N rem 101 times N.
        numbers = [n for n in range(1, 5001) if n % 101]
        self.assertEqual(rows, [(len(numbers), sum(numbers))])

    def test_bytes_read(self):
        """Beyond what opening the dump reads, a question reads what it asks for."""
        def read(statement):
            return tools.bytes_read(tools.expect(tools.analyze("sql", self.dump, statement, "--stats"), 0))

        opened = read("SELECT 1")
        whole = read("SELECT sum(words) FROM ets_rows('asked_rows')") - opened
        first = read("SELECT key FROM ets_rows('asked_rows') LIMIT 10") - opened
        self.assertLess(first, whole * 4 / 5)
        by_pid = read("SELECT p.memory FROM processes p WHERE p.pid = (SELECT owner FROM ets_tables "
                      "WHERE name = 'asked_rows')") - opened
        by_name = read("SELECT memory FROM processes WHERE registered_name = 'asked_mailbox'") - opened
        every = read("SELECT count(*) FROM processes p, dictionary(p.pid)") - opened
        print(f"opening reads {opened} of {tools.file_bytes(self.dump)} bytes, ten rows of a table {first} of {whole}, "
              f"a process by name {by_name}, all dictionaries {every}", flush=True)
        self.assertLess(by_name, every / 10)
        self.assertLess(by_pid, every / 2)

    def test_entries_of_dictionaries(self):
        rows = self.rows("""
            SELECT p.pid, d.value FROM processes p, dictionary(p.pid) d WHERE d.key = 'asked_key'""")
        self.assertEqual(sorted(rows), sorted(map(tuple, self.told["dictionary"])))
        self.assertEqual(len(rows), 7)

    def test_holders_of_binaries(self):
        (told,) = self.told["holder"]
        rows = self.rows("""
            SELECT h.pid, b.size_bytes, h.root, h.path FROM binaries b, holders(b.address) h
            WHERE b.size_bytes = 123456""")
        self.assertEqual(rows, [(told[0], int(told[1]), "dictionary asked_blob", "element 2")])

    def test_timers_by_receiver(self):
        rows = self.rows("""
            SELECT t.receiver, count(*) AS n FROM timers t JOIN processes p ON p.pid = t.receiver
            WHERE p.translated_initial_call = 'asked:init/1' AND t.kind = 'message' GROUP BY 1""")
        self.assertEqual([count for _, count in rows], [3] * 5)


class OfALargeDump(unittest.TestCase):
    def test_points_and_first_rows_read_little_of_it(self):
        """Less than a hundredth of the file, opening included."""
        node = start_workload("random_rows", 3)
        self.addCleanup(node.stop)
        dump = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "large.beamdump"
        tools.capture(node, dump, "--ets", "full")
        most = tools.file_bytes(dump) // 100
        self.assertGreater(most, 1_000_000)
        for statement, count in (
                ("SELECT 1", 1),
                ("SELECT memory FROM processes WHERE registered_name = 'random_rows_owner'", 1),
                ("SELECT memory FROM processes WHERE pid = (SELECT owner FROM ets_tables WHERE name = 'random_rows')", 1),
                ("SELECT * FROM processes LIMIT 10", 10),
                ("SELECT pid, memory FROM processes ORDER BY memory DESC LIMIT 10", 10),
                ("SELECT pid FROM processes WHERE current_function LIKE '%:loop%' LIMIT 3", 3),
                ("SELECT name, size FROM ets_tables ORDER BY size DESC LIMIT 1", 1),
                ("SELECT size_bytes FROM binaries LIMIT 10", 10),
                ("SELECT size_bytes FROM binaries ORDER BY size_bytes DESC LIMIT 10", 10),
                ("SELECT key, term FROM ets_rows('random_rows') LIMIT 10", 10)):
            with self.subTest(statement):
                ended = tools.expect(tools.run_measured([ANALYZE, "sql", dump, statement, "--json", "--stats"]), 0, 3)
                read = tools.bytes_read(ended)
                print(f"{read:,} of {tools.file_bytes(dump):,} bytes, {ended.peak_kib >> 10} MiB: {statement}", flush=True)
                self.assertEqual(len(tools.parse(ended)["rows"]), count)
                self.assertLess(read, most)
                self.assertLess(ended.peak_kib, MOST_KIB)
        # What has to read every row takes no memory for it.
        whole = tools.expect(tools.run_measured(
            [ANALYZE, "sql", dump, "SELECT words, key FROM ets_rows('random_rows') ORDER BY words DESC, key LIMIT 10",
             "--json", "--stats"]), 0)
        self.assertGreater(tools.bytes_read(whole), most * 50)
        self.assertLess(whole.peak_kib, MOST_KIB)


if __name__ == "__main__":
    unittest.main()

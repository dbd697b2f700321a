"""The Python package has the node's own answers: tables, questions in SQL, terms of each kind by their parts; its errors
are the program's sentences, its processes end, notebooks show what it gives. Also as pandas and Arrow have it."""

import base64
import collections
import gc
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings

from support import tools
from support.node import start_workload
from support.paths import ANALYZE, ROOT
from support.release import RELEASE

sys.path.insert(0, str(ROOT / "python"))
beamdump = importlib.import_module("beamdump")

# The package gives answers as a wheel's user gets them: with the program that is tested.
os.environ["BEAMDUMP_ANALYZE"] = str(ANALYZE)

# Run by the Python that has pandas and Arrow: the types of columns, and that what is absent stays absent.
FRAMES = """
import json, sys
import beamdump
with beamdump.open(sys.argv[1]) as dump:
    table = dump.sql("SELECT pid, registered_name, memory, memory * 0.5 AS half, NULL AS none FROM processes "
                     "ORDER BY pid")
    frame, arrow = table.to_pandas(), table.to_arrow()
    print(json.dumps({
        "types": [str(frame[name].dtype) for name in ("pid", "memory", "half")],
        "arrow": [str(kind) for kind in arrow.schema.types],
        "memory": [int(value) for value in frame["memory"]],
        "absent": [int(frame["registered_name"].isna().sum()), arrow["registered_name"].null_count],
        "rows": [len(frame), arrow.num_rows],
        "empty": list(dump.sql("SELECT pid FROM processes WHERE pid = 'none'").to_pandas().columns)}))
"""


def children():
    """The programs that this process has started and that have not ended."""
    return subprocess.run(["pgrep", "-P", str(os.getpid()), "beamdump"], capture_output=True, text=True).stdout.split()


class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.node = start_workload("asked")
        cls.addClassCleanup(cls.node.stop)
        cls.file = cls.scratch / "asked.beamdump"
        tools.capture(cls.node, cls.file, "--ets", "full")
        cls.whole = cls.scratch / "whole.beamdump"
        tools.capture(cls.node, cls.whole, "--binary-bytes", "all")
        told = cls.scratch / "told"
        assert cls.node.ask(f"asked {told}") == "written"
        cls.told = collections.defaultdict(list)
        for line in told.read_text().splitlines():
            what, *words = line.split()
            cls.told[what].append(words)

    def setUp(self):
        self.dump = beamdump.open(self.file)
        self.addCleanup(self.dump.close)

    def terms(self, file=None):
        dump = self.dump
        if file:
            dump = beamdump.open(file)
            self.addCleanup(dump.close)
        return dump.process("asked_terms").term("dictionary asked_terms")

    def test_questions_in_sql(self):
        told = sorted((pid, int(number), int(words), int(flat)) for pid, number, _, words, flat in self.told["state"])
        table = self.dump.sql("SELECT pid, CAST(term(pid, 'state/element 2') AS INTEGER) AS number, "
                              "term_words(pid, 'state') AS words, term_flat_words(pid, 'state') AS flat "
                              "FROM processes WHERE translated_initial_call = 'asked:init/1' ORDER BY pid")
        self.assertEqual(sorted(tuple(row.values()) for row in table), told)
        self.assertEqual(table.columns, ["pid", "number", "words", "flat"])
        self.assertEqual(table["pid"], [row["pid"] for row in table])

    def test_tables(self):
        rows = self.dump.table("ets_rows", "asked_rows")
        self.assertEqual(len(rows), sum(int(count) for _, count, _ in self.told["rows"]))
        messages = self.dump.process("asked_mailbox").messages
        self.assertEqual(len(messages), sum(int(count) for _, count, _ in self.told["messages"]))
        self.assertIn("messages(process)", self.dump.tables())
        empty = self.dump.sql("SELECT pid, memory FROM processes WHERE pid = '<9.9.9>'")
        self.assertEqual((empty.columns, len(empty)), (["pid", "memory"], 0))
        absent = self.dump.sql("SELECT registered_name FROM processes WHERE translated_initial_call = 'asked:init/1'")
        self.assertEqual(set(absent["registered_name"]), {None})

    def test_rows_are_read_as_they_are_wanted(self):
        rows = self.dump.rows("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n")
        self.assertEqual([next(rows)["x"] for _ in range(3)], [1, 2, 3])
        rows.close()
        self.assertEqual(len(children()), 1, "the program runs on though nobody reads")

    def test_states_by_their_parts(self):
        for pid, number, items, words, flat in self.told["state"]:
            state = self.dump.process(pid).state
            self.assertIsInstance(state, beamdump.Tuple)
            self.assertEqual(len(state), 3)
            self.assertEqual((state[0], state[1]), ("state", int(number)))
            self.assertEqual(state[-1]["name"].bytes() if int(number) else None, number.encode())
            self.assertEqual(list(state[2]["items"]), list(range(1, int(items) + 1)))
            self.assertEqual((state.words, state.flat_words), (int(words), int(flat)))

    def test_terms_of_each_kind(self):
        terms = self.terms(self.whole)
        plain = {name: base64.b64decode(text) for name, text in self.told["term"]}
        self.assertEqual(plain.keys(), {"atom", "short_atom", "integer", "negative", "float", "pid", "port",
                                        "reference", "text", "bytes", "long"})
        for name, said in plain.items():
            with self.subTest(name):
                value = terms[beamdump.Atom(name)]
                if isinstance(value, beamdump.Binary):
                    self.assertEqual((value.bytes(), value.size), (said, len(said)))
                elif isinstance(value, int):
                    # Longer than what Python reads at once.
                    self.assertEqual(beamdump._terms.integer(said.decode()), value)
                elif isinstance(value, float):
                    self.assertEqual(value, float(said))
                else:
                    self.assertEqual(str(value), said.decode())
        self.assertIsInstance(terms["atom"], beamdump.Atom)
        self.assertGreater(terms["integer"].bit_length(), 40000)
        self.assertEqual({type(terms[name]) for name in ("pid", "port", "reference")},
                         {beamdump.Pid, beamdump.Port, beamdump.Reference})
        words, flat = self.told["terms"][0]
        self.assertEqual((terms.words, terms.flat_words), (int(words), int(flat)))

    def test_parts(self):
        terms = self.terms()
        self.assertEqual([terms["list"][0], terms["list"][1][0], terms["list"][-1].bytes()], [1, "two", b"three"])
        self.assertEqual([part for part in terms["list"]][0], 1)
        self.assertEqual([terms["tuple"][0], terms["tuple"][1][1], len(terms["tuple"][2])], ["a", 2, 0])
        self.assertEqual((len(terms["empty"]), list(terms["empty"])), (0, []))
        improper = terms["improper"]
        self.assertEqual((len(improper), list(improper), improper[1], improper[-1], improper[0:9]),
                         (2, [1, 2], 2, 2, [1, 2]))
        self.assertEqual(improper.at("tail"), "tail")
        with self.assertRaises(IndexError):
            improper[2]
        self.assertEqual(terms["string"].text, '"text"')
        self.assertEqual(len(terms["string"]), 4)
        numbers = terms["numbers"]
        self.assertEqual((len(numbers), numbers[4999], numbers[1:3]), (5000, 5000, [2, 3]))
        self.assertEqual(sum(numbers), 5000 * 5001 // 2)
        with self.assertRaises(IndexError):
            numbers[5000]
        # The list is longer than its text.
        self.assertLess(len(numbers.text), len(numbers.whole_text()))
        self.assertEqual(numbers.whole_text(), "[" + ",".join(map(str, range(1, 5001))) + "]")
        self.assertIsInstance(terms["function"], beamdump.Fun)
        self.assertIsInstance(terms["function"][0], beamdump.Pid)
        self.assertEqual([type(part) for part in terms["function"]], [beamdump.Pid])
        self.assertEqual(len(terms["function"]), 1)
        if int(RELEASE) < 27:
            # Later releases do not keep who made a fun.
            self.assertEqual(terms["function"].at("creator"), terms["pid"])
        with self.assertRaises(IndexError):
            terms["function"][1]
        # One that no module has made of terms.
        self.assertEqual((len(terms["export"]), list(terms["export"]), terms["export"].text), (0, [], "fun lists:map/2"))
        self.assertEqual(terms["bits"].text, "<<5:3>>")
        with self.assertRaisesRegex(beamdump.Error, "bit string"):
            terms["bits"].bytes()
        self.assertEqual([key for key in terms["keys"].keys()], list(dict(terms["keys"].items())))
        self.assertEqual({str(terms["keys"][key]) for key in terms["keys"].keys()},
                         {"of_float", "of_list", "of_pid", "of_negative", "of_empty", "of_quote"})

    def test_maps(self):
        terms = self.terms()
        self.assertEqual([terms[b"key"], terms[7], terms["{1,2}"], terms[beamdump.Atom("A b")]],
                         ["binary_key", "number_key", "tuple_key", "atom_key"])
        self.assertEqual(len(terms), len(terms.keys()))
        self.assertLessEqual({b"key", 7, "{1,2}", "A b", "atom"}, set(terms.keys()))
        self.assertNotIn("never", terms)
        with self.assertRaises(KeyError):
            terms["never"]
        self.assertEqual(dict(terms["map"].items()), {n: n * n for n in range(1, 101)})

    def test_what_the_dump_lacks(self):
        long = self.terms()["long"]
        self.assertEqual((long.is_whole, long.size), (False, 300))
        self.assertTrue((b"0123456789" * 30).startswith(long.known_bytes()))
        self.assertGreaterEqual(len(long.known_bytes()), 64)
        with self.assertRaisesRegex(beamdump.Error, "has not all bytes"):
            long.bytes()
        small = self.scratch / "small.beamdump"
        tools.capture(self.node, small, "--no-heaps")
        with beamdump.open(small) as dump:
            with self.assertRaises(beamdump.Error):
                dump.term("asked_terms", "dictionary asked_terms")
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                table = dump.sql("SELECT p.pid, d.key FROM (SELECT pid FROM processes LIMIT 5) p "
                                 "LEFT JOIN dictionary(p.pid) d")
            self.assertEqual([one.category for one in said], [beamdump.IncompleteWarning], table.messages)
            self.assertEqual(said[0].filename, __file__)

    def test_answers_of_commands(self):
        memory = self.dump.memory()
        expected = tools.analyze_json("memory", self.file)
        self.assertEqual(memory["categories"], expected["categories"])
        self.assertEqual(self.dump.ask("processes", sort="memory", limit=3)["processes"],
                         json.loads(json.dumps(tools.analyze_json("processes", self.file, "--sort", "memory",
                                                                  "--limit", "3")["processes"])))
        # Larger than a page that a model gets.
        modules = self.dump.ask("modules", limit=0)
        self.assertGreater(len(json.dumps(modules)), 2 * 12_000)
        self.assertEqual(modules["modules"], tools.analyze_json("modules", self.file, "--limit", "0")["modules"])

    def test_errors_are_the_programs(self):
        with self.assertRaisesRegex(beamdump.Error, "no such column: never_there"):
            self.dump.sql("SELECT never_there FROM processes")
        with self.assertRaisesRegex(beamdump.Error, "no process in the dump is registered as 'never'"):
            self.dump.term("never", "state")
        with self.assertRaisesRegex(beamdump.Error, "there is no tool"):
            self.dump.ask("no_such_command")
        with self.assertRaisesRegex(beamdump.Error, "is no file"):
            beamdump.open(self.scratch / "none.beamdump")
        with self.assertRaisesRegex(beamdump.Error, "cannot run /dev/null"):
            beamdump.open(self.file, program="/dev/null")
        # The dump answers after its errors.
        self.assertGreater(len(self.dump.processes()), 20)

    def test_several_dumps(self):
        with beamdump.open(self.file, self.whole) as both:
            counts = both.sql("SELECT dump, count(*) AS n FROM processes GROUP BY dump ORDER BY dump")
            self.assertEqual(counts["dump"], [str(self.file), str(self.whole)])
            terms = both.process("asked_terms").term("dictionary asked_terms")
            self.assertEqual([terms["negative"], len(terms.keys())], [-5, len(terms)])

    def test_processes_end(self):
        before = len(children())
        with beamdump.open(self.file) as dump:
            self.assertEqual(len(children()), before + 1)
            dump.memory()
        self.assertEqual(len(children()), before)
        with self.assertRaisesRegex(beamdump.Error, "is closed"):
            dump.memory()
        dump = beamdump.open(self.file)
        del dump
        gc.collect()
        self.assertEqual(len(children()), before)
        # A program that dies is an error, not a question that waits for ever.
        dump = beamdump.open(self.file)
        new = set(children())
        self.assertEqual(len(new), before + 1)
        dump._server._process.kill()
        with self.assertRaises(beamdump.Error):
            dump.memory()

    def test_an_interrupt_cancels_the_question(self):
        class Interrupt(Exception):
            pass

        def interrupt(*_):
            raise Interrupt

        former = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, former)
        endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
        signal.alarm(1)
        with self.assertRaises(Interrupt):
            self.dump._server.call("sql", {"dumps": [str(self.file)], "statement": endless})
        signal.alarm(1)
        with self.assertRaises(Interrupt):
            self.dump.sql(endless)
        self.assertEqual(len(children()), 1)
        # It waits for what was asked before.
        self.assertIn("categories", self.dump.memory())

    def test_notebooks(self):
        table = self.dump.sql("SELECT key, term FROM ets_rows('asked_rows') ORDER BY key")
        shown = table._repr_html_()
        self.assertIn("<th>key</th>", shown)
        self.assertIn("&lt;&lt;&quot;order:1001&quot;&gt;&gt;", shown)
        self.assertIn(f"{len(table) - 20} more of {len(table)} rows", shown)
        self.assertEqual(len(repr(table).splitlines()), 22)
        self.assertIn("<td style=\"text-align: left\">total</td>", self.dump.memory()._repr_html_())
        tree = self.dump.tree()._repr_html_()
        self.assertEqual(tree.count("<ul>"), tree.count("</ul>"))
        self.assertIn("asked_mailbox", tree)
        terms = self.terms()._repr_html_()
        self.assertIn("map of", terms)
        self.assertEqual(terms.count("<details>"), terms.count("</details>"))
        self.assertIn("dictionary asked_terms", self.dump.process("asked_terms")._repr_html_())

    def test_pandas_and_arrow(self):
        found = subprocess.run([ROOT / "scripts" / "install-pypi", "frames"], text=True, stdout=subprocess.PIPE)
        if found.returncode == 77:
            self.skipTest("pandas and Arrow are not here")
        self.assertEqual(found.returncode, 0)
        ended = subprocess.run([found.stdout.strip(), "-B", "-c", FRAMES, self.file], capture_output=True, text=True,
                               env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        said = json.loads(ended.stdout)
        rows = tools.analyze_json("sql", self.file, "SELECT * FROM processes ORDER BY pid")["rows"]
        unnamed = sum("registered_name" not in row for row in rows)
        self.assertEqual(said["types"][1:], ["Int64", "Float64"])
        self.assertEqual(said["arrow"], ["string", "string", "int64", "double", "null"])
        self.assertEqual(said["memory"], [row["memory"] for row in rows])
        self.assertEqual((said["absent"], said["rows"]), ([unnamed] * 2, [len(rows)] * 2))
        self.assertEqual(said["empty"], ["pid"])


class Wheel(unittest.TestCase):
    def test_a_wheel_has_the_program_and_needs_nothing_else(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        subprocess.run([ROOT / "scripts" / "build-wheel", ANALYZE], check=True,
                       env=os.environ | {"BEAMDUMP_WHEEL": scratch})
        (wheel,) = scratch.glob("*.whl")
        self.assertRegex(wheel.name, r"^beamdump-[0-9.]+-py3-none-manylinux2014_x86_64\.whl$")
        subprocess.run(["/usr/bin/python3", "-m", "venv", scratch / "venv"], check=True)
        subprocess.run([scratch / "venv" / "bin" / "pip", "install", "--quiet", "--no-index", wheel], check=True)
        # Neither PATH nor the environment has a program.
        ended = subprocess.run(
            [scratch / "venv" / "bin" / "python", "-c", "import beamdump, sys; print(len(beamdump.open(sys.argv[1])."
             "processes()), beamdump._program.find_program())", ROOT / "testdata" / "formats" / "1.0-sample.beamdump"],
            capture_output=True, text=True, env={"PATH": "/nowhere"})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        count, program = ended.stdout.split()
        self.assertEqual(count, "4")
        self.assertTrue(pathlib.Path(program).is_relative_to(scratch / "venv"), program)
        self.assertTrue(os.access(program, os.X_OK))


if __name__ == "__main__":
    unittest.main()

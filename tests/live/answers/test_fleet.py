"""Many dumps in one engine: scripts/fleet on the exports of several nodes' dumps, of which one has a leak
of its own and all have one in common.

BEAMDUMP_FLEET_DUMPS is how many dumps there are of each of the three nodes (3; soak: 34), BEAMDUMP_FLEET_ENGINES which
engines read them ("duckdb"; soak: "duckdb,spark", Spark on two executors)."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import tools
from support.node import ApplicationStart
from support.paths import ROOT

NODES = 3
DUMPS = int(os.environ.get("BEAMDUMP_FLEET_DUMPS", "3"))
EACH = 3000 // DUMPS  # processes that a node leaks before each of its dumps
ENGINES = os.environ.get("BEAMDUMP_FLEET_ENGINES", "duckdb").split(",")
# Two executors of one core each.
MASTER = "local-cluster[2,1,1024]"
NOT_TO_BE_HAD = 77
GROWING = "leaking:waiting/1"


def python_of(engine):
    """The Python that has the engine. What PyPI cannot give is shown as skipped."""
    found = subprocess.run([ROOT / "scripts" / "install-pypi", engine], text=True, stdout=subprocess.PIPE)
    if found.returncode == NOT_TO_BE_HAD:
        sys.exit(NOT_TO_BE_HAD)
    found.check_returncode()
    return found.stdout.strip()

# Prints of a Parquet file its columns' types and, of each kind of line, what totals() has of each column.
READ_BACK = """
import duckdb, json
duckdb.execute("SET enable_progress_bar = false")
things = duckdb.read_parquet("things.parquet")
types = dict(zip(things.columns, map(str, things.types)))
sums = {"VARCHAR": "sum(length({0}))", "BIGINT": "sum({0})", "BOOLEAN": "sum(CAST({0} AS INTEGER))"}
wanted = [part.format(f'"{name}"') for name, kind in types.items()
          for part in ("count({0})", "CAST(%s AS VARCHAR)" % sums[kind])]
rows = things.aggregate("kind, " + ", ".join(wanted)).fetchall()
print(json.dumps({"types": types, "totals": {kind: dict(zip(types, zip(rest[::2], rest[1::2])))
                                             for kind, *rest in rows}}))
"""
COLUMN_TYPES = {str: "VARCHAR", int: "BIGINT", bool: "BOOLEAN"}


def totals(things):
    """Of each kind of line and each field that its lines have: how many, and the sum of values or lengths."""
    sums = collections.defaultdict(lambda: [0, 0])
    for thing in things:
        for name, value in thing.items():
            one = sums[thing["kind"], name]
            one[0] += 1
            one[1] += len(value) if isinstance(value, str) else value
    return {place: [count, str(total)] for place, (count, total) in sums.items()}


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.nodes = [cls.start(number) for number in range(NODES)]
        cls.lines = []
        for round_number in range(DUMPS):
            for number, node in enumerate(cls.nodes):
                cls.leak(node, str(EACH), number)
            if round_number == 0:
                # Only the first node has a queue, a large table, and more memory than the others.
                for kind in ("mailbox", "ets", str(2 * DUMPS * EACH)):
                    cls.leak(cls.nodes[0], kind, 0)
            for number, node in enumerate(cls.nodes):
                cls.lines.append(cls.export(node, f"{number}-{round_number:03}"))
        cls.things = [json.loads(line) for path in cls.lines for line in path.read_text().splitlines()]
        cls.answers = {engine: cls.ask(engine) for engine in ENGINES}

    @classmethod
    def start(cls, number):
        start = ApplicationStart()
        node = start.run(["erl", "-noinput", "-sname", f"fleet{number}@localhost", "-pa", start.ebin,
                          "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
                          "-run", "control", "start", start.directory / "control", "-run", "leaking", "start_leakers"], "kernel", {})
        cls.addClassCleanup(node.stop)
        return node

    @classmethod
    def leak(cls, node, kind, number):
        assert node.ask(f"leaking {kind}") == "leaked", (kind, number)

    @classmethod
    def export(cls, node, name):
        dump, lines = cls.scratch / f"{name}.beamdump", cls.scratch / f"{name}.ndjson"
        tools.capture(node, dump, "--mode", "freeze")
        tools.expect(tools.analyze("export", "ndjson", dump, "-o", lines), 0, 3)
        dump.unlink()
        return lines

    @classmethod
    def ask(cls, engine):
        python = python_of(engine)
        answer = subprocess.run([python, ROOT / "scripts" / "fleet", "--engine", engine, "--master", MASTER,
                                 cls.scratch / "*.ndjson"], check=True, text=True,
                                stdout=subprocess.PIPE, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"})
        # Spark keeps its executors' output beside its programs.
        for place in pathlib.Path(python).parents[1].glob("lib/*/site-packages/pyspark/work"):
            shutil.rmtree(place)
        return json.loads(answer.stdout)

    def each_engine(self):
        """Of each engine, the answers in the order of the questions."""
        for engine, answer in self.answers.items():
            self.assertEqual((answer["dumps"], answer["nodes"]), (NODES * DUMPS, NODES), engine)
        return [list(answer["answers"].values()) for answer in self.answers.values()]

    def of_kind(self, kind):
        found = [thing for thing in self.things if thing["kind"] == kind]
        self.assertTrue(found, kind)
        return found

    def test_what_grows_on_all_nodes_is_first(self):
        memory = collections.defaultdict(list)
        for thing in self.of_kind("group"):
            if thing["group_by"] == "initial_call" and thing["name"] == GROWING:
                memory[thing["node"]].append((thing["captured_us"], thing["memory"]))
        more = sum(max(steps)[1] - min(steps)[1] for steps in memory.values())
        self.assertGreater(more, 0)
        for growing, *_ in self.each_engine():
            self.assertEqual(growing[0], {"name": GROWING, "nodes": NODES, "more_bytes": more})

    def test_the_node_with_more_memory_is_named(self):
        for _, outliers, *_ in self.each_engine():
            self.assertEqual([row["node"] for row in outliers], ["fleet0@localhost"])
            self.assertGreater(outliers[0]["process_memory"], 2 * outliers[0]["median_of_release"])

    def test_the_longest_queue_is_first(self):
        for _, _, queues, *_ in self.each_engine():
            self.assertEqual((queues[0]["name"], queues[0]["nodes"]), ("leaking:leaker/1", 1))
            self.assertEqual(queues[0]["longest_in_a_dump"], 20000)

    def test_the_table_that_differs_is_first(self):
        for _, _, _, tables, _ in self.each_engine():
            self.assertEqual((tables[0]["name"], tables[0]["nodes"]), ("leaky_table", NODES))
            self.assertGreater(tables[0]["largest"], 100 * tables[0]["smallest"])

    def test_processes_are_counted_by_function(self):
        functions = collections.Counter(thing["function"] for thing in self.of_kind("frame") if thing["frame"] == 0)
        for *_, places in self.each_engine():
            self.assertEqual(places[0], {"function": GROWING, "processes": functions[GROWING], "nodes": NODES})
            self.assertEqual({row["function"]: row["processes"] for row in places}.items() - functions.items(), set())

    def test_the_documented_command_makes_parquet_of_all_lines(self):
        (command,) = re.findall(r"(?m)^\$.*--parquet.*$", (ROOT / "docs" / "fleet.md").read_text())
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "scripts").symlink_to(ROOT / "scripts")
            (pathlib.Path(folder) / "lines").symlink_to(self.scratch)
            subprocess.run(["bash", "-ec", command], cwd=folder, check=True)
            read = subprocess.run([python_of("duckdb"), "-c", READ_BACK], cwd=folder, check=True, text=True,
                                  stdout=subprocess.PIPE)
        found = json.loads(read.stdout)
        self.assertEqual({(kind, name): total for kind, columns in found["totals"].items()
                          for name, total in columns.items() if total[0]}, totals(self.things))
        # One type on all lines, that of the column; none is nested.
        types = {(name, COLUMN_TYPES[type(value)]) for thing in self.things for name, value in thing.items()}
        self.assertLessEqual(types, found["types"].items())
        self.assertLessEqual({*found["types"].values()}, {*COLUMN_TYPES.values()})

    def test_engines_agree(self):
        first, *others = self.answers.values()
        for other in others:
            self.assertEqual(other, first)


if __name__ == "__main__":
    for one in ENGINES:
        python_of(one)
    unittest.main(verbosity=2)

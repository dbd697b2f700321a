"""Terms in Elixir's syntax are what the node's own inspect/2 makes of them, byte for byte, for every
kind of term; the state of a GenServer is what :sys.get_state/1 returns; records show their fields."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from support import tools
from support.node import ApplicationStart
from support.paths import ROOT
from support.release import of_release

FEWEST_TERMS = 650
KEEPER = '%Zoo.Keeper{age: 9, name: "Bo", tags: [vip: true]}'
RECORDS = """\
-module(kept_records).
-export([f/0]).
-record(keeper, {name, age = 0 :: integer(), 'odd name'}).
f() -> #keeper{name = <<"Ann">>}.
"""


FIELD = r'(?:age: \d+|name: "\w*"|tags: \[[^\]]*\])'
FIELDS = re.compile(f"(?<=%Zoo.Keeper{{){FIELD}(?:, {FIELD})*(?=}})")


def unordered(text):
    """With any order of what a dump has in another: a large map's pairs, a struct's fields."""
    pairs = text[2:-1].split(", ") if text and text.startswith("%{") else []
    if len(pairs) > 32:
        return sorted(pairs)
    return text and FIELDS.sub(lambda fields: ", ".join(sorted(re.findall(FIELD, fields[0]))), text)


class Terms(unittest.TestCase):
    def test_as_inspect_prints_them(self):
        start = ApplicationStart()
        texts = start.directory / "texts"
        node = start.run(
            ["elixir", "--sname", "beamdump_test@localhost", "--cookie", start.cookie,
             "--erl", "-kernel inet_dist_use_interface {127,0,0,1}", "-pa", start.ebin,
             "--no-halt", ROOT / "testdata" / "elixir" / "terms.exs",
             start.directory / "control", texts], "elixir",
            {"LC_ALL": "C.UTF-8", "ELIXIR_ERL_OPTIONS": "+fnu"})
        self.addCleanup(node.stop)
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        dump = scratch / "terms.beamdump"
        tools.capture(node, dump, "--binary-bytes", "all")
        answer = tools.analyze_json("dictionary", dump, "zoo_terms", "--limit", "0",
                                    "--term-bytes", "0")
        self.assertEqual(answer["dump"]["term_syntax"], "elixir", "guessed from the node")
        ours = {entry["key"]["text"]: entry["value"]["text"] for entry in answer["dictionary"]}
        theirs = texts.read_text(encoding="utf-8").split("\n")[:-1]
        self.assertGreater(len(theirs), FEWEST_TERMS)
        differences = [(index, ours.get(str(index)), text) for index, text in enumerate(theirs)
                       if unordered(ours.get(str(index))) != unordered(text)]
        self.assertEqual(differences, [])
        print(f"{len(theirs)} terms, {sum(map(len, theirs))} characters", flush=True)
        self.restarts(dump)
        self.state(dump)
        self.records(dump, scratch)

    def restarts(self, dump):
        """Elixir's DynamicSupervisor keeps them in a map."""
        answer = tools.analyze_json("summary", dump)
        found = [finding for finding in answer["findings"] if finding["id"] == "restart_loop"]
        self.assertEqual(len(found), 1, answer["findings_left_out"])
        self.assertRegex(found[0]["sentence"],
                         r"^zoo_dynamic \(.*\) restarted its children 5 times within 3600 s")
        self.assertNotIn("restart_loop", {rule["id"] for rule in answer["findings_left_out"]})

    def records(self, dump, scratch):
        (scratch / "kept_records.erl").write_text(RECORDS)
        subprocess.run(of_release("erlc", "+debug_info", "-o", scratch,
                                  scratch / "kept_records.erl"), check=True)
        answer = tools.analyze_json("term", dump, "zoo_server", "state.record", "--beam", scratch,
                                    "--term-bytes", "0")
        self.assertEqual(answer["term"]["text"],
                         "#keeper{name = \"Ann\", age = 3, 'odd name' = nil}")
        # The parts with the most words come first, and the others as the term has them.
        self.assertEqual([part.get("field") for part in answer["parts"]],
                         ["name", None, "age", "'odd name'"])
        answer = tools.analyze_json("term", dump, "zoo_server", "state.record.age", "--beam",
                                    scratch / "kept_records.beam", "--term-bytes", "0")
        self.assertEqual(answer["term"]["text"], "3")

    def state(self, dump):
        def shown(path):
            answer = tools.analyze_json("term", dump, "zoo_server", path, "--term-bytes", "0",
                                        "--limit", "0")
            return answer["term"]["text"], answer
        self.assertEqual(unordered(shown("state.keepers[2]")[0]), KEEPER)
        self.assertEqual(shown("state.keepers[2].name")[0], '"Bo"')
        self.assertEqual(shown('state.limits["limit 42"]')[0], "{42, :days}")
        limits, answer = shown("state/key :limits")
        self.assertEqual((answer["kind"], answer["count"]), ("map", 100))
        self.assertEqual(len(answer["parts"]), 100)
        for part in answer["parts"]:
            self.assertIn(part["part"].removeprefix("key "), limits)
        # Each path that heap prints leads to the same term. What is below a large map's own words
        # has the path of the map, which is larger and comes first.
        heap = tools.analyze_json("heap", dump, "zoo_server", "--limit", "150",
                                  "--term-bytes", "0")
        wholes = set()
        for term in heap["largest_terms"]:
            path = " -> ".join([term["root"], *term["path"]])
            if path in wholes:
                continue
            wholes.add(path)
            self.assertEqual(shown(path)[0], term["term"]["text"])
        self.assertGreater(len(wholes), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)

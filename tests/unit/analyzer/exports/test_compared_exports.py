"""`diff` of exports as ndjson tells what `diff` of their dumps does, of what an export holds.

BEAMDUMP_ANALYZE and WRITE_SAMPLE_DUMPS name what is used."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["BEAMDUMP_ANALYZE"]


class ComparedExports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run([os.environ["WRITE_SAMPLE_DUMPS"], cls.folder], check=True)
        for name in ("sample", "later", "tables", "fewer_atoms", "more_atoms"):
            cls.export(name)

    @classmethod
    def export(cls, name, *words, to=None):
        file = cls.folder / f"{to or name}.ndjson"
        ended = subprocess.run([PROGRAM, "export", "ndjson", cls.folder / f"{name}.beamdump", *words,
                                "-o", file], capture_output=True)
        assert ended.returncode in (0, 3), ended.stderr
        return file

    def run_diff(self, status, *words):
        files = [self.folder / word if "." in word else word for word in words]
        ended = subprocess.run([PROGRAM, "diff", *files], capture_output=True, text=True)
        self.assertEqual(ended.returncode, status, ended.stderr)
        return ended

    def diff(self, *words):
        return json.loads(self.run_diff(0, *words, "--limit", "0", "--json").stdout)

    def test_exports_differ_as_their_dumps_do(self):
        for before, after in (("sample", "later"), ("later", "sample"), ("tables", "sample"),
                              ("fewer_atoms", "more_atoms"), ("more_atoms", "fewer_atoms")):
            dumps = self.diff(f"{before}.beamdump", f"{after}.beamdump")
            exports = self.diff(f"{before}.ndjson", f"{after}.ndjson")
            mixed = self.diff(f"{before}.beamdump", f"{after}.ndjson")
            compared = 0
            for name, section in dumps["sections"].items():
                for answer in (exports, mixed):
                    if len(answer["sections"][name]["in_dumps"]) == 2:
                        self.assertEqual(answer["sections"][name], section, name)
                        compared += 1
            # memory, processes, groups and mailboxes at least
            self.assertGreaterEqual(compared, 8)
            self.assertEqual(dumps["same_run"], exports["same_run"])
            self.assertEqual(dumps["node_memory"], exports["node_memory"])

    def test_atoms_alike_are_one_group(self):
        """The first lists its 600 atoms one by one, the second as uid_*_x."""
        for kind, other in (("ndjson", "ndjson"), ("beamdump", "ndjson"), ("ndjson", "beamdump")):
            atoms = self.diff(f"fewer_atoms.{kind}", f"more_atoms.{other}")["sections"]["atoms"]
            self.assertEqual((atoms["in_dumps"], atoms["appeared"], atoms["gone"]), ([1, 2], 0, 0))
            self.assertEqual([(grown["key"], grown["atoms"]["change"]) for grown in
                              atoms["grown_most"]], [("'uid_*_x'", 1000)])

    def test_a_dump_and_its_export_do_not_differ(self):
        for name in ("sample", "later", "tables"):
            answer = self.diff(f"{name}.beamdump", f"{name}.ndjson")
            self.assertTrue(answer["same_run"])
            self.assertEqual(answer["growth"], [])
            self.assertEqual(answer["dumps"][1]["dump"]["export_detail"], "stacks")
            for section in answer["sections"].values():
                if len(section["in_dumps"]) == 2:
                    self.assertEqual((section["appeared"], section["gone"], section["grown"],
                                      section["shrunk"], section["changed"]), (0, 0, 0, 0, 0))

    def test_what_an_export_lacks_is_not_compared(self):
        self.export("sample", "--detail", "facts", to="facts")
        answer = self.diff("facts.ndjson", "sample.beamdump")
        for name in ("processes", "groups", "mailboxes", "binary_holders"):
            self.assertNotIn(1, answer["sections"][name]["in_dumps"])
        text = self.run_diff(0, "facts.ndjson", "sample.beamdump").stdout
        self.assertIn("an export (detail facts)", text)
        self.assertIn("Processes: not compared, dump 1 lacks it", text)
        # Of a part of the things, those that are missing are not gone.
        self.export("sample", "--limit", "1", to="few")
        section = self.diff("sample.beamdump", "few.ndjson")["sections"]["processes"]
        self.assertEqual((section["gone"], section["whole_in_dumps"]), (0, [1]))

    def test_what_is_no_export_is_refused(self):
        lines = (self.folder / "sample.ndjson").read_text().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if '"kind":"process"' in line)
        wrong = lines[at].replace('"memory":', '"memory":"x","more":', 1)
        for content, said in (
                (["{}\n"], 'line 1: without "kind"'),
                (['{\n', '"a": 1}\n'], "line 1: not a JSON object"),
                (["[1]\n"], "line 1: not a JSON object"),
                (['{"kind":"dump","schema":"beamdump.export-line/2"}\n'], "line 1: an export of schema"),
                (['{"kind":"dump"}\n'], "line 1: not an export"),
                (lines[1:], 'line 1: not of kind "dump"'),
                (lines[:-1], f"line {len(lines) - 1}: the last one, but not of kind"),
                (lines[:at] + [lines[at][:20]], f"line {at + 1}: the file ends within it"),
                (lines[:at] + [wrong] + lines[at + 1:], f'line {at + 1}: "memory" has another type'),
                (lines + lines, f"line {len(lines) + 1}: a second dump"),
                (["{" + " " * (1 << 20) + "}\n"], "line 1: longer than 1 MiB")):
            (self.folder / "bad.ndjson").write_text("".join(content))
            ended = self.run_diff(1, "bad.ndjson", "sample.beamdump")
            self.assertIn(said, ended.stderr)
            self.assertEqual((ended.stdout, ended.stderr.count("\n")), ("", 1))

    def test_heaps_need_dumps(self):
        ended = self.run_diff(2, "sample.ndjson", "sample.beamdump", "--heap", "alpha")
        self.assertIn("--heap needs dumps", ended.stderr)


if __name__ == "__main__":
    unittest.main()

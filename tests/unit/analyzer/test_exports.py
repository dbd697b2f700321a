"""Exports of the sample dumps: as their schemas say, and with the data of the commands' answers.

BEAMDUMP_ANALYZE, WRITE_SAMPLE_DUMPS, BEAMDUMP_SCHEMAS and PROTOC name what is used."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "live"))

from support import exported
from validate_json import CRASH, strict

PROGRAM = os.environ["BEAMDUMP_ANALYZE"]
SCHEMAS = pathlib.Path(os.environ["BEAMDUMP_SCHEMAS"])
DUMPS = {"sample": 3, "later": 0, "cut": 3, "inferred": 3, "crash": 0, "tables": 0,
         "node_memory": 0}


def validator(name):
    schemas = {}
    for path in SCHEMAS.rglob("*.schema.json"):
        schema = json.loads(path.read_text())
        schemas[schema["$id"]] = strict(schema)
    schema = schemas[f"urn:beamdump:{name}:1"]
    return jsonschema.Draft202012Validator(
        schema, resolver=jsonschema.RefResolver.from_schema(schema, store=schemas))


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run([os.environ["WRITE_SAMPLE_DUMPS"], cls.folder], check=True)
        (cls.folder / "crash.beamdump").write_text(CRASH)

    def setUp(self):
        self.out = self.folder / "out"
        self.out.mkdir()
        self.addCleanup(shutil.rmtree, self.out)

    def run_analyze(self, status, *words, **more):
        arguments = [self.folder / f"{word}.beamdump" if word in DUMPS else word for word in words]
        ended = subprocess.run([PROGRAM, *arguments], capture_output=True, **more)
        self.assertEqual(ended.returncode, status, f"{words}: {ended.stderr}")
        return ended

    def export(self, form, name, *words, status=None):
        status = DUMPS[name] if status is None else status
        return self.run_analyze(status, "export", form, name, *words).stdout

    def lines(self, name, *words, status=None):
        return [json.loads(line)
                for line in self.export("ndjson", name, *words, status=status).splitlines()]

    def answers(self, name):
        """Commands' answers, by a function that takes their words."""
        def answer(*words, may_fail=False):
            ended = subprocess.run([PROGRAM, words[0], self.folder / f"{name}.beamdump",
                                    *words[1:], "--json"], capture_output=True)
            if ended.returncode == 1 and may_fail:
                return None
            self.assertIn(ended.returncode, (0, 3), ended.stderr)
            return json.loads(ended.stdout)
        return answer

    def test_lines_follow_their_schema_and_have_one_type_a_field(self):
        valid = validator("export-line")
        types, kinds = {}, set()
        for name in DUMPS:
            lines = self.lines(name)
            for line in lines:
                valid.validate(line)
                kinds.add(line["kind"])
                for field, value in line.items():
                    self.assertIs(types.setdefault(field, type(value)), type(value), line)
            self.assertEqual((lines[0]["kind"], lines[-1]["kind"]), ("dump", "end"))
        described = {one["properties"]["kind"]["const"] for one in valid.schema["oneOf"]}
        # The sample nodes have none of these; the live tests' nodes do.
        self.assertEqual(described - kinds, {"wait", "parent", "binary", "finding"})

    def test_documents_follow_their_schema(self):
        valid = validator("export")
        for name in DUMPS:
            for detail in ("facts", "processes", "stacks"):
                status = None if detail == "stacks" else 3 if name == "cut" else 0
                for limit in ("0", "1"):
                    document = json.loads(self.export("json", name, "--detail", detail,
                                                      "--limit", limit, status=status))
                    valid.validate(document)
                    self.assertEqual("processes" in document, detail != "facts")
                    self.assertEqual("frames" in document, detail == "stacks")
        few = json.loads(self.export("json", "sample", "--limit", "1", status=0))
        self.assertEqual([line["pid"] for line in few["processes"]["items"]], ["<0.1.0>", "<0.3.0>"][
            :len(few["processes"]["items"])])
        self.assertEqual(few["processes"]["total"], 4)

    def test_data_are_those_of_the_commands(self):
        for name in DUMPS:
            with self.subTest(dump=name):
                compared = exported.compare(self, self.lines(name), self.answers(name))
                self.assertGreaterEqual(compared, 3)

    def test_sqlite_holds_what_the_lines_hold(self):
        file = self.out / "all.sqlite"
        for name, status in DUMPS.items():
            if name not in ("inferred", "cut"):  # the same node at the same time
                self.run_analyze(status, "export", "sqlite", name, "-o", file)
        with contextlib.closing(sqlite3.connect(file)) as base:
            base.row_factory = sqlite3.Row
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)
            self.assertEqual(base.execute("PRAGMA user_version").fetchone()[0], 1)
            dumps = {pathlib.Path(row["file"]).stem: row["id"]
                     for row in base.execute("SELECT * FROM dumps")}
            self.assertLessEqual({"sample", "later", "crash", "tables"}, dumps.keys())
            for name, dump in dumps.items():
                exported.compare_sqlite(self, base, dump, self.lines(name))

    def test_views_answer(self):
        file = self.out / "views.sqlite"
        self.run_analyze(3, "export", "sqlite", "sample", "later", "-o", file)
        with contextlib.closing(sqlite3.connect(file)) as base:
            indexes = {name for name, in base.execute(
                "SELECT name FROM sqlite_master WHERE type = 'index'")}
            self.assertEqual(indexes, {"processes_by_pid", "frames_by_pid"})
            for view, in base.execute("SELECT name FROM sqlite_master WHERE type = 'view'"):
                base.execute(f"SELECT * FROM {view}").fetchall()
            self.assertEqual(base.execute(
                "SELECT pid, message_queue_len FROM mailboxes WHERE dump = 2").fetchone()[0],
                "<0.1.0>")
            before, after = [self.answers(name)("processes", "--group-by", "status")
                             for name in ("sample", "later")]
            (grown,) = base.execute("SELECT more_memory FROM group_growth WHERE name = 'waiting' "
                                    "AND group_by = 'status' AND more_memory IS NOT NULL").fetchone()
            memory = [next(group["memory"] for group in answer["groups"]
                           if group["name"] == "waiting") for answer in (before, after)]
            self.assertEqual(grown, memory[1] - memory[0])

    def test_a_dump_is_in_a_file_once(self):
        file = self.out / "once.sqlite"
        self.run_analyze(0, "export", "sqlite", "later", "-o", file)
        before = file.read_bytes()
        ended = self.run_analyze(1, "export", "sqlite", "tables", "later", "-o", file)
        self.assertIn(b"has this dump already", ended.stderr)
        self.assertEqual(file.read_bytes(), before)
        self.run_analyze(0, "export", "sqlite", "later", "-o", file, "--force")
        with contextlib.closing(sqlite3.connect(file)) as base:
            self.assertEqual(base.execute("SELECT count(*) FROM dumps").fetchone()[0], 1)
            self.assertEqual(base.execute("SELECT count(*) FROM exports").fetchone()[0], 1)

    def test_other_files_stay_as_they_are(self):
        other = self.out / "other.sqlite"
        with contextlib.closing(sqlite3.connect(other)) as base:
            base.execute("CREATE TABLE t (x)")
            base.commit()
        text = self.out / "text"
        text.write_text("not a database of any kind, but a text that is long enough\n" * 100)
        for file in (other, text):
            before = file.read_bytes()
            ended = self.run_analyze(1, "export", "sqlite", "later", "-o", file, "--force")
            self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)
            self.assertEqual(file.read_bytes(), before)

    def test_a_full_disk_leaves_no_half_file(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        for form in ("sqlite", "ndjson"):
            file = self.out / form
            ended = self.run_analyze(1, "export", form, "later", "-o", file, preexec_fn=small)
            self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)
            self.assertNotIn(b".partial", ended.stderr)
            self.assertEqual(list(self.out.iterdir()), [])
        file = self.out / "kept.sqlite"
        self.run_analyze(0, "export", "sqlite", "later", "-o", file)
        before = file.read_bytes()
        self.run_analyze(1, "export", "sqlite", "tables", "-o", file, preexec_fn=small)
        self.assertEqual(file.read_bytes(), before)
        self.assertEqual(list(self.out.iterdir()), [file])
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([PROGRAM, "export", "ndjson", self.folder / "later.beamdump"],
                                   stdout=full, stderr=subprocess.PIPE)
        self.assertEqual((ended.returncode, ended.stderr.count(b"\n")), (1, 1), ended.stderr)

    @unittest.skipIf(os.geteuid() != 0, "only root can give a file away")
    def test_another_users_file_is_refused(self):
        file = self.out / "theirs.sqlite"
        self.run_analyze(0, "export", "sqlite", "later", "-o", file)
        os.chown(file, 1, 1)
        file.chmod(0o666)
        link = self.out / "link.sqlite"
        link.symlink_to(file)
        before = file.read_bytes()
        for name in (file, link):
            ended = self.run_analyze(1, "export", "sqlite", "tables", "-o", name, "--force")
            self.assertIn(b"belongs to another user", ended.stderr)
            self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)
        self.assertEqual(file.read_bytes(), before)

    def test_a_killed_export_changes_nothing(self):
        file = self.out / "killed.sqlite"
        self.run_analyze(0, "export", "sqlite", "later", "-o", file)
        fifo = self.out / "fifo"
        os.mkfifo(fifo)
        # The second dump is never there, so that the first one's rows are written and not
        # committed.
        with subprocess.Popen([PROGRAM, "export", "sqlite", self.folder / "tables.beamdump", fifo,
                               "-o", file], stderr=subprocess.DEVNULL) as ended:
            with open(fifo, "wb") as pipe:
                pipe.write(b"=erl_crash_dump:0.5\n")
                pipe.flush()
                ended.send_signal(signal.SIGKILL)
                ended.wait()
        with contextlib.closing(sqlite3.connect(file)) as base:
            self.assertEqual(base.execute("SELECT count(*) FROM dumps").fetchone()[0], 1)
            self.assertEqual(base.execute("PRAGMA integrity_check").fetchone()[0], "ok")

    def test_profiles_have_all_processes(self):
        for name in ("sample", "later", "crash"):
            processes = self.answers(name)("processes", "--limit", "0")["processes"]
            for weight, field in (("count", None), ("memory", "memory"),
                                  ("queue", "message_queue_len")):
                total = sum(1 if field is None else line[field] for line in processes)
                words = (name, "--weight", weight)
                folded = exported.folded(self.export("folded", *words).decode())
                self.assertEqual(sum(folded.values()), total)
                scope = json.loads(self.export("speedscope", *words))
                jsonschema.validate(scope, exported.SPEEDSCOPE)
                self.assertEqual(exported.folded_of_speedscope(scope), folded)
                self.assertEqual(exported.folded_of_pprof(self.export("pprof", *words)), folded)

    def test_graphs_are_read_by_graphviz(self):
        for name in DUMPS:
            graph = self.export("dot", name)
            drawn = subprocess.run(["dot", "-Tplain"], input=graph, capture_output=True)
            self.assertEqual((drawn.returncode, drawn.stderr), (0, b""))
            nodes = sum(line.startswith(b"node ") for line in drawn.stdout.splitlines())
            shown = self.answers(name)("processes", "--limit", "0")["total"]
            self.assertGreaterEqual(nodes, shown)

    def test_wrong_use(self):
        for words in (("export", "xml", "later"), ("export", "json", "later", "sample"),
                      ("export", "sqlite", "later"), ("export", "json", "later", "--detail", "x"),
                      ("export", "folded", "later", "--weight", "x")):
            self.run_analyze(2, *words)

    def test_memory_is_bounded(self):
        ended = self.run_analyze(1, "export", "folded", "later", "--max-memory", "200B")
        self.assertIn(b"--max-memory", ended.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Checks on the checkout itself: `checks.py NAME` runs one, as ctest does."""

import graphlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import jsonschema
import test_times

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("BEAMDUMP_PROGRAMS", ROOT / "build" / "bin"))
CODE_FOLDERS = ("libdump", "libvm", "libsample", "program", "manual", "mcp", "writer", "analyzer", "layout", "sampler", "watcher",
                "schemas", "tests")
SOURCE_FOLDERS = (*CODE_FOLDERS, "python", "cmake", "testdata", "scripts", "docs", ".ci")
LANGUAGES = {".h", ".cpp", ".py", ".erl", ".sh", ".cmake", ".proto"}
# Two at a time, this is 20 minutes; installing and building takes seven.
MOST_TEST_SECONDS = 40 * 60


def files(*folders, suffixes=None):
    """Text files below the folders, and the ones at the top when none is named."""
    # In a worktree .git is a file.
    found = [] if folders else [path for path in ROOT.iterdir()
                                if path.is_file() and path.name != ".git"]
    for folder in folders or SOURCE_FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return sorted(path for path in found
                  if (suffixes is None or path.suffix in suffixes) and "__pycache__" not in path.parts)


def shown(path):
    return str(path.relative_to(ROOT))


def tool(name):
    """A checking tool, which scripts/install-dependencies installs with what tests need."""
    found = shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} is missing; scripts/install-dependencies test installs it")
    return found


class UnitTests(unittest.TestCase):
    def test_every_file_of_tests_is_compiled(self):
        sources = files("tests/unit", suffixes={".cpp"})
        self.assertGreater(len(sources), 100)
        lists = {path.parent: path.read_text() for path in (ROOT / "tests" / "unit").rglob("CMakeLists.txt")}
        for path in sources:
            places = [(folder, text) for folder, text in lists.items() if path.is_relative_to(folder)]
            with self.subTest(file=shown(path)):
                self.assertTrue(any(re.search(rf"(^|\s){re.escape(str(path.relative_to(folder)))}[\s)]", text)
                                    for folder, text in places))


class Format(unittest.TestCase):
    def test_sources_are_as_clang_format_leaves_them(self):
        sources = files(*CODE_FOLDERS, suffixes={".h", ".cpp"})
        self.assertGreater(len(sources), 30)
        result = subprocess.run([tool("clang-format-19"), "--dry-run", "-Werror", *sources],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, "run clang-format-19 -i on these:\n" + "\n".join(
            sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", result.stderr, re.M)))))


class ShellScripts(unittest.TestCase):
    def test_scripts_pass_shellcheck(self):
        scripts = [path for path in files("scripts", ".ci", "tests")
                   if path.read_bytes().startswith((b"#!/bin/bash", b"#!/bin/sh"))]
        self.assertGreaterEqual(len(scripts), 5)
        result = subprocess.run([tool("shellcheck"), "--external-sources", *scripts],
                                capture_output=True, text=True, cwd=ROOT)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_scripts_can_be_run(self):
        for path in files("scripts", ".ci"):
            self.assertTrue(os.access(path, os.X_OK), f"{shown(path)} is not executable")

    def test_a_machine_without_localhost_is_told_so_at_once(self):
        result = subprocess.run([ROOT / "scripts" / "private-mounts", "bash", "-c",
                                 "mount --bind /dev/null /etc/hosts && exec scripts/test"],
                                capture_output=True, text=True, cwd=ROOT, timeout=60)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertIn("localhost has no address here", result.stderr)


class Layouts(unittest.TestCase):
    def test_layouts_follow_their_schema(self):
        folder = ROOT / "schemas" / "layouts"
        schema = json.loads((folder / "layout.schema.json").read_text())
        layouts = sorted(folder.glob("otp-*.json"))
        self.assertGreaterEqual(len(layouts), 1)
        for path in layouts:
            layout = json.loads(path.read_text())
            jsonschema.Draft202012Validator(schema).validate(layout)
            for name, struct in layout["structs"].items():
                for field, place in struct["fields"].items():
                    self.assertLessEqual(place["offset"] + place["bytes"], struct["bytes"],
                                         f"{shown(path)}: {name}.{field} lies outside")


class Documents(unittest.TestCase):
    documents = property(lambda self: [ROOT / "README.md", *files("docs", suffixes={".md"}),
                                       *files("schemas", suffixes={".md"})])

    def test_what_documents_name_exists(self):
        self.assertGreaterEqual(len(self.documents), 5)
        for document in self.documents:
            text = document.read_text()
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                self.assertTrue((document.parent / target).exists(),
                                f"{shown(document)} links to {target}, which is not there")
            for script in re.findall(r"(?<![\w/.-])(?:\./)?(scripts/[\w-]+)", text):
                self.assertTrue((ROOT / script).exists(),
                                f"{shown(document)} names {script}, which is not there")

    def test_sources_that_documents_name_exist(self):
        """Paths in backticks: of files, of folders, of a file and its header without the ending, with `*`."""
        named = 0
        for document in self.documents:
            for path in re.findall(rf"`((?:{'|'.join(SOURCE_FOLDERS)})/[^`\s]*)`", document.read_text()):
                # A name in capitals stands for others.
                if re.search(r"[A-Z]{2}", path):
                    continue
                named += 1
                self.assertTrue(list(ROOT.glob(path.rstrip("/"))) or list(ROOT.glob(path + ".*")),
                                f"{shown(document)} names {path}, which is not there")
        self.assertGreater(named, 40)

    def test_options_in_documents_are_real(self):
        """Each option after a program's name is one of that program, or of the command named there, in the
        README, docs/commands.md and, where `A` stands for beamdump-analyze, in docs/symptoms.md."""
        helps = self.helps()
        self.assertGreaterEqual(helps["beamdump-analyze"].keys(),
                                {"sections", "crash-dump", "convert", "heap"})
        symptoms = re.findall(r"`A ([^`]+)`", (ROOT / "docs" / "symptoms.md").read_text())
        self.assertGreater(len(symptoms), 20)
        for symptom in symptoms:
            self.assertTrue(any(word in helps["beamdump-analyze"] for word in symptom.split()) or
                            symptom.split()[0] in ("D", "erl_crash.dump"), symptom)
        used = 0
        for line in ((ROOT / "README.md").read_text().splitlines() +
                     (ROOT / "docs" / "commands.md").read_text().splitlines() +
                     [f"{program} {row}" for program, row in self.rows_of_readme()] +
                     [f"beamdump-analyze {symptom}" for symptom in symptoms]):
            for program, texts in helps.items():
                if program not in line:
                    continue
                rest = line.split(program, 1)[1]
                command = next((word for word in rest.split() if word in texts), "")
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", rest):
                    used += 1
                    # Without a command it is the summary.
                    self.assertIn(option, texts[command] + texts.get(command or "summary", ""),
                                  line.strip())
        self.assertGreater(used, 20)

    def test_every_command_is_in_the_tables_of_the_readme(self):
        rows = self.rows_of_readme()
        for program in ("beamdump-analyze", "beamdump-sample"):
            said = " ".join(row for of, row in rows if of == program)
            for command in self.helps()[program]:
                self.assertIn(command, re.findall(r"[a-z-]+", said) + [""], program)

    @staticmethod
    def rows_of_readme():
        """(program, command) of the tables of commands: those of a dump, then those of a running node."""
        text = (ROOT / "README.md").read_text()
        tables = text[text.index("## All commands"):text.index("## What is in a dump")].split("| question |")
        return [(program, command)
                for program, table in zip(("beamdump-analyze", "beamdump-sample"), tables[1:], strict=True)
                for cell in re.findall(r"(?m)^\|[^|]*\|((?:[^|\\]|\\.)*)\|$", table)
                for command in re.findall(r"`([a-z][^`]*)`", cell) if not command.startswith("beamdump-")]

    @classmethod
    def helps(cls):
        return {program: cls.helps_of(program)
                for program in ("beamdump-capture", "beamdump-analyze", "beamdump-sample")}

    @staticmethod
    def helps_of(program):
        """By command, "" being the program itself."""
        def ask(*arguments):
            return subprocess.run([PROGRAMS / program, *arguments, "--help"], capture_output=True,
                                  text=True, check=True).stdout
        own = ask()
        names = re.findall(r"(?m)^  ([a-z][a-z-]*)(?= |$)", own)
        return {"": own} | {name: ask(name) for name in names}

    def test_nothing_unfinished_and_no_places_of_one_machine(self):
        # /proc/1/root is another process's root.
        unwanted = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b|/wo" r"rk/|(?<!/proc/1)/ro" r"ot/")
        for path in files():
            if path.suffix not in LANGUAGES | {".md", ".json", ".txt", ""}:
                continue
            match = unwanted.search(path.read_text(errors="replace"))
            self.assertIsNone(match, f"{shown(path)} has '{match and match.group()}'")


class TestTimes(unittest.TestCase):
    """A run of .ci/run that takes too long counts as failed: what it took when last recorded."""

    def test_the_sum_is_below_its_limit(self):
        times = test_times.recorded()
        self.assertGreater(sum(times.values()), 60)
        self.assertLess(sum(times.values()), MOST_TEST_SECONDS)

    def test_every_live_test_is_recorded(self):
        listed = subprocess.run(["ctest", "--test-dir", PROGRAMS.parent, "-N", "-L", "live"],
                                capture_output=True, text=True, check=True).stdout
        names = set(re.findall(r"(?m)^ *Test +#\d+: (\S+)$", listed))
        self.assertGreater(len(names), 20)
        self.assertEqual(names - test_times.recorded().keys(), set(), "not in docs/test-times.txt")


class Layers(unittest.TestCase):
    """The include rules refuse wrong includes; the build itself applies them to the sources."""

    def check(self, root):
        return subprocess.run(["cmake", f"-DROOT={root}", "-P",
                               ROOT / "cmake" / "check_includes.cmake"],
                              capture_output=True, text=True)

    def test_sources_keep_the_rules(self):
        result = self.check(ROOT)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_an_analyzer_that_includes_the_writer_is_refused(self):
        self.refuses("analyzer/src/query/bad.cpp", "libdump/write/dump_writer.h")

    def test_a_query_that_reads_exports_is_refused(self):
        self.refuses("analyzer/src/query/processes/bad.cpp", "query/exported/export_file.h")

    def test_a_query_that_includes_a_higher_floor_is_refused(self):
        self.refuses("analyzer/src/query/rows/bad.cpp", "query/process/process_line.h")
        self.refuses("analyzer/src/query/term/bad.cpp", "query/process/opened_process.h")
        self.refuses("analyzer/src/query/process/bad.cpp", "query/heap/heap_roots.h")
        self.refuses("analyzer/src/query/tables/bad.cpp", "query/activity/ports.h")
        self.refuses("analyzer/src/query/memory/bad.cpp", "query/findings/finding.h")
        self.refuses("analyzer/src/query/findings/bad.cpp", "query/things/things.h")

    def test_a_reader_of_exports_that_reads_dumps_is_refused(self):
        self.refuses("analyzer/src/query/exported/bad.cpp", "libdump/model/dump.h")

    def test_a_writer_that_reads_dumps_is_refused(self):
        self.refuses("writer/src/capture/bad.cpp", "libdump/read/dump_reader.h")

    def test_a_reader_that_includes_the_write_side_is_refused(self):
        self.refuses("libdump/read/bad.cpp", "libdump/write/dump_writer.h")

    def test_a_model_that_knows_the_text_of_crash_dumps_is_refused(self):
        self.refuses("libdump/model/bad.cpp", "libdump/crash/import/heap/lazy_terms.h")
        self.refuses("libdump/crash/text/bad.cpp", "libdump/crash/import/words/names.h")
        self.refuses("libdump/crash/export/bad.cpp", "libdump/write/dump_writer.h")

    def test_a_part_that_includes_what_is_made_of_it_is_refused(self):
        self.refuses("libdump/read/frames/bad.cpp", "libdump/read/dump_reader.h")
        self.refuses("libdump/crash/import/heap/bad.cpp", "libdump/crash/import/convert.h")
        self.refuses("writer/src/capture/node/bad.cpp", "capture/capture.h")
        self.refuses("writer/src/capture/session/bad.cpp", "capture/modes/live.h")
        self.refuses("analyzer/src/render/shared/bad.cpp", "render/term.h")

    def test_folders_form_no_cycle(self):
        for top in ("libdump", "libvm", "libsample", "program", "manual", "mcp", "writer/src",
                    "analyzer/src", "layout/src", "sampler/src", "watcher/src"):
            base = ROOT if "/" not in top else ROOT / top
            seen = {}
            for source in (ROOT / top).rglob("*"):
                if source.suffix not in (".h", ".cpp"):
                    continue
                folder = source.parent.relative_to(base)
                for header in re.findall(r'(?m)^#include [<"]([^>"]+)[>"]', source.read_text()):
                    other = pathlib.Path(header).parent
                    if other != folder and (base / header).is_file():
                        seen.setdefault(str(folder), set()).add(str(other))
            try:
                list(graphlib.TopologicalSorter(seen).static_order())
            except graphlib.CycleError as error:
                self.fail(f"{top}: folders that include each other: {' <- '.join(error.args[1])}")

    def test_a_layout_tool_that_captures_is_refused(self):
        self.refuses("layout/src/cli/bad.cpp", "libvm/nodes/node_choice.h")
        self.refuses("layout/src/dwarf/bad.cpp", "libvm/beam/vm/vm.h")

    def refuses(self, place, header):
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / place
            path.parent.mkdir(parents=True)
            path.write_text(f"#include <{header}>\n")
            result = self.check(root)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(header, result.stderr.replace("\n", " ").replace("  ", " "))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Golden files of the programs' help texts and messages, so that a change of wording is seen in
review. `check_golden.py` compares them; `check_golden.py update` writes them anew.

help/PROGRAM[-COMMAND].txt is the output of --help. messages.txt is a list of commands, each with
what it writes on standard error and its exit status. The commands run in an empty folder with the
files that prepare() makes; lines of `# ` are comments."""

import difflib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = HERE.parents[1] / "testdata" / "formats"
PROGRAMS = pathlib.Path(os.environ.get("BEAMDUMP_PROGRAMS", HERE.parents[1] / "build" / "bin"))
NAMES = ("beamdump-analyze", "beamdump-capture", "beamdump-layout", "beamdump-sample", "beamdump-watch")


def run(command, folder):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": folder}
    return subprocess.run([PROGRAMS / command[0], *command[1:]], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def commands_of(help_text):
    """The names in the groups of commands."""
    return re.findall(r"(?m)^  ([a-z][a-z-]*)(?= |$)", help_text)


def help_texts():
    texts = {}
    for program in NAMES:
        texts[program] = run([program, "--help"], "/").stdout
        for command in commands_of(texts[program]):
            texts[f"{program}-{command}"] = run([program, command, "--help"], "/").stdout
    return texts


def prepare(folder):
    """The files that messages.txt asks about."""
    sample = (FORMATS / "1.0-sample.beamdump").read_bytes()
    (folder / "sample.beamdump").write_bytes(sample)
    (folder / "cut.beamdump").write_bytes(sample[:len(sample) // 2])
    (folder / "empty").write_bytes(b"")
    (folder / "text").write_text("no dump of any kind\n")
    (folder / "old.dump").write_text("<erl_crash_dump>\nWed Jan  1 00:00:00 2003\n")
    (folder / "folder").mkdir()
    shutil.copy(FORMATS / "1.0-conversion.beamdump", folder / "conversion.beamdump")
    prepare_exports(folder)


def prepare_exports(folder):
    """Exports of the sample that `diff` takes, and those that it does not."""
    for form in ("ndjson", "json"):
        run(["beamdump-analyze", "export", form, "sample.beamdump", "-o", f"export.{form}"], folder)
    lines = (folder / "export.ndjson").read_text().splitlines(keepends=True)
    sized = next(at for at, line in enumerate(lines) if '"kind":"group"' in line)
    for name, content in {"malformed": [*lines[:2], lines[2].replace(":", "", 1), *lines[3:]],
                          "mistyped": [*lines[:sized],
                                       lines[sized].replace('"memory":', '"memory":"x","more":', 1)],
                          "in-a-line": [*lines[:-1], lines[-1][:10]],
                          "between-lines": lines[:-1],
                          "without-head": lines[1:],
                          "twice": lines * 2,
                          "later": [lines[0].replace("export-line/1", "export-line/2"), *lines[1:]]}.items():
        (folder / f"{name}.ndjson").write_text("".join(content))


def messages(commands):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        lines = []
        for line in commands:
            if not line.startswith("$ "):
                lines.append(line)
                continue
            ran = run(shlex.split(line[2:]), name)
            lines += [line, *ran.stderr.rstrip("\n").splitlines(), f"exit status {ran.returncode}", ""]
        return "\n".join(lines).rstrip("\n") + "\n"


def asked():
    """The commands of messages.txt, and its comments."""
    return [line for line in (HERE / "messages.txt").read_text().splitlines()
            if line.startswith(("$ ", "# "))]


class Golden(unittest.TestCase):
    def same(self, path, now):
        known = path.read_text() if path.exists() else ""
        difference = difflib.unified_diff(known.splitlines(), now.splitlines(), "frozen", "now",
                                          lineterm="")
        self.assertEqual(known, now, f"{path.name} (tests/golden/check_golden.py update):\n"
                         + "\n".join(difference))

    def test_help_is_as_frozen(self):
        texts = help_texts()
        self.assertGreater(len(texts), 15)
        self.assertEqual({f"{name}.txt" for name in texts},
                         {path.name for path in (HERE / "help").iterdir()})
        for name, text in texts.items():
            with self.subTest(name):
                self.assertIn("\nExample: " + name.split("-")[0], text)
                self.same(HERE / "help" / f"{name}.txt", text)

    def test_help_is_80_columns_wide_at_most(self):
        wide = [f"{name}: {line}" for name, text in help_texts().items()
                for line in text.splitlines() if len(line) > 80]
        self.assertEqual(wide, [])

    def test_messages_are_as_frozen(self):
        self.assertGreater(sum(line.startswith("$ ") for line in asked()), 30)
        self.same(HERE / "messages.txt", messages(asked()))


def update():
    shutil.rmtree(HERE / "help", ignore_errors=True)
    (HERE / "help").mkdir()
    for name, text in help_texts().items():
        (HERE / "help" / f"{name}.txt").write_text(text)
    (HERE / "messages.txt").write_text(messages(asked()))


if __name__ == "__main__":
    if sys.argv[1:] == ["update"]:
        update()
    else:
        unittest.main(verbosity=2)

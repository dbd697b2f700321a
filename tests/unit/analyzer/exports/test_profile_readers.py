"""The formats' own readers read the exported profiles: pprof (of Go) and speedscope's importer find
the stacks and weights of `export folded`. What is not on the machine is shown as skipped.

BEAMDUMP_ANALYZE and WRITE_SAMPLE_DUMPS name what is used; BEAMDUMP_SPEEDSCOPE an installed npm package
speedscope."""

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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "live"))

from support import exported

PROGRAM = os.environ["BEAMDUMP_ANALYZE"]
NOT_TO_BE_HAD = 77
SPEEDSCOPE = os.environ.get("BEAMDUMP_SPEEDSCOPE", "")
IMPORTER = pathlib.Path(__file__).with_name("import_speedscope.cjs")


def folded_of_raw(text):
    """Of `pprof -raw`: samples as "VALUE: LOCATION..." from the inside out, then locations."""
    samples, places = text.split("\nSamples:\n")[1].split("\nLocations\n")
    names = {number: name for number, name in re.findall(
        r"^ *(\d+): 0x0 M=\d+ (.*?) \S*:\d+:\d+ s=\d+", places, re.MULTILINE)}
    stacks = collections.Counter()
    for weight, stack in re.findall(r"^ *(\d+): ([\d ]+)$", samples, re.MULTILINE):
        stacks[tuple(names[place] for place in reversed(stack.split()))] += int(weight)
    return stacks


class Readers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run([os.environ["WRITE_SAMPLE_DUMPS"], cls.folder], check=True)

    def profiles(self, form):
        """Each profile's file, with the stacks that `folded` has."""
        for name in ("sample", "later"):
            for weight in ("count", "memory", "queue"):
                files = []
                for one in (form, "folded"):
                    files.append(self.folder / f"{name}-{weight}.{one}")
                    ended = subprocess.run(
                        [PROGRAM, "export", one, self.folder / f"{name}.beamdump", "--weight",
                         weight, "--force", "-o", files[-1]], capture_output=True)
                    self.assertIn(ended.returncode, (0, 3), ended.stderr)
                folded = exported.folded(files[1].read_text())
                yield files[0], {stack: count for stack, count in folded.items() if count}

    def test_pprof(self):
        if shutil.which("go") is None:
            self.skipTest("go is not on this machine: its pprof did not read the profiles")
        for file, folded in self.profiles("pprof"):
            text = subprocess.run(["go", "tool", "pprof", "-raw", file], capture_output=True,
                                  text=True, check=True,
                                  env={**os.environ, "PPROF_TMPDIR": str(self.folder)})
            found = folded_of_raw(text.stdout)
            self.assertEqual({stack: count for stack, count in found.items() if count}, folded)

    def test_speedscope(self):
        if not SPEEDSCOPE or shutil.which("node") is None:
            self.skipTest("BEAMDUMP_SPEEDSCOPE names no package speedscope, or node is not on this "
                          "machine: speedscope did not read the profiles")
        for file, folded in self.profiles("speedscope"):
            ended = subprocess.run(["node", IMPORTER, SPEEDSCOPE, file], capture_output=True, text=True)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            found = {tuple(stack): count for stack, count in json.loads(ended.stdout)}
            self.assertEqual(found, folded)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    for _, sentence in result.skipped:
        print(f"skipped: {sentence}")
    sys.exit(1 if not result.wasSuccessful() else NOT_TO_BE_HAD if result.skipped else 0)

"""Opens pages of `report` in a browser.

BEAMDUMP_ANALYZE and WRITE_SAMPLE_DUMPS name the programs, BEAMDUMP_SOURCES the checkout."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "unit" / "analyzer"), str(HERE.parent / "live")]

import browser
import made_dumps
from validate_json import CRASH

PROGRAM = os.environ["BEAMDUMP_ANALYZE"]
SOURCES = pathlib.Path(os.environ["BEAMDUMP_SOURCES"])


class ReportCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run([os.environ["WRITE_SAMPLE_DUMPS"], cls.folder], check=True)
        (cls.folder / "crash.beamdump").write_text(CRASH)
        (cls.folder / "harmful.beamdump").write_text(made_dumps.harmful())
        (cls.folder / "waiting.beamdump").write_text(made_dumps.waiting(made_dumps.CALLERS))
        (cls.folder / "node.beamdump").write_text(made_dumps.crowd(400))
        program = next(filter(None, map(shutil.which, browser.PROGRAMS)), None)
        if program is None:
            raise AssertionError(f"none of {browser.PROGRAMS} is installed")
        cls.browser = browser.Browser(program)
        cls.addClassCleanup(cls.browser.close)

    def run_analyze(self, status, *words, **more):
        ended = subprocess.run([PROGRAM, *words], capture_output=True, cwd=self.folder, **more)
        self.assertEqual(ended.returncode, status, f"{words}: {ended.stderr}")
        return ended

    def page(self, name, *words, status=0):
        """Writes a page, once."""
        path = self.folder / f"{name}.html"
        if not path.exists():
            dumps = words or [f"{name}.beamdump"]
            ended = self.run_analyze(status, "report", *dumps, "-o", path)
            if status == 0:
                self.assertEqual(ended.stderr, b"")
        return path

    def answer(self, name):
        def answer(*words, may_fail=False):
            ended = subprocess.run([PROGRAM, words[0], f"{name}.beamdump", *words[1:], "--json"],
                                   capture_output=True, cwd=self.folder)
            self.assertIn(ended.returncode, (0, 1, 3) if may_fail else (0, 3), ended.stderr)
            return json.loads(ended.stdout) if ended.returncode != 1 else None
        return answer

    def open(self, path):
        self.browser.open(path)
        self.assertEqual(self.browser.complaints(), [])
        self.assertIsNone(self.browser.run("document.getElementById('loading')?.textContent"))

    def all_texts(self, selector):
        return self.browser.run(
            f"Array.from(document.querySelectorAll({json.dumps(selector)}), (e) => e.textContent)")

    def column(self, number, section="processes"):
        return self.all_texts(f"#{section} tbody tr[data-place] td:nth-child({number})")

    def filter(self, text, section="processes", field="#filter"):
        """The rows' number after a filter, which the page applies a little later."""
        self.browser.run(f"document.querySelector('#{section} .status').textContent = ''")
        self.browser.type(field, text)
        self.browser.until(f"document.querySelector('#{section} .status').textContent !== ''")
        shown = self.browser.run(f"document.querySelector('#{section} .status').textContent")
        return int(shown.split()[0].replace(",", ""))


CONTRAST = """(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const light = (rgb) => rgb.map((v) => v / 255)
        .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
    const paint = (colours) => {
        canvas.clearRect(0, 0, 1, 1);
        for (const colour of colours) {
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
        }
        return light(Array.from(canvas.getImageData(0, 0, 1, 1).data).slice(0, 3));
    };
    let worst = null;
    for (const element of document.querySelectorAll(%s)) {
        const box = element.getBoundingClientRect();
        if (box.width === 0 || element.textContent.trim() === "") continue;
        const behind = [];
        for (let at = element; at; at = at.parentElement) {
            behind.unshift(getComputedStyle(at).backgroundColor);
        }
        const back = paint(behind);
        const front = paint([...behind, getComputedStyle(element).color]);
        const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
        worst = worst === null ? ratio : Math.min(worst, ratio);
    }
    return worst;
})()"""

"""Layouts inferred on a node with its own release's layout hidden: right or refused."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from support import tools
from support.layouts import LAYOUTS, UNDECIDED, UNDECIDED_CONSTANTS
from support.node import start_workload
from support.paths import CAPTURE, PROGRAMS, WATCH
from support.release import RELEASE

# Parts of OTP 27's layout that cannot be inferred from its neighbours' layouts; not read then.
LEFT_OUT = {"emulator", "ETS tables", "ports", "run queues", "schedulers' collections", "signals that are not messages", "timers", "undecoded messages of other nodes"}
# Parts that are the same in 25 and 29; with one neighbour this is unknown.
ALIKE_IN_BOTH = {"allocators", "attributes of modules", "code ranges", "numbers of BIFs",
                 "persistent terms"}
LEFT_OUT_STRUCTURES = {"ErtsDistExternal"}
# In a layout file, and not used by a capture.
UNUSED_STRUCTURES = {"FunRef"}
UNUSED_CONSTANTS = {"fun_ref_subtag"}
# Why the others are refused: no neighbour has 29's kind of fun table, and no neighbour of 25 the size of a
# scheduler's data: of several only the first is found.
REFUSED = {"25": "schedulers that number themselves|modules: neither otp-27|processes: neither otp-24", "29": "erts_fun_table"}

# Of releases whose layouts have patches: Debian 12 has OTP 25.2.3.
TESTED_ERTS = {"25": [13, 1, 5]}

# A watcher takes some 15; it kept 31 where two neighbours were tried.
MOST_RESIDENT_MIB = 20


def layout_of(dump):
    ended = subprocess.run([PROGRAMS / "layout_of", dump], capture_output=True, check=True,
                           text=True)
    return json.loads(ended.stdout)


class Inference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("sample")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.others = cls.scratch / "layouts"
        cls.others.mkdir()
        for path in LAYOUTS.glob("otp-*.json"):
            # As if there were none of 26, so that 27's neighbours differ from it in both directions.
            if path.stem not in (f"otp-{RELEASE}", "otp-26"):
                shutil.copy(path, cls.others)

    def capture(self, name, *options):
        dump = self.scratch / name
        return dump, tools.run_measured([CAPTURE, *options, "-o", dump, self.node.pid])

    def answer(self, dump, *command):
        name, *rest = command
        return tools.analyze_json(name, dump, *rest)

    def test_with_its_own_layout_hidden(self):
        """Only OTP 27 has a neighbour on either side here; the others are refused."""
        if RELEASE == "27":
            self.every_offset_is_as_in_the_layout_that_was_hidden()
        else:
            self.what_the_checks_do_not_single_out_is_refused()

    def what_the_checks_do_not_single_out_is_refused(self):
        dump, ended = self.capture("refused.beamdump", "--quiet", "--layout", self.others)
        tools.expect(ended, 1)
        self.assertEqual(len(ended.diagnostics.splitlines()), 1)
        self.assertRegex(ended.diagnostics, f"no layout for OTP {RELEASE}, and none can be inferred")
        self.assertRegex(ended.diagnostics, REFUSED[RELEASE])
        self.assertIn("from a debug build", ended.diagnostics)
        self.assertFalse(dump.exists())
        self.assertEqual(self.node.ask("ping"), "pong")

    def every_offset_is_as_in_the_layout_that_was_hidden(self):
        dump, ended = self.capture("inferred.beamdump", "--layout", self.others)
        tools.expect(ended, 0)
        self.assertRegex(ended.diagnostics, r"no layout for OTP 27: .*inferred from otp-25 and "
                                            r"otp-29; \d+ fields unverified")
        inferred = layout_of(dump)
        hidden = json.loads((LAYOUTS / f"otp-{RELEASE}.json").read_text())
        compared = 0
        for name, body in hidden["structs"].items():
            if name in UNUSED_STRUCTURES | LEFT_OUT_STRUCTURES or (
                    name in UNDECIDED and name not in inferred["structs"]):
                continue
            for field, place in body["fields"].items():
                with self.subTest(field=f"{name}.{field}"):
                    found = inferred["structs"][name]["fields"][field]
                    self.assertEqual(found["offset"], place["offset"])
                    # An array may be inferred shorter, never longer.
                    self.assertLessEqual(found["bytes"], place["bytes"])
                    if place["bytes"] <= 8:
                        self.assertEqual(found["bytes"], place["bytes"])
                    compared += 1
        for name, value in hidden["constants"].items():
            if name.startswith(UNDECIDED_CONSTANTS) and name not in inferred["constants"]:
                continue
            if name not in UNUSED_CONSTANTS and not name.startswith(("signal_", "ets_")):
                self.assertEqual(inferred["constants"][name], value, name)
        print(f"{compared} fields are as in the layout that was hidden", flush=True)
        self.assertGreater(compared, 200)
        self.says_so(dump)
        self.says_the_same(dump)

    def test_a_neighbour_that_is_laid_out_alike(self):
        """With the release's own layout under another name, parts that need two neighbours are left
        out, the rest is the same."""
        alike, neighbour, folder = self.laid_out_alike("alike")
        dump, ended = self.capture("alike.beamdump", "--quiet", "--layout", folder)
        tools.expect(ended, 0)
        layout = self.answer(dump, "summary")["layout"]
        self.assertEqual(layout["inferred_from"], [f"otp-{neighbour}"])
        self.assertLessEqual(set(layout["left_out"]), LEFT_OUT | ALIKE_IN_BOTH | {"schedulers", "distribution"})
        self.assertGreaterEqual(set(layout["left_out"]), LEFT_OUT)
        inferred = layout_of(dump)
        for name, body in inferred["structs"].items():
            self.assertEqual(body, alike["structs"][name])
        missing = set(alike["structs"]) - set(inferred["structs"])
        self.assertLessEqual(missing, {"ErtsAlignedSchedulerData", "ErtsSchedulerSleepInfo",
                                       "ErtsDistExternal", "ErtsDistExternalData",
                                       "ErtsAtomTranslationTable"} | UNDECIDED)

    def laid_out_alike(self, name):
        """The release's layout with the patches up to the tested one, and a folder with it alone under the
        name of the release before."""
        alike = json.loads((LAYOUTS / f"otp-{RELEASE}.json").read_text())
        for patch in alike.pop("patches", []):
            if [*map(int, patch["erts"].split("."))] <= TESTED_ERTS[RELEASE]:
                alike["structs"] |= patch["structs"]
                alike["constants"] |= patch.get("constants", {})
        neighbour = str(int(RELEASE) - 1)
        folder = self.scratch / name
        folder.mkdir()
        (folder / f"otp-{neighbour}.json").write_text(json.dumps(
            alike | {"name": f"otp-{neighbour}", "otp_release": neighbour}))
        return alike, neighbour, folder

    def test_a_watcher_gives_back_what_inferring_took(self):
        folder = self.others if RELEASE == "27" else self.laid_out_alike("watched")[2]
        with subprocess.Popen([WATCH, "--memory", "90%", "-o", self.scratch, "--layout", folder, "--json",
                               str(self.node.pid)], stdout=subprocess.PIPE, text=True) as watcher:
            try:
                self.assertEqual(json.loads(watcher.stdout.readline())["event"], "watching")
                status = pathlib.Path(f"/proc/{watcher.pid}/status").read_text()
            finally:
                watcher.terminate()
        resident, most = (int(re.search(rf"{name}:\s*(\d+) kB", status)[1]) / 1024 for name in ("VmRSS", "VmHWM"))
        print(f"watching with an inferred layout: {resident:.1f} MiB, at most {most:.1f} MiB", flush=True)
        self.assertLess(resident, MOST_RESIDENT_MIB)

    def says_so(self, dump):
        layout = self.answer(dump, "summary")["layout"]
        self.assertEqual(layout["inferred_from"], ["otp-25", "otp-29"])
        self.assertEqual(set(layout["left_out"]), LEFT_OUT)
        self.assertGreater(len(layout["unverified_fields"]), 50)
        self.assertNotIn("Process.heap", layout["unverified_fields"])
        text = tools.ask("summary", dump).output
        self.assertIn("Layout inferred from otp-25 and otp-29 for OTP 27", text)

    def says_the_same(self, dump):
        """Answers about processes that did not run in between are those with the release's own
        layout."""
        own, ended = self.capture("own.beamdump", "--quiet")
        tools.expect(ended, 0)
        before, after = ({row["pid"]: row for row in self.answer(one, "processes", "--limit", "0")
                          ["processes"]} for one in (dump, own))
        same = [pid for pid in before if pid in after
                and before[pid]["reductions"] == after[pid]["reductions"]]
        ran = len(before) - len(same)
        print(f"{len(same)} processes compared, {ran} ran in between", flush=True)
        self.assertLessEqual(ran, 0.05 * len(before))
        # The structure's size is part of memory, and no check verifies it, so memory is marked.
        self.assertIn("memory", self.answer(dump, "processes")["layout"]["unverified"])
        for pid in same:
            self.assertLessEqual(abs(before[pid].pop("memory") - after[pid].pop("memory")), 64)
            self.assertEqual(before[pid], after[pid])
        for pid in same[:60]:
            texts = [tools.expect(tools.ask("backtrace", one, pid), 0, 3).output
                     for one in (dump, own)]
            body = [text.split("\n\n", 1)[1] if text.startswith("Layout") else text
                    for text in texts]
            self.assertEqual(body[0], body[1], pid)

    def test_a_folder_that_has_the_releases_layout_is_as_good_as_the_built_in_ones(self):
        dump, ended = self.capture("folder.beamdump", "--quiet", "--layout", LAYOUTS)
        tools.expect(ended, 0)
        self.assertNotIn("layout", self.answer(dump, "processes"))
        self.assertEqual(layout_of(dump)["name"], f"otp-{RELEASE}")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""A layout that does not fit the node is refused if a check can detect it, and harmless
otherwise.

BEAMDUMP_FIELDS: of the fields that no check verifies, one in this many is tried (5; soak: 1)."""

import copy
import json
import os
import pathlib
import re
import tempfile
import unittest

from support import tools
from support.layouts import CHECKED, LAYOUT, LAYOUTS, UNREAD
from support.node import start_workload
from support.paths import CAPTURE
from support.release import RELEASE

FIELDS = int(os.environ.get("BEAMDUMP_FIELDS", "5"))
# A refusal names expected and found values, or a contradiction in the layout.
REFUSAL = r"^beamdump-capture: .*(expected|found|no (readable )?memory|does not)"


def shifted(layout, structure, field):
    """layout with the offset of one field increased by 8."""
    wrong = copy.deepcopy(layout)
    body = wrong["structs"][structure]
    moved = body["fields"][field]
    moved["offset"] += 8
    body["bytes"] = max(body["bytes"], moved["offset"] + moved["bytes"])
    return wrong


class WrongLayout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = start_workload("sample")
        cls.addClassCleanup(cls.node.stop)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.layout = json.loads(LAYOUT.read_text())

    def capture_with(self, layout):
        path = self.scratch / "layout.json"
        path.write_text(json.dumps(layout))
        return tools.run_measured([CAPTURE, "--quiet", "--force", "--layout", path,
                                   "-o", self.scratch / "wrong.beamdump", self.node.pid])

    def test_the_right_one_is_taken(self):
        tools.expect(self.capture_with(self.layout), 0, 3)

    def test_a_patch_that_was_not_compared_is_said(self):
        """Also where all checks pass: this one fits."""
        sentence = re.compile(r"ERTS [0-9.]+ of the node was not compared with the layout of OTP \d+, which is known "
                              r"to hold from 99\.1 to 99\.2")
        for compared, said in ((self.layout["compared"], False), ({"first": "99.1", "last": "99.2"}, True)):
            tools.expect(self.capture_with(self.layout | {"compared": compared}), 0, 3)
            warnings = tools.analyze_json("summary", self.scratch / "wrong.beamdump")["warnings"]
            self.assertEqual([bool(sentence.match(text)) for text in warnings if "not compared" in text],
                             [True] * said)

    def test_each_field_that_stands_elsewhere(self):
        read = [(structure, field) for structure, body in self.layout["structs"].items()
                if structure not in UNREAD for field in body["fields"]]
        fields = {f"{structure}.{field}" for structure, field in read}
        refused = set()
        tried = 0
        for number, (structure, field) in enumerate(read):
            name = f"{structure}.{field}"
            if name not in CHECKED and number % FIELDS != 0:
                continue
            tried += 1
            with self.subTest(field=name):
                ended = tools.expect(
                    self.capture_with(shifted(self.layout, structure, field)), 0, 1, 3)
                if ended.status == 1:
                    self.assertRegex(ended.diagnostics, REFUSAL)
                    self.assertEqual(len(ended.diagnostics.splitlines()), 1)
                    refused.add(name)
        self.assertEqual(self.node.stopped_threads(), [])
        self.assertEqual(self.node.ask("ping"), "pong")
        print(f"OTP {RELEASE}: of {len(fields)} fields {tried} stood elsewhere, and {len(refused)} "
              "were refused")
        self.assertGreater(len(fields.intersection(CHECKED)), 0.8 * len(CHECKED))
        self.assertEqual(fields.intersection(CHECKED) - refused, set(),
                         "checked fields that were taken")

    def test_another_releases_is_refused(self):
        for path in LAYOUTS.glob("otp-*.json"):
            if path == LAYOUT:
                continue
            with self.subTest(layout=path.name):
                ended = tools.expect(self.capture_with(json.loads(path.read_text())), 1)
                self.assertRegex(ended.diagnostics, "does not fit|expected")
                self.assertEqual(len(ended.diagnostics.splitlines()), 1)

    def test_a_layout_that_lacks_structures_is_refused(self):
        other = self.layout | {"otp_release": "77"}
        other["structs"] = {}
        ended = tools.expect(self.capture_with(other), 1)
        self.assertIn("lacks", ended.diagnostics)


if __name__ == "__main__":
    unittest.main(verbosity=2)

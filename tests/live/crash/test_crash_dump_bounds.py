"""A large crash dump, half of it one process: every answer is right and in bounded memory.

BEAMDUMP_CRASH_DUMP_BYTES: its size; the default is small enough for every run."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from support import tools
from support.paths import ANALYZE, PROGRAMS

BYTES = int(os.environ.get("BEAMDUMP_CRASH_DUMP_BYTES", 200_000_000))
MOST_KIB = 512 * 1024
SCREEN = "4096"
# Number of times that the text is read: once to find the sections, then the requested parts.
ONE_SCAN = 1.1
# Also the lines of the largest process, half of the text: their beginnings, or all of them.
MONSTER_ONCE = 1.6
MOST_READS = 2.1


class CrashDumpBounds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.dump = cls.directory / "generated.dump"
        made = subprocess.run([PROGRAMS / "generate_crash_dump", cls.dump, str(BYTES)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        cls.plan = json.loads(made.stdout)
        print(f"a crash dump of {cls.plan['bytes'] / 1e6:.0f} MB: {cls.plan}", flush=True)

    def ask(self, command, *arguments, most_reads=MOST_READS):
        """most_reads: limit of bytes read, in sizes of the text."""
        ended = tools.expect(
            tools.analyze(command, self.dump, *arguments, "--stats"), 0, 3)
        self.bounded(f"{command} {' '.join(arguments)}", ended, most_reads)
        return ended.output

    def bounded(self, what, ended, most_reads=MOST_READS):
        read = re.search(r"crash_dump_bytes_read=(\d+)", ended.diagnostics)
        reads = int(read[1]) / self.plan["bytes"] if read else 0
        print(f"{what}: {ended.seconds:.2f} s, {ended.peak_kib / 1024:.0f} MiB, text read "
              f"{reads:.2f} times", flush=True)
        self.assertLess(ended.peak_kib, MOST_KIB, what)
        self.assertLess(reads, most_reads, what)

    def test_summary(self):
        self.assertIn("generated", self.ask("summary", most_reads=ONE_SCAN))

    def test_processes(self):
        largest = json.loads(self.ask("processes", "--json", most_reads=ONE_SCAN))["processes"][0]
        self.assertEqual(largest["registered_name"], "monster")
        self.assertEqual(largest["message_queue_len"], self.plan["messages"])
        # One line each and a few more, so that Python does not hold the whole table.
        lines = self.ask("processes", "--limit", "0").count("\n")
        self.assertGreaterEqual(lines, self.plan["processes"])

    def test_details(self):
        details = json.loads(self.ask("process", "monster", "--json", most_reads=MONSTER_ONCE))
        self.assertEqual([entry["key"]["text"] for entry in details["dictionary"]["items"]],
                         ["state"])
        self.assertEqual(len(details["messages"]["items"]), 20)
        # Its lines are not all read.
        self.assertNotIn("regions", details)
        self.assertNotIn("captured", details["memory"])
        self.assertEqual(details["message_queue"]["message_queue_len"], self.plan["messages"])

    def test_dictionary(self):
        entry = json.loads(self.ask("dictionary", "monster", "--json"))["dictionary"][0]
        self.assertEqual(entry["key"]["text"], "state")
        self.assertTrue(entry["value"]["text"].startswith(
            '{state,[{user,1,<<"user 1">>,1.500000e+00},{user,2,'))

    def test_messages_late_in_the_queue(self):
        begin = self.plan["messages"] * 4 // 5
        page = json.loads(self.ask("messages", "monster", "--from", str(begin), "--limit", "10",
                                   "--no-histogram", "--json", most_reads=MONSTER_ONCE))
        self.assertEqual([message["term"]["text"] for message in page["messages"]],
                         [f'{{order,{number},<<"order {number}">>}}'
                          for number in range(begin, begin + 10)])

    def test_histogram_of_all_messages(self):
        page = json.loads(self.ask("messages", "monster", "--limit", "1", "--json"))
        shapes = {shape["shape"]: shape["count"] for shape in page["histogram"]["shapes"]}
        self.assertEqual(sum(shapes.values()), self.plan["messages"])

    def test_first_screen(self):
        text = self.ask("backtrace", "monster", "--max-bytes", SCREEN, most_reads=MONSTER_ONCE)
        self.assertIn("y(0)     {frame,1}\n", text)
        self.assertIn("y(1)     1\n", text)

    def test_whole_backtrace(self):
        text = self.directory / "backtrace"
        ended = tools.expect(tools.run_measured(
            ["sh", "-c", 'exec "$0" backtrace "$1" monster --stats > "$2"', ANALYZE, self.dump, text]),
            0, 3)
        self.bounded("backtrace monster", ended)
        frames = 0
        with text.open("rb") as lines:
            for line in lines:
                if line.startswith(b"y(0)     {frame,"):
                    frames += 1
                    self.assertEqual(line, b"y(0)     {frame,%d}\n" % frames)
        text.unlink()
        self.assertEqual(frames, self.plan["frames"])

    def test_small_process(self):
        entry = json.loads(self.ask("dictionary", "<0.1000.0>", "--json",
                                    most_reads=ONE_SCAN))["dictionary"][0]
        self.assertEqual(entry["key"]["text"], "numbers")

    def test_convert(self):
        converted = self.directory / "converted.beamdump"
        ended = tools.expect(tools.run_measured(
            [ANALYZE, "convert", self.dump, "-o", converted]), 0, 3)
        self.bounded("convert", ended)
        listed = tools.analyze_json("processes", converted)
        self.assertEqual(listed["processes"][0]["registered_name"], "monster")
        # Its lines are read lazily from the text.
        of_text = json.loads(self.ask("heap", "monster", "--json"))
        of_converted = tools.analyze_json("heap", converted, "monster")
        self.assertNotEqual(of_text.pop("dump"), of_converted.pop("dump"))
        self.assertEqual(of_text, of_converted)
        tag = of_text["tags"][0]
        self.assertEqual((tag["name"], tag["objects"]), ("{user,_,_,_}", self.plan["users"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)

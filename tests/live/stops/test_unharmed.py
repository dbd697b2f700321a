"""No harm: a node that serves a steady load (steady.erl) is captured repeatedly in each mode. No
exchange goes wrong, none is late beyond the stops' length, the node does not grow.

BEAMDUMP_CAPTURES is how often in each mode, at least (5; soak: 100)."""

import json
import os
import pathlib
import tempfile
import time
import unittest

from support import tools
from support.nif import build_nif
from support.node import start_workload

CAPTURES = int(os.environ.get("BEAMDUMP_CAPTURES", "5"))
MODES = ("live", "auto", "snapshot", "freeze")
KINDS = ("message", "timer", "tcp", "port", "nif")
LEAST_EXCHANGES = 20
# Writer and node share the processors: exchanges may be late without a stop.
MOST_LATE_US = 1_000_000
MOST_GROWTH_KIB = 8 * 1024
ALONE_SECONDS = 5
LEAST_SECONDS = 3  # of each mode, for enough exchanges of the rarest kind


class Unharmed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        os.environ["BEAMDUMP_STEADY_NIF"] = str(build_nif(cls.scratch, "steady"))
        cls.addClassCleanup(os.environ.pop, "BEAMDUMP_STEADY_NIF")
        cls.node = start_workload("steady")
        cls.addClassCleanup(cls.node.stop)
        time.sleep(1)

    def report(self):
        return json.loads(self.node.ask("steady report"))

    def captures(self, mode):
        """Makes captures. Returns their number and the longest stop in microseconds."""
        longest = number = 0
        end = time.monotonic() + LEAST_SECONDS
        while number < CAPTURES or time.monotonic() < end:
            number += 1
            dump = self.scratch / "steady.beamdump"
            tools.capture(self.node, dump, "--force", "--mode", mode, "--threads", "2")
            summary = tools.analyze_json("summary", dump)
            longest = max(longest, summary["capture"]["longest_stop_ns"] // 1000)
        return number, longest

    def test_all_modes(self):
        self.node.ask("steady reset")
        time.sleep(ALONE_SECONDS)
        reports = {"alone": (self.report(), 0, 0)}
        self.captures("freeze")  # the first capture of a node may leave touched page tables
        resident = self.node.status_field("VmRSS")
        for mode in MODES:
            self.node.ask("steady reset")
            captures, longest_stop = self.captures(mode)
            reports[mode] = (self.report(), captures, longest_stop)
        grown = self.node.status_field("VmRSS") - resident
        self.show(reports, grown)
        for mode, (report, _, longest_stop) in reports.items():
            for kind in KINDS:
                with self.subTest(mode=mode, kind=kind):
                    told = report[kind]
                    self.assertGreater(told["exchanges"], LEAST_EXCHANGES)
                    self.assertEqual(told["faults"], 0)
                    self.assertLess(told["longest_us"], longest_stop + MOST_LATE_US)
        self.assertLess(grown, MOST_GROWTH_KIB)
        self.assertEqual(self.node.ask("ping"), "pong")
        self.assertEqual(self.node.stopped_threads(), [])

    def show(self, reports, grown):
        """Prints the histograms side by side: exchanges shorter than 2^n microseconds, in percent."""
        counts = ", ".join(f"{count} {mode}" for mode, (_, count, _) in reports.items() if count)
        print(f"captures: {counts}; the node grew by {grown} KiB")
        for kind in KINDS:
            print(f"{kind:8}" + "".join(f"{'<' + str(1 << n) + ' us':>12}" for n in range(6, 22, 3))
                  + "     longest   exchanges  faults  longest stop")
            for mode, (report, _, longest_stop) in reports.items():
                told = report[kind]
                shares = [100 * sum(told["buckets"][:n + 1]) / max(1, told["exchanges"])
                          for n in range(6, 22, 3)]
                print(f"{mode:8}" + "".join(f"{share:11.2f}%" for share in shares)
                      + f"{told['longest_us']:9} us{told['exchanges']:12}{told['faults']:8}"
                      + f"{longest_stop:11} us")
        print(flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
